"""What can be known to be wrong with the transitions, targets and delays that an author declared."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from interlock.errors import DefinitionError, did_you_mean
from interlock.statechart.definition import Transition, WithAt, is_deferred, name_of
from interlock.statechart.nodes import Node
from interlock.statechart.targets import find_target, in_different_regions

__all__ = ["check_delay_name", "check_targets", "check_transitions", "checked_delay", "known_target", "refused"]

_RESERVED_ALLOWED = frozenset({"@agent.usage", "@error.communication"})
"""Types of the library's own events that an author may handle by name."""

_RESERVED_PREFIXES = ("@done.invoke.", "@error.invoke.")
"""How children report. Spawned ones are heard with ``on``, as in ``"@done.invoke.*"``, for no state invokes them."""


def check_transitions(node: Node, transitions: Sequence[Transition], slot: str) -> None:
    """Check the transitions of one slot of a state: what they are on, where they lead, and that each can be taken."""
    closed: set[str] | None = None
    for transition in transitions:
        event: Any = transition.event
        if slot == "on":
            if not (isinstance(event, str) and event.isidentifier()):  # nearly all are
                _check_descriptor(node, event)
        elif event:
            raise refused(node, "invalid-transition", f"{slot}: a transition for event {event!r} does not belong here")
        for function in (transition.guard, transition.handler):
            if function is not None and is_deferred(function):
                raise refused(
                    node,
                    "invalid-handler",
                    f"{slot}{' ' + repr(event) if event else ''}: {name_of(function)} is async or a generator; a "
                    "machine's functions are plain ones that answer at once (what waits for something is work: invoke "
                    "it)",
                )
        targets = transition.targets
        if targets is not None:
            if transition.handler is None and len(targets) == 1:
                # The common shape first: one sibling.
                parent = node.parent
                if parent is None or targets[0] not in parent.by_key:
                    known_target(node, targets[0], slot)
            else:
                check_targets(node, targets, slot, together=transition.handler is None)
        if len(transitions) > 1:
            if closed and event in closed:
                raise refused(
                    node,
                    "unreachable-transition",
                    f"{slot}{' ' + repr(event) if event else ''}: a transition stands behind one that is always taken; "
                    "put it first or give the earlier one a guard (several targets of one transition are written "
                    "to([...]))",
                )
            if transition.handler is None and transition.guard is None:
                closed = {event} if closed is None else closed | {event}


def _check_descriptor(node: Node, event: Any) -> None:
    if not isinstance(event, str) or not event:
        raise refused(node, "invalid-descriptor", f"{event!r} is no event type")
    if event.startswith("@") and event not in _RESERVED_ALLOWED and not event.startswith(_RESERVED_PREFIXES):
        raise refused(
            node,
            "reserved-event",
            f"{event!r} names one of the engine's own events; use on_done, on_error, after or on_timeout",
        )
    if "*" in event and event != "*" and (event.count("*") != 1 or not event.endswith(".*") or event == ".*"):
        raise refused(
            node, "invalid-descriptor", f"{event!r}: a '*' stands alone or at the end after a dot, as in 'todo.*'"
        )


def check_targets(node: Node, targets: tuple[str, ...] | None, slot: str, *, together: bool = False) -> None:
    """Check that the targets exist and, where ``together``, that they can be active at the same time."""
    if targets is None:
        return
    nodes = [known_target(node, name, slot) for name in targets]
    if together and not targets:
        raise refused(node, "invalid-target", f"{slot}: an empty list of targets; leave it out to stay")
    if together and len(nodes) > 1:
        for number, one in enumerate(nodes):
            for other in nodes[number + 1 :]:
                if not in_different_regions(one, other):
                    raise refused(
                        node,
                        "invalid-target",
                        f"{slot}: targets {one.id!r} and {other.id!r} cannot be active together; several targets must "
                        "lie in different regions of a parallel state",
                    )


def known_target(node: Node, name: Any, slot: str) -> Node:
    """Return the state that a target names, or raise the error that says what it could have been."""
    found = find_target(node, name)
    if found is None:
        if not isinstance(name, str):
            raise refused(
                node, "invalid-target", f"{slot}: {name!r} is no target; give a state's key, '.child' or '#id'"
            )
        raise refused(node, "unknown-target", f"{slot}: there is no state {name!r}. {_target_hint(node, name)}")
    return found


def _target_hint(node: Node, name: str) -> str:
    near: list[str] = ["#" + id for id in node.table.by_id] if name.startswith("#") else []
    if not near:
        near = ["." + key for key in node.by_key]
        if node.parent is not None:
            near += list(node.parent.by_key)
    hint = did_you_mean(name, near)
    if not hint.startswith("Did") and node.parent is None and name in node.by_key:
        return f"From the root a child is written {'.' + name!r}."
    return hint


def check_delay_name(node: Node, delay: Any) -> None:
    """Refuse a named delay that the machine does not declare."""
    if isinstance(delay, str) and delay not in node.table.delays:
        raise refused(
            node,
            "unknown-delay",
            f"the delay {delay!r} is not among the machine's delays. {did_you_mean(delay, node.table.delays)}",
        )


def checked_delay(machine: str, name: str, value: Any) -> Any:
    """Return a named delay as seconds, or the function that will compute it."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, WithAt) or callable(value):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf"):
        return value
    raise DefinitionError(
        f"delays[{name!r}] is {value!r}; give seconds (0 or more), a timedelta or a function of the context",
        code="invalid-delay",
        machine=machine,
    )


def refused(node: Node, code: str, message: str) -> DefinitionError:
    """Return the error that names the machine and the state."""
    return DefinitionError(message, code=code, machine=node.table.id, state=node.path or "(root)")
