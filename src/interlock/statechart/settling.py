"""The general step: one input, and then the whole tree of machines comes to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.statechart.budget import Budget
from interlock.statechart.effects import Start, Terminate, new_effect
from interlock.statechart.events import USAGE, InternalEvent
from interlock.statechart.macrostep import begin, macrostep
from interlock.statechart.moves import UNSET
from interlock.statechart.selection import select
from interlock.statechart.tree import Tree, current_child
from interlock.statechart.working import Trace, Working

if TYPE_CHECKING:
    from interlock.statechart.effects import Effect
    from interlock.statechart.events import Input
    from interlock.statechart.machine import Machine
    from interlock.statechart.selection import Choice
    from interlock.statechart.snapshot import Snapshot

__all__ = ["Result", "Trace", "deliver", "settle", "start"]

Result = tuple["Snapshot[Any]", "tuple[Effect, ...]"]


def start(machine: Machine[Any, Any, Any], given: Any, at: float | None, trace: Trace | None) -> Result:
    """Start a machine."""
    effects: list[Effect] = []
    root = begin(machine, given, at, effects, Budget(), (), trace)
    tree = Tree(root, at, effects)
    tree.after(root)
    tree.deliver()
    return root.freeze(), tuple(effects)


def settle(
    machine: Machine[Any, Any, Any],
    snapshot: Snapshot[Any],
    event: Any,
    at: float | None,
    chosen: list[Choice] | None,
    trace: Trace | None,
) -> Result:
    """Give the root an event. ``chosen`` is what it selects, where that is known already."""
    configuration = snapshot.configuration
    if configuration.inert:
        return snapshot, ()
    effects: list[Effect] = []
    root = Working(machine, snapshot, at, effects, Budget(), (), trace)
    if chosen is None:
        chosen = select(root, event)
        if not chosen and not configuration.eventless:
            return snapshot, ()
    macrostep(root, event, chosen)
    if machine.alone:
        # No child can be a machine: what follows a macrostep is short.
        effects.extend(
            [
                new_effect(Start, (child.id, child.seq, ()))
                for child in root.started
                if root.children.get(child.id) is child
            ]
        )
        if root.status != "active":
            effects.append(Terminate(root.status))
    else:
        tree = Tree(root, at, effects)
        tree.after(root)
        tree.deliver()
    return _result(root)


def deliver(
    machine: Machine[Any, Any, Any], snapshot: Snapshot[Any], given: Input, at: float | None, trace: Trace | None
) -> Result:
    """Take a step with an input that is more than an event for the root."""
    if snapshot.configuration.inert:
        return snapshot, ()
    effects: list[Effect] = []
    root = Working(machine, snapshot, at, effects, Budget(), (), trace)
    tree = Tree(root, at, effects)
    target = tree.find(given.address)
    if target is None:
        return snapshot, ()
    if given.timer is not None:
        tree.fire(target, given.timer)
        tree.deliver()
        return _result(root)
    key, child = given.invocation, None
    if key is not None:
        child = current_child(target, key)
        if child is not None:
            key = child.key
        elif "#" in key or given.event is not None or given.record is not UNSET:
            # It is not running any more and has nothing to say: its event and record are void with it.
            return snapshot, ()
    if given.usage is not None:
        told = InternalEvent(USAGE, output=root.json(given.usage, "usage", root.table.root, None))
        if select(root, told):
            tree.give(root, told)
            tree.deliver()
            target = tree.find(given.address)
            if target is None or target.status != "active" or (child is not None and _gone(target, key)):
                return _result(root)  # too expensive: what it has come to is void with it
    if given.event is not None:
        tree.give(target, given.event)
        tree.deliver()
    if key is not None and target.status == "active" and tree.find(given.address) is target:
        _report(tree, target, key, given)
    return _result(root)


def _gone(target: Working, key: str | None) -> bool:
    return key is not None and current_child(target, key) is None


def _report(tree: Tree, target: Working, key: str, given: Input) -> None:
    """Hand over what an invocation reports, if it still runs after the event that came with it."""
    child = current_child(target, key)
    if child is None and "#" in key:
        return
    if given.record is not UNSET and child is not None:
        record = target.json(given.record, "record", target.table.root, given.event)
        target.fresh_children()[child.id] = child.with_(records=child.records.append(record))
    if given.output is not UNSET:
        tree.report(target, key, "done", given.output)
    elif given.error is not UNSET:
        tree.report(target, key, "error", target.failure(given.error))
    tree.deliver()


def _result(root: Working) -> Result:
    return root.freeze(), tuple(root.effects)
