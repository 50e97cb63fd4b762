"""One microstep: leave, transition, enter; and what follows from entering final states.

Order of work: records of history; exits, innermost first; then the transitions, each computed on the context from
before the microstep (so an exit's change of a field that a transition sets as well is overwritten); then entries in
document order. A node starts its invocations and timers before its own entry function runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from interlock.errors import InvalidMoveError, did_you_mean
from interlock.statechart.candidates import Candidate
from interlock.statechart.completion import entered_final, finish
from interlock.statechart.definition import WithAt
from interlock.statechart.kinds import FINAL, HISTORY
from interlock.statechart.moves import UNSET, Move
from interlock.statechart.narrowing import check_active, check_entered
from interlock.statechart.nodes import Node
from interlock.statechart.operations import apply, cancel, invoke, operate, schedule_own, stop
from interlock.statechart.routing import (
    Plan,
    Route,
    complete,
    domain_of,
    effective_targets,
    exits_of,
    plan_for,
    resolve_conflicts,
)
from interlock.statechart.targets import find_target

if TYPE_CHECKING:
    from interlock.statechart.owing import Child
    from interlock.statechart.selection import Choice
    from interlock.statechart.working import Working

__all__ = ["enter_root", "microstep", "route_to"]


def route_of(working: Working, candidate: Candidate, move: Move | None, event: Any) -> Route | None:
    """Return the route of a selected transition, None where it stays. Raises where the move leads nowhere."""
    if move is None:
        return candidate.route
    if move.target is None and not (move.reentering or candidate.reenter):
        return None
    route = route_to(candidate, move)
    if route is None:
        names = (move.target,) if isinstance(move.target, str) else tuple(move.target or ())
        if not names:
            raise working.refuse("invalid-targets", "the move has no targets; use stay()", candidate.node, event)
        for name in names:
            _check_target(working, candidate, name, event)
        raise working.refuse(
            "invalid-targets",
            f"the targets {', '.join(map(repr, names))} cannot be active together; several targets must lie in "
            "different regions of a parallel state",
            candidate.node,
            event,
        )
    return route


def route_to(candidate: Candidate, move: Move) -> Route | None:
    """Return the (cached) route of a move; None where a target is unknown, undeclared, or excluded by another."""
    if candidate.handler is None:
        return candidate.route
    reenter = move.reentering or candidate.reenter
    key = (move.target, reenter)
    route = candidate.routes.get(key)
    if route is None:
        node = candidate.node
        if move.target is None:
            nodes: tuple[Node | None, ...] = (node,)
        else:
            names = (move.target,) if isinstance(move.target, str) else tuple(move.target)
            if candidate.allowed is not None and not candidate.allowed.issuperset(names):
                return None
            nodes = tuple([find_target(node, name) for name in names])
        found = tuple([item for item in nodes if item is not None])
        if len(found) != len(nodes) or not found:
            return None
        try:
            route = candidate.routes[key] = node.table.route(node, found, reenter=reenter)
        except InvalidMoveError:
            return None  # they cannot be active together
    return route


def _check_target(working: Working, candidate: Candidate, name: Any, event: Any) -> None:
    node = candidate.node
    found = find_target(node, name)
    if found is None:
        near = [*(node.parent.by_key if node.parent is not None else ()), *("." + key for key in node.by_key)]
        raise working.refuse(
            "unknown-target",
            f"the move leads to {name!r}, which does not exist. {did_you_mean(str(name), near)}",
            node,
            event,
        )
    if candidate.allowed is not None and name not in candidate.allowed:
        raise working.refuse(
            "undeclared-target",
            f"the move leads to {name!r}, which is not among the targets {sorted(candidate.allowed)} that are "
            "declared for (or read from the code of) its handler; declare it with to=[...]",
            node,
            event,
        )


def microstep(working: Working, chosen: Sequence[Choice], event: Any) -> None:
    """Carry out the selected transitions."""
    working.budget.spend(working, event)
    working.children_owned = False
    steps: list[tuple[Candidate, Move | None, Route | None]] = [
        (candidate, move, route_of(working, candidate, move, event)) for candidate, move in chosen
    ]
    if len(steps) > 1:
        steps = _without_conflicts(working, steps)
    _carry_out(working, steps, event)
    if working.status == "done":
        finish(working, event)
    if working.trace is not None:
        working.trace.append((working.freeze(), tuple(working.effects)))


def _without_conflicts(
    working: Working, steps: list[tuple[Candidate, Move | None, Route | None]]
) -> list[tuple[Candidate, Move | None, Route | None]]:
    found: list[tuple[Node, Node | None, bool] | None] = []
    for candidate, _, route in steps:
        if route is None:
            found.append(None)
            continue
        domain, inclusive = _recalled_domain(working, route) if route.history else (route.domain, route.inclusive)
        found.append((candidate.node, domain, inclusive))
    return [steps[index] for index in resolve_conflicts(found)]


def _recalled_domain(working: Working, route: Route) -> tuple[Node | None, bool]:
    """Return the domain of a route that depends on what has been recorded by now."""
    effective = effective_targets(route.targets, working.history.get)
    return domain_of(route.source, route.targets, effective, reenter=route.reenter)


def _carry_out(working: Working, steps: Sequence[tuple[Candidate, Move | None, Route | None]], event: Any) -> None:
    configuration = working.configuration
    seen = working.children
    plans: list[tuple[Plan, Route, Node | None]] = []
    recalled: list[tuple[Route, Node | None, bool]] = []
    leaves = configuration.leaves
    for _, _, route in steps:
        if route is None:
            continue
        if route.history:
            recalled.append((route, *_recalled_domain(working, route)))
        else:
            plans.append((plan_for(route, configuration), route, route.domain))
    exits: tuple[Node, ...] | list[Node] = plans[0][0].exits if len(plans) == 1 and not recalled else ()
    if not exits and (plans or recalled):
        together: set[Node] = set()
        for plan, _, _ in plans:
            together.update(plan.exits)
        for _, domain, inclusive in recalled:
            first, last = configuration.slice_of(domain) if domain is not None else (0, len(leaves))
            together.update(exits_of(leaves[first:last], domain, inclusive=inclusive))
        exits = sorted(together, key=lambda node: -node.index)
    if exits:
        _record_history(working, exits, leaves)
    for route, domain, inclusive in recalled:
        # Completed only now: a history target uses what this very microstep has recorded.
        effective = effective_targets(route.targets, working.history.get)
        top = domain or working.table.root
        entries, new_leaves, defaulted = complete(top, effective, inclusive=inclusive, recall=working.history.get)
        # Coming in by a history state's default counts as entering its parent by default.
        defaulted += tuple(
            [
                target.parent
                for target in route.targets
                if target.kind == HISTORY and target not in working.history and target.parent is not None
            ]
        )
        plans.append((Plan((), entries, defaulted, new_leaves), route, domain))
    for node in exits:
        if node.noisy_exit:
            _exit(working, node, event, seen)
    _transitions(working, steps, event, seen)
    if plans:
        working.configuration = _moved(working, plans)
        entries = plans[0][0].entries
        if len(plans) > 1:
            merged = {node for plan, _, _ in plans for node in plan.entries}
            entries = tuple(sorted(merged, key=lambda node: node.index))
        _enter(working, entries, {node for plan, _, _ in plans for node in plan.inputs}, event)
    if working.table.narrowing:
        check_active(working, event)


def _moved(working: Working, plans: Sequence[tuple[Plan, Route, Node | None]]) -> Any:
    configuration = working.configuration
    if len(plans) == 1:
        plan, _, domain = plans[0]
        if domain is None or len(configuration.leaves) == 1:
            leaves = plan.leaves
        else:
            first, last = configuration.slice_of(domain)
            leaves = configuration.leaves[:first] + plan.leaves + configuration.leaves[last:]
    else:
        found = list(configuration.leaves)
        for plan, _, domain in plans:
            if not plan.entries:
                continue  # a state that "goes" to itself without leaving; somebody else may have left it
            found = [leaf for leaf in found if domain is not None and not domain.contains(leaf)]
            found.extend(plan.leaves)
        leaves = tuple(sorted(found, key=lambda node: node.index))
    return working.table.configuration(leaves)


def _record_history(working: Working, exits: Sequence[Node], leaves: tuple[Node, ...]) -> None:
    recorded: dict[Node, tuple[Node, ...]] | None = None
    for node in exits:
        for history in node.histories:
            if recorded is None:
                recorded = dict(working.history)
            below = tuple([leaf for leaf in leaves if node.contains(leaf)])
            if history.definition.deep:
                recorded[history] = below
            else:
                recorded[history] = tuple(
                    [child for child in node.children if any(child.contains(leaf) for leaf in below)]
                )
    if recorded is not None:
        working.history = recorded


def _exit(working: Working, node: Node, event: Any, seen: Any) -> None:
    for timer in reversed(node.timers):
        cancel(working, timer.id)
    if node.exit is not None:
        move = working.call(node.exit, node, event)
        if move is not None:
            apply(working, move, node, event, seen, node.exit)
    for invocation in node.invocations:
        child = working.children.get(invocation.id)
        if child is not None:
            stop(working, child)
    if node.kind == FINAL and node in working.results:
        working.results = {key: value for key, value in working.results.items() if key is not node}


def _transitions(
    working: Working,
    steps: Sequence[tuple[Candidate, Move | None, Route | None]],
    event: Any,
    seen: Any,
) -> None:
    # The moves were computed before the exits; their patches go over what the exits have left.
    for candidate, move, route in steps:
        node = candidate.node
        if move is None:
            if candidate.patch:
                working.patch(candidate.patch, node, event)
            if candidate.operations:
                operate(working, candidate.operations, node, event, seen)
            given = candidate.input
        else:
            if move.patch:
                working.patch(move.patch, node, event)
            if move.operations:
                operate(working, move.operations, node, event, seen)
            given = move.input if move.input is not UNSET else candidate.input
        if candidate.cancels is not None:
            cancel(working, candidate.cancels)
        if given is not UNSET and route is not None:
            value = given if not (callable(given) or isinstance(given, WithAt)) else working.call(given, node, event)
            for target in route.targets:
                working.set_input(target, value, node, event)


def enter_root(working: Working, event: Any) -> None:
    """Enter the initial states."""
    root = working.table.root
    working.budget.started += 1
    working.budget.spend(working, event)
    entries, leaves, defaulted = complete(root, (root,), inclusive=True, recall=working.history.get)
    working.configuration = working.table.configuration(leaves)
    _enter(working, entries, set(defaulted), event)
    if working.table.narrowing:
        check_active(working, event)
    if working.status == "done":
        finish(working, event)
    if working.trace is not None:
        working.trace.append((working.freeze(), tuple(working.effects)))


def _enter(working: Working, entries: Sequence[Node], defaulted: set[Node], event: Any) -> None:
    # What entry functions see as children: those left by exits and transitions, and the invocations entered so far.
    seen = working.children
    working.children_owned = False
    completed: set[Node] = set()
    entered: set[Node] | None = None
    visible: dict[str, Child] | None = None
    for node in entries:
        if not node.noisy_entry:
            continue
        if working.table.narrowing:
            check_entered(working, node, event)
        for invocation in node.invocations:
            invoke(working, invocation, node, event)
            if visible is None:
                visible = dict(seen)
            visible[invocation.id] = working.children[invocation.id]
        for timer in reversed(node.timers):
            schedule_own(working, timer, node, event)
        if node.entry is not None:
            move = working.call(node.entry, node, event)
            if move is not None:
                apply(working, move, node, event, visible if visible is not None else seen, node.entry)
        if node in defaulted and node.definition.initial_input is not UNSET and node.initial is not None:
            given = node.definition.initial_input
            value = working.call(given, node, event) if callable(given) or isinstance(given, WithAt) else given
            working.set_input(node.initial, value, node, event)
        if node.kind == FINAL:
            if entered is None:
                entered = set(entries)
            entered_final(working, node, event, entered, completed)
