"""Where a machine stands, for those who ask: as plain data, and whether a pattern describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from interlock.statechart.chart import Configuration
    from interlock.statechart.nodes import Node
    from interlock.statechart.owing import Child
    from interlock.statechart.snapshot import Status

__all__ = ["At", "matches", "thawed"]


class At:
    """What a wide function sees beside its context: the event, the states, the state's own input, the children."""

    __slots__ = ("_children", "_configuration", "event", "input")

    def __init__(self, configuration: Configuration, event: Any, input: Any, children: Mapping[str, Child]) -> None:
        self._configuration = configuration
        self._children = children
        self.event = event
        self.input = input

    @property
    def value(self) -> Any:
        """The active states, as ``snapshot.value``."""
        return thawed(self._configuration.value)

    @property
    def children(self) -> Mapping[str, Status]:
        """The statuses of the running children, by id."""
        return {id: child.status for id, child in self._children.items()}

    def matches(self, pattern: str | Mapping[str, Any]) -> bool:
        """Whether ``pattern`` describes active states."""
        return matches(self._configuration, pattern)


def matches(configuration: Configuration, pattern: str | Mapping[str, Any]) -> bool:
    """Whether a dotted path or partial value describes active states. An empty one matches any but an atomic value."""
    root = configuration.table.root
    stack: list[tuple[Node, Any]] = [(root, pattern)]
    while stack:
        node, wanted = stack.pop()
        if isinstance(wanted, str):
            for key in wanted.split("."):
                found = node.by_key.get(key)
                if found is None or not configuration.active(found):
                    return False
                node = found
        elif isinstance(wanted, Mapping):
            items = cast("Mapping[str, Any]", wanted)
            if node is not root and not node.children and node.parent is not None and not node.region:
                return False
            for key, below in items.items():
                found = node.by_key.get(key)
                if found is None or not configuration.active(found):
                    return False
                stack.append((found, below))
        else:
            return False
    return True


def thawed(value: Any) -> Any:
    """Return a copy of a configuration's value: the value is cached and shared, the copy is the caller's own."""
    if not isinstance(value, dict):
        return value
    top: dict[str, Any] = {}
    stack: list[tuple[dict[str, Any], dict[str, Any]]] = [(cast("dict[str, Any]", value), top)]
    while stack:
        source, copy = stack.pop()
        for key, below in source.items():
            if isinstance(below, dict):
                copy[key] = {}
                stack.append((cast("dict[str, Any]", below), copy[key]))
            else:
                copy[key] = below
    return top
