"""The trace: one ordered stream of what happens, the same however it is listened to."""

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import interlock as il
from tests.guessing import Ask, Guess, Reply, game
from tests.run.machines import work
from tests.run.test_observers import talking
from tests.run.writing import add, calls, writer

SECRETS = ("Find the secret", "Nothing asked yet", "the-secret-guess")


async def traced(machine: il.Machine[Any, Any, Any], **options: Any) -> tuple[Any, list[il.TraceEvent]]:
    seen: list[il.TraceEvent] = []
    result = await il.run_agent(machine, on_trace=seen.append, clock=il.FakeClock(7), **options)
    return result, seen


async def test_a_decision():
    result, seen = await traced(
        game(), executors=il.ScriptedExecutors(decisions=["Fly", Guess(guess="the-secret-guess")]), execution_id="run"
    )
    assert isinstance(result, il.Done)
    assert [event.type for event in seen] == [
        "run.start",
        "transition",
        "request.start",
        "request.attempt",
        "transition",
        "request.end",
        "transition",
        "run.end",
    ]
    assert [event.seq for event in seen] == list(range(1, 9))
    assert {(e.stamp.run_id, e.stamp.at, e.stamp.machine_id, e.stamp.machine_version) for e in seen} == {
        ("run", 7, "twenty-questions", game().version)
    }
    start, refused, end = seen[2], seen[3], seen[5]
    assert isinstance(start, il.RequestStarted)
    assert isinstance(refused, il.ChoiceRefused)
    assert isinstance(end, il.RequestEnded)
    assert (start.kind, start.model, start.origin.state) == ("decision", "quick", "twenty-questions.deciding")
    assert (refused.failure, refused.origin.attempt) == ("unknown-event", 1)
    assert (end.origin.attempt, end.usage.model_calls, end.output) == (2, 2, Guess(guess="the-secret-guess"))


async def test_a_text_with_tools_in_pieces():
    script = il.ScriptedExecutors(
        text=[
            calls("add", "add", a=1),
            il.TextResult(output="two words", usage=il.Usage(input_tokens=3), finish_reason="stop", reasoning="hm"),
        ]
    )
    result, seen = await traced(writer("stream", tools=[add]), executors=script)
    assert isinstance(result, il.Done)
    assert [event.type for event in seen] == [
        "run.start",
        "transition",
        "request.start",
        "turn",
        "transition",
        "tool",
        "transition",
        "tool",
        "transition",
        "chunk",
        "chunk",
        "turn",
        "request.end",
        "transition",
        "run.end",
    ]
    end = seen[-3]
    assert isinstance(end, il.RequestEnded)
    assert (end.chunks, end.finish_reason, end.reasoning) == (2, "stop", "hm")
    assert end.usage == il.RunUsage(model_calls=2, input_tokens=3)


async def test_json_holds_no_bodies_unless_asked():
    _, decision = await traced(
        game(), executors=il.ScriptedExecutors(decisions=["Fly", Guess(guess="the-secret-guess")])
    )
    _, text = await traced(
        writer("stream", tools=[add]),
        executors=il.ScriptedExecutors(
            text=[calls("add", a=7654321), il.TextResult(output="the-secret-answer", raw=object(), reasoning="hm")]
        ),
    )
    _, failed = await traced(
        writer("generate", on_error=False), executors=il.ScriptedExecutors(text=[ValueError("the-secret-error")])
    )
    _, emitted = await traced(talking(), event="GO")
    plain = [json.dumps(event.to_json()) for event in (*decision, *text, *failed, *emitted)]
    for secret in (*SECRETS, "the-secret-answer", "the-secret-error", "7654321", "hello", "On rain", '"raw"'):
        assert not [line for line in plain if secret in line], secret
    assert all(json.loads(line)["schema_version"] == 1 for line in plain)
    whole = "".join(json.dumps(event.to_json(bodies=True)) for event in (*decision, *text, *failed, *emitted))
    for body in (*SECRETS, "the-secret-answer", "the-secret-error", "7654321", "hello", "On rain"):
        assert body in whole
    assert '"raw"' not in whole


async def test_a_failure_is_told_once_with_its_place():
    _, seen = await traced(writer("generate", on_error=False), executors=il.ScriptedExecutors(text=[ValueError("x")]))
    (failed,) = [event for event in seen if isinstance(event, il.RequestFailed)]
    assert (failed.code, failed.error_type, failed.origin.attempt) == ("raised", "ValueError", 1)
    end = seen[-1]
    assert isinstance(end, il.RunEnded)
    assert (end.status, end.cause, end.code) == ("failed", "machine", "raised")
    assert not [event for event in seen if isinstance(event, il.RequestEnded)]


async def test_work_that_is_left_is_told_as_cancelled():
    async def slow() -> None:
        await anyio.sleep_forever()

    async def quick() -> None: ...

    import interlock.statechart as sc

    machine = sc.machine(
        "m",
        sources={"slow": slow, "quick": quick},
        initial="a",
        states={"a": sc.state(invoke=[sc.invoke("slow"), sc.invoke("quick", on_done="b")]), "b": sc.final()},
    )
    _, seen = await traced(machine)
    kinds = [(event.type, event.origin.request_id[:3]) for event in seen if hasattr(event, "origin")]
    assert kinds == [
        ("request.start", "0.m"),
        ("request.start", "1.m"),
        ("request.end", "1.m"),
        ("request.cancelled", "0.m"),
    ]


async def test_each_request_that_starts_ends_once():
    abort = il.Abort()

    async def load() -> None:
        abort.abort()
        await anyio.sleep_forever()

    _, seen = await traced(work({"load": load}), abort=abort)
    assert [event.type for event in seen][2:] == ["request.start", "request.cancelled", "run.end"]


async def test_emitted_and_ignored():
    _, seen = await traced(talking(), event="GO")
    assert [event.event_type for event in seen if isinstance(event, il.EventEmitted)] == ["Shout", "BYE"]
    _, seen = await traced(talking(), event="NO")
    assert [event.event_type for event in seen if isinstance(event, il.EventIgnored)] == ["NO"]


async def test_an_async_listener_gets_the_same_and_holds_the_order():
    order: list[Any] = []

    async def slow(event: il.TraceEvent) -> None:
        await anyio.lowlevel.checkpoint()
        order.append(event.seq)

    script = il.ScriptedExecutors(decisions=["Fly", Guess(guess="x")])
    await il.run_agent(game(), executors=script, on_trace=slow, on_transition=lambda s, _: order.append(s.value))
    assert order == [1, 2, "deciding", 3, 4, 5, "deciding", 6, 7, "revealing", 8]


async def test_results_are_told_with_what_the_provider_said():
    seen: list[Any] = []
    script = il.ScriptedExecutors(
        decisions=["Fly", il.Choice(Guess(guess="x"), raw={"id": 1})],
        text=[calls("add", a=1), il.TextResult(output="x", raw={"id": 2})],
    )

    def note(request: il.DecisionRequest | il.TextRequest, output: Any, raw: Any) -> None:
        seen.append((request.kind, output, raw))

    await il.run_agent(game(), executors=script, on_result=note)
    await il.run_agent(writer("stream", tools=[add]), executors=script, on_result=note)
    assert seen == [("decision", Guess(guess="x"), {"id": 1}), ("text", "x", {"id": 2})]


async def test_an_event_is_frozen():
    _, seen = await traced(talking())
    with pytest.raises(AttributeError):
        seen[0].stamp = None


# -- stream_agent ---------------------------------------------------------------------------------------------------


def script() -> il.ScriptedExecutors:
    return il.ScriptedExecutors(decisions=[Ask(question="Big?")], text=["two words"])


async def test_a_run_as_a_stream():
    _, expected = await traced(writer("stream"), executors=script(), execution_id="e")
    kwargs: dict[str, Any] = {"executors": script(), "execution_id": "e", "clock": il.FakeClock(7)}
    text = ""
    types: list[str] = []
    async with il.stream_agent(writer("stream"), **kwargs) as stream:
        with pytest.raises(il.BindError, match="has not settled"):
            _ = stream.result
        async for event in stream:
            types.append(event.type)
            if isinstance(event, il.Chunk):
                text += event.text
        assert isinstance(stream.result, il.Done)
    assert text == "two words"
    assert types == [event.type for event in expected]
    assert types[0] == "run.start"
    assert types[-1] == "run.end"
    assert stream.result.output == "two words"


async def test_who_stops_reading_does_not_stop_the_run():
    async with il.stream_agent(game(), executors=script()) as stream:
        async for _ in stream:
            break
    assert isinstance(stream.result, il.Idle)
    left = [event.type async for event in stream]
    assert left[-1] == "run.end"


async def test_the_result_first_then_the_events():
    async with il.stream_agent(game(), executors=script()) as stream:
        assert isinstance(await stream.settled(), il.Idle)
        assert [event.type async for event in stream][-1] == "run.end"


async def test_a_run_that_fails_ends_its_stream_without_raising():
    executors = il.ScriptedExecutors(text=[ValueError("no")])
    async with il.stream_agent(writer("generate", on_error=False), executors=executors) as stream:
        events = [event async for event in stream]
    assert isinstance(events[-1], il.RunEnded)
    assert events[-1].status == "failed"
    assert isinstance(stream.result, il.Failed)


async def test_an_exception_in_the_block_cancels_the_run():
    ended: list[str] = []

    async def load() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("load")

    async def watch() -> None:
        async with il.stream_agent(work({"load": load})) as stream:
            async for event in stream:
                if event.type == "request.start":
                    await anyio.lowlevel.checkpoint()
                    raise KeyError("mine")

    with pytest.raises(KeyError):
        await watch()
    assert ended == ["load"]


async def test_a_listener_of_its_own_sees_the_same():
    seen: list[il.TraceEvent] = []
    async with il.stream_agent(game(), executors=script(), on_trace=seen.append) as stream:
        events = [event async for event in stream]
    assert events == seen
    assert isinstance(stream.result, il.Idle)
    assert stream.result.snapshot.can(Reply(answer="no"))


async def test_a_listener_is_not_cut_off_when_the_work_he_is_told_of_is_left():
    """He is told of one call that starts, and while he listens the other one ends both."""
    told: list[str] = []
    go = anyio.Event()

    async def slow() -> None:
        await anyio.sleep_forever()

    async def quick() -> None:
        await go.wait()

    async def listen(event: il.TraceEvent) -> None:
        if isinstance(event, il.Chunk):
            go.set()
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
        told.append(event.type)

    async def stream(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str]:
        yield "a"
        await anyio.sleep_forever()

    agent = il.setup_agent(events=[])
    machine = agent.machine(
        "m",
        initial="a",
        states={
            "a": agent.state(
                invoke=[agent.stream_text(model="m", prompt="?"), agent.call(slow), agent.call(quick, on_done="b")]
            ),
            "b": agent.final(),
        },
    )
    seen: list[str] = []
    async with il.stream_agent(machine, executors=il.Executors(stream_text=stream), on_trace=listen) as run:
        seen.extend([event.type async for event in run])
    assert told == seen
    assert "chunk" in told
