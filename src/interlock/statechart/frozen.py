"""Immutable JSON-shaped values: what a mapping context, an input or an output is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from types import GenericAlias, MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from pydantic import BaseModel
from pydantic_core import core_schema, to_jsonable_python

from interlock.errors import NotJsonError

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

K = TypeVar("K")
V = TypeVar("V")

MAX_DEPTH = 64
"""How deep lists and mappings may be nested in what is saved: parsers elsewhere have their limits."""

_MOST_BITS = 14_284
"""How large a whole number may be: 4300 digits are what Python itself reads and writes."""

_SCALARS = frozenset((str, int, bool, type(None)))


_update: Callable[[Any, Any], None] = dict[Any, Any].update


class FrozenDict(dict[K, V]):
    """A mapping that cannot be changed.

    It is a ``dict``, so ``json.dumps``, pydantic and ``match`` treat it as one, but every method that would
    change it raises ``TypeError``. ``old | {"key": value}`` gives a changed copy. Fields of a context model may
    be declared as ``FrozenDict[str, int]`` where ``dict[str, int]`` is refused.
    """

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError(
            "this mapping is immutable; return agent.stay(field=value) or build a new one with `old | {...}`"
        )

    __setitem__ = _refuse
    __delitem__ = _refuse
    __ior__ = _refuse  # narrower than dict on purpose: it always raises
    clear = _refuse
    pop = _refuse
    popitem = _refuse
    setdefault = _refuse  # pyright: ignore[reportAssignmentType]  # the same
    update = _refuse  # pyright: ignore[reportAssignmentType]  # the same

    # Fewer operands than dict takes, and a narrower result.
    def __or__(  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        self, other: Mapping[K, V]
    ) -> FrozenDict[K, V]:
        new: FrozenDict[K, V] = FrozenDict(self)
        _update(new, other)
        return new

    # dict has none, because it changes; here equal mappings hash alike.
    def __hash__(  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
        self,
    ) -> int:
        return hash(frozenset(self.items()))

    def __copy__(self) -> FrozenDict[K, V]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> FrozenDict[K, V]:
        return self

    def __reduce__(self) -> tuple[type[FrozenDict[K, V]], tuple[dict[K, V]]]:
        return FrozenDict, (dict(self),)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        arguments = getattr(source, "__args__", None) or (Any, Any)
        inner = handler.generate_schema(GenericAlias(dict, arguments))
        return core_schema.no_info_after_validator_function(FrozenDict, inner)


EMPTY: FrozenDict[str, Any] = FrozenDict()


def freeze(value: Any, path: str = "", *, models: bool = False) -> Any:
    """Return ``value`` with lists as tuples and dicts as :class:`FrozenDict`; all else but JSON scalars is refused.

    With ``models``, pydantic models and dataclasses anywhere in it are written as their fields.

    Raises :class:`NotJsonError` naming the path of a value that JSON cannot carry (NaN, lone surrogates, keys that
    are no strings, sets, class instances, cycles).
    """
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]  # whatever it is
    if kind in _SCALARS:
        if kind is str and not value.isascii():
            _check_text(value, path)
        elif kind is int and value.bit_length() > _MOST_BITS:
            raise NotJsonError("a whole number of thousands of digits, which no parser of JSON takes", path=path)
        return value
    if kind is float:
        if math.isfinite(value):
            return value
        raise NotJsonError(f"{value!r} has no form in JSON; use None or a string", path=path)
    if kind is dict or kind is FrozenDict:
        flat = _flat(value)
        if flat is not None:
            return flat
    return _freeze_deep(value, path, models=models)


def _flat(value: dict[Any, Any]) -> FrozenDict[str, Any] | None:
    """Return a mapping of plain texts, numbers and constants frozen, which most events are; None for any other."""
    for key, item in value.items():
        kind = type(item)  # pyright: ignore[reportUnknownVariableType]  # whatever it is
        if type(key) is not str or not key.isascii() or kind not in _SCALARS:
            return None
        if not item.isascii() if kind is str else kind is int and item.bit_length() > _MOST_BITS:
            return None
    return cast("FrozenDict[str, Any]", value) if type(value) is FrozenDict else FrozenDict(value)


def _freeze_deep(value: Any, path: str, *, models: bool) -> Any:
    # Iterative on purpose: the depth of foreign data must not be the depth of our stack.
    done: dict[int, Any] = {}
    open_ids: set[int] = set()
    stack: list[tuple[Any, str, bool]] = [(value, path, False)]
    while stack:
        item, where, ready = stack.pop()
        key = id(item)
        if ready:
            open_ids.discard(key)
            if isinstance(item, Mapping):
                mapping = cast("Mapping[str, Any]", item)
                done[key] = FrozenDict({k: _leaf(v, done, f"{where}.{k}") for k, v in mapping.items()})
            else:
                done[key] = tuple([_leaf(v, done, f"{where}[{i}]") for i, v in enumerate(item)])
            continue
        if key in done:
            continue
        if key in open_ids:
            raise NotJsonError("refers to itself", path=where)
        children: list[tuple[Any, str]]
        if type(item) in (list, tuple):
            children = [(v, f"{where}[{i}]") for i, v in enumerate(item)]
        elif isinstance(item, (dict, MappingProxyType)):
            children = []
            mapping = cast("Mapping[Any, Any]", item)
            for k, v in mapping.items():
                if type(k) is not str:
                    raise NotJsonError(f"key {k!r} is no string", path=where)
                _check_text(k, where)
                children.append((v, f"{where}.{k}"))
        elif models and (isinstance(item, BaseModel) or (is_dataclass(item) and not isinstance(item, type))):
            # By name: an alias for writing need not be one for reading.
            data = to_jsonable_python(item, by_alias=False, inf_nan_mode="constants")
            done[key] = freeze(data, where)
            continue
        else:
            raise _refusal(item, where)
        open_ids.add(key)
        if len(open_ids) > MAX_DEPTH:
            raise NotJsonError(f"is nested deeper than {MAX_DEPTH} levels", path=f"{where[:40]}...")
        stack.append((cast("Any", item), where, True))
        stack.extend((v, p, False) for v, p in children if type(v) not in _SCALARS and type(v) is not float)
    return done[id(value)]


def _leaf(value: object, done: dict[int, Any], path: str) -> Any:
    if type(value) in _SCALARS or type(value) is float:
        return freeze(value, path)
    return done[id(value)]


def _check_text(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotJsonError("the text holds a lone surrogate, which JSON cannot carry", path=path) from None


def _refusal(value: Any, path: str) -> NotJsonError:
    kind = type(value).__name__
    if isinstance(value, (set, frozenset)):
        return NotJsonError(f"a {kind} has no order in JSON; use a sorted tuple", path=path)
    return NotJsonError(
        f"a value of type {kind} cannot be kept here; hold plain JSON values, or declare the context as a frozen "
        "pydantic model or dataclass whose fields say how to save them (clients, locks and files belong in executors)",
        path=path,
    )
