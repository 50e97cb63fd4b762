"""Which states a transition leaves and enters: domains, completion of targets, history, and conflicts.

The rules are XState's, with its region-root faults mended: a region (or machine) root that is itself a target is left
before it is entered again, and its exit set includes it, so that conflict resolution sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from interlock.errors import InvalidMoveError
from interlock.statechart.kinds import COMPOUND, FINAL, HISTORY, PARALLEL

if TYPE_CHECKING:
    from interlock.statechart.chart import Configuration
    from interlock.statechart.nodes import Node

__all__ = [
    "Plan",
    "Route",
    "complete",
    "domain_of",
    "effective_targets",
    "exits_of",
    "make_route",
    "plan_for",
    "resolve_conflicts",
]

_MAX_PLANS = 1024


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


def make_route(source: Node | None, targets: tuple[Node, ...], *, reenter: bool) -> Route:
    """Compute a route; one that depends on history (a target, or a default on the way) is completed at each step."""
    table = targets[0].table
    history = table.history_defaults or any(target.kind == HISTORY for target in targets)
    route = Route(source, targets, reenter=reenter, history=history)
    if not history:
        route.domain, route.inclusive = domain_of(source, targets, targets, reenter=reenter)
        route.local = route.domain is not None and source is not None and _region_of(source).contains(route.domain)
        top = route.domain or table.root
        route.entries, route.leaves, route.inputs = complete(top, targets, inclusive=route.inclusive)
    return route


def _region_of(node: Node) -> Node:
    while node.parent is not None and not node.region:
        node = node.parent
    return node


def domain_of(
    source: Node | None, targets: Sequence[Node], effective: Sequence[Node], *, reenter: bool
) -> tuple[Node | None, bool]:
    """Return the node below which states are left, and whether it is left itself. None: everything is left.

    ``effective`` are the targets with history states replaced by what they stand for.
    """
    if source is None:
        return None, True
    restored = targets is not effective and any(node is source for node in effective) and source not in targets
    if not restored and all(source.contains(node) for node in effective):
        if reenter:
            return source, True
        domain = source
    else:
        parent = source.parent
        while parent is not None and not all(parent.contains(node) and parent is not node for node in effective):
            parent = parent.parent
        if parent is None:
            return None, True
        if reenter:
            return parent, False
        domain = parent
    while domain.kind == PARALLEL:
        region = next((child for child in domain.children if all(child.contains(node) for node in effective)), None)
        if region is None:
            break
        if any(region is node for node in effective):
            return region, True
        domain = region
    return domain, False


def effective_targets(targets: Sequence[Node], recall: Callable[[Node], tuple[Node, ...] | None]) -> tuple[Node, ...]:
    """Replace history states by what they stand for: the record, else the declared default, else the parent's own."""
    found: list[Node] = []
    for target in targets:
        found.extend(_stands_for(target, recall) if target.kind == HISTORY else (target,))
    return tuple(found)


def _stands_for(history: Node, recall: Callable[[Node], tuple[Node, ...] | None]) -> tuple[Node, ...]:
    record = recall(history)
    if record is not None:
        return record
    if history.defaults:
        return effective_targets(history.defaults, recall)
    parent = history.parent
    assert parent is not None  # noqa: S101  # a history state is never the root
    if parent.kind == PARALLEL or parent.initial is None:
        return tuple(child for child in parent.children if child.kind != HISTORY)
    return effective_targets((parent.initial,), recall)


def _nothing(_: Node) -> tuple[Node, ...] | None:
    return None


def complete(
    top: Node,
    targets: Sequence[Node],
    *,
    inclusive: bool,
    recall: Callable[[Node], tuple[Node, ...] | None] = _nothing,
) -> tuple[tuple[Node, ...], tuple[Node, ...], tuple[Node, ...]]:
    """Return the nodes entered at or below ``top`` (document order), the new leaves, and the nodes entered by default.

    ``targets`` are effective targets; everything that they leave open is filled by initial states and regions.
    """
    forced: dict[Node, list[Node]] = {}
    _force(forced, top, targets)
    entries: list[Node] = []
    leaves: list[Node] = []
    defaulted: list[Node] = []
    stack = [top]
    while stack:
        node = stack.pop()
        if node is not top or inclusive:
            entries.append(node)
        if node.kind == COMPOUND:
            wanted = forced.get(node)
            if wanted is None:
                initial = node.initial
                assert initial is not None  # noqa: S101  # checked when the machine is built
                defaulted.append(node)
                if initial.kind == HISTORY or initial.parent is not node:
                    _force(forced, node, effective_targets((initial,), recall))
                    wanted = forced[node]
                else:
                    wanted = [initial]
            if len(wanted) > 1:
                raise InvalidMoveError(
                    f"targets {', '.join(repr(item.id) for item in wanted)} cannot be active together: "
                    f"state {node.id!r} has one active child at a time",
                    code="invalid-targets",
                    machine=node.table.id,
                )
            stack.append(wanted[0])
        elif node.kind == PARALLEL:
            stack.extend(child for child in reversed(node.children) if child.kind != HISTORY)
        else:
            leaves.append(node)
    return tuple(entries), tuple(leaves), tuple(defaulted)


def _force(forced: dict[Node, list[Node]], top: Node, targets: Sequence[Node]) -> None:
    for target in targets:
        node = target
        while node is not top:
            parent = node.parent
            assert parent is not None  # noqa: S101  # targets lie at or below the top
            siblings = forced.setdefault(parent, [])
            if node in siblings:
                break
            siblings.append(node)
            node = parent


def plan_for(route: Route, configuration: Configuration) -> Plan:
    """Return the (cached) plan of a route without history from a configuration."""
    domain = route.domain
    if domain is None:
        below = configuration.leaves
    else:
        first, last = configuration.slice_of(domain)
        below = configuration.leaves[first:last]
    key = below[0] if len(below) == 1 else below
    plan = route.plans.get(key)
    if plan is None:
        if len(route.plans) >= _MAX_PLANS:
            route.plans.clear()
        exits = exits_of(below, domain, inclusive=route.inclusive)
        plan = route.plans[key] = Plan(exits, route.entries, route.inputs, route.leaves)
    return plan


def exits_of(leaves: Sequence[Node], domain: Node | None, *, inclusive: bool) -> tuple[Node, ...]:
    """Return what is left, innermost first (reverse document order)."""
    found: set[Node] = set()
    for leaf in leaves:
        node: Node | None = leaf
        while node is not None and node is not domain and node not in found:
            found.add(node)
            node = node.parent
    if inclusive and domain is not None:
        found.add(domain)
    return tuple(sorted(found, key=lambda node: -node.index))


def resolve_conflicts(chosen: Sequence[tuple[Node, Node | None, bool] | None]) -> list[int]:
    """Return which of several selected transitions are carried out, as indices in order.

    Each is (source, domain, inclusive), or None where nothing is left. A later one whose exit set meets an accepted
    one's replaces it if its source lies deeper, or if the accepted one leaves a final state; otherwise it is dropped.
    """
    accepted: list[int] = []
    for number, mine in enumerate(chosen):
        replaced: set[int] = set()
        dropped = False
        if mine is not None:
            source = mine[0]
            for earlier in accepted:
                other = chosen[earlier]
                if other is None or not _meet(mine[1], other[1], inclusive=mine[2], other_inclusive=other[2]):
                    continue
                deeper = other[0] is not source and other[0].contains(source)
                if deeper or (other[0].kind == FINAL and source.kind != FINAL):
                    replaced.add(earlier)
                else:
                    dropped = True
                    break
        if not dropped:
            accepted = [index for index in accepted if index not in replaced]
            accepted.append(number)
    return accepted


def _meet(a: Node | None, b: Node | None, *, inclusive: bool, other_inclusive: bool) -> bool:
    # None leaves everything. Domains are active, so exit sets meet where the domains are nested and the inner one
    # leaves anything at all: its children (unless it is a leaf) or itself.
    if a is None or b is None:
        inner, inner_inclusive = (b, other_inclusive) if a is None else (a, inclusive)
        return inner is None or inner_inclusive or inner.kind in (COMPOUND, PARALLEL)
    if a is b:
        return a.kind in (COMPOUND, PARALLEL) or (inclusive and other_inclusive)
    if a.contains(b):
        return other_inclusive or b.kind in (COMPOUND, PARALLEL)
    if b.contains(a):
        return inclusive or a.kind in (COMPOUND, PARALLEL)
    return False
