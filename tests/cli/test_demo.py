"""``interlock demo support`` without a terminal: what it shows, where it stops, and how it goes on."""

import json
import platform
import re
import sys

import pytest

from interlock.cli.demos.support import MODEL_EVENTS, Case, Order, flaw, machine, obstacle
from interlock.cli.support import DEFAULT_FILE

needs_model = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="the wheels are for x86-64 Linux"
)


def row(out: str, event: str) -> str:
    """Return what the box of moves says about an event, the last time that it is shown."""
    return re.findall(rf"│ (. {event}\b.*?) *│", out)[-1]


@pytest.mark.slow
@needs_model
def test_from_a_sentence_to_a_saved_case_to_a_reply_in_three_processes(process, no_weights):
    first = process("demo", "support", "I was charged twice for my order")
    assert (first.status, first.err) == (0, "")
    assert "triage: 5 of 6 moves are legal" in first.out
    assert re.fullmatch(r"✓ RefundDuplicate +█+ +>?\d+ %", row(first.out, "RefundDuplicate"))
    assert row(first.out, "TrackParcel") == "✗ TrackParcel     not legal: the order has not shipped yet"
    assert "RefundDuplicate was chosen: nearest in meaning" in first.out
    assert "triage ─RefundDuplicate─→ review\n" in first.out

    commands = re.findall(r"^ +interlock (demo support --resume .*)$", first.out, re.MULTILINE)
    assert commands == [
        f"demo support --resume {DEFAULT_FILE} --answer {answer}" for answer in ("approve", "change", "reject")
    ]
    second = process(*commands[0].split())
    assert second.status == 0
    assert "49.90 goes back to the card" in second.out
    assert "triage ─RefundDuplicate─→ review ─Approve─→ acting → drafting → replying" in second.out

    # Without weights and without a network there is no draft of the model, and the case goes on.
    assert "weights-unavailable" in second.out
    assert "The shop's standard reply" in second.out
    commands = re.findall(r"^ +interlock (demo support --resume .*)$", second.out, re.MULTILINE)
    third = process(*commands[0].split())
    assert (third.status, third.err) == (0, "")
    assert "Sent to the customer: Thank you for writing to us. We have refunded 49.90 to your card." in third.out
    assert "replying ─Accept─→ resolved" in " ".join(third.out.split())


@needs_model
def test_nothing_is_fetched_before_somebody_has_approved(demo, no_weights, here):
    called = demo("I was charged twice for my order")
    assert called.status == 0
    assert "etching" not in called.out + called.err
    assert not (here / "models").exists()


@needs_model
def test_what_is_not_legal_is_not_done_and_nothing_else_instead(demo):
    called = demo("Please cancel my order", "--shipped")
    assert called.status == 0
    assert "✗ CancelOrder     not legal: the order has already shipped" in called.out
    assert "the nearest in meaning is CancelOrder" in called.out
    assert "triage ─Unsure─→ asking" in called.out


@needs_model
def test_in_other_words(demo):
    demo("hello")
    called = demo("--resume", str(DEFAULT_FILE), "I want to talk to a real person")
    assert 'a person says Rephrase: "I want to talk to a real person"' in called.out
    assert "triage ─Unsure─→ asking ─Rephrase─→ triage ─TalkToPerson─→ handed_over" in called.out


@needs_model
def test_a_change_of_mind_is_a_new_decision_without_what_was_turned_down(demo):
    demo()
    called = demo("--resume", str(DEFAULT_FILE), "--answer", "change", "send it to my office instead")
    assert row(called.out, "RefundDuplicate") == "✗ RefundDuplicate not legal: a person has turned it down"
    assert "review ─Change─→ triage ─ChangeAddress─→ review" in called.out
    assert "goes back" not in called.out


def test_the_script_makes_an_illegal_move_first_and_it_is_refused(demo):
    called = demo("my card was charged twice", "--model", "scripted")
    assert called.status == 0
    assert "✗ TrackParcel was picked and refused (rejected-by-guard): the order has not shipped yet" in called.out
    assert "✓ RefundDuplicate was chosen: the script goes by words" in called.out


def test_a_pretended_answer_is_judged_like_any_other(demo):
    called = demo("my card was charged twice", "--model", "scripted", "--pretend", "DropDatabase", "--answer", "reject")
    assert "✗ DropDatabase was picked and refused (unknown-event)" in called.out
    for event in ("Approve", "agent.stop", "@done.state.support-desk"):
        called = demo("my card was charged twice", "--model", "scripted", "--pretend", event, "--answer", "reject")
        assert f"✗ {event} was picked and refused" in called.out
        assert "─Reject─→ closed" in called.out
        assert "resolved" not in called.out


def test_the_whole_case_in_one_call(demo):
    called = demo("charged twice", "--model", "scripted", "--answer", "approve", "--answer", "accept")
    assert (called.status, called.err) == (0, "")
    assert "triage ─RefundDuplicate─→ review ─Approve─→ acting → drafting → replying ─Accept─→ resolved" in " ".join(
        called.out.split()
    )
    assert "writing reply, by the script" in called.out
    assert "Sent to the customer: Thank you for telling us. We have refunded 49.90 to your card." in called.out
    assert not DEFAULT_FILE.exists()


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        (["accept"], "Sent to the customer: Thank you for telling us."),
        (["edit", "The money is on its way."], "Sent to the customer: The money is on its way."),
        (["reject"], "No reply was sent."),
    ],
)
def test_the_draft_is_a_proposal_too(demo, here, answer, sent):
    demo("charged twice", "--model", "scripted", "--answer", "approve", "--save", "case.json")
    resumed = demo("--resume", "case.json")
    assert "The model's draft of the reply:" in resumed.out
    assert '--resume case.json --answer edit "..."' in resumed.out
    called = demo("--resume", "case.json", "--answer", *answer)
    assert (called.status, called.err) == (0, "")
    assert sent in called.out


@pytest.mark.parametrize(
    ("draft", "wrong"),
    [
        ("We have refunded 49.90 to your card.", None),
        ("Your money is on its way.", "it leaves out 49.90"),
        ("We have refunded 49.90 of 125.00 to your card.", "nobody has said 125.00"),
    ],
)
def test_a_draft_that_gets_the_facts_wrong_is_not_used(draft, wrong):
    case = Case(text="I was charged twice", proposal="RefundDuplicate")
    assert flaw(case, draft) == wrong


@pytest.mark.parametrize(
    ("answer", "shown"),
    [("approve", "goes back to the card"), ("Reject", "Nothing was done"), ("change", "a person has turned it down")],
)
def test_a_saved_case_is_a_value_and_its_copies_can_be_answered_in_every_way(demo, here, answer, shown):
    demo("charged twice", "--model", "scripted", "--save", "case.json")
    for copy in ("one.json", "two.json"):
        (here / copy).write_bytes((here / "case.json").read_bytes())
        called = demo("--resume", copy, "--answer", answer)
        assert (called.status, called.err) == (0, "")
        assert shown in called.out


def test_resuming_without_an_answer_says_again_how_to_go_on(demo):
    demo("charged twice", "--model", "scripted")
    called = demo("--resume", str(DEFAULT_FILE))
    assert called.status == 0
    assert f"--resume {DEFAULT_FILE} --answer approve" in called.out


def test_the_saved_case_remembers_who_decides(demo, here):
    demo("charged twice", "--model", "scripted", "--save", "case.json")
    saved = json.loads((here / "case.json").read_text("utf-8"))
    assert (saved["interlock"], saved["format"], saved["model"]) == ("demo support", 1, "scripted")
    assert "the script goes by words" in demo("--resume", "case.json", "--answer", "change").out


def test_a_file_name_with_a_blank_is_quoted(demo):
    assert (
        "--resume 'my case.json' --answer approve" in demo("twice", "--model", "scripted", "--save", "my case.json").out
    )


@pytest.mark.parametrize(
    ("options", "event", "why"),
    [
        (["--order-amount", "200.01"], "RefundDuplicate", "200.01 is over the refund limit of 200.00"),
        (["--charges", "1"], "RefundDuplicate", "the order was charged only once"),
        (["--shipped"], "ChangeAddress", "the order has already shipped"),
        (["--not-shipped"], "TrackParcel", "the order has not shipped yet"),
    ],
)
def test_the_order_decides_what_is_legal(demo, options, event, why):
    called = demo("anything", "--model", "scripted", *options)
    assert row(called.out, event) == f"✗ {event:<15} not legal: {why}"


def test_what_is_shown_as_legal_is_what_the_machine_takes():
    from interlock.statechart import initial_transition

    for order in (Order(), Order(shipped=True), Order(amount=500), Order(charges=1, shipped=True)):
        case = Case(text="anything", order=order, declined=("CancelOrder",))
        snapshot, _ = initial_transition(machine, case)
        for event in MODEL_EVENTS:
            assert snapshot.can(event()) == (obstacle(case, event.type) is None)


def test_words_cannot_reach_the_terminal_as_commands(demo):
    called = demo("twice \x1b[31mred\x07 [bold]loud[/bold]", "--model", "scripted")
    assert "\x1b" not in called.out
    assert "\x07" not in called.out
    assert "[bold]loud[/bold]" in called.out


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_any_width_will_do(process, columns):
    called = process("demo", "support", "twice", "--model", "scripted", env={"COLUMNS": columns})
    boxes = [line for line in called.out.splitlines() if line.startswith(("╭", "│", "╰"))]
    assert {len(line) for line in boxes} == {min(int(columns), 92)}


def test_an_old_terminal_gets_plain_marks(process):
    called = process("demo", "support", "twice", "--model", "scripted", env={"PYTHONIOENCODING": "ascii"})
    assert (called.status, called.err) == (0, "")
    assert called.out.isascii()
    assert "triage -RefundDuplicate--> review" in called.out


@needs_model
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I was charged twice for my order", "We have refunded 49.90 to your card."),
        ("Please cancel my order", "Order 1042 is cancelled."),
    ],
)
def test_the_small_model_drafts_what_the_shop_can_send_or_the_shop_says_it_itself(demo, text, told):
    called = demo(text, "--answer", "approve", "--answer", "accept")
    assert called.status == 0
    assert "writing reply, by SmolLM2-135M-Instruct, on this computer" in called.out
    assert re.findall(r"\d[\d.]*\d", told)[0] in called.out.partition("Sent to the customer:")[2]
