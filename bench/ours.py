"""The measured machines on interlock's engine: a loop and a check for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import floor
import machines
from machines import Event
from measure import REGIONS, RING, Measure, Run, expect, first_pass, retained, ring_positions, steady

from interlock.statechart import Machine, Snapshot, initial_transition, owed, transition

AnyMachine: TypeAlias = Machine[Any, Any, Any]
AnySnapshot: TypeAlias = Snapshot[Any]


def repeat(make: Callable[[], AnyMachine], event_type: str, stands: Callable[[AnySnapshot, int], None]) -> Run:
    """The run that sends one event again and again.

    Args:
        make: builds the machine.
        event_type: the type of the event.
        stands: makes sure that a snapshot is the one after so many events.
    """
    machine = make()
    snapshot = initial_transition(machine)[0]
    event = Event(event_type)
    total = 0

    def run(count: int) -> None:
        nonlocal snapshot, total
        s = snapshot
        for _ in range(count):
            s = transition(machine, s, event, at=0.0)[0]
        snapshot = s
        total += count
        stands(snapshot, total)

    return run


def toggled(snapshot: AnySnapshot, total: int) -> None:
    """The toggle is where it must be."""
    expect(snapshot.value, "ab"[total % 2])


def toggled_and_counted(snapshot: AnySnapshot, total: int) -> None:
    """The counting toggle is where it must be and has counted all events."""
    expect((snapshot.value, snapshot.context["n"]), ("ab"[total % 2], total))


def nested_counted(snapshot: AnySnapshot, total: int) -> None:
    """The nested machine is in the right leaf and has counted all events."""
    context = snapshot.context
    counted = context.n if hasattr(context, "n") else context["n"]
    expect((snapshot.value, counted), ({"l1": {"l2": "xy"[total % 2]}}, total))


def four_advanced(snapshot: AnySnapshot, total: int) -> None:
    """All four regions have advanced."""
    expect(snapshot.value, {f"r{r}": f"s{total % RING}" for r in range(4)})


def thousand_advanced(snapshot: AnySnapshot, total: int) -> None:
    """The ring of a thousand has advanced."""
    expect(snapshot.value, f"s{total % 1000}")


def independent(order: Sequence[int]) -> Run:
    """Six regions, each with its own event, in a random order."""
    machine = machines.independent()
    snapshot = initial_transition(machine)[0]
    by_region = [Event(f"NEXT{r}") for r in range(REGIONS)]
    events = [by_region[region] for region in order]

    def run(_count: int) -> None:
        s = snapshot
        for event in events:
            s = transition(machine, s, event, at=0.0)[0]
        positions = ring_positions(order)
        expect(s.value, {f"r{r}": f"s{position}" for r, position in enumerate(positions)})

    return run


def busy() -> Run:
    """Exit, cancel, stop, spawn, schedule and entry in every step; time advances by a second."""
    machine = machines.busy()
    at = 0.0
    snapshot = initial_transition(machine, at=at)[0]
    event = Event("T")
    total = 0

    def run(count: int) -> None:
        nonlocal snapshot, total, at
        s = snapshot
        now = at
        for _ in range(count):
            now += 1.0
            s = transition(machine, s, event, at=now)[0]
        snapshot = s
        at = now
        total += count
        expect((s.value, dict(s.context)), ("ab"[total % 2], {"entered": total + 1, "left": total}))
        expect(([i.src for i in owed(s).invocations], [t.due for t in owed(s).timers]), (["work"], [now + 30.0]))

    return run


def build() -> Run:
    """From nothing to a machine of a thousand states that stands in its first."""

    def run(count: int) -> None:
        for _ in range(count):
            snapshot = initial_transition(machines.flat1000())[0]
            expect(snapshot.value, "s0")

    return run


def initial() -> Run:
    """The first snapshot of the toggle."""
    machine = machines.toggle()

    def run(count: int) -> None:
        s = None
        for _ in range(count):
            s = initial_transition(machine)[0]
        if s is not None:
            expect(s.value, "a")

    return run


def snapshots(make: Callable[[], AnyMachine], event_type: str) -> Callable[[], Callable[[int], list[object]]]:
    """Snapshots one after the other, all of them kept."""

    def start() -> Callable[[int], list[object]]:
        machine = make()
        event = Event(event_type)

        def keep(count: int) -> list[object]:
            s = initial_transition(machine, at=0.0)[0]
            kept: list[object] = []
            for i in range(count):
                s = transition(machine, s, event, at=float(i))[0]
                kept.append(s)
            return kept

        return keep

    return start


PLAN: dict[str, Measure] = {
    "toggle_us": steady(lambda: repeat(machines.toggle, "T", toggled)),
    "toggle_ctx_us": steady(lambda: repeat(machines.toggle_ctx, "T", toggled_and_counted)),
    "nested_us": steady(lambda: repeat(machines.nested, "E", nested_counted)),
    "nested_dataclass_us": steady(lambda: repeat(machines.nested_dataclass, "E", nested_counted)),
    "nested_pydantic_us": steady(lambda: repeat(machines.nested_pydantic, "E", nested_counted)),
    "parallel_us": steady(lambda: repeat(machines.parallel, "NEXT", four_advanced)),
    "parallel_handlers_us": steady(lambda: repeat(machines.parallel_handlers, "NEXT", four_advanced)),
    "independent_us": first_pass(independent),
    "busy_us": steady(busy),
    "flat1000_us": steady(lambda: repeat(machines.flat1000, "NEXT", thousand_advanced)),
    "flat1000_build_ms": steady(build),
    "initial_us": steady(initial),
    "snapshot_kb": retained(snapshots(machines.nested, "E")),
    "busy_snapshot_kb": retained(snapshots(machines.busy, "T")),
    "floor_us": steady(floor.toggle),
}
