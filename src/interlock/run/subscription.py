"""The trace of a run as something to iterate over, while the run goes on."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from typing import Self

import anyio
import anyio.lowlevel

from interlock.errors import BindError
from interlock.run.observers import Observers
from interlock.run.traces import TraceEvent

__all__ = ["Subscription"]


class Subscription(AsyncIterator[TraceEvent]):
    """The trace events of a run from now on, for one reader. What he has not read yet is kept, however much it is.

    The iteration ends with the run. ``close()``, or leaving ``async with``, ends it before.
    """

    def __init__(self, observers: Observers) -> None:
        self._observers = observers
        self._unread: deque[TraceEvent] = deque()
        self._news = anyio.Event()
        self._over = False
        self._reading = False
        observers.listeners.append(self._hear)

    def _hear(self, event: TraceEvent) -> None:
        self._unread.append(event)
        self._news.set()

    def end(self) -> None:
        """Say that no more will come; what is there can still be read."""
        self._over = True
        self._news.set()
        if self._hear in self._observers.listeners:
            self._observers.listeners.remove(self._hear)

    def close(self) -> None:
        """Listen no more, and forget what is unread."""
        self.end()
        self._unread.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def __anext__(self) -> TraceEvent:
        if self._reading:
            raise BindError(
                "two tasks read the same trace events, and each would miss some; subscribe once for each reader",
                code="invalid-argument",
            )
        self._reading = True
        try:
            while not self._unread:
                if self._over:
                    raise StopAsyncIteration
                self._news = anyio.Event()
                await self._news.wait()
            await anyio.lowlevel.checkpoint()
            return self._unread.popleft()
        finally:
            self._reading = False
