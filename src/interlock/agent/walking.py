"""Every state of a definition and every transition of a state, each with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

from interlock.agent.decide import DecideSpec
from interlock.agent.text import TextSpec
from interlock.agent.user_input import UserInputSpec
from interlock.statechart import Invoke, State, Transition

__all__ = ["INTERACTION", "Place", "functions", "places", "transitions", "wording_of"]

INTERACTION = "interaction"
"""The key in the ``meta`` of a state under which it says what a user interface shows."""


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


def functions(state: State) -> Iterator[tuple[str, object]]:
    """Yield what may be a function of the context in a state, each with the slot in which it stands."""
    yield "entry", state.entry
    yield "exit", state.exit
    yield "output", state.output
    yield "meta", _label(state.meta)
    for slot, transition in transitions(state):
        yield slot, transition.handler
        yield f"{slot}: guard", transition.guard
    for invoke in state.invoke:
        place = f"invoke {invoke.src}"
        yield f"{place}: input", invoke.input
        yield f"{place}: meta", _label(invoke.meta)
        for name, value in wording_of(invoke).items():
            yield f"{place}: {name}", value
        logic = invoke.logic
        if isinstance(logic, DecideSpec):
            yield f"{place}: allowed_events", logic.allowed_events
            yield f"{place}: options", logic.options
        elif isinstance(logic, TextSpec):
            yield f"{place}: tools", logic.definition.tools
        elif isinstance(logic, UserInputSpec):
            yield f"{place}: prompt", logic.prompt


def _label(meta: Mapping[str, object]) -> object:
    interaction = meta.get(INTERACTION)
    return cast("Mapping[str, object]", interaction).get("label") if isinstance(interaction, Mapping) else None


def wording_of(invoke: Invoke) -> Mapping[str, object]:
    """Return what work says to a model, each word a value or a function; nothing for work that asks none."""
    logic = invoke.logic
    if isinstance(logic, TextSpec):
        return logic.definition.wording
    return logic.wording if isinstance(logic, DecideSpec) else {}
