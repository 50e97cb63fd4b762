"""What a durable engine offers: the whole protocol between it and the loop that moves a machine on.

An engine records what comes from outside (results of calls, messages, times) and runs the loop again after a crash,
with what it has recorded in place of the outside. So the loop asks the engine for everything that is not computed, and
always in the same order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

__all__ = ["Call", "Durable", "Recorded", "Woken"]

Recorded: TypeAlias = Mapping[str, Any]
"""JSON data as an engine records it: a result, or a message."""

Call: TypeAlias = Callable[[], Awaitable[Recorded]]
"""Outside work that has not begun. What it raises is a mistake of the host, and ends the execution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Woken:
    """Why a wait is over: the call ``key`` has come to ``result``, a ``message`` has arrived, or (neither) it is time.

    ``at`` is when that was, in Unix seconds, as it was recorded.
    """

    at: float
    key: str | None = None
    result: Recorded | None = None
    message: Recorded | None = None


class Durable(Protocol):
    """One execution in a durable engine."""

    @property
    def execution_id(self) -> str:
        """What names this execution for good; calls' keys begin with it."""
        ...

    async def now(self) -> float:
        """Return what time it is, in Unix seconds, as it was recorded when this was asked first."""
        ...

    async def wait(self, calls: Mapping[str, Call], *, until: float | None, messages: bool) -> Woken:
        """Wait until the first of these things happens, and record which.

        Arguments:
            calls: work that is wanted now, by key. What is not under way yet is started, in this order; what is under
                way and not wanted any more is given up. The result of a call is recorded once, under its key: a call
                with a recorded result is not made again. Of several that have finished the first in order counts, and
                the others have finished already when they are waited for next.
            until: the time at which to wait no longer, in Unix seconds; None: without end.
            messages: whether a message ends the wait. One that arrives while nobody wants any is kept.
        """
        ...
