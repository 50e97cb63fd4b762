"""Questions about a snapshot: what it would do, what it accepts, and what is owed. All of them pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from interlock.statechart.budget import Budget
from interlock.statechart.events import as_event
from interlock.statechart.moves import Move
from interlock.statechart.owing import Child, Records
from interlock.statechart.selection import select
from interlock.statechart.snapshot import Snapshot
from interlock.statechart.working import Working

if TYPE_CHECKING:
    from interlock.statechart.definition import Transition
    from interlock.statechart.machine import Machine

__all__ = ["Owed", "OwedInvocation", "OwedTimer", "Taken", "accepted_events", "can", "machine_at", "owed", "selected"]


class Taken(NamedTuple):
    """A transition that an event would take: at which state, as it was defined, and the move (None: a static one)."""

    state: str
    definition: Transition
    move: Move | None
    bare: bool


def selected(snapshot: Snapshot[Any], event: Any) -> tuple[Taken, ...]:
    """Return the transitions that ``event`` would take now, by the same code as the step, guards included."""
    configuration = snapshot.configuration
    if configuration.inert:
        return ()
    # No machine: nothing is started and nothing is sent by asking.
    asking: Any = _Asking(configuration.table)
    working = Working(asking, snapshot, None, [], Budget())
    return tuple(
        Taken(candidate.node.id, candidate.definition, move, candidate.bare)
        for candidate, move in select(working, as_event(event))
    )


class _Asking:
    """Stands in for the machine where handlers are only asked."""

    __slots__ = ("id", "sources", "table")

    def __init__(self, table: Any) -> None:
        self.table = table
        self.id = table.id
        self.sources: dict[str, Any] = {}


def can(snapshot: Snapshot[Any], event: Any) -> bool:
    """Whether a transition that does something is selected. A static one with no target, guard or effect does not."""
    return any(not taken.bare for taken in selected(snapshot, event))


def accepted_events(snapshot: Snapshot[Any]) -> tuple[str, ...]:
    """Return the event types and patterns that active states declare: each leaf and its ancestors, as declared."""
    if snapshot.configuration.inert:
        return ()
    found: dict[str, None] = {}
    for leaf in snapshot.configuration.leaves:
        node = leaf
        while True:
            for transition in node.definition.on:
                found[transition.event] = None
            if node.parent is None:
                break
            node = node.parent
    return tuple(found)


class OwedInvocation(NamedTuple):
    """Work that runs: an opaque source, started and not yet finished."""

    address: tuple[str, ...]
    id: str
    seq: int
    src: str
    input: Any
    records: Records
    logic: Any
    state: str | None
    snapshot: Snapshot[Any]
    identity: str
    """The path of ``id#seq`` keys from the root: names this work and no other, before and after a restart."""

    @property
    def key(self) -> str:
        """``id#seq``."""
        return f"{self.id}#{self.seq}"


class OwedTimer(NamedTuple):
    """A timer that is pending; ``due`` in Unix seconds."""

    address: tuple[str, ...]
    id: str
    seq: int
    due: float
    delay: float
    identity: str
    """The path of ``id#seq`` keys from the root."""

    @property
    def key(self) -> str:
        """``id#seq``."""
        return f"{self.id}#{self.seq}"


class Owed(NamedTuple):
    """Everything that a running system waits for: calls in order of their start, timers in the order of firing."""

    invocations: tuple[OwedInvocation, ...]
    timers: tuple[OwedTimer, ...]


def owed(snapshot: Snapshot[Any]) -> Owed:
    """Return what is owed, over the whole tree of machines, from the snapshot alone."""
    return _known(snapshot, ()) or _look(snapshot)


def _look(snapshot: Snapshot[Any]) -> Owed:
    """Find out what is owed, from the leaves of the tree to its root; where nothing has changed it is known already."""
    found: dict[tuple[str, ...], Owed] = {}
    stack: list[tuple[tuple[str, ...], Snapshot[Any]]] = [((), snapshot)]
    while stack:
        address, inner = stack[-1]
        children = _in_order(inner)
        below = [((*address, child.key), child.snapshot) for child in children if child.snapshot is not None]
        for place, child in below:
            known = _known(child, place)
            if known is not None:
                found[place] = known
        missing = [(place, child) for place, child in below if place not in found]
        if missing:
            stack += missing
            continue
        found[address] = _owed_by(inner, address, children, [found.pop(place) for place, _ in below])
        object.__setattr__(inner, "known_owed", (address, found[address]))
        stack.pop()
    return found[()]


def _known(snapshot: Snapshot[Any], address: tuple[str, ...]) -> Owed | None:
    known: tuple[tuple[str, ...], Owed] | None = getattr(snapshot, "known_owed", None)
    return known[1] if known is not None and known[0] == address else None


def _owed_by(inner: Snapshot[Any], address: tuple[str, ...], children: list[Child], below: list[Owed]) -> Owed:
    invocations: list[OwedInvocation] = []
    timers: list[OwedTimer] = []
    path = "".join([f"{key}/" for key in address])
    if inner.status == "active":
        timers += (
            OwedTimer(address, item.id, item.seq, item.due, item.delay, f"{path}{item.id}#{item.seq}")
            for item in inner.rest.timers.values()
        )
        for child in children:
            if child.snapshot is None:
                definition = child.invocation.definition if child.invocation is not None else None
                invocations.append(
                    OwedInvocation(
                        address,
                        child.id,
                        child.seq,
                        child.src,
                        child.input,
                        child.records,
                        definition.logic if definition is not None else None,
                        child.state.id if child.state is not None else None,
                        inner,
                        f"{path}{child.key}",
                    )
                )
    for inside in below:
        invocations += inside.invocations
        timers += inside.timers
    timers.sort(key=lambda item: (item.due, len(item.address), item.seq))
    return Owed(tuple(invocations), tuple(timers))


def machine_at(
    machine: Machine[Any, Any, Any], snapshot: Snapshot[Any], address: tuple[str, ...]
) -> Machine[Any, Any, Any] | None:
    """Return the machine that an address of ``id#seq`` keys leads to; None for one that is not there any more."""
    for key in address:
        child = snapshot.rest.children.get(key.rpartition("#")[0])
        if child is None or child.snapshot is None or child.key != key:
            return None
        machine, snapshot = machine.sources[child.src], child.snapshot
    return machine


def _in_order(snapshot: Snapshot[Any]) -> list[Child]:
    return sorted(snapshot.rest.children.values(), key=lambda child: child.seq)
