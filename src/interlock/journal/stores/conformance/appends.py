"""Appending and reading."""

from __future__ import annotations

from functools import partial

from interlock.journal.stores.conformance.probe import Call, Check, Probe, entries, entry, same, same_log, snapshot

__all__ = ["APPENDS"]


async def a_thread_that_is_not_there_is_empty(probe: Probe) -> None:
    """Nobody has to ask first whether a thread is there."""
    thread, store = await probe.thread("nobody"), probe.store
    same(await store.read(thread), (), "read of an unknown thread")
    same(await store.read(thread, start=3, limit=2), (), "read(start=3, limit=2) of an unknown thread")
    same(await store.length(thread), 0, "length of an unknown thread")
    same(await store.index_of(thread, "evt_00000000"), None, "index_of in an unknown thread")
    same(await store.load_snapshot(thread), None, "load_snapshot of an unknown thread")
    same(await store.delete(thread), False, "delete of an unknown thread")


async def what_is_appended_is_read(probe: Probe) -> None:
    """One by one and several at once, in the order of their indexes."""
    thread, store = await probe.thread("growing"), probe.store
    log = entries(0, 12)
    await store.append(thread, 0, log[:1])
    await probe.holds(thread, log[:1], "after one entry")
    await store.append(thread, 1, log[1:2])
    await probe.holds(thread, log[:2], "after two appends of one entry")
    await store.append(thread, 2, tuple(log[2:11]))
    await probe.holds(thread, log[:11], "after an append of nine entries")
    await store.append(thread, 11, log[11:])
    await probe.holds(thread, log, "after an append that takes the index to two digits")
    same(await store.index_of(thread, "evt_00000005"), 5, "index_of an entry in the middle")
    same(await store.index_of(thread, "evt_5"), None, "index_of an id that is not there")
    same(await store.index_of(thread, ""), None, "index_of an empty id")


async def reading_begins_and_ends_where_it_is_told(probe: Probe) -> None:
    """``start`` and ``limit``, within the log and beyond."""
    thread = await probe.thread("window", 20)
    log = entries(0, 20)
    for start, limit in ((0, None), (0, 1), (5, None), (5, 3), (9, 2), (19, 5), (20, None), (99, 1), (0, 0), (18, 99)):
        wanted = tuple(log[start : None if limit is None else start + limit])
        what = f"read(start={start}, limit={limit}) of 20 entries"
        same_log(await probe.store.read(thread, start=start, limit=limit), wanted, what)


async def an_append_at_another_index_conflicts(probe: Probe) -> None:
    """Whoever has read too little, or thinks there is more, is told how long the log is; nothing is written."""
    thread = await probe.thread("stale", 3)
    for expected in (0, 2, 4, 50):
        await probe.conflicts(thread, expected, 3, f"append at {expected} to 3 entries")
    await probe.holds(thread, entries(0, 3), "after appends that conflicted")
    nobody = await probe.thread("not begun")
    await probe.conflicts(nobody, 1, 0, "append at 1 to an unknown thread")
    await probe.holds(nobody, [], "after an append that conflicted")
    infos = await probe.store.threads()
    same(
        [info.thread_id for info in infos if info.thread_id == nobody], [], "threads() after an append that conflicted"
    )


async def entries_must_follow_each_other(probe: Probe) -> None:
    """Indexes begin at ``expected_index`` and leave none out."""
    thread, store = await probe.thread("gaps", 2), probe.store
    for name, given in {
        "a gap": [entry(2), entry(4)],
        "the same index twice": [entry(2), entry(2, "b")],
        "another start": [entry(3)],
        "an index of before": [entry(1, "b")],
        "backwards": [entry(3), entry(2)],
    }.items():
        await probe.refuses(partial(store.append, thread, 2, given), "invalid-append", f"append with {name}")
    await probe.holds(thread, entries(0, 2), "after appends of entries that do not follow each other")


async def an_id_stands_in_a_thread_once(probe: Probe) -> None:
    """Neither written before nor twice in one append; all of such an append is refused."""
    thread, store = await probe.thread("duplicates", 3), probe.store
    again = entry(3, id="evt_00000001")
    await probe.refuses(partial(store.append, thread, 3, [again]), "duplicate-entry", "append of an id that is there")
    middle = [entry(3), entry(4, id="evt_00000001"), entry(5)]
    await probe.refuses(
        partial(store.append, thread, 3, middle), "duplicate-entry", "append of three, the second id is there"
    )
    await probe.holds(thread, entries(0, 3), "after an append of three, the second of which was refused")
    same(await store.index_of(thread, "evt_00000003"), None, "index_of an entry before the one that was refused")
    twins = [entry(3), entry(4), entry(5, id="evt_00000003")]
    await probe.refuses(partial(store.append, thread, 3, twins), "duplicate-entry", "append of the same id twice")
    await probe.holds(thread, entries(0, 3), "after an append of the same id twice")
    first = [entry(0), entry(1, id="evt_00000000")]
    new = await probe.thread("duplicates at birth")
    await probe.refuses(partial(store.append, new, 0, first), "duplicate-entry", "first append, with the same id twice")
    await probe.holds(new, [], "after a first append with the same id twice")
    await store.append(thread, 3, entries(3, 2))
    await probe.holds(thread, entries(0, 5), "after a good append that followed the refused ones")


async def an_append_of_nothing_does_nothing(probe: Probe) -> None:
    """It begins no thread and checks no index."""
    thread, store = await probe.thread("nothing"), probe.store
    await store.append(thread, 0, [])
    await store.append(thread, 7, ())
    await probe.holds(thread, [], "after appends of nothing")
    infos = await store.threads()
    same(thread in {info.thread_id for info in infos}, False, "whether threads() lists it, after appends of nothing")


async def a_list_is_copied(probe: Probe) -> None:
    """What is done afterwards to the list that was passed in, or with what was read, changes no log."""
    thread, store = await probe.thread("lists"), probe.store
    mine = entries(0, 3)
    await store.append(thread, 0, mine)
    mine.append(entry(3))
    mine[0] = entry(0, "changed")
    await probe.holds(thread, entries(0, 3), "after the list that had been appended was changed")
    before = await store.read(thread)
    await store.append(thread, 3, entries(3, 2))
    same_log(before, entries(0, 3), "what had been read before an append")


async def threads_know_nothing_of_each_other(probe: Probe) -> None:
    """The same ids and indexes may stand in each."""
    store = probe.store
    one, two = await probe.thread("one", 4), await probe.thread("two", 2)
    await store.append(two, 2, entries(2, 1, "other"))
    await probe.holds(one, entries(0, 4), "a thread, after another one was written to")
    await probe.holds(two, [*entries(0, 2), *entries(2, 1, "other")], "the other thread")
    await store.delete(one)
    await probe.holds(two, [*entries(0, 2), *entries(2, 1, "other")], "a thread, after another one was deleted")


async def a_closed_store_says_so(probe: Probe) -> None:
    """All that can be called, after ``aclose``; which may be called twice."""
    thread, store = await probe.thread("closed", 1), await probe.open_other()
    await store.aclose()
    await store.aclose()
    calls: dict[str, Call] = {
        "append": partial(store.append, thread, 1, entries(1, 1)),
        "append of nothing": partial(store.append, thread, 1, []),
        "read": partial(store.read, thread),
        "length": partial(store.length, thread),
        "index_of": partial(store.index_of, thread, "evt_00000000"),
        "fork": partial(store.fork, thread, "conformance/closed too"),
        "threads": store.threads,
        "delete": partial(store.delete, thread),
        "save_snapshot": partial(store.save_snapshot, thread, snapshot(0)),
        "load_snapshot": partial(store.load_snapshot, thread),
    }
    for name, doing in calls.items():
        await probe.refuses(doing, "store-closed", f"{name} after aclose()")


APPENDS: tuple[Check, ...] = (
    a_thread_that_is_not_there_is_empty,
    what_is_appended_is_read,
    reading_begins_and_ends_where_it_is_told,
    an_append_at_another_index_conflicts,
    entries_must_follow_each_other,
    an_id_stands_in_a_thread_once,
    an_append_of_nothing_does_nothing,
    a_list_is_copied,
    threads_know_nothing_of_each_other,
    a_closed_store_says_so,
)
