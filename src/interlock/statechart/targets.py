"""How a target is written, and which state it names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from interlock.statechart.kinds import PARALLEL

if TYPE_CHECKING:
    from interlock.statechart.nodes import Node

__all__ = ["find_target", "in_different_regions"]


def find_target(node: Node, name: Any) -> Node | None:
    """Return the state written so at ``node`` (a sibling's key or path, ``.child``, ``#id``), None if there is none."""
    if not isinstance(name, str) or not name:
        return None
    table = node.table
    if name[0] == "#":
        found = table.by_id.get(name[1:])
        if found is not None:
            return found
        # "#id.key": the longest id that is a prefix, then keys below it.
        head = name[1:]
        rest: list[str] = []
        while "." in head:
            head, _, tail = head.rpartition(".")
            rest.insert(0, tail)
            start = table.by_id.get(head)
            if start is not None:
                return descend(start, rest)
        return None
    if name[0] == ".":
        return descend(node, name[1:].split("."))
    return descend(node.parent, name.split(".")) if node.parent is not None else None


def descend(node: Node, keys: Sequence[str]) -> Node | None:
    """Follow keys downwards from ``node``; None where one does not exist."""
    found: Node | None = node
    for key in keys:
        found = found.by_key.get(key) if found is not None else None
    return found


def in_different_regions(one: Node, other: Node) -> bool:
    """Whether two states lie in different regions of some parallel state."""
    if one.contains(other) or other.contains(one):
        return False
    common = one.parent
    while common is not None and not common.contains(other):
        common = common.parent
    return common is not None and common.kind == PARALLEL
