"""The parts of a compiled chart: nodes numbered in document order, and what each of them declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.statechart.candidates import Candidate, compile_always, compile_candidates
from interlock.statechart.events import USAGE
from interlock.statechart.kinds import CHOICE, KINDS, PARALLEL

if TYPE_CHECKING:
    from interlock.statechart.chart import Configuration, Table
    from interlock.statechart.definition import Function, Invoke, State

__all__ = ["Invocation", "Node", "NodeTimer"]

_NO_ENTRIES: dict[str, Any] = {}  # shared until there is a first entry
_MAX_REGIONS = 512


class Node:
    """One state of the chart. ``index`` is its place in document order; its subtree is ``index <= i < end``."""

    __slots__ = (
        "_always",
        "_compiled",
        "knows_eventless",
        "by_key",
        "children",
        "conf",
        "defaults",
        "definition",
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
            self.region = False
            self.id: str = definition.id or table.id
        else:
            self.path = f"{parent.path}.{key}" if parent.path else key
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
        self.entry: Function | None = None
        self.exit: Function | None = None
        self.timers: tuple[NodeTimer, ...] = ()
        self.invocations: tuple[Invocation, ...] = ()
        self.exact: dict[str, tuple[Candidate, ...]] = _NO_ENTRIES
        self.wild: tuple[tuple[str, tuple[Candidate, ...]], ...] = ()
        self.regions: dict[str, Any] = _NO_ENTRIES
        self._always: tuple[Candidate, ...] | None = None
        self.knows_eventless: bool | None = None
        self._compiled = False

    def candidates(self, event_type: str) -> tuple[Candidate, ...]:
        """Return this node's own candidates for an event type, in the order in which they are asked."""
        if not self._compiled:
            compile_candidates(self)
            self._compiled = True
        found = self.exact.get(event_type, ())
        for prefix, candidates in self.wild:
            # What a call has cost is told to who asks for it by name: "*" means what may happen, not what it costs.
            fits = event_type != USAGE if not prefix else event_type == prefix or event_type.startswith(prefix + ".")
            if fits:
                found += candidates
        return found

    @property
    def always(self) -> tuple[Candidate, ...]:
        """This node's eventless candidates; a choice node's only one is its choice."""
        if self._always is None:
            self._always = compile_always(self)
        return self._always

    @property
    def eventless(self) -> bool:
        """Whether this node or one of its ancestors has an eventless transition."""
        if self.knows_eventless is None:
            path: list[Node] = []
            node: Node | None = self
            while node is not None and node.knows_eventless is None:
                path.append(node)
                node = node.parent
            known = bool(node is not None and node.knows_eventless)
            for item in reversed(path):
                known = item.knows_eventless = known or bool(item.definition.always) or item.kind == CHOICE
        return bool(self.knows_eventless)

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
        if len(self.regions) < _MAX_REGIONS:
            self.regions[event_type] = region
        return region

    def contains(self, other: Node) -> bool:
        """Whether ``other`` is this node or lies inside it."""
        return self.index <= other.index < self.end

    def __repr__(self) -> str:
        return f"<node {self.id}>"


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
