"""Contexts that are mappings: open ones, of plain JSON, and those that a ``TypedDict`` declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_
from typing import Any, cast, get_type_hints

from pydantic import TypeAdapter

from interlock.statechart.context_kind import FieldError
from interlock.statechart.fields import as_json, exact_types, plain_value, refuse_mutable, validated
from interlock.statechart.frozen import EMPTY, FrozenDict, freeze

__all__ = ["MappingContext", "TypedMappingContext"]

_set_item: Callable[[Any, str, Any], None] = dict[str, Any].__setitem__


class MappingContext:
    """An open mapping of JSON values; lists become tuples and dicts read-only mappings."""

    name = "mapping"
    fields: Mapping[str, Any] | None = None

    def check(self, value: Any) -> Any:
        """Return ``value`` as this kind of context."""
        if value is None:
            return EMPTY
        if not isinstance(value, Mapping):
            raise TypeError(f"expected a mapping, got {type(value).__name__}")
        return freeze(dict(cast("Mapping[str, Any]", value)), "context")

    def patch(self, context: Any, fields: Mapping[str, Any]) -> Any:
        """Return a new context with ``fields`` changed."""
        new: FrozenDict[str, Any] = FrozenDict(context)
        for name, value in fields.items():
            kept = value
            if value.__class__ is not int and value.__class__ is not bool and value is not None:
                kept = _grown(context.get(name), value, name)
            _set_item(new, name, kept)
        return new

    def dump(self, context: Any, include: Any = None) -> Any:  # noqa: ARG002  # where it fails, freeze says itself
        """Return strict JSON data."""
        return context

    def load(self, data: Any) -> Any:
        """Return the context that :meth:`dump` wrote."""
        return self.check(data)


def _grown(before: Any, value: Any, name: str) -> Any:
    """Return ``value`` frozen; what it shares with the value before is frozen already and not looked at again."""
    if value is before:
        return value
    if value.__class__ is tuple and before.__class__ is tuple and before and len(value) >= len(before):
        shared = len(before)
        # By identity: equal is not enough, since a list equals no tuple but 1 equals True.
        if all(map(is_, value, before)):
            return before + tuple([plain_value(item, f"{name}[{shared + i}]") for i, item in enumerate(value[shared:])])
    return plain_value(value, name)


class TypedMappingContext(MappingContext):
    """A mapping whose keys and value types a TypedDict declares."""

    def __init__(self, kind: Any) -> None:
        self.name = kind.__name__
        hints = get_type_hints(kind)
        refuse_mutable(kind)
        self.fields = hints
        # Field by field: pydantic itself takes no typing.TypedDict before Python 3.12.
        self._required: frozenset[str] = kind.__required_keys__
        self._validators: dict[str, TypeAdapter[Any]] = {name: TypeAdapter(hint) for name, hint in hints.items()}
        self._exact = {name: exact_types(adapter.core_schema) for name, adapter in self._validators.items()}

    def check(self, value: Any) -> Any:
        """Return ``value`` as this kind of context."""
        if not isinstance(value, Mapping):
            raise TypeError(f"expected a mapping, got {type(value).__name__}")
        found = FrozenDict(validated(cast("Mapping[str, Any]", value), self._validators, self._exact, self.name))
        missing = sorted(self._required - found.keys())
        if missing:
            raise FieldError("invalid-field", missing[0], f"{self.name} requires field {missing[0]!r}")
        return found

    def patch(self, context: Any, fields: Mapping[str, Any]) -> Any:
        """Return a new context with ``fields`` changed."""
        return FrozenDict(context) | validated(fields, self._validators, self._exact, self.name, context)

    def dump(self, context: Any, include: Any = None) -> Any:
        """Return strict JSON data."""
        wanted: Mapping[str, Any] = dict.fromkeys(context) if include is None else dict(include)
        return {
            name: self._validators[name].dump_python(
                value, mode="json", include=None if (parts := wanted[name]) is True else parts, warnings="error"
            )
            for name, value in context.items()
            if name in wanted
        }

    def load(self, data: Any) -> Any:
        """Return the context that :meth:`dump` wrote."""
        if not isinstance(data, Mapping):
            raise TypeError(f"expected an object, got {type(data).__name__}")
        given = cast("Mapping[str, Any]", data)
        return self.check(
            {
                name: self._validators[name].validate_json(as_json(value)) if name in self._validators else value
                for name, value in given.items()
            }
        )
