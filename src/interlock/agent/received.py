"""Data that comes from outside as JSON: whether it is an object at all, before anybody looks for its fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from interlock.agent.reasons import reason_of, reasons, short
from interlock.errors import InputError, NotJsonError
from interlock.statechart.frozen import freeze

__all__ = ["field_of", "object_of", "read_object"]

T = TypeVar("T")


def object_of(data: object, what: str) -> Mapping[str, object]:
    """Return ``data`` if it is a JSON object; raises :class:`InputError` naming ``what`` it should have been."""
    if isinstance(data, Mapping):
        return cast("Mapping[str, object]", data)
    hint = "; read a text with json.loads(...) first" if isinstance(data, str | bytes | bytearray) else ""
    raise InputError(
        f"this is no {what}: give the object that to_json() wrote, not {short(data)}{hint}", code="invalid-input"
    )


def field_of(data: Mapping[str, object], name: str, what: str) -> object:
    """Return a field that has to be there; raises :class:`InputError`."""
    if name not in data:
        raise InputError(f"this is no {what}: {name}: Field required", code="invalid-input")
    return data[name]


def read_object(reader: TypeAdapter[T], data: Mapping[str, object], what: str) -> T:
    """Return what ``reader`` makes of a JSON object; raises :class:`InputError` naming the field that does not fit."""
    try:
        return reader.validate_python(freeze(dict(data)))
    except ValidationError as error:
        reason = reasons(error)
    except NotJsonError as error:
        reason = error.message
    except Exception as error:  # noqa: BLE001  # a mapping may be of any class
        reason = reason_of(error)
    raise InputError(f"this is no {what}: {reason}", code="invalid-input")
