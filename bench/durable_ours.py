"""Our durable steps: one event sent to an open session, its step taken and its entry kept."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio
from durable_steps import LARGE, SMALL, Effort, Load, Pace, Subject, entry
from measure import expect
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc
from interlock.journal import MemoryStore, Store, advance, begin, replay, state_hash
from interlock.journal.hashing import StateHasher
from interlock.journal.stores import PostgresStore, SQLiteStore

GROUP = 100
"""How many events are sent at once where appends are grouped."""


class Context(BaseModel, frozen=True):
    """The transcript."""

    log: tuple[str, ...] = ()


class Nothing(il.Event):
    """Go to the other state; the context stays."""


class Note(il.Event):
    """Add a line."""

    text: str


agent = il.setup_agent(context=Context, events=[Nothing, Note])


def machine(entries: int) -> il.Machine[Context, None, object]:
    """Two states, and a context of so many lines."""

    def state(other: str) -> sc.State:
        return agent.state(
            on=[
                agent.on(Nothing, other),
                agent.on(Note, lambda c, note: agent.stay(log=(*c.log, note.text))),
            ]
        )

    context = Context(log=tuple(entry(number) for number in range(entries)))
    return agent.machine("bench", context=context, initial="on", states={"on": state("off"), "off": state("on")})


async def steps(load: Load, pace: Pace, store: Store, *, group: int = 1) -> None:
    """Take steps, ``group`` at a time, each group durable before the next one begins."""
    async with il.AgentSession(machine(load.entries), store=store, thread_id="bench") as session:
        await session.settled()
        number = 0
        with pace.measured():
            while True:
                for _ in range(group):
                    session.send_nowait(Note(text=entry(number)) if load.grows else Nothing())
                    number += 1
                await session.settled()
                if not pace.goes_on():
                    break
    expect(await store.length("bench"), 1 + pace.taken * group)
    await store.aclose()


def in_memory(load: Load, pace: Pace, folder: Path) -> None:
    """In this process."""
    del folder
    anyio.run(steps, load, pace, MemoryStore())


def on_sqlite(load: Load, pace: Pace, folder: Path, *, full: bool = True, group: int = 1) -> None:
    """In a SQLite file."""
    store = SQLiteStore(folder / "bench.db", synchronous="full" if full else "normal")
    anyio.run(partial(steps, load, pace, store, group=group))


def reopened(folder: Path) -> Callable[[], int]:
    """The way back: a new store and a new run, standing where the thread ends."""
    found: list[il.Snapshot[Context]] = []

    async def come_back() -> None:
        store = SQLiteStore(folder / "bench.db")
        result = await il.run_agent(machine(0), store=store, thread_id="bench")
        assert isinstance(result, il.Idle), result
        found.append(result.snapshot)
        await store.aclose()

    async def go_on() -> None:
        store = SQLiteStore(folder / "bench.db")
        result = await il.run_agent(machine(0), store=store, thread_id="bench", event=Note(text=entry(0)))
        assert isinstance(result, il.Idle), result
        found.append(result.snapshot)
        await store.aclose()

    anyio.run(come_back)

    def one_more() -> int:
        anyio.run(go_on)
        return len(found[-1].context.log)

    return one_more


SUBJECT = Subject(
    memory=in_memory,
    durable=on_sqlite,
    default=partial(on_sqlite, full=False),
    reopen=reopened,
    about={
        "sqlite_us": "one commit per step, WAL with synchronous=FULL (the default)",
        "sqlite_default_us": "one commit per step, WAL with synchronous=NORMAL (by choice)",
        "resume_ms": "a new event loop, store and run each time",
    },
)


def grouped(effort: Effort, folder: Path, postgres: str | None) -> dict[str, float | None]:
    """CPU microseconds per step where the appends of a hundred events are one, at 1 KB and 100 KB."""
    figures: dict[str, float | None] = {}
    stores: dict[str, tuple[Callable[[int], Store], int]] = {
        "memory_us": (lambda _: MemoryStore(), SMALL),
        "memory_100kb_us": (lambda _: MemoryStore(), LARGE),
        "sqlite_us": (lambda n: SQLiteStore(folder / f"{n}.db", synchronous="normal"), SMALL),
        "sqlite_full_us": (lambda n: SQLiteStore(folder / f"full-{n}.db"), SMALL),
        "sqlite_100kb_us": (lambda n: SQLiteStore(folder / f"large-{n}.db", synchronous="normal"), LARGE),
    }
    for key, (make, entries) in stores.items():
        figures[key] = _grouped(effort, entries, make, GROUP)
    figures["postgres_us"] = figures["postgres_single_us"] = None
    if postgres is not None:
        figures["postgres_us"] = _grouped(effort, SMALL, _fresh_postgres(postgres), GROUP)
        figures["postgres_single_us"] = _grouped(effort, SMALL, _fresh_postgres(postgres), 1)
    return figures


def _fresh_postgres(conninfo: str) -> Callable[[int], Store]:
    def make(_: int) -> Store:
        async def empty() -> None:
            store = PostgresStore(conninfo)
            await store.delete("bench")
            await store.aclose()

        anyio.run(empty)
        return PostgresStore(conninfo)

    return make


def _grouped(effort: Effort, entries: int, make: Callable[[int], Store], group: int) -> float:
    count = max(1, effort.small // group)
    values: list[float] = []
    for number in range(effort.repeats + 1):  # the first one warms up
        pace = Pace(count, effort.seconds)
        anyio.run(partial(steps, Load(entries), pace, make(number), group=group))
        values.append(1e6 * pace.spent / (pace.taken * group))
    return _rounded(statistics.median(values[1:]))


def growth_single(effort: Effort, run: Callable[[Load, Pace, Path], None], folder: Path) -> float:
    """The last fifth of the steps over the first, while the context grows."""
    pace = Pace(effort.growing, effort.seconds)
    run(Load(0, grows=True), pace, folder)
    return _rounded(pace.last_over_first())


def replaying(effort: Effort) -> dict[str, float]:
    """Events a second, of a toggle without context, and what hashing costs with a long transcript."""
    toggle = sc.machine(
        "toggle", initial="off", states={"off": sc.state(on={"TOGGLE": "on"}), "on": sc.state(on={"TOGGLE": "off"})}
    )
    head, first, _ = begin(toggle, execution_id="bench", at=0.0)
    log = [first]
    for _ in range(10 * effort.small):
        head, made, _ = advance(head, sc.Input(event="TOGGLE", by="host"), at=0.0)
        log.append(made)
    figures: dict[str, float] = {}
    for key, verify in (("replay_events_per_s", False), ("replay_verified_events_per_s", True)):
        times = []
        for _ in range(effort.repeats):
            before = time.process_time()
            end = replay(toggle, log, verify=verify)
            times.append(time.process_time() - before)
            expect(end.head.index, len(log) - 1)
        figures[key] = _rounded((len(log) - 1) / statistics.median(times))
    figures["hash_us_1000_lines"] = _hashing(effort)
    return figures


def _hashing(effort: Effort) -> float:
    """CPU microseconds to hash one more state, where a transcript of a thousand lines has got one more."""
    chart = machine(LARGE)
    snapshot, _ = sc.initial_transition(chart)
    snapshots = [snapshot]
    for number in range(effort.large):
        snapshot, _ = sc.transition(chart, snapshot, Note(text=entry(number)))
        snapshots.append(snapshot)
    times = []
    for _ in range(effort.repeats):
        hasher = StateHasher()
        hasher.digest(snapshots[0])
        before = time.process_time()
        for item in snapshots[1:]:
            digest = hasher.digest(item)
        times.append((time.process_time() - before) / (len(snapshots) - 1))
        expect(digest, state_hash(snapshots[-1]))
    return _rounded(1e6 * statistics.median(times))


def resuming(effort: Effort, folder: Path) -> dict[str, float]:
    """CPU milliseconds until a run of a thread of so many growing steps stands again, with and without its snapshot."""
    path = folder / "resume.db"
    anyio.run(partial(steps, Load(0, grows=True), Pace(effort.growing, effort.seconds), SQLiteStore(path)))
    return {
        "resume_ms_cached": anyio.run(_resumed, path, effort.repeats, False),
        "resume_ms_replay": anyio.run(_resumed, path, effort.repeats, True),
    }


async def _resumed(path: Path, repeats: int, forget: bool) -> float:  # noqa: FBT001  # anyio.run passes by position
    values: list[float] = []
    for _ in range(repeats):
        store = Forgetful(path) if forget else SQLiteStore(path)
        before = time.process_time()
        result = await il.run_agent(machine(0), store=store, thread_id="bench")
        values.append(time.process_time() - before)
        assert isinstance(result, il.Idle), result
        await store.aclose()
    return _rounded(1e3 * statistics.median(values))


class Forgetful(SQLiteStore):
    """A store that has no snapshots, and keeps none."""

    async def load_snapshot(self, thread_id: str) -> None:
        """Return none."""
        del thread_id

    def save_snapshot(self, thread_id: str, saved: object) -> Awaitable[None]:
        """Keep none."""
        del thread_id, saved
        return anyio.lowlevel.checkpoint()


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
