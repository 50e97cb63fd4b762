"""Values that an author has given, apart from the lists and mappings in which he gave them: he may go on with those."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, cast

from interlock.statechart.frozen import MAX_DEPTH
from interlock.statechart.moves import Move, Operation, RichMove

__all__ = ["detached", "detached_move", "detached_operations", "is_whole"]


def detached(value: Any, depth: int = 0) -> Any:
    """Return a copy of plain lists, sets and mappings at any depth; every other value as it is."""
    kind: object = value.__class__
    if depth > MAX_DEPTH:  # whoever keeps it will say so
        return value
    if kind is dict or kind is MappingProxyType:
        return {key: detached(item, depth + 1) for key, item in value.items()}
    if kind is set:
        return set(value)
    if kind is list or kind is tuple:
        items = [detached(item, depth + 1) for item in value]
        return items if kind is list else tuple(items)
    return value


def detached_operations(operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """Return effects whose payloads nobody can change any more."""
    return tuple([item._replace(payload=detached(item.payload)) for item in operations])


def detached_move(move: Move) -> Move:
    """Return a move whose values nobody can change any more."""
    patch = None if move.patch is None else detached(dict(move.patch))
    if not isinstance(move, RichMove):
        return Move(move.target, patch)
    made = RichMove(move.target, patch)
    made.operations = detached_operations(move.operations)
    made.reentering = move.reentering
    made.input = detached(move.input)
    return made


def is_whole(value: Any) -> bool:
    """Whether no text in a value holds half of a surrogate pair, which no file, network or database carries."""
    if isinstance(value, str):
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                return False
        return True
    if isinstance(value, Mapping):
        pairs: Iterable[Any] = cast("Any", value).items()
        return all(is_whole(item) for pair in pairs for item in pair)
    items: Iterable[Any] = cast("Any", value) if isinstance(value, list | tuple | set) else ()
    return all(is_whole(item) for item in items)
