"""From the request to the event: what is asked, how a choice is judged, what is delivered."""

import json

import pytest

import interlock.agent as il
import interlock.statechart as sc
from interlock.agent import Choice, DecisionAttempt, user_message
from interlock.errors import (
    DecisionExhaustedError,
    ExecutorError,
    HandlerError,
    InputError,
    InvalidMoveError,
    NoLegalEventsError,
)
from tests.agent.machines import (
    Add,
    Approve,
    Case,
    Escalate,
    Partial,
    Refuse,
    started,
    support,
    support_machine,
    twenty_questions,
)
from tests.guessing import Ask, Game, Guess, Reply
from tests.guessing import agent as game


def asked(machine: sc.Machine, snapshot: sc.Snapshot | None = None) -> tuple[sc.OwedInvocation, il.DecisionRequest]:
    snapshot = snapshot or sc.initial_transition(machine)[0]
    (owed,) = sc.owed(snapshot).invocations
    return owed, il.decision_request(machine, owed)


def judged(machine: sc.Machine, event: object, snapshot: sc.Snapshot | None = None) -> il.Event | DecisionAttempt:
    owed, request = asked(machine, snapshot)
    return il.judge(machine, owed.snapshot, request, Choice(event))


# -- the request -----------------------------------------------------------------------------------------------------


def test_a_request_is_plain_data():
    owed, request = asked(twenty_questions)
    data = request.to_json()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data == {
        "kind": "decision",
        "id": owed.identity,
        "src": "agent.decide",
        "name": "0.twenty-questions.deciding",
        "model": "quick",
        "system": "Find the secret.",
        "prompt": "Nothing asked yet.",
        "messages": [],
        "events": [item.to_json() for item in il.describe([Ask, Guess])],
        "attempts": [],
        "withheld": [],
        "max_retries": 2,
        "temperature": None,
        "max_output_tokens": None,
        "top_p": None,
        "top_k": None,
        "seed": None,
        "stop_sequences": [],
        "metadata": {},
        "call_key": None,
    }


def test_every_word_may_be_a_function_of_the_context():
    _, request = asked(
        support_machine(
            support.decide(
                name="route",
                model=lambda case: f"m{case.amount}",
                system=lambda case: None,
                messages=lambda case: [{"role": "user", "content": list(case.notes)}],
                max_retries=lambda case: case.limit,
                temperature=0,
                max_output_tokens=10,
                top_p=0.5,
                top_k=3,
                seed=4,
                stop_sequences=["END"],
                metadata=lambda case: {"limit": case.limit},
            )
        )
    )
    assert (request.name, request.model, request.system, request.prompt) == ("route", "m50", None, None)
    assert request.messages == (user_message([]),)
    assert (request.max_retries, request.metadata) == (100, {"limit": 100})
    assert (request.temperature, request.max_output_tokens, request.top_p) == (0, 10, 0.5)
    assert (request.top_k, request.seed, request.stop_sequences) == (3, 4, ("END",))
    hash(request.messages)


def test_the_words_of_a_decision_in_order():
    _, request = asked(support_machine(support.decide(system="Be fair.", prompt="What now?")))
    refused = request.with_attempts((DecisionAttempt(failure="unknown-event", reason="x"),))
    assert il.request_messages(refused) == (il.system_message("Be fair."), user_message("What now?"))
    told = [{"role": "user", "content": "y"}]
    _, request = asked(support_machine(support.decide(messages=lambda case: told)))
    assert il.request_messages(request) == (user_message("y"),)


def test_a_word_that_raises_or_is_of_another_type_is_named():
    with pytest.raises(HandlerError, match=r"machine 'support', state 'support.open': prompt= .* raised ZeroDivision"):
        asked(support_machine(support.decide(prompt=lambda case: str(1 // 0))))
    with pytest.raises(InvalidMoveError, match=r"prompt= of the decision, .*lambda.*, returned prompt: .*given: 50"):
        asked(support_machine(support.decide(prompt=lambda case: case.amount)))


def test_one_decision_may_serve_several_states():
    decide = support.decide(allowed_events=[Refuse])
    machine = support.machine(
        "twice",
        initial="a",
        states={
            "a": support.state(invoke=decide, on=[support.on(Refuse, "b")]),
            "b": support.state(invoke=decide, on=[support.on(Refuse, "a")]),
        },
    )
    first, _ = asked(machine)
    second, _ = asked(machine, sc.transition(machine, started(machine), Refuse())[0])
    assert (first.identity, second.identity) == ("0.twice.a#1", "0.twice.b#2")


def test_nothing_to_pick_is_said_before_any_model_is_asked():
    with pytest.raises(NoLegalEventsError) as caught:
        asked(support_machine(support.decide(allowed_events=["note.clear", Approve]), Case(amount=500)))
    assert caught.value.code == "no-legal-events"
    assert str(caught.value).startswith("machine 'support', state 'support.open': there is no event to decide on")
    assert "Not legal now: note.clear, Approve." in str(caught.value)
    assert "Refuse" in caught.value.accepted


def test_a_state_with_patterns_only_has_nothing_to_pick():
    inner = {"x": support.state(on=[support.on("*", "y")]), "y": support.state(on=[support.on(Refuse, "x")])}
    machine = support.machine(
        "patterns", initial="a", states={"a": support.state(initial="x", states=inner, invoke=support.decide())}
    )
    with pytest.raises(NoLegalEventsError, match=r"the active states handle: \*"):
        asked(machine)


def test_records_become_the_attempts_of_the_next_request():
    machine = support_machine()
    owed, request = asked(machine)
    attempt = il.judge(machine, owed.snapshot, request, Choice({"type": "Nope"}, reason="why not"))
    assert isinstance(attempt, DecisionAttempt)
    snapshot, _ = sc.transition(machine, owed.snapshot, sc.Input(invocation=owed.key, record=attempt.to_json()))
    again = machine.load(json.loads(json.dumps(snapshot.dump())))
    (now,) = sc.owed(again).invocations
    assert il.decision_request(machine, now).attempts == (attempt,)
    renewed = il.renewed_request(machine, now, request)
    assert renewed == request.with_attempts((attempt,))


def test_a_renewed_request_has_the_candidates_of_now_and_the_words_of_then():
    machine = support_machine(support.decide(prompt=lambda case: f"notes: {len(case.notes)}"))
    owed, request = asked(machine)
    snapshot, _ = sc.transition(machine, owed.snapshot, Add(text="x"))
    (now,) = sc.owed(snapshot).invocations
    renewed = il.renewed_request(machine, now, request)
    assert renewed.prompt == "notes: 0"
    assert [item.type for item in renewed.events] == ["Approve", "Refuse", "Partial", "note.add", "note.clear"]


def test_what_is_no_decision_is_refused():
    def fetch() -> int:
        return 1

    with pytest.raises(InputError, match="is no decision"):
        asked(support_machine(support.call(fetch)))


# -- the judgement ---------------------------------------------------------------------------------------------------


def test_a_legal_choice_is_the_event():
    assert judged(twenty_questions, {"type": "Ask", "question": "alive?"}) == Ask(question="alive?")
    assert judged(twenty_questions, Guess(guess="stone")) == Guess(guess="stone")


def test_the_validated_payload_is_what_is_sent():
    assert judged(support_machine(), {"type": "Partial", "amount": "20"}) == Partial(amount=20)
    assert judged(support_machine(), {"type": "note.add"}) == Add(text="")


LAST = sc.initial_transition(
    game.machine(
        "last",
        context=Game(questions_left=1),
        initial="deciding",
        states={
            "deciding": twenty_questions.definition.states["deciding"],
            "answering": game.state(),
            "revealing": game.state(),
            "stumped": game.state(),
        },
    )
)[0]


@pytest.mark.parametrize(
    ("event", "failure", "reason"),
    [
        ({"type": "Refus"}, "unknown-event", "there is no event 'Refus' here. Did you mean 'Refuse'?"),
        ({"type": "Escalate"}, "unknown-event", "there is no event 'Escalate' here."),
        (Escalate(), "unknown-event", "there is no event 'Escalate' here."),
        ({"type": "agent.plan.done"}, "unknown-event", "there is no event 'agent.plan.done' here."),
        ({"type": "@done.state.support"}, "unknown-event", "there is no event"),
        ({"type": "*"}, "unknown-event", "there is no event"),
        ({"type": ""}, "unknown-event", "there is no event ''"),
        ({"type": 3}, "unknown-event", "'type' must name the event, not 3"),
        ({"type": ["Refuse"]}, "unknown-event", "'type' must name the event"),
        ({}, "unknown-event", "'type' must name the event, not None"),
        ("Refuse", "unknown-event", "'Refuse' is no event"),
        (None, "unknown-event", "None is no event"),
        ({"type": "Partial"}, "invalid-payload", "amount: Field required"),
        ({"type": "Partial", "amount": "many"}, "invalid-payload", "amount: Input should be a valid integer"),
        ({"type": "Partial", "amount": float("nan")}, "invalid-payload", "amount: nan has no form in JSON"),
        ({"type": "Refuse", "also": 1}, "invalid-payload", "also: Extra inputs are not permitted"),
        ({"type": "Refuse", 3: 1}, "invalid-payload", "key 3 is no string"),
        ({"type": "note.add", "text": "\ud800"}, "invalid-payload", "lone surrogate"),
        ({"type": "note.add", "text": object()}, "invalid-payload", "type object"),
        ({"type": "Partial", "amount": 60}, "rejected-by-guard", "'Partial' with this payload is not allowed in state"),
        ({"type": "note.clear"}, "rejected-by-guard", "'note.clear' is not allowed now"),
    ],
)
def test_the_three_checks(event: object, failure: str, reason: str):
    attempt = judged(support_machine(), event)
    assert isinstance(attempt, DecisionAttempt)
    assert (attempt.failure, attempt.counts) == (failure, True)
    assert reason in attempt.reason
    data = json.loads(json.dumps(attempt.to_json(), allow_nan=False))
    assert DecisionAttempt.from_json(data).to_json() == data


def test_a_guard_stands_behind_the_payload():
    owed = sc.owed(LAST).invocations[0]
    machine = game.machine("unused", initial="a", states={"a": game.state()})
    request = il.decision_request(machine, owed)
    late = il.judge(machine, LAST, request, Choice({"type": "Ask", "question": "alive?"}))
    assert isinstance(late, DecisionAttempt)
    assert late.failure == "rejected-by-guard"
    wrong = il.judge(machine, LAST, request, Choice({"type": "Ask", "question": 3}))
    assert isinstance(wrong, DecisionAttempt)
    assert wrong.failure == "invalid-payload"


def test_what_is_withheld_is_unknown_where_the_decision_does_not_allow_it():
    machine = support_machine(support.decide(allowed_events=[Refuse]), Case(amount=500))
    attempt = judged(machine, {"type": "Approve"})
    assert isinstance(attempt, DecisionAttempt)
    assert attempt.failure == "unknown-event"


def test_a_payload_that_selects_a_transition_for_people_is_refused():
    machine = support.machine(
        "partial",
        initial="a",
        states={
            "a": support.state(
                invoke=support.decide(),
                on=[
                    support.on(Partial, "b", guard=lambda _, e: e.amount > 100, meta={"actor": "human"}),
                    support.on(Partial, "b"),
                ],
            ),
            "b": support.state(),
        },
    )
    attempt = judged(machine, {"type": "Partial", "amount": 101})
    assert isinstance(attempt, DecisionAttempt)
    assert (attempt.failure, "only a person may send" in attempt.reason) == ("rejected-by-guard", True)
    assert judged(machine, {"type": "Partial", "amount": 100}) == Partial(amount=100)


def test_a_guard_that_raises_on_a_payload_is_named():
    machine = support.machine(
        "raising",
        initial="a",
        states={
            "a": support.state(
                invoke=support.decide(), on=[support.on(Partial, "a", guard=lambda _, e: 1 // e.amount > 0)]
            )
        },
    )
    with pytest.raises(HandlerError, match=r"event 'Partial'.*ZeroDivisionError"):
        judged(machine, {"type": "Partial", "amount": 0})


def test_deep_payloads_are_refused_and_not_kept():
    deep: object = "x"
    for _ in range(5_000):
        deep = [deep]
    attempt = judged(support_machine(), {"type": "note.add", "text": deep})
    assert isinstance(attempt, DecisionAttempt)
    assert (attempt.failure, attempt.event) == ("invalid-payload", None)
    assert "deeper than" in attempt.reason


def test_the_models_own_words_are_kept_and_not_judged():
    owed, request = asked(support_machine())
    attempt = il.judge(
        support_machine(), owed.snapshot, request, Choice({"type": "No"}, reason="I \ud800 felt like it")
    )
    assert isinstance(attempt, DecisionAttempt)
    assert attempt.model_reason == "I ? felt like it"


@pytest.mark.parametrize(
    "data",
    [
        {"failure": "nope", "reason": "", "event": None, "model_reason": None},
        {"failure": "moved-on", "reason": 3, "event": None, "model_reason": None},
        {"failure": ["moved-on"], "reason": "", "event": None, "model_reason": None},
        {"failure": "moved-on", "reason": "", "event": [], "model_reason": None},
        {"failure": "moved-on", "reason": "", "event": None, "model_reason": 3},
        {"failure": "moved-on", "reason": "", "event": None},
        {},
    ],
)
def test_an_attempt_is_read_only_from_what_an_attempt_wrote(data: dict[str, object]):
    with pytest.raises(InputError, match=r"this is no refused choice: (failure|reason|event|model_reason)"):
        DecisionAttempt.from_json(data)


# -- the delivery ----------------------------------------------------------------------------------------------------


def test_a_choice_that_came_too_late_is_no_fault_of_the_model():
    machine = support_machine()
    snapshot = started(machine)
    assert il.moved_on(snapshot, Approve()) is None
    closed = sc.transition(machine, snapshot, Refuse())[0]
    attempt = il.moved_on(closed, Approve())
    assert attempt is not None
    assert (attempt.failure, attempt.counts, attempt.event) == ("moved-on", False, {"type": "Approve"})
    assert "has moved on" in attempt.reason


def test_one_input_sends_the_event_and_ends_the_decision():
    machine = support_machine(support.decide(on_done=lambda case, event: support.goto("closed", wanted=(repr(event),))))
    owed, _ = asked(machine)
    snapshot, _ = sc.transition(machine, owed.snapshot, il.delivery(owed, Add(text="x")))
    assert (snapshot.context.notes, snapshot.value) == (("x",), "closed")
    assert snapshot.context.wanted == (repr(Add(text="x")),)
    assert sc.owed(snapshot).invocations == ()


def test_a_decision_whose_event_leaves_the_state_does_not_reach_on_done():
    machine = support_machine(support.decide(on_done=lambda case, event: support.stay(wanted=("reached",))))
    owed, _ = asked(machine)
    snapshot, _ = sc.transition(machine, owed.snapshot, il.delivery(owed, Refuse()))
    assert (snapshot.status, snapshot.context.wanted) == ("done", ())


def test_a_stale_delivery_changes_nothing():
    owed, _ = asked(twenty_questions)
    later = sc.transition(twenty_questions, owed.snapshot, Ask(question="?"))[0]
    back = sc.transition(twenty_questions, later, Reply(answer="no"))[0]
    assert sc.transition(twenty_questions, back, il.delivery(owed, Guess(guess="x")))[0] == back


# -- errors ----------------------------------------------------------------------------------------------------------


def test_exhaustion_lists_every_attempt():
    attempts = (
        DecisionAttempt(failure="unknown-event", reason="there is no event 'X' here"),
        DecisionAttempt(failure="rejected-by-guard", reason="not now"),
    )
    error = DecisionExhaustedError("0.m.a#1", attempts)
    assert (error.code, error.attempts) == ("decision-exhausted", attempts)
    assert str(error) == (
        "decision '0.m.a#1': no legal choice in 2 attempts. 1. unknown-event: there is no event 'X' here; "
        "2. rejected-by-guard: not now"
    )


@pytest.mark.parametrize("bare", [Refuse(), {"type": "Refuse"}, "Refuse", None])
def test_a_bare_answer_is_refused_with_the_way_to_wrap_it(bare: object):
    _, request = asked(support_machine())
    assert il.checked_choice(request, choice := Choice(Refuse())) is choice
    with pytest.raises(ExecutorError, match=r"request '0\.support\.open#1': .* returned .*Choice\(event="):
        il.checked_choice(request, bare)
