"""What follows from entering final states: done events, the end of the machine, and its failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from interlock.statechart.definition import WithAt
from interlock.statechart.events import InternalEvent
from interlock.statechart.frozen import FrozenDict
from interlock.statechart.kinds import COMPOUND, FINAL, HISTORY, PARALLEL
from interlock.statechart.moves import UNSET
from interlock.statechart.nodes import Node, NodeTimer
from interlock.statechart.operations import apply, cancel, stop

if TYPE_CHECKING:
    from interlock.statechart.owing import Child
    from interlock.statechart.working import Working

__all__ = ["entered_final", "fail", "finish"]


def entered_final(working: Working, node: Node, event: Any, entered: set[Node], completed: set[Node]) -> None:
    """Raise the done events that follow from entering a final state, or end the machine where it is the root's."""
    output = _output(working, node, event)
    if output is not UNSET:
        working.results = {**working.results, node: output}
    parent = node.parent
    if parent is None:
        _done(working, output, node, event)
        return
    if parent.kind == COMPOUND:
        working.queue.append(
            InternalEvent(f"@done.state.{parent.id}", parent.id, output=None if output is UNSET else output)
        )
        above = parent.parent
    else:
        above = parent
    if above is None:
        _done(working, output, node, event)
        return
    while above.kind == PARALLEL and above not in completed:
        if not all(_is_final(working, region, node, entered) for region in above.children if region.kind != HISTORY):
            return
        completed.add(above)
        result = _region_outputs(working, above)
        working.queue.append(InternalEvent(f"@done.state.{above.id}", above.id, output=result))
        if above.parent is None:
            _done(working, result, above, event)
            return
        above = above.parent


def _output(working: Working, node: Node, event: Any) -> Any:
    given = node.definition.output
    if given is UNSET:
        return UNSET
    value = working.call(given, node, event) if callable(given) or isinstance(given, WithAt) else given
    if _is_machines(working, node):
        # The machine's own: written by the type that is declared for it.
        machine = working.machine
        return machine.output_json(machine.checked_output(value, event))
    return working.json(value, "output", node, event)


def _is_machines(working: Working, node: Node) -> bool:
    root = working.table.root
    return (
        working.table.output_type is not None
        and root.definition.output is UNSET
        and (node is root or (node.parent is root and root.kind == COMPOUND))
    )


def _present(working: Working, node: Node, current: Node, entered: set[Node]) -> bool:
    # Completion is judged as nodes are entered: what comes later in this microstep is not there yet.
    if not working.configuration.active(node):
        return False
    return node not in entered or node.index <= current.index


def _is_final(working: Working, node: Node, current: Node, entered: set[Node]) -> bool:
    stack = [node]
    while stack:
        item = stack.pop()
        if item.kind == FINAL:
            if not _present(working, item, current, entered):
                return False
        elif item.kind == COMPOUND:
            if not any(child.kind == FINAL and _present(working, child, current, entered) for child in item.children):
                return False
        elif item.kind == PARALLEL:
            if not _present(working, item, current, entered):
                return False
            stack.extend(child for child in item.children if child.kind != HISTORY)
        else:
            return False
    return True


def _region_outputs(working: Working, node: Node) -> FrozenDict[str, Any]:
    # Bottom-up over nested parallel states, without recursion.
    order = [node]
    for item in order:
        order.extend(child for child in item.children if child.kind == PARALLEL)
    found: dict[Node, FrozenDict[str, Any]] = {}
    for item in reversed(order):
        outputs: dict[str, Any] = {}
        for region in item.children:
            if region.kind == HISTORY:
                continue
            if region.kind == PARALLEL:
                outputs[region.key] = found[region]
            elif region.kind == FINAL:
                outputs[region.key] = working.results.get(region)
            else:
                final = next(
                    child for child in region.children if child.kind == FINAL and working.configuration.active(child)
                )
                outputs[region.key] = working.results.get(final)
        found[item] = FrozenDict(outputs)
    return found[node]


def _done(working: Working, result: Any, node: Node, event: Any) -> None:
    working.status = "done"
    root = working.table.root
    given = root.definition.output if root is not node or root.kind != FINAL else UNSET
    if given is UNSET:
        output = None if result is UNSET or root.kind == PARALLEL else result
        if working.table.output_type is not None and output is not None:
            working.output = working.table.output_type.validate_json(to_json(output))
            return
    else:
        output = given
        if callable(given) or isinstance(given, WithAt):
            finished = InternalEvent("@output", root.id, output=None if result is UNSET else result)
            output = working.call(given, root, finished)
        if working.table.output_type is None:
            output = working.json(output, "output", root, event)
    working.output = working.machine.checked_output(output, event)


def finish(working: Working, event: Any) -> None:
    """End a done machine: exits (whose context changes are discarded), then children, then what timers are left."""
    context = working.context
    seen = working.children
    for node in reversed(working.configuration.nodes):
        if node.noisy_exit:
            for timer in reversed(node.timers):
                cancel(working, timer.id)
            if node.exit is not None:
                move = working.call(node.exit, node, event)
                if move is not None:
                    apply(working, move, node, event, seen, node.exit)
                    # Discarded at once: the next exit sees the context of the end as well.
                    working.context = context
    _release(working)


def fail(working: Working, error: Any) -> None:
    """End a machine that nobody can help: no exits; children and timers end in document order, none is orphaned."""
    working.status = "error"
    working.error = error
    _release(working)


def _release(working: Working) -> None:
    for child in sorted(working.children.values(), key=_child_order):
        stop(working, child)
    order = {timer.id: place for place, timer in enumerate(_own_timers(working))}
    for timer in sorted(working.timers.values(), key=lambda item: (order.get(item.id, len(order)), item.seq)):
        cancel(working, timer.id)
    working.queue.clear()
    working.configuration = working.table.inert(working.configuration)


def _own_timers(working: Working) -> list[NodeTimer]:
    return [timer for node in working.configuration.nodes for timer in node.timers]


def _child_order(child: Child) -> tuple[int, int]:
    # Invoked children stand where their states stand, spawned ones after them in order of spawning.
    return (child.state.index if child.state is not None else 1 << 60, child.seq)
