"""The measured machines on automat: flat machines only, an input is a method call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from automat import TypeMachineBuilder
from measure import Measure, Run, expect, main, steady


class Inputs(Protocol):
    """The one input of every machine here.

    It answers with the number of the state that it leaves, so that a run can see
    where the machine stands without a second input (every further transition
    would cost time: automat looks through all of them).
    """

    def t(self) -> int:
        """Move on."""
        ...


@dataclass
class Core:
    """What all states of a machine share."""

    n: int = 0


def build(size: int) -> Any:
    """A ring of that many states; nothing is done on the way."""
    builder = TypeMachineBuilder(Inputs, Core)
    states = [builder.state(f"s{i}") for i in range(size)]
    for i, state in enumerate(states):
        state.upon(Inputs.t).to(states[(i + 1) % size]).returns(i)
    return builder.build()


def build_counting_toggle() -> Any:
    """The toggle whose output counts in the core."""
    builder = TypeMachineBuilder(Inputs, Core)
    a, b = builder.state("a"), builder.state("b")

    @a.upon(Inputs.t).to(b)
    def from_a(_inputs: Inputs, core: Core) -> int:
        core.n += 1
        return 0

    @b.upon(Inputs.t).to(a)
    def from_b(_inputs: Inputs, core: Core) -> int:
        core.n += 1
        return 1

    return builder.build()


def ring(size: int) -> Run:
    """Around the ring."""
    machine = build(size)(Core())
    total = 0

    def run(count: int) -> None:
        nonlocal total
        left = None
        for _ in range(count):
            left = machine.t()
        total += count
        expect(left, (total - 1) % size)

    return run


def counting_toggle() -> Run:
    """The toggle that counts."""
    core = Core()
    machine = build_counting_toggle()(core)
    total = 0

    def run(count: int) -> None:
        nonlocal total
        left = None
        for _ in range(count):
            left = machine.t()
        total += count
        expect((left, core.n), ((total - 1) % 2, total))

    return run


def building() -> Run:
    """A thousand states, one instance, and one event, which shows that it stands in the first state."""

    def run(count: int) -> None:
        for _ in range(count):
            expect(build(1000)(Core()).t(), 0)

    return run


def initial() -> Run:
    """A new instance of the toggle."""
    factory = build(2)

    def run(count: int) -> None:
        for _ in range(count):
            factory(Core())

    return run


PLAN: dict[str, Measure] = {
    "toggle_us": steady(lambda: ring(2)),
    "toggle_ctx_us": steady(counting_toggle),
    "flat1000_us": steady(lambda: ring(1000)),
    "flat1000_build_ms": steady(building),
    "initial_us": steady(initial),
}

if __name__ == "__main__":
    main("automat", PLAN)
