"""Cancelled anywhere, a run ends at once, leaves nothing behind, and its log goes on to the right end."""

import asyncio
import random
import threading
from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import interlock as il
from interlock.journal import replay
from tests.durable.desk import Approve, desk, executors
from tests.durable.stores import whole

pytestmark = pytest.mark.anyio

POINTS = 500
DESK = desk(delay=0)


class Hesitant(il.MemoryStore):
    """A store that lets others run before and after each append."""

    async def append(self, thread_id: str, expected_index: int, entries: Sequence[il.LogEntry]) -> None:
        await anyio.lowlevel.checkpoint()
        await super().append(thread_id, expected_index, entries)
        await anyio.lowlevel.checkpoint()


async def turns(number: int) -> None:
    for _ in range(number):
        await anyio.lowlevel.checkpoint()


def hesitant(dice: random.Random, calls: list[str]) -> il.Executors:
    """The desk's executors, giving way to others before they answer."""
    own = executors(calls.append)
    assert own.decide is not None
    assert own.generate_text is not None
    decide: Any = own.decide
    generate_text: Any = own.generate_text

    async def slow_decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        await turns(dice.randrange(5))
        found: il.Choice = await decide(request, info)
        return found

    async def slow_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        await turns(dice.randrange(5))
        found: il.TextResult = await generate_text(request, info)
        return found

    return il.Executors(decide=slow_decide, generate_text=slow_text)


async def uninterrupted() -> dict[str, object]:
    store = il.MemoryStore()
    await il.run_agent(DESK, store=store, thread_id="t", executors=executors())
    result = await il.run_agent(DESK, store=store, thread_id="t", executors=executors(), event=Approve(by="me"))
    assert isinstance(result, il.Done)
    return result.output


async def finish(store: il.Store) -> dict[str, object]:
    """Go on with the thread until it is done; the person has answered once."""
    result: Any = await il.run_agent(DESK, store=store, thread_id="t", executors=executors())
    if isinstance(result, il.Idle):
        result = await il.run_agent(
            DESK, store=store, thread_id="t", executors=executors(), event=Approve(by="me"), event_id="approval"
        )
    assert isinstance(result, il.Done), result
    return result.output


def check_calls(calls: list[str], log: Sequence[il.LogEntry]) -> None:
    assert sum(entry.usage is not None for entry in log) <= len(calls)


@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=[pytest.mark.slow] if n >= 4 else []) for n in range(POINTS // 25)]
)
async def test_cancelled_at_random_points(seed: int):
    whole_output = await uninterrupted()
    dice = random.Random(seed)
    outcomes: list[str] = []
    for _ in range(25):
        store = Hesitant()
        calls: list[str] = []
        ended: list[str] = []

        async def run(store: il.Store = store, calls: list[str] = calls, ended: list[str] = ended) -> None:
            try:
                await il.run_agent(
                    DESK,
                    store=store,
                    thread_id="t",
                    executors=hesitant(dice, calls),
                    event=Approve(by="too early"),
                )
                ended.append("settled")
            except anyio.get_cancelled_exc_class():
                ended.append("cancelled")
                raise

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await turns(dice.randrange(1, 90))
            group.cancel_scope.cancel()
        outcomes += ended
        assert len(ended) == 1
        log = await whole(store, "t")
        if log:
            replay(DESK, log, verify="strict")
        check_calls(calls, log)
        assert await finish(store) == whole_output
        log = await whole(store, "t")
        assert replay(DESK, log, verify="strict").snapshot.output == whole_output
    assert outcomes.count("cancelled") > 15  # most of them hit a run in its middle


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("seed", range(4))
async def test_a_native_task_that_is_cancelled_again_and_again(seed: int):
    """What anyio's scopes shield from, ``Task.cancel`` does not stop at."""
    dice = random.Random(seed)
    for _ in range(25):
        store = Hesitant()
        before = asyncio.all_tasks()
        task = asyncio.create_task(
            il.run_agent(
                DESK,
                store=store,
                thread_id="t",
                executors=hesitant(dice, []),
            )
        )
        await turns(dice.randrange(1, 90))
        cancelled = False
        while not task.done():
            cancelled = task.cancel() or cancelled
            await anyio.lowlevel.checkpoint()
        if cancelled and task.cancelled():
            with pytest.raises(asyncio.CancelledError):
                await task
        assert asyncio.all_tasks() == before
        log = await whole(store, "t")
        if log:
            replay(DESK, log, verify="strict")
        assert await finish(store) == await uninterrupted()


async def test_plain_executors_are_left_to_their_threads_and_what_they_say_later_is_not_written():
    for number in range(10):
        store = il.MemoryStore()
        began, release, left = threading.Event(), threading.Event(), threading.Event()

        def generate_text(
            request: il.TextRequest,
            info: il.ExecutorInfo,
            began: threading.Event = began,
            release: threading.Event = release,
            left: threading.Event = left,
        ) -> il.TextResult:
            began.set()
            release.wait(10)
            left.set()
            return il.TextResult(output="too late")

        async def run(store: il.Store = store, text: Any = generate_text) -> None:
            given = il.Executors(decide=executors().decide, generate_text=text)
            await il.run_agent(DESK, store=store, thread_id="t", executors=given)

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await anyio.to_thread.run_sync(began.wait)
            await turns(number)
            group.cancel_scope.cancel()
        log = await whole(store, "t")
        release.set()
        await anyio.to_thread.run_sync(left.wait)
        await turns(5)
        assert await whole(store, "t") == log
        assert await finish(store) == await uninterrupted()
