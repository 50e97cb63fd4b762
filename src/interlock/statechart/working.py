"""One machine while a step is being computed: the only mutable thing in the engine, never seen outside a step.

It holds what a snapshot holds, plus the queue of raised events and what has to happen once the machine has come to
rest. Mappings are copied before their first change, so that the snapshot that the step began with stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from interlock.errors import (
    EndlessLoopError,
    ErrorInfo,
    HandlerError,
    InputError,
    InvalidMoveError,
    MissingTimeError,
    NotJsonError,
    did_you_mean,
)
from interlock.statechart.context import FieldError
from interlock.statechart.definition import WithAt, name_of
from interlock.statechart.effects import Cancel, Effect, Emit, Log, Schedule, Send, Spawn, Stop
from interlock.statechart.events import InternalEvent, as_event
from interlock.statechart.frozen import freeze
from interlock.statechart.moves import Move, Operation
from interlock.statechart.snapshot import At, Child, Rest, Snapshot, Status, Timer, input_of, snapshot_of

if TYPE_CHECKING:
    from interlock.statechart.chart import Candidate, Configuration, Invocation, Node, NodeTimer
    from interlock.statechart.machine import Machine

__all__ = ["Budget", "Trace", "Working"]

MAX_MICROSTEPS = 1000
"""Microsteps in one step of the whole tree; more is taken for an endless loop (XState's number)."""

_REMEMBERED = 64
_NO_KIDS: Mapping[str, Any] = {}

Trace = list[tuple[Snapshot[Any], tuple[Effect, ...]]]
"""Snapshot and effects so far, after each microstep of the root."""


class Budget:
    """Counts the microsteps of one step over the whole tree, and remembers the last ones to name a cycle."""

    __slots__ = ("count", "limit", "recent")

    def __init__(self, limit: int = MAX_MICROSTEPS) -> None:
        self.count = 0
        self.limit = limit
        self.recent: list[str] = []

    def spend(self, working: Working, event: Any) -> None:
        """Count one microstep; raises :class:`EndlessLoopError` when there were too many."""
        self.count += 1
        if self.count > self.limit - _REMEMBERED:
            where = ", ".join(leaf.path or working.machine.id for leaf in working.configuration.leaves)
            self.recent.append(where if not working.address else f"{'/'.join(working.address)}: {where}")
            if self.count > self.limit:
                cycle = _cycle(self.recent)
                raise EndlessLoopError(
                    f"the machine did not come to rest within {self.limit} microsteps; it goes round "
                    f"{' -> '.join([*cycle, cycle[0]])}. Give one of these transitions a guard that turns false",
                    machine=working.machine.id,
                    event=event.type,
                    cycle=cycle,
                )


def _cycle(recent: list[str]) -> list[str]:
    for length in range(1, len(recent) // 2 + 1):
        if recent[-length:] == recent[-2 * length : -length]:
            return recent[-length:]
    return recent[-8:]


class Working:
    """A machine's snapshot in the making."""

    __slots__ = (
        "address",
        "at",
        "budget",
        "children",
        "children_owned",
        "configuration",
        "context",
        "effects",
        "error",
        "history",
        "inputs",
        "kids",
        "machine",
        "mail",
        "output",
        "parent_key",
        "queue",
        "results",
        "seq",
        "started",
        "status",
        "table",
        "timers",
        "timers_owned",
        "trace",
    )

    def __init__(
        self,
        machine: Machine[Any, Any, Any],
        configuration: Configuration,
        context: Any,
        rest: Rest,
        at: float | None,
        effects: list[Effect],
        budget: Budget,
        address: tuple[str, ...] = (),
        trace: Trace | None = None,
    ) -> None:
        self.machine = machine
        self.table = machine.table
        self.configuration = configuration
        self.context = context
        self.status: Status = rest.status
        self.seq = rest.seq
        self.children: Mapping[str, Child] = rest.children
        self.timers: Mapping[str, Timer] = rest.timers
        self.history = rest.history
        self.inputs = rest.inputs
        self.results = rest.results
        self.output = rest.output
        self.error = rest.error
        self.children_owned = self.timers_owned = False
        self.at = at
        self.effects = effects
        self.budget = budget
        self.address = address
        self.parent_key: str | None = None
        self.queue: list[Any] = []
        self.started: list[Child] = []
        # (to, event) in the order of sending: "@parent", or the key of a child
        self.mail: list[tuple[str, Any]] = []
        self.kids: Mapping[str, Working] = _NO_KIDS
        self.trace = trace

    def adopt(self, child: Child, kid: Working) -> None:
        """Keep the child machine that this step works on."""
        kid.parent_key = child.key
        self.kids = {**self.kids, child.id: kid}

    def disown(self, child_id: str) -> Working | None:
        """Forget the child machine that this step works on."""
        kid = self.kids.get(child_id)
        if kid is not None:
            self.kids = {key: value for key, value in self.kids.items() if key != child_id}
        return kid

    def same_rest(self, rest: Rest) -> bool:
        """Whether nothing but configuration and context can have changed since ``rest``."""
        return (
            self.children is rest.children
            and self.timers is rest.timers
            and self.history is rest.history
            and self.inputs is rest.inputs
            and self.results is rest.results
            and self.status == rest.status
            and self.seq == rest.seq
        )

    def freeze(self) -> Snapshot[Any]:
        """Return the snapshot as it stands."""
        children = self.children
        for key, kid in self.kids.items():
            child = children.get(key)
            if child is not None and kid.parent_key == child.key:
                if children is self.children:
                    children = dict(children)
                cast("dict[str, Child]", children)[key] = child.with_(snapshot=kid.freeze())
        return snapshot_of(
            self.configuration,
            self.context,
            Rest(
                self.status,
                self.seq,
                # Rebuilt where changed: a mapping that has shrunk keeps its size.
                {key: child for key, child in children.items()} if self.children_owned else children,
                {key: timer for key, timer in self.timers.items()} if self.timers_owned else self.timers,
                self.history,
                self.inputs,
                self.results,
                self.output,
                self.error,
            ),
        )

    # -- calling the author's functions ----------------------------------------------------------------------------

    def view(self, node: Node, event: Any) -> At:
        """Return what a wide function of ``node`` sees."""
        return At(self.configuration, event, input_of(self.inputs, node), self.children)

    def ask(self, candidate: Candidate, function: Callable[..., Any], *, wide: bool, event: Any) -> Any:
        """Call a handler or guard."""
        try:
            if wide:
                return function(self.context, event, self.view(candidate.node, event))
            return function(self.context, event)
        except Exception as error:
            definition = candidate.definition
            original = definition.handler if function is candidate.handler else definition.guard
            raise self.handler_error(error, candidate.node, event, original) from error

    def call(self, function: Any, node: Node, event: Any) -> Any:
        """Call a function of (context), or of (context, at) where it is wide."""
        try:
            if isinstance(function, WithAt):
                return function.function(self.context, self.view(node, event))
            return function(self.context)
        except Exception as error:
            raise self.handler_error(error, node, event, function) from error

    def handler_error(self, error: Exception, node: Node, event: Any, function: Any) -> Exception:
        """Return the error that names where an author's function raised."""
        if isinstance(error, HandlerError):
            return error
        return HandlerError(
            error,
            machine=self.machine.id,
            state=node.path or "(root)",
            event=getattr(event, "type", None),
            handler=name_of(function),
        )

    def refuse(self, code: str, message: str, node: Node, event: Any) -> InvalidMoveError:
        """Return the error for a move that the machine refuses."""
        return InvalidMoveError(
            message, code=code, machine=self.machine.id, state=node.path or "(root)", event=getattr(event, "type", None)
        )

    def checked(self, move: Any, node: Node, event: Any, function: Any) -> Move:
        """Return ``move`` if it is one, else raise an error that says what was returned."""
        if isinstance(move, Move):
            return move
        hint = "return None where the event is not legal, and goto(...) or stay(...) where it is"
        if move is False:
            hint = (
                "False does not mean 'not legal': "
                + hint
                + " (`cond and goto(...)` gives False; write `goto(...) if cond else None`)"
            )
        elif isinstance(move, (str, Mapping)):
            hint = (
                f"{hint}: goto({move!r}) if that is a target"
                if isinstance(move, str)
                else f"{hint}; fields go into stay(...)"
            )
        raise self.refuse(
            "invalid-handler-result",
            f"{name_of(function)} returned {_short(move)} ({type(move).__name__}); {hint}",
            node,
            event,
        )

    # -- changing the value ----------------------------------------------------------------------------------------

    def patch(self, fields: Mapping[str, Any], node: Node, event: Any) -> None:
        """Change context fields."""
        if fields:
            self.context = self.patched(self.context, fields, node, event)

    def patched(self, context: Any, fields: Mapping[str, Any], node: Node, event: Any) -> Any:
        """Return a context with fields changed, or raise the error that names the field."""
        try:
            return self.table.context.patch(context, fields)
        except FieldError as error:
            known = self.table.context.fields
            hint = f" {did_you_mean(error.field, known)}" if error.code == "unknown-field" and known else ""
            raise self.refuse(
                error.code, f"the move sets context field {error.field!r}: {error.reason}.{hint}", node, event
            ) from error

    def own_children(self) -> dict[str, Child]:
        """Return the children as a mapping that this step may change."""
        if not self.children_owned:
            self.children = dict(self.children)
            self.children_owned = True
        return cast("dict[str, Child]", self.children)

    def fresh_children(self) -> dict[str, Child]:
        """Return the children as a mapping to change between microsteps."""
        self.children_owned = False
        return self.own_children()

    def own_timers(self) -> dict[str, Timer]:
        """Return the timers as a mapping that this step may change."""
        if not self.timers_owned:
            self.timers = dict(self.timers)
            self.timers_owned = True
        return cast("dict[str, Timer]", self.timers)

    def set_input(self, node: Node, value: Any, source: Node, event: Any) -> None:
        """Give a state its input."""
        self.inputs = {**self.inputs, node: self.json(value, "input", source, event)}

    def json(self, value: Any, what: str, node: Node, event: Any) -> Any:
        """Return ``value`` as frozen JSON data (models and dataclasses as their fields), the form in which it can be saved."""
        try:
            if isinstance(value, BaseModel) or is_dataclass(value):
                value = to_jsonable_python(value, inf_nan_mode="constants")
            return freeze(value, what)
        except NotJsonError as error:
            raise self.refuse("invalid-output", str(error), node, event) from error

    def failure(self, error: Any) -> Any:
        """Return what an invocation failed with in the form in which it can be saved."""
        if isinstance(error, ErrorInfo):
            return error
        if isinstance(error, BaseException):
            return ErrorInfo.of(error)
        return self.json(error, "error", self.table.root, None)

    # -- operations ------------------------------------------------------------------------------------------------

    def operate(self, operations: tuple[Operation, ...], node: Node, event: Any, seen: Mapping[str, Child]) -> None:
        """Carry out what a move asks for. ``seen`` are the children that its function could see."""
        for operation in operations:
            name = operation.name
            if name == "log":
                self.effects.append(Log(operation.payload, self.address))
            elif name == "emit":
                self.effects.append(Emit(self.event(operation.payload, node, event), self.address))
            elif name == "raise":
                raised = self.event(operation.payload, node, event)
                if operation.delay is None:
                    self.queue.append(raised)
                else:
                    self.schedule(operation, raised, node, event, None)
            elif name == "cancel":
                self.cancel(f"id:{operation.id}")
            elif name == "spawn":
                self.spawn(operation, node, event)
            elif name == "stop":
                child = seen.get(operation.id or "")
                if child is not None:
                    self.stop(child)
            else:
                self.send(operation, node, event, seen)

    def event(self, payload: Any, node: Node, event: Any) -> Any:
        """Return the payload of an operation as an event."""
        try:
            return as_event(payload)
        except InputError as error:
            raise self.refuse(
                error.code if error.code == "reserved-event" else "invalid-event", error.message, node, event
            ) from error

    def send(self, operation: Operation, node: Node, event: Any, seen: Mapping[str, Child]) -> None:
        """Send an event to a child or the parent, now or later."""
        to = operation.to or ""
        payload = self.event(operation.payload, node, event)
        if to == "@parent":
            known = bool(self.address)
        else:
            known = to in seen
        if not known:
            self.queue.append(InternalEvent("@error.communication", id=to, error={"to": to, "event": payload.type}))
        elif operation.delay is not None:
            self.schedule(operation, payload, node, event, to)
        else:
            self.deliver(to, payload, seen)

    def deliver(self, to: str, event: Any, seen: Mapping[str, Child]) -> None:
        """Put an event into the mail (machines) or into the effects (functions)."""
        if to == "@parent":
            self.mail.append((to, event))
            return
        child = seen[to]
        if self.machine.is_machine(child.src):
            self.mail.append((child.key, event))
        else:
            self.effects.append(Send(to, event, address=self.address))

    # -- timers ----------------------------------------------------------------------------------------------------

    def schedule(self, operation: Operation, payload: Any, node: Node, event: Any, to: str | None) -> None:
        """Start the timer of a delayed event."""
        delay = self.seconds(operation.delay, node, event)
        if operation.id is not None:
            timer_id = f"id:{operation.id}"
        else:
            timer_id = f"auto:{self.automatic()}"
        seq = self.number()
        payload = self.machine.border_event(payload)
        due = self.now(timer_id, node, event) + delay
        self.own_timers()[timer_id] = Timer(timer_id, seq, delay, due, payload, to)
        if to is None:
            self.effects.append(Schedule(timer_id, seq, delay, due, payload, self.address))
        else:
            self.effects.append(Send(to, payload, delay, timer_id, self.address))

    def schedule_own(self, timer: NodeTimer, node: Node, event: Any) -> None:
        """Start a timer that a state declares."""
        delay = self.seconds(timer.delay, node, event)
        seq = self.number()
        due = self.now(timer.id, node, event) + delay
        self.own_timers()[timer.id] = Timer(timer.id, seq, delay, due)
        self.effects.append(Schedule(timer.id, seq, delay, due, None, self.address))

    def cancel(self, timer_id: str) -> None:
        """Forget a timer; the effect is there whether it was pending or not."""
        self.effects.append(Cancel(timer_id, self.address))
        if timer_id in self.timers:
            del self.own_timers()[timer_id]

    def seconds(self, delay: Any, node: Node, event: Any) -> float:
        """Return a delay as seconds: a number, a timedelta, or the name of a declared one."""
        given = delay
        if isinstance(delay, str):
            if delay not in self.table.delays:
                raise self.refuse(
                    "invalid-delay",
                    f"there is no delay {delay!r}. {did_you_mean(delay, self.table.delays)}",
                    node,
                    event,
                )
            delay = self.table.delays[delay]
            if callable(delay) or isinstance(delay, WithAt):
                delay = self.call(delay, node, event)
        if isinstance(delay, timedelta):
            delay = delay.total_seconds()
        if isinstance(delay, (int, float)) and delay.__class__ is not bool and 0 <= delay < float("inf"):
            return delay
        raise self.refuse(
            "invalid-delay", f"delay {given!r} is {_short(delay)}; a delay is 0 or more seconds", node, event
        )

    def now(self, timer_id: str, node: Node, event: Any) -> float:
        """Return the time of this step."""
        if self.at is None:
            raise MissingTimeError(
                f"timer {timer_id!r} cannot be scheduled without the time; call the step with at=<Unix seconds>",
                machine=self.machine.id,
                state=node.path or "(root)",
                event=getattr(event, "type", None),
            )
        return self.at

    def number(self) -> int:
        """Return the next number of this machine."""
        self.seq += 1
        return self.seq

    def automatic(self) -> int:
        """Return the number of the next nameless timer."""
        return self.seq + 1

    # -- children --------------------------------------------------------------------------------------------------

    def spawn(self, operation: Operation, node: Node, event: Any) -> None:
        """Start a child that outlives states."""
        src = operation.to or ""
        if src not in self.machine.sources:
            raise self.refuse(
                "unknown-source",
                f"spawn names the source {src!r}. {did_you_mean(src, self.machine.sources)}",
                node,
                event,
            )
        child_id = operation.id if operation.id is not None else f"{src}:{self.seq + 1}"
        if any(character in child_id for character in "#/") or not child_id or child_id[0] == "@":
            raise self.refuse(
                "invalid-event", f"{child_id!r} cannot be a child's id: no '#', '/' or leading '@'", node, event
            )
        self.add_child(child_id, src, operation.payload, node, None, event)

    def invoke(self, invocation: Invocation, node: Node, event: Any) -> None:
        """Start the work that a state declares."""
        value = invocation.input
        if callable(value):
            value = self.call(invocation.definition.input, node, event)
        self.add_child(invocation.id, invocation.src, value, node, invocation, event)

    def add_child(
        self, child_id: str, src: str, value: Any, node: Node, invocation: Invocation | None, event: Any
    ) -> None:
        """Add a child and say so."""
        if child_id in self.children:
            raise self.refuse(
                "duplicate-child",
                f"a child with the id {child_id!r} is running; stop it first or choose another id",
                node,
                event,
            )
        value = self.json(value, f"input of {child_id}", node, event)
        child = Child(child_id, self.number(), src, value, invocation)
        self.own_children()[child_id] = child
        self.started.append(child)
        if not self.machine.is_machine(src):
            self.effects.append(Spawn(child_id, child.seq, src, value, self.address))

    def stop(self, child: Child) -> None:
        """Stop a child, and with it everything below it."""
        if self.children.get(child.id) is child:
            del self.own_children()[child.id]
        if self.machine.is_machine(child.src):
            if child.id in self.kids and self.kids[child.id].parent_key != child.key:
                return  # stopped before, and its id is another's by now
            kid = self.disown(child.id)
            inner = kid.freeze() if kid is not None and kid.parent_key == child.key else child.snapshot
            if inner is not None:
                self.abandon(child, inner, (*self.address, child.key))
        else:
            self.effects.append(Stop(child.id, child.seq, self.address))

    def abandon(self, child: Child, inner: Snapshot[Any], address: tuple[str, ...]) -> None:
        """Say that everything owed below a stopped child machine is owed no more; it runs no exits."""
        machine = self.machine.sources[child.src]
        for below in sorted(inner.rest.children.values(), key=lambda item: item.seq):
            if machine.is_machine(below.src):
                if below.snapshot is not None:
                    nested = Working(
                        machine, inner.configuration, None, inner.rest, self.at, self.effects, self.budget, address
                    )
                    nested.abandon(below, below.snapshot, (*address, below.key))
            else:
                self.effects.append(Stop(below.id, below.seq, address))
        for timer in inner.rest.timers.values():
            self.effects.append(Cancel(timer.id, address))


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # a broken repr must not hide the error that is being reported
        return "an object"
    return text if len(text) <= 120 else text[:117] + "..."
