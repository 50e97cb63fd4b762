"""How a cost is measured: CPU time per event, and memory per kept object.

Needs nothing but the standard library, because the programs that measure the
peers import it inside environments that hold one peer and nothing else.

A *run* is a function that sends a number of events in a plain loop of its own
and then makes sure that the machine stands where it must; the loop belongs to
the run, so no call of ours stands between two events.  Every figure is the
median over the repeats; the least and the greatest are kept beside it.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata

KEYS = (
    "toggle_us",
    "toggle_ctx_us",
    "nested_us",
    "nested_dataclass_us",
    "nested_pydantic_us",
    "parallel_us",
    "parallel_handlers_us",
    "independent_us",
    "busy_us",
    "flat1000_us",
    "flat1000_build_ms",
    "initial_us",
    "snapshot_kb",
    "busy_snapshot_kb",
    "floor_us",
)
"""Every figure that a subject reports, in this order; None where it has no such machine."""

Run = Callable[[int], None]
"""Sends that many events, then makes sure that the machine has moved."""

REGIONS = 6
RING = 10

_SCALES = {"us": 1e6, "ms": 1e3, "kb": 1 / 1024}
_KEPT_OBJECTS = 4_000
_FIRST_PASS_EVENTS = (2_000, 20_000)
_SEED = 20_261_130


class StandsStillError(Exception):
    """A measured machine is not where the events should have brought it."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure: the number of repeats and the CPU seconds of each."""

    repeats: int = 9
    seconds: float = 0.15


THOROUGH = Effort()
QUICK = Effort(repeats=3, seconds=0.01)
"""Enough to see that everything runs; its figures mean little."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, least and greatest value of the repeats, in seconds or bytes."""

    median: float
    least: float
    greatest: float

    @classmethod
    def over(cls, values: Sequence[float]) -> Spread:
        """Sums up the values of all repeats."""
        return cls(statistics.median(values), min(values), max(values))


Measure = Callable[[Effort], Spread]


def expect(found: object, wanted: object) -> None:
    """Raises StandsStillError unless the two are equal (an assertion that -O keeps)."""
    if found != wanted:
        raise StandsStillError(f"the machine stands at {found!r} and should stand at {wanted!r}")


def steady(start: Callable[[], Run]) -> Measure:
    """CPU seconds per event, once everything is warm.

    Args:
        start: makes the machine and returns its run; not part of the figure.
    """

    def measure(effort: Effort) -> Spread:
        run = start()
        count = _events_in(run, effort.seconds)
        run(count)
        gc.collect()
        return Spread.over([_cpu_seconds(run, count) / count for _ in range(effort.repeats)])

    return measure


def first_pass(start: Callable[[Sequence[int]], Run]) -> Measure:
    """CPU seconds per event where (almost) every event leads to a new configuration.

    Each repeat starts from a machine that has never run, so whatever is kept per
    configuration must be made within the measured time.

    Args:
        start: makes a new machine and returns its run; gets the order of the events
            (numbers below REGIONS), the same in every repeat.
    """

    def measure(effort: Effort) -> Spread:
        least, most = _FIRST_PASS_EVENTS
        trial = random_order(least)
        cost = _cpu_seconds(start(trial), least) / least
        count = min(most, max(least, int(3 * effort.seconds / cost)))
        order = random_order(count)
        values: list[float] = []
        for _ in range(effort.repeats):
            run = start(order)
            gc.collect()
            values.append(_cpu_seconds(run, count) / count)
        return Spread.over(values)

    return measure


def retained(start: Callable[[], Callable[[int], list[object]]]) -> Measure:
    """Bytes per kept object, as tracemalloc counts them.

    Args:
        start: makes the machine and returns a function that makes so many objects.
    """

    def measure(effort: Effort) -> Spread:
        make = start()
        make(10)  # what is made once and shared is not part of the figure
        return Spread.over([_bytes_each(make) for _ in range(min(effort.repeats, 3))])

    return measure


def random_order(count: int) -> list[int]:
    """So many region numbers at random, the same for everyone."""
    generator = random.Random(_SEED)
    return [generator.randrange(REGIONS) for _ in range(count)]


def ring_positions(order: Sequence[int]) -> list[int]:
    """Where each of the regions stands after these events."""
    return [order.count(region) % RING for region in range(REGIONS)]


def report(plan: Mapping[str, Measure], effort: Effort, *, name: str = "") -> dict[str, object]:
    """Measures the whole plan.

    Args:
        plan: the measures by key; a key that is missing is reported as None.
        effort: how long to measure.
        name: for the progress on stderr.

    Returns:
        The figures by key, and under "spread" the least and greatest value of each.
    """
    figures: dict[str, object] = {}
    spreads: dict[str, list[float]] = {}
    for key in KEYS:
        if key not in plan:
            figures[key] = None
            continue
        print(f"  {name} {key}", file=sys.stderr, flush=True)
        scale = _SCALES[key.rpartition("_")[2]]
        spread = plan[key](effort)
        figures[key] = _rounded(spread.median * scale)
        spreads[key] = [_rounded(spread.least * scale), _rounded(spread.greatest * scale)]
    return figures | {"spread": spreads}


def main(distribution: str, plan: Mapping[str, Measure]) -> None:
    """The program of a peer: measures the plan and prints one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    effort = QUICK if parser.parse_args().quick else THOROUGH
    figures = report(plan, effort, name=distribution)
    print(json.dumps(figures | {"version": metadata.version(distribution)}))


def _cpu_seconds(run: Run, count: int) -> float:
    before = time.process_time()
    run(count)
    return time.process_time() - before


def _events_in(run: Run, seconds: float) -> int:
    """How many events take about so long; finding it out is the warm-up."""
    count = 1
    while True:
        spent = _cpu_seconds(run, count)
        if spent >= seconds / 2:
            return max(1, round(count * seconds / spent))
        count *= 2


def _bytes_each(make: Callable[[int], list[object]]) -> float:
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = make(_KEPT_OBJECTS)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    return (after - before - sys.getsizeof(kept)) / len(kept)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
