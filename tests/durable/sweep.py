"""The crash sweep: the desk is killed at every point there is, gone on with in a new process, and its calls counted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

import interlock as il
from interlock.journal.stores import open_store

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one kill: which calls were made, and which of them were in the log when it happened."""

    point: str
    killed: bool
    output: object
    calls: Counter[str]
    recorded: frozenset[str]

    @property
    def recorded_repeated(self) -> int:
        """Calls that were in the log and were made again all the same."""
        return sum(self.calls[key] - 1 for key in self.recorded)

    @property
    def in_flight_repeated(self) -> int:
        """Calls that were cut off, or whose answer was, and were made again."""
        return sum(count - 1 for key, count in self.calls.items() if key not in self.recorded)


@dataclass(slots=True)
class Sweep:
    """All kills of one store."""

    output: object
    outcomes: list[Outcome] = field(default_factory=list)

    def summary(self) -> dict[str, object]:
        return {
            "kills": sum(outcome.killed for outcome in self.outcomes),
            "recorded_calls_repeated": sum(outcome.recorded_repeated for outcome in self.outcomes),
            "in_flight_repeated": sum(outcome.in_flight_repeated for outcome in self.outcomes),
            "most_calls_of_one": max((count for o in self.outcomes for count in o.calls.values()), default=0),
            "outcomes_equal": all(outcome.output == self.output for outcome in self.outcomes),
        }


def sweep(
    store: Callable[[str], str],
    folder: Path,
    *,
    points: Iterable[str] | None = None,
    say: Callable[[str], None] = lambda line: None,
    workers: int = 2,
    prefix: str = "",
) -> Sweep:
    """Kill the desk at each of ``points`` (all there are, if not given), each on a thread of its own.

    ``store`` gives the URL of the store for a thread; the names of threads begin with ``prefix``.
    """
    whole, counts = _uninterrupted(store, folder, prefix)
    found = Sweep(output=whole)
    if points is None:
        points = [f"{what}:{number}" for what in ("append", "before", "call") for number in range(1, counts[what] + 1)]
    with ThreadPoolExecutor(workers) as pool:
        for outcome in pool.map(lambda point: _killed(point, store, folder, prefix), list(points)):
            say(
                f"{outcome.point}: {sum(outcome.calls.values())} calls, {outcome.recorded_repeated} recorded ones and "
                f"{outcome.in_flight_repeated} in flight repeated"
            )
            found.outcomes.append(outcome)
    return found


def _uninterrupted(store: Callable[[str], str], folder: Path, prefix: str) -> tuple[object, dict[str, int]]:
    thread, calls = f"{prefix}whole", folder / "whole.calls"
    first = _work(store(thread), thread, calls)
    last = _work(store(thread), thread, calls, "--approve")
    counts = {what: first["counts"].get(what, 0) + last["counts"].get(what, 0) for what in ("append", "before", "call")}
    return last["output"], counts


def _killed(point: str, store: Callable[[str], str], folder: Path, prefix: str) -> Outcome:
    thread = prefix + point.replace(":", "-")
    url, calls = store(thread), folder / f"{thread}.calls"
    calls.touch()
    what, _, number = point.partition(":")
    left = int(number)
    killed = False
    recorded: frozenset[str] = frozenset()
    for _ in range(12):
        approve = ("--approve",) if _waits(url, thread) else ()
        kill = () if killed else ("--kill", f"{what}:{left}")
        done = _run(url, thread, calls, *kill, *approve)
        if done.returncode == -signal.SIGKILL:
            killed = True
            recorded = _recorded(url, thread)
            continue
        found = json.loads(done.stdout)
        left -= found["counts"].get(what, 0)
        if found["result"] == "Done":
            made = Counter(calls.read_text("utf-8").split())
            return Outcome(point, killed, found["output"], made, recorded)
        assert found["result"] == "Idle", found
    raise AssertionError(f"{point}: the desk does not come to its end")


def _work(url: str, thread: str, calls: Path, *options: str) -> dict[str, Any]:
    done = _run(url, thread, calls, *options)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _run(url: str, thread: str, calls: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = (sys.executable, "-m", "tests.durable.worker", url, thread, str(calls), *options)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done


def entries(url: str, thread: str) -> tuple[il.LogEntry, ...]:
    """Return a thread's log."""

    async def read() -> tuple[il.LogEntry, ...]:
        store = open_store(url)
        try:
            return await store.read(thread)
        finally:
            await store.aclose()

    return anyio.run(read)


def _waits(url: str, thread: str) -> bool:
    log = entries(url, thread)
    # Its timer has fired by then, so that nobody but the person can move it.
    return bool(log) and log[-1].status == "waiting" and log[-1].timer is not None


def _recorded(url: str, thread: str) -> frozenset[str]:
    """Return the keys of the calls whose answers are in the log."""
    keys: set[str] = set()
    records: Counter[str] = Counter()
    execution = ""
    for entry in entries(url, thread):
        if entry.is_init:
            execution = entry.metadata["execution_id"]
        if entry.invocation is None:
            continue
        identity = "/".join((*entry.to, entry.invocation))
        if entry.usage is not None:
            keys.add(f"{execution}:{identity}.{records[identity]}")
        if entry.record is not il.statechart.UNSET:
            records[identity] += 1
        if "numbering" in identity:
            keys.add("stamp")
    return frozenset(keys)
