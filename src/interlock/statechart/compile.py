"""Compiles a definition into a :class:`Table`, saying at once whatever can be known to be wrong with it.

Nodes and targets are checked eagerly; candidate lists are made on first use, so that building a large machine costs
little more than writing it down.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from interlock.errors import DefinitionError, did_you_mean
from interlock.statechart.candidates import delay_text
from interlock.statechart.chart import Table
from interlock.statechart.checks import (
    check_delay_name,
    check_targets,
    check_transitions,
    checked_delay,
    known_target,
    refused,
)
from interlock.statechart.context import ContextType, TypeRefusedError
from interlock.statechart.definition import Function, Invoke, State, WithAt
from interlock.statechart.detached import is_whole
from interlock.statechart.kinds import CHOICE, COMPOUND, FINAL, HISTORY, PARALLEL
from interlock.statechart.moves import UNSET, Move
from interlock.statechart.narrowing import Narrowing
from interlock.statechart.nodes import Invocation, Node, NodeTimer
from interlock.statechart.targets import in_different_regions

__all__ = ["compile_table"]


def compile_table(
    id: str,
    definition: State,
    *,
    context: ContextType,
    delays: Mapping[str, Any],
    sources: Mapping[str, str],
    version: str | None,
) -> Table:
    """Return the checked, compiled table of a machine. Raises :class:`DefinitionError`.

    ``sources`` gives, by name, the version of a source that is a machine, and an empty text for any other.
    """
    if not id or any(character in id for character in "#/") or not is_whole(id):
        raise DefinitionError(
            f"{id!r} is no machine id: it must not be empty and must hold no '#', no '/' and no lone surrogate",
            code="invalid-key",
            machine=id,
        )
    for word, names in (("sources", sources), ("delays", delays)):
        for name in names:
            if not is_whole(name):
                raise DefinitionError(
                    f"{word} holds {name!r}, a name with a lone surrogate, which cannot be saved",
                    code="invalid-key",
                    machine=id,
                )
    table = Table(id, definition, context, sources, version)
    table.delays = {name: checked_delay(id, name, value) for name, value in delays.items()}
    _Compiler(table, set(sources)).build()
    return table


class _Compiler:
    """Makes the nodes of a table and checks what their author declared."""

    def __init__(self, table: Table, sources: set[str]) -> None:
        self.table = table
        self.sources = sources

    def build(self) -> None:
        """Make all nodes, then check each: by then every target that exists is there."""
        table = self.table
        # (definition, key, parent): a pre-order walk without recursion, so that depth is no matter.
        stack: list[tuple[State, str, Node | None]] = [(table.definition, "", None)]
        children: dict[Node, list[Node]] = {}
        while stack:
            definition, key, parent = stack.pop()
            node = Node(table, definition, key, parent)
            table.nodes.append(node)
            if not isinstance(cast("object", definition.id), str | None):
                raise refused(node, "invalid-key", f"id={definition.id!r} is no text; give one, or leave it out")
            if not is_whole(node.id):
                raise refused(node, "invalid-key", f"the id {node.id!r} holds a lone surrogate, which cannot be saved")
            earlier = table.by_id.get(node.id)
            if earlier is not None:
                raise refused(
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
                stack.extend(
                    [(child, child_key, node) for child_key, child in reversed(list(definition.states.items()))]
                )
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
        self.check_invocations()

    def check_key(self, parent: Node, key: Any, child: Any) -> None:
        """Refuse what cannot be a child state of ``parent``, or cannot be its key."""
        if not isinstance(key, str) or not key or "." in key or "#" in key or "/" in key or key.startswith("@"):
            raise refused(
                parent,
                "invalid-key",
                f"{key!r} cannot be a state's key: use a non-empty string without '.', '#', '/' and a leading '@'",
            )
        if not is_whole(key):
            raise refused(parent, "invalid-key", f"{key!r} cannot be a state's key: it holds a lone surrogate")
        if not isinstance(child, State):
            raise refused(
                parent,
                "invalid-state",
                f"states[{key!r}] is {type(child).__name__}, not a state; write {key!r}: state(...)",
            )

    def check_node(self, node: Node) -> None:
        """Check one state against the rules of its kind, and keep what steps need to know of it."""
        definition = node.definition
        kind = node.kind
        if kind == COMPOUND:
            self.check_initial(node)
        elif kind != PARALLEL and node.children:
            raise refused(node, "invalid-state", f"a {definition.kind} state cannot have child states")
        elif kind == PARALLEL and all(child.kind == HISTORY for child in node.children):
            raise refused(node, "invalid-state", "a parallel state needs at least one region: states={...}")
        if kind == PARALLEL and definition.initial is not None:
            raise refused(node, "invalid-state", "all regions of a parallel state are active: leave out initial=")
        if kind == HISTORY:
            self.check_history(node)
            return
        if kind == CHOICE:
            if node.parent is None:
                raise refused(node, "invalid-state", "the root cannot be a choice state")
            check_targets(node, definition.targets, "choice")
            return
        if definition.on:
            check_transitions(node, definition.on, "on")
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
        if definition.context is not None:
            self.narrow(node)
        if definition.entry is not None:
            node.entry = _function_of(definition.entry)
        if definition.exit is not None:
            node.exit = _function_of(definition.exit)
        node.noisy_exit = bool(node.exit or node.timers or node.invocations or node.histories or kind == FINAL)
        node.noisy_entry = bool(
            node.entry
            or node.timers
            or node.invocations
            or kind == FINAL
            or definition.initial_input is not UNSET
            or definition.context is not None
        )

    def narrow(self, node: Node) -> None:
        """Find the narrower type that the context has while a state is active."""
        try:
            self.table.narrowing[node] = Narrowing(node.definition.context, self.table.context)
        except TypeRefusedError as error:
            raise refused(node, error.code, str(error)) from error

    def check_initial(self, node: Node) -> None:
        """Find the state with which a compound state starts."""
        initial = node.definition.initial
        if initial is None:
            raise refused(
                node,
                "missing-initial",
                f"a state with child states needs initial=, one of {', '.join(map(repr, node.by_key))}",
            )
        target = node
        for key in initial.split("."):
            found = target.by_key.get(key)
            if found is None:
                raise refused(
                    node,
                    "unknown-target",
                    f"initial={initial!r} is no child state. {did_you_mean(initial, node.by_key)}",
                )
            target = found
        node.initial = target
        if target.kind == HISTORY and target.definition.targets is None:
            raise refused(
                node, "invalid-state", f"initial={initial!r} is a history state without a target to start from"
            )
        if target.kind == HISTORY or target.parent is not node:
            node.table.history_defaults = True

    def check_history(self, node: Node) -> None:
        """Check a history state, and find the states for which it stands at first."""
        definition = node.definition
        if node.parent is None:
            raise refused(node, "invalid-state", "the root cannot be a history state")
        if (
            definition.on
            or definition.entry
            or definition.exit
            or definition.invoke
            or definition.always
            or definition.after
        ):
            raise refused(
                node, "invalid-state", "a history state is never active, so nothing but deep and target belongs there"
            )
        if definition.targets is not None:
            # Relative to the parent's children, as the parent's own default would be.
            node.defaults = tuple([known_target(node, name, "target") for name in definition.targets])
            if any(target is node for target in node.defaults):
                raise refused(node, "invalid-target", "a history state cannot be its own default")

    def check_more(self, node: Node) -> None:
        """Check what most states do not have: slots other than ``on``, timers and invocations."""
        definition = node.definition
        check_transitions(node, definition.always, "always")
        check_transitions(node, definition.on_done, "on_done")
        check_transitions(node, definition.on_error, "on_error")
        check_transitions(node, definition.on_timeout, "on_timeout")
        for transition in definition.always:
            if (
                transition.handler is None
                and transition.guard is None
                and transition.targets
                and len(definition.always) == 1
            ):
                target = known_target(node, transition.targets[0], "always")
                if target is node:
                    raise refused(
                        node,
                        "invalid-transition",
                        "always leads to the state itself without a condition: that never ends",
                    )
        timers: list[NodeTimer] = []
        for timed in definition.after:
            check_transitions(node, timed.transitions, f"after {timed.delay}")
            check_delay_name(node, timed.delay)
            timer_id = f"after:{delay_text(timed.delay)}:{node.id}"
            timers.append(NodeTimer(timer_id, timed.delay, f"@{timer_id}"))
        if definition.timeout is not None:
            check_delay_name(node, definition.timeout)
            if not definition.on_timeout:
                raise refused(node, "invalid-state", "timeout= needs on_timeout=: say what happens when the time is up")
            timers.append(NodeTimer(f"timeout:{node.id}", definition.timeout, f"@timeout:{node.id}"))
        elif definition.on_timeout:
            raise refused(node, "invalid-state", "on_timeout= needs timeout=: say how long to wait")
        invocations: list[Invocation] = []
        for number, item in enumerate(definition.invoke):
            invocation = self.invocation(node, number, item)
            if any(other.id == invocation.id for other in invocations):
                raise refused(
                    node, "duplicate-id", f"two invocations have the id {invocation.id!r}; give each its own id="
                )
            invocations.append(invocation)
            if invocation.timer is not None:
                timers.append(NodeTimer(invocation.timer, item.timeout, f"@{invocation.timer}"))
        node.timers = tuple(timers)
        node.invocations = tuple(invocations)

    def check_invocations(self) -> None:
        """Refuse invocations of one id that run at once: in two regions, or in states that are entered together."""
        named: dict[str, list[Node]] = {}
        for node in self.table.nodes:
            for invocation in node.invocations:
                others = named.setdefault(invocation.id, [])
                for other in others:
                    if in_different_regions(other, node) or _entered_with(other, node):
                        raise refused(
                            node,
                            "duplicate-id",
                            f"state {other.path or '(root)'!r}, which may be active with it, has an invocation of the "
                            f"id {invocation.id!r} as well; give each its own id=",
                        )
                others.append(node)

    def invocation(self, node: Node, number: int, item: Any) -> Invocation:
        """Check and compile one invocation of a state, the ``number``th as it is written."""
        if not isinstance(item, Invoke):
            raise refused(node, "invalid-state", f"invoke holds {item!r}; write invoke(src, ...)")
        if item.src not in self.sources:
            raise refused(
                node,
                "unknown-source",
                f"invoke names the source {item.src!r}, which is not among the machine's sources. "
                f"{did_you_mean(item.src, self.sources)}",
            )
        id = item.id if item.id is not None else f"{number}.{node.id}"
        self.check_child_id(node, id)
        slot = f"invoke {id!r}"
        check_transitions(node, item.on_done, f"{slot} on_done")
        check_transitions(node, item.on_error, f"{slot} on_error")
        check_transitions(node, item.on_timeout, f"{slot} on_timeout")
        if item.timeout is not None:
            check_delay_name(node, item.timeout)
        if (item.timeout is None) != (not item.on_timeout):
            raise refused(node, "invalid-state", f"{slot}: timeout= and on_timeout= belong together")
        wide = isinstance(item.input, WithAt)
        function = item.input.function if isinstance(item.input, WithAt) else item.input
        return Invocation(node, id, item, function, wide=wide)

    def check_child_id(self, node: Node, id: Any) -> None:
        """Refuse an id that could not be told from an address."""
        if not isinstance(id, str) or not id or any(character in id for character in "#/") or id.startswith("@"):
            raise refused(
                node, "invalid-key", f"{id!r} cannot be an id: it must not be empty, hold '#' or '/', or start with '@'"
            )
        if not is_whole(id):
            raise refused(node, "invalid-key", f"{id!r} cannot be an id: it holds a lone surrogate")


def _entered_with(outer: Node, node: Node) -> bool:
    """Whether a state is entered whenever the one around it is, unless something leads elsewhere."""
    while node.parent is not None and (node.parent.kind == PARALLEL or node.parent.initial is node):
        node = node.parent
        if node is outer:
            return True
    return False


def _function_of(given: Function | Move) -> Function:
    """Return an entry or exit slot as a function: a constant move needs none to be written."""
    if isinstance(given, Move):

        def constant(_context: Any) -> Move:
            return given

        return constant
    return given
