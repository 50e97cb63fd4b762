"""The page that explains the library: ``transition(machine, snapshot, input) -> (snapshot, effects)``.

A step is pure. It takes one input, lets the machine that it is addressed to come to rest, delivers all mail within
the tree of machines, and returns a new snapshot with what shall happen outside as data. Nothing is called but the
author's own pure functions; the same arguments give the same result, and the snapshot passed in never changes::

    input -> macrostep of the addressed machine -> started child machines initialise -> mail goes out
          -> completions reach parents -> ... until the whole tree is at rest

A macrostep is: the transitions that the event selects (``selection``), carried out together (``microstep``), then
eventless transitions until there are none, then the next raised event, and so on until both are exhausted
(``settling``). Steps that turn out to be quiet are remembered in a shorter form (``shortcuts``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from interlock.errors import InputError, SnapshotError
from interlock.statechart.chart import Configuration
from interlock.statechart.events import Input, InternalEvent, as_event
from interlock.statechart.settling import Result, Trace, deliver, settle, start
from interlock.statechart.shortcuts import shortcut
from interlock.statechart.snapshot import Draft, Snapshot

if TYPE_CHECKING:
    from interlock.statechart.effects import Effect
    from interlock.statechart.machine import Machine

__all__ = ["initial_transition", "microsteps", "transition"]

C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output


def initial_transition(
    machine: Machine[C, I, O], input: Any = None, *, at: float | None = None
) -> tuple[Snapshot[C], tuple[Effect, ...]]:
    """Start a machine.

    Arguments:
        machine: the machine.
        input: what its context is made from, where the context is a function of the input.
        at: the time, in Unix seconds; needed only if a timer is scheduled.

    Returns the first snapshot at rest and the effects, in order. Raises as :func:`transition`.
    """
    if input is None:
        ready = machine.started
        if ready is not None:
            return ready
    return start(machine, input, at, None)


def transition(
    machine: Machine[C, I, O], snapshot: Snapshot[C], input: Any, *, at: float | None = None
) -> tuple[Snapshot[C], tuple[Effect, ...]]:
    """Take one step.

    Arguments:
        machine: the machine that made the snapshot.
        snapshot: where the system stands; it is not changed.
        input: an event (an object with ``.type``, a mapping with ``"type"``, or a type) for the root, or an
            :class:`Input` for any machine of the tree.
        at: the time at which the input was accepted, in Unix seconds; needed only if a timer is scheduled.

    Returns the new snapshot and the effects, in order. Where nothing happens the very same snapshot is returned.
    Raises :class:`StepError` (an author's function raised, or asked for something impossible, or the machine never
    comes to rest), :class:`InputError`, and :class:`SnapshotError` for a snapshot of another machine.
    """
    configuration = snapshot.configuration
    if configuration.table is not machine.table:
        raise _foreign(machine, snapshot)
    try:
        # A class of events has a type as well, and is no event, whatever was asked before.
        known = None if isinstance(input, type) else configuration.moves.get(input.type)
    except (AttributeError, TypeError):
        known = None
    if known is None:
        return _step(machine, snapshot, input, at, None)
    if known.__class__ is Configuration:
        # Static transitions between silent states: where this leads was worked out the first time.
        made: Any = Draft(known, snapshot.context, snapshot.rest)
        made.__class__ = Snapshot
        return made, ()
    found: tuple[Snapshot[C], tuple[Effect, ...]] = known(machine, snapshot, input, at)
    return found


def microsteps(
    machine: Machine[C, I, O], snapshot: Snapshot[C] | None, input: Any = None, *, at: float | None = None
) -> list[tuple[Snapshot[C], tuple[Effect, ...]]]:
    """Return what a step (or, without a snapshot, the start) goes through: snapshot and effects after each microstep.

    The last pair also holds what belongs to the end of the step: starts of children, mail, the end of the machine.
    Only the microsteps of the root machine are shown; an empty list means that nothing happened.
    """
    trace: Trace = []
    if snapshot is None:
        last = start(machine, input, at, trace)
    elif snapshot.table is not machine.table:
        raise _foreign(machine, snapshot)
    else:
        last = _step(machine, snapshot, input, at, trace)
    if not trace and last[0] is not snapshot:
        return [last]  # no transition was taken, but something else happened: a child has ended, a timer is spent
    found: list[tuple[Snapshot[C], tuple[Effect, ...]]] = []
    before = 0
    for number, (state, effects) in enumerate(trace):
        final = number == len(trace) - 1
        found.append((last[0] if final else state, (last[1] if final else effects)[before:]))
        before = len(effects)
    return found


def _step(machine: Any, snapshot: Any, input: Any, at: float | None, trace: Trace | None) -> Result:
    """Take a step the long way, and work out the short one for next time."""
    if input.__class__ is Input:
        if input.address or input.event is None or input.invocation is not None:
            return deliver(machine, snapshot, input, at, trace)
        event = input.event
    else:
        event = as_event(input)
    if isinstance(event, InternalEvent):
        raise InputError(
            f"event type {event.type!r} is the engine's own; report results with Input", code="reserved-event"
        )
    if trace is not None:
        return settle(machine, snapshot, event, at, None, trace)
    configuration = snapshot.configuration
    known: Any = configuration.moves.get(event.type)
    if known is None:
        known = shortcut(configuration, event.type)
        configuration.remember(event.type, known)
    if known.__class__ is Configuration:
        made: Any = Draft(known, snapshot.context, snapshot.rest)
        made.__class__ = Snapshot
        return made, ()
    found: Result = known(machine, snapshot, event, at)
    return found


def _foreign(machine: Machine[Any, Any, Any], snapshot: Snapshot[Any]) -> SnapshotError:
    return SnapshotError(
        f"the snapshot belongs to machine {snapshot.machine_id!r} (version {snapshot.machine_version}), not to this "
        f"{machine.id!r} (version {machine.version}); bring it over with machine.load(snapshot.dump())",
        code="machine-mismatch",
    )
