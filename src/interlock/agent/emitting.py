"""Events that a machine publishes: of declared classes, where its author has declared any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from interlock.agent.adapting import Adapted
from interlock.agent.events import Event, EventClass
from interlock.agent.reading import Unreadable, read_event
from interlock.agent.reasons import short
from interlock.agent.walking import places, transitions
from interlock.errors import InputError, did_you_mean
from interlock.statechart import Machine, Move
from interlock.statechart.definition import WithAt
from interlock.statechart.moves import Operation

__all__ = ["EmitCheck", "check_emitted", "declared_emits", "refused_event"]


@dataclass(frozen=True, slots=True, eq=False)
class EmitCheck:
    """Looks at the moves of an agent's functions: they emit what the agent has declared, and nothing else."""

    classes: Mapping[str, EventClass]

    def __call__(self, move: Move) -> None:
        """Raise :class:`InputError` for a move that emits anything else."""
        if move.operations:
            check_emitted(move.operations, self.classes)


def declared_emits(machine: Machine[Any, Any, Any]) -> Mapping[str, EventClass] | None:
    """Return all events that a machine can emit, by type; None where its functions may emit anything."""
    found: dict[str, EventClass] = {}
    checked = False
    for place in places(machine.definition):
        made: list[object] = [place.state.entry, place.state.exit]
        made += [transition.handler for _, transition in transitions(place.state)]
        for given in made:
            function = given.function if isinstance(given, WithAt) else given
            if isinstance(function, Adapted) and isinstance(function.check, EmitCheck):
                found.update(function.check.classes)
                checked = True
            elif callable(function):
                return None
    return found if checked else None


def check_emitted(operations: Iterable[Operation], classes: Mapping[str, EventClass]) -> None:
    """Raise :class:`InputError` for an event that a move emits and ``setup_agent(emits=[...])`` does not declare."""
    for operation in operations:
        if operation.name == "emit":
            reason = refused_event(operation.payload, classes, "emits")
            if reason is not None:
                raise InputError(f"the move emits {short(operation.payload)}: {reason}", code="invalid-event")


def refused_event(payload: object, classes: Mapping[str, EventClass], where: str) -> str | None:
    """Return why ``payload`` is no event of these classes, which ``setup_agent(<where>=[...])`` declares."""
    if isinstance(payload, Event):
        declared = classes.get(payload.type)
        if declared is type(payload):
            return None
        if declared is not None:
            return f"another class is declared for the type {payload.type!r}, {declared.__qualname__}; use that one"
        return (
            f"setup_agent({where}=[...]) does not declare {type(payload).__name__}. "
            f"{did_you_mean(payload.type, classes)}"
        )
    read = read_event(classes, {"type": payload} if isinstance(payload, str) else payload)
    return read.reason if isinstance(read, Unreadable) else None
