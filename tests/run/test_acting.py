"""Acting: events among the tools of a model, each sent before the next call is looked at, and answered in one entry."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlock as il
import interlock.statechart as sc
from interlock.agent.act import acted, is_event, task_of
from tests.run.planning import (
    Add,
    Count,
    Double,
    Nudge,
    act,
    agent,
    call,
    machine,
    told,
    turns,
    within,
)
from tests.run.test_three_ways import assert_replays, assert_same
from tests.run.ways import Example, by_hand, by_runs, by_session

Expected = dict[str, Any]


def look_up(word: str) -> str:
    """Look a word up."""
    if word == "missing":
        raise KeyError(word)
    return f"{word}: a thing"


LONG = "x" * 200
NEAR = ("send_event_Add", "send_event_Boom", "send_event_Leave")

# What the loop is told, the model's turns, where that leads, and what the calls were answered.
CASES: dict[str, tuple[dict[str, Any], list[Any], str, Expected, list[Any]]] = {
    "a-text-at-once": ({}, ["Nothing to do."], "over", {"said": "Nothing to do.", "n": 0}, []),
    "one-event": ({}, [[call("Add", by=2)], "Done."], "over", {"n": 2, "said": "Done."}, [{"changed": {"n": "2"}}]),
    "calls-in-order": (
        {},
        [[call("Add", by=2), call("Double"), call("Add", by=1)], "Done."],
        "over",
        {"n": 5},
        [{"changed": {"n": "2"}}, {"changed": {"n": "4"}}, {"changed": {"n": "5"}}],
    ),
    "a-bad-payload": (
        {},
        [[call("Add", by=[]), call("Add"), ("send_event_Add", "what"), call("Add", by=1)], "Done."],
        "over",
        {"n": 1},
        [
            "'Add' was not sent: by: Input should be a valid integer (given: [])",
            "'Add' was not sent: by: Field required",
            "send_event_Add needs an object of fields, not 'what'",
            {"changed": {"n": "1"}},
        ],
    ),
    "not-accepted-now": (
        {},
        [[call("Double"), call("Add", by=11), call("Nudge", to=3)], "Done."],
        "over",
        {"n": 0},
        [
            "'Double' is not allowed in state working",
            "'Add' is not allowed in state working",
            "'Nudge' is not allowed in state working",
        ],
    ),
    "no-such-tool": (
        {},
        [[call("Fly")], "Done."],
        "over",
        {"n": 0},
        [f"there is no tool 'send_event_Fly'. Did you mean {' or '.join(map(repr, NEAR))}?"],
    ),
    "values-are-cut": (
        {},
        [[call("Add", by=1, note=LONG)], "Done."],
        "over",
        {"n": 1},
        [{"changed": {"n": "1", "notes": '["' + "x" * 115 + "..."}}],
    ),
    "beside-plain-tools": (
        {"tools": [look_up]},
        [[("look_up", {"word": "a"}), call("Add", by=1), ("look_up", {"word": "missing"}), ("look_up", {})], "Done."],
        "over",
        {"n": 1},
        [
            "a: a thing",
            {"changed": {"n": "1"}},
            "KeyError: 'missing'",
            "look_up was not called: word: Missing required argument (given: {})",
        ],
    ),
    "left": ({}, [[call("Add", by=1), call("Leave"), call("Add", by=1)]], "left", {"n": 1, "said": ""}, []),
    "max-steps": (
        {"max_steps": 2},
        [[call("Add", by=1)], [call("Add", by=2)]],
        "over",
        {"n": 3, "said": ""},
        [],
    ),
    "text-beside-the-last-calls": (
        {"max_steps": 1},
        [il.TextResult("Adding.", tool_calls=(il.ToolCall("1", "send_event_Add", {"by": 3}),))],
        "over",
        {"n": 3, "said": "Adding."},
        [],
    ),
    "no-words": ({}, [[call("Add", by=1)], il.TextResult()], "over", {"n": 1, "said": ""}, [{"changed": {"n": "1"}}]),
    "the-executor-fails": ({}, [[call("Add", by=1)], OSError("no line")], "failed", {"n": 1, "error": "raised"}, []),
    "cut-off-in-a-call": (
        {},
        [
            il.TextResult(
                tool_calls=(il.ToolCall("1", "send_event_Add", {"by": 3}),),
                finish_reason="length",
            )
        ],
        "failed",
        {"n": 0, "error": "truncated"},
        [],
    ),
    "held-back": ({}, [il.TextResult("I", finish_reason="content-filter")], "failed", {"error": "refused"}, []),
    "ids-are-made-unlike": (
        {},
        [
            il.TextResult(tool_calls=tuple(il.ToolCall("a", "send_event_Add", {"by": n}) for n in (1, 2))),
            il.TextResult(tool_calls=(il.ToolCall("a", "send_event_Double", {}),)),
            "Done.",
        ],
        "over",
        {"n": 3 + 3},
        [{"changed": {"n": "1"}}, {"changed": {"n": "3"}}, {"changed": {"n": "6"}}],
    ),
}


def example(name: str, *, child: bool = False, seen: list[il.TextRequest] | None = None) -> Example:
    fields, answers, *_ = CASES[name]
    inner = machine(act(**fields))
    play = turns(answers)

    def write(request: il.TextRequest) -> il.TextResult:
        assert il.check_transcript(il.request_messages(request)) == ()
        if seen is not None:
            seen.append(request)
        return play(request)

    return Example(build=lambda gate: within(inner) if child else inner, write=write, gated=False)


@pytest.mark.parametrize("name", CASES)
async def test_it_goes_as_it_should_in_all_ways(name: str):
    seen: list[il.TextRequest] = []
    case = example(name, seen=seen)
    _, _, end, expected, answers = CASES[name]
    hand = await by_hand(case)
    assert hand.snapshot.value == end
    found = hand.snapshot.context
    assert {field: getattr(found, field) for field in expected} == expected
    if answers:
        assert told(seen[-1]) == answers
    assert_replays(case.machine, hand)
    for way in (await by_session(case), await by_runs(case), await by_hand(case, restarted=True)):
        assert_same(hand, way)


async def test_an_event_that_enters_the_state_again_begins_another_loop():
    def write(request: il.TextRequest) -> il.TextResult:
        offered = [tool.name for tool in request.tools]
        return turns([[call("Again"), call("Add", by=1)] if "send_event_Again" in offered else "Done."])(request)

    case = Example(build=lambda gate: machine(act()), write=write, gated=False)
    hand = await by_hand(case)
    assert (hand.snapshot.value, hand.snapshot.context.rounds, hand.snapshot.context.n) == ("over", 2, 0)
    for way in (await by_session(case), await by_runs(case), await by_hand(case, restarted=True)):
        assert_same(hand, way)


@pytest.mark.parametrize("name", ["calls-in-order", "a-bad-payload", "left", "max-steps", "beside-plain-tools"])
async def test_in_a_child_machine_it_is_the_same_and_the_root_hears_of_the_usage(name: str):
    case, alone = example(name, child=True), example(name)
    hand, bare = await by_hand(case), await by_hand(alone)
    assert hand.snapshot.context.said == str(bare.snapshot.output | {"tokens": 0})
    assert hand.snapshot.context.tokens == bare.snapshot.context.tokens > 0
    for way in (await by_session(case), await by_runs(case), await by_hand(case, restarted=True)):
        assert_same(hand, way)


def test_what_is_asked():
    built = machine(act(tools=[look_up], max_steps=3))
    step = il.initial_agent_step(built, at=0.0, execution_id="x")
    (first,) = step.requests
    assert isinstance(first, il.TextRequest)
    assert (first.kind, first.src, first.max_steps, first.steps_remaining) == ("act", "agent.act", 3, 3)
    events = ["Add", "Leave", "Again", "Boom"]
    assert [tool.name for tool in first.tools] == [*(f"send_event_{name}" for name in events), "look_up"]
    assert first.tools[0].description == "Add to the number."
    assert set(first.tools[0].input_schema["properties"]) == {"by", "note"}  # type: ignore[call-overload]
    read = il.TextRequest.from_json(json.loads(json.dumps(first.to_json())))
    assert json.dumps(read.to_json()) == json.dumps(first.to_json())


async def test_the_tools_follow_the_state():
    seen: list[il.TextRequest] = []
    await by_hand(example("calls-in-order", seen=seen))
    offered = [[tool.name for tool in request.tools] for request in seen]
    assert "send_event_Double" not in offered[0]
    assert "send_event_Double" in offered[1]


async def test_an_event_and_its_answer_are_one_entry_and_the_turn_is_there_before():
    hand = await by_hand(example("calls-in-order"))
    said = [
        (entry.event["type"] if entry.event else None, entry.record["kind"] if entry.record is not sc.UNSET else None)
        for entry in hand.log[1:]
    ]
    assert said == [(None, "turn"), ("Add", "answer"), ("Double", "answer"), ("Add", "answer"), (None, "turn")]
    assert {entry.by for entry in hand.log if entry.event and not entry.is_init} == {"act"}


async def test_a_change_of_state_within_the_acting_state_is_told():
    built = agent.machine(
        "m",
        context=Count(),
        initial="desk",
        states={
            "desk": agent.state(
                invoke=act(),
                initial="shut",
                states={
                    "shut": agent.state(on=[agent.on(Double, "open")]),
                    "open": agent.state(on=[agent.on(Add, lambda c, e: agent.goto("shut", n=c.n + e.by))]),
                },
            ),
            "over": agent.final(output=lambda c: c.model_dump(mode="json")),
            "failed": agent.final(output={}),
        },
    )
    seen: list[il.TextRequest] = []

    def write(request: il.TextRequest) -> il.TextResult:
        seen.append(request)
        return turns([[call("Double"), call("Double"), call("Add", by=1)], "Done."])(request)

    hand = await by_hand(Example(build=lambda gate: built, write=write, gated=False))
    assert hand.snapshot.value == "over"
    assert told(seen[-1]) == [
        {"state": {"desk": "open"}},
        "'Double' is not allowed in state " + '{"desk": "open"}',
        {"state": {"desk": "shut"}, "changed": {"n": "1"}},
    ]


# -- loops of executors ----------------------------------------------------------------------------------------------


async def looping(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
    assert info.call_tool is not None
    said = [
        await info.call_tool("send_event_Add", {"by": 2}),
        await info.call_tool("send_event_Add", {"by": 20}),
        await info.call_tool("send_event_Double", None),
        await info.call_tool("look_up", {"word": "a"}),
        await info.call_tool("send_event_Add", {"by": 2}),
    ]
    return il.TextResult(json.dumps([answer.value for answer in said]))


async def test_an_executor_with_a_loop_of_its_own_takes_the_same_path():
    built = machine(act(tools=[look_up]))
    saves: list[str] = []
    result = await il.run_agent(
        built,
        executors=il.Executors(generate_text=looping),
        execution_id="e",
        on_transition=lambda s, _: saves.append(s.to_json()),
    )
    assert isinstance(result, il.Done)
    assert result.output["n"] == 6
    assert json.loads(str(result.output["said"])) == [
        {"changed": {"n": "2"}},
        "'Add' is not allowed in state working",
        {"changed": {"n": "4"}},
        "a: a thing",
        {"changed": {"n": "6"}},
    ]
    # Whenever it is made again, what was sent is not sent again, and it hears the same.
    for saved in saves[:-1]:
        again = await il.run_agent(
            built, executors=il.Executors(generate_text=looping), execution_id="e", snapshot=saved
        )
        assert isinstance(again, il.Done)
        assert again.output == result.output
        sent = [entry for entry in again.entries if entry.by == "act"]
        assert len(sent) + saved.count('"kind": "answer"') + saved.count('"kind":"answer"') <= 5


async def test_an_event_that_leaves_the_state_ends_the_executor_there():
    ended: list[str] = []

    async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        assert info.call_tool is not None
        try:
            await info.call_tool("send_event_Leave", {})
            ended.append("went on")
        except anyio.get_cancelled_exc_class():
            ended.append("cancelled")
            raise
        return il.TextResult("never heard")

    result = await il.run_agent(machine(act()), executors=il.Executors(generate_text=play))
    assert isinstance(result, il.Done)
    assert (result.snapshot.value, ended) == ("left", ["cancelled"])
    assert not [entry for entry in result.entries if entry.output is not sc.UNSET]


async def whole(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
    return il.TextResult("text")


whole.whole_loops = True  # type: ignore[attr-defined]


async def test_an_executor_that_only_runs_whole_loops_may_write_and_not_act():
    executors = il.Executors(generate_text=whole)
    for built in (machine(act()), within(machine(act()))):
        with pytest.raises(il.BindError, match=r"state 'working' acts, but its executor runs whole loops") as caught:
            await il.run_agent(built, executors=executors)
        assert caught.value.code == "whole-loop-executor"
    built = machine(act())
    step = il.initial_agent_step(built, at=0.0)
    with pytest.raises(il.BindError, match="runs whole loops"):
        await il.resolve_agent_requests(built, step, executors)
    with pytest.raises(il.BindError, match="runs whole loops"):
        await il.execute_agent_request(step.requests[0], executors)
    text = agent.generate_text(model="m", prompt="?", on_done=lambda c, out: agent.goto("over", said=out))
    result = await il.run_agent(machine(text), executors=executors)
    assert isinstance(result, il.Done)
    assert result.output["said"] == "text"


async def test_streaming_is_nothing_to_it():
    async def stream(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
        raise AssertionError("an act loop is asked whole")
        yield ""

    executors = il.Executors(generate_text=whole_text, stream_text=stream)
    assert isinstance(await il.run_agent(machine(act()), executors=executors), il.Done)
    with pytest.raises(il.BindError, match=r"Executors\(generate_text=...\)"):
        await il.run_agent(machine(act()), executors=il.Executors(stream_text=stream))


async def whole_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
    return il.TextResult("text")


# -- what it costs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("child", [False, True])
async def test_a_loop_that_gets_too_expensive_is_stopped_before_its_calls(child: bool):
    inner = machine(act(), limit=None if child else 7)
    built = within(inner, limit=7) if child else inner
    case = Example(build=lambda gate: built, write=turns([[call("Add", by=1)]] * 5), gated=False)
    hand = await by_hand(case)
    assert hand.snapshot.value == "broke"
    assert il.get_usage(hand.log).model_calls == 2
    assert len([entry for entry in hand.log if entry.by == "act"]) == 1
    for way in (await by_session(case), await by_runs(case), await by_hand(case, restarted=True)):
        assert_same(hand, way)


async def test_the_limit_of_calls_counts_turns():
    built = machine(act())
    executors = il.ScriptedExecutors(text=[turns([[call("Add", by=1)]] * 9)] * 3)
    result = await il.run_agent(built, executors=executors, max_model_calls=2)
    assert isinstance(result, il.Done)
    assert (result.output["error"], result.output["n"]) == ("max-model-calls", 2)
    assert result.usage.model_calls == 2


# -- side by side ----------------------------------------------------------------------------------------------------


async def test_loops_in_parallel_regions_move_one_machine():
    def region(name: str) -> sc.State:
        invoke = act(name=name, on_done=lambda c, text: agent.goto("off"), on_error=None)
        on = [agent.on(Add, lambda c, e: agent.stay(n=c.n + e.by) if c.n + e.by <= 4 else None)]
        return agent.state(initial="on", states={"on": agent.state(invoke=invoke, on=on), "off": agent.end()})

    both = agent.parallel(states={"a": region("a"), "b": region("b")}, on_done="over")
    states = {"both": both, "over": agent.final(output=lambda c: c.model_dump(mode="json"))}
    built = agent.machine("pair", context=Count(), initial="both", states=states)
    case = Example(build=lambda gate: built, write=turns([[call("Add", by=1)], "Done."]), gated=False)
    hand = await by_hand(case)
    # Each region handles the event, so each call counts twice, and the machine ends at its own limit.
    assert hand.snapshot.value == "over"
    assert_replays(built, hand)
    result = await il.run_agent(built, executors=case.executors)
    assert isinstance(result, il.Done)
    assert result.output["n"] == hand.snapshot.context.n


async def test_what_a_person_does_between_two_calls_is_told_by_the_next_answer():
    session: il.AgentSession[Any, Any, Any]
    seen: list[il.TextRequest] = []

    def meet() -> str:
        """Meet."""
        session_send()
        return "met"

    def session_send() -> None:
        anyio.from_thread.run_sync(session.send_nowait, Nudge(to=9))

    def write(request: il.TextRequest) -> il.TextResult:
        seen.append(request)
        return turns([[("meet", {}), call("Add", by=5)], "Done."])(request)

    async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        return write(request)

    session = il.AgentSession(machine(act(tools=[meet])), executors=il.Executors(generate_text=play))
    async with session:
        result = await session.settled()
    assert isinstance(result, il.Done)
    assert told(seen[-1]) == ["met", "'Add' is not allowed in state working"]
    assert result.output["n"] == 9


# -- what others have written ----------------------------------------------------------------------------------------

GARBAGE: list[Any] = [
    None,
    5,
    [],
    {},
    {"kind": "turn"},
    {"kind": "answer", "call": {"id": "1"}},
    {"kind": "step", "event": {"type": "Add"}},
    {"kind": "turn", "messages": [], "calls": [{"id": 1, "name": 2}]},
    {"kind": "answer", "call": {"id": "1", "name": "x", "input": None}, "output": {"type": "no"}},
]


@pytest.mark.parametrize("record", GARBAGE, ids=range(len(GARBAGE)))
async def test_records_that_are_none_are_a_typed_failure(record: Any):
    built = machine(act())
    saved = sc.initial_transition(built)[0].dump()
    (child,) = saved["children"] if isinstance(saved["children"], list) else saved["children"].values()
    child["records"] = [record]
    result = await il.run_agent(built, executors=il.ScriptedExecutors(), snapshot=json.dumps(saved))
    assert isinstance(result, il.Done)
    assert result.output["error"] == "invalid-input"
    step = il.initial_agent_step(built, snapshot=saved, at=0.0)
    assert step.snapshot.context.error == "invalid-input"


# -- laws ------------------------------------------------------------------------------------------------------------

BUILT = machine(act())
NAMES = st.sampled_from([f"send_event_{kind}" for kind in ("Add", "Double", "Leave", "Again", "Nudge")])
INPUTS = st.one_of(
    st.none(),
    st.text(max_size=4),
    st.fixed_dictionaries({}, optional={"by": st.integers(-20, 20), "note": st.text(max_size=4), "to": st.integers()}),
    st.dictionaries(st.sampled_from(["by", "type", "other"]), st.one_of(st.none(), st.integers(), st.text(max_size=3))),
)


@given(st.lists(st.tuples(NAMES, INPUTS), max_size=6), st.integers(-3, 10))
def test_a_call_is_judged_purely_and_what_is_sent_is_legal(calls: list[tuple[str, Any]], start: int):
    snapshot, _ = sc.transition(BUILT, sc.initial_transition(BUILT)[0], Nudge(to=start))
    for name, arguments in calls:
        items = sc.owed(snapshot).invocations
        if not items:
            return
        asked = il.ToolCall("1", name, arguments)
        assert is_event(BUILT, name)
        before = json.dumps(snapshot.dump())
        found, again = (acted(BUILT, items[0], asked) for _ in range(2))
        assert json.dumps(snapshot.dump()) == before
        assert (found.output, repr(found.input)) == (again.output, repr(again.input))
        offered = [tool.name for tool in task_of(BUILT, items[0]).request.tools]
        after, _ = sc.transition(BUILT, snapshot, found.input)
        if found.event is None:
            assert found.output.type == "error-text"
            assert after.context == snapshot.context
            assert after.value == snapshot.value
        else:
            assert name in offered
            assert snapshot.can(found.event)
            assert found.event.actor != "human"
            assert found.output.type == "json"
        snapshot = after


def test_a_tool_may_be_forced_by_name():
    step = il.initial_agent_step(machine(act(tool_choice="required")), at=0.0)
    assert isinstance(step.requests[0], il.TextRequest)
    assert step.requests[0].tool_choice == "required"
    il.initial_agent_step(machine(act(tool_choice="send_event_Add")), at=0.0)
    with pytest.raises(il.DefinitionError, match="tool_choice 'other'"):
        machine(act(tool_choice="other"))
