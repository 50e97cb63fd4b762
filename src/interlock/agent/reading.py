"""From untrusted data to an event of a declared class: the one place where payloads are validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from pydantic_core import to_json

from interlock.agent.events import Event, EventClass, was_made
from interlock.agent.plain import DEEPEST, within
from interlock.agent.reasons import is_a, reason_of, short
from interlock.agent.requests import JsonObject
from interlock.errors import BindError, InputError, did_you_mean
from interlock.statechart import FrozenDict, Machine, Snapshot
from interlock.statechart.events import event_to_json
from interlock.statechart.frozen import freeze
from interlock.statechart.plain_classes import is_plain
from interlock.statechart.unsaved import unwritable

__all__ = [
    "AnyMachine",
    "Root",
    "Unreadable",
    "checked_machine",
    "classes_of",
    "parse_event",
    "read_event",
]

AnyMachine: TypeAlias = Machine[Any, Any, Any]

Root: TypeAlias = "tuple[AnyMachine, Snapshot[object]]"
"""The machine at the root of a tree, and where the whole tree stands."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why data is no event: of no known type (``known_type`` False), or with a payload that its class refuses."""

    known_type: bool
    reason: str
    event: JsonObject | None
    """The data as strict JSON, as far as it can be written so."""


def read_event(classes: Mapping[str, EventClass], given: object) -> Event | Unreadable:
    """Return ``given`` as an event of one of these classes: validated, with defaults, exactly as JSON would carry it.

    Arguments:
        classes: event classes by type.
        given: an event, or a mapping with ``type`` beside the fields.
    """
    event = cast("Event", given) if is_a(given, Event) else None
    made: Event | None = None
    try:
        made = event if event is not None and was_made(event) else None
        fields = _fields(given)
    except Exception as error:  # noqa: BLE001  # serializers and mappings are other people's code
        known = event is not None and type(event).type in classes
        reason = f"{_place(given)} cannot be written as JSON: {reason_of(error)}"
        return Unreadable(known_type=known, reason=reason, event=None)
    if fields is None:
        return Unreadable(known_type=False, reason=_no_event(given), event=None)
    kind = fields.get("type")
    written, unwritable = _written(fields)
    if type(kind) is not str:
        return Unreadable(known_type=False, reason=f"'type' must name the event, not {short(kind)}", event=written)
    event_class = classes.get(kind)
    if event_class is None:
        hint = did_you_mean(kind[:80], classes)
        return Unreadable(known_type=False, reason=f"there is no event {short(kind)} here. {hint}", event=written)
    if written is None:
        return Unreadable(known_type=True, reason=unwritable, event=None)
    # What its own class has made has passed its validators, which need not take their own results once more.
    own = made if type(given) is event_class else None
    try:
        # From JSON text: there a strict model takes an array for a tuple and a text for a date.
        event = event_class.model_validate_json(
            to_json({name: value for name, value in written.items() if name != "type"}), by_alias=True, by_name=True
        )
        same = freeze(event_to_json(event)) == written
    except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
        if own is not None and not is_plain(event_class):
            return own  # its validators, or its serializers, do not take their own results; nobody else refuses it
        return Unreadable(known_type=True, reason=reason_of(error), event=written)
    return event if own is None or same else own


def _fields(given: object) -> Mapping[str, object] | None:
    """Return what is given as a mapping, whoever's code that takes; None where it is nothing of the kind."""
    if isinstance(given, Event):
        if was_made(given):
            return dict(cast("JsonObject", event_to_json(given)))
        # Its fields may hold anything: what does not fit is told by its class, not by a warning.
        return {"type": given.type, **given.model_dump(mode="json", warnings="none")}
    return dict(cast("JsonObject", given)) if isinstance(given, Mapping) else None


def _no_event(given: object) -> str:
    shown = short(given)
    if is_a(given, type) and issubclass(cast("type[Any]", given), Event):
        name = cast("type[Any]", given).__name__
        return f"{name} is the class; send an event of it: {name}(...)"
    return f"{shown} is no event: an object with 'type' is needed"


def _place(given: object) -> str:
    if not is_a(given, Event):
        return "it"
    event = cast("Event", given)
    try:
        return unwritable(event, lambda parts: event.model_dump(mode="json", include=parts, warnings="none"), "event")
    except Exception:  # noqa: BLE001  # attributes are other people's code
        return "event"


def parse_event(machine: AnyMachine, given: object) -> Event:
    """Return untrusted data as an event that ``machine`` declares; whether it is legal now is another question.

    Arguments:
        machine: the machine whose event classes count.
        given: an event, a mapping with ``type`` beside the fields, or a bare type for an event without fields.

    Raises :class:`InputError` naming the machine, the event and what is wrong with it.
    """
    checked_machine(machine)
    read = read_event(classes_of(machine), {"type": given} if isinstance(given, str) else given)
    if isinstance(read, Unreadable):
        named = "" if read.event is None else f"event {short(read.event.get('type'))}: "
        raise InputError(f"machine {machine.id!r}: {named}{read.reason}", code="invalid-event")
    return read


def checked_machine(machine: object) -> None:
    """Refuse what is no machine, wherever somebody gives one."""
    if not isinstance(machine, Machine):
        raise BindError(
            f"machine={short(machine)}: give a machine, as agent.machine(...) returns it", code="invalid-argument"
        )


def classes_of(machine: AnyMachine) -> dict[str, EventClass]:
    """Return the event classes that a machine declares, by type, in order of declaration."""
    types: Mapping[str, object] = machine.event_types
    return {kind: found for kind, found in types.items() if isinstance(found, type) and issubclass(found, Event)}


def _written(fields: Mapping[str, object]) -> tuple[JsonObject | None, str]:
    """Return data as strict JSON, or None and the reason why it cannot be written so."""
    try:
        frozen: FrozenDict[str, object] = freeze(dict(fields), "event")
    except Exception as error:  # noqa: BLE001  # mappings are other people's code
        return None, reason_of(error)
    if not within(frozen, DEEPEST):
        return None, f"nested deeper than {DEEPEST} levels"
    return frozen, ""
