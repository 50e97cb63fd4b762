"""Checking single fields of a context by their declared types."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from operator import is_
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter

from interlock.errors import NotJsonError
from interlock.statechart.context_kind import FieldError, TypeRefusedError
from interlock.statechart.frozen import EMPTY, freeze
from interlock.statechart.mutability import find_mutable
from interlock.statechart.reasons import reason_of

__all__ = [
    "Growing",
    "as_json",
    "exact_types",
    "growing",
    "grown",
    "is_any",
    "plain_value",
    "refuse_mutable",
    "validated",
]

_SIMPLE: dict[str, type[Any]] = {"int": int, "str": str, "bool": bool, "none": type(None)}


def validated(
    fields: Mapping[str, Any],
    validators: Mapping[str, TypeAdapter[Any]],
    exact: Mapping[str, tuple[type[Any], ...]],
    owner: str,
    before: Mapping[str, Any] = EMPTY,
) -> dict[str, Any]:
    """Return fields, each checked by its validator; raises :class:`FieldError`.

    ``before`` are the fields as they were: of a sequence that has only grown, the new items are checked.
    """
    changed: dict[str, Any] = {}
    for name, value in fields.items():
        allowed = exact.get(name)
        if allowed is None:
            raise FieldError("unknown-field", name, f"{owner} has no field {name!r}")
        if value.__class__ in allowed:
            changed[name] = value if value.__class__ is not str or value.isascii() else plain_value(value, name)
            continue
        adapter = validators[name]
        try:
            made = grown(before.get(name), value, growing(adapter.core_schema), adapter.validate_python)
            if made is None:
                made = adapter.validate_python(value)
        except Exception as error:  # a validator is the author's code; whatever it raises refuses the value
            raise FieldError("invalid-field", name, reason_of(error)) from error
        changed[name] = plain_value(made, name) if is_any(adapter.core_schema) else finite(made, name)
    return changed


def plain_value(value: Any, name: str) -> Any:
    """Return a value of a field that says nothing of its type as frozen JSON; raises :class:`FieldError`."""
    try:
        return freeze(value, name)
    except NotJsonError as error:
        raise FieldError("invalid-field", name, error.message.removeprefix(f"{name}: ")) from None


def finite(value: Any, name: str) -> Any:
    """Return ``value``; raises :class:`FieldError` for a number that JSON has no form for."""
    if value.__class__ is float and not math.isfinite(value):
        raise FieldError("invalid-field", name, f"{value!r} has no form in JSON; use None or a string")
    return value


def exact_types(schema: Any) -> tuple[type[Any], ...]:
    """Types whose instances this schema accepts unchanged, so that asking the validator would be a waste."""
    kind = schema.get("type")
    if kind in ("default", "nullable"):
        inner = exact_types(schema["schema"])
        return (*inner, type(None)) if kind == "nullable" and inner else inner
    if kind in _SIMPLE and set(schema) <= {"type", "metadata", "serialization"}:
        return (_SIMPLE[kind],)
    return ()


Growing: TypeAlias = Literal["no", "texts", "items"]
"""How a sequence may be checked that has grown: as a whole, by equal texts, or by items that are the very same."""


def growing(schema: Any) -> Growing:
    """Return how a field of this schema may be checked where it has grown: each item must stand for itself."""
    while schema.get("type") in ("default", "nullable"):
        schema = schema["schema"]
    if schema.get("type") != "tuple" or not schema.keys() <= {
        "type",
        "items_schema",
        "variadic_item_index",
        "metadata",
    }:
        return "no"
    items = schema["items_schema"]
    if schema.get("variadic_item_index") != 0 or len(items) != 1:
        return "no"
    if items[0] == {"type": "str"}:
        return "texts"
    return "items" if items[0].get("type") in ("model", "dataclass") else "no"


def grown(before: Any, value: Any, how: Growing, check: Callable[[Any], Any]) -> Any:
    """Return ``value`` with its new items checked, if it is ``before`` with items added; None where it is not.

    A transcript gets longer with each step, and what was checked once need not be checked a thousand times.
    """
    if (
        how == "no"
        or value.__class__ is not tuple
        or before.__class__ is not tuple
        or not 0 < len(before) <= len(value)
    ):
        return None
    length = len(before)
    if not (value[:length] == before if how == "texts" else all(map(is_, value, before))):
        return None
    if len(value) == length:
        return before
    try:
        return before + check(value[length:])
    except Exception:  # noqa: BLE001  # the whole is asked again, whose error says which item
        return None


def is_any(schema: Any) -> bool:
    """Whether a field may hold anything: then it holds plain JSON."""
    while schema.get("type") in ("default", "nullable"):
        schema = schema["schema"]
    return bool(schema.get("type") == "any")


def refuse_mutable(kind: type[Any]) -> None:
    """Raise :class:`TypeRefusedError` if a context of this type could be changed in place."""
    found = find_mutable(kind)
    if found is not None:
        raise TypeRefusedError("mutable-context", found)


def as_json(data: Any) -> bytes:
    """Return JSON data as text; raises ValueError for what is none."""
    return json.dumps(data, allow_nan=False).encode()
