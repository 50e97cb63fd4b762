"""Exceptions that end a run from inside: carried out of its tasks as values, and raised where it was called.

An event loop that sees ``SystemExit`` or ``KeyboardInterrupt`` in one of its tasks stops on the spot, and on asyncio
the threads of the run are then never told to end: the process hangs. And a mistake of the host (a script that is too
short, a run that cannot be bound) is no failure of a model, for ``on_error`` to make up for.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Generic, TypeVar, cast

import anyio

from interlock.errors import BindError, ScriptExhaustedError

__all__ = ["HOST_MISTAKES", "LEAVING", "Exits", "Left", "boxed", "sole"]

LEAVING = (SystemExit, KeyboardInterrupt)
"""What ends the process, and must be seen by nobody on the way."""

HOST_MISTAKES = (BindError, ScriptExhaustedError)
"""What outside code raises about how it was called: for whoever runs the machine, not for the machine."""

T = TypeVar("T")


class Exits:
    """The first such exception of a run's tasks; it cancels all of them, and is raised when they have ended."""

    __slots__ = ("_first", "_scope")

    def __init__(self) -> None:
        self._first: BaseException | None = None
        self._scope: anyio.CancelScope | None = None

    @contextmanager
    def around(self) -> Generator[None, None, None]:
        """Stand around the tasks: raises, when they have all ended, what one of them has carried out."""
        with anyio.CancelScope() as self._scope:
            yield
        first = self._first
        if first is not None:
            context = first.__context__
            try:
                raise first
            finally:
                first.__context__ = context  # not the cancellation, which came of it

    @contextmanager
    def carried(self) -> Generator[None, None, None]:
        """Stand around what one task does."""
        try:
            yield
        except (*LEAVING, *HOST_MISTAKES) as error:
            if self._first is None:
                self._first = error
            if self._scope is not None:
                self._scope.cancel()


class Left(Generic[T]):
    """What a function has come to, as a value: what it returned, or what it raised."""

    __slots__ = ("_error", "_value")

    def __init__(self, value: T | None = None, error: BaseException | None = None) -> None:
        self._value = value
        self._error = error

    @property
    def returned(self) -> bool:
        """Whether something was returned."""
        return self._error is None

    def open(self) -> T:
        """Return what was returned, or raise what was raised."""
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # pyright: ignore[reportReturnType]  # None only with an error


def boxed(function: Callable[[], T]) -> Left[T]:
    """Return what a function comes to, whatever it raises: no event loop sees an exception that comes in a box."""
    try:
        return Left(function())
    except BaseException as error:  # noqa: BLE001  # it is raised where the box is opened
        return Left(error=error)


def sole(group: BaseException) -> BaseException:
    """Return the one exception in groups of one; the group, where there are several."""
    one = group
    while isinstance(one, BaseExceptionGroup):
        inside = cast("BaseExceptionGroup[BaseException]", one).exceptions
        if len(inside) != 1:
            return group
        (one,) = inside
    return one
