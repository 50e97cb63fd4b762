"""Every state of a definition and every transition of a state, each with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

from interlock.agent.decide import DecideSpec
from interlock.agent.text import TextSpec
from interlock.statechart import Invoke, State, Transition

__all__ = ["Place", "places", "transitions", "wording_of"]


class Place(NamedTuple):
    """A state, its path, and the states around it, the innermost first."""

    path: str
    state: State
    around: tuple[State, ...]


def places(root: State) -> Iterator[Place]:
    """Yield the states of a machine in document order."""
    stack = [Place("(root)", root, ())]
    while stack:
        place = stack.pop()
        yield place
        prefix = f"{place.path}." if place.around else ""
        around = (place.state, *place.around)
        below = [
            Place(f"{prefix}{key}", child, around)
            for key, child in place.state.states.items()
            if isinstance(cast("object", child), State)  # what else it may be is for the engine to refuse
        ]
        stack.extend(reversed(below))


def transitions(state: State) -> Iterator[tuple[str, Transition]]:
    """Yield the transitions of a state, each with the slot in which it stands."""
    for slot, found in (
        ("on", state.on),
        ("always", state.always),
        ("on_done", state.on_done),
        ("on_error", state.on_error),
        ("on_timeout", state.on_timeout),
    ):
        for transition in found:
            yield (f"on {transition.event!r}" if slot == "on" else slot), transition
    for timed in state.after:
        for transition in timed.transitions:
            yield f"after {timed.delay}", transition
    for number, invoke in enumerate(state.invoke):
        name = f"invoke {invoke.id if invoke.id is not None else f'{number} ({invoke.src})'}"
        for slot, found in (
            ("on_done", invoke.on_done),
            ("on_error", invoke.on_error),
            ("on_timeout", invoke.on_timeout),
        ):
            for transition in found:
                yield f"{name} {slot}", transition


def wording_of(invoke: Invoke) -> Mapping[str, object]:
    """Return what work says to a model, each word a value or a function; nothing for work that asks none."""
    logic = invoke.logic
    if isinstance(logic, TextSpec):
        return logic.definition.wording
    return logic.wording if isinstance(logic, DecideSpec) else {}
