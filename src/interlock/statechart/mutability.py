"""Which declared types let somebody change a context in place."""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import BaseModel

from interlock.statechart.frozen import FrozenDict

__all__ = ["find_mutable"]

_TWINS: dict[Any, str] = {
    list: "tuple[{0}, ...]",
    set: "frozenset[{0}]",
    dict: "FrozenDict[{0}, {1}] (from interlock) or a nested frozen model",
    bytearray: "bytes",
    collections.deque: "tuple[{0}, ...]",
    collections.defaultdict: "FrozenDict[{0}, {1}] (from interlock)",
    collections.OrderedDict: "FrozenDict[{0}, {1}] (from interlock)",
    collections.Counter: "FrozenDict[{0}, int] (from interlock)",
    collections.abc.MutableSequence: "tuple[{0}, ...]",
    collections.abc.MutableMapping: "FrozenDict[{0}, {1}] (from interlock)",
    collections.abc.MutableSet: "frozenset[{0}]",
    # What pydantic makes of these is a list or a dict:
    collections.abc.Sequence: "tuple[{0}, ...]",
    collections.abc.Mapping: "FrozenDict[{0}, {1}] (from interlock)",
}


def find_mutable(kind: type[Any]) -> str | None:
    """Return what is wrong with the first field of ``kind`` (nested models included) that can be changed in place."""
    return _find(kind, kind.__name__, set())


def _find(kind: Any, path: str, seen: set[Any]) -> str | None:
    for name, annotation in _fields(kind).items():
        found = _find_in(annotation, f"{path}.{name}", seen)
        if found is not None:
            return found
    return None


def _find_in(annotation: Any, path: str, seen: set[Any]) -> str | None:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _find_in(get_args(annotation)[0], path, seen)
    if origin is ClassVar:
        return None
    base = origin if origin is not None else annotation
    arguments = get_args(annotation)
    if isinstance(base, type) and base is not FrozenDict:
        twin = _TWINS.get(base)
        if twin is not None:
            names = [_name(argument) for argument in arguments] or ["Any"]
            shown = twin.format(*names, "Any", "Any")
            return (
                f"field {path} is declared as {_name(annotation)}, which can be changed in place; declare it as {shown}"
            )
        if base not in seen and _fields(base):
            seen.add(base)
            frozen = _is_frozen(base)
            if not frozen:
                return f"field {path} holds {base.__name__}, which can be changed in place; make {base.__name__} frozen"
            return _find(base, path, seen)
    for argument in arguments:
        if not isinstance(argument, (str, int, bytes, bool)):
            found = _find_in(argument, path, seen)
            if found is not None:
                return found
    return None


def _fields(kind: Any) -> dict[str, Any]:
    declared: type[object] | None = kind if isinstance(kind, type) else None
    if declared is None:
        return {}
    if issubclass(declared, BaseModel):
        return {name: field.annotation for name, field in declared.model_fields.items()}
    if dataclasses.is_dataclass(declared) or is_typeddict(declared):
        return get_type_hints(declared, include_extras=True)
    return {}


def _is_frozen(kind: Any) -> bool:
    if issubclass(kind, BaseModel):
        return bool(kind.model_config.get("frozen"))
    if dataclasses.is_dataclass(kind):
        return bool(getattr(kind, "__dataclass_params__").frozen)  # noqa: B009  # not in the type stubs
    return False


def _name(annotation: Any) -> str:
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    return str(annotation).replace("typing.", "").replace("collections.abc.", "")
