"""Logs in this process: for tests, and for runs that nobody needs to take up again."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from interlock.errors import LogConflictError
from interlock.journal.entries import EntryStatus, LogEntry, is_entry_id
from interlock.journal.stores.base import SavedSnapshot, ThreadInfo, thread_info, thread_row
from interlock.journal.stores.checks import (
    check_append,
    check_fork,
    check_thread_id,
    closed,
    duplicate,
    whole,
)

__all__ = ["MemoryStore"]


class _Thread:
    __slots__ = ("entries", "ids", "saved")

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self.ids: dict[str, int] = {}
        self.saved: SavedSnapshot | None = None


class MemoryStore:
    """A store that lives as long as this object. Entries are immutable, so nothing is copied."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: dict[str, _Thread] = {}
        self._closed = False

    async def append(self, thread_id: str, expected_index: int, entries: Sequence[LogEntry]) -> None:
        """See :meth:`Store.append`."""
        self._check()
        given = check_append(thread_id, expected_index, entries)
        if not given:
            return
        with self._lock:
            thread = self._threads.get(thread_id)
            length = 0 if thread is None else len(thread.entries)
            if length != expected_index:
                raise LogConflictError(thread_id=thread_id, expected_index=expected_index, actual_index=length)
            if thread is None:
                thread = _Thread()
            for entry in given:
                if entry.id in thread.ids:
                    raise duplicate(thread_id, entry.id)
            for entry in given:
                thread.ids[entry.id] = entry.index
                thread.entries.append(entry)
            self._threads.pop(thread_id, None)
            self._threads[thread_id] = thread  # written to last

    async def read(self, thread_id: str, *, start: int = 0, limit: int | None = None) -> tuple[LogEntry, ...]:
        """See :meth:`Store.read`."""
        self._check(thread_id)
        first = max(whole("start", start), 0)
        last = None if limit is None else first + max(whole("limit", limit), 0)
        with self._lock:
            thread = self._threads.get(thread_id)
            return () if thread is None else tuple(thread.entries[first:last])

    async def length(self, thread_id: str) -> int:
        """See :meth:`Store.length`."""
        self._check(thread_id)
        with self._lock:
            thread = self._threads.get(thread_id)
            return 0 if thread is None else len(thread.entries)

    async def index_of(self, thread_id: str, entry_id: str) -> int | None:
        """See :meth:`Store.index_of`."""
        self._check(thread_id)
        with self._lock:
            thread = self._threads.get(thread_id)
            return None if thread is None or not is_entry_id(entry_id) else thread.ids.get(entry_id)

    async def fork(self, thread_id: str, new_thread_id: str, *, length: int | None = None) -> int:
        """See :meth:`Store.fork`."""
        self._check(thread_id, new_thread_id)
        with self._lock:
            source, target = self._threads.get(thread_id), self._threads.get(new_thread_id)
            count = check_fork(
                thread_id,
                new_thread_id,
                length=0 if source is None else len(source.entries),
                wanted=length,
                taken=0 if target is None else len(target.entries),
            )
            copy = _Thread()
            copy.entries = [] if source is None else source.entries[:count]
            copy.ids = {entry.id: entry.index for entry in copy.entries}
            self._threads[new_thread_id] = copy
            return count

    async def threads(self, *, status: EntryStatus | None = None, limit: int | None = None) -> tuple[ThreadInfo, ...]:
        """See :meth:`Store.threads`."""
        self._check()
        with self._lock:
            found = [thread_info(name, thread_row(thread.entries)) for name, thread in reversed(self._threads.items())]
        found = [info for info in found if status is None or info.status == status]
        return tuple(found if limit is None else found[: max(whole("limit", limit), 0)])

    async def delete(self, thread_id: str) -> bool:
        """See :meth:`Store.delete`."""
        self._check(thread_id)
        with self._lock:
            return self._threads.pop(thread_id, None) is not None

    async def save_snapshot(self, thread_id: str, saved: SavedSnapshot) -> None:
        """See :meth:`Store.save_snapshot`."""
        self._check(thread_id)
        with self._lock:
            thread = self._threads.get(thread_id)
            if thread is not None:
                thread.saved = saved

    async def load_snapshot(self, thread_id: str) -> SavedSnapshot | None:
        """See :meth:`Store.load_snapshot`."""
        self._check(thread_id)
        with self._lock:
            thread = self._threads.get(thread_id)
            return None if thread is None else thread.saved

    async def aclose(self) -> None:
        """See :meth:`Store.aclose`."""
        self._closed = True

    def _check(self, *thread_ids: object) -> None:
        if self._closed:
            raise closed()
        for thread_id in thread_ids:
            check_thread_id(thread_id)
