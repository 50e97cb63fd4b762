"""Forks, deletion, lists of threads and saved snapshots."""

from __future__ import annotations

from functools import partial

from interlock.journal.entries import EntryStatus
from interlock.journal.stores.base import ThreadInfo
from interlock.journal.stores.conformance.probe import Check, Probe, entries, entry, same, snapshot

__all__ = ["LIVES"]


async def a_fork_is_a_thread_of_its_own(probe: Probe) -> None:
    """All of a log or its beginning; from then on neither knows of the other."""
    store, source = probe.store, await probe.thread("fork source", 5)
    whole, part = await probe.thread("fork whole"), await probe.thread("fork part")
    same(await store.fork(source, whole), 5, "fork of 5 entries: its result")
    same(await store.fork(source, part, length=2), 2, "fork(length=2): its result")
    await probe.holds(whole, entries(0, 5), "a fork")
    await probe.holds(part, entries(0, 2), "a fork(length=2)")
    await store.append(part, 2, entries(2, 3, "own"))
    await store.append(source, 5, entries(5, 2))
    await probe.holds(part, [*entries(0, 2), *entries(2, 3, "own")], "a fork that was written to")
    await probe.holds(source, entries(0, 7), "the source of a fork, after both were written to")
    await probe.holds(whole, entries(0, 5), "another fork, after both were written to")
    await probe.conflicts(part, 2, 5, "append at the place where the fork was made")
    again = entry(5, id="evt_00000001")
    await probe.refuses(
        partial(store.append, part, 5, [again]), "duplicate-entry", "append to a fork of an id that was copied to it"
    )
    own = entry(5, id="evt_00000005")
    await store.append(part, 5, [own])  # an id that only the source has
    same(await store.index_of(part, own.id), 5, "index_of an id of a fork that its source has as well")
    await store.delete(source)
    await probe.holds(whole, entries(0, 5), "a fork, after its source was deleted")
    one = await probe.thread("fork of one")
    same(await store.fork(whole, one, length=1), 1, "fork(length=1): its result")
    await probe.holds(one, entries(0, 1), "a fork(length=1)")


async def a_fork_stands_as_its_last_entry_says(probe: Probe) -> None:
    """Not as the source does."""
    store, source = probe.store, await probe.thread("fork of the ended")
    early = await probe.thread("fork before the end")
    await store.append(source, 0, [entry(0), entry(1, status="waiting", machine_version="1"), entry(2, status="done")])
    await store.fork(source, early, length=2)
    found = [info for info in await store.threads() if info.thread_id == early]
    same(found, [_info(early, 2, "waiting")], "threads(), of a fork")


async def a_fork_that_cannot_be_is_refused(probe: Probe) -> None:
    """And then there is no new thread, and the one that was there is as it was."""
    store, source = probe.store, await probe.thread("refused source", 3)
    taken, free = await probe.thread("refused taken", 2), await probe.thread("refused free")
    nobody = await probe.thread("refused nobody")
    for code, doing, what in (
        ("unknown-thread", partial(store.fork, nobody, free), "fork of an unknown thread"),
        ("unknown-thread", partial(store.fork, nobody, taken), "fork of an unknown thread to one that is there"),
        ("thread-exists", partial(store.fork, source, taken), "fork to a thread that is there"),
        ("thread-exists", partial(store.fork, source, source), "fork of a thread to itself"),
        ("invalid-fork", partial(store.fork, source, free, length=4), "fork(length=4) of 3 entries"),
        ("invalid-fork", partial(store.fork, source, free, length=0), "fork(length=0)"),
        ("invalid-fork", partial(store.fork, source, free, length=-1), "fork(length=-1)"),
    ):
        await probe.refuses(doing, code, what)
    await probe.holds(source, entries(0, 3), "the source of forks that were refused")
    await probe.holds(taken, entries(0, 2), "the target of forks that were refused")
    await probe.holds(free, [], "a thread that refused forks did not begin")
    await probe.holds(nobody, [], "an unknown thread, after forks of it")


async def a_deleted_thread_is_gone(probe: Probe) -> None:
    """With its snapshot, its ids and its place in the list; a new thread may begin under its id."""
    store, thread = probe.store, await probe.thread("deleted", 4)
    await store.save_snapshot(thread, snapshot(3))
    same(await store.delete(thread), True, "delete: its result")
    await probe.holds(thread, [], "a deleted thread")
    same(await store.index_of(thread, "evt_00000001"), None, "index_of in a deleted thread")
    same(await store.load_snapshot(thread), None, "load_snapshot of a deleted thread")
    listed = [info.thread_id for info in await store.threads()]
    same(thread in listed, False, "whether threads() lists a deleted thread")
    same(await store.delete(thread), False, "delete, once more: its result")
    await probe.conflicts(thread, 4, 0, "append at 4 to a deleted thread")
    await store.append(thread, 0, entries(0, 2))
    await probe.holds(thread, entries(0, 2), "a new thread under the id of a deleted one")
    same(await store.load_snapshot(thread), None, "load_snapshot of a new thread under the id of a deleted one")


async def threads_are_listed(probe: Probe) -> None:
    """Those written to last first, as they stand; those of one status; so many."""
    store = probe.store
    a, b, c, d = [await probe.thread(f"listed {name}") for name in "abcd"]
    await store.append(a, 0, [entry(0)])
    await store.append(b, 0, [entry(0), entry(1, status="waiting", recorded_at=None)])
    await store.append(c, 0, [entry(0, status="waiting", recorded_at=0.25)])
    await _lists(probe, [_info(c, 1, "waiting", 0.25), _info(b, 2, "waiting", None), _info(a, 1)], "three threads")
    await store.append(a, 1, [entry(1, status="done", machine_version="2"), entry(2, status="done")])
    found = [_info(a, 3, "done"), _info(c, 1, "waiting", 0.25), _info(b, 2, "waiting", None)]
    await _lists(probe, found, "three threads, the oldest of which was written to")
    await store.read(b)
    await store.save_snapshot(b, snapshot(1))
    await _lists(probe, found, "three threads, one of which was read and had its snapshot saved")
    await _lists(probe, found[1:], "those that are waiting", status="waiting")
    await _lists(probe, found[:1], "those that are done", status="done")
    await _lists(probe, [], "those that have failed", status="error")
    same(tuple(found[:2]), await store.threads(limit=2), "threads(limit=2)")
    same((), await store.threads(limit=0), "threads(limit=0)")
    same((found[1],), await store.threads(status="waiting", limit=1), 'threads(status="waiting", limit=1)')
    await store.fork(b, d, length=1)
    await _lists(probe, [_info(d, 1), *found], "after a fork")
    await store.delete(c)
    await store.append(b, 2, [entry(2)])
    await _lists(probe, [_info(b, 3), _info(d, 1), found[0]], "after one was deleted and another written to")


async def a_snapshot_is_kept_beside_its_log(probe: Probe) -> None:
    """The last one that was saved, letter by letter, for threads that are there."""
    store, thread = probe.store, await probe.thread("saved", 5)
    same(await store.load_snapshot(thread), None, "load_snapshot, before one was saved")
    first = snapshot(2, '{"a":"\\u0000 \'\\"🐙\u2028","b":[-0.0,1e308]}')
    await store.save_snapshot(thread, first)
    same(await store.load_snapshot(thread), first, "load_snapshot")
    await store.append(thread, 5, entries(5, 1))
    same(await store.load_snapshot(thread), first, "load_snapshot, after an append")
    second = snapshot(4, '{"state":"' + "x" * 1_000_000 + '"}')
    await store.save_snapshot(thread, second)
    same(await store.load_snapshot(thread), second, "load_snapshot, after another one was saved")
    await probe.holds(thread, entries(0, 6), "a log, after snapshots were saved")
    nobody, fork = await probe.thread("saved nobody"), await probe.thread("saved fork")
    await store.save_snapshot(nobody, snapshot(0))
    same(await store.load_snapshot(nobody), None, "load_snapshot of an unknown thread, after one was saved for it")
    await probe.holds(nobody, [], "an unknown thread, after a snapshot was saved for it")
    await store.fork(thread, fork, length=3)
    copied = await store.load_snapshot(fork)
    if copied is not None and copied.index >= 3:
        raise AssertionError(
            f"load_snapshot of a fork(length=3): expected none from beyond, came one of {copied.index}"
        )
    await store.save_snapshot(fork, first)
    same(await store.load_snapshot(thread), second, "load_snapshot, after one was saved for a fork")


def _info(thread: str, length: int, status: EntryStatus = "working", at: float | None = -1.0) -> ThreadInfo:
    return ThreadInfo(
        thread_id=thread,
        length=length,
        status=status,
        updated_at=1767225600.25 + length - 1 if at == -1.0 else at,
        machine_id="conformance",
        machine_version="1",
    )


async def _lists(probe: Probe, expected: list[ThreadInfo], what: str, *, status: EntryStatus | None = None) -> None:
    # A store may hold threads of others; ours are those with this name.
    listed = await probe.store.threads(status=status) if status else await probe.store.threads()
    same([info for info in listed if info.thread_id.startswith("conformance/listed ")], expected, f"threads(), {what}")


LIVES: tuple[Check, ...] = (
    a_fork_is_a_thread_of_its_own,
    a_fork_stands_as_its_last_entry_says,
    a_fork_that_cannot_be_is_refused,
    a_deleted_thread_is_gone,
    threads_are_listed,
    a_snapshot_is_kept_beside_its_log,
)
