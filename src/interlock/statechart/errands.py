"""The short step of a transition whose states have errands: entry and exit functions, timers, invocations.

What is to do is read from the plan once; each step then does just that. Anything out of the ordinary (a function that
asks for effects or raises, a child machine, a missing time) is left to the general step, which starts afresh: the
author's functions are pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from interlock.errors import InterlockError, NotJsonError
from interlock.statechart.chart import Configuration
from interlock.statechart.definition import WithAt
from interlock.statechart.effects import Cancel, Schedule, Spawn, Start, Stop, new_effect
from interlock.statechart.frozen import freeze
from interlock.statechart.kinds import FINAL
from interlock.statechart.moves import UNSET, Move
from interlock.statechart.nodes import Node
from interlock.statechart.owing import Child, Timer
from interlock.statechart.routing import Plan
from interlock.statechart.snapshot import Draft, Rest, Snapshot

__all__ = ["Errands", "errands_of"]


class Errands:
    """What a step from one active leaf does on its way; ``run`` returns None where only the general step will do."""

    __slots__ = ("after", "entries", "exits", "patch")

    def __init__(self, after: Configuration, exits: list[Any], entries: list[Any]) -> None:
        self.after = after
        self.exits = exits
        self.entries = entries
        self.patch = after.table.context.patch

    def run(self, snapshot: Any, at: float | None, changes: Mapping[str, Any] | None) -> Any:
        """Take the step; ``changes`` is the transition's own patch."""
        try:
            return self._run(snapshot, at, changes)
        except Exception:  # noqa: BLE001  # whatever it is, the general step meets it again and names the place
            return None

    def _run(self, snapshot: Any, at: Any, changes: Mapping[str, Any] | None) -> Any:
        rest = snapshot.rest
        context = snapshot.context
        children: dict[str, Child] = dict(rest.children)
        timers: dict[str, Timer] = dict(rest.timers)
        seq = rest.seq
        effects: list[Any] = []
        starts: list[Any] = []
        for timer_ids, function, invocation_ids in self.exits:
            for timer_id in timer_ids:
                effects.append(new_effect(Cancel, (timer_id, ())))
                timers.pop(timer_id, None)
            if function is not None:
                context = self._call(function, context)
            for child_id in invocation_ids:
                child = children.pop(child_id, None)
                if child is not None:
                    effects.append(new_effect(Stop, (child_id, child.seq, ())))
        if changes:
            context = self.patch(context, changes)
        # A mapping that has been emptied is larger than a new one.
        children = children or {}
        timers = timers or {}
        for invocations, node_timers, function in self.entries:
            for child_id, src, given, invocation in invocations:
                if child_id in children:
                    return None
                seq += 1
                children[child_id] = Child(child_id, seq, src, given, invocation)
                effects.append(new_effect(Spawn, (child_id, seq, src, given, ())))
                starts.append(new_effect(Start, (child_id, seq, ())))
            for timer_id, delay in node_timers:
                seq += 1
                due = at + delay
                timers[timer_id] = Timer(timer_id, seq, delay, due)
                effects.append(new_effect(Schedule, (timer_id, seq, delay, due, None, ())))
            if function is not None:
                context = self._call(function, context)
        effects += starts
        kept = Rest("active", seq, children, timers, rest.history, rest.inputs, rest.results, None)
        made: Any = Draft(self.after, context, kept)
        made.__class__ = Snapshot
        return made, tuple(effects)

    def _call(self, function: Callable[[Any], Any], context: Any) -> Any:
        move = function(context)
        if move is None:
            return context
        if move.__class__ is not Move or move.target is not None:
            raise InterlockError("not a quiet move")
        return self.patch(context, move.patch) if move.patch else context


def errands_of(plan: Plan, after: Configuration) -> Errands | None:
    """Return the errands of a plan, or None where it holds what only the general step can do."""
    if after.eventless or any(node.histories or node.kind == FINAL for node in plan.exits):
        return None
    exits: list[Any] = []
    for node in plan.exits:
        if node.noisy_exit:
            if isinstance(node.exit, WithAt):
                return None
            exits.append(
                (tuple([t.id for t in reversed(node.timers)]), node.exit, tuple([i.id for i in node.invocations]))
            )
    entries: list[Any] = []
    for node in plan.entries:
        if node.noisy_entry:
            if not _ordinary(node):
                return None
            try:
                invocations = tuple([(i.id, i.src, freeze(i.input, models=True), i) for i in node.invocations])
            except NotJsonError:
                return None  # the general step names the place
            entries.append((invocations, tuple([(t.id, t.delay) for t in reversed(node.timers)]), node.entry))
    return Errands(after, exits, entries)


def _ordinary(node: Node) -> bool:
    return not (
        node.kind == FINAL
        or node.definition.context is not None
        or isinstance(node.entry, WithAt)
        or node.definition.initial_input is not UNSET
        or any(not isinstance(timer.delay, (int, float)) for timer in node.timers)
        or any(callable(invocation.input) or invocation.input_wide for invocation in node.invocations)
    )
