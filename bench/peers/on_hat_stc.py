"""The measured machines on hat-stc: nested states, named actions and conditions, no regions."""

from __future__ import annotations

from typing import Any

from hat.stc import Event, State, Statechart, Transition
from measure import Measure, Run, expect, main, retained, steady


class Counting(Statechart):
    """A statechart with a counter: hat-stc leaves data to the subclass."""

    def __init__(self, states: list[State], actions: dict[str, Any], conditions: dict[str, Any]) -> None:
        self.n = 0
        super().__init__(states, actions, conditions)


def count_up(chart: Any, _event: Any) -> None:
    """The action that counts."""
    chart.n += 1


ACTIONS = {"count": count_up}
CONDITIONS = {
    "below": lambda chart, _: chart.n < 0,
    "from-zero": lambda chart, _: chart.n >= 0,
    "below-1": lambda chart, _: chart.n < -1,
    "below-2": lambda chart, _: chart.n < -2,
}


def ring_states(size: int) -> list[State]:
    """A ring of states."""
    return [State(f"s{i}", transitions=[Transition("T", f"s{(i + 1) % size}")]) for i in range(size)]


def nested_states() -> list[State]:
    """Four levels that all declare the event."""

    def leaf(name: str, other: str) -> State:
        return State(
            name,
            transitions=[
                Transition("E", other, actions=["count"], conditions=["below"]),
                Transition("E", other, actions=["count"], conditions=["from-zero"]),
            ],
        )

    def stay(condition: str) -> list[Transition]:
        return [Transition("E", None, actions=["count"], conditions=[condition])]

    l2 = State("l2", children=[leaf("x", "y"), leaf("y", "x")], transitions=stay("below"))
    l1 = State("l1", children=[l2], transitions=stay("below-1"))
    return [State("root", children=[l1, State("other")], transitions=stay("below-2"))]


def ring(size: int) -> Run:
    """Around the ring."""
    chart = Statechart(ring_states(size), {})
    event = Event("T")
    total = 0

    def run(count: int) -> None:
        nonlocal total
        for _ in range(count):
            chart.step(event)
        total += count
        expect(chart.state, f"s{total % size}")

    return run


def counting_toggle() -> Run:
    """The toggle that counts."""
    states = [State(f"s{i}", transitions=[Transition("T", f"s{1 - i}", actions=["count"])]) for i in (0, 1)]
    chart = Counting(states, ACTIONS, {})
    event = Event("T")
    total = 0

    def run(count: int) -> None:
        nonlocal total
        for _ in range(count):
            chart.step(event)
        total += count
        expect((chart.state, chart.n), (f"s{total % 2}", total))

    return run


def nested() -> Run:
    """The nested machine."""
    chart = Counting(nested_states(), ACTIONS, CONDITIONS)
    event = Event("E")
    total = 0

    def run(count: int) -> None:
        nonlocal total
        for _ in range(count):
            chart.step(event)
        total += count
        expect((chart.state, chart.n), ("xy"[total % 2], total))

    return run


def building() -> Run:
    """A thousand states and one instance."""

    def run(count: int) -> None:
        for _ in range(count):
            expect(Statechart(ring_states(1000), {}).state, "s0")

    return run


def initial() -> Run:
    """A new instance of the toggle; its definition is shared."""
    states = ring_states(2)

    def run(count: int) -> None:
        for _ in range(count):
            Statechart(states, {})

    return run


def instances(count: int) -> list[object]:
    """Live nested machines after one event each."""
    states = nested_states()
    event = Event("E")
    kept: list[object] = []
    for _ in range(count):
        chart = Counting(states, ACTIONS, CONDITIONS)
        chart.step(event)
        kept.append(chart)
    return kept


PLAN: dict[str, Measure] = {
    "toggle_us": steady(lambda: ring(2)),
    "toggle_ctx_us": steady(counting_toggle),
    "nested_us": steady(nested),
    "flat1000_us": steady(lambda: ring(1000)),
    "flat1000_build_ms": steady(building),
    "initial_us": steady(initial),
    "snapshot_kb": retained(lambda: instances),
}

if __name__ == "__main__":
    main("hat-stc", PLAN)
