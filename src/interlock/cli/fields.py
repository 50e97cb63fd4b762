"""Asking a person for the fields of an event, one by one, until each fits its type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import from_json, to_json, to_jsonable_python

import interlock as il
from interlock.agent.reading import Unreadable, read_event
from interlock.agent.reasons import reasons
from interlock.cli.samples import sample
from interlock.cli.screen import Screen
from interlock.cli.words import json_line

__all__ = ["NAMES", "ask_event", "ask_fields", "ask_json", "choices", "is_text", "matching"]

_NAMES: Mapping[Any, str] = {str: "text", int: "whole number", float: "number", bool: "yes or no"}

NAMES: Mapping[str, str] = {"string": "text", "integer": "whole number", "number": "number"}
"""The same for types of JSON schemas."""


def ask_event(screen: Screen, kind: type[il.Event]) -> il.Event:
    """Return an event of a class, with its fields as they were typed. Raises EOFError where nothing more can come."""
    while True:
        given = ask_fields(screen, kind)
        read = read_event({kind.type: kind}, {"type": kind.type, **given})
        if not isinstance(read, Unreadable):
            return read
        screen.note(f"{kind.type}: {read.reason}. Once more:")


def ask_fields(screen: Screen, kind: type[BaseModel]) -> dict[str, object]:
    """Return the fields of a class, each as it was typed once it fits. Raises EOFError where nothing more can come."""
    return {name: _ask(screen, name, field) for name, field in kind.model_fields.items()}


def ask_json(screen: Screen, question: str) -> Any:  # noqa: ANN401  # whatever was typed
    """Return a value that was typed as JSON."""
    while True:
        try:
            return from_json(screen.ask(question))
        except ValueError as error:
            screen.note(f"this is no JSON ({error}); once more:")


def choices(field: FieldInfo) -> tuple[str, ...]:
    """Return what there is to choose from; nothing where the field takes more than a few values."""
    kind = field.annotation
    if kind is bool:
        return ("yes", "no")
    values: Sequence[object] = ()
    if get_origin(kind) is Literal:
        values = get_args(kind)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        values = [to_jsonable_python(member) for member in kind]
    return tuple(values) if all(isinstance(value, str) for value in values) else ()  # type: ignore[arg-type]


def matching(typed: str, options: Iterable[str]) -> str | None:
    """Return the option that somebody means who types it, or enough of its beginning."""
    listed = list(options)
    if typed in listed:
        return typed
    found = [option for option in listed if option.casefold() == typed.casefold()] or [
        option for option in listed if typed and option.casefold().startswith(typed.casefold())
    ]
    return found[0] if len(found) == 1 else None


def is_text(field: FieldInfo) -> bool:
    """Whether a field takes any text."""
    return field.annotation is str


def _ask(screen: Screen, name: str, field: FieldInfo) -> object:
    question, options = _question(name, field), choices(field)
    adapter: TypeAdapter[Any] = TypeAdapter(_with_limits(field))
    while True:
        typed = screen.ask(question)
        if not typed and not field.is_required():
            return to_jsonable_python(field.get_default(call_default_factory=True), fallback=repr)
        if not typed and not options:
            continue
        if options:
            if (found := matching(typed, options)) is not None:
                return found == "yes" if field.annotation is bool else found
            screen.note(f"{typed!r} is none of {', '.join(options)}")
            continue
        value, wrong = _read(typed, field, adapter)
        if not wrong:
            return value
        screen.note(f"{name}: {wrong}")


def _read(typed: str, field: FieldInfo, adapter: TypeAdapter[Any]) -> tuple[object, str]:
    """Return what was typed, as JSON, and why it does not fit: as the JSON that it looks like, or as a text."""
    readings: list[object] = [typed]
    if not is_text(field):
        with suppress(ValueError):
            readings.insert(0, from_json(typed))
    wrong = ""
    for value in readings:
        try:
            adapter.validate_json(to_json(value))
        except ValidationError as error:
            wrong = wrong or reasons(error)
        else:
            return value, ""
    return None, wrong


def _with_limits(field: FieldInfo) -> Any:  # noqa: ANN401  # a type, of whatever kind
    kind: Any = field.annotation
    for limit in field.metadata:
        kind = Annotated[kind, limit]
    return kind


def _question(name: str, field: FieldInfo) -> str:
    asked = field.description or name
    if options := choices(field):
        asked += f" ({'/'.join(options)})"
    elif not field.description:
        asked += f" ({_name(field.annotation)})"
    if not field.is_required() and not field.description:
        default = field.get_default(call_default_factory=True)
        asked += f" [Enter: {'nothing' if default in (None, '', ()) else to_json(default, fallback=repr).decode()}]"
    return f"{asked}:"


def _name(kind: Any) -> str:  # noqa: ANN401  # the same
    if kind in _NAMES:
        return _NAMES[kind]
    if (like := _like(kind)) is not None:
        return like
    inside = [_name(one) for one in get_args(kind) if one is not NoneType and one is not Ellipsis]
    if get_origin(kind) in (tuple, list, frozenset):
        return f"JSON list of {inside[0]}" if inside else "JSON list"
    if inside and get_origin(kind) is not dict:
        return " or ".join(dict.fromkeys(inside))
    return getattr(kind, "__name__", "JSON")


def _like(kind: object) -> str | None:
    """Return an example where a kind has fields of its own."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return f"JSON, like {json_line(sample(kind.model_json_schema()))}"
    return None
