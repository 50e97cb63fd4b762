"""Several writers at once, with one store and with several on the same data."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

import anyio
import anyio.lowlevel

from interlock.errors import LogConflictError, StoreError
from interlock.journal.entries import LogEntry
from interlock.journal.stores.base import Store
from interlock.journal.stores.conformance.probe import Check, Probe, entries, same, same_log

__all__ = ["RACES"]

_ROUNDS = 8
_RACERS = 6


async def one_of_those_who_race_wins(probe: Probe) -> None:
    """All append at the same index at once; one is written, and all others are told so."""
    thread = await probe.thread("race")
    await _race(probe, [probe.store] * _RACERS, thread)


async def stores_race_as_tasks_do(probe: Probe) -> None:
    """The same with several store objects, if they have the same data."""
    async with AsyncExitStack() as closing:
        stores = [probe.store]
        thread = await probe.thread("race of stores", 1)
        for _ in range(2):
            store = await probe.open_other()
            closing.push_async_callback(store.aclose)
            if await store.length(thread) == 1:
                stores.append(store)
        if len(stores) > 1:
            await probe.store.delete(thread)
            await _race(probe, stores * 2, thread)
            for store in stores:
                await Probe(store, probe.open_other).holds(thread, await probe.store.read(thread), "in another store")


async def one_of_those_who_begin_a_thread_wins(probe: Probe) -> None:
    """Whether they append or fork."""
    source = await probe.thread("race source", 3)
    for _ in range(_ROUNDS):
        birth = _Birth(probe, source, await probe.thread("race to begin"))
        async with anyio.create_task_group() as racers:
            for number in range(3):
                racers.start_soon(birth.fork)
                racers.start_soon(birth.append, number)
            await anyio.lowlevel.checkpoint()
            birth.go.set()
        same(birth.codes - {"thread-exists"}, set[str](), "forks to a thread that somebody else begins: other codes")
        what = "3 forks and 3 appends that begin one thread"
        same(len(birth.won), 1, f"{what}: how many of them did (those of {birth.won})")
        log = entries(0, 3) if birth.won == ["fork"] else entries(0, 2, birth.won[0])
        await probe.holds(birth.thread, log, f"{what}, after {birth.won[0]!r} did")


class _Birth:
    """One race for a thread that nobody has begun."""

    def __init__(self, probe: Probe, source: str, thread: str) -> None:
        self.store, self.source, self.thread = probe.store, source, thread
        self.go = anyio.Event()
        self.won: list[str] = []
        self.codes: set[str] = set()

    async def fork(self) -> None:
        await self.go.wait()
        try:
            await self.store.fork(self.source, self.thread)
        except StoreError as error:
            self.codes.add(error.code)
        else:
            self.won.append("fork")

    async def append(self, number: int) -> None:
        await self.go.wait()
        try:
            await self.store.append(self.thread, 0, entries(0, 2, f"{number}-"))
        except LogConflictError:
            return
        self.won.append(f"{number}-")


async def _race(probe: Probe, stores: Sequence[Store], thread: str) -> None:
    log: list[LogEntry] = []
    for number in range(_ROUNDS):
        heat = _Heat(thread, start=len(log), count=1 + number % 3)
        async with anyio.create_task_group() as racers:
            for racer, store in enumerate(stores):
                racers.start_soon(heat.run, racer, store)
            await anyio.lowlevel.checkpoint()
            heat.go.set()
        what = f"{len(stores)} appends of {heat.count} entries at {heat.start}, all at once"
        same(len(heat.won), 1, f"{what}: how many were written (those of racers {sorted(heat.won)})")
        same(heat.lost, len(stores) - 1, f"{what}: how many conflicts")
        log += next(iter(heat.won.values()))
        same_log(await probe.store.read(thread), log, f"{what}: read() afterwards")
    await probe.holds(thread, log, "after all races")


class _Heat:
    """One race for one place."""

    def __init__(self, thread: str, *, start: int, count: int) -> None:
        self.thread, self.start, self.count = thread, start, count
        self.go = anyio.Event()
        self.won: dict[int, list[LogEntry]] = {}
        self.lost = 0

    async def run(self, racer: int, store: Store) -> None:
        given = entries(self.start, self.count, f"racer{racer}-")
        await self.go.wait()
        try:
            await store.append(self.thread, self.start, given)
        except LogConflictError:
            self.lost += 1
        else:
            self.won[racer] = given


RACES: tuple[Check, ...] = (
    one_of_those_who_race_wins,
    stores_race_as_tasks_do,
    one_of_those_who_begin_a_thread_wins,
)
