"""The measured machines on python-statemachine: `StateChart` with its defaults, synchronous."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

from measure import REGIONS, RING, Measure, Run, expect, first_pass, main, retained, ring_positions, steady
from statemachine import State, StateChart


def ring_class(size: int, **more: Any) -> type[StateChart[Any]]:
    """A chart class that is a ring of states."""

    def fill(body: dict[str, Any]) -> None:
        fill_ring(body, size, "t", **more)

    return types.new_class("Ring", (StateChart,), exec_body=fill)


def fill_ring(body: dict[str, Any], size: int, event: str, *, name: str = "s", **more: Any) -> None:
    """Writes a ring of states and its event into a class body."""
    states = [State(initial=i == 0) for i in range(size)]
    body.update({f"{name}{i}": state for i, state in enumerate(states)})
    moves = states[0].to(states[1], **more)
    for i in range(1, size):
        moves = moves | states[i].to(states[(i + 1) % size], **more)
    body[event] = moves


class CountingToggle(StateChart[Any]):
    """The toggle that counts in an attribute of the chart."""

    s0 = State(initial=True)
    s1 = State()
    t = s0.to(s1, on="count") | s1.to(s0, on="count")

    n = 0

    def count(self) -> None:
        """The callback that counts."""
        self.n += 1


class Nested(StateChart[Any]):
    """Four levels that all declare the event; the idle `other` is left out: an unreachable state is refused."""

    class root(State.Compound):  # noqa: N801 - the class name is the name of the state
        """The outermost state: the chart itself has no transitions."""

        class l1(State.Compound):  # noqa: N801
            """The second level."""

            class l2(State.Compound):  # noqa: N801
                """The third level."""

                x = State(initial=True)
                y = State()
                e = (
                    x.to(y, cond="below", on="count")
                    | x.to(y, cond="from_zero", on="count")
                    | y.to(x, cond="below", on="count")
                    | y.to(x, cond="from_zero", on="count")
                )

    e = (
        root.l1.l2.to.itself(internal=True, cond="below", on="count")
        | root.l1.to.itself(internal=True, cond="below_1", on="count")
        | root.to.itself(internal=True, cond="below_2", on="count")
    )

    n = 0

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


def regions_class(regions: int, event: Callable[[int], str], **more: Any) -> type[StateChart[Any]]:
    """A chart class with regions of ten states each."""

    def region(r: int) -> Any:
        def fill(body: dict[str, Any]) -> None:
            fill_ring(body, RING, event(r), name=f"r{r}s", **more)

        return types.new_class(f"r{r}", (State.Compound,), exec_body=fill)

    def fill_parallel(body: dict[str, Any]) -> None:
        body.update({f"r{r}": region(r) for r in range(regions)})

    def fill_chart(body: dict[str, Any]) -> None:
        body["p"] = types.new_class("p", (State.Parallel,), exec_body=fill_parallel)

    return types.new_class("Regions", (StateChart,), exec_body=fill_chart)


def leaves(chart: Any) -> list[str]:
    """The active states without children, by name."""
    return sorted(state.id for state in chart.configuration if not state.states)


def repeat(chart: Any, event: str, stands: Callable[[Any, int], None]) -> Run:
    """The run that sends one event again and again."""
    total = 0

    def run(count: int) -> None:
        nonlocal total
        for _ in range(count):
            chart.send(event)
        total += count
        stands(chart, total)

    return run


def in_ring(size: int) -> Callable[[Any, int], None]:
    """The ring is where it must be."""

    def stands(chart: Any, total: int) -> None:
        expect(leaves(chart), [f"s{total % size}"])

    return stands


def toggled_and_counted(chart: Any, total: int) -> None:
    """The counting toggle has counted all events."""
    expect((leaves(chart), chart.n), ([f"s{total % 2}"], total))


def nested_counted(chart: Any, total: int) -> None:
    """The nested machine has counted all events."""
    expect((leaves(chart), chart.n), (["xy"[total % 2]], total))


def four_advanced(chart: Any, total: int) -> None:
    """All four regions have advanced."""
    expect(leaves(chart), [f"r{r}s{total % RING}" for r in range(4)])


def independent(order: Sequence[int]) -> Run:
    """Six regions with an event each, in a random order."""
    chart: Any = regions_class(REGIONS, lambda r: f"next{r}")()
    events = [f"next{region}" for region in order]

    def run(_count: int) -> None:
        for event in events:
            chart.send(event)
        positions = ring_positions(order)
        expect(leaves(chart), [f"r{r}s{position}" for r, position in enumerate(positions)])

    return run


def building() -> Run:
    """A class of a thousand states and one instance."""

    def run(count: int) -> None:
        for _ in range(count):
            expect(leaves(ring_class(1000)()), ["s0"])

    return run


def initial() -> Run:
    """A new instance of the toggle."""
    toggle = ring_class(2)

    def run(count: int) -> None:
        for _ in range(count):
            toggle()

    return run


def instances(count: int) -> list[object]:
    """Nested charts after one event each."""
    kept: list[object] = []
    for _ in range(count):
        chart = Nested()
        chart.send("e")
        kept.append(chart)
    return kept


PLAN: dict[str, Measure] = {
    "toggle_us": steady(lambda: repeat(ring_class(2)(), "t", in_ring(2))),
    "toggle_ctx_us": steady(lambda: repeat(CountingToggle(), "t", toggled_and_counted)),
    "nested_us": steady(lambda: repeat(Nested(), "e", nested_counted)),
    "parallel_us": steady(lambda: repeat(regions_class(4, lambda _: "t")(), "t", four_advanced)),
    "parallel_handlers_us": steady(lambda: repeat(regions_class(4, lambda _: "t", cond=yes)(), "t", four_advanced)),
    "independent_us": first_pass(independent),
    "flat1000_us": steady(lambda: repeat(ring_class(1000)(), "t", in_ring(1000))),
    "flat1000_build_ms": steady(building),
    "initial_us": steady(initial),
    "snapshot_kb": retained(lambda: instances),
}

if __name__ == "__main__":
    main("python-statemachine", PLAN)
