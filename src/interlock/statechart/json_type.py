"""How a value of a declared type becomes JSON and comes back: the one rule for whatever is kept, sent or replayed.

A value is written by the names of its fields and read by name or by alias, whatever its type says about either: an
alias for writing need not be one for reading.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_json, to_jsonable_python

from interlock.errors import NotJsonError
from interlock.statechart.frozen import freeze

__all__ = ["JsonType"]

T = TypeVar("T")

_DEEPEST = 200
"""How deep values are compared: what lies deeper is taken for the same."""


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

    def back(self, value: object, path: str) -> tuple[Any, T]:
        """Return a value as frozen JSON, and as it comes back, having seen that it is what it was. Raises as both."""
        data = self.write(value, path)
        back = self.read(data)
        _check_same(value, back, path)
        return data, back

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


def _check_same(before: object, after: object, path: str) -> None:
    """Raise :class:`NotJsonError`, with its place, for what has come back from JSON as something else."""
    found = _difference(before, after, path, 0)
    if found is not None:
        place, was, came = found
        raise NotJsonError(
            f"{reprlib.repr(was)} would come back as {reprlib.repr(came)}; declare a type that survives JSON (no Any "
            "for what is no JSON; no secrets, subclasses or one-way serializers), and validators that change nothing "
            "the second time",
            path=place,
        )


def _difference(before: object, after: object, path: str, depth: int) -> tuple[str, object, object] | None:
    """Return the first place where two values differ, and both; a list is what a tuple is, as in JSON."""
    if depth > _DEEPEST or before is after or _equal(before, after):
        return None
    was, came = _parts(before), _parts(after)
    if was is None or came is None or was.keys() != came.keys():
        return path, before, after
    for name, part in was.items():
        found = _difference(part, came[name], f"{path}{name}", depth + 1)
        if found is not None:
            return found
    return None if _is_plain_container(before) or type(before) is type(after) else (path, before, after)


def _equal(before: object, after: object) -> bool:
    if isinstance(before, float) and isinstance(after, float) and math.isnan(before) and math.isnan(after):
        return True
    try:
        return bool(before == after)
    except Exception:  # noqa: BLE001  # comparing is other people's code
        return False


def _parts(value: object) -> dict[str, object] | None:
    """Return what a container holds by place; None for what is none."""
    if isinstance(value, list | tuple):
        return {f"[{number}]": item for number, item in enumerate(cast("Iterable[object]", value))}
    if isinstance(value, Mapping):
        named = cast("Mapping[object, object]", value).items()
        return {f".{key}" if isinstance(key, str) else f"[{key!r}]": item for key, item in named}
    if isinstance(value, BaseModel):
        return {f".{name}": item for name, item in value}
    if is_dataclass(value) and not isinstance(value, type):
        return {f".{field.name}": getattr(value, field.name, None) for field in fields(value)}
    return None


def _is_plain_container(value: object) -> bool:
    return isinstance(value, list | tuple | Mapping)


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
