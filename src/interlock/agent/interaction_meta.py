"""What ``meta["interaction"]`` of a state says: read, and checked when the machine is built."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import AliasChoices, AliasPath, ValidationError
from pydantic_core import to_json, to_jsonable_python

from interlock.agent.decide import is_entry
from interlock.agent.declared import undeclared
from interlock.agent.events import Event, EventClass
from interlock.agent.plain import plain
from interlock.agent.reasons import reason_of, reasons, short
from interlock.agent.requests import JsonObject
from interlock.agent.walking import INTERACTION, places
from interlock.errors import DefinitionError, did_you_mean
from interlock.statechart import FrozenDict, Machine

__all__ = [
    "INTERACTION",
    "PLACEHOLDER",
    "ChoiceSpec",
    "InteractionSpec",
    "check_interactions",
    "fields_by_key",
    "interaction_spec",
]

PLACEHOLDER = re.compile(r"\{\{([^\W\d]\w*(?:\.\w+)*)\}\}|\{([^\W\d]\w*(?:\.\w+)*)\}")
"""``{a.b}``, a value of the context (second group), or ``{{a.b}}``, which stands for ``{a.b}`` itself (first)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceSpec:
    """An event that a user interface may offer, as its author declares it."""

    event: EventClass
    label: str
    style: str | None
    fixed: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionSpec:
    """What a user interface shows while a state is active, as its author declares it."""

    label: str | Callable[..., object]
    choices: tuple[ChoiceSpec, ...]
    text_event: EventClass | None


class _Wrong(Exception):  # noqa: N818  # never seen outside: it becomes a DefinitionError
    """What is wrong with a declaration, and at which keys in it."""

    def __init__(self, reason: str, *path: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path


def check_interactions(machine: Machine[Any, Any, Any], classes: Mapping[str, EventClass]) -> None:
    """Refuse a machine in which a state declares an interaction that is none. See :func:`interaction_spec`."""
    known = machine.table.context.fields
    for path, state, _ in places(machine.definition):
        if INTERACTION in state.meta:
            interaction_spec(state.meta[INTERACTION], classes, machine=machine.id, state=path, fields=known)


def interaction_spec(
    given: object,
    classes: Mapping[str, EventClass],
    *,
    machine: str,
    state: str,
    fields: Mapping[str, object] | None = None,
) -> InteractionSpec:
    """Return what is declared under ``meta["interaction"]``.

    Arguments:
        given: the declaration.
        classes: the machine's event classes by type.
        machine: its id, for errors.
        state: the declaring state, for errors.
        fields: the fields of the context, where they are known: labels may name no others.

    Raises :class:`DefinitionError` (``invalid-interaction``) naming the machine, the state and the keys that lead to
    what is wrong.
    """
    try:
        return _spec(given, classes, fields)
    except _Wrong as wrong:
        where = "".join(f"[{key!r}]" for key in (INTERACTION, *wrong.path))
        raise DefinitionError(
            f"meta{where}: {wrong.reason}", code="invalid-interaction", machine=machine, state=state
        ) from None


def fields_by_key(event: EventClass) -> dict[str, str]:
    """Return the field of an event class that each key of its payload fills: by name, and by each of its aliases."""
    found: dict[str, str] = {}
    for name, field in event.model_fields.items():
        alias = field.validation_alias
        for key in (name, field.alias, *(alias.choices if isinstance(alias, AliasChoices) else (alias,))):
            first = key.path[0] if isinstance(key, AliasPath) else key
            if isinstance(first, str):
                found[first] = name
    return found


def _spec(given: object, classes: Mapping[str, EventClass], fields: Mapping[str, object] | None) -> InteractionSpec:
    own = _keys(given, ("label", "events", "text_event"))
    label = own.get("label", "")
    if not isinstance(label, str) and (isinstance(label, type) or not callable(label)):
        raise _Wrong(f"{short(label)} is no label; give a text, or a function of the context that returns one", "label")
    if isinstance(label, str):
        _check_label(label, fields, "label")
    events = own.get("events", {})
    if not isinstance(events, Mapping):
        raise _Wrong(f"{short(events)}; give labels by event: {{Approve: 'Send it'}}", "events")
    choices: dict[str, ChoiceSpec] = {}
    for key, said in cast("Mapping[object, object]", events).items():
        name = _name(key)
        try:
            choice = _choice(_class(key, classes), said, fields)
        except _Wrong as wrong:
            raise _Wrong(wrong.reason, "events", name, *wrong.path) from None
        if choice.event.type in choices:
            raise _Wrong(
                f"the event {choice.event.type!r} is given twice, by its class and by its type", "events", name
            )
        choices[choice.event.type] = choice
    text_event = own.get("text_event")
    return InteractionSpec(
        label=label,
        choices=tuple(choices.values()),
        text_event=None if text_event is None else _text_event(text_event, classes),
    )


def _choice(event: EventClass, said: object, fields: Mapping[str, object] | None) -> ChoiceSpec:
    own = {"label": said} if isinstance(said, str) else _keys(said, ("label", "style", "event"))
    label, style = own.get("label", event.type), own.get("style")
    for name, value in (("label", label), ("style", style)):
        if not (isinstance(value, str) or (value is None and name == "style")):
            raise _Wrong(f"{short(value)} is no text", name)
    _check_label(cast("str", label), fields, *(() if isinstance(said, str) else ("label",)))
    return ChoiceSpec(
        event=event, label=cast("str", label), style=cast("str | None", style), fixed=_fixed(event, own.get("event"))
    )


def _fixed(event: EventClass, given: object) -> JsonObject:
    """Return the fixed fields of a choice as JSON; the type is the choice's own, and is no field."""
    if given is None:
        return FrozenDict()
    if not isinstance(given, Mapping):
        hint = "; an event as a whole is sent by whoever answers" if isinstance(given, Event) else ""
        raise _Wrong(f"{short(given)} is no mapping of fields{hint}", "event")
    try:
        whole = cast("JsonObject", plain(to_jsonable_python(dict(cast("JsonObject", given)), inf_nan_mode="constants")))
    except Exception as error:  # noqa: BLE001  # mappings and serializers are other people's code
        raise _Wrong(f"cannot be written as JSON: {reason_of(error)}", "event") from None
    if whole.get("type", event.type) != event.type:
        raise _Wrong(f"the choice sends {event.type!r}, and cannot send {short(whole['type'])}", "event", "type")
    fixed: FrozenDict[str, object] = FrozenDict({name: value for name, value in whole.items() if name != "type"})
    known = fields_by_key(event)
    for name in fixed:
        if name not in known:
            raise _Wrong(f"{event.__name__} has no such field. {did_you_mean(name, known)}", "event", name)
    _check_values(event, fixed)
    return fixed


def _check_values(event: EventClass, fixed: JsonObject) -> None:
    """Refuse fixed fields that the event's class would never take, whatever the others are."""
    try:
        event.model_validate_json(to_json(fixed), by_alias=True, by_name=True)
    except ValidationError as error:
        whole = not any(item["type"] == "missing" for item in error.errors())
        wrong = [item for item in error.errors() if item["loc"] and item["loc"][0] in fixed]
        if whole or wrong:
            path = [str(part) for part in wrong[0]["loc"]] if wrong else []
            raise _Wrong(f"{event.__name__} refuses it: {reasons(error)}", "event", *path) from None
    except Exception as error:  # noqa: BLE001  # validators are other people's code
        # What is raised on an incomplete payload need not be raised on the whole one.
        if not any(field.is_required() and name not in fixed for name, field in event.model_fields.items()):
            raise _Wrong(f"{event.__name__} refuses it: {reason_of(error)}", "event") from None


def _text_event(given: object, classes: Mapping[str, EventClass]) -> EventClass:
    try:
        event = _class(given, classes)
    except _Wrong as wrong:
        raise _Wrong(wrong.reason, "text_event") from None
    into = fields_by_key(event).get("text")
    if into is None:
        raise _Wrong(
            f"{event.__name__} has no field 'text' for a free text. {did_you_mean('text', event.model_fields)}",
            "text_event",
        )
    others = [name for name, field in event.model_fields.items() if field.is_required() and name != into]
    if others:
        raise _Wrong(
            f"a free text fills the field 'text' of {event.__name__} alone, and {others[0]!r} is required as well; "
            "give it a default, or take another event",
            "text_event",
        )
    return event


def _class(given: object, classes: Mapping[str, EventClass]) -> EventClass:
    if not is_entry(given):
        raise _Wrong(f"{short(given)} names no event; give its class, or its type")
    if isinstance(given, str) and given.endswith("*"):
        raise _Wrong(f"{given!r} is a pattern; name one event")
    event = classes.get(given if isinstance(given, str) else given.type)
    if event is None or not (isinstance(given, str) or event is given):
        raise _Wrong(undeclared(given, classes))
    return event


def _keys(given: object, known: tuple[str, ...]) -> Mapping[str, object]:
    if not isinstance(given, Mapping):
        raise _Wrong(f"{short(given)}; give a mapping with {', '.join(repr(name) for name in known)}")
    for name in cast("Mapping[object, object]", given):
        if name not in known:
            raise _Wrong(f"there is no such key. {did_you_mean(str(name), known)}", str(name))
    return cast("Mapping[str, object]", given)


def _check_label(label: str, fields: Mapping[str, object] | None, *path: str) -> None:
    for name in _named_fields(label) if fields is not None else ():
        if name not in (fields or {}):
            raise _Wrong(
                f"the context has no field {name!r}. {did_you_mean(name, fields or {})} (Write "
                f"'{{{{{name}}}}}' for the name in braces itself.)",
                *path,
            )


def _named_fields(label: str) -> Iterator[str]:
    for match in PLACEHOLDER.finditer(label):
        if match[2]:
            yield match[2].partition(".")[0]


def _name(key: object) -> str:
    return key if isinstance(key, str) else getattr(key, "__name__", short(key))
