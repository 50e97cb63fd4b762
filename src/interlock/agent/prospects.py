"""Decisions that could never be made, because no state that may be active meanwhile handles anything a model may send.

Only what is certain is refused: guards and handlers are taken to let everything pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from interlock.agent.decide import DecideSpec
from interlock.agent.events import EventClass
from interlock.agent.legality import for_people, matching
from interlock.agent.walking import Place, places
from interlock.errors import DefinitionError
from interlock.statechart import Machine, State

__all__ = ["check_prospects"]


def check_prospects(machine: Machine[Any, Any, Any], classes: Mapping[str, EventClass]) -> None:
    """Refuse a machine with a decision that nothing can ever be offered to."""
    for place in places(machine.definition):
        for invoke in place.state.invoke:
            if isinstance(invoke.logic, DecideSpec):
                _check(machine, place, invoke.logic, classes)


def _check(machine: Machine[Any, Any, Any], place: Place, spec: DecideSpec, classes: Mapping[str, EventClass]) -> None:
    handled: dict[str, None] = {}
    for_models: set[str] = set()
    for state in _active_with(place):
        for transition in state.on:
            handled[transition.event] = None
            event = classes.get(transition.event)
            if event is not None and event.actor != "human" and not for_people(transition):
                for_models.add(transition.event)
    declared = spec.declared
    if declared is not None:
        allowed = {kind for entry in declared for kind in matching(entry, classes)}
        if for_models & allowed:
            return
    elif for_models:
        return
    if not handled:
        wrong = "neither this state nor one that is active with it handles any event"
    elif for_models:
        wrong = f"allowed_events includes none of what is handled here: {', '.join(sorted(for_models))}"
    else:
        wrong = f"what is handled here is only for people, or not handled by name: {', '.join(handled)}"
    raise DefinitionError(
        f"decide: no model could ever pick anything, since {wrong}; give the state on=[agent.on(<event class>, ...)] "
        "for each event that the model may choose",
        code="invalid-decision",
        machine=machine.id,
        state=place.path,
    )


def _active_with(place: Place) -> Iterator[State]:
    """Yield all states that may be active while one is: those around and below it, and those of other regions."""
    yield from _tree(place.state)
    inner = place.state
    for state in place.around:
        yield state
        if state.kind == "parallel":
            for region in state.states.values():
                if region is not inner:
                    yield from _tree(region)
        inner = state


def _tree(state: State) -> Iterator[State]:
    for place in places(state):
        yield place.state
