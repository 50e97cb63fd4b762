"""What moves ask for, carried out on the machine being worked on: events, timers and children."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from interlock.errors import InputError, MissingTimeError, did_you_mean
from interlock.statechart.definition import WithAt
from interlock.statechart.effects import Cancel, Emit, Log, Schedule, Send, Spawn, Stop
from interlock.statechart.events import InternalEvent, as_event
from interlock.statechart.owing import Child, Timer
from interlock.statechart.snapshot import Snapshot
from interlock.statechart.working import Working, short

if TYPE_CHECKING:
    from interlock.statechart.moves import Operation
    from interlock.statechart.nodes import Invocation, Node, NodeTimer

__all__ = ["apply", "cancel", "deliver_to", "invoke", "operate", "schedule_own", "stop"]

# -- operations ------------------------------------------------------------------------------------------------


def operate(
    working: Working, operations: tuple[Operation, ...], node: Node, event: Any, seen: Mapping[str, Child]
) -> None:
    """Carry out what a move asks for. ``seen`` are the children that its function could see."""
    for operation in operations:
        name = operation.name
        for given in (operation.id, operation.to):
            if given is not None and not isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # whatever a function has returned
                raise working.refuse(
                    "invalid-name",
                    f"{name}({short(given)}): ids, children and sources are named by texts (a source by its name in "
                    "sources= of the machine)",
                    node,
                    event,
                )
        if name == "log":
            working.effects.append(Log(operation.payload, working.address))
        elif name == "emit":
            working.effects.append(Emit(as_sent(working, operation.payload, node, event), working.address))
        elif name == "raise":
            raised = as_sent(working, operation.payload, node, event)
            if operation.delay is None:
                working.queue.append(raised)
            else:
                schedule(working, operation, raised, node, event, None)
        elif name == "cancel":
            cancel(working, f"id:{operation.id}")
        elif name == "spawn":
            spawn(working, operation, node, event)
        elif name == "stop":
            child = seen.get(operation.id or "")
            if child is not None:
                # Whoever bears the name by now: an earlier function of this microstep may have stopped the child and
                # spawned another in its place, and this one shall be able to do the same.
                stop(working, working.children.get(child.id, child))
        else:
            send(working, operation, node, event, seen)


def as_sent(working: Working, payload: Any, node: Node, event: Any) -> Any:
    """Return the payload of an operation as an event."""
    try:
        sent = as_event(payload)
    except InputError as error:
        raise working.refuse(
            error.code if error.code == "reserved-event" else "invalid-event", error.message, node, event
        ) from error
    if isinstance(sent, InternalEvent):
        raise working.refuse(
            "reserved-event",
            f"{sent.type!r} is the engine's own and cannot be handed on; send an event that says what has happened",
            node,
            event,
        )
    return sent


def send(working: Working, operation: Operation, node: Node, event: Any, seen: Mapping[str, Child]) -> None:
    """Send an event to a child or the parent, now or later."""
    to = operation.to or ""
    payload = as_sent(working, operation.payload, node, event)
    known = bool(working.address) if to == "@parent" else to in seen
    if not known:
        working.queue.append(InternalEvent("@error.communication", id=to, error={"to": to, "event": payload.type}))
    elif operation.delay is not None:
        schedule(working, operation, payload, node, event, to)
    else:
        deliver_to(working, to, payload, seen)


def deliver_to(working: Working, to: str, event: Any, seen: Mapping[str, Child]) -> None:
    """Put an event into the mail (machines) or into the effects (functions)."""
    if to == "@parent":
        working.mail.append((to, event))
        return
    child = seen[to]
    if working.machine.is_machine(child.src):
        working.mail.append((child.key, event))
    else:
        working.effects.append(Send(to, event, address=working.address))


# -- timers


def schedule(working: Working, operation: Operation, payload: Any, node: Node, event: Any, to: str | None) -> None:
    """Start the timer of a delayed event."""
    delay = seconds(working, operation.delay, node, event)
    seq = number(working)
    timer_id = f"auto:{seq}" if operation.id is None else f"id:{operation.id}"
    payload = working.machine.border_event(payload)
    due = now(working, timer_id, node, event) + delay
    working.own_timers()[timer_id] = Timer(timer_id, seq, delay, due, payload, to)
    if to is None:
        working.effects.append(Schedule(timer_id, seq, delay, due, payload, working.address))
    else:
        working.effects.append(Send(to, payload, delay, timer_id, working.address))


def schedule_own(working: Working, timer: NodeTimer, node: Node, event: Any) -> None:
    """Start a timer that a state declares."""
    delay = seconds(working, timer.delay, node, event)
    seq = number(working)
    due = now(working, timer.id, node, event) + delay
    working.own_timers()[timer.id] = Timer(timer.id, seq, delay, due)
    working.effects.append(Schedule(timer.id, seq, delay, due, None, working.address))


def cancel(working: Working, timer_id: str) -> None:
    """Forget a timer; the effect is there whether it was pending or not."""
    working.effects.append(Cancel(timer_id, working.address))
    if timer_id in working.timers:
        del working.own_timers()[timer_id]


def seconds(working: Working, delay: Any, node: Node, event: Any) -> float:
    """Return a delay as seconds: a number, a timedelta, or the name of a declared one."""
    given = delay
    if isinstance(delay, str):
        if delay not in working.table.delays:
            raise working.refuse(
                "invalid-delay",
                f"there is no delay {delay!r}. {did_you_mean(delay, working.table.delays)}",
                node,
                event,
            )
        delay = working.table.delays[delay]
        if callable(delay) or isinstance(delay, WithAt):
            delay = working.call(delay, node, event)
    if isinstance(delay, timedelta):
        delay = delay.total_seconds()
    if isinstance(delay, (int, float)) and delay.__class__ is not bool and 0 <= delay < float("inf"):
        return delay
    raise working.refuse(
        "invalid-delay", f"delay {given!r} is {short(delay)}; a delay is 0 or more seconds", node, event
    )


def now(working: Working, timer_id: str, node: Node, event: Any) -> float:
    """Return the time of this step."""
    if working.at is None:
        raise MissingTimeError(
            f"timer {timer_id!r} cannot be scheduled without the time; call the step with at=<Unix seconds>",
            machine=working.machine.id,
            state=node.path or "(root)",
            event=getattr(event, "type", None),
        )
    at = cast("object", working.at)  # of the caller, who may not have read the annotation
    if isinstance(at, (int, float)) and not isinstance(at, bool) and math.isfinite(at):
        return at
    raise InputError(f"at={at!r} is no time; give Unix seconds", code="invalid-input")


def number(working: Working) -> int:
    """Return the next number of this machine."""
    working.seq += 1
    return working.seq


# -- children


def spawn(working: Working, operation: Operation, node: Node, event: Any) -> None:
    """Start a child that outlives states."""
    src = operation.to or ""
    if src not in working.machine.sources:
        raise working.refuse(
            "unknown-source",
            f"spawn names the source {src!r}. {did_you_mean(src, working.machine.sources)}",
            node,
            event,
        )
    child_id = operation.id if operation.id is not None else f"{src}:{working.seq + 1}"
    if any(character in child_id for character in "#/") or not child_id or child_id[0] == "@":
        raise working.refuse(
            "invalid-event", f"{child_id!r} cannot be a child's id: no '#', '/' or leading '@'", node, event
        )
    add_child(working, child_id, src, operation.payload, node, None, event)


def invoke(working: Working, invocation: Invocation, node: Node, event: Any) -> None:
    """Start the work that a state declares."""
    value = invocation.input
    if callable(value):
        value = working.call(invocation.definition.input, node, event)
    add_child(working, invocation.id, invocation.src, value, node, invocation, event)


def add_child(
    working: Working, child_id: str, src: str, value: Any, node: Node, invocation: Invocation | None, event: Any
) -> None:
    """Add a child and say so."""
    if child_id in working.children:
        raise working.refuse(
            "duplicate-child",
            f"a child with the id {child_id!r} is running; stop it first or choose another id",
            node,
            event,
        )
    value = working.json(value, f"input of {child_id}", node, event)
    child = Child(child_id, number(working), src, value, invocation)
    working.own_children()[child_id] = child
    working.started.append(child)
    if not working.machine.is_machine(src):
        working.effects.append(Spawn(child_id, child.seq, src, value, working.address))


def stop(working: Working, child: Child) -> None:
    """Stop a child, and with it everything below it."""
    current = working.children.get(child.id) is child
    if current:
        del working.own_children()[child.id]
    if working.machine.is_machine(child.src):
        if not current:
            return  # stopped before in this microstep, and its id may be another's by now
        kid = working.disown(child.id)
        inner = kid.freeze() if kid is not None and kid.parent_key == child.key else child.snapshot
        if inner is not None:
            abandon(working, child, inner, (*working.address, child.key))
    else:
        working.effects.append(Stop(child.id, child.seq, working.address))


def abandon(working: Working, child: Child, inner: Snapshot[Any], address: tuple[str, ...]) -> None:
    """Say that everything owed below a stopped child machine is owed no more; it runs no exits."""
    machine = working.machine.sources[child.src]
    for below in sorted(inner.rest.children.values(), key=lambda item: item.seq):
        if machine.is_machine(below.src):
            if below.snapshot is not None:
                nested = Working(machine, inner, working.at, working.effects, working.budget, address)
                abandon(nested, below, below.snapshot, (*address, below.key))
        else:
            working.effects.append(Stop(below.id, below.seq, address))
    for timer in inner.rest.timers.values():
        working.effects.append(Cancel(timer.id, address))


def apply(working: Working, move: Any, node: Node, event: Any, seen: Mapping[str, Child], function: Any) -> None:
    """Carry out what an entry or exit function returned."""
    move = working.checked(move, node, event, function)
    if move.target is not None:
        raise working.refuse(
            "invalid-handler-result",
            f"an entry or exit function cannot go anywhere, but returned {move!r}; use stay(...)",
            node,
            event,
        )
    if move.patch:
        working.patch(move.patch, node, event)
    if move.operations:
        operate(working, move.operations, node, event, seen)
