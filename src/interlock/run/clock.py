"""What time it is, and waiting until it is later. The driver asks nobody else: tests and hosts bring their own."""

from __future__ import annotations

import time
from typing import Protocol

import anyio

__all__ = ["Clock", "SystemClock"]

_LONGEST_SLEEP = 60.0
"""Seconds. A machine that was asleep, or whose clock was set, is noticed within this time."""


class Clock(Protocol):
    """A source of time in Unix seconds."""

    def now(self) -> float:
        """Return the time."""
        ...

    async def sleep_until(self, due: float) -> None:
        """Return when it is ``due`` or later; at once if it already is. May be cancelled."""
        ...


class SystemClock:
    """The time of this computer."""

    def now(self) -> float:
        """Return the time in Unix seconds."""
        return time.time()

    async def sleep_until(self, due: float) -> None:
        """Return when it is ``due`` or later."""
        while (left := due - time.time()) > 0:  # noqa: ASYNC110  # what is waited for is the time itself
            # Timers are due at a time of day, sleeping goes by a clock that may stand still meanwhile.
            await anyio.sleep(min(left, _LONGEST_SLEEP))
