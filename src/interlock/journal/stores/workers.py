"""Blocking work of a store in worker threads: on asyncio and on trio, in any number of event loops.

The drivers of databases block. They are called in threads, so that no event loop waits for a disk.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

__all__ = ["Idle", "Workers"]

T = TypeVar("T")


class _Call(Generic[T]):
    """One piece of work, which is either done to its end or never begun."""

    __slots__ = ("_begun", "_claim", "_done", "_work")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._claim = threading.Lock()
        self._begun: bool | None = None
        self._done = threading.Event()

    def run(self) -> T:
        with self._claim:
            if self._begun is False:  # given up before its thread came to it; nobody looks at what comes out
                raise RuntimeError("given up")
            self._begun = True
        try:
            return self._work()
        finally:
            self._done.set()

    def give_up(self) -> bool:
        """Keep the work from beginning; returns False where it has begun."""
        with self._claim:
            if self._begun is None:
                self._begun = False
            return not self._begun

    async def finished(self) -> None:
        """Wait for the end, however often the waiting task is cancelled."""
        with anyio.CancelScope(shield=True):
            while not self._done.is_set():
                try:
                    await anyio.to_thread.run_sync(self._done.wait, limiter=anyio.CapacityLimiter(1))
                except anyio.get_cancelled_exc_class():
                    continue


class Workers:
    """Runs work in threads, so much of it at once and in each event loop, and never abandons what has begun.

    The threads are anyio's, the limits our own: other people's slow functions must not keep a log from being written.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        # A limiter belongs to one event loop, a store to none.
        self._limiter: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar("interlock.stores")

    async def run(self, work: Callable[[], T]) -> T:
        """Return what ``work()`` returns in a thread. Cancelled meanwhile, it is finished first."""
        limiter = self._limiter.get(None)
        if limiter is None:
            limiter = anyio.CapacityLimiter(self._at_once)
            self._limiter.set(limiter)
        call = _Call(work)
        try:
            return await anyio.to_thread.run_sync(call.run, limiter=limiter)
        except anyio.get_cancelled_exc_class():
            # No shield holds back asyncio's own Task.cancel(), which comes here while the thread is at work.
            if not call.give_up():
                await call.finished()
            raise


class Idle(Generic[T]):
    """Connections that nobody uses at the moment; the one that was used last is taken first.

    Arguments:
        opened: opens another connection where none is idle.
        close: closes one.
        alive: whether an idle one can still be used.
    """

    def __init__(self, opened: Callable[[], T], close: Callable[[T], None], alive: Callable[[T], bool]) -> None:
        self._opened, self._close, self._alive = opened, close, alive
        self._lock = threading.Lock()
        self._idle: list[T] = []
        self._shut = False

    def take(self) -> T:
        """Return a connection that is the caller's until he gives it back."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._opened()
            if self._alive(connection):
                return connection
            self._close(connection)

    def give(self, connection: T) -> None:
        """Take a connection back."""
        with self._lock:
            if not self._shut:
                self._idle.append(connection)
                return
        self._close(connection)

    def drop(self, connection: T) -> None:
        """Close a connection that is of no use any more."""
        self._close(connection)

    def shut(self) -> None:
        """Close what is idle, and from now on whatever is given back."""
        with self._lock:
            self._shut = True
            idle, self._idle = self._idle, []
        for connection in idle:
            self._close(connection)
