"""Decisions that could never be made, because no state that may be active meanwhile handles anything a model may send.

Only what is certain is refused: guards and handlers are taken to let everything pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from interlock.agent.decide import DecideSpec
from interlock.agent.events import EventClass
from interlock.agent.legality import for_people, matching
from interlock.agent.plan import PlanSpec
from interlock.agent.walking import Place, places
from interlock.errors import DefinitionError
from interlock.statechart import Machine, State

__all__ = ["check_prospects"]


def check_prospects(machine: Machine[Any, Any, Any], classes: Mapping[str, EventClass]) -> None:
    """Refuse a machine with a decision that nothing can ever be offered to."""
    for place in places(machine.definition):
        for invoke in place.state.invoke:
            if isinstance(invoke.logic, DecideSpec):
                _check_people(machine, place, invoke.logic, classes)
                _check(machine, place, invoke.logic, classes)


def _check_people(
    machine: Machine[Any, Any, Any], place: Place, spec: DecideSpec, classes: Mapping[str, EventClass]
) -> None:
    """Refuse to name an event whose every transition, wherever the decision may be made, is reserved for people."""
    stops = spec.stops if isinstance(spec, PlanSpec) else ()
    for slot, named in (("allowed_events", spec.declared or ()), ("stop_on", stops)):
        for entry in named:
            kinds = matching(entry, classes)
            if kinds and all(classes[kind].actor == "human" or _for_people_here(place, kind) for kind in kinds):
                shown = repr(entry) if isinstance(entry, str) else entry.__name__
                raise DefinitionError(
                    f"{slot} holds {shown}, but each transition that it could take while the state is active is "
                    "reserved for people (meta={'actor': 'human'}): no model is ever offered it; leave it out",
                    code="decide-allows-human-event",
                    machine=machine.id,
                    state=place.path,
                )


def _for_people_here(place: Place, kind: str) -> bool:
    found = [transition for state in _active_with(place) for transition in state.on if _takes(transition.event, kind)]
    return bool(found) and all(for_people(transition) for transition in found)


def _takes(pattern: str, kind: str) -> bool:
    # A handler of a pattern may take over where one that is reserved for people says no.
    return pattern in (kind, "*") or (pattern.endswith(".*") and (kind + ".").startswith(pattern[:-1]))


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
