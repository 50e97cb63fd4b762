"""Short forms of steps, worked out the first time that a configuration meets an event type.

Most steps are quiet: no effects, no entry or exit functions, no timers, no invocations, nothing eventless. For those
a configuration remembers where a static transition leads, or which handlers to ask. Whatever is not quiet goes to the
general step (``settling``), with the moves that were already asked for; the results are the same, which tests hold by
running every case both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from interlock.statechart.chart import Configuration
from interlock.statechart.errands import Errands, errands_of
from interlock.statechart.microstep import route_to
from interlock.statechart.moves import Move
from interlock.statechart.routing import Route, plan_for
from interlock.statechart.selection import candidates_on_path
from interlock.statechart.settling import settle
from interlock.statechart.snapshot import Draft, Snapshot

if TYPE_CHECKING:
    from interlock.statechart.candidates import Candidate
    from interlock.statechart.nodes import Node

__all__ = ["shortcut"]

Step = Callable[[Any, Any, Any, "float | None"], Any]


def shortcut(configuration: Configuration, event_type: str) -> Configuration | Step:
    """Return how to take a step from ``configuration`` on this event type: where it leads, or a function that steps."""
    if configuration.inert:
        return _ignore
    if configuration.eventless or event_type[0] == "@":
        return _settle
    if configuration.single is None:
        return _by_regions if configuration.table.parallels == 1 else _settle
    narrowing = configuration.table.narrowing
    if narrowing and not narrowing.keys().isdisjoint(configuration.nodes):
        return _settle  # what the context becomes must be looked at
    candidates = candidates_on_path(configuration, event_type)
    if not candidates:
        return _ignore
    first = candidates[0]
    if first.plain and first.route is not None:
        after = _along(first.route, configuration)
        if isinstance(after, Configuration):
            return after
    if any(candidate.handler_wide or candidate.guard_wide or candidate.cancels for candidate in candidates):
        return _settle
    return _by_handlers(candidates, configuration)


def _ignore(machine: Any, snapshot: Any, event: Any, at: float | None) -> Any:
    del machine, event, at
    return snapshot, ()


def _settle(machine: Any, snapshot: Any, event: Any, at: float | None) -> Any:
    return settle(machine, snapshot, event, at, None, None)


# -- one active leaf ---------------------------------------------------------------------------------------------------

_UNKNOWN: Any = object()


def _by_handlers(candidates: tuple[Candidate, ...], configuration: Configuration) -> Step:
    """Return the step for one active leaf: ask the candidates in order, and make the first move, if it is quiet."""
    patch_context = configuration.table.context.patch
    # Guard, handler and static move, and where each target leads: a configuration, errands, or None.
    asked: list[tuple[Candidate, Any, Any, Any, dict[Any, Any]]] = [
        (candidate, candidate.guard, candidate.handler, candidate.static_move, {}) for candidate in candidates
    ]

    def step(machine: Any, snapshot: Any, event: Any, at: float | None) -> Any:
        context = snapshot.context
        for candidate, guard, handler, move, places in asked:
            try:
                if guard is not None and (allowed := guard(context, event)) is not True:
                    if allowed is False:
                        continue
                    return settle(machine, snapshot, event, at, None, None)  # which judges other answers
                if handler is not None:
                    move = handler(context, event)  # noqa: PLW2901  # the static move of a handler is None
                    if move is None:
                        continue
            except Exception:  # noqa: BLE001  # the general step asks again (functions are pure) and names the place
                return settle(machine, snapshot, event, at, None, None)
            if move.__class__ is not Move and not isinstance(move, Move):
                return settle(machine, snapshot, event, at, None, None)
            after = places.get(move.target, _UNKNOWN)
            if after is _UNKNOWN:
                after = places[move.target] = cast("Any", _place(candidate, move, configuration))
            if after.__class__ is Errands and move.__class__ is Move:
                done = after.run(snapshot, at, move.patch) if machine.alone else None
                return done or settle(
                    machine, snapshot, event, at, [(candidate, None if handler is None else move)], None
                )
            if after is None or move.__class__ is not Move:
                return settle(machine, snapshot, event, at, [(candidate, None if handler is None else move)], None)
            if move.patch:
                try:
                    context = patch_context(context, move.patch)
                except Exception:  # noqa: BLE001  # whatever it is, the general step says which field of which move
                    return settle(machine, snapshot, event, at, None, None)
            elif after is configuration:
                return snapshot, ()
            made: Any = Draft(after, context, snapshot.rest)
            made.__class__ = Snapshot
            return made, ()
        return snapshot, ()

    return step


def _place(candidate: Candidate, move: Move, configuration: Configuration) -> Configuration | Errands | None:
    """Return where a move leads from a single leaf; None where that is for the general step to say."""
    if move.target is None and candidate.route is None:
        return None if candidate.reenter else configuration
    route = route_to(candidate, move)
    return None if route is None else _along(route, configuration)


def _along(route: Route, configuration: Configuration) -> Configuration | Errands | None:
    """Return where a route leads from a single leaf, with the errands on the way if there are any."""
    if route.history:
        return None
    plan = plan_for(route, configuration)
    after = configuration.table.configuration(plan.leaves) if plan.entries or plan.exits else configuration
    if after.eventless:
        return None
    return after if plan.simple else errands_of(plan, after)


# -- the regions of the chart's only parallel state --------------------------------------------------------------------


Asked: TypeAlias = "tuple[Candidate, Any, Any, Any, dict[Any, Node | None]]"
"""A candidate of a leaf's region, its guard, handler or static move, and the leaf after each target met so far."""


class _Region:
    """What a leaf's region is asked on an event type; ``asked`` is None where context and event do not suffice."""

    __slots__ = ("asked", "constant")

    def __init__(self, candidates: tuple[Candidate, ...]) -> None:
        wide = any(candidate.handler_wide or candidate.guard_wide for candidate in candidates)
        asked: list[Asked] = [
            (candidate, candidate.guard, candidate.handler, candidate.static_move, {}) for candidate in candidates
        ]
        self.asked = None if wide else tuple(asked)
        self.constant = not candidates or candidates[0].plain or candidates[0].bare


def _by_regions(machine: Any, snapshot: Any, event: Any, at: float | None) -> Any:
    """Take a step in which each leaf moves within its own region, and remember whom to ask from this configuration."""
    configuration = snapshot.configuration
    event_type = event.type
    asks: list[tuple[int, Node, tuple[Asked, ...]]] = []
    constant = True
    for number, leaf in enumerate(configuration.leaves):
        region = leaf.regions.get(event_type)
        if region is None:
            region = leaf.remember_region(event_type, _Region(leaf.region_candidates(event_type)))
        if region.asked is None:
            configuration.remember(event_type, _settle)
            return _settle(machine, snapshot, event, at)
        if region.asked:
            asks.append((number, leaf, region.asked))
            constant = constant and region.constant
    step = partial(_ask_regions, asks, constant)
    configuration.remember(event_type, step)
    return step(machine, snapshot, event, at)


def _ask_regions(  # noqa: C901  # the hot path: each call of a part of its own would cost as much as the part
    asks: list[tuple[int, Node, tuple[Asked, ...]]],
    constant: bool,  # noqa: FBT001  # bound once, by position
    machine: Any,
    snapshot: Any,
    event: Any,
    at: float | None,
) -> Any:
    """Ask the regions that handle the event; only leaves that move cost anything.

    As soon as something is not quiet the general step takes over and asks again (at most twice, then, per handler).
    """
    configuration = snapshot.configuration
    context = snapshot.context
    leaves: list[Node] | None = None
    patch: Any = None
    answered = merged = False
    for number, leaf, asked in asks:
        for candidate, guard, handler, move, places in asked:
            try:
                if guard is not None and (allowed := guard(context, event)) is not True:
                    if allowed is False:
                        continue
                    return settle(machine, snapshot, event, at, None, None)  # which judges other answers
                if handler is not None:
                    move = handler(context, event)  # noqa: PLW2901  # the static move of a handler is None
                    if move is None:
                        continue
            except Exception:  # noqa: BLE001  # the general step asks again (functions are pure) and names the place
                return settle(machine, snapshot, event, at, None, None)
            if move.__class__ is not Move:
                return settle(machine, snapshot, event, at, None, None)
            target = move.target
            after = places.get(target, _UNKNOWN)
            if after is _UNKNOWN:
                after = places[target] = _leaf_after(candidate, move, configuration, leaf)
            if after is None:
                return settle(machine, snapshot, event, at, None, None)
            answered = True
            if after is not leaf:
                if leaves is None:
                    leaves = list(configuration.leaves)
                leaves[number] = after
            if move.patch:
                if patch is None:
                    patch = move.patch
                elif merged:
                    patch.update(move.patch)
                else:
                    patch = {**patch, **move.patch}
                    merged = True
            break
    if not answered:
        # The states above the regions may answer.
        return settle(machine, snapshot, event, at, None, None)
    after_all = configuration if leaves is None else configuration.table.configuration(tuple(leaves))
    if after_all.eventless:
        return settle(machine, snapshot, event, at, None, None)
    if patch:
        table = configuration.table
        if table.narrowing:
            return settle(machine, snapshot, event, at, None, None)
        try:
            context = table.context.patch(context, patch)
        except Exception:  # noqa: BLE001  # whatever it is, the general step says which field of which move
            return settle(machine, snapshot, event, at, None, None)
    elif after_all is configuration:
        return snapshot, ()
    elif constant:
        configuration.moves[event.type] = after_all
    made: Any = Draft(after_all, context, snapshot.rest)
    made.__class__ = Snapshot
    return made, ()


def _leaf_after(candidate: Candidate, move: Move, configuration: Configuration, leaf: Node) -> Node | None:
    """Return the leaf of a region after a move; None where the move is not quiet or does not stay in the region."""
    if move.target is None and candidate.route is None:
        return None if candidate.reenter else leaf
    route = route_to(candidate, move)
    if route is None or route.history or not route.local:
        return None
    plan = plan_for(route, configuration)
    if not plan.simple or len(plan.leaves) != 1:
        return None
    return plan.leaves[0] if plan.entries or plan.exits else leaf
