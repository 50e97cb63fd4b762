"""Closed choices: a model picks one of the events that its author has made, and adds nothing."""

from __future__ import annotations

import json
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc
from interlock.adapters.local import local_executors
from interlock.agent import decision_request, judge
from tests.run.machines import Left, deciding_pair
from tests.run.planning import (
    DONE,
    Add,
    Boom,
    Count,
    Double,
    Leave,
    Nudge,
    act,
    agent,
    call,
    failed,
    machine,
    picks,
    plan,
    turns,
    within,
)
from tests.run.test_three_ways import assert_replays, assert_same
from tests.run.ways import Example, by_hand, by_runs, by_session

OPTIONS = [Add(by=2), Add(by=3, note="three"), Add(by=20), Double(), Leave()]


def choice(**fields: Any) -> Any:
    given = {"name": "pick", "model": "quick", "prompt": "Pick.", "options": OPTIONS, "on_error": failed} | fields
    return agent.decide(**{"on_done": lambda c, event: agent.goto("over", said=event.type)} | given)


def asked(built: il.Machine[Any, Any, Any]) -> il.DecisionRequest:
    (request,) = il.initial_agent_step(built, at=0.0, execution_id="x").requests
    assert isinstance(request, il.DecisionRequest)
    return request


def test_each_option_that_is_legal_now_is_offered_by_itself():
    request = asked(machine(choice()))
    assert [event.label for event in request.events] == [
        'Add {"by": 2, "note": ""}',
        'Add {"by": 3, "note": "three"}',
        "Leave",
    ]
    # Add(by=20) is no choice here, but others of its type are; Double() is none.
    assert request.withheld == ("Double",)
    first, second, last = request.events
    assert (first.tool_name, second.tool_name, last.tool_name) == (
        "send_event_Add",
        "send_event_Add_2",
        "send_event_Leave",
    )
    assert first.description == 'With {"by": 2, "note": ""}: Add to the number.'
    assert last.description == "Go away."
    assert json.loads(json.dumps(second.input_schema)) == {
        "additionalProperties": False,
        "properties": {"by": {"const": 3}, "note": {"const": "three"}},
        "required": ["by", "note"],
        "type": "object",
    }
    read = il.DecisionRequest.from_json(json.loads(json.dumps(request.to_json())))
    assert [event.option for event in read.events] == [event.option for event in request.events]
    assert json.dumps(read.to_json()) == json.dumps(request.to_json())


def test_an_option_keeps_its_name_whatever_is_legal_beside_it():
    built = machine(choice(options=lambda c: [Add(by=11 - c.n), Add(by=1)]))
    assert [(event.label, event.tool_name) for event in asked(built).events] == [
        ('Add {"by": 1, "note": ""}', "send_event_Add_2")
    ]


CASES: dict[str, tuple[dict[str, Any], Any, str, dict[str, Any]]] = {
    "an-event": ({}, [Add(by=2)], "over", {"n": 2}),
    "a-mapping": ({}, [{"type": "Add", "by": 3, "note": "three"}], "over", {"n": 3, "notes": ("three",)}),
    "defaults-may-be-left-out": ({}, [{"type": "Add", "by": 2}], "over", {"n": 2}),
    "a-bare-type": ({}, [{"type": "Leave"}], "left", {}),
    "one-that-leaves": ({}, [Leave()], "left", {"said": ""}),
    "another-payload": ({"max_retries": 0}, [Add(by=1)], "failed", {"n": 0}),
    "a-mixed-payload": ({"max_retries": 0}, [Add(by=2, note="three")], "failed", {"n": 0}),
    "one-that-is-not-legal": ({"max_retries": 0}, [Add(by=20)], "failed", {"n": 0}),
    "a-type-that-is-not-legal": ({"max_retries": 0}, ["Double"], "failed", {"n": 0}),
    "a-legal-event-that-is-no-option": ({"max_retries": 0}, [Boom()], "failed", {"n": 0}),
    "then-a-good-one": ({}, [[Add(by=1), {"type": "Add"}, Add(by=3, note="three")]], "over", {"n": 3}),
    "of-the-context": ({"options": lambda c: [Add(by=c.n + 4)]}, [Add(by=4)], "over", {"n": 4}),
    "twice-the-same": ({"options": [Leave(), Leave()]}, [Leave()], "left", {}),
    "none-legal": ({"options": [Double(), Add(by=11)]}, [], "failed", {"error": "no-legal-events"}),
    "none-given": ({"options": lambda c: []}, [], "failed", {"error": "no-legal-events"}),
    "only-for-people": ({"options": lambda c: [Nudge(to=1)]}, [], "failed", {"error": "no-legal-events"}),
}


@pytest.mark.parametrize("name", CASES)
async def test_it_goes_as_it_should_in_all_ways(name: str):
    fields, answers, end, expected = CASES[name]
    built = machine(choice(**fields))
    case = Example(build=lambda gate: built, decide=picks(answers))
    hand = await by_hand(case)
    assert hand.snapshot.value == end
    assert {field: getattr(hand.snapshot.context, field) for field in expected} == expected
    assert_replays(built, hand)
    for way in (await by_session(case), await by_runs(case), await by_hand(case, restarted=True)):
        assert_same(hand, way)


@pytest.mark.parametrize(
    ("event", "failure"),
    [
        (Add(by=1), "invalid-payload"),
        (Add(by=20), "invalid-payload"),
        ({"type": "Add"}, "invalid-payload"),
        ({"type": "Double"}, "rejected-by-guard"),
        ({"type": "Boom"}, "unknown-event"),
        ({"type": "Fly"}, "unknown-event"),
    ],
)
async def test_what_is_no_option_is_told_why(event: Any, failure: str):
    built = machine(choice(max_retries=0))
    step = il.initial_agent_step(built, at=0.0)
    step = il.resolve_agent_step(built, step, step.requests[0], event, at=0.0)
    ((identity, (attempt,)),) = il.get_decision_attempts(step.entries).items()
    assert (identity.partition("#")[0], attempt.failure) == ("0.counter.working", failure)
    if failure == "invalid-payload" and not isinstance(event, dict):
        assert attempt.reason.startswith("'Add' with this payload is none of the options")
        assert '"by": 3' in attempt.reason


async def test_moved_on_is_no_fault_of_the_model():
    session: il.AgentSession[Any, Any, Any]
    requests: list[il.DecisionRequest] = []

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        requests.append(request)
        if len(requests) == 1:
            session.send_nowait(Nudge(to=9))
        return il.Choice(Add(by=2) if len(requests) == 1 else Leave())

    session = il.AgentSession(machine(choice(max_retries=0)), executors=il.Executors(decide=decide))
    async with session:
        result = await session.settled()
    assert isinstance(result, il.Done)
    assert [attempt.failure for attempt in requests[1].attempts] == ["moved-on"]
    assert [event.type for event in requests[1].events] == ["Leave"]
    (said,) = il.render_decision_attempts(requests[1])
    assert str(said.content).endswith("Choose exactly one of: Leave.")


def test_the_options_are_named_when_a_choice_was_refused():
    request = asked(machine(choice()))
    refused = request.with_attempts((il.DecisionAttempt(failure="invalid-payload", reason="no"),))
    (said,) = il.render_decision_attempts(refused)
    assert '{"by": 2, "note": ""}, Add {"by": 3, "note": "three"}, Leave.' in str(said.content)


async def test_outside_a_run_too():
    request = asked(machine(choice()))
    given = iter([Add(by=1), Add(by=2)])
    assert await il.resolve_decision(request, lambda r, i: il.Choice(next(given))) == Add(by=2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"options": []}, "options is empty"),
        ({"options": [Add]}, "options holds <class"),
        ({"options": "Add"}, "options is a list of events"),
        ({"options": ["Leave"]}, "options holds 'Leave'"),
        ({"allowed_events": [Add]}, "options and allowed_events say the same thing"),
        ({"options": [Left()]}, "options holds Left"),
        ({"options": [Nudge(to=1)]}, "options holds Nudge, which only a person may send"),
        ({"options": lambda: [Leave()]}, "is called with"),
    ],
)
def test_options_that_mean_nothing_are_refused_when_they_are_written(fields: dict[str, Any], message: str):
    with pytest.raises(il.DefinitionError, match=message):
        machine(choice(**fields))


@pytest.mark.parametrize("given", [None, "Leave", [Leave], [Left()], 5, [{"type": "Leave"}]])
async def test_options_that_a_function_gives_are_checked_when_it_is_asked(given: Any):
    result = await il.run_agent(
        machine(choice(options=lambda c: given)), executors=il.ScriptedExecutors(decisions=[Leave()])
    )
    assert isinstance(result, il.Failed)
    assert isinstance(result.exception, il.InvalidMoveError)
    assert result.error.code == "invalid-handler-result"
    assert "options" in result.error.message


async def test_a_function_that_raises_is_named():
    def options(c: Count) -> Any:
        raise ZeroDivisionError

    result = await il.run_agent(machine(choice(options=options)), executors=il.ScriptedExecutors(decisions=[Leave()]))
    assert isinstance(result, il.Failed)
    assert isinstance(result.exception, il.HandlerError)
    assert "options= of the decision, test_a_function_that_raises_is_named.<locals>.options" in result.error.message


LAW_AGENT = il.setup_agent(context=Count, events=[Add, Leave])
ADDS = st.builds(Add, by=st.integers(-3, 14), note=st.text(max_size=3))


@given(st.lists(st.one_of(ADDS, st.just(Leave())), min_size=1, max_size=5), st.one_of(ADDS, st.just(Leave())))
def test_what_is_taken_is_an_option_that_is_legal(options: list[il.Event], picked: il.Event):
    built = LAW_AGENT.machine(
        "m",
        context=Count(n=4),
        initial="a",
        states={
            "a": LAW_AGENT.state(
                invoke=LAW_AGENT.decide(model="m", prompt="?", options=options, on_error="b"),
                on=[
                    LAW_AGENT.on(Add, lambda c, e: LAW_AGENT.stay(n=c.n + e.by) if c.n + e.by < 10 else None),
                    LAW_AGENT.on(Leave, "b"),
                ],
            ),
            "b": LAW_AGENT.final(output=None),
        },
    )
    snapshot, _ = sc.initial_transition(built)
    (item,) = sc.owed(snapshot).invocations
    legal = [option for option in options if snapshot.can(option)]
    try:
        request = decision_request(built, item)
    except il.NoLegalEventsError:
        assert not legal
        return
    assert [event.option for event in request.events] == [
        {"type": option.type, **option.model_dump()} for option in dict.fromkeys(legal)
    ]
    assert len({event.tool_name for event in request.events}) == len(request.events)
    judged = judge(built, snapshot, request, il.Choice(picked))
    assert judged == judge(built, snapshot, request, il.Choice(picked))
    assert (judged == picked) == (picked in legal)


# -- who is asked when -----------------------------------------------------------------------------------------------


async def test_one_at_a_time_a_decision_sees_what_the_one_before_has_done():
    under_way: list[str] = []
    most = 0

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        nonlocal most
        under_way.append(request.name or "")
        most = max(most, len(under_way))
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        under_way.remove(request.name or "")
        return il.Choice({"type": "Fly" if not request.attempts else request.name or ""})

    for option, expected in (("concurrent", 2), ("one-at-a-time", 1)):
        most = 0
        result = await il.run_agent(
            deciding_pair(), executors=il.Executors(decide=decide), decisions=option, execution_id="x"
        )
        assert isinstance(result, il.Done)
        assert most == expected
        if option == "one-at-a-time":
            step: il.AgentStep[Any] = il.initial_agent_step(deciding_pair(), at=0.0, execution_id="x")
            built = step.head.machine
            said = [entry.happened() for entry in step.entries]
            while not step.done:
                step = await il.resolve_agent_requests(built, step, il.Executors(decide=decide))
                said += [entry.happened() for entry in step.entries]
            assert [entry.happened() for entry in result.entries] == said


def counting_pair(*, of: str) -> il.Machine[Any, Any, Any]:
    """Two regions that each pick from what is left, and take something away."""

    class Take(il.Event):
        """Take some."""

        much: int

    class Pool(BaseModel, frozen=True):
        left: int = 3

    taking = il.setup_agent(context=Pool, events=[Take])

    def region(name: str) -> sc.State:
        word: Any = taking.plan if of == "plan" else taking.decide
        fields: dict[str, Any] = {"max_steps": 1} if of == "plan" else {}
        invoke = word(name=name, model="m", prompt="?", on_done="off", on_error="off", max_retries=0, **fields)
        return taking.state(
            initial="on",
            states={
                "on": taking.state(
                    invoke=invoke,
                    on=[taking.on(Take, lambda c, e: taking.stay(left=c.left - e.much) if e.much <= c.left else None)],
                ),
                "off": taking.end(),
            },
        )

    return taking.machine("pair", context=Pool(), kind="parallel", states={"a": region("a"), "b": region("b")})


@pytest.mark.parametrize("of", ["decide", "plan"])
async def test_plans_and_decisions_wait_for_each_other(of: str):
    built = counting_pair(of=of)
    order: list[str] = []

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        order.append(request.name or "")
        return il.Choice({"type": "Take", "much": 1})

    result = await il.run_agent(
        built, executors=il.Executors(decide=decide), decisions="one-at-a-time", execution_id="x"
    )
    assert isinstance(result, il.Done)
    assert order == ["a", "b"]
    step: il.AgentStep[Any] = il.initial_agent_step(built, at=0.0, execution_id="x")
    said = [entry.happened() for entry in step.entries]
    while not step.done:
        step = await il.resolve_agent_requests(built, step, il.Executors(decide=decide))
        said += [entry.happened() for entry in step.entries]
    assert [entry.happened() for entry in result.entries] == said


async def test_a_decision_that_is_owed_no_more_gives_its_turn_back():
    pair = deciding_pair(timeout=1.0, on_timeout="done")
    clock = il.FakeClock(0.0)
    order: list[str] = []

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        order.append(request.name or "")
        if request.name == "Left":
            clock.advance(2.0)
            await anyio.sleep_forever()
        return il.Choice({"type": request.name or ""})

    result = await il.run_agent(pair, executors=il.Executors(decide=decide), decisions="one-at-a-time", clock=clock)
    assert isinstance(result, il.Done)
    assert order == ["Left", "Right"]


@pytest.mark.parametrize("given", [None, "one", True])
async def test_the_option_is_one_of_two(given: Any):
    with pytest.raises(il.BindError, match="give 'concurrent' or 'one-at-a-time'"):
        await il.run_agent(deciding_pair(), executors=il.ScriptedExecutors(), decisions=given)
    with pytest.raises(il.BindError, match="give 'concurrent' or 'one-at-a-time'"):
        il.AgentSession(deciding_pair(), executors=il.ScriptedExecutors(), decisions=given)


# -- attempts in a log -----------------------------------------------------------------------------------------------


async def test_refused_choices_are_found_in_a_log_by_their_request():
    executors = il.ScriptedExecutors(decisions=["Fly", Add(by=1), Add(by=2)])
    result = await il.run_agent(machine(choice()), executors=executors)
    found = il.get_decision_attempts(result.entries)
    ((identity, attempts),) = found.items()
    assert identity == executors.requests[0].id
    assert attempts == executors.decision_requests[-1].attempts
    assert il.get_decision_attempts(result.entries[:1]) == {}
    read = [il.LogEntry.from_json(entry.to_text()) for entry in result.entries]
    assert il.get_decision_attempts(read) == found


async def test_those_of_plans_and_child_machines_too_and_nothing_else():
    result = await il.run_agent(
        within(machine(plan())), executors=il.ScriptedExecutors(decisions=["Fly", Add(by=1), "Soar", DONE])
    )
    ((identity, attempts),) = il.get_decision_attempts(result.entries).items()
    assert "/" in identity
    assert [attempt.event for attempt in attempts] == [{"type": "Fly"}, {"type": "Soar"}]
    acting = await il.run_agent(
        machine(act()), executors=il.ScriptedExecutors(text=[turns([[call("Add", by=1)], "Done."])] * 2)
    )
    assert il.get_decision_attempts(acting.entries) == {}


# -- usage -----------------------------------------------------------------------------------------------------------


async def test_a_decision_that_was_too_expensive_is_not_delivered():
    built = machine(choice(), limit=4)
    case = Example(build=lambda gate: built, decide=picks([Add(by=2)]))
    hand = await by_hand(case)
    assert (hand.snapshot.value, hand.snapshot.context.n) == ("broke", 0)
    assert not [entry for entry in hand.log if entry.by == "decision"]
    for way in (await by_session(case), await by_runs(case)):
        assert_same(hand, way)


async def test_a_guard_that_raises_over_a_usage_fails_the_run_and_the_log_knows_what_was_paid():
    def guard(c: Count, usage: il.CallUsage) -> bool:
        raise ZeroDivisionError

    built = agent.machine(
        "m",
        context=Count(),
        initial="a",
        on=[agent.on_usage(".b", guard=guard)],
        states={
            "a": agent.state(invoke=agent.decide(model="m", prompt="?"), on=[agent.on(Leave, "b")]),
            "b": agent.final(output={}),
        },
    )
    usage = il.Usage(total_tokens=7)
    executors = il.ScriptedExecutors(decisions=[il.Choice(Leave(), usage=usage)])
    result = await il.run_agent(built, executors=executors)
    assert isinstance(result, il.Failed)
    assert isinstance(result.exception, il.HandlerError)
    assert il.get_usage(result.entries).total_tokens == 7


# -- models on this computer -----------------------------------------------------------------------------------------


def alike(text: str, others: Any) -> list[float]:
    return [0.95 if "three" in other else 0.85 for other in others]


def test_a_chooser_by_meaning_tells_options_apart_and_takes_them_as_they_are():
    request = asked(machine(choice()))
    decide = local_executors(similarity=alike).decide
    assert decide is not None
    info = il.ExecutorInfo(run_id="r", request_id=request.id, call_key="r:0")
    picked = decide(request, info)
    assert isinstance(picked, il.Choice)
    assert picked.event == {"type": "Add", "by": 3, "note": "three"}
    refused = il.DecisionAttempt(failure="rejected-by-guard", reason="no", event=dict(picked.event))
    again = local_executors(similarity=alike, margin=0).decide
    assert again is not None
    other = again(request.with_attempts((refused,)), info)
    assert isinstance(other, il.Choice)
    assert other.event == {"type": "Add", "by": 2, "note": ""}
