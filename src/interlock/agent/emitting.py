"""Events that a machine publishes: of declared classes, where its author has declared any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from interlock.agent.events import Event, EventClass
from interlock.agent.reading import Unreadable, read_event
from interlock.agent.reasons import short
from interlock.errors import InputError, did_you_mean
from interlock.statechart.moves import Operation

__all__ = ["check_emitted", "refused_event"]


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
