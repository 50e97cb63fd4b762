"""Time that passes when a test says so."""

from __future__ import annotations

import anyio

__all__ = ["FakeClock"]


class FakeClock:
    """A clock for tests: it stands still until it is moved, and a test of a year takes no time.

    Arguments:
        start: the time at first, in Unix seconds.
        autojump: whether whoever sleeps is woken at once, the clock moving on to when he wanted to be woken.

    >>> clock = FakeClock(100.0)
    >>> clock.advance(60)
    >>> clock.now()
    160.0
    """

    def __init__(self, start: float = 0.0, *, autojump: bool = False) -> None:
        self._now = float(start)
        self._autojump = autojump
        self._sleepers: dict[anyio.Event, float] = {}
        self._arrivals: list[anyio.Event] = []

    def now(self) -> float:
        """Return the time."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass, and wake whoever has slept long enough, in the order of waking."""
        if seconds < 0:
            raise ValueError(f"time does not go back: advance({seconds!r})")
        self._now += seconds
        for event in sorted(self._sleepers, key=self._sleepers.__getitem__):
            if self._sleepers[event] <= self._now:
                del self._sleepers[event]
                event.set()

    async def sleep_until(self, due: float) -> None:
        """Return when it is ``due`` or later."""
        if self._autojump:
            self._now = max(self._now, due)
        if due <= self._now:
            await anyio.lowlevel.checkpoint()
            return
        event = anyio.Event()
        self._sleepers[event] = due
        for arrival in self._arrivals:
            arrival.set()
        self._arrivals.clear()
        try:
            await event.wait()
        finally:
            self._sleepers.pop(event, None)

    async def next_sleeper(self) -> float:
        """Wait until somebody sleeps on this clock, and return when the first of them wants to be woken."""
        while not self._sleepers:
            arrival = anyio.Event()
            self._arrivals.append(arrival)
            await arrival.wait()
        return min(self._sleepers.values())
