"""What a running machine owes: its children with their records, and its timers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from interlock.statechart.nodes import Invocation, Node
    from interlock.statechart.snapshot import Snapshot, Status

__all__ = ["NO_RECORDS", "Child", "Records", "Timer"]

T = TypeVar("T")


class Records:
    """Append-only JSON kept on an invocation; appending is O(1) and never changes an earlier value."""

    __slots__ = ("_before", "_folded", "_length", "_value")

    def __init__(self, before: Records | None = None, value: Any = None) -> None:
        self._before = before
        self._value = value
        self._length: int = 0 if before is None else len(before) + 1
        self._folded: tuple[object, Any] | None = None

    def append(self, value: Any) -> Records:
        """Return these records with one more."""
        return Records(self, value)

    def since(self, earlier: Records) -> list[Any] | None:
        """Return what was appended to ``earlier`` to make this; None if this was not made from it."""
        found: list[Any] = []
        here = self
        while here is not earlier:
            if here._before is None:
                return None
            found.append(here._value)
            here = here._before
        return found[::-1]

    def fold(self, add: Callable[[T, Any, int], T], start: T) -> T:
        """Return what ``add(found, record, number)`` makes of ``start`` and each record in turn.

        What it came to is remembered here, so that after one more record only that one is added. ``add`` must be pure,
        a function of a module, and be given the same ``start`` each time.
        """
        fresh: list[Any] = []
        found = start
        here = self
        while here._before is not None:
            known = here._folded
            if known is not None and known[0] is add:
                found = known[1]
                break
            fresh.append(here._value)
            here = here._before
        if fresh:
            for number, record in enumerate(reversed(fresh), len(here)):
                found = add(found, record, number)
            # One remembers for all: what grows with each record is not kept once for each.
            here._folded = None  # noqa: SLF001  # its own kind
            self._folded = (add, found)
        return found

    def __iter__(self) -> Iterator[Any]:
        found: list[Any] = []
        here = self
        while here._before is not None:
            found.append(here._value)
            here = here._before
        return iter(found[::-1])

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Any:
        return self._value if 0 < self._length == index + 1 else tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Records) and self._length == other._length and tuple(self) == tuple(other)
        )

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Records{tuple(self)!r}"


NO_RECORDS = Records()


class Child:
    """A running child: invoked by a state, or spawned. ``snapshot`` is set where its source is a machine."""

    __slots__ = ("id", "input", "invocation", "records", "seq", "snapshot", "src")

    def __init__(
        self,
        id: str,
        seq: int,
        src: str,
        input: Any,
        invocation: Invocation | None = None,
        records: Records = NO_RECORDS,
        snapshot: Snapshot[Any] | None = None,
    ) -> None:
        self.id = id
        self.seq = seq
        self.src = src
        self.input = input
        self.invocation = invocation
        self.records = records
        self.snapshot = snapshot

    @property
    def key(self) -> str:
        """``id#seq``: which of the children that had this id."""
        return f"{self.id}#{self.seq}"

    @property
    def state(self) -> Node | None:
        """The state that invokes it; None for a spawned child."""
        return None if self.invocation is None else self.invocation.node

    @property
    def status(self) -> Status:
        """A child machine's status; ``"active"`` for anything else, for it is here while it runs."""
        return self.snapshot.status if self.snapshot is not None else "active"

    def with_(self, *, records: Records | None = None, snapshot: Snapshot[Any] | None = None) -> Child:
        """Return this child with more records or another snapshot."""
        return Child(
            self.id,
            self.seq,
            self.src,
            self.input,
            self.invocation,
            self.records if records is None else records,
            self.snapshot if snapshot is None else snapshot,
        )

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Child)
            and (self.id, self.seq, self.src, self.invocation) == (other.id, other.seq, other.src, other.invocation)
            and self.input == other.input
            and self.records == other.records
            and self.snapshot == other.snapshot
        )

    __hash__ = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]  # holds mappings

    def __repr__(self) -> str:
        return f"Child({self.key!r}, src={self.src!r})"


class Timer:
    """A pending timer. ``event`` is what it raises (or, with ``to``, sends); None for a state's own timer."""

    __slots__ = ("delay", "due", "event", "id", "seq", "to")

    def __init__(self, id: str, seq: int, delay: float, due: float, event: Any = None, to: str | None = None) -> None:
        self.id = id
        self.seq = seq
        self.delay = delay
        self.due = due
        self.event = event
        self.to = to

    @property
    def key(self) -> str:
        """``id#seq``: which of the timers that had this id."""
        return f"{self.id}#{self.seq}"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Timer)
            and (self.id, self.seq, self.delay, self.due, self.to, self.event)
            == (other.id, other.seq, other.delay, other.due, other.to, other.event)
        )

    __hash__ = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]  # holds mappings

    def __repr__(self) -> str:
        return f"Timer({self.key!r}, due={self.due!r})"
