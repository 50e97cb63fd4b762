"""What the stores in SQLite and PostgreSQL have in common: the tables, and all that is said of them in SQL.

The tables, in both::

    interlock_schema     version                                           one row
    interlock_threads    number, thread_id, length, status, updated_at, machine_id, machine_version
    interlock_entries    number, thread, idx, id, entry                    unique: (thread, idx), (thread, id)
    interlock_snapshots  thread, idx, execution_id, state_hash, machine_id, machine_version, snapshot

``thread`` is the thread's ``number``. The entries' own ``number`` grows with each entry that is written, so it orders
threads by their last entry, and rows are always added at the end of the table. ``entry`` is text: the entry's JSON as
it was written, byte for byte.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import anyio

from interlock.errors import LogConflictError, StoreError
from interlock.journal.entries import EntryStatus, LogEntry, is_entry_id
from interlock.journal.stores.base import SavedSnapshot, ThreadInfo, thread_info, thread_row
from interlock.journal.stores.checks import (
    check_append,
    check_fork,
    check_thread_id,
    closed,
    duplicate,
    entry_texts,
    positive,
    whole,
)
from interlock.journal.stores.workers import Workers

__all__ = ["SCHEMA_VERSION", "Database", "Rows", "SqlStore", "TakenError", "check_version"]

SCHEMA_VERSION = 1

_MOST = 2**62  # more than any log has, and less than what a column holds


class Rows(Protocol):
    """What a statement gives."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""
        ...

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """Return all rows."""
        ...


class Database(Protocol):
    """A connection. Parameters stand as ``?`` in the statement."""

    def execute(self, statement: str, parameters: Sequence[Any] = ..., /) -> Rows:
        """Run one statement."""
        ...


class TakenError(Exception):
    """An entry's id is there already; which one, its thrower does not know."""


def check_version(found: object, place: str) -> None:
    """Raise :class:`StoreError` for tables that another version of the library has made."""
    if found != SCHEMA_VERSION:
        raise StoreError(
            f"{place}: its tables are of version {found}, and this version of the library knows version "
            f"{SCHEMA_VERSION}; update the library",
            code="store-version",
        )


class SqlStore(ABC):
    """A store in a database that speaks SQL. What differs between databases is abstract here.

    Arguments:
        tables: what the tables' names begin with, quoted as need be.
        at_once: how many calls may be at work at a time, in each event loop.
        max_entry_bytes: how large an entry may be in UTF-8; None for any size.
    """

    _locked = ""
    """What a SELECT ends with that holds the rows it finds until the transaction ends."""

    def __init__(self, *, tables: str, at_once: int, max_entry_bytes: int | None) -> None:
        positive("max_entry_bytes", max_entry_bytes, unit="bytes")
        self._max_entry_bytes = max_entry_bytes
        self._closed = False
        self._readers = Workers(at_once)
        self._writers = self._readers
        threads, entries, snapshots = (f"{tables}{name}" for name in ("threads", "entries", "snapshots"))
        # Names of tables are ours (or quoted); every value is a parameter.
        self._sql_read = (
            f"SELECT e.entry FROM {threads} t JOIN {entries} e ON e.thread = t.number "  # noqa: S608
            "WHERE t.thread_id = ? AND e.idx >= ? ORDER BY e.idx"
        )
        self._sql_length = f"SELECT length FROM {threads} WHERE thread_id = ?"  # noqa: S608
        self._sql_index = (
            f"SELECT e.idx FROM {threads} t JOIN {entries} e ON e.thread = t.number "  # noqa: S608
            "WHERE t.thread_id = ? AND e.id = ?"
        )
        self._sql_threads = (
            "SELECT t.thread_id, t.length, t.status, t.updated_at, t.machine_id, t.machine_version "  # noqa: S608
            f"FROM {threads} t JOIN {entries} e ON e.thread = t.number AND e.idx = t.length - 1"
        )
        self._sql_source = f"SELECT number, length FROM {threads} WHERE thread_id = ?"  # noqa: S608
        self._sql_last = f"SELECT entry FROM {entries} WHERE thread = ? AND idx = ?"  # noqa: S608
        self._sql_begin = (
            f"INSERT INTO {threads} (length, status, updated_at, machine_id, machine_version, thread_id) "  # noqa: S608
            "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (thread_id) DO NOTHING"
        )
        self._sql_copy = (
            f"INSERT INTO {entries} (thread, idx, id, entry) "  # noqa: S608
            f"SELECT CAST(? AS BIGINT), idx, id, entry FROM {entries} WHERE thread = ? AND idx < ? ORDER BY idx"
        )
        self._sql_delete = (
            f"DELETE FROM {threads} WHERE number = ?",  # noqa: S608
            f"DELETE FROM {entries} WHERE thread = ?",  # noqa: S608
            f"DELETE FROM {snapshots} WHERE thread = ?",  # noqa: S608
        )
        saved = ("idx", "execution_id", "state_hash", "machine_id", "machine_version", "snapshot")
        self._sql_save = (
            f"INSERT INTO {snapshots} (thread, {', '.join(saved)}) VALUES (?, ?, ?, ?, ?, ?, ?) "  # noqa: S608
            f"ON CONFLICT (thread) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in saved)}"
        )
        self._sql_load = (
            f"SELECT {', '.join('s.' + name for name in saved)} FROM {threads} t "  # noqa: S608
            f"JOIN {snapshots} s ON s.thread = t.number WHERE t.thread_id = ?"
        )

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Database]:
        """Lend a connection for one statement that reads; its errors come out as ours."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Database]:
        """Lend a connection for one transaction; its errors come out as ours."""

    @abstractmethod
    def _add(self, thread_id: str, expected_index: int, entries: Sequence[LogEntry], texts: list[str]) -> bool:
        """Add entries to a thread of just that length, and return whether it was.

        Raises :class:`TakenError` where one of the ids is there.
        """

    @abstractmethod
    def _shut(self) -> None:
        """Close all connections."""

    async def append(self, thread_id: str, expected_index: int, entries: Sequence[LogEntry]) -> None:
        """See :meth:`Store.append`."""
        self._check()
        given = check_append(thread_id, expected_index, entries)
        if given:
            await self._writers.run(lambda: self._append(thread_id, expected_index, given))

    def _append(self, thread_id: str, expected_index: int, entries: Sequence[LogEntry]) -> None:
        texts = entry_texts(thread_id, entries, self._max_entry_bytes)
        try:
            if expected_index < _MOST and self._add(thread_id, expected_index, entries, texts):
                return
        except TakenError as taken:
            with self._reading() as database:
                for entry in entries:
                    if database.execute(self._sql_index, (thread_id, entry.id)).fetchone():
                        raise duplicate(thread_id, entry.id) from None
            raise StoreError(f"thread {thread_id!r}: the database found two rows alike") from taken
        with self._reading() as database:
            row = database.execute(self._sql_length, (thread_id,)).fetchone()
        raise LogConflictError(
            thread_id=thread_id, expected_index=expected_index, actual_index=0 if row is None else row[0]
        )

    async def read(self, thread_id: str, *, start: int = 0, limit: int | None = None) -> tuple[LogEntry, ...]:
        """See :meth:`Store.read`."""
        self._check(thread_id)
        sql, parameters = self._sql_read, [thread_id, _within("start", start)]
        if limit is not None:
            sql, parameters = sql + " LIMIT ?", [*parameters, _within("limit", limit)]

        def read() -> tuple[LogEntry, ...]:
            with self._reading() as database:
                rows = database.execute(sql, parameters).fetchall()
            return tuple([LogEntry.from_json(row[0]) for row in rows])

        return await self._readers.run(read)

    async def length(self, thread_id: str) -> int:
        """See :meth:`Store.length`."""
        self._check(thread_id)
        row = await self._row(self._sql_length, (thread_id,))
        return 0 if row is None else int(row[0])

    async def index_of(self, thread_id: str, entry_id: str) -> int | None:
        """See :meth:`Store.index_of`."""
        self._check(thread_id)
        if not is_entry_id(entry_id):
            return None
        row = await self._row(self._sql_index, (thread_id, entry_id))
        return None if row is None else int(row[0])

    async def fork(self, thread_id: str, new_thread_id: str, *, length: int | None = None) -> int:
        """See :meth:`Store.fork`."""
        self._check(thread_id)
        check_thread_id(new_thread_id)
        return await self._writers.run(lambda: self._fork(thread_id, new_thread_id, length))

    def _fork(self, thread_id: str, new_thread_id: str, wanted: int | None) -> int:
        with self._writing() as database:
            source = database.execute(self._sql_source + self._locked, (thread_id,)).fetchone() or (None, 0)

            def check() -> int:
                taken = database.execute(self._sql_length, (new_thread_id,)).fetchone() or (0,)
                return check_fork(thread_id, new_thread_id, length=source[1], wanted=wanted, taken=taken[0])

            count = check()
            last = LogEntry.from_json(database.execute(self._sql_last, (source[0], count - 1)).fetchone()[0])
            if not database.execute(self._sql_begin, (*thread_row([last]), new_thread_id)).rowcount:
                check()  # somebody began it between our question and our row; he has not also deleted it, has he?
                raise StoreError(
                    f"thread {new_thread_id!r} was begun and deleted by somebody else meanwhile; try again",
                    code="store-busy",
                    retryable=True,
                )
            target = database.execute(self._sql_source, (new_thread_id,)).fetchone()
            database.execute(self._sql_copy, (target[0], source[0], count))
            return count

    async def threads(self, *, status: EntryStatus | None = None, limit: int | None = None) -> tuple[ThreadInfo, ...]:
        """See :meth:`Store.threads`."""
        self._check()
        sql, parameters = self._sql_threads, list[object]()
        if status is not None:
            sql, parameters = sql + " WHERE t.status = ?", [status]
        sql += " ORDER BY e.number DESC"
        if limit is not None:
            sql, parameters = sql + " LIMIT ?", [*parameters, _within("limit", limit)]

        def found() -> list[Any]:
            with self._reading() as database:
                return database.execute(sql, parameters).fetchall()

        return tuple(thread_info(row[0], row[1:]) for row in await self._readers.run(found))

    async def delete(self, thread_id: str) -> bool:
        """See :meth:`Store.delete`."""
        self._check(thread_id)

        def delete() -> bool:
            with self._writing() as database:
                row = database.execute(self._sql_source + self._locked, (thread_id,)).fetchone()
                if row is not None:
                    for sql in self._sql_delete:
                        database.execute(sql, (row[0],))
                return row is not None

        return await self._writers.run(delete)

    async def save_snapshot(self, thread_id: str, saved: SavedSnapshot) -> None:
        """See :meth:`Store.save_snapshot`."""
        self._check(thread_id)

        def save() -> None:
            with self._writing() as database:
                row = database.execute(self._sql_source + self._locked, (thread_id,)).fetchone()
                if row is not None:
                    database.execute(
                        self._sql_save,
                        (
                            row[0],
                            saved.index,
                            saved.execution_id,
                            saved.state_hash,
                            saved.machine_id,
                            saved.machine_version,
                            saved.text,
                        ),
                    )

        await self._writers.run(save)

    async def load_snapshot(self, thread_id: str) -> SavedSnapshot | None:
        """See :meth:`Store.load_snapshot`."""
        self._check(thread_id)
        row = await self._row(self._sql_load, (thread_id,))
        if row is None:
            return None
        return SavedSnapshot(
            index=row[0],
            execution_id=row[1],
            state_hash=row[2],
            machine_id=row[3],
            machine_version=row[4],
            text=row[5],
        )

    async def aclose(self) -> None:
        """See :meth:`Store.aclose`. What is being written is finished first."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            await self._writers.run(self._shut)

    async def _row(self, sql: str, parameters: Sequence[object]) -> Any:
        def row() -> Any:
            with self._reading() as database:
                return database.execute(sql, parameters).fetchone()

        return await self._readers.run(row)

    def _check(self, *thread_ids: object) -> None:
        if self._closed:
            raise closed()
        for thread_id in thread_ids:
            check_thread_id(thread_id)


def _within(name: str, number: int) -> int:
    return min(max(whole(name, number), 0), _MOST)
