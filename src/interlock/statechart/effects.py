"""What a step asks of its host, as frozen data; for step hosts and logs, since a driver needs only ``owed(snapshot)``.

``address`` is the path of ``id#seq`` keys of the child machine that speaks, ``()`` for the root.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

__all__ = ["Cancel", "Effect", "Emit", "Log", "Schedule", "Send", "Spawn", "Start", "Stop", "Terminate", "new_effect"]


class Emit(NamedTuple):
    """Publish ``event`` to whoever observes the run."""

    event: Any
    address: tuple[str, ...] = ()


class Log(NamedTuple):
    """Publish these values as a log record."""

    values: tuple[Any, ...]
    address: tuple[str, ...] = ()


class Spawn(NamedTuple):
    """A child running the opaque source ``src`` exists from here on; its work begins with :class:`Start`."""

    id: str
    seq: int
    src: str
    input: Any
    address: tuple[str, ...] = ()


class Start(NamedTuple):
    """Begin the work of a child; comes at the end of the step, so that the child sees a state at rest."""

    id: str
    seq: int
    address: tuple[str, ...] = ()


class Stop(NamedTuple):
    """End the work of a child, whether it has begun or not."""

    id: str
    seq: int
    address: tuple[str, ...] = ()


class Schedule(NamedTuple):
    """Fire ``timer`` at ``due`` (Unix seconds), ``delay`` seconds from now; ``event``, if public, is what it raises."""

    timer: str
    seq: int
    delay: float
    due: float
    event: Any = None
    address: tuple[str, ...] = ()


class Cancel(NamedTuple):
    """Forget this timer, if it is pending."""

    timer: str
    address: tuple[str, ...] = ()


class Send(NamedTuple):
    """Send ``event`` to the opaque child ``to``; with ``delay``, the timer ``timer`` will send it later."""

    to: str
    event: Any
    delay: float | None = None
    timer: str | None = None
    address: tuple[str, ...] = ()


class Terminate(NamedTuple):
    """The machine has ended: ``status`` is ``"done"`` or ``"error"``."""

    status: str
    address: tuple[str, ...] = ()


Effect: TypeAlias = Emit | Log | Spawn | Start | Stop | Schedule | Cancel | Send | Terminate

# What the constructor of a named tuple calls in the end; a fifth of a busy step is saved by calling it at once.
new_effect: Callable[[type[Any], tuple[Any, ...]], Any] = tuple[Any, ...].__new__

_tuple_equal: Callable[[Any, Any], bool] = tuple[Any, ...].__eq__
_tuple_hash: Callable[[Any], int] = tuple[Any, ...].__hash__


def _same_kind(self: Any, other: Any) -> bool:
    return type(self) is type(other) and _tuple_equal(self, other)


def _different(self: Any, other: Any) -> bool:
    return not _same_kind(self, other)


# Named tuples are the cheapest frozen values there are, but would compare equal across kinds.
for _kind in (Emit, Log, Spawn, Start, Stop, Schedule, Cancel, Send, Terminate):
    _kind.__eq__ = _same_kind  # type: ignore[method-assign]  # on purpose, for all kinds at once
    _kind.__ne__ = _different  # type: ignore[method-assign]  # the same
    _kind.__hash__ = _tuple_hash  # type: ignore[method-assign,assignment]  # the same
