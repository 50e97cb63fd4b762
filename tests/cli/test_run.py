"""``interlock run``: anyone's machine in the terminal."""

import json
import re
import shlex

import pytest

from tests.adapters.openai_server import Answer, openai_server

MACHINES = '''
from datetime import date
from typing import Literal
from pydantic import BaseModel, Field
import interlock as il
import interlock.statechart as sc

class Ship(il.Event):
    """Ship it."""

class Hold(il.Event):
    """Keep it back."""
    why: str

class Sign(il.Event, actor="human"):
    """Sign the note."""
    by: str
    day: date
    copies: int = Field(1, ge=1, le=5)
    colour: Literal["red", "blue"] = "red"

class Cancel(il.Event, actor="human"):
    """Forget it."""

class Order(BaseModel, frozen=True):
    item: str = "lamp"
    amount: int

class Desk(BaseModel, frozen=True):
    order: Order
    note: str = ""
    by: str = ""

class Summary(BaseModel, frozen=True):
    title: str
    points: tuple[str, ...] = Field(min_length=1)

class Out(BaseModel, frozen=True):
    note: str
    by: str

agent = il.setup_agent(context=Desk, events=[Ship, Hold, Sign, Cancel], input=Order, output=Out)

shop = agent.machine("shop", context=lambda order: Desk(order=order), initial="deciding", states={
    "deciding": agent.state(
        invoke=agent.decide(model="m", prompt="Can we ship it?", allowed_events=[Ship, Hold], on_error="given_up"),
        on=[
            agent.on(Ship, lambda desk, _: agent.goto("writing") if desk.order.amount < 10 else None),
            agent.on(Hold, lambda desk, hold: agent.goto("writing", note=hold.why)),
        ],
    ),
    "writing": agent.state(invoke=agent.stream_text(
        name="note", model="m", prompt="Write a note.",
        on_done=lambda desk, text: agent.goto("summing", note=text), on_error="given_up",
    )),
    "summing": agent.state(invoke=agent.generate_text(
        name="summary", model="m", prompt="Sum up.", output=Summary, on_done="signing", on_error="given_up",
    )),
    "signing": agent.state(on=[
        agent.on(Sign, lambda desk, sign: agent.goto("done", by=sign.by) if sign.by != "nobody" else None),
        agent.on(Cancel, "given_up"),
    ]),
    "done": agent.final(output=lambda desk: Out(note=desk.note, by=desk.by)),
    "given_up": agent.final(output=lambda desk: Out(note="", by="")),
})

def full() -> str:
    raise RuntimeError("the disk\\nis full")

class Go(il.Event, actor="human"):
    """Go."""

class Empty(BaseModel, frozen=True):
    pass

small = il.setup_agent(context=Empty, events=[Go])
failing = small.machine("failing", context=Empty(), initial="a", states={
    "a": small.state(invoke=small.call(full, on_done="b")), "b": small.final(),
})
raising = small.machine("raising", context=Empty(), initial="a", states={
    "a": small.state(on=[small.on(Go, lambda _, __: 1 / 0, to="b")]), "b": small.final(),
})
deadline = small.machine("deadline", context=Empty(), initial="a", states={
    "a": small.state(on=[small.on(Go, "b")], after=[small.after(0.2, "late"), small.after(300, "late")]),
    "late": small.state(on=[small.on(Go, "b")]),
    "b": small.final(output=lambda _: "went"),
})
pause = small.machine("pause", context=Empty(), initial="a", states={
    "a": small.state(after=[small.after(0.05, "b")]), "b": small.final(output=lambda _: "rested"),
})
door = sc.machine("door", initial="shut", states={
    "shut": sc.state(on={"OPEN": "open"}), "open": sc.state(on={"LOCK": "locked"}), "locked": sc.final(),
})
'''

ORDER = ("--input", '{"amount": 3}')
SCRIPTED = ("--model", "scripted")
SIGN = '{"type": "Sign", "by": "Ann", "day": "2026-02-01"}'


@pytest.fixture(autouse=True)
def machines(here):
    (here / "machines.py").write_text(MACHINES, "utf-8")


def refused(called, status: int) -> str:
    assert called.status == status
    (line,) = called.err.splitlines()
    assert line.startswith("interlock: ")
    assert "Traceback" not in called.out
    return line


def test_it_shows_what_happens_stops_at_the_wait_and_goes_on_in_another_process(process):
    first = process("run", "machines:shop", *ORDER, *SCRIPTED)
    assert (first.status, first.err) == (0, "")
    assert "✓ Ship was chosen: the script takes turns" in first.out
    assert "(what a model would write for note)" in first.out
    assert '{"title":"...","points":["..."]}' in first.out
    assert "path  deciding ─Ship─→ writing → summing → signing" in first.out
    assert 'order: {"item":"lamp","amount":3}' in first.out
    assert "Sign: Sign the note." in first.out

    # What it says can be done can be done, as it stands there.
    commands = [shlex.split(line) for line in re.findall(r"^ +interlock (run .*)$", first.out, re.MULTILINE)]
    assert [json.loads(command[-1])["type"] for command in commands] == ["Sign", "Cancel"]
    second = process(*commands[0])
    assert (second.status, second.err) == (0, "")
    assert '"by": "..."' in second.out
    assert "signing ─Sign─→ done" in second.out


def test_a_whole_run_in_one_call_by_the_path_of_the_file(run):
    called = run("machines.py:shop", *ORDER, *SCRIPTED, "--event", SIGN)
    assert (called.status, called.err) == (0, "")
    assert "a person says Sign: by=Ann, day=2026-02-01" in called.out
    assert '"by": "Ann"' in called.out


def test_what_is_not_legal_is_shown_and_not_chosen(run):
    called = run("machines:shop", "--input", '{"amount": 30}', *SCRIPTED)
    assert "✗ Ship not legal: a guard does not let it through now" in called.out
    assert "deciding: 1 of 2 moves are legal" in called.out
    assert '✓ Hold "..." was chosen' in called.out


def test_at_a_terminal_with_fields_that_are_checked(talk):
    menu = "ave and stop?"
    status, shown = talk(
        *("run", "machines:shop", "--input", '{"amount": 30}', "--model", "human"),
        answers=[
            ("Which move?", "1\n"),
            ("Which move?", "hold\n"),
            ("why (text)", "too many\n"),
            ("note:", "a note\n"),
            ("as JSON:", '{"title"\n'),
            ("as JSON:", '{"title": "T", "points": ["p"]}\n'),
            (menu, "i\n"),
            ("by (text)", "nobody\n"),
            ("day (date)", "yesterday\n"),
            ("day (date)", "2026-02-01\n"),
            ("copies (whole number)", "9\n"),
            ("copies (whole number)", "2\n"),
            ("colour (red/blue)", "green\n"),
            ("colour (red/blue)", "b\n"),
            (menu, "Sign\n"),
            ("by (text)", "Ann\n"),
            ("day (date)", "2026-02-01\n"),
            ("copies (whole number)", "\n"),
            ("colour (red/blue)", "\n"),
        ],
        NO_COLOR="1",
    )
    assert status == 0
    assert "'Ship' is not allowed now" in shown
    assert "less than or equal to 5" in shown
    assert "'green' is none of red, blue" in shown
    assert "not allowed here with these fields" in shown
    assert '"by": "Ann"' in shown


@pytest.mark.parametrize("key", ["s\n", "\x04"], ids=["s", "ctrl-d"])
def test_save_and_stop_at_a_terminal(talk, here, key):
    status, shown = talk("run", "machines:shop", *ORDER, *SCRIPTED, answers=[("ave and stop?", key)])
    assert status == 0
    assert "--resume interlock-run.json --event" in shown
    assert (here / "interlock-run.json").exists()


def test_a_person_need_not_wait_for_a_timer_and_may(talk):
    _, shown = talk("run", "machines:deadline", answers=[("[w]ait (0 s)", "w\n"), ("ave and stop?", "go\n")])
    assert "late" in shown
    assert "went" in shown


def test_where_only_time_has_to_pass_it_passes(run):
    called = run("machines:pause")
    assert (called.status, called.err) == (0, "")
    assert "rested" in called.out


def test_a_machine_without_event_classes(run):
    called = run("machines:door", "--event", "OPEN", "--event", '{"type": "LOCK"}')
    assert (called.status, called.err) == (0, "")
    assert "shut ─OPEN─→ open ─LOCK─→ locked" in called.out


def test_the_only_machine_of_a_module_needs_no_name(run, here):
    (here / "one.py").write_text("from machines import door", "utf-8")
    assert "door" in run("one.py").out
    assert "holds several machines; say which: machines:shop" in refused(run("machines"), 2)


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("machines:shp", "machines has no 'shp'. Did you mean 'shop'?"),
        ("machines:agent", "not a machine"),
        ("nowhere:shop", "there is no module 'nowhere' here; for a file, give its path: nowhere.py:machine"),
        ("nowhere.py:shop", "there is no file nowhere.py"),
        (":", "names no machine"),
        ("json:loads", "json:loads is a function, not a machine"),
        ("json", "json holds no machine"),
    ],
)
def test_a_machine_that_is_not_there(run, target, told):
    assert told in refused(run(target), 2)


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("x = (", "SyntaxError"),
        ("\n\n1 / 0", "(line 3): ZeroDivisionError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("import interlock as il\nil.setup_agent(context=dict, events=[1])", "cannot be imported (line 2)"),
    ],
)
def test_a_module_that_cannot_be_imported(run, here, program, told):
    (here / "broken.py").write_text(program, "utf-8")
    assert told in refused(run("broken.py:machine"), 1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "amount: Field required"),
        (["--input", "{"], "--input is no JSON"),
        (["--input", '{"amount": "many"}'], "the input is refused: amount"),
        ([*ORDER, "--model", "oracle"], "'oracle' is nobody"),
        ([*ORDER, "--model", "human"], "needs a terminal"),
        ([*ORDER, "--model", "openai"], "--model openai: "),
        ([*ORDER, *SCRIPTED, "--base-url", "http://localhost:1/v1"], "--base-url is for --model openai"),
        ([*ORDER, *SCRIPTED, "--event", "Sgn"], "Did you mean 'Sign'?"),
        ([*ORDER, *SCRIPTED, "--event", "{"], "--event is no JSON"),
        ([*ORDER, *SCRIPTED, "--event", '{"type": "Sign", "by": 1}'], "by: "),
        ([*ORDER, "--resume", "case.json"], "give one of them"),
    ],
)
def test_options_that_do_not_fit(run, monkeypatch, options, told):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert told in refused(run("machines:shop", *options), 2)


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ("Ship", "--event Ship: not legal in state 'signing' now. Known: Cancel, Sign."),
        (SIGN.replace("Ann", "nobody"), "Sign with by=nobody, day=2026-02-01 is not legal in state 'signing' now"),
    ],
)
def test_an_event_that_is_not_legal_leaves_the_run_saved(run, here, event, told):
    assert told in refused(run("machines:shop", *ORDER, *SCRIPTED, "--event", event, "--save", "case.json"), 1)
    assert '"by": "Ann"' in run("machines:shop", "--resume", "case.json", "--event", SIGN).out


def test_runs_that_fail(run):
    line = refused(run("machines:failing"), 1)
    assert "the run failed (machine): machine 'failing', state 'failing.a'" in line
    assert "the disk is full" in line
    assert "ZeroDivisionError" in refused(run("machines:raising", "--event", "Go"), 1)


def test_a_case_of_another_machine(run):
    run("machines:shop", *ORDER, *SCRIPTED, "--save", "case.json")
    refused(run("machines:deadline", "--resume", "case.json"), 1)


def test_an_endpoint_is_asked_for_the_model_that_was_named(run, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with openai_server() as server:
        server.answers(
            Answer(calls=[("send_event_Hold", '{"why": "rain"}')]),
            Answer(text="It rains, so we wait."),
            Answer(text='{"result": {"title": "Rain", "points": ["wait"]}}'),
        )
        called = run("machines:shop", *ORDER, "--model", "openai:big", "--base-url", server.url)
        assert {body["model"] for body in server.requests} == {"big"}
    assert (called.status, called.err) == (0, "")
    assert '✓ Hold "rain" was chosen' in called.out
    assert "by big, in" in called.out
    assert "It rains, so we wait." in called.out
    assert '{"title":"Rain","points":["wait"]}' in called.out
    assert "--resume interlock-run.json --base-url http://" in called.out


def test_an_endpoint_that_is_not_there_is_the_machines_business(run):
    called = run("machines:shop", *ORDER, "--model", "openai:big", "--base-url", "http://127.0.0.1:9/v1")
    assert (called.status, called.err) == (0, "")
    assert "provider-error" in called.out
    assert "deciding → given_up" in called.out


@pytest.mark.slow
def test_the_local_models_choose_and_write(run):
    called = run("machines:shop", *ORDER)
    assert called.status == 0
    assert "by multilingual-e5-small, on this computer" in called.out
    assert "writing note, by SmolLM2-135M-Instruct, on this computer" in called.out
    assert "deciding ─" in called.out
    assert "writing → summing →" in called.out  # whether the small model can sum up is the machine's business
