"""How an event class is shown to a model: name, description, schema, and the name of its tool."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from interlock.agent.events import EventClass

__all__ = ["EventDescriptor", "describe", "tool_names"]

_LONGEST = 64
"""Characters that every provider accepts in the name of a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDescriptor:
    """One event that may be picked, as plain data.

    ``event_class`` is the class itself where the descriptor was made in this process; it is no part of the data.
    """

    type: str
    tool_name: str
    description: str
    input_schema: Mapping[str, object]
    event_class: EventClass | None = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data."""
        return {
            "type": self.type,
            "tool_name": self.tool_name,
            "description": self.description,
            "input_schema": dict(self.input_schema),
        }


def describe(events: Iterable[EventClass], *, among: Iterable[EventClass] | None = None) -> tuple[EventDescriptor, ...]:
    """Return the descriptors of some event classes, in the order given.

    Arguments:
        events: the classes to describe.
        among: all classes of the machine, so that a tool keeps its name whatever else is offered beside it.
    """
    offered = tuple(events)
    names = tool_names(event.type for event in (offered if among is None else among))
    return tuple(
        EventDescriptor(
            type=event.type,
            tool_name=names[event.type],
            description=inspect.cleandoc(event.__doc__ or ""),
            input_schema=_schema(event),
            event_class=event,
        )
        for event in offered
    )


def tool_names(types: Iterable[str]) -> dict[str, str]:
    """Return a tool name for each event type: unlike each other, accepted everywhere, the same for the same types."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for kind in types:
        if kind in names:
            continue
        wanted = "send_event_" + (re.sub(r"[^A-Za-z0-9_-]", "_", kind) or "event")
        if len(wanted) > _LONGEST:
            digest = hashlib.sha256(kind.encode()).hexdigest()[:8]
            wanted = f"{wanted[: _LONGEST - 9]}_{digest}"
        name, number = wanted, 1
        while name in taken:
            number += 1
            suffix = f"_{number}"
            name = wanted[: _LONGEST - len(suffix)] + suffix
        taken.add(name)
        names[kind] = name
    return names


@lru_cache(maxsize=1024)
def _schema(event: EventClass) -> Mapping[str, object]:
    # Name and docstring stand in the descriptor already; a model need not pay for them twice.
    schema: dict[str, object] = event.model_json_schema()
    return {name: value for name, value in schema.items() if name not in ("title", "description")}
