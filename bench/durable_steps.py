"""How durable steps are measured: CPU time, size on disk, and the way back.

Needs nothing but the standard library, because the programs that measure the
peers import it inside environments that hold one peer and nothing else.

A *step* is the least that a library can take and keep: a no-op whose outcome is
stored before the next one begins.  The context is one list of entries of 100
bytes each.  Where it does not grow, the steps write nothing; where it grows,
every step appends one entry.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from measure import expect

KEYS = (
    "memory_us",
    "sqlite_us",
    "sqlite_default_us",
    "sqlite_100kb_us",
    "growth_last_over_first",
    "stored_mb_3000x100",
    "resume_ms",
)
"""Every figure that a subject reports, in this order; None where there is no such thing."""

ENTRY_BYTES = 100
SMALL, LARGE = 10, 1_000
"""How many entries make 1 KB and 100 KB (of 1,000 bytes)."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is carried from step to step.

    Args:
        entries: so many are in the context before the first step.
        grows: whether each step appends one.
    """

    entries: int
    grows: bool = False

    def first(self) -> list[str]:
        """The entries before the first step, a new list each time."""
        return [entry(i) for i in range(self.entries)]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure.

    Args:
        small: steps with 1 KB.
        large: steps with 100 KB.
        growing: steps that append.
        repeats: of everything but the growing steps, for as long as the time allows.
        seconds: the CPU time for one figure, all repeats together.
    """

    small: int = 1_000
    large: int = 100
    growing: int = 3_000
    repeats: int = 3
    seconds: float = 60.0


THOROUGH = Effort()
QUICK = Effort(small=20, large=5, growing=50, repeats=1, seconds=2.0)
"""Enough to see that everything runs; its figures mean little."""


@dataclass(slots=True)
class Pace:
    """Counts and times the steps of one run, and ends it.

    A subject wraps its run in `measured` and asks `goes_on` once after every step.

    Args:
        steps: the run ends after so many,
        seconds: or with the step that uses up this CPU time.
    """

    steps: int
    seconds: float = float("inf")
    stamps: list[float] = field(default_factory=list)
    spent: float = 0.0

    @contextmanager
    def measured(self) -> Iterator[None]:
        """The run; what the library still does at its end belongs to it."""
        gc.collect()
        self.stamps.append(time.process_time())
        yield
        self.spent = time.process_time() - self.stamps[0]

    def goes_on(self) -> bool:
        """Notes the end of a step; whether another follows."""
        now = time.process_time()
        self.stamps.append(now)
        return self.taken < self.steps and now - self.stamps[0] < self.seconds

    @property
    def taken(self) -> int:
        """The number of steps that have ended."""
        return len(self.stamps) - 1

    def last_over_first(self) -> float:
        """What the last fifth of the steps took, divided by what the first fifth took."""
        fifth = self.taken // 5
        return (self.stamps[-1] - self.stamps[-1 - fifth]) / (self.stamps[fifth] - self.stamps[0])


Run = Callable[[Load, Pace, Path], None]
"""Takes steps at that pace and stores them in that empty folder.

Then makes sure that every step is kept, and closes what it opened.
"""

Reopen = Callable[[Path], Callable[[], int]]
"""Loads the thread that a growing run left in that folder, with objects made anew.

The result goes on: it takes and keeps one more step, closes what was opened, and
returns the number of entries that there are now.
"""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a library can do.

    Args:
        memory: its steps kept in memory; None to leave this out.
        durable: its steps kept on disk, each before the next one begins.
        reopen: the way back.
        default: the steps kept on disk with the library's defaults, where these promise less.
        about: by key, or about everything, what a reader of the figures must know.
        variants: other ways to use the library, each measured in full.
    """

    memory: Run | None
    durable: Run
    reopen: Reopen
    default: Run | None = None
    about: Mapping[str, str] = field(default_factory=dict)
    variants: Mapping[str, Subject] = field(default_factory=dict)


def entry(number: int) -> str:
    """An entry of the context."""
    return f"{number:0{ENTRY_BYTES}}"


def report(subject: Subject, effort: Effort, *, name: str) -> dict[str, object]:
    """Measures a subject and its variants.

    Args:
        subject: what to measure.
        effort: how much.
        name: for the progress on stderr.

    Returns:
        The figures by key; "steps", the number behind each; "spread", the least
        and the greatest repeat; "about"; and "variants" where there are any.
    """
    figures: dict[str, object] = dict.fromkeys(KEYS)
    steps: dict[str, int] = {}
    spreads: dict[str, list[float]] = {}
    for key, run, load, count in (
        ("memory_us", subject.memory, Load(SMALL), effort.small),
        ("sqlite_us", subject.durable, Load(SMALL), effort.small),
        ("sqlite_default_us", subject.default, Load(SMALL), effort.small),
        ("sqlite_100kb_us", subject.durable, Load(LARGE), effort.large),
    ):
        if run is None:
            continue
        _say(f"  {name} {key}")
        paces = _repeated(run, load, count, effort)
        values = [1e6 * pace.spent / pace.taken for pace in paces]
        figures[key] = _rounded(statistics.median(values))
        spreads[key] = [_rounded(min(values)), _rounded(max(values))]
        steps[key] = paces[0].taken
    _say(f"  {name} growth")
    with _folder() as folder:
        pace = Pace(effort.growing, effort.seconds)
        subject.durable(Load(0, grows=True), pace, folder)
        figures["growth_last_over_first"] = _rounded(pace.last_over_first())
        figures["stored_mb_3000x100"] = _rounded(_bytes_in(folder) / 1e6)
        values = [1e3 * seconds for seconds in _resumed(subject.reopen, folder, pace.taken, effort)]
        figures["resume_ms"] = _rounded(statistics.median(values))
        spreads["resume_ms"] = [_rounded(min(values)), _rounded(max(values))]
        steps |= dict.fromkeys(("growth_last_over_first", "stored_mb_3000x100", "resume_ms"), pace.taken)
    about = dict(subject.about)
    if pace.taken < effort.growing:
        about["growth"] = f"ended by the limit of {effort.seconds:g} CPU seconds; nothing is extrapolated"
    figures |= {"steps": steps, "spread": spreads, "about": about}
    variants = {key: report(variant, effort, name=f"{name} {key}") for key, variant in subject.variants.items()}
    return figures | ({"variants": variants} if variants else {})


def main(name: str, version: str, subject: Subject) -> None:
    """The program of a peer: measures the subject and prints one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    effort = QUICK if parser.parse_args().quick else THOROUGH
    print(json.dumps(report(subject, effort, name=name) | {"version": version}))


def _repeated(run: Run, load: Load, count: int, effort: Effort) -> list[Pace]:
    """A short run to warm up, and then as many repeats as the time allows, but at least one."""
    with _folder() as folder:
        run(load, Pace(max(1, count // 20), effort.seconds / 20), folder)
    paces: list[Pace] = []
    left = effort.seconds
    while len(paces) < effort.repeats and (not paces or left > 1.2 * paces[-1].spent):
        pace = Pace(count, left)
        with _folder() as folder:
            run(load, pace, folder)
        paces.append(pace)
        left -= pace.spent
    return [pace for pace in paces if pace.taken == paces[0].taken]


def _resumed(reopen: Reopen, folder: Path, entries: int, effort: Effort) -> list[float]:
    """CPU seconds of the way back, several times; each time one step more is there."""
    values: list[float] = []
    for number in range(1, effort.repeats + 1):
        gc.collect()
        before = time.process_time()
        go_on = reopen(folder)
        values.append(time.process_time() - before)
        expect(go_on(), entries + number)
    return values


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="interlock-bench-") as name:
        yield Path(name)


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
