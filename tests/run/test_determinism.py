"""The same machine with the same answers is told the same things in the same order, on both event loops."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

import interlock as il
import interlock.statechart as sc
from interlock.run import Committed
from tests.run.machines import Left, Right, pair_agent


class Gate:
    """Lets everybody go when the last has come: who is run first then is the event loop's business."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.waiting = 0
        self.open = anyio.Event()

    async def __call__(self) -> None:
        mine = self.open
        self.waiting += 1
        if self.waiting == self.size:
            self.waiting = 0
            self.open = anyio.Event()
            mine.set()
        await mine.wait()


class Chain(Gate):
    """Lets one go when the last has come, and each that goes lets the next one go: last come, first served."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.queue: list[anyio.Event] = []

    async def __call__(self) -> None:
        mine = anyio.Event()
        self.queue.append(mine)
        if len(self.queue) == self.size:
            self.queue.pop().set()
        await mine.wait()
        if self.queue:
            self.queue.pop().set()


def machine(gate: Gate) -> il.Machine[Any, Any, Any]:
    """Regions that call, decide and wait, and a child machine with two more of them."""
    a = pair_agent

    def region(event: type[il.Event]) -> sc.State:
        return a.state(
            initial="call",
            states={
                "call": a.state(invoke=a.call(gate, name="gate", on_done="ask")),
                "ask": a.state(
                    invoke=a.decide(name=event.type, prompt="?", allowed_events=[event]), on=[a.on(event, "rest")]
                ),
                "rest": a.state(after=[a.after(1, "over")]),
                "over": a.end(),
            },
        )

    child = a.machine("child", kind="parallel", states={"x": region(Left), "y": region(Right)})
    return a.machine(
        "m",
        kind="parallel",
        sources={"child": child},
        states={
            "a": region(Left),
            "below": a.state(
                initial="on", states={"on": sc.state(invoke=sc.invoke("child", on_done="off")), "off": a.end()}
            ),
            "b": region(Right),
        },
    )


async def committed(kind: type[Gate]) -> list[str]:
    seen: list[str] = []
    gate = kind(4)

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        await gate()
        return il.Choice({"type": "Fly" if info.attempt == 1 else request.name or ""})

    def note(entry: Committed) -> None:
        given = entry.input
        if given is not None:
            seen.append(f"{given.address} {given.event} {given.invocation} {given.record} {given.timer}")

    result = await il.run_agent(
        machine(gate), executors=il.Executors(decide=decide), clock=il.FakeClock(autojump=True), on_event=note
    )
    assert isinstance(result, il.Done)
    return seen


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("kind", [Gate, Chain])
def test_the_same_inputs_in_the_same_order(backend: str, kind: type[Gate]):
    expected = anyio.run(committed, kind, backend="asyncio")
    assert len(expected) == 4 * 4  # answers, refused choices, choices, timers
    for _ in range(25):  # trio shuffles its tasks, each time anew
        assert anyio.run(committed, kind, backend=backend) == expected


def writing(gate: Gate) -> il.Machine[Any, Any, Any]:
    """Two regions that write with tools, one whole and one in pieces, and meet at a gate at each step."""

    async def meet(n: int) -> int:
        """Wait for the others."""
        await gate()
        return n

    agent = il.setup_agent(events=[], tools={"meet": meet})

    def region(word: Any, name: str) -> sc.State:
        return agent.state(
            initial="write",
            states={
                "write": agent.state(invoke=word(name=name, model="m", prompt="?", tools=["meet"], on_done="over")),
                "over": agent.end(),
            },
        )

    return agent.machine(
        "m",
        kind="parallel",
        states={"a": region(agent.generate_text, "a"), "b": region(agent.stream_text, "b")},
    )


async def written(kind: type[Gate], *, trace: bool) -> list[str]:
    seen: list[str] = []
    gate = kind(2)

    async def generate(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        await gate()
        two = tuple(il.ToolCall("", "meet", {"n": n}) for n in range(2))
        return il.TextResult(tool_calls=two) if info.attempt < 3 else il.TextResult(output="x")

    async def stream(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
        yield await generate(request, info)

    def note(entry: Committed) -> None:
        given = entry.input
        if given is not None:
            seen.append(f"{given.invocation} {given.record} {given.output!r}")

    executors = il.Executors(generate_text=generate, stream_text=stream)
    options: Any = {"on_trace": lambda _: None} if trace else {}
    result = await il.run_agent(writing(gate), executors=executors, on_event=note, **options)
    assert isinstance(result, il.Done)
    return seen


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("kind", [Gate, Chain])
@pytest.mark.parametrize("trace", [False, True])
def test_texts_are_committed_in_the_same_order(backend: str, kind: type[Gate], trace: bool):
    async def once() -> list[str]:
        return await written(kind, trace=trace)

    expected = anyio.run(once, backend="asyncio")
    assert len(expected) == 2 * 7  # two turns of two answers each, and the last
    for _ in range(25):
        assert anyio.run(once, backend=backend) == expected
