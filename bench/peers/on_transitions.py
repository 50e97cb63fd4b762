"""The measured machines on transitions: `Machine` for flat ones, `HierarchicalMachine` for the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from measure import REGIONS, RING, Measure, Run, expect, first_pass, main, retained, ring_positions, steady
from transitions import Machine
from transitions.extensions import HierarchicalMachine


class Counting:
    """A model with a counter: transitions leaves data to the model."""

    state: Any

    def __init__(self) -> None:
        self.n = 0

    def count(self) -> None:
        """The callback that counts."""
        self.n += 1

    def below(self) -> bool:
        """The guard of the leaf's first candidate and of `l2`."""
        return self.n < 0

    def from_zero(self) -> bool:
        """The guard of the leaf's second candidate."""
        return self.n >= 0

    def below_1(self) -> bool:
        """The guard of `l1`."""
        return self.n < -1

    def below_2(self) -> bool:
        """The guard of the root."""
        return self.n < -2


def yes() -> bool:
    """The guard function of the machine with functions on each transition."""
    return True


def ring_machine(size: int) -> Machine:
    """A ring; without the automatic `to_<state>` triggers, which a thousand states could not bear."""
    return Machine(
        states=[f"s{i}" for i in range(size)],
        transitions=[["t", f"s{i}", f"s{(i + 1) % size}"] for i in range(size)],
        initial="s0",
        auto_transitions=False,
    )


def nested_machine(model: Any) -> HierarchicalMachine:
    """Four levels that all declare the event."""
    l2 = {"name": "l2", "children": ["x", "y"], "initial": "x"}
    l1 = {"name": "l1", "children": [l2], "initial": "l2"}
    root = {"name": "root", "children": [l1, "other"], "initial": "l1"}
    x, y = "root_l1_l2_x", "root_l1_l2_y"

    def move(source: str, target: str | None, condition: str) -> dict[str, Any]:
        return {"trigger": "e", "source": source, "dest": target, "conditions": condition, "after": "count"}

    return HierarchicalMachine(
        model,
        states=[root],
        transitions=[
            move(x, y, "below"),
            move(x, y, "from_zero"),
            move(y, x, "below"),
            move(y, x, "from_zero"),
            move("root_l1_l2", None, "below"),
            move("root_l1", None, "below_1"),
            move("root", None, "below_2"),
        ],
        initial="root",
        auto_transitions=False,
    )


def regions_machine(regions: int, trigger: Callable[[int], str], **guard: Any) -> HierarchicalMachine:
    """Regions of ten states each under one parallel state."""
    ring = [f"s{i}" for i in range(RING)]
    return HierarchicalMachine(
        states=[
            {
                "name": "p",
                "parallel": [{"name": f"r{r}", "children": ring, "initial": "s0"} for r in range(regions)],
            }
        ],
        transitions=[
            {"trigger": trigger(r), "source": f"p_r{r}_s{i}", "dest": f"p_r{r}_s{(i + 1) % RING}"} | guard
            for r in range(regions)
            for i in range(RING)
        ],
        initial="p",
        auto_transitions=False,
    )


def ring(size: int) -> Run:
    """Around the ring."""
    machine: Any = ring_machine(size)
    total = 0

    def run(count: int) -> None:
        nonlocal total
        for _ in range(count):
            machine.t()
        total += count
        expect(machine.state, f"s{total % size}")

    return run


def counting_toggle() -> Run:
    """The toggle that counts."""
    model: Any = Counting()
    Machine(
        model,
        states=["a", "b"],
        transitions=[
            {"trigger": "t", "source": "a", "dest": "b", "after": "count"},
            {"trigger": "t", "source": "b", "dest": "a", "after": "count"},
        ],
        initial="a",
        auto_transitions=False,
    )
    total = 0

    def run(count: int) -> None:
        nonlocal total
        for _ in range(count):
            model.t()
        total += count
        expect((model.state, model.n), ("ab"[total % 2], total))

    return run


def nested() -> Run:
    """The nested machine."""
    model: Any = Counting()
    nested_machine(model)
    total = 0

    def run(count: int) -> None:
        nonlocal total
        for _ in range(count):
            model.e()
        total += count
        expect((model.state, model.n), (f"root_l1_l2_{'xy'[total % 2]}", total))

    return run


def parallel(**guard: Any) -> Run:
    """Four regions and one event for all."""
    machine: Any = regions_machine(4, lambda _: "next", **guard)
    total = 0

    def run(count: int) -> None:
        nonlocal total
        for _ in range(count):
            machine.next()
        total += count
        expect(sorted(machine.state), [f"p_r{r}_s{total % RING}" for r in range(4)])

    return run


def independent(order: Sequence[int]) -> Run:
    """Six regions with an event each, in a random order."""
    machine: Any = regions_machine(REGIONS, lambda r: f"next{r}")
    triggers = [getattr(machine, f"next{region}") for region in order]

    def run(_count: int) -> None:
        for trigger in triggers:
            trigger()
        positions = ring_positions(order)
        expect(sorted(machine.state), [f"p_r{r}_s{position}" for r, position in enumerate(positions)])

    return run


def building() -> Run:
    """A thousand states and one instance."""

    def run(count: int) -> None:
        for _ in range(count):
            machine: Any = ring_machine(1000)
            expect(machine.state, "s0")

    return run


class Bare:
    """A model with nothing of its own."""


def initial() -> Run:
    """A new model in a shared machine of the toggle's shape."""
    machine = ring_machine(2)

    def run(count: int) -> None:
        for _ in range(count):
            model = Bare()
            machine.add_model(model)
            machine.remove_model(model)

    return run


def instances(count: int) -> list[object]:
    """Models in one shared nested machine after one event each."""
    machine = nested_machine(None)
    kept: list[object] = []
    for _ in range(count):
        model: Any = Counting()
        machine.add_model(model)
        model.e()
        kept.append(model)
    return kept


PLAN: dict[str, Measure] = {
    "toggle_us": steady(lambda: ring(2)),
    "toggle_ctx_us": steady(counting_toggle),
    "nested_us": steady(nested),
    "parallel_us": steady(parallel),
    "parallel_handlers_us": steady(lambda: parallel(conditions=yes)),
    "independent_us": first_pass(independent),
    "flat1000_us": steady(lambda: ring(1000)),
    "flat1000_build_ms": steady(building),
    "initial_us": steady(initial),
    "snapshot_kb": retained(lambda: instances),
}

if __name__ == "__main__":
    main("transitions", PLAN)
