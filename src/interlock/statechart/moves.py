"""What a handler returns: data about what shall happen. Nothing here has a side effect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

__all__ = ["UNSET", "Delay", "Move", "Operation", "Unset", "goto", "stay"]

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

    Made by :func:`goto` and :func:`stay`; each method returns a new move with one thing added.
    """

    __slots__ = ("input", "operations", "patch", "reentering", "target")

    target: str | tuple[str, ...] | None
    patch: Mapping[str, Any] | None
    operations: tuple[Operation, ...]
    reentering: bool
    input: Any

    def __init__(
        self,
        target: str | tuple[str, ...] | None = None,
        patch: Mapping[str, Any] | None = None,
        operations: tuple[Operation, ...] = (),
        reentering: bool = False,  # noqa: FBT001, FBT002  # internal: goto() and stay() are the face, and this is the hot path
        input: Any = UNSET,  # noqa: A002  # the field's name
    ) -> None:
        self.target = target
        self.patch = patch
        self.operations = operations
        self.reentering = reentering
        self.input = input

    def set(self, fields: Mapping[str, Any]) -> Move:
        """Also change these context fields; names and types are checked when the move is made."""
        return Move(self.target, {**(self.patch or {}), **fields}, self.operations, self.reentering, self.input)

    def emit(self, event: Any) -> Move:
        """Also publish ``event`` to whoever observes the run; the machine itself does not see it."""
        return self._also(Operation("emit", event))

    def raise_(self, event: Any, *, delay: Delay | None = None, id: str | None = None) -> Move:  # noqa: A002
        """Also send ``event`` to this machine: at once (before any outside event), or after ``delay`` seconds."""
        return self._also(Operation("raise", event, id, delay))

    def send(self, to: str, event: Any, *, delay: Delay | None = None, id: str | None = None) -> Move:  # noqa: A002
        """Also send ``event`` to the child ``to`` (or to ``"@parent"``), at once or after ``delay`` seconds."""
        return self._also(Operation("send", event, id, delay, to))

    def spawn(self, src: str, *, id: str | None = None, input: Any = None) -> Move:  # noqa: A002
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
        return Move(self.target, self.patch, self.operations, True, self.input)  # noqa: FBT003

    def with_input(self, value: Any) -> Move:
        """Give the target state an input, which its own functions see."""
        return Move(self.target, self.patch, self.operations, self.reentering, value)

    def _also(self, operation: Operation) -> Move:
        return Move(self.target, self.patch, (*self.operations, operation), self.reentering, self.input)

    def __repr__(self) -> str:
        head = "stay" if self.target is None else f"goto({self.target!r})"
        fields = f".set({dict(self.patch)!r})" if self.patch else ""
        head = head if self.target is not None else "stay()"
        return head + fields + "".join(f".{operation.name}(...)" for operation in self.operations)


def goto(target: str | Iterable[str], /, **fields: Any) -> Move:
    """Return the move to ``target`` (several for regions of a parallel state), changing these context fields."""
    return Move(target if isinstance(target, str) else tuple(target), fields)


def stay(**fields: Any) -> Move:
    """Return the move that changes these context fields and stays where the machine is."""
    return Move(None, fields)
