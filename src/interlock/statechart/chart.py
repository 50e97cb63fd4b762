"""The compiled chart: nodes numbered in document order, candidate transitions, configurations and routes.

Everything here is derived from the definition and never changes afterwards, except for caches. A configuration is
the tuple of active leaves in document order; the rest of it follows. Leaves below any node are a contiguous slice of
that tuple, so a transition confined to one region touches only its own slice, whatever the siblings do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from interlock.statechart.moves import UNSET, Move, RichMove

if TYPE_CHECKING:
    from interlock.statechart.context import ContextType
    from interlock.statechart.definition import Invoke, State, Transition
    from interlock.statechart.moves import Operation

ATOMIC, COMPOUND, PARALLEL, FINAL, HISTORY, CHOICE = range(6)
KINDS: Mapping[str, int] = {
    "atomic": ATOMIC,
    "compound": COMPOUND,
    "parallel": PARALLEL,
    "final": FINAL,
    "history": HISTORY,
    "choice": CHOICE,
}

_NO_ENTRIES: dict[str, Any] = {}  # shared until there is a first entry
_MAX_CONFIGURATIONS = 4096
_MAX_MOVES = 512


class Node:
    """One state of the chart. ``index`` is its place in document order; its subtree is ``index <= i < end``."""

    __slots__ = (
        "_always",
        "_compiled",
        "_eventless",
        "by_key",
        "children",
        "conf",
        "defaults",
        "definition",
        "depth",
        "end",
        "entry",
        "exact",
        "exit",
        "histories",
        "id",
        "index",
        "inert_conf",
        "initial",
        "invocations",
        "key",
        "kind",
        "noisy_entry",
        "noisy_exit",
        "output",
        "parent",
        "path",
        "region",
        "regions",
        "table",
        "timers",
        "wild",
    )

    def __init__(self, table: Table, definition: State, key: str, parent: Node | None) -> None:
        self.table = table
        self.definition = definition
        self.key = key
        self.parent = parent
        self.kind = KINDS[definition.kind]
        self.index = len(table.nodes)
        self.end = self.index + 1
        if parent is None:
            self.path = ""
            self.depth = 0
            self.region = False
            self.id: str = definition.id or table.id
        else:
            self.path = f"{parent.path}.{key}" if parent.path else key
            self.depth = parent.depth + 1
            self.region = parent.kind == PARALLEL
            self.id = definition.id or f"{table.id}.{self.path}"
        self.children: tuple[Node, ...] = ()
        self.by_key: dict[str, Node] = _NO_ENTRIES
        self.histories: tuple[Node, ...] = ()
        self.initial: Node | None = None
        self.defaults: tuple[Node, ...] = ()
        self.conf: Configuration | None = None
        self.inert_conf: Configuration | None = None
        self.noisy_exit = False
        self.noisy_entry = False
        self.entry: Callable[..., Any] | None = None
        self.exit: Callable[..., Any] | None = None
        self.output: Any = UNSET
        self.timers: tuple[NodeTimer, ...] = ()
        self.invocations: tuple[Invocation, ...] = ()
        self.exact: dict[str, tuple[Candidate, ...]] = _NO_ENTRIES
        self.wild: tuple[tuple[str, tuple[Candidate, ...]], ...] = ()
        self.regions: dict[str, Any] = _NO_ENTRIES
        self._always: tuple[Candidate, ...] | None = None
        self._eventless: bool | None = None
        self._compiled = False

    def candidates(self, event_type: str) -> tuple[Candidate, ...]:
        """Return this node's own candidates for an event type, in the order in which they are asked."""
        if not self._compiled:
            self.table.compile_candidates(self)
            self._compiled = True
        found = self.exact.get(event_type, ())
        for prefix, candidates in self.wild:
            if prefix == "" or event_type == prefix or event_type.startswith(prefix + "."):
                found += candidates
        return found

    @property
    def always(self) -> tuple[Candidate, ...]:
        """This node's eventless candidates; a choice node's only one is its choice."""
        if self._always is None:
            self._always = self.table.compile_always(self)
        return self._always

    @property
    def eventless(self) -> bool:
        """Whether this node or one of its ancestors has an eventless transition."""
        if self._eventless is None:
            path: list[Node] = []
            node: Node | None = self
            while node is not None and node._eventless is None:
                path.append(node)
                node = node.parent
            known = bool(node is not None and node._eventless)
            for item in reversed(path):
                known = item._eventless = known or bool(item.definition.always) or item.kind == CHOICE
        return bool(self._eventless)

    def region_candidates(self, event_type: str) -> tuple[Candidate, ...]:
        """Return the candidates from this leaf up to the root of its region, in the order in which they are asked."""
        found: tuple[Candidate, ...] = ()
        node: Node = self
        while True:
            found += node.candidates(event_type)
            if node.parent is None or node.region:
                return found
            node = node.parent

    def remember_region(self, event_type: str, region: Any) -> Any:
        """Keep what this leaf's region is asked on an event type; bounded, since types come from outside."""
        if self.regions is _NO_ENTRIES:
            self.regions = {}
        if len(self.regions) < _MAX_MOVES:
            self.regions[event_type] = region
        return region

    def contains(self, other: Node) -> bool:
        """Whether ``other`` is this node or lies inside it."""
        return self.index <= other.index < self.end

    def __repr__(self) -> str:
        return f"<node {self.id}>"


class Candidate:
    """A compiled transition: its functions take (context, event) or, wide, (context, event, at)."""

    __slots__ = (
        "allowed",
        "bare",
        "cancels",
        "definition",
        "guard",
        "guard_wide",
        "handler",
        "handler_wide",
        "input",
        "node",
        "operations",
        "patch",
        "plain",
        "reenter",
        "route",
        "routes",
        "static_move",
        "targets",
    )

    def __init__(
        self,
        node: Node,
        definition: Transition,
        *,
        handler: Callable[..., Any] | None,
        handler_wide: bool,
        guard: Callable[..., Any] | None,
        guard_wide: bool,
        targets: tuple[Node, ...] | None,
    ) -> None:
        self.node = node
        self.definition = definition
        self.handler = handler
        self.handler_wide = handler_wide
        self.guard = guard
        self.guard_wide = guard_wide
        self.targets = targets
        self.reenter = definition.reenter
        self.patch: Mapping[str, Any] | None = definition.patch
        self.operations: tuple[Operation, ...] = definition.operations
        self.input: Any = definition.input
        self.route: Route | None = None
        if handler is None and (targets or self.reenter):
            self.route = node.table.route(node, targets or (node,), reenter=self.reenter)
        self.routes: dict[Any, Route] = {}
        self.allowed: frozenset[str] | None = (
            frozenset(definition.targets) if handler is not None and definition.targets is not None else None
        )
        # A static transition as a move; its target is the route, which is None where it stays.
        self.static_move: Move | None = None
        if handler is None:
            move: Move = Move(None, self.patch)
            if self.operations or self.input is not UNSET:
                rich = RichMove(None, self.patch)
                rich.operations, rich.reentering, rich.input = self.operations, False, self.input
                move = rich
            self.static_move = move
        self.cancels: str | None = None
        inert = handler is None and guard is None and not self.patch and not self.operations and self.input is UNSET
        self.plain = inert and self.route is not None
        self.bare = inert and self.route is None


class NodeTimer:
    """A timer that a node declares."""

    __slots__ = ("delay", "event_type", "id")

    def __init__(self, id: str, delay: Any, event_type: str) -> None:
        self.id = id
        self.delay = delay
        self.event_type = event_type


class Invocation:
    """Work that a node declares."""

    __slots__ = ("definition", "id", "input", "input_wide", "node", "src", "timer")

    def __init__(self, node: Node, id: str, definition: Invoke, input: Any, *, wide: bool) -> None:
        self.node = node
        self.id = id
        self.definition = definition
        self.src = definition.src
        self.input = input
        self.input_wide = wide
        self.timer: str | None = f"invoke-timeout:{id}" if definition.timeout is not None else None


class Route:
    """Where a transition leads: the domain below which states are left, and what is entered instead.

    ``history`` routes know their entries only when the record is looked up, at each step.
    """

    __slots__ = (
        "domain",
        "entries",
        "history",
        "inclusive",
        "inputs",
        "leaves",
        "local",
        "plans",
        "reenter",
        "source",
        "targets",
    )

    def __init__(self, source: Node | None, targets: tuple[Node, ...], *, reenter: bool, history: bool) -> None:
        self.source = source
        self.targets = targets
        self.reenter = reenter
        self.history = history
        self.domain: Node | None = None
        self.inclusive = False
        self.local = False
        self.entries: tuple[Node, ...] = ()
        self.inputs: tuple[Node, ...] = ()
        self.leaves: tuple[Node, ...] = ()
        self.plans: dict[Any, Plan] = {}


class Plan:
    """A route applied to the leaves below its domain: what is left, what is entered, and whether anything is to do."""

    __slots__ = ("entries", "exits", "inputs", "leaves", "simple")

    def __init__(
        self, exits: tuple[Node, ...], entries: tuple[Node, ...], inputs: tuple[Node, ...], leaves: tuple[Node, ...]
    ) -> None:
        self.exits = exits
        self.entries = entries
        self.inputs = inputs
        self.leaves = leaves
        self.simple = not (any(node.noisy_exit for node in exits) or any(node.noisy_entry for node in entries))


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
        "blank",
        "by_id",
        "by_path",
        "compiler",
        "context",
        "definition",
        "delays",
        "descriptors",
        "history_defaults",
        "id",
        "initial_context",
        "nodes",
        "parallels",
        "root",
        "version",
    )

    def __init__(self, id: str, definition: State, context: ContextType) -> None:
        self.id = id
        self.definition = definition
        self.context = context
        self.version = ""
        self.nodes: list[Node] = []
        self.by_id: dict[str, Node] = {}
        self.by_path: dict[str, Node] = {}
        self.delays: dict[str, Any] = {}
        self.initial_context: Any = None
        self.compiler: Any = None
        self.history_defaults = False
        self._confs: dict[tuple[Node, ...], Configuration] = {}
        self._routes: dict[Any, Route] = {}
        self.parallels = 0
        self.blank = Configuration(self, (), inert=True)

    # -- lazily compiled parts -------------------------------------------------------------------------------------

    def compile_candidates(self, node: Node) -> None:
        """Fill a node's candidate lists; called on first use."""
        self.compiler.compile_candidates(node)

    def compile_always(self, node: Node) -> tuple[Candidate, ...]:
        """Return a node's eventless candidates; called on first use."""
        candidates: tuple[Candidate, ...] = self.compiler.compile_always(node)
        return candidates

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
            from interlock.statechart.routing import make_route

            found = self._routes[key] = make_route(source, targets, reenter=reenter)
        return found
