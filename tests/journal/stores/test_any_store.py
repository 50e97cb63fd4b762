"""What holds for every durable store: event loops, threads, cancellation, sizes."""

import asyncio
import threading
from collections.abc import Callable

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from interlock.errors import BindError, LogConflictError, StoreError
from interlock.journal.stores import Store, ThreadInfo
from interlock.journal.stores.conformance.probe import entries, entry, snapshot


def test_one_store_in_several_event_loops_one_after_the_other(open_durable: Callable[[], Store]):
    store = open_durable()

    async def append(index: int) -> int:
        await store.append("t", index, [entry(index)])
        return await store.length("t")

    for index, backend in enumerate(["asyncio", "trio", "asyncio", "trio"]):
        assert anyio.run(append, index, backend=backend) == index + 1
    anyio.run(store.aclose)


def test_one_store_in_several_event_loops_at_once(open_durable: Callable[[], Store]):
    store = open_durable()
    won: list[int] = []
    ready = threading.Barrier(4)

    async def race(name: str) -> None:
        index = 0
        while index < 40:
            try:
                await store.append("t", index, [entry(index, name)])
            except LogConflictError as error:
                index = error.actual_index
            else:
                won.append(index)
                index += 1

    def run(number: int) -> None:
        ready.wait()
        anyio.run(race, f"{number}-", backend=["asyncio", "trio"][number % 2])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == list(range(40))
    anyio.run(store.aclose)


async def test_a_cancelled_append_is_finished_and_then_the_task_is_cancelled(open_durable, monkeypatch):
    store = open_durable()
    await store.append("t", 0, entries(0, 1))
    began, go = threading.Event(), threading.Event()
    add = store._add

    def slowly(*arguments):
        began.set()
        go.wait()
        return add(*arguments)

    monkeypatch.setattr(store, "_add", slowly)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.append, "t", 1, entries(1, 2))
            await anyio.to_thread.run_sync(began.wait)
            scope.cancel()
            go.set()
        await anyio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert await store.length("t") == 3
    await store.aclose()


def test_asyncios_own_cancel_waits_for_an_append_as_well(open_durable, monkeypatch):
    """``Task.cancel()`` knows no shields."""
    store = open_durable()
    began, go, done = threading.Event(), threading.Event(), threading.Event()
    add = store._add

    def slowly(*arguments):
        began.set()
        go.wait()
        result = add(*arguments)
        done.set()
        return result

    async def main() -> None:
        await store.append("t", 0, entries(0, 1))
        monkeypatch.setattr(store, "_add", slowly)
        task = asyncio.ensure_future(store.append("t", 1, entries(1, 2)))
        await asyncio.to_thread(began.wait)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert not task.done()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert done.is_set()
        assert await store.length("t") == 3
        await store.aclose()

    asyncio.run(main())


async def test_an_append_that_is_cancelled_before_it_begins_writes_nothing(open_durable):
    store = open_durable()
    await store.append("t", 0, entries(0, 1))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await store.append("t", 1, entries(1, 1))
    assert scope.cancelled_caught
    assert await store.length("t") == 1
    await store.aclose()


async def test_a_store_is_closed_in_a_cancelled_scope_too(open_durable):
    store = open_durable()
    await store.append("t", 0, entries(0, 1))
    with anyio.CancelScope() as scope:
        scope.cancel()
        await store.aclose()
    with pytest.raises(StoreError, match="closed"):
        await store.length("t")


async def test_an_entry_that_is_too_large_is_named(open_durable):
    store = open_durable(max_entry_bytes=500)
    large = entry(1, event={"type": "Said", "text": "ä" * 300})
    size = len(large.to_text().encode())
    assert len(large.to_text()) < 600 < size
    with pytest.raises(StoreError) as refused:
        await store.append("t", 0, [entry(0), large])
    assert refused.value.code == "entry-too-large"
    assert all(word in refused.value.message for word in (str(size), "500", "Said", "entry 1", "'t'"))
    assert await store.length("t") == 0
    await store.append("t", 0, [entry(0)])
    exact = open_durable(max_entry_bytes=size)
    await exact.append("t", 1, [large])
    await store.aclose()
    await exact.aclose()


async def test_what_json_cannot_carry_is_refused(open_durable):
    store = open_durable()
    for bad in (float("nan"), float("inf"), 10**5000, "\ud800"):
        given = entry(0)
        object.__setattr__(given, "output", bad)
        with pytest.raises(StoreError, match="entry 0") as refused:
            await store.append("t", 0, [given])
        assert refused.value.code == "invalid-append"
    assert await store.read("t") == ()
    await store.aclose()


@pytest.mark.parametrize("at", [10**400, float("inf"), "now"], ids=lambda at: str(at)[:9])
async def test_a_time_that_no_database_can_hold_is_refused(open_store, at):
    store = open_store()
    given = entry(0)
    object.__setattr__(given, "recorded_at", at)
    with pytest.raises(StoreError, match="the time of entry 0 is none") as refused:
        await store.append("t", 0, [given])
    assert refused.value.code == "invalid-append"
    assert await store.threads() == ()
    await store.aclose()


async def test_threads_tell_how_their_last_entries_stand(open_store):
    store = open_store()
    given = [entry(0, status="working"), entry(1, status="done", recorded_at=10**300, machine_version="2")]
    await store.append("t", 0, given)
    [info] = await store.threads()
    assert info == ThreadInfo(
        thread_id="t",
        length=2,
        status="done",
        updated_at=1e300,
        machine_id=given[1].machine_id,
        machine_version="2",
    )
    await store.aclose()


@pytest.mark.parametrize("expected", [-1, 2**31, 2**53, 2**63, 2**70])
async def test_an_index_that_no_log_has_conflicts(open_durable, expected: int):
    store = open_durable()
    await store.append("t", 0, entries(0, 1))
    given = entry(0)
    object.__setattr__(given, "index", expected)
    with pytest.raises(LogConflictError) as conflict:
        await store.append("t", expected, [given])
    assert conflict.value.actual_index == 1
    assert await store.read("t", start=expected) == (() if expected > 0 else (entry(0),))
    assert await store.read("t", limit=max(expected, 0)) == ((entry(0),) if expected > 0 else ())
    assert len(await store.threads(limit=expected)) == (1 if expected > 0 else 0)
    await store.aclose()


async def test_many_at_once_wait_for_their_turn(open_durable):
    store = open_durable()
    async with anyio.create_task_group() as tasks:
        for number in range(60):
            tasks.start_soon(store.append, f"t{number}", 0, entries(0, 3))
            tasks.start_soon(store.read, f"t{number}")
    assert [info.length for info in await store.threads()] == [3] * 60
    await store.aclose()


async def test_a_snapshot_may_be_as_large_as_it_likes(open_durable):
    store = open_durable(max_entry_bytes=500)
    await store.append("t", 0, entries(0, 1))
    await store.save_snapshot("t", snapshot(0, "x" * 100_000))
    assert await store.load_snapshot("t") == snapshot(0, "x" * 100_000)
    await store.aclose()


def test_a_limit_is_a_number_above_0(open_durable):
    with pytest.raises(BindError, match="max_entry_bytes=0"):
        open_durable(max_entry_bytes=0)
