"""The measured machines on sismic: YAML charts, guards and actions as Python source, a queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from measure import REGIONS, RING, Measure, Run, expect, first_pass, main, retained, ring_positions, steady
from sismic.interpreter import Event, Interpreter
from sismic.model import BasicState, CompoundState, OrthogonalState, Statechart, Transition


def chart_of(root: Any, preamble: str | None = None) -> Statechart:
    """A chart with that root."""
    chart = Statechart("bench", preamble=preamble)
    chart.add_state(root, None)
    return chart


def add_ring(chart: Statechart, parent: str, prefix: str, size: int, event: str, **more: Any) -> None:
    """A ring of states below the parent; sismic wants every name once in the chart."""
    for i in range(size):
        chart.add_state(BasicState(f"{prefix}{i}"), parent)
    for i in range(size):
        chart.add_transition(Transition(f"{prefix}{i}", f"{prefix}{(i + 1) % size}", event=event, **more))


def ring_chart(size: int) -> Statechart:
    """A ring of states."""
    chart = chart_of(CompoundState("root", initial="s0"))
    add_ring(chart, "root", "s", size, "T")
    return chart


def counting_chart() -> Statechart:
    """The toggle that counts."""
    chart = chart_of(CompoundState("root", initial="s0"), "n = 0")
    add_ring(chart, "root", "s", 2, "T", action="n += 1")
    return chart


def nested_chart() -> Statechart:
    """Four levels that all declare the event."""
    chart = chart_of(CompoundState("root", initial="l1"), "n = 0")
    chart.add_state(CompoundState("l1", initial="l2"), "root")
    chart.add_state(BasicState("other"), "root")
    chart.add_state(CompoundState("l2", initial="x"), "l1")
    for leaf in ("x", "y"):
        chart.add_state(BasicState(leaf), "l2")
    for leaf, other in (("x", "y"), ("y", "x")):
        for guard in ("n < 0", "n >= 0"):
            chart.add_transition(Transition(leaf, other, event="E", guard=guard, action="n += 1"))
    for state, guard in (("l2", "n < 0"), ("l1", "n < -1"), ("root", "n < -2")):
        chart.add_transition(Transition(state, None, event="E", guard=guard, action="n += 1"))
    return chart


def regions_chart(regions: int, event: Callable[[int], str], **more: Any) -> Statechart:
    """Regions of ten states each."""
    chart = chart_of(OrthogonalState("root"))
    for r in range(regions):
        chart.add_state(CompoundState(f"r{r}", initial=f"r{r}s0"), "root")
        add_ring(chart, f"r{r}", f"r{r}s", RING, event(r), **more)
    return chart


def started(chart: Statechart) -> Interpreter:
    """An interpreter that stands in the initial states."""
    interpreter = Interpreter(chart)
    interpreter.execute()
    return interpreter


def leaves(interpreter: Interpreter) -> list[str]:
    """The active states without children, by name."""
    chart = interpreter.statechart
    return sorted(name for name in interpreter.configuration if not chart.children_for(name))


def repeat(chart: Statechart, name: str, stands: Callable[[Interpreter, int], None]) -> Run:
    """The run that sends one event again and again."""
    interpreter = started(chart)
    event = Event(name)
    total = 0

    def run(count: int) -> None:
        nonlocal total
        for _ in range(count):
            interpreter.queue(event).execute()
        total += count
        stands(interpreter, total)

    return run


def in_ring(size: int) -> Callable[[Interpreter, int], None]:
    """The ring is where it must be."""

    def stands(interpreter: Interpreter, total: int) -> None:
        expect(leaves(interpreter), [f"s{total % size}"])

    return stands


def toggled_and_counted(interpreter: Interpreter, total: int) -> None:
    """The counting toggle has counted all events."""
    expect((leaves(interpreter), interpreter.context["n"]), ([f"s{total % 2}"], total))


def nested_counted(interpreter: Interpreter, total: int) -> None:
    """The nested machine has counted all events."""
    expect((leaves(interpreter), interpreter.context["n"]), (["xy"[total % 2]], total))


def four_advanced(interpreter: Interpreter, total: int) -> None:
    """All four regions have advanced."""
    expect(leaves(interpreter), [f"r{r}s{total % RING}" for r in range(4)])


def independent(order: Sequence[int]) -> Run:
    """Six regions with an event each, in a random order."""
    interpreter = started(regions_chart(REGIONS, lambda r: f"NEXT{r}"))
    by_region = [Event(f"NEXT{r}") for r in range(REGIONS)]
    events = [by_region[region] for region in order]

    def run(_count: int) -> None:
        for event in events:
            interpreter.queue(event).execute()
        positions = ring_positions(order)
        expect(leaves(interpreter), [f"r{r}s{position}" for r, position in enumerate(positions)])

    return run


def building() -> Run:
    """A thousand states and one started interpreter."""

    def run(count: int) -> None:
        for _ in range(count):
            expect(leaves(started(ring_chart(1000))), ["s0"])

    return run


def initial() -> Run:
    """A new started interpreter of the toggle; the chart is shared."""
    chart = ring_chart(2)

    def run(count: int) -> None:
        for _ in range(count):
            started(chart)

    return run


def instances(count: int) -> list[object]:
    """Interpreters of one shared nested chart after one event each."""
    chart = nested_chart()
    event = Event("E")
    kept: list[object] = []
    for _ in range(count):
        interpreter = started(chart)
        interpreter.queue(event).execute()
        kept.append(interpreter)
    return kept


PLAN: dict[str, Measure] = {
    "toggle_us": steady(lambda: repeat(ring_chart(2), "T", in_ring(2))),
    "toggle_ctx_us": steady(lambda: repeat(counting_chart(), "T", toggled_and_counted)),
    "nested_us": steady(lambda: repeat(nested_chart(), "E", nested_counted)),
    "parallel_us": steady(lambda: repeat(regions_chart(4, lambda _: "NEXT"), "NEXT", four_advanced)),
    "parallel_handlers_us": steady(
        lambda: repeat(regions_chart(4, lambda _: "NEXT", guard="True"), "NEXT", four_advanced)
    ),
    "independent_us": first_pass(independent),
    "flat1000_us": steady(lambda: repeat(ring_chart(1000), "T", in_ring(1000))),
    "flat1000_build_ms": steady(building),
    "initial_us": steady(initial),
    "snapshot_kb": retained(lambda: instances),
}

if __name__ == "__main__":
    main("sismic", PLAN)
