"""Cancelled anywhere: cancellation propagates, nothing is left behind, and the last snapshot can be gone on from."""

import asyncio
import sys
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import interlock as il
import interlock.statechart as sc
from tests.run.machines import Left, Right, pair_agent


class Inside:
    """Counts who is at work, so that a test can say that nobody is any more."""

    def __init__(self) -> None:
        self.now = 0
        self.started = 0

    def __enter__(self) -> None:
        self.now += 1
        self.started += 1

    def __exit__(self, *_: object) -> None:
        self.now -= 1


def busy(inside: Inside) -> il.Machine[Any, Any, Any]:
    """Two decisions, two functions, a child machine and a timer, all at once and several steps long."""
    a = pair_agent

    async def load(n: int) -> int:
        with inside:
            for _ in range(n):
                await anyio.lowlevel.checkpoint()
            return n

    def plain() -> int:
        return 7

    def region(event: type[il.Event]) -> sc.State:
        return a.state(
            initial="ask",
            states={
                "ask": a.state(
                    invoke=a.decide(name=event.type, prompt="?", allowed_events=[event]), on=[a.on(event, "load")]
                ),
                "load": a.state(invoke=a.call(load, input={"n": 3}, on_done="rest")),
                "rest": a.state(after=[a.after(1, "again")]),
                "again": a.state(invoke=a.call(plain, on_done="over")),
                "over": a.end(),
            },
        )

    child = a.machine("child", kind="parallel", states={"left": region(Left)})
    return a.machine(
        "busy",
        kind="parallel",
        sources={"child": child},
        states={
            "left": region(Left),
            "right": region(Right),
            "below": a.state(
                initial="on", states={"on": sc.state(invoke=sc.invoke("child", on_done="off")), "off": a.end()}
            ),
        },
    )


def executors(inside: Inside) -> il.Executors:
    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        with inside:
            await anyio.lowlevel.checkpoint()
            return il.Choice({"type": "Fly" if info.attempt == 1 else request.name or ""})

    return il.Executors(decide=decide)


def tasks() -> int:
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return int(trio.lowlevel.current_statistics().tasks_living)
    return len(asyncio.all_tasks())


@pytest.mark.parametrize("ticks", range(50))
async def test_cancelled_at_any_point(ticks: int):
    inside = Inside()
    machine = busy(inside)
    seen: list[il.Snapshot[Any]] = []
    before = tasks()
    result: Any = None
    async with anyio.create_task_group() as group:

        async def run() -> None:
            nonlocal result
            result = await il.run_agent(
                machine,
                executors=executors(inside),
                clock=il.FakeClock(autojump=True),
                on_transition=lambda snapshot, _: seen.append(snapshot),
            )

        group.start_soon(run)
        for _ in range(ticks):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()

    assert inside.now == 0
    assert tasks() == before
    if not seen:
        return
    assert result is None or result.snapshot.status == "done"
    saved = seen[-1].to_json()
    again = await il.run_agent(machine, executors=executors(inside), clock=il.FakeClock(autojump=True), snapshot=saved)
    assert isinstance(again, il.Done), again
    assert inside.now == 0


async def test_the_points_of_the_test_above_cover_a_run():
    """Fifty ticks reach from before the start to well inside."""
    inside = Inside()
    ticks = 0
    done = anyio.Event()
    async with anyio.create_task_group() as group:

        async def run() -> None:
            await il.run_agent(busy(inside), executors=executors(inside), clock=il.FakeClock(autojump=True))
            done.set()

        group.start_soon(run)
        while not done.is_set():
            ticks += 1
            await anyio.lowlevel.checkpoint()
    assert ticks > 40
    assert inside.started == 9


async def test_a_settled_run_leaves_no_task():
    before = tasks()
    inside = Inside()
    result = await il.run_agent(busy(inside), executors=executors(inside), clock=il.FakeClock(autojump=True))
    assert isinstance(result, il.Done)
    assert tasks() == before


async def test_work_that_is_cancelled_is_waited_for():
    ended: list[str] = []
    over = anyio.Event()

    async def slow() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                for _ in range(5):
                    await anyio.lowlevel.checkpoint()
            ended.append("slow")

    async def quick() -> None:
        over.set()

    machine = sc.machine(
        "m",
        sources={"slow": slow, "quick": quick},
        initial="a",
        states={"a": sc.state(invoke=[sc.invoke("slow"), sc.invoke("quick", on_done="b")]), "b": sc.final()},
    )
    result = await il.run_agent(machine)
    assert isinstance(result, il.Done)
    assert ended == ["slow"]


async def test_what_is_raised_while_being_cancelled_changes_nothing():
    async def slow() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise RuntimeError("in the way out")

    async def quick() -> None: ...

    machine = sc.machine(
        "m",
        sources={"slow": slow, "quick": quick},
        initial="a",
        states={"a": sc.state(invoke=[sc.invoke("slow"), sc.invoke("quick", on_done="b")]), "b": sc.final()},
    )
    assert isinstance(await il.run_agent(machine), il.Done)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("anyio_backend", ["trio"])  # asyncio lets these out of its loop by itself
async def test_what_is_no_failure_of_the_function_ends_the_run_as_itself(error: type[BaseException]):
    async def stop() -> None:
        raise error

    machine = sc.machine("m", sources={"stop": stop}, initial="a", states={"a": sc.state(invoke=sc.invoke("stop"))})
    with pytest.raises(error):
        await il.run_agent(machine)
