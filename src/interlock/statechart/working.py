"""One machine while a step is being computed: the only mutable thing in the engine, never seen outside a step.

It holds what a snapshot holds, plus the queue of raised events and what has to happen once the machine has come to
rest. Mappings are copied before their first change, so that the snapshot that the step began with stays as it was.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, cast

from interlock.errors import (
    ErrorInfo,
    HandlerError,
    InvalidMoveError,
    NotJsonError,
    did_you_mean,
)
from interlock.statechart.context import FieldError
from interlock.statechart.definition import WithAt, name_of
from interlock.statechart.effects import Effect
from interlock.statechart.frozen import freeze
from interlock.statechart.matching import At
from interlock.statechart.moves import Move
from interlock.statechart.owing import Child, Timer
from interlock.statechart.snapshot import Draft, Rest, Snapshot, Status, input_of, snapshot_of

if TYPE_CHECKING:
    from interlock.statechart.budget import Budget
    from interlock.statechart.candidates import Candidate
    from interlock.statechart.machine import Machine
    from interlock.statechart.nodes import Node

__all__ = ["Trace", "Working", "short"]

_NO_KIDS: Mapping[str, Any] = {}

Trace = list[tuple[Snapshot[Any], tuple[Effect, ...]]]
"""Snapshot and effects so far, after each microstep of the root."""


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
        "start",
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
        start: Draft,
        at: float | None,
        effects: list[Effect],
        budget: Budget,
        address: tuple[str, ...] = (),
        trace: Trace | None = None,
    ) -> None:
        self.machine = machine
        self.table = machine.table
        rest = start.rest
        self.start = start
        self.configuration = start.configuration
        self.context = start.context
        self.status: Status = rest.status
        self.seq = rest.seq
        self.children: Mapping[str, Child] = rest.children
        self.timers: Mapping[str, Timer] = rest.timers
        self.history = rest.history
        self.inputs = rest.inputs
        self.results = rest.results
        self.output = self.error = rest.outcome
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

    def unchanged(self) -> bool:
        """Whether nothing has happened to this machine itself in this step."""
        start = self.start
        rest = start.rest
        return (
            start.__class__ is Snapshot
            and self.configuration is start.configuration
            and self.context is start.context
            and self.children is rest.children
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
                inner = kid.freeze()
                if inner is not child.snapshot:
                    if children is self.children:
                        children = dict(children)
                    cast("dict[str, Child]", children)[key] = child.with_(snapshot=inner)
        if children is self.start.rest.children and self.unchanged():
            return cast("Snapshot[Any]", self.start)
        return snapshot_of(
            self.configuration,
            self.context,
            Rest(
                self.status,
                self.seq,
                # Rebuilt where changed, item by item: one that has shrunk keeps its size, and dict() copies that.
                {key: child for key, child in children.items()}  # noqa: C416  # for its size
                if self.children_owned
                else children,
                {key: timer for key, timer in self.timers.items()}  # noqa: C416  # the same
                if self.timers_owned
                else self.timers,
                self.history,
                self.inputs,
                self.results,
                self.output if self.status == "done" else self.error,
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

    def allows(self, candidate: Candidate, guard: Callable[..., Any], event: Any) -> bool:
        """Ask a guard."""
        answer = self.ask(candidate, guard, wide=candidate.guard_wide, event=event)
        if answer.__class__ is bool:
            return answer
        try:
            return _truth(answer)
        except Exception as error:
            raise self.handler_error(error, candidate.node, event, candidate.definition.guard) from error

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
        returned = f"{short(move)} ({type(move).__name__})"
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
            f"{name_of(function)} returned {returned}; {hint}",
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
            hint = f". {did_you_mean(error.field, known)}" if error.code == "unknown-field" and known else ""
            raise self.refuse(
                error.code, f"the move sets context field {error.field!r}: {error.reason}{hint}", node, event
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
        """Return ``value`` as frozen JSON data (models and dataclasses as their fields), as it can be saved."""
        try:
            return freeze(value, what, models=True)
        except NotJsonError as error:
            raise self.refuse("invalid-output", str(error), node, event) from error

    def failure(self, error: Any) -> Any:
        """Return what an invocation failed with in the form in which it can be saved."""
        if isinstance(error, BaseException):
            error = ErrorInfo.of(error)
        if isinstance(error, ErrorInfo):
            # The whole chain of causes in the form in which it can be saved.
            return ErrorInfo.from_json(self.json(error.to_json(), "error", self.table.root, None))
        return self.json(error, "error", self.table.root, None)


def short(value: Any) -> str:
    """Return a value as it is shown in an error message."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # a broken repr must not hide the error that is being reported
        return "an object"
    return text if len(text) <= 120 else text[:117] + "..."


def _truth(answer: Any) -> bool:
    """Return what a guard says. What is still to be waited for is true as any object is, and says nothing."""
    kind = cast("type[object]", type(answer))
    if issubclass(kind, Awaitable | Generator | AsyncGenerator):
        raise TypeError(
            f"the guard returned {short(answer)} ({kind.__name__}), which is no answer; guards are plain "
            "functions that return True or False"
        )
    return bool(answer)
