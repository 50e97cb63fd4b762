"""The whole running system as one immutable value."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar, cast

from interlock.statechart.frozen import EMPTY
from interlock.statechart.matching import matches, thawed
from interlock.statechart.moves import UNSET
from interlock.statechart.owing import Child, Timer
from interlock.statechart.saving import dump, to_json

if TYPE_CHECKING:
    from interlock.statechart.chart import Configuration, Table
    from interlock.statechart.nodes import Node

__all__ = ["FRESH", "Draft", "Rest", "Snapshot", "Status", "input_of", "snapshot_of"]

C_co = TypeVar("C_co", covariant=True)
Status = Literal["active", "done", "error", "stopped"]


class Rest:
    """What seldom changes in a snapshot, shared between snapshots while it does not."""

    __slots__ = ("children", "history", "inputs", "outcome", "results", "seq", "status", "timers")

    def __init__(
        self,
        status: Status,
        seq: int,
        children: Mapping[str, Child],
        timers: Mapping[str, Timer],
        history: Mapping[Node, tuple[Node, ...]],
        inputs: Mapping[Node, Any],
        results: Mapping[Node, Any],
        outcome: Any,
    ) -> None:
        self.status: Status = status
        self.seq = seq
        self.children = children
        self.timers = timers
        self.history = history
        self.inputs = inputs
        self.results = results
        self.outcome = outcome
        """What a machine that has ended has put out, or failed with."""

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Rest) and all(getattr(self, name) == getattr(other, name) for name in self.__slots__)
        )

    __hash__ = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]  # holds mappings


NOTHING = cast("Mapping[Any, Any]", EMPTY)
FRESH = Rest("active", 0, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, None)


class Draft:
    """A snapshot while it is made; :func:`snapshot_of` turns it into a :class:`Snapshot` before anybody sees it."""

    __slots__ = ("configuration", "context", "known_owed", "rest")

    known_owed: Any
    """What ``owed`` has found in it and below, once it was asked; part of no comparison, and never saved."""

    def __init__(self, configuration: Configuration, context: Any, rest: Rest) -> None:
        self.configuration = configuration
        self.context = context
        self.rest = rest


class Snapshot(Draft, Generic[C_co]):
    """The running system as one immutable value: active states, context, status, and everything that is owed.

    Made by ``initial_transition``, ``transition`` and ``machine.load``; never by hand, never changed. Two snapshots
    are equal if they would behave alike.
    """

    __slots__ = ()

    configuration: Configuration
    context: C_co
    rest: Rest

    def __init__(self) -> None:
        raise TypeError("snapshots come from initial_transition(), transition() and machine.load()")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a snapshot is immutable: {name} cannot be set; take a step instead")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a snapshot is immutable: {name} cannot be deleted")

    # -- where it stands -------------------------------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """The active states as plain data: a key, or nested dicts; ``{}`` for an atomic root or region."""
        return thawed(self.configuration.value)

    @property
    def states(self) -> tuple[str, ...]:
        """The ids of all active states, in document order."""
        return tuple(node.id for node in self.configuration.nodes)

    @property
    def tags(self) -> frozenset[str]:
        """The union of the tags of all active states."""
        return self.configuration.tags

    @property
    def meta(self) -> dict[str, Mapping[str, Any]]:
        """The ``meta`` of each active state that has one, by state id."""
        return {
            node.id: copy.deepcopy(node.definition.meta) for node in self.configuration.nodes if node.definition.meta
        }

    @property
    def status(self) -> Status:
        """``"active"``, ``"done"`` or ``"error"``."""
        return self.rest.status

    @property
    def output(self) -> Any:
        """What a done machine has put out; None before."""
        if self.rest.status != "done":
            return None
        outcome = self.rest.outcome
        # A declared output type may be one that can be changed in place: the caller gets a copy of his own.
        return outcome if self.table.output_type is None else copy.deepcopy(outcome)

    @property
    def error(self) -> Any:
        """What a failed machine has failed with; None before."""
        return self.rest.outcome if self.rest.status == "error" else None

    @property
    def children(self) -> Mapping[str, Child]:
        """The running children by id."""
        return MappingProxyType(dict(self.rest.children))

    @property
    def timers(self) -> Mapping[str, Timer]:
        """The pending timers by id."""
        return MappingProxyType(dict(self.rest.timers))

    @property
    def history(self) -> dict[str, tuple[str, ...]]:
        """What history states remember: history state id to state ids."""
        return {node.id: tuple(item.id for item in found) for node, found in self.rest.history.items()}

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs given to states, by state id."""
        return {node.id: value for node, value in self.rest.inputs.items()}

    @property
    def seq(self) -> int:
        """How many children and timers this machine has started so far; the next one's number."""
        return self.rest.seq

    @property
    def machine_id(self) -> str:
        """The machine's id."""
        return self.configuration.table.id

    @property
    def machine_version(self) -> str:
        """The machine's version."""
        return self.configuration.table.version

    @property
    def table(self) -> Table:
        """The compiled chart."""
        return self.configuration.table

    def matches(self, pattern: str | Mapping[str, Any]) -> bool:
        """Whether ``pattern`` (``"a.b"``, or nested dicts as in ``value``) describes active states."""
        return matches(self.configuration, pattern)

    # -- questions and saving: answered by the rooms that know how -------------------------------------------------

    def can(self, event: Any) -> bool:
        """Whether a step with ``event`` would do something. Evaluates handlers, which are pure, and changes nothing."""
        from interlock.statechart.queries import can  # noqa: PLC0415  # it imports this module

        return can(self, event)

    def accepted_events(self) -> tuple[str, ...]:
        """The event types and patterns that active states declare, innermost first, in order of declaration."""
        from interlock.statechart.queries import accepted_events  # noqa: PLC0415  # the same

        return accepted_events(self)

    def dump(self) -> dict[str, Any]:
        """Return the snapshot as strict JSON data, complete: ``machine.load`` goes on from there as if nothing was."""
        return dump(self)

    def to_json(self) -> str:
        """Return :meth:`dump` as text; equal snapshots give equal text."""
        return to_json(self)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Snapshot)
            and self.table is other.table
            and self.configuration.leaves == other.configuration.leaves
            and self.rest == other.rest
            and bool(self.context == cast("Any", other).context)
        )

    __hash__ = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]  # holds mappings

    def __copy__(self) -> Snapshot[C_co]:
        return self

    def __deepcopy__(self, memo: object) -> Snapshot[C_co]:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a snapshot holds its machine's functions; save snapshot.dump() and use machine.load() instead of pickle"
        )

    def __repr__(self) -> str:
        leaves = ", ".join(leaf.path for leaf in self.configuration.leaves)
        return f"<snapshot of {self.machine_id!r}: {self.status}, {leaves}>"


def snapshot_of(configuration: Configuration, context: Any, rest: Rest) -> Snapshot[Any]:
    """Return a snapshot. Setting the class last is what makes it immutable at no cost on the hot path."""
    made: Any = Draft(configuration, context, rest)
    made.__class__ = Snapshot
    return cast("Snapshot[Any]", made)


def input_of(rest_inputs: Mapping[Node, Any], node: Node) -> Any:
    """Return the input of a state, None where it was given none."""
    value = rest_inputs.get(node, UNSET)
    return None if value is UNSET else value
