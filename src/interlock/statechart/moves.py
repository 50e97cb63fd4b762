"""What a handler returns: data about what shall happen. Nothing here has a side effect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, ClassVar, NamedTuple

__all__ = ["UNSET", "Delay", "Move", "Operation", "RichMove", "Unset", "goto", "stay"]

Delay = float | timedelta | str
"""Seconds, a ``timedelta``, or the name of one of the machine's ``delays``."""


class Unset:
    """The type of :data:`UNSET`, which stands for "not given" where None is a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"

    def __copy__(self) -> Unset:
        return self

    def __deepcopy__(self, memo: object) -> Unset:
        return self

    def __reduce__(self) -> str:
        return "UNSET"


UNSET = Unset()


class Operation(NamedTuple):
    """One effect that a move asks for; carried out in order when the move is."""

    name: str
    payload: Any
    id: str | None = None
    delay: Delay | None = None
    to: str | None = None


class Move:
    """An immutable answer of a handler: where to go, which fields of the context change, which effects follow.

    Made by :func:`goto` and :func:`stay`; each method returns a new move with one thing added. A plain ``Move`` has
    only a target and a patch (the hot path knows it by its class); anything more makes it a :class:`RichMove`.
    """

    __slots__ = ("patch", "target")

    target: str | tuple[str, ...] | None
    patch: Mapping[str, Any] | None
    operations: ClassVar[tuple[Operation, ...]] = ()
    reentering: ClassVar[bool] = False
    input: ClassVar[Any] = UNSET

    def __init__(self, target: str | tuple[str, ...] | None = None, patch: Mapping[str, Any] | None = None) -> None:
        self.target = target
        self.patch = patch

    def set(self, fields: Mapping[str, Any]) -> Move:
        """Also change these context fields; names and types are checked when the move is made."""
        made = self._copy()
        made.patch = {**(self.patch or {}), **fields}
        return made

    def emit(self, event: Any) -> Move:
        """Also publish ``event`` to whoever observes the run; the machine itself does not see it."""
        return self._also(Operation("emit", event))

    def raise_(self, event: Any, *, delay: Delay | None = None, id: str | None = None) -> Move:
        """Also send ``event`` to this machine: at once (before any outside event), or after ``delay`` seconds."""
        return self._also(Operation("raise", event, id, delay))

    def send(self, to: str, event: Any, *, delay: Delay | None = None, id: str | None = None) -> Move:
        """Also send ``event`` to the child ``to`` (or to ``"@parent"``), at once or after ``delay`` seconds."""
        return self._also(Operation("send", event, id, delay, to))

    def spawn(self, src: str, *, id: str | None = None, input: Any = None) -> Move:
        """Also start the source ``src`` as a child that outlives states; its id defaults to ``<src>:<n>``."""
        return self._also(Operation("spawn", input, id, None, src))

    def stop(self, child: str) -> Move:
        """Also stop this child; an unknown one is no error."""
        return self._also(Operation("stop", None, child))

    def cancel(self, timer: str) -> Move:
        """Also cancel the delayed event that was given this id."""
        return self._also(Operation("cancel", None, timer))

    def log(self, *values: Any) -> Move:
        """Also publish these values as a log record."""
        return self._also(Operation("log", values))

    def reenter(self) -> Move:
        """Leave and enter the source state again even where the target lies inside it."""
        made = self._copy()
        made.reentering = True
        return made

    def with_input(self, value: Any) -> Move:
        """Give the target state an input, which its own functions see."""
        made = self._copy()
        made.input = value
        return made

    def _also(self, operation: Operation) -> Move:
        made = self._copy()
        made.operations = (*self.operations, operation)
        return made

    def _copy(self) -> RichMove:
        made = RichMove(self.target, self.patch)
        made.operations = self.operations
        made.reentering = self.reentering
        made.input = self.input
        return made

    def __repr__(self) -> str:
        head = "stay()" if self.target is None else f"goto({self.target!r})"
        fields = f".set({dict(self.patch)!r})" if self.patch else ""
        return head + fields + "".join(f".{operation.name}(...)" for operation in self.operations)


class RichMove(Move):
    """A move with effects, re-entry or an input for its target."""

    # What is a constant of the base, shared by all plain moves, is a slot here.
    __slots__ = ("input", "operations", "reentering")  # pyright: ignore[reportIncompatibleVariableOverride]

    operations: tuple[Operation, ...]  # type: ignore[misc]  # see the slots
    reentering: bool  # type: ignore[misc]  # the same
    input: Any  # type: ignore[misc]  # the same


def goto(target: str | Iterable[str], /, **fields: Any) -> Move:
    """Return the move to ``target`` (several for regions of a parallel state), changing these context fields."""
    return Move(target if isinstance(target, str) else tuple(target), fields)


def stay(**fields: Any) -> Move:
    """Return the move that changes these context fields and stays where the machine is."""
    return Move(None, fields)
