"""Which transitions an event, or the absence of one, selects. ``can`` and the real step ask here, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.statechart.kinds import PARALLEL

if TYPE_CHECKING:
    from interlock.statechart.candidates import Candidate
    from interlock.statechart.chart import Configuration
    from interlock.statechart.moves import Move
    from interlock.statechart.nodes import Node
    from interlock.statechart.working import Working

__all__ = ["Choice", "select", "select_eventless"]

Choice = tuple["Candidate", "Move | None"]
"""A selected candidate, with what its handler returned (None for a static transition)."""


def enabled(working: Working, candidate: Candidate, event: Any) -> tuple[bool, Move | None]:
    """Ask a candidate whether it is enabled, and for the move that it wants to make."""
    guard = candidate.guard
    if guard is not None and not working.allows(candidate, guard, event):
        return False, None
    handler = candidate.handler
    if handler is None:
        return True, None
    move = working.ask(candidate, handler, wide=candidate.handler_wide, event=event)
    if move is None:
        return False, None
    return True, working.checked(move, candidate.node, event, candidate.definition.handler)


def first_enabled(working: Working, candidates: tuple[Candidate, ...], event: Any) -> Choice | None:
    """Return the first enabled one of a node's candidates."""
    for candidate in candidates:
        taken, move = enabled(working, candidate, event)
        if taken:
            return candidate, move
    return None


def select(working: Working, event: Any) -> list[Choice]:
    """Return what an event selects: the innermost enabled candidate of each region, in document order.

    A state is asked only if nothing inside it was selected, a parallel state only if none of its regions selected
    anything.
    """
    configuration = working.configuration
    event_type = event.type
    chosen: list[Choice] = []
    if configuration.inert:
        return chosen
    leaves = configuration.leaves
    # How many were selected before each leaf: tells a parallel state whether its regions selected anything.
    before: list[int] = []
    last = len(leaves) - 1
    for number, leaf in enumerate(leaves):
        before.append(len(chosen))
        node = leaf
        while True:
            # Up to the root of this region ...
            found = None
            while True:
                candidates = node.candidates(event_type)
                if candidates:
                    found = first_enabled(working, candidates, event)
                    if found is not None:
                        chosen.append(found)
                        break
                parent = node.parent
                if parent is None or parent.kind == PARALLEL:
                    break
                node = parent
            # ... and on from the parallel state above, once its last region has been asked and none has answered.
            above = _parallel_above(node)
            if above is None or (number < last and leaves[number + 1].index < above.end):
                break
            first = number
            while first > 0 and leaves[first - 1].index > above.index:
                first -= 1
            if len(chosen) > before[first]:
                break
            node = above
    return chosen


def _parallel_above(node: Node) -> Node | None:
    parent = node.parent
    while parent is not None and parent.kind != PARALLEL:
        parent = parent.parent
    return parent


def select_eventless(working: Working, event: Any) -> list[Choice]:
    """Return the enabled eventless transitions: for each leaf the innermost one, each transition once."""
    chosen: list[Choice] = []
    asked: dict[Candidate, Choice | None] = {}
    taken: set[Candidate] = set()
    for leaf in working.configuration.leaves:
        node: Node | None = leaf
        while node is not None:
            found = None
            for candidate in node.always:
                if candidate not in asked:
                    yes, move = enabled(working, candidate, event)
                    asked[candidate] = (candidate, move) if yes else None
                found = asked[candidate]
                if found is not None:
                    break
            if found is not None:
                if found[0] not in taken:
                    taken.add(found[0])
                    chosen.append(found)
                break
            node = node.parent
    return chosen


def candidates_on_path(configuration: Configuration, event_type: str) -> tuple[Candidate, ...]:
    """Return the candidates from a single leaf to the root, in the order in which they are asked."""
    found: tuple[Candidate, ...] = ()
    node: Node | None = configuration.leaves[0]
    while node is not None:
        own = node.candidates(event_type)
        if own:
            found += own
        node = node.parent
    return found
