"""Text in pieces: shown as it comes, to whoever looks on, and not necessary to anybody."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import interlock as il
from tests.run.writing import Letter, add, agent, calls, executors, scripted, writer

WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


async def test_pieces_come_in_order_with_their_request():
    seen: list[tuple[str, str, str | None]] = []
    result = await il.run_agent(
        writer("stream"),
        executors=il.ScriptedExecutors(text=["It rains a lot."]),
        on_chunk=lambda text, request: seen.append((text, request.mode, request.name)),
    )
    assert isinstance(result, il.Done)
    assert "".join(text for text, _, _ in seen) == result.output == "It rains a lot."
    assert {(mode, name) for _, mode, name in seen} == {("stream", "draft")}
    assert len(seen) == 4


async def test_the_writer_waits_for_the_reader():
    order: list[str] = []

    async def stream(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
        for word in ("a", "b"):
            order.append(f"write {word}")
            yield word
        yield il.TextResult(output="ab")

    async def read(text: str, request: il.TextRequest) -> None:
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        order.append(f"read {text}")

    await il.run_agent(writer("stream"), executors=il.Executors(stream_text=stream), on_chunk=read)
    assert order == ["write a", "read a", "write b", "read b"]


async def test_a_slow_reader_of_one_stream_does_not_hold_up_another():
    left_open = anyio.Event()
    seen: list[str] = []

    def region(name: str) -> Any:
        return agent.state(
            initial="w",
            states={
                "w": agent.state(invoke=agent.stream_text(name=name, model="m", prompt="?", on_done="over")),
                "over": agent.end(),
            },
        )

    async def stream(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
        yield "x"
        yield "y"
        yield il.TextResult(output="xy")

    async def read(text: str, request: il.TextRequest) -> None:
        if request.name == "slow":
            await left_open.wait()
        seen.append(f"{request.name} {text}")
        if seen == ["quick x", "quick y"]:
            left_open.set()

    machine = il.setup_agent(events=[]).machine(
        "pair", kind="parallel", states={"a": region("slow"), "b": region("quick")}
    )
    result = await il.run_agent(machine, executors=il.Executors(stream_text=stream), on_chunk=read)
    assert isinstance(result, il.Done)
    assert seen == ["quick x", "quick y", "slow x", "slow y"]


async def test_a_reader_that_raises_changes_nothing():
    result = await il.run_agent(
        writer("stream"), executors=il.ScriptedExecutors(text=["a b"]), on_chunk=lambda *_: 1 / 0
    )
    assert isinstance(result, il.Done)
    assert result.output == "a b"


async def test_a_plain_generator_works_in_a_thread():
    seen: list[Any] = []

    def stream(request: il.TextRequest, info: il.ExecutorInfo) -> Iterator[str | il.TextResult]:
        seen.append((threading.current_thread() is threading.main_thread(), WHO.get()))
        yield "a"
        yield il.TextResult(output="a")

    WHO.set("me")
    execute = il.Executors(stream_text=stream)
    result = await il.run_agent(writer("stream"), executors=execute)
    assert isinstance(result, il.Done)
    assert result.output == "a"
    assert seen == [(False, "me")]


async def returns_text(request: il.TextRequest, info: il.ExecutorInfo) -> str:
    return "text"


async def ends_early(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str]:
    yield "text"


async def yields_nothing(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str]:
    for piece in ():
        yield piece


async def yields_other(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[Any]:
    yield {"text": "x"}
    raise AssertionError("not read on")


async def goes_on(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[Any]:
    yield il.TextResult(output="x")
    yield "more"


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (returns_text, "returned str; make it an async generator"),
        (ends_early, "yield as the last item TextResult(output=...)"),
        (yields_nothing, "yield as the last item TextResult(output=...)"),
        (yields_other, "TextResult(output="),
        (goes_on, "goes on after its TextResult"),
    ],
)
async def test_a_stream_that_keeps_no_contract_is_told_how(stream: Any, said: str):
    result = await il.run_agent(writer("stream", on_error=False), executors=il.Executors(stream_text=stream))
    assert isinstance(result, il.Failed)
    assert result.error.code == "invalid-executor-result"
    assert said in result.error.message
    assert "0.writer.writing#" in result.error.message


async def test_what_breaks_in_the_middle_goes_to_the_request():
    async def stream(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str]:
        yield "a"
        raise ConnectionError("gone")

    result = await il.run_agent(writer("stream"), executors=il.Executors(stream_text=stream))
    assert isinstance(result, il.Done)
    assert result.output == {"failed": "raised", "said": "gone"}


async def test_a_generator_is_closed_when_its_request_is_left():
    closed: list[str] = []

    async def stream(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str]:
        try:
            while True:
                yield "a"
                await anyio.lowlevel.checkpoint()
        finally:
            closed.append(request.name or "")

    machine = il.setup_agent(events=[]).machine(
        "m",
        initial="a",
        states={
            "a": agent.state(
                invoke=agent.stream_text(name="endless", model="m", prompt="?"), after=[agent.after(5, "b")]
            ),
            "b": agent.final(),
        },
    )
    clock = il.FakeClock()
    seen = 0

    def read(text: str, request: il.TextRequest) -> None:
        nonlocal seen
        seen += 1
        if seen == 3:
            clock.advance(5)

    result = await il.run_agent(machine, executors=il.Executors(stream_text=stream), on_chunk=read, clock=clock)
    assert isinstance(result, il.Done)
    assert closed == ["endless"]


async def test_generated_text_is_never_asked_of_the_streaming_executor():
    def never(*_: Any) -> Any:
        raise AssertionError

    play = scripted(il.TextResult(output="x"))
    both = il.Executors(generate_text=play, stream_text=never)
    assert isinstance(await il.run_agent(writer("generate"), executors=both), il.Done)
    streaming = executors("stream", scripted(il.TextResult(output="x")))
    both = il.Executors(generate_text=never, stream_text=streaming.stream_text)
    assert isinstance(await il.run_agent(writer("stream"), executors=both), il.Done)


async def test_who_generates_may_show_pieces_as_well():
    seen: list[str] = []

    async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        assert info.on_chunk is not None
        await info.on_chunk("a")
        return il.TextResult(output="ab")

    await il.run_agent(
        writer("generate"), executors=il.Executors(generate_text=play), on_chunk=lambda text, _: seen.append(text)
    )
    assert seen == ["a"]


async def test_a_thread_may_show_pieces_and_see_that_it_is_wanted():
    seen: list[Any] = []

    def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        assert info.on_chunk is not None
        assert info.abort is not None
        anyio.from_thread.run(info.on_chunk, "a")
        seen.append(info.abort.cancel_called)
        return il.TextResult(output="ab")

    await il.run_agent(
        writer("generate"), executors=il.Executors(generate_text=play), on_chunk=lambda text, _: seen.append(text)
    )
    assert seen == ["a", False]


async def test_a_structured_answer_streams_its_json():
    seen: list[str] = []
    result = await il.run_agent(
        writer("stream", output=Letter, tools=[add]),
        executors=il.ScriptedExecutors(text=[calls("add", a=1), {"subject": "x", "lines": ["a b"]}]),
        on_chunk=lambda text, _: seen.append(text),
    )
    assert isinstance(result, il.Done)
    assert result.output == {"subject": "x", "lines": ("a b",)}
    assert "".join(seen) == '{"subject":"x","lines":["a b"]}'


async def test_a_stream_that_never_waits_can_be_cancelled():
    async def busy(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str]:
        while True:
            yield "a"

    agent = il.setup_agent(events=[])
    machine = agent.machine(
        "m", initial="a", context={}, states={"a": agent.state(invoke=agent.stream_text(model="m", prompt="p"))}
    )
    with anyio.move_on_after(0.05) as scope:
        await il.run_agent(machine, executors=il.Executors(stream_text=busy))
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    "wrong", [{"finish_reason": "zzz"}, {"tool_calls": None}, {"tool_calls": ("a",)}, {"usage": "lots"}], ids=str
)
async def test_a_malformed_result_is_the_executors_fault(wrong: dict[str, Any]):
    agent = il.setup_agent(events=[])
    machine = agent.machine(
        "m", initial="a", context={}, states={"a": agent.state(invoke=agent.generate_text(model="m", prompt="p"))}
    )
    result = await il.run_agent(machine, executors=il.Executors(generate_text=lambda _r, _i: il.TextResult(**wrong)))
    assert isinstance(result, il.Failed)
    assert result.error.code == "invalid-executor-result"
    assert next(iter(wrong)) in result.error.message


async def test_what_an_exception_in_the_block_cut_off_has_not_come_to_rest():
    class HostError(Exception):
        pass

    stream = None
    try:
        async with il.stream_agent(writer("stream"), executors=il.ScriptedExecutors(text=["a b"])) as stream:
            async for _ in stream:
                raise HostError
    except HostError:
        pass
    assert stream is not None
    assert isinstance(stream.result, il.Failed)
    assert stream.result.cause == "aborted"
    again = await il.run_agent(
        writer("stream"), snapshot=stream.result.snapshot, executors=il.ScriptedExecutors(text=["a b"])
    )
    assert isinstance(again, il.Done)
