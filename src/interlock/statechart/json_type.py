"""How a value of a declared type becomes JSON and comes back: the one rule for whatever is kept, sent or replayed.

A value is written by the names of its fields and read by name or by alias, whatever its type says about either: an
alias for writing need not be one for reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, Literal, TypeVar, cast

from pydantic import TypeAdapter
from pydantic_core import to_json, to_jsonable_python

from interlock.errors import NotJsonError
from interlock.statechart.frozen import freeze

__all__ = ["JsonType"]

T = TypeVar("T")


class JsonType(Generic[T]):
    """A type of values that go over the JSON border. Its methods are those of pydantic's ``TypeAdapter``, by that rule.

    Arguments:
        kind: the type, or pydantic's adapter of it.
    """

    __slots__ = ("_by_alias", "adapter")

    def __init__(self, kind: Any) -> None:
        self.adapter: TypeAdapter[T] = cast("Any", kind) if isinstance(kind, TypeAdapter) else TypeAdapter(kind)
        self._by_alias: bool | None = None  # known once it is asked: a type may name others that come later

    def write(self, value: object, path: str = "") -> Any:
        """Return a value as frozen JSON. Raises :class:`NotJsonError`, or whatever its serializers raise."""
        return freeze(self.dump_python(value, mode="json", round_trip=True, warnings="error"), path)

    def read(self, data: object) -> T:
        """Return what :meth:`write` made, or the same written by hand; raises what its validators raise."""
        return self.validate_json(to_json(data))

    def keep(self, value: object, path: str = "") -> Any:
        """Return a value as frozen JSON, having seen that it can be read again. Raises as both."""
        data = self.write(value, path)
        self.read(data)
        return data

    def accept(self, given: object) -> T:
        """Return what comes from outside, JSON or an object with the same fields, as this type."""
        try:
            data: object = freeze(given)
        except NotJsonError:
            return self.read(freeze(to_jsonable_python(given, by_alias=False, inf_nan_mode="constants")))
        # Whoever writes JSON has seen the schema, which knows fields by their aliases.
        return self.adapter.validate_json(to_json(data), by_alias=True, by_name=True)

    # -- as TypeAdapter has them ---------------------------------------------------------------------------------------

    def validate_json(self, data: str | bytes) -> T:
        """Return JSON text as the type."""
        if self._by_alias is None:
            # Pydantic looks for aliases first: where the alias of a field is the name of another, only names are clear.
            self._by_alias = not _clashing(cast("object", self.adapter.core_schema))
        return self.adapter.validate_json(data, by_alias=self._by_alias, by_name=True)

    def validate_python(self, value: object) -> T:
        """Return a value, or a mapping of fields, as the type."""
        return self.adapter.validate_python(value, by_alias=True, by_name=True)

    def dump_python(
        self,
        value: Any,
        *,
        mode: Literal["json", "python"] = "python",
        round_trip: bool = False,
        warnings: bool | Literal["none", "warn", "error"] = True,
    ) -> Any:
        """Return a value as plain data."""
        return self.adapter.dump_python(value, mode=mode, by_alias=False, round_trip=round_trip, warnings=warnings)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema that what comes from outside has to fit."""
        return self.adapter.json_schema()


def _clashing(schema: object) -> bool:
    """Whether anywhere in a core schema the alias of a field is the name of another field beside it."""
    stack: list[object] = [schema]
    seen: set[int] = set()
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Mapping):
            node = cast("Mapping[str, object]", item)
            aliases = _aliases_of(node.get("fields"))
            if any(alias != name and alias in aliases for name, found in aliases.items() for alias in found):
                return True
            stack.extend(value for key, value in node.items() if key not in {"metadata", "default", "expected"})
        elif isinstance(item, list | tuple):
            stack.extend(cast("list[object]", item))
    return False


def _aliases_of(fields: object) -> dict[str, list[str]]:
    """Return the names of the fields of a model, a ``TypedDict`` or a dataclass, each with its aliases for reading."""
    found: dict[str, list[str]] = {}
    if isinstance(fields, Mapping):
        for name, field in cast("Mapping[str, object]", fields).items():
            found[name] = _keys(field)
    elif isinstance(fields, list):
        for field in cast("list[object]", fields):
            if isinstance(field, Mapping):
                found[str(cast("Mapping[str, object]", field).get("name"))] = _keys(cast("object", field))
    return found


def _keys(field: object) -> list[str]:
    """Return the keys under which a field is looked for: its alias is one, a path that begins with one, or several."""
    alias = cast("Mapping[str, object]", field).get("validation_alias") if isinstance(field, Mapping) else None
    if isinstance(alias, str):
        return [alias]
    choices = list(cast("Iterable[Any]", alias)) if isinstance(alias, list) else []
    paths: list[list[Any]] = choices if choices and isinstance(choices[0], list) else [choices]
    return [path[0] for path in paths if path]
