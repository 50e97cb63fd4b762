"""Compiles a definition into a :class:`Table`, saying at once whatever can be known to be wrong with it.

Nodes and targets are checked eagerly; candidate lists are made on first use, so that building a large machine costs
little more than writing it down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from interlock.errors import DefinitionError, did_you_mean
from interlock.statechart.candidates import delay_text
from interlock.statechart.chart import Table
from interlock.statechart.context import ContextType
from interlock.statechart.definition import Invoke, State, Transition, WithAt
from interlock.statechart.moves import UNSET, Move
from interlock.statechart.nodes import (
    CHOICE,
    COMPOUND,
    FINAL,
    HISTORY,
    PARALLEL,
    Invocation,
    Node,
    NodeTimer,
)
from interlock.statechart.targets import find_target, in_different_regions

__all__ = ["RESERVED_ALLOWED", "Compiler", "compile_table", "find_target"]

RESERVED_ALLOWED = frozenset({"@agent.usage", "@error.communication"})
"""Types of the library's own events that an author may handle by name."""

RESERVED_PREFIXES = ("@done.invoke.", "@error.invoke.")
"""How spawned children report: handled with ``on``, as in ``"@done.invoke.*"``, for no state invokes them."""


def compile_table(
    id: str,
    definition: State,
    *,
    context: ContextType,
    delays: Mapping[str, Any],
    sources: Iterable[str],
) -> Table:
    """Return the checked, compiled table of a machine. Raises :class:`DefinitionError`."""
    if not id or any(character in id for character in "#/"):
        raise DefinitionError(
            f"{id!r} is no machine id: it must not be empty and must hold no '#' and no '/'",
            code="invalid-key",
            machine=id,
        )
    table = Table(id, definition, context)
    compiler = Compiler(table, set(sources))
    table.delays = {name: compiler.delay(value, name) for name, value in delays.items()}
    compiler.build()
    return table


class Compiler:
    """Makes the nodes of a table and checks what their author declared."""

    def __init__(self, table: Table, sources: set[str]) -> None:
        self.table = table
        self.sources = sources

    # -- nodes -----------------------------------------------------------------------------------------------------

    def build(self) -> None:
        table = self.table
        # (definition, key, parent): a pre-order walk without recursion, so that depth is no matter.
        stack: list[tuple[State, str, Node | None]] = [(table.definition, "", None)]
        children: dict[Node, list[Node]] = {}
        while stack:
            definition, key, parent = stack.pop()
            node = Node(table, definition, key, parent)
            table.nodes.append(node)
            earlier = table.by_id.get(node.id)
            if earlier is not None:
                raise self.error(
                    node,
                    "duplicate-id",
                    f"id {node.id!r} is taken by state {earlier.path or '(the root)'!r}; ids are unique",
                )
            table.by_id[node.id] = node
            table.by_path[node.path] = node
            if parent is None:
                table.root = node
            else:
                children.setdefault(parent, []).append(node)
            if definition.states:
                for child_key, child in definition.states.items():
                    self.check_key(node, child_key, child)
                stack.extend([(child, child_key, node) for child_key, child in reversed(definition.states.items())])
        for node in reversed(table.nodes):
            own = children.get(node)
            if own is not None:
                node.children = tuple(own)
                node.by_key = {child.key: child for child in own}
                node.end = own[-1].end
                node.histories = tuple([child for child in own if child.kind == HISTORY])
        table.parallels = sum([node.kind == PARALLEL for node in table.nodes])
        for node in table.nodes:
            self.check_node(node)

    def check_key(self, parent: Node, key: Any, child: Any) -> None:
        if not isinstance(key, str) or not key or "." in key or "#" in key or "/" in key or key.startswith("@"):
            raise self.error(
                parent,
                "invalid-key",
                f"{key!r} cannot be a state's key: use a non-empty string without '.', '#', '/' and a leading '@'",
            )
        if not isinstance(child, State):
            raise self.error(
                parent,
                "invalid-state",
                f"states[{key!r}] is {type(child).__name__}, not a state; write {key!r}: state(...)",
            )

    def check_node(self, node: Node) -> None:
        definition = node.definition
        kind = node.kind
        if kind == COMPOUND:
            self.check_initial(node)
        elif kind != PARALLEL and node.children:
            raise self.error(node, "invalid-state", f"a {definition.kind} state cannot have child states")
        elif kind == PARALLEL and all(child.kind == HISTORY for child in node.children):
            raise self.error(node, "invalid-state", "a parallel state needs at least one region: states={...}")
        if kind == PARALLEL and definition.initial is not None:
            raise self.error(node, "invalid-state", "all regions of a parallel state are active: leave out initial=")
        if kind == HISTORY:
            self.check_history(node)
            return
        if kind == CHOICE:
            if node.parent is None:
                raise self.error(node, "invalid-state", "the root cannot be a choice state")
            self.check_targets(node, definition.targets, "choice")
            return
        if definition.on:
            self.check_transitions(node, definition.on, "on")
        if (
            definition.always
            or definition.after
            or definition.invoke
            or definition.on_done
            or definition.on_error
            or definition.timeout is not None
            or definition.on_timeout
        ):
            self.check_more(node)
        if definition.entry is not None:
            node.entry = _function_of(definition.entry)
        if definition.exit is not None:
            node.exit = _function_of(definition.exit)
        if kind == FINAL:
            node.output = definition.output
        node.noisy_exit = bool(node.exit or node.timers or node.invocations or node.histories or kind == FINAL)
        node.noisy_entry = bool(
            node.entry or node.timers or node.invocations or kind == FINAL or definition.initial_input is not UNSET
        )

    def check_initial(self, node: Node) -> None:
        initial = node.definition.initial
        if initial is None:
            raise self.error(
                node,
                "missing-initial",
                f"a state with child states needs initial=, one of {', '.join(map(repr, node.by_key))}",
            )
        target = node
        for key in initial.split("."):
            found = target.by_key.get(key)
            if found is None:
                raise self.error(
                    node,
                    "unknown-target",
                    f"initial={initial!r} is no child state. {did_you_mean(initial, node.by_key)}",
                )
            target = found
        node.initial = target
        if target.kind == HISTORY:
            self.table.history_defaults = True
            if target.definition.targets is None:
                raise self.error(
                    node, "invalid-state", f"initial={initial!r} is a history state without a target to start from"
                )
        if target.kind == HISTORY or target.parent is not node:
            self.table.history_defaults = True

    def check_history(self, node: Node) -> None:
        definition = node.definition
        if node.parent is None:
            raise self.error(node, "invalid-state", "the root cannot be a history state")
        if (
            definition.on
            or definition.entry
            or definition.exit
            or definition.invoke
            or definition.always
            or definition.after
        ):
            raise self.error(
                node, "invalid-state", "a history state is never active, so nothing but deep and target belongs there"
            )
        if definition.targets is not None:
            # Relative to the parent's children, as the parent's own default would be.
            node.defaults = tuple([self.target(node, name, "target") for name in definition.targets])
            if any(target is node for target in node.defaults):
                raise self.error(node, "invalid-target", "a history state cannot be its own default")

    def check_more(self, node: Node) -> None:
        definition = node.definition
        self.check_transitions(node, definition.always, "always")
        self.check_transitions(node, definition.on_done, "on_done")
        self.check_transitions(node, definition.on_error, "on_error")
        self.check_transitions(node, definition.on_timeout, "on_timeout")
        for transition in definition.always:
            if (
                transition.handler is None
                and transition.guard is None
                and transition.targets
                and len(definition.always) == 1
            ):
                target = self.target(node, transition.targets[0], "always")
                if target is node:
                    raise self.error(
                        node,
                        "invalid-transition",
                        "always leads to the state itself without a condition: that never ends",
                    )
        timers: list[NodeTimer] = []
        for item in definition.after:
            self.check_transitions(node, item.transitions, f"after {item.delay}")
            self.check_delay_name(node, item.delay)
            timer_id = f"after:{delay_text(item.delay)}:{node.id}"
            timers.append(NodeTimer(timer_id, item.delay, f"@{timer_id}"))
        if definition.timeout is not None:
            self.check_delay_name(node, definition.timeout)
            if not definition.on_timeout:
                raise self.error(
                    node, "invalid-state", "timeout= needs on_timeout=: say what happens when the time is up"
                )
            timers.append(NodeTimer(f"timeout:{node.id}", definition.timeout, f"@timeout:{node.id}"))
        elif definition.on_timeout:
            raise self.error(node, "invalid-state", "on_timeout= needs timeout=: say how long to wait")
        invocations: list[Invocation] = []
        for number, item in enumerate(definition.invoke):
            invocation = self.invocation(node, number, item)
            if any(other.id == invocation.id for other in invocations):
                raise self.error(
                    node, "duplicate-id", f"two invocations have the id {invocation.id!r}; give each its own id="
                )
            invocations.append(invocation)
            if invocation.timer is not None:
                timers.append(NodeTimer(invocation.timer, item.timeout, f"@{invocation.timer}"))
        node.timers = tuple(timers)
        node.invocations = tuple(invocations)

    def invocation(self, node: Node, number: int, item: Any) -> Invocation:
        if not isinstance(item, Invoke):
            raise self.error(node, "invalid-state", f"invoke holds {item!r}; write invoke(src, ...)")
        if item.src not in self.sources:
            raise self.error(
                node,
                "unknown-source",
                f"invoke names the source {item.src!r}, which is not among the machine's sources. "
                f"{did_you_mean(item.src, self.sources)}",
            )
        id = item.id if item.id is not None else f"{number}.{node.id}"
        self.check_child_id(node, id)
        slot = f"invoke {id!r}"
        self.check_transitions(node, item.on_done, f"{slot} on_done")
        self.check_transitions(node, item.on_error, f"{slot} on_error")
        self.check_transitions(node, item.on_timeout, f"{slot} on_timeout")
        if item.timeout is not None:
            self.check_delay_name(node, item.timeout)
        if (item.timeout is None) != (not item.on_timeout):
            raise self.error(node, "invalid-state", f"{slot}: timeout= and on_timeout= belong together")
        wide = isinstance(item.input, WithAt)
        function = item.input.function if isinstance(item.input, WithAt) else item.input
        return Invocation(node, id, item, function, wide=wide)

    def check_child_id(self, node: Node, id: str) -> None:
        if not id or any(character in id for character in "#/") or id.startswith("@"):
            raise self.error(
                node, "invalid-key", f"{id!r} cannot be an id: it must not be empty, hold '#' or '/', or start with '@'"
            )

    # -- transitions -----------------------------------------------------------------------------------------------

    def check_transitions(self, node: Node, transitions: Sequence[Transition], slot: str) -> None:
        closed: set[str] | None = None
        for transition in transitions:
            event = transition.event
            if slot == "on":
                if not (isinstance(event, str) and event.isidentifier()):
                    self.check_descriptor(node, event)
            elif event:
                raise self.error(
                    node, "invalid-transition", f"{slot}: a transition for event {event!r} does not belong here"
                )
            targets = transition.targets
            if targets is not None:
                if transition.handler is None and len(targets) == 1:
                    # The common shape first: one sibling.
                    parent = node.parent
                    if parent is None or targets[0] not in parent.by_key:
                        self.target(node, targets[0], slot)
                else:
                    self.check_targets(node, targets, slot, together=transition.handler is None)
            if len(transitions) > 1:
                if closed and event in closed:
                    raise self.error(
                        node,
                        "unreachable-transition",
                        f"{slot}{' ' + repr(event) if event else ''}: a transition stands behind one that is always taken; "
                        "put it first or give the earlier one a guard",
                    )
                if transition.handler is None and transition.guard is None:
                    closed = (closed or set()) | {event}

    def check_descriptor(self, node: Node, event: Any) -> None:
        if not isinstance(event, str) or not event:
            raise self.error(node, "invalid-descriptor", f"{event!r} is no event type")
        if event.startswith("@") and event not in RESERVED_ALLOWED and not event.startswith(RESERVED_PREFIXES):
            raise self.error(
                node,
                "reserved-event",
                f"{event!r} names one of the engine's own events; use on_done, on_error, after or on_timeout",
            )
        if "*" in event and event != "*" and (event.count("*") != 1 or not event.endswith(".*") or event == ".*"):
            raise self.error(
                node, "invalid-descriptor", f"{event!r}: a '*' stands alone or at the end after a dot, as in 'todo.*'"
            )

    def check_targets(self, node: Node, targets: tuple[str, ...] | None, slot: str, *, together: bool = False) -> None:
        if targets is None:
            return
        nodes = [self.target(node, name, slot) for name in targets]
        if together and not targets:
            raise self.error(node, "invalid-target", f"{slot}: an empty list of targets; leave it out to stay")
        if together and len(nodes) > 1:
            for number, one in enumerate(nodes):
                for other in nodes[number + 1 :]:
                    if not in_different_regions(one, other):
                        raise self.error(
                            node,
                            "invalid-target",
                            f"{slot}: targets {one.id!r} and {other.id!r} cannot be active together; several targets must "
                            "lie in different regions of a parallel state",
                        )

    def target(self, node: Node, name: Any, slot: str) -> Node:
        found = find_target(node, name)
        if found is None:
            if not isinstance(name, str):
                raise self.error(
                    node, "invalid-target", f"{slot}: {name!r} is no target; give a state's key, '.child' or '#id'"
                )
            raise self.error(
                node, "unknown-target", f"{slot}: there is no state {name!r}. {self.target_hint(node, name)}"
            )
        return found

    def target_hint(self, node: Node, name: str) -> str:
        near: list[str] = ["#" + id for id in self.table.by_id] if name.startswith("#") else []
        if not near:
            near = ["." + key for key in node.by_key]
            if node.parent is not None:
                near += list(node.parent.by_key)
        hint = did_you_mean(name, near)
        if not hint.startswith("Did") and node.parent is None and name in node.by_key:
            return f"From the root a child is written {'.' + name!r}."
        return hint

    def check_delay_name(self, node: Node, delay: Any) -> None:
        if isinstance(delay, str) and delay not in self.table.delays:
            raise self.error(
                node,
                "unknown-delay",
                f"the delay {delay!r} is not among the machine's delays. {did_you_mean(delay, self.table.delays)}",
            )

    def delay(self, value: Any, name: str) -> Any:
        if isinstance(value, timedelta):
            value = value.total_seconds()
        if isinstance(value, WithAt) or callable(value):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf"):
            return value
        raise DefinitionError(
            f"delays[{name!r}] is {value!r}; give seconds (0 or more), a timedelta or a function of the context",
            code="invalid-delay",
            machine=self.table.id,
        )

    def error(self, node: Node, code: str, message: str) -> DefinitionError:
        return DefinitionError(message, code=code, machine=self.table.id, state=node.path or "(root)")


def _function_of(given: Any) -> Any:
    """Return an entry or exit slot as a function: a constant move needs none to be written."""
    if isinstance(given, Move):
        return lambda _context: given
    return given
