"""Machines in machines: executors, budget, traces and usage reach all of them, and what ends above ends below."""

from __future__ import annotations

from collections import Counter
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc
from interlock.errors import DefinitionError
from tests.run import fan

pytestmark = pytest.mark.anyio

TOPICS = ("rain", "snow", "hail")
TEXTS = {topic: f"On {topic}, 1!" for topic in TOPICS}

agent = il.setup_agent(events=[], output=str)


def leaf(**fields: Any) -> il.Machine[Any, None, str]:
    """A machine that has a text written and puts it out."""
    return agent.machine(
        "level-0",
        context={},
        initial="writing",
        states={
            "writing": agent.state(
                invoke=agent.generate_text(
                    name="write", model="quick", prompt="?", on_done=lambda c, text: agent.goto("over", text=text)
                ),
                **fields,
            ),
            "over": agent.final(output=lambda c: c["text"]),
        },
    )


def around(inner: il.Machine[Any, None, str], name: str, **fields: Any) -> il.Machine[Any, None, str]:
    """A machine that runs another one and puts out what that does."""
    return agent.machine(
        name,
        context={"text": ""},
        initial="working",
        states={
            "working": agent.state(
                invoke=agent.child(inner, on_done=lambda c, text: agent.goto("over", text=text + "."), **fields)
            ),
            "over": agent.final(output=lambda c: c["text"]),
        },
    )


def nested(depth: int) -> il.Machine[Any, None, str]:
    machine = leaf()
    for number in range(1, depth + 1):
        machine = around(machine, f"level-{number}")
    return machine


def machines_of(events: list[il.TraceEvent]) -> Counter[str]:
    return Counter(event.origin.machine for event in events if isinstance(event, il.RequestStarted))


# -- invoked children ------------------------------------------------------------------------------------------------


async def test_a_child_ten_deep_is_carried_out_by_the_runs_executors():
    events: list[il.TraceEvent] = []
    text = il.TextResult(output="deep", usage=il.Usage(input_tokens=3, output_tokens=2))
    script = il.ScriptedExecutors(text=[text])
    result = await il.run_agent(nested(10), executors=script, on_trace=events.append, execution_id="e")
    assert isinstance(result, il.Done)
    assert result.output == "deep" + "." * 10
    assert (result.usage.model_calls, result.usage.input_tokens, result.usage.output_tokens) == (1, 3, 2)
    assert il.get_usage(result.entries) == result.usage
    assert machines_of(events) == {"level-0": 1}
    assert script.infos[0].call_key.count("/") == 10


async def test_a_run_ten_deep_goes_on_from_its_snapshot():
    failed = await il.run_agent(nested(10), executors=il.ScriptedExecutors(text=["x"]), max_model_calls=0)
    assert isinstance(failed, il.Failed)
    machine, abort = nested(10), il.Abort()
    abort.abort("later")
    cut = await il.run_agent(machine, executors=il.ScriptedExecutors(), abort=abort)
    assert cut.snapshot is not None
    script = il.ScriptedExecutors(text=["deep"])
    result = await il.run_agent(nested(10), snapshot=cut.snapshot.to_json(), executors=script)
    assert isinstance(result, il.Done)
    assert result.output == "deep" + "." * 10


async def test_the_budget_is_one_for_the_whole_tree():
    result = await il.run_agent(fan.paper(), input=TOPICS, executors=fan.executors(), max_model_calls=5)
    assert isinstance(result, il.Done)
    assert "max_model_calls" in result.output["failed"]
    assert result.usage.model_calls == 5


async def test_an_executor_bound_to_a_request_wins_at_any_depth():
    async def own(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        return il.TextResult(output="its own")

    request = il.text_request("bound", model="quick", prompt="?").with_executor(own)
    inner = agent.machine(
        "bound",
        context={"text": ""},
        initial="writing",
        states={
            "writing": agent.state(invoke=agent.ask(request, on_done=lambda c, text: agent.goto("over", text=text))),
            "over": agent.final(output=lambda c: c["text"]),
        },
    )
    result = await il.run_agent(around(around(inner, "b"), "a"), executors=il.ScriptedExecutors())
    assert isinstance(result, il.Done)
    assert result.output == "its own.."
    without = await il.run_agent(around(around(inner, "b"), "a"))
    assert isinstance(without, il.Done)


async def test_a_childs_own_function_is_its_own_whatever_the_run_is_given():
    def answer() -> str:
        return "its own"

    inner = agent.machine(
        "calling",
        context={"text": ""},
        initial="a",
        states={
            "a": agent.state(invoke=agent.call(answer, on_done=lambda c, text: agent.goto("b", text=text))),
            "b": agent.final(output=lambda c: c["text"]),
        },
    )
    result = await il.run_agent(around(around(inner, "b"), "a"), executors=il.ScriptedExecutors())
    assert isinstance(result, il.Done)
    assert result.output == "its own.."
    with pytest.raises(DefinitionError, match="answer"):
        await il.run_agent(around(inner, "a"), actors={"answer": lambda: "another"})
    changed = await il.run_agent(around(inner.provide({"answer": lambda: "another"}), "a"))
    assert isinstance(changed, il.Done)
    assert changed.output == "another."


async def test_provide_puts_another_machine_or_a_function_in_a_childs_place():
    def stand_in() -> str:
        return "by hand"

    machine = nested(2)
    result = await il.run_agent(machine, actors={"level-1": stand_in})
    assert isinstance(result, il.Done)
    assert result.output == "by hand."
    other = around(leaf(), "level-1").provide({"level-0": stand_in})
    result = await il.run_agent(machine.provide({"level-1": other}))
    assert isinstance(result, il.Done)
    assert result.output == "by hand.."


async def test_a_missing_executor_is_said_before_anything_runs_also_for_what_is_only_spawned():
    with pytest.raises(il.BindError, match="child machine 'writer', state 'writing'"):
        await il.run_agent(fan.paper(), input=TOPICS)


async def test_a_childs_failure_goes_to_the_parents_on_error():
    script = il.ScriptedExecutors(text=[ValueError("no ink")])
    machine = around(leaf(), "parent", on_error=lambda c, error: agent.goto("over", text=f"{error.type}"))
    result = await il.run_agent(machine, executors=script)
    assert isinstance(result, il.Done)
    assert result.output == "ValueError"


async def test_a_failure_that_nobody_handles_says_where_it_comes_from():
    script = il.ScriptedExecutors(text=[ValueError("no ink")])
    result = await il.run_agent(nested(3), executors=script)
    assert isinstance(result, il.Failed)
    assert result.origin is not None
    assert (result.origin.machine, result.origin.name) == ("level-0", "write")


# -- spawned children ------------------------------------------------------------------------------------------------


async def test_as_many_machines_as_there_are_topics_are_spawned_and_joined():
    keys: list[str] = []
    events: list[il.TraceEvent] = []
    paper = fan.paper()
    result = await il.run_agent(paper, input=TOPICS, executors=fan.executors(keys.append), on_trace=events.append)
    assert isinstance(result, il.Done)
    assert result.output == TEXTS
    assert list(result.output) == list(TOPICS)
    assert len(set(keys)) == len(keys) == result.usage.model_calls == len(TOPICS) * fan.CALLS_OF_A_WRITER
    assert machines_of(events) == {"writer": len(keys)}
    assert il.get_usage(result.entries) == result.usage
    assert il.replay(paper, result.entries).snapshot == result.snapshot


async def test_nothing_to_spawn_is_joined_at_once():
    result = await il.run_agent(fan.paper(), input=(), executors=fan.executors())
    assert isinstance(result, il.Done)
    assert result.output == {}


async def test_fifty_at_once():
    topics = tuple(f"topic {number}" for number in range(50))
    calls = Counter[str]()
    waiting, all_wait = 0, anyio.Event()

    async def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        nonlocal waiting
        waiting += 1
        if waiting == 50:
            all_wait.set()
        await all_wait.wait()
        calls[info.call_key] += 1
        return il.TextResult(output=f"{request.prompt}!")

    executors = il.Executors(decide=fan.executors().decide, generate_text=generate_text)
    result = await il.run_agent(fan.paper(), input=topics, executors=executors, max_model_calls=200)
    assert isinstance(result, il.Done)
    assert result.output == {topic: f"On {topic}, 1!" for topic in topics}
    assert (len(calls), set(calls.values()), result.usage.model_calls) == (100, {1}, 200)


def without(topic: str) -> il.Executors:
    """Executors that fail for one topic."""
    right = fan.executors()

    async def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        if topic in (request.prompt or ""):
            raise ValueError("no ink")
        return await right.generate_text(request, info)  # type: ignore[misc, no-any-return]

    return il.Executors(decide=right.decide, generate_text=generate_text)


async def test_a_spawned_child_that_fails_ends_at_the_parents_on_error():
    result = await il.run_agent(fan.paper(), input=TOPICS, executors=without("snow"))
    assert isinstance(result, il.Done)
    assert result.output == {"failed": "no ink"}


async def test_the_parent_may_go_on_without_those_that_have_failed():
    result = await il.run_agent(fan.paper(keeps_going=True), input=TOPICS, executors=without("snow"))
    assert isinstance(result, il.Done)
    assert result.output == {**TEXTS, "snow": ""}
    assert result.snapshot.context.failed == ("snow: raised",)


async def test_a_failure_that_nobody_takes_ends_the_run_and_all_other_children():
    lost: list[str] = []

    async def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        if "snow" in (request.prompt or ""):
            raise ValueError("no ink")
        try:
            await anyio.sleep_forever()
        finally:
            lost.append(request.prompt or "")

    paper = fan.paper_agent.machine(
        "paper",
        context=lambda topics: fan.Paper(topics=topics),
        sources={"writer": fan.writer},
        initial="gathering",
        states={"gathering": fan.paper_agent.state(entry=fan._spawned), "never": fan.paper_agent.final(output={})},
    )
    executors = il.Executors(decide=fan.executors().decide, generate_text=generate_text)
    result = await il.run_agent(paper, input=TOPICS, executors=executors)
    assert isinstance(result, il.Failed)
    assert (result.cause, result.error.message) == ("machine", "no ink")
    assert sorted(lost) == ["On hail, 0", "On rain, 0"]


async def test_functions_are_spawned_as_machines_are_and_told_apart_by_their_source():
    class Sums(BaseModel, frozen=True):
        squares: tuple[int, ...] = ()
        names: tuple[str, ...] = ()

    async def square(number: int) -> int:
        if number < 0:
            raise ValueError(f"{number} is too small")
        return number * number

    def shout(word: str) -> str:
        return word.upper()

    counting = il.setup_agent(context=Sums, events=[], output=Sums)
    machine = counting.machine(
        "sums",
        sources={"square": square, "shout": shout},
        initial="gathering",
        states={
            "gathering": counting.state(
                entry=counting.stay()
                .spawn("square", input={"number": 3}, id="three")
                .spawn("shout", input={"word": "a"})
                .spawn("square", input={"number": -1}),
                on=[
                    counting.on_child_done(
                        "square", lambda c, child: counting.stay(squares=(*c.squares, child.output))
                    ),
                    counting.on_child_done(
                        "shout", lambda c, child: counting.stay(names=(*c.names, f"{child.id} {child.output}"))
                    ),
                    counting.on_child_error(
                        "square", lambda c, child: counting.stay(names=(*c.names, child.error.message))
                    ),
                ],
                always=[counting.always(lambda c: counting.goto("over") if len(c.names) == 2 and c.squares else None)],
            ),
            "over": counting.final(output=lambda c: c),
        },
    )
    result = await il.run_agent(machine)
    assert isinstance(result, il.Done)
    assert result.output.squares == (9,)
    assert sorted(result.output.names) == ["-1 is too small", "shout:2 A"]


async def test_a_guard_may_refuse_a_report_and_the_child_is_gone_all_the_same():
    machine = fan.paper_agent.machine(
        "paper",
        context=lambda topics: fan.Paper(topics=topics),
        sources={"writer": fan.writer},
        initial="gathering",
        states={
            "gathering": fan.paper_agent.state(
                entry=fan._spawned,
                on=[fan.paper_agent.on_child_done(fan.writer, fan._done, guard=lambda c, child: child.id != "snow")],
            ),
            "never": fan.paper_agent.final(output={}),
        },
    )
    result = await il.run_agent(machine, input=TOPICS, executors=fan.executors())
    assert isinstance(result, il.Idle)
    assert sorted(result.snapshot.context.texts) == ["hail", "rain"]
    assert not result.snapshot.children


def test_what_waits_for_children_of_nobody_is_said_when_the_machine_is_built():
    with pytest.raises(DefinitionError, match=r"children of the source 'writer'.*register it") as caught:
        fan.paper_agent.machine(
            "paper",
            states={"a": fan.paper_agent.state(on=[fan.paper_agent.on_child_done(fan.writer, "a")])},
            initial="a",
        )
    assert caught.value.code == "unknown-source"
    for wrong in (3, print, ""):
        with pytest.raises(DefinitionError) as caught:
            fan.paper_agent.on_child_done(wrong, "a")  # type: ignore[call-overload]
        assert caught.value.code == "invalid-child"


# -- ends and messages -----------------------------------------------------------------------------------------------


class Stop(il.Event):
    """Give it up."""


async def test_leaving_the_state_of_a_child_stops_its_work_at_any_depth():
    began, ended = anyio.Event(), anyio.Event()

    async def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    stopping = il.setup_agent(events=[Stop], output=str)
    machine = stopping.machine(
        "stopping",
        context={},
        initial="working",
        states={
            "working": stopping.state(invoke=stopping.child(nested(4)), on=[stopping.on(Stop, "over")]),
            "over": stopping.final(output="stopped"),
        },
    )
    events: list[il.TraceEvent] = []
    executors = il.Executors(generate_text=generate_text)
    async with il.AgentSession(machine, executors=executors, on_trace=events.append) as session:
        await began.wait()
        await session.send(Stop())
        result = await session.settled()
        assert isinstance(result, il.Done)
        await ended.wait()
    cancelled = [event.origin.machine for event in events if isinstance(event, il.RequestCancelled)]
    assert cancelled == ["level-0"]


async def test_a_parent_that_stops_a_spawned_child_stops_its_work():
    ended: list[str] = []

    async def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        try:
            if "rain" in (request.prompt or ""):
                return il.TextResult(output="rain")
            await anyio.sleep_forever()
        finally:
            ended.append(request.prompt or "")

    first = fan.paper_agent.machine(
        "first",
        context=lambda topics: fan.Paper(topics=topics),
        sources={"writer": fan.writer},
        initial="gathering",
        states={
            "gathering": fan.paper_agent.state(
                entry=fan._spawned,
                on=[
                    fan.paper_agent.on_child_done(
                        fan.writer,
                        lambda c, child: (
                            fan.paper_agent.goto("over", texts=il.FrozenDict({child.id: child.output.text}))
                            .stop("snow")
                            .stop("hail")
                        ),
                    )
                ],
            ),
            "over": fan.paper_agent.state(),
            "never": fan.paper_agent.final(output={}),
        },
    )
    executors = il.Executors(decide=il.ScriptedExecutors(decisions=["Good"]).decide, generate_text=generate_text)
    result = await il.run_agent(first, input=TOPICS, executors=executors)
    assert isinstance(result, il.Idle)
    assert not result.snapshot.children
    assert sorted(ended) == ["On hail, 0", "On rain, 0", "On snow, 0"]


async def test_siblings_talk_through_their_parent():
    class Ping(il.Event):
        text: str

    class Pong(il.Event):
        text: str

    talking = il.setup_agent(events=[Ping, Pong], output=str)
    asking = talking.machine(
        "asking",
        context={},
        initial="writing",
        states={
            "writing": talking.state(
                invoke=talking.generate_text(
                    model="quick",
                    prompt="Ask.",
                    on_done=lambda c, text: talking.goto("waiting").send("@parent", Ping(text=text)),
                )
            ),
            "waiting": talking.state(on=[talking.on(Pong, lambda c, event: talking.goto("over", heard=event.text))]),
            "over": talking.final(output=lambda c: c["heard"]),
        },
    )
    answering = talking.machine(
        "answering",
        context={},
        initial="waiting",
        states={
            "waiting": talking.state(on=[talking.on(Ping, lambda c, event: talking.goto("writing", heard=event.text))]),
            "writing": talking.state(
                invoke=talking.generate_text(
                    model="quick",
                    prompt=lambda c: c["heard"],
                    on_done=lambda c, text: talking.goto("waiting").send("@parent", Pong(text=text)),
                )
            ),
            "never": talking.final(output=""),
        },
    )
    parent = talking.machine(
        "parent",
        context={},
        sources={"asking": asking, "answering": answering},
        initial="both",
        states={
            "both": talking.state(
                entry=talking.stay().spawn("asking", id="a").spawn("answering", id="b"),
                on=[
                    talking.on(Ping, lambda c, event: talking.stay().send("b", event)),
                    talking.on(Pong, lambda c, event: talking.stay().send("a", event)),
                    talking.on_child_done(asking, lambda c, child: talking.goto("over", said=child.output)),
                ],
            ),
            "over": talking.final(output=lambda c: c["said"]),
        },
    )
    script = il.ScriptedExecutors(text=["How far?", lambda request: f"{request.prompt} Far."])
    result = await il.run_agent(parent, executors=script)
    assert isinstance(result, il.Done)
    assert result.output == "How far? Far."


async def test_the_step_path_spawns_and_joins_as_well():
    paper = fan.paper()
    step = il.initial_agent_step(paper, TOPICS, execution_id="e")
    while not step.done:
        step = await il.resolve_agent_requests(paper, step, fan.executors())
    assert step.snapshot.output == TEXTS


async def test_the_step_path_asks_what_waits_together_in_the_order_in_which_it_is_owed():
    paper, topics = fan.paper(), tuple("abcdefgh")
    asked: list[str] = []

    async def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        asked.append((request.prompt or "")[3])
        return il.TextResult(output="x")

    step = il.initial_agent_step(paper, topics, execution_id="e")
    await il.resolve_agent_requests(paper, step, il.Executors(generate_text=generate_text))
    assert "".join(asked) == "abcdefgh"


async def test_a_models_source_cannot_be_spawned_by_itself():
    machine = sc.machine(
        "m",
        sources={"agent.generate_text": None},
        initial="a",
        states={"a": sc.state(entry=lambda c: sc.stay().spawn("agent.generate_text", id="t"))},
    )
    result = await il.run_agent(machine, executors=il.ScriptedExecutors(text=["x"]))
    assert isinstance(result, il.Failed)
    assert "is no text request" in result.error.message


@pytest.mark.parametrize("given", [None, 5, {"name": 5}, {"topic": "x"}, {}])
async def test_what_a_child_cannot_start_from_is_a_failed_step_that_names_it(given: object):
    agent = il.setup_agent(events=[], output=str)
    machine = agent.machine(
        "parent",
        context={},
        initial="a",
        sources={"writer": fan.writer},
        states={"a": agent.state(entry=lambda _: agent.stay().spawn("writer", id="one", input=given))},
    )
    result = await il.run_agent(machine, executors=fan.executors())
    assert isinstance(result, il.Failed)
    assert (result.cause, result.error.code) == ("machine", "invalid-input")
    assert "machine 'parent', state 'a'" in result.error.message
    assert "input of one" in result.error.message
    assert "writer" in result.error.message
    with pytest.raises(il.StepError):
        il.initial_agent_step(machine, at=0.0)


async def test_a_send_to_nobody_is_an_event_that_a_machine_may_handle():
    class Call(il.Event):
        """Call somebody."""

    agent = il.setup_agent(events=[Call], output=str)
    calls = agent.on(Call, lambda _c, _e: agent.stay().send("nobody", Call()))
    lost = agent.on("@error.communication", "lost")
    for handlers, ends in (([calls, lost], True), ([calls], False)):
        machine = agent.machine(
            "caller",
            context={},
            initial="calling",
            states={"calling": agent.state(on=handlers), "lost": agent.final(output="lost")},
        )
        result = await il.run_agent(machine, event=Call())
        assert isinstance(result, il.Done if ends else il.Idle)
