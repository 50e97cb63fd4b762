"""Compiled transitions. A node's are made on first use: building a large machine costs little more than writing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from interlock.statechart.definition import Arguments, Function, Transition, WithAt
from interlock.statechart.kinds import CHOICE
from interlock.statechart.moves import UNSET, Move, RichMove
from interlock.statechart.targets import find_target

if TYPE_CHECKING:
    from interlock.statechart.moves import Operation
    from interlock.statechart.nodes import Node
    from interlock.statechart.routing import Route

__all__ = ["Candidate", "compile_always", "compile_candidates", "delay_text"]


class Candidate:
    """A compiled transition: its functions take (context, event) or, wide, (context, event, at)."""

    __slots__ = (
        "allowed",
        "bare",
        "cancels",
        "definition",
        "guard",
        "guard_wide",
        "handler",
        "handler_wide",
        "input",
        "node",
        "operations",
        "patch",
        "plain",
        "reenter",
        "route",
        "routes",
        "static_move",
        "targets",
    )

    def __init__(
        self,
        node: Node,
        definition: Transition,
        *,
        handler: Callable[..., Any] | None,
        handler_wide: bool,
        guard: Callable[..., Any] | None,
        guard_wide: bool,
        targets: tuple[Node, ...] | None,
    ) -> None:
        self.node = node
        self.definition = definition
        self.handler = handler
        self.handler_wide = handler_wide
        self.guard = guard
        self.guard_wide = guard_wide
        self.targets = targets
        self.reenter = definition.reenter
        self.patch: Mapping[str, Any] | None = definition.patch
        self.operations: tuple[Operation, ...] = definition.operations
        self.input: Any = definition.input
        self.route: Route | None = None
        if handler is None and (targets or self.reenter):
            self.route = node.table.route(node, targets or (node,), reenter=self.reenter)
        self.routes: dict[Any, Route] = {}
        self.allowed: frozenset[str] | None = (
            frozenset(definition.targets) if handler is not None and definition.targets is not None else None
        )
        # A static transition as a move; its target is the route, which is None where it stays.
        self.static_move: Move | None = None
        if handler is None:
            move: Move = Move(None, self.patch)
            if self.operations or self.input is not UNSET:
                rich = RichMove(None, self.patch)
                rich.operations, rich.reentering, rich.input = self.operations, False, self.input
                move = rich
            self.static_move = move
        self.cancels: str | None = None
        inert = handler is None and guard is None and not self.patch and not self.operations and self.input is UNSET
        self.plain = inert and self.route is not None
        self.bare = inert and self.route is None


def compile_candidates(node: Node) -> None:
    """Fill ``node.exact`` and ``node.wild``: its candidates by event type, and by the prefix of a pattern."""
    definition = node.definition
    exact: dict[str, tuple[Candidate, ...]] = {}
    wild: dict[str, tuple[Candidate, ...]] = {}
    for transition in definition.on:
        event = transition.event
        candidate = _candidate(node, transition, "event")
        if event == "*" or event.endswith(".*"):
            prefix = event[:-2] if event != "*" else ""
            wild[prefix] = (*wild.get(prefix, ()), candidate)
        else:
            exact[event] = (*exact.get(event, ()), candidate)
    if definition.on_done:
        exact[f"@done.state.{node.id}"] = _slot(node, definition.on_done, "output")
    if definition.on_error:
        wild["@error"] = _slot(node, definition.on_error, "error")
    timers = {timer.id: timer for timer in node.timers}
    for timed in definition.after:
        timer = timers[f"after:{delay_text(timed.delay)}:{node.id}"]
        exact[timer.event_type] = _slot(node, timed.transitions, "none")
    if definition.timeout is not None:
        exact[f"@timeout:{node.id}"] = _slot(node, definition.on_timeout, "none")
    for invocation in node.invocations:
        item = invocation.definition
        done = _slot(node, item.on_done, "output")
        failed = _slot(node, item.on_error, "error")
        if invocation.timer is not None:
            # Completion takes the time limit off, whether anybody handles it or not.
            done = (*done, _candidate(node, Transition(), "output"))
            for candidate in (*done, *failed):
                candidate.cancels = invocation.timer
            exact[f"@{invocation.timer}"] = _slot(node, item.on_timeout, "none")
        if done:
            exact[f"@done.invoke.{invocation.id}"] = (*done, *exact.get(f"@done.invoke.{invocation.id}", ()))
        if failed:
            exact[f"@error.invoke.{invocation.id}"] = (*failed, *exact.get(f"@error.invoke.{invocation.id}", ()))
    node.exact = exact
    node.wild = tuple(sorted(wild.items(), key=lambda item: -len(item[0])))


def compile_always(node: Node) -> tuple[Candidate, ...]:
    """Return the candidates that a node has without any event."""
    definition = node.definition
    if node.kind == CHOICE:
        return (_candidate(node, Transition(handler=definition.choose, targets=definition.targets), "none"),)
    return _slot(node, definition.always, "none") if definition.always else ()


def _slot(node: Node, transitions: Sequence[Transition], arguments: Arguments) -> tuple[Candidate, ...]:
    return tuple([_candidate(node, transition, arguments) for transition in transitions])


def _candidate(node: Node, transition: Transition, arguments: Arguments) -> Candidate:
    handler, handler_wide = _adapt(transition.handler, arguments)
    guard, guard_wide = _adapt(transition.guard, arguments)
    targets: tuple[Node, ...] | None = None
    if transition.handler is None and transition.targets is not None:
        targets = tuple([_known(node, name) for name in transition.targets])
    return Candidate(
        node,
        transition,
        handler=handler,
        handler_wide=handler_wide,
        guard=guard,
        guard_wide=guard_wide,
        targets=targets,
    )


def _known(node: Node, name: str) -> Node:
    found = find_target(node, name)
    assert found is not None, name  # noqa: S101  # checked when the machine was built
    return found


def delay_text(delay: Any) -> str:
    """Return a delay as it stands in a timer's id."""
    return delay if isinstance(delay, str) else repr(delay)


def _adapt(function: Function | None, arguments: Arguments) -> tuple[Callable[..., Any] | None, bool]:
    """Return a function of (context, event) (or, wide, of (context, event, at)) for whatever the slot passes."""
    if function is None:
        return None, False
    if isinstance(function, WithAt):
        return _adapt_wide(function.function, arguments), True
    return _adapt_narrow(function, arguments), False


def _adapt_narrow(function: Callable[..., Any], arguments: Arguments) -> Callable[[Any, Any], Any]:
    if arguments == "none":
        return lambda context, _event: function(context)
    if arguments == "output":
        return lambda context, event: function(context, event.output)
    if arguments == "error":
        return lambda context, event: function(context, event.error)
    return function


def _adapt_wide(function: Callable[..., Any], arguments: Arguments) -> Callable[[Any, Any, Any], Any]:
    if arguments == "none":
        return lambda context, _event, at: function(context, at)
    if arguments == "output":
        return lambda context, event, at: function(context, event.output, at)
    if arguments == "error":
        return lambda context, event, at: function(context, event.error, at)
    return function
