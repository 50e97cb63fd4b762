"""Ending runs from outside, in an orderly way: what has come in is kept, and the run can be gone on from."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from interlock.run.functions import poster

__all__ = ["Abort"]


class Abort:
    """Ends the runs that it is handed to: ``run_agent(..., abort=abort)``, and then ``abort.abort()`` from anywhere.

    Such a run settles as :class:`Failed` with the cause ``"aborted"``. Its snapshot still owes what was cut off, which
    a run from that snapshot does over again. A run that has already settled is not changed, and one that is handed
    what was aborted before starts no work at all.

    May be called from any thread and from signal handlers.
    """

    def __init__(self) -> None:
        self._reason: str | None = None
        self._runs: dict[object, Callable[[], object]] = {}
        self._lock = threading.RLock()  # a signal handler interrupts whoever holds it

    @property
    def aborted(self) -> bool:
        """Whether it was called."""
        return self._reason is not None

    @property
    def reason(self) -> str | None:
        """Why, as the first caller said."""
        return self._reason

    def abort(self, reason: str = "the host asked for it") -> None:
        """End all runs that this was handed to. Returns at once; the runs settle as soon as they can."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            runs = tuple(self._runs.values())
        for tell in runs:
            with suppress(RuntimeError):  # its event loop has just ended, and so has the run
                tell()

    @contextmanager
    def ending(self, end: Callable[[str], None]) -> Generator[None, None, None]:
        """Have ``end(reason)`` called, on the event loop that runs here, if this is aborted meanwhile or was before."""
        post, key = poster(), object()
        with self._lock:
            self._runs[key] = lambda: post(lambda: end(self._reason or ""))
            before = self._reason
        if before is not None:
            end(before)
        try:
            yield
        finally:
            with self._lock:
                del self._runs[key]
