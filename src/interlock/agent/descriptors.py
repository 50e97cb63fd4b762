"""How an event class is shown to a model: name, description, schema, and the name of its tool."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from interlock.agent.events import EventClass

__all__ = ["OF_EVENTS", "EventDescriptor", "describe", "option_names", "tool_names"]

OF_EVENTS = "send_event_"
"""What the names of tools begin with that stand for events."""

_LONGEST = 64
"""Characters that every provider accepts in the name of a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDescriptor:
    """One event that may be picked, as plain data.

    ``option`` is the whole event as JSON where the choice is a closed one: it is taken as it is, or not at all.
    ``event_class`` is the class itself where the descriptor was made in this process; it is no part of the data.
    """

    type: str
    tool_name: str
    description: str
    input_schema: Mapping[str, object]
    option: Mapping[str, object] | None = None
    event_class: EventClass | None = field(default=None, repr=False, compare=False)

    @property
    def label(self) -> str:
        """What tells this from all else that is offered: the type, of an option also its fields."""
        fields = {name: value for name, value in (self.option or {}).items() if name != "type"}
        return f"{self.type} {json.dumps(fields, ensure_ascii=False, default=str)}" if fields else self.type

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data."""
        found: dict[str, object] = {
            "type": self.type,
            "tool_name": self.tool_name,
            "description": self.description,
            "input_schema": dict(self.input_schema),
        }
        return found if self.option is None else {**found, "option": dict(self.option)}


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
        wanted = OF_EVENTS + (re.sub(r"[^A-Za-z0-9_-]", "_", kind) or "event")
        if len(wanted) > _LONGEST:
            digest = hashlib.sha256(kind.encode()).hexdigest()[:8]
            wanted = f"{wanted[: _LONGEST - 9]}_{digest}"
        names[kind] = _free(wanted, taken)
        taken.add(names[kind])
    return names


def option_names(types: Sequence[str], *, among: Iterable[str]) -> tuple[str, ...]:
    """Return a tool name for each option of a closed choice, given by the types of their events.

    The first of a type is named as the type is ``among`` all types of the machine, the others have a number behind it.
    """
    names = tool_names(among)
    taken = set(names.values())
    found: list[str] = []
    for number, kind in enumerate(types):
        name = names[kind]
        if kind in types[:number]:
            name = _free(name, taken)
            taken.add(name)
        found.append(name)
    return tuple(found)


def _free(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        suffix = f"_{number}"
        name = wanted[: _LONGEST - len(suffix)] + suffix
    return name


@lru_cache(maxsize=1024)
def _schema(event: EventClass) -> Mapping[str, object]:
    # Name and docstring stand in the descriptor already; a model need not pay for them twice.
    schema: dict[str, object] = event.model_json_schema()
    return {name: value for name, value in schema.items() if name not in ("title", "description")}
