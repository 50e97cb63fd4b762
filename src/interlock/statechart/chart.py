"""The compiled chart: its nodes in document order, and its configurations and routes, of which there is one each.

Everything here is derived from the definition and never changes afterwards, except for caches. A configuration is
the tuple of active leaves in document order; the rest of it follows. Leaves below any node are a contiguous slice of
that tuple, so a transition confined to one region touches only its own slice, whatever the siblings do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interlock.statechart.kinds import COMPOUND, PARALLEL
from interlock.statechart.nodes import Node
from interlock.statechart.routing import Route, make_route
from interlock.statechart.version import structural_version

if TYPE_CHECKING:
    from interlock.statechart.context import ContextType
    from interlock.statechart.definition import State
    from interlock.statechart.narrowing import Narrowing

__all__ = ["Configuration", "Table"]

_MAX_CONFIGURATIONS = 4096
_MAX_MOVES = 512


class Configuration:
    """The active states. ``moves`` caches, per event type, what a step from here looks at (see ``transition``)."""

    __slots__ = ("_nodes", "_tags", "_value", "eventless", "inert", "leaves", "moves", "single", "table")

    def __init__(self, table: Table, leaves: tuple[Node, ...], *, inert: bool = False) -> None:
        self.table = table
        self.leaves = leaves
        self.inert = inert
        self.single = leaves[0] if len(leaves) == 1 and not inert else None
        self.moves: dict[str, Any] = {}
        self._nodes: tuple[Node, ...] | None = None
        self._tags: frozenset[str] | None = None
        self._value: Any = None
        self.eventless = not inert and _any_eventless(leaves)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All active nodes in document order."""
        if self._nodes is None:
            found: set[Node] = set()
            for leaf in self.leaves:
                node: Node | None = leaf
                while node is not None and node not in found:
                    found.add(node)
                    node = node.parent
            self._nodes = tuple(sorted(found, key=_by_index))
        return self._nodes

    @property
    def tags(self) -> frozenset[str]:
        """The union of the active nodes' tags."""
        if self._tags is None:
            self._tags = frozenset(tag for node in self.nodes for tag in node.definition.tags)
        return self._tags

    @property
    def value(self) -> Any:
        """The configuration as nested plain data, in the form of XState: a key for an atomic child, else a dict."""
        if self._value is None:
            self._value = _value_of(self)
        return self._value

    def remember(self, event_type: str, move: Any) -> None:
        """Keep what a step from here looks at for this event type; bounded, since types come from outside."""
        if len(self.moves) < _MAX_MOVES:
            self.moves[event_type] = move

    def slice_of(self, node: Node) -> tuple[int, int]:
        """Return which leaves lie at or below ``node``, as a half-open range."""
        leaves = self.leaves
        if len(leaves) == 1:
            return 0, 1
        first = 0
        index, end = node.index, node.end
        while leaves[first].index < index:
            first += 1
        last = first
        count = len(leaves)
        while last < count and leaves[last].index < end:
            last += 1
        return first, last

    def active(self, node: Node) -> bool:
        """Whether ``node`` is active."""
        return any(node.index <= leaf.index < node.end for leaf in self.leaves)


def _any_eventless(leaves: tuple[Node, ...]) -> bool:
    for leaf in leaves:  # noqa: SIM110  # a generator would cost more than the loop
        if leaf.eventless:
            return True
    return False


def _by_index(node: Node) -> int:
    return node.index


def _value_of(configuration: Configuration) -> Any:
    # Iterative and bottom-up, so that depth is no matter.
    values: dict[Node, Any] = {}
    for node in reversed(configuration.nodes):
        value: Any
        if node.kind == COMPOUND:
            child = next(c for c in node.children if c in values)
            value = child.key if child.kind not in (COMPOUND, PARALLEL) else {child.key: values[child]}
        elif node.kind == PARALLEL:
            value = {child.key: values[child] for child in node.children if child in values}
        else:
            value = {}
        values[node] = value
    return values[configuration.table.root]


class Table:
    """Everything compiled from one machine definition; shared by all its snapshots and by ``provide``."""

    __slots__ = (
        "_confs",
        "_routes",
        "_version",
        "blank",
        "by_id",
        "by_path",
        "context",
        "definition",
        "delays",
        "given_version",
        "history_defaults",
        "id",
        "narrowing",
        "nodes",
        "output_type",
        "parallels",
        "root",
        "source_versions",
    )

    def __init__(
        self,
        id: str,
        definition: State,
        context: ContextType,
        source_versions: Mapping[str, str],
        version: str | None,
    ) -> None:
        self.id = id
        self.definition = definition
        self.context = context
        self.source_versions = source_versions
        self.given_version = version
        self._version = version
        self.nodes: list[Node] = []
        self.root: Node
        self.by_id: dict[str, Node] = {}
        self.by_path: dict[str, Node] = {}
        self.delays: dict[str, Any] = {}
        self.history_defaults = False
        self.narrowing: dict[Node, Narrowing] = {}
        self._confs: dict[tuple[Node, ...], Configuration] = {}
        self._routes: dict[Any, Route] = {}
        self.parallels = 0
        self.output_type: Any = None
        self.blank = Configuration(self, (), inert=True)

    @property
    def version(self) -> str:
        """The version that the author gave, else the structural one, worked out when somebody asks."""
        if self._version is None:
            self._version = structural_version(self)
        return self._version

    # -- interned values -------------------------------------------------------------------------------------------

    def configuration(self, leaves: tuple[Node, ...]) -> Configuration:
        """Return the configuration with these leaves: one object each, in a bounded cache where regions multiply."""
        if len(leaves) == 1:
            leaf = leaves[0]
            if leaf.conf is None:
                leaf.conf = Configuration(self, leaves)
            return leaf.conf
        found = self._confs.get(leaves)
        if found is None:
            if len(self._confs) >= _MAX_CONFIGURATIONS:
                self._confs.clear()
            found = self._confs[leaves] = Configuration(self, leaves)
        return found

    def inert(self, configuration: Configuration) -> Configuration:
        """Return the same states without any transition: the configuration of a machine that has ended."""
        if configuration.inert:
            return configuration
        if len(configuration.leaves) == 1:
            leaf = configuration.leaves[0]
            if leaf.inert_conf is None:
                leaf.inert_conf = Configuration(self, configuration.leaves, inert=True)
            return leaf.inert_conf
        return Configuration(self, configuration.leaves, inert=True)

    def route(self, source: Node | None, targets: tuple[Node, ...], *, reenter: bool) -> Route:
        """Return the (cached) route from ``source`` to ``targets``."""
        key = (source, targets, reenter)
        found = self._routes.get(key)
        if found is None:
            found = self._routes[key] = make_route(source, targets, reenter=reenter)
        return found
