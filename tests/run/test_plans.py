"""Plans: one legal event after the other, each judged where the machine stands; the same live and step by step."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlock as il
import interlock.statechart as sc
from interlock.agent.weighing import asked, weigh
from tests.durable.stores import Failing
from tests.run.planning import (
    DONE,
    USAGE,
    Add,
    Again,
    Boom,
    Double,
    Leave,
    Nudge,
    agent,
    machine,
    picks,
    plan,
    within,
)
from tests.run.test_three_ways import assert_replays, assert_same
from tests.run.ways import Example, by_hand, by_runs, by_session

Expected = dict[str, Any]

# What the plan is told, what is answered by how far it is, and where that leads.
CASES: dict[str, tuple[dict[str, Any], list[Any], str, Expected]] = {
    "done-at-once": ({}, [DONE], "over", {"n": 0, "stopped": "done", "steps": ()}),
    "done": ({}, [Add(by=2), Double(), DONE], "over", {"n": 4, "stopped": "done", "steps": ("Add", "Double")}),
    "stop-event": ({"stop_on": Double}, [Add(by=2), Double()], "over", {"n": 4, "stopped": "stop-event"}),
    "stop-by-one-of-several": ({"stop_on": ["Double", "Add"]}, [Add(by=2)], "over", {"n": 2, "stopped": "stop-event"}),
    "max-steps": ({"max_steps": 2}, [Add(by=1), Add(by=2)], "over", {"n": 3, "stopped": "max-steps"}),
    "stop-event-on-the-last-step": (
        {"max_steps": 1, "stop_on": [Add]},
        [Add(by=1)],
        "over",
        {"n": 1, "stopped": "stop-event"},
    ),
    "nothing-legal-at-first": ({"allowed_events": [Double]}, [], "over", {"n": 0, "stopped": "no-legal-events"}),
    "nothing-legal-any-more": (
        {"allowed_events": lambda c: [Add] if c.n < 2 else [Double] if c.n < 6 else []},
        [Add(by=5), Double()],
        "over",
        {"n": 10, "stopped": "no-legal-events", "steps": ("Add", "Double")},
    ),
    "the-payload-is-checked": (
        {},
        [[{"type": "Add"}, {"type": "Add", "by": "x"}, {"type": "Add", "by": 3}], DONE],
        "over",
        {"n": 3, "steps": ("Add",)},
    ),
    "each-step-has-its-own-tries": (
        {"max_retries": 1},
        [["Fly", Add(by=4)], [Add(by=40), Add(by=1)], [{"type": "Nudge", "to": 1}, DONE]],
        "over",
        {"n": 5, "stopped": "done"},
    ),
    "exhausted": ({"max_retries": 1}, [Add(by=4), [Add(by=40)]], "failed", {"n": 4, "error": "decision-exhausted"}),
    "left": ({}, [Add(by=1), Leave()], "left", {"n": 1, "stopped": ""}),
    "left-by-a-stop-event": ({"stop_on": [Leave]}, [Leave()], "left", {"stopped": ""}),
    "left-with-the-last-step": ({"max_steps": 1}, [Leave()], "left", {"stopped": ""}),
    "the-executor-fails": ({}, [Add(by=1), OSError("no line")], "failed", {"n": 1, "error": "raised"}),
    "no-event-at-all": ({"max_retries": 0}, [il.Choice(None)], "failed", {"error": "decision-exhausted"}),  # type: ignore[arg-type]
    "a-problem-ends-nothing": (
        {},
        [[il.Choice(DONE, problem="two choices were made"), Add(by=1)], DONE],
        "over",
        {"n": 1},
    ),
    "done-with-fields": ({}, [{**DONE, "why": "enough"}], "over", {"stopped": "done"}),
}
CASES["entered-again"] = (
    {"max_steps": 2},
    [],
    "over",
    {"rounds": 2, "stopped": "done", "steps": ()},
)
ATOMIC: dict[str, tuple[dict[str, Any], list[Any], str, Expected]] = {
    name: case for name, case in CASES.items() if name not in ("exhausted", "the-executor-fails")
} | {
    "exhausted": ({"max_retries": 0}, [Add(by=4), [Add(by=40)]], "failed", {"n": 0, "error": "decision-exhausted"}),
    "the-executor-fails": ({}, [Add(by=1), OSError("no line")], "failed", {"n": 0, "error": "raised"}),
    "judged-where-the-steps-lead": (
        {"max_retries": 0},
        [Add(by=5), Double(), [Add(by=1)]],
        "failed",
        {"n": 0, "error": "decision-exhausted"},
    ),
    "legal-only-where-the-steps-lead": ({}, [Add(by=5), Double(), DONE], "over", {"n": 10, "stopped": "done"}),
}
ALL = [(False, name) for name in CASES] + [(True, name) for name in ATOMIC]


def while_it_is_legal(request: il.DecisionRequest) -> il.Choice:
    legal = any(event.type == "Again" for event in request.events)
    return il.Choice({"type": "Again"} if legal else DONE, usage=USAGE)


def example(name: str, *, atomic: bool, child: bool = False) -> tuple[Example, str, Expected]:
    fields, answers, end, expected = (ATOMIC if atomic else CASES)[name]
    answer = while_it_is_legal if name == "entered-again" else picks(answers)
    inner = machine(plan(atomic=atomic, **fields))
    return Example(build=lambda gate: within(inner) if child else inner, decide=answer), end, expected


def assert_ended(snapshot: il.Snapshot[Any], end: str, expected: Expected) -> None:
    assert snapshot.value == end
    found = snapshot.context
    assert {name: getattr(found, name) for name in expected} == expected


@pytest.mark.parametrize(("atomic", "name"), ALL)
async def test_it_goes_as_it_should_in_all_ways(atomic: bool, name: str):
    case, end, expected = example(name, atomic=atomic)
    hand = await by_hand(case)
    assert_ended(hand.snapshot, end, expected)
    assert_replays(case.machine, hand)
    for way in (await by_session(case), await by_runs(case), await by_hand(case, restarted=True)):
        assert_same(hand, way)


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("name", ["done", "stop-event", "exhausted", "left", "the-payload-is-checked"])
async def test_in_a_child_machine_it_is_the_same_and_the_root_hears_of_the_usage(atomic: bool, name: str):
    case, _, _ = example(name, atomic=atomic, child=True)
    alone, _, _ = example(name, atomic=atomic)
    hand, bare = await by_hand(case), await by_hand(alone)
    assert hand.snapshot.context.said == str(bare.snapshot.output | {"tokens": 0})
    assert hand.snapshot.context.tokens == bare.snapshot.context.tokens > 0
    for way in (await by_session(case), await by_runs(case), await by_hand(case, restarted=True)):
        assert_same(hand, way)


def test_what_is_asked_says_how_far_it_is_and_offers_the_end():
    # The first step of the step path is pure, so the request can be looked at.
    built = machine(plan(max_steps=3))
    step = il.initial_agent_step(built, at=0.0, execution_id="x")
    (first,) = step.requests
    assert isinstance(first, il.PlanRequest)
    assert (first.kind, first.src, first.name, first.applied, first.steps_remaining) == (
        "plan",
        "agent.plan",
        "plan",
        (),
        3,
    )
    assert [event.type for event in first.events] == ["Add", "Leave", "Again", "Boom", "agent.plan.done"]
    assert first.withheld == ("Double",)
    assert first.call_key == "x:" + first.id + ".0"
    step = il.resolve_agent_step(built, step, first, Add(by=2), at=0.0)
    (second,) = step.requests
    assert isinstance(second, il.PlanRequest)
    assert second.applied == ({"type": "Add", "by": 2, "note": ""},)
    assert (second.steps_remaining, second.attempts, second.call_key) == (2, (), f"x:{first.id}.1")
    assert "Double" in [event.type for event in second.events]
    read = il.DecisionRequest.from_json(json.loads(json.dumps(second.to_json())))
    assert type(read) is il.PlanRequest
    assert json.dumps(read.to_json()) == json.dumps(second.to_json())
    # The end is never an event of the machine.
    assert not step.snapshot.can(DONE)


async def test_the_trail_is_put_into_words_for_a_model():
    requests: list[il.PlanRequest] = []

    def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        assert isinstance(request, il.PlanRequest)
        requests.append(request)
        return picks([Add(by=2), ["Fly", Add(by=1)]])(request)

    result = await il.run_agent(machine(plan(max_steps=2)), executors=il.Executors(decide=decide))
    assert isinstance(result, il.Done)
    said = [[message.content for message in il.render_plan_trail(request)] for request in requests]
    hint = "When nothing more is to be done, choose agent.plan.done instead."
    assert said[0] == [f"Nothing was picked yet.\nYou may pick up to 2 more events, one at a time. {hint}"]
    event = '{"type": "Add", "by": 2, "note": ""}'
    assert said[1] == [f"Picked so far, in this order:\n1. {event}\nYou may pick one more event. {hint}"]
    assert said[2] == said[1]
    assert len(il.render_decision_attempts(requests[2])) == 1
    plain = il.DecisionRequest(id="x", events=requests[0].events)
    assert il.render_plan_trail(plain) == ()


@pytest.mark.parametrize("atomic", [False, True])
async def test_saved_at_any_step_it_goes_on_as_if_nothing_had_happened(atomic: bool):
    built = machine(plan(atomic=atomic))
    answers = [Add(by=2), ["Fly", Double()], Add(by=1), DONE]
    keys: list[str] = []

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        keys.append(info.call_key)
        return picks(answers)(request)

    executors = il.Executors(decide=decide)
    saves: list[str] = []
    whole = await il.run_agent(
        built, executors=executors, execution_id="e", on_transition=lambda s, _: saves.append(s.to_json())
    )
    assert isinstance(whole, il.Done)
    all_keys = list(keys)
    assert len(all_keys) == len(set(all_keys)) == 5
    for number, saved in enumerate(saves[:-1]):
        keys.clear()
        result = await il.run_agent(built, executors=executors, execution_id="e", snapshot=saved)
        assert isinstance(result, il.Done)
        assert result.output == whole.output
        assert keys == all_keys[number:]


class Entries(il.MemoryStore):
    """A store that notes how many entries each append brings."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[str]] = []

    async def append(self, thread_id: str, expected_index: int, entries: Any) -> None:
        await super().append(thread_id, expected_index, entries)
        self.batches.append([entry.type for entry in entries])


async def test_what_was_picked_together_is_one_append():
    store = Entries()
    executors = il.ScriptedExecutors(decisions=[Add(by=2), Double(), Add(by=1), DONE])
    built = machine(plan(atomic=True))
    result = await il.run_agent(built, executors=executors, store=store, thread_id="t")
    assert isinstance(result, il.Done)
    assert [batch for batch in store.batches if "Add" in batch] == [
        ["@record.0.counter.working", "Add", "Double", "Add"]
    ]


async def test_where_the_append_fails_nothing_was_applied():
    built = machine(plan(atomic=True))
    executors = il.ScriptedExecutors(decisions=[Add(by=2), Double(), DONE] * 5)
    store = Failing(4, OSError("disk full"))
    result = await il.run_agent(built, executors=executors, store=store, thread_id="t")
    assert isinstance(result, il.Failed)
    assert result.cause == "journal"
    assert result.snapshot is not None
    assert result.snapshot.context.n == 0
    assert not [entry for entry in await store.read("t") if entry.by == "plan"]


@pytest.mark.parametrize("answers", [[Add(by=2), Boom()], [Boom()]])
async def test_a_handler_that_raises_leaves_nothing_applied(answers: list[Any]):
    built = machine(plan(atomic=True))
    result = await il.run_agent(built, executors=il.ScriptedExecutors(decisions=[*answers, DONE]))
    assert isinstance(result, il.Failed)
    assert isinstance(result.exception, il.HandlerError)
    assert result.snapshot is not None
    assert result.snapshot.context.n == 0
    step = il.initial_agent_step(built, at=0.0)
    for answer in answers[:-1]:
        step = il.resolve_agent_step(built, step, step.requests[0], answer, at=0.0)
    with pytest.raises(il.HandlerError):
        il.resolve_agent_step(built, step, step.requests[0], answers[-1], at=0.0)
    assert step.snapshot.context.n == 0


@pytest.mark.parametrize("atomic", [False, True])
async def test_what_a_person_does_meanwhile_is_no_fault_of_the_model(atomic: bool):
    built = machine(plan(atomic=atomic, max_retries=0))
    asked: list[il.PlanRequest] = []
    session: il.AgentSession[Any, Any, Any]

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        assert isinstance(request, il.PlanRequest)
        asked.append(request)
        if len(asked) == 2:
            session.send_nowait(Nudge(to=9))
        return il.Choice([Add(by=5), DONE if atomic else Add(by=3), DONE, DONE][len(asked) - 1])

    session = il.AgentSession(built, executors=il.Executors(decide=decide))
    async with session:
        result = await session.settled()
    assert isinstance(result, il.Done)
    assert result.output["n"] == 9
    moved = [attempt for request in asked for attempt in request.attempts]
    assert [attempt.failure for attempt in moved] == ["moved-on"]
    assert "moved on" in moved[0].reason
    # What an atomic plan has picked is picked anew from the step on that can be taken no more.
    assert [len(request.applied) for request in asked] == ([0, 1, 0] if atomic else [0, 1, 1])
    assert result.output["steps"] == ([] if atomic else ["Add"])


async def test_two_plans_side_by_side_see_each_other():
    def region(name: str, **more: Any) -> sc.State:
        invoke = plan(name=name, on_done=lambda c, result: agent.goto("off"), on_error=None)
        return agent.state(
            initial="on",
            states={
                "on": agent.state(invoke=invoke, on=[agent.on(Add, added_)]),
                "off": agent.end(),
            },
        )

    def added_(c: Any, event: Any) -> Any:
        return agent.stay(n=c.n + event.by) if c.n + event.by <= 4 else None

    both = agent.parallel(states={"a": region("a"), "b": region("b")}, on_done="over")
    states = {"both": both, "over": agent.final(output=lambda c: c.model_dump(mode="json"))}
    built = agent.machine("pair", initial="both", states=states)

    def decide(request: il.DecisionRequest) -> il.Choice:
        assert isinstance(request, il.PlanRequest)
        return il.Choice(DONE if request.attempts or len(request.applied) > 1 else Add(by=1))

    case = Example(build=lambda gate: built, decide=decide)
    hand = await by_hand(case)
    assert_replays(built, hand)
    for way in (await by_session(case), await by_runs(case), await by_hand(case, restarted=True)):
        assert_same(hand, way)


async def test_who_looks_on_is_told_what_has_come_of_it():
    results: list[Any] = []
    traces: list[il.TraceEvent] = []
    built = machine(plan(stop_on=Double))
    await il.run_agent(
        built,
        executors=il.ScriptedExecutors(decisions=[Add(by=2), "Fly", Double()]),
        on_result=lambda request, output, raw: results.append((request.kind, output)),
        on_trace=traces.append,
    )
    assert results == [("plan", il.PlanResult(steps=(Add(by=2), Double()), stopped="stop-event"))]
    wanted = ("StepPicked", "ChoiceRefused", "RequestEnded")
    named = [type(event).__name__ for event in traces if type(event).__name__ in wanted]
    assert named == ["StepPicked", "ChoiceRefused", "StepPicked", "RequestEnded"]
    assert all(json.dumps(event.to_json(bodies=True)) for event in traces)


async def test_an_executor_is_told_the_same_live_and_step_by_step():
    def told(infos: list[Any]) -> il.Executors:
        async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
            infos.append((info.run_id, info.request_id, info.call_key, info.attempt))
            return picks([Add(by=1), ["Fly", Add(by=1)], DONE])(request)

        return il.Executors(decide=decide)

    live: list[Any] = []
    by_steps: list[Any] = []
    built = machine(plan())
    await il.run_agent(built, executors=told(live), execution_id="x")
    step = il.initial_agent_step(built, at=0.0, execution_id="x")
    while not step.done:
        step = await il.resolve_agent_requests(built, step, told(by_steps), clock=il.FakeClock(0.0))
    assert live == by_steps
    assert [attempt for *_, attempt in live] == [1, 2, 3, 4]


# -- what it costs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("child", [False, True])
async def test_a_plan_that_gets_too_expensive_is_stopped_before_its_step(atomic: bool, child: bool):
    inner = machine(plan(atomic=atomic), limit=None if child else 12)
    built = within(inner, limit=12) if child else inner
    case = Example(build=lambda gate: built, decide=picks([Add(by=1), Add(by=1), Add(by=1), DONE]))
    hand = await by_hand(case)
    assert hand.snapshot.value == "broke"
    steps = [entry for entry in hand.log if entry.by == "plan"]
    assert len(steps) == (0 if atomic else 2)
    assert il.get_usage(hand.log).model_calls == 3
    if not child:
        assert hand.snapshot.context.n == (0 if atomic else 2)
    for way in (await by_session(case), await by_runs(case), await by_hand(case, restarted=True)):
        assert_same(hand, way)


async def test_the_machine_hears_of_a_call_before_it_is_judged():
    """What the machine does about the cost is what the choice is judged by."""
    from tests.run.planning import Count

    def costly(c: Count, usage: il.CallUsage) -> Any:
        return agent.stay(tokens=c.tokens + usage.tokens, n=9)

    working = agent.state(
        invoke=plan(max_retries=0),
        on=[agent.on(Add, lambda c, e: agent.stay(n=c.n + e.by) if c.n + e.by <= 10 else None)],
    )
    built = agent.machine(
        "m",
        context=Count(),
        initial="working",
        on=[agent.on_usage(costly)],
        states={
            "working": working,
            "over": agent.final(output=lambda c: c.model_dump()),
            "failed": agent.final(output={}),
        },
    )
    case = Example(build=lambda gate: built, decide=picks([[Add(by=2), Add(by=1)], DONE]))
    hand = await by_hand(case)
    assert (hand.snapshot.value, hand.snapshot.context.n) == ("over", 9)
    assert [entry.record["failure"] for entry in hand.log if "record" in entry.to_json() and "failure" in entry.record]
    for way in (await by_session(case), await by_runs(case)):
        assert_same(hand, way)


@pytest.mark.parametrize("atomic", [False, True])
async def test_the_limit_of_calls_counts_steps_and_retries(atomic: bool):
    built = machine(plan(atomic=atomic))
    executors = il.ScriptedExecutors(decisions=["Fly", Add(by=1), Add(by=1), DONE])
    result = await il.run_agent(built, executors=executors, max_model_calls=2)
    assert isinstance(result, il.Done)
    assert (result.output["error"], result.output["n"]) == ("max-model-calls", 0 if atomic else 1)
    assert result.usage.model_calls == 2


# -- what others have written ----------------------------------------------------------------------------------------

GARBAGE: list[Any] = [
    None,
    5,
    "step",
    [],
    {},
    {"kind": "step"},
    {"kind": "step", "event": 5},
    {"kind": "step", "event": {"by": 2}},
    {"kind": "step", "event": {"type": 5}},
    {"kind": "attempt"},
    {"kind": "attempt", "failure": "no", "reason": "r", "event": None, "model_reason": None},
    {"kind": "attempt", "failure": "moved-on", "reason": "r", "event": None, "model_reason": None, "kept": -1},
    {"kind": "attempt", "failure": "moved-on", "reason": "r", "event": None, "model_reason": None, "kept": 7},
    {"kind": "attempt", "failure": "moved-on", "reason": "r", "event": None, "model_reason": None, "kept": "x"},
    {"kind": "attempt", "failure": "moved-on", "reason": "r", "event": None, "model_reason": None, "kept": True},
    {"kind": "turn", "messages": [], "calls": []},
]


def with_records(built: il.Machine[Any, Any, Any], records: list[Any]) -> str:
    saved = sc.initial_transition(built)[0].dump()
    (child,) = saved["children"] if isinstance(saved["children"], list) else saved["children"].values()
    child["records"] = records
    return json.dumps(saved)


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("record", GARBAGE, ids=range(len(GARBAGE)))
async def test_records_that_are_none_are_a_typed_failure(atomic: bool, record: Any):
    built = machine(plan(atomic=atomic))
    saved = with_records(built, [record])
    result = await il.run_agent(built, executors=il.ScriptedExecutors(decisions=[]), snapshot=saved)
    assert isinstance(result, il.Done)
    assert result.output["error"] == "invalid-input"
    step = il.initial_agent_step(built, snapshot=saved, at=0.0)
    assert step.snapshot.context.error == "invalid-input"


@pytest.mark.parametrize("record", [None, 5, {}, {"failure": "x"}, {"failure": [], "reason": 1}])
async def test_so_are_those_of_a_decision(record: Any):
    built = machine(
        agent.decide(name="d", model="m", prompt="?", on_error=lambda c, e: agent.goto("failed", error=e.code))
    )
    saved = with_records(built, [record])
    result = await il.run_agent(built, executors=il.ScriptedExecutors(decisions=[]), snapshot=saved)
    assert isinstance(result, il.Done)
    assert result.output["error"] == "invalid-input"


@pytest.mark.parametrize("event", [{"type": "Fly"}, {"type": "Add", "by": "x"}])
async def test_steps_that_the_machine_cannot_read(event: Any):
    """Of an atomic plan they have to be sent; of another one they are history, and the model is shown them."""
    built = machine(plan(atomic=True))
    saved = with_records(built, [{"kind": "step", "event": event}])
    result = await il.run_agent(built, executors=il.ScriptedExecutors(decisions=[]), snapshot=saved)
    assert isinstance(result, il.Done)
    assert result.output["error"] == "invalid-event"


async def test_a_step_that_the_machine_does_not_know_is_a_typed_failure_when_the_plan_is_over():
    built = machine(plan())
    saved = with_records(built, [{"kind": "step", "event": {"type": "Fly"}}])
    result = await il.run_agent(built, executors=il.ScriptedExecutors(decisions=[DONE]), snapshot=saved)
    assert isinstance(result, il.Failed)
    assert isinstance(result.exception, il.InterlockError)


@pytest.mark.parametrize("atomic", [False, True])
async def test_one_that_has_more_steps_than_it_may_have_by_now_is_over(atomic: bool):
    built = machine(plan(atomic=atomic, max_steps=lambda c: 2))
    steps = [{"kind": "step", "event": {"type": "Add", "by": by, "note": ""}} for by in (1, 2, 3)]
    result = await il.run_agent(built, executors=il.ScriptedExecutors(), snapshot=with_records(built, steps))
    assert isinstance(result, il.Done)
    assert (result.output["stopped"], len(result.output["steps"])) == ("max-steps", 3)
    assert result.output["n"] == (6 if atomic else 0)


# -- laws ------------------------------------------------------------------------------------------------------------

CHOICES = st.one_of(
    st.builds(Add, by=st.integers(-4, 12)),
    st.sampled_from([Double(), Leave(), Again(), Nudge(to=1)]),
    st.sampled_from([DONE, {"type": "Fly"}, {"type": "Add"}, {}, {"type": ["x"]}, None, 5]),
)
STEPWISE, TOGETHER = (machine(plan(atomic=atomic, max_steps=4)) for atomic in (False, True))


@given(st.lists(CHOICES, max_size=8), st.booleans())
def test_a_choice_is_weighed_purely_and_what_is_sent_is_legal_where_it_is_sent(choices: list[Any], atomic: bool):
    built = TOGETHER if atomic else STEPWISE
    snapshot, _ = sc.initial_transition(built)
    for given_choice in choices:
        items = sc.owed(snapshot).invocations
        if not items:
            return
        (item,) = items
        request = asked(built, item, None, root=(built, snapshot))
        if not isinstance(request, il.DecisionRequest):
            return
        before = json.dumps(snapshot.dump())
        found, again = (weigh(built, item, request, il.Choice(given_choice), root=(built, snapshot)) for _ in range(2))
        assert json.dumps(snapshot.dump()) == before
        assert repr(found) == repr(again)
        inputs = found.inputs(item)
        if found.attempt is not None:
            assert all(given_input.event is None for given_input in inputs)
        for given_input in inputs:
            if given_input.event is not None:
                assert snapshot.can(given_input.event)
                assert given_input.event.actor != "human"
                assert given_input.event.type != "agent.plan.done"
            snapshot, _ = sc.transition(built, snapshot, given_input)
        assert built.load(snapshot.to_json()) == snapshot


# -- what goes wrong before anything runs ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"stop_on": "Fly"}, "stop_on holds 'Fly'"),
        ({"max_steps": 0}, "max_steps"),
        ({"atomic": "yes"}, "atomic='yes'"),
        ({"options": [Double()]}, "no keyword 'options'"),
    ],
)
def test_a_plan_that_means_nothing_is_refused_when_it_is_written(fields: dict[str, Any], message: str):
    with pytest.raises(il.DefinitionError, match=message):
        machine(plan(**fields))


async def test_a_plan_is_no_single_decision():
    step = il.initial_agent_step(machine(plan()), at=0.0)
    with pytest.raises(il.InputError, match="is a plan"):
        await il.resolve_decision(step.requests[0], lambda request, info: il.Choice(DONE))  # type: ignore[arg-type]


async def test_a_plan_that_goes_round_without_anybody_being_asked_is_found():
    """On the step path nobody would ever get the step back."""
    built = agent.machine(
        "m",
        initial="a",
        states={
            "a": agent.state(
                invoke=agent.plan(model="m", prompt="?", on_done="b"),
                on=[agent.on(Double, "b", guard=lambda c, e: False)],
            ),
            "b": agent.state(always=[agent.always("a")]),
        },
    )
    with pytest.raises(il.EndlessLoopError, match="have ended before anybody could be asked"):
        il.initial_agent_step(built, at=0.0)
