"""What a store of logs must do, whatever it is made of. ``assert_store_conformance`` tries it on any store.

A store keeps *threads*: a thread is the log of one run over its whole life. Stores know entries and bytes; they know
neither machines nor agents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from interlock.journal.entries import EntryStatus, LogEntry

__all__ = ["SavedSnapshot", "Store", "ThreadInfo", "ThreadRow", "thread_info", "thread_row"]

ThreadRow: TypeAlias = tuple[int, EntryStatus, float | None, str, str]
"""What a thread's row says: length, status, updated_at, machine_id, machine_version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadInfo:
    """A thread as it stands: how many entries it has, its status after the last one, and when that was written.

    ``updated_at`` is that entry's ``recorded_at`` (Unix seconds).
    """

    thread_id: str
    length: int
    status: EntryStatus
    updated_at: float | None
    machine_id: str
    machine_version: str


def thread_row(entries: Sequence[LogEntry]) -> ThreadRow:
    """Return what a thread's row says after these entries."""
    last = entries[-1]
    at = None if last.recorded_at is None else float(last.recorded_at)
    return last.index + 1, last.status, at, last.machine_id, last.machine_version


def thread_info(thread_id: str, row: ThreadRow) -> ThreadInfo:
    """Return how a thread stands by its row."""
    length, status, updated_at, machine_id, machine_version = row
    return ThreadInfo(
        thread_id=thread_id,
        length=length,
        status=status,
        updated_at=updated_at,
        machine_id=machine_id,
        machine_version=machine_version,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSnapshot:
    """A snapshot that is kept beside a log so that resuming need not replay all of it. The log is the truth.

    It stands for the state after entry ``index`` and is used only if it says so rightly: same execution, same machine
    and version, same state hash as that entry.
    """

    index: int
    execution_id: str
    state_hash: str
    machine_id: str
    machine_version: str
    text: str
    """The snapshot and what goes with it, as JSON; whoever saved it knows how to read it."""


@runtime_checkable
class Store(Protocol):
    """Logs by thread id. All methods may be called from any task, any event loop (asyncio, trio) and any process.

    Whatever goes wrong is a :class:`interlock.errors.JournalError`, and then nothing has been changed; unless the
    connection to a server was lost in the middle of a write, when nobody can know, and the message says so: read the
    thread.
    """

    async def append(self, thread_id: str, expected_index: int, entries: Sequence[LogEntry]) -> None:
        """Add entries to the end of a thread, all of them or none; they are durable when this returns.

        Arguments:
            thread_id: the thread; it begins with its first entry.
            expected_index: how many entries the thread has, as far as the caller knows; ``entries`` begin there.
            entries: what to add, with contiguous indexes; adding nothing checks nothing.

        Raises :class:`LogConflictError` where the thread has more or fewer entries by now, :class:`StoreError` with
        ``invalid-append`` for indexes that do not follow each other and ``duplicate-entry`` for an id that is there.
        """
        ...

    async def read(self, thread_id: str, *, start: int = 0, limit: int | None = None) -> tuple[LogEntry, ...]:
        """Return the entries of a thread from ``start`` on, at most ``limit``; none for a thread that is not there."""
        ...

    async def length(self, thread_id: str) -> int:
        """Return how many entries a thread has; 0 for one that is not there."""
        ...

    async def index_of(self, thread_id: str, entry_id: str) -> int | None:
        """Return where in a thread the entry with this id stands; None if there is none."""
        ...

    async def fork(self, thread_id: str, new_thread_id: str, *, length: int | None = None) -> int:
        """Copy the first ``length`` entries of a thread (all, if not given) to a new one, and return their number.

        Raises :class:`StoreError`: ``unknown-thread``, ``thread-exists`` (the new one has entries), ``invalid-fork``
        (less than 1 or more than there are).
        """
        ...

    async def threads(self, *, status: EntryStatus | None = None, limit: int | None = None) -> tuple[ThreadInfo, ...]:
        """Return the threads (with this status), those that were written to last first."""
        ...

    async def delete(self, thread_id: str) -> bool:
        """Delete a thread with its saved snapshot; returns whether it was there."""
        ...

    async def save_snapshot(self, thread_id: str, saved: SavedSnapshot) -> None:
        """Keep a snapshot for a thread, instead of the one before; a thread that is not there keeps none."""
        ...

    async def load_snapshot(self, thread_id: str) -> SavedSnapshot | None:
        """Return the snapshot that is kept for a thread."""
        ...

    async def aclose(self) -> None:
        """Let go of connections. What is called afterwards raises :class:`StoreError` (``store-closed``)."""
        ...
