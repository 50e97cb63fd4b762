"""Logs in an SQLite file: for one computer, any number of processes, and nothing to install."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, cast

from interlock.errors import BindError, StoreError
from interlock.journal.entries import LogEntry
from interlock.journal.stores.base import thread_row
from interlock.journal.stores.checks import closed, positive
from interlock.journal.stores.sql import SCHEMA_VERSION, Database, SqlStore, TakenError, check_version
from interlock.journal.stores.workers import Idle, Workers

__all__ = ["SQLiteStore"]

_TABLES = """
CREATE TABLE IF NOT EXISTS interlock_threads (number INTEGER PRIMARY KEY, thread_id TEXT NOT NULL UNIQUE,
    length INTEGER NOT NULL, status TEXT NOT NULL, updated_at REAL, machine_id TEXT NOT NULL,
    machine_version TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS interlock_entries (number INTEGER PRIMARY KEY, thread INTEGER NOT NULL,
    idx INTEGER NOT NULL, id TEXT NOT NULL, entry TEXT NOT NULL, UNIQUE (thread, idx), UNIQUE (thread, id));
CREATE TABLE IF NOT EXISTS interlock_snapshots (thread INTEGER PRIMARY KEY, idx INTEGER NOT NULL,
    execution_id TEXT NOT NULL, state_hash TEXT NOT NULL, machine_id TEXT NOT NULL, machine_version TEXT NOT NULL,
    snapshot TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS interlock_schema (version INTEGER NOT NULL)
"""
_VERSION = "SELECT version FROM interlock_schema"
_MORE = (
    "UPDATE interlock_threads SET length = ?, status = ?, updated_at = ?, machine_id = ?, machine_version = ? "
    "WHERE number = ?"
)
_INSERT = "INSERT INTO interlock_entries (thread, idx, id, entry) VALUES (?, ?, ?, ?)"
_PAUSE = 0.02  # seconds between two tries of what SQLite itself does not wait for
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_TAKEN = {sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY}
_ADVICE = {
    sqlite3.SQLITE_CANTOPEN: "is its folder there, and may this process write to it?",
    sqlite3.SQLITE_READONLY: "a store writes to its file and its folder; give it leave",
    sqlite3.SQLITE_NOTADB: "the file is something else; give another path",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore a copy",
    sqlite3.SQLITE_FULL: "the disk is full",
}


class SQLiteStore(SqlStore):
    """A store in one SQLite file, in WAL mode. Readers wait for nobody; writers wait for each other.

    An entry that was appended survives the death of the process, and with ``synchronous="full"`` the loss of power as
    well. Several processes may use one file, on one computer: a network file system does not keep SQLite's locks.

    Arguments:
        path: the file, made if it is not there; its folder must be. ``":memory:"`` lives as long as this object.
        synchronous: ``"full"`` waits for the disk with each append; ``"normal"`` does not, and a loss of power (not
            of the process) may take the last entries.
        busy_timeout: how many seconds to wait while others write; then a :class:`StoreError` ``store-busy``.
        max_entry_bytes: how large an entry may be in UTF-8; None for any size.

    Raises :class:`BindError` for arguments that cannot be. The file is opened with the first call.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Literal["full", "normal"] = "full",
        busy_timeout: float = 30.0,
        max_entry_bytes: int | None = None,
    ) -> None:
        if synchronous not in {"full", "normal"}:
            raise BindError(f'synchronous={synchronous!r}: give "full" or "normal"')
        positive("busy_timeout", busy_timeout, unit="seconds")
        given: object = os.fspath(path) if hasattr(path, "__fspath__") else path
        if not isinstance(given, str) or not given or "\0" in given:
            raise BindError(f'path={given!r}: give the path of a file, or ":memory:"')
        self._path = given
        super().__init__(tables="interlock_", at_once=8, max_entry_bytes=max_entry_bytes)
        self._in_memory = self._path == ":memory:"
        if not self._in_memory:
            self._path = str(Path(self._path).absolute())  # so that a change of folder changes nothing
        self._writers = Workers(1)
        self._synchronous = synchronous
        self._busy_timeout = busy_timeout
        self._lock = threading.Lock()  # the writers of several event loops
        self._writer: sqlite3.Connection | None = None
        self._idle = Idle(self._connect, sqlite3.Connection.close, lambda _: True)

    def __repr__(self) -> str:
        return f"SQLiteStore({self._path!r})"

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        with self._held() as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Generator[Database]:
        if self._in_memory:
            with self._held() as connection:
                yield connection
            return
        if self._writer is None:  # nobody has looked yet whether there are tables
            with self._held():
                pass
        try:
            connection = self._idle.take()
            try:
                yield connection
            finally:
                self._idle.give(connection)  # none is ever broken: SQLite has no connection to lose
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _add(self, thread_id: str, expected_index: int, entries: Sequence[LogEntry], texts: list[str]) -> bool:
        # Neither RETURNING nor STRICT: long-lived systems come with SQLite of before 2021.
        row = thread_row(entries)
        with self._writing() as connection:
            found = connection.execute(self._sql_source, (thread_id,)).fetchone()
            if (0 if found is None else found[1]) != expected_index:
                return False
            if found is None:
                thread = connection.execute(self._sql_begin, (*row, thread_id)).lastrowid
            else:
                thread = found[0]
                connection.execute(_MORE, (*row, thread))
            rows = [(thread, entry.index, entry.id, text) for entry, text in zip(entries, texts, strict=True)]
            connection.executemany(_INSERT, rows)
            return True

    def _shut(self) -> None:
        with self._lock:
            self._idle.shut()
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    @contextmanager
    def _held(self) -> Generator[sqlite3.Connection]:
        """Hold the one connection that writes."""
        if not self._lock.acquire(timeout=self._busy_timeout):
            raise self._busy()
        try:
            if self._closed:
                raise closed()
            if self._writer is None:
                self._writer = self._prepared()
            yield self._writer
        except sqlite3.Error as error:
            if _code(error) in _TAKEN:
                raise TakenError from error
            raise self._failure(error) from error
        finally:
            self._lock.release()

    def _connect(self) -> sqlite3.Connection:
        # Statements are said as they are: no transaction begins behind our back.
        connection = sqlite3.connect(
            self._path, timeout=self._busy_timeout, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute("PRAGMA fullfsync = 1")  # what macOS calls waiting for the disk; nothing elsewhere
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepared(self) -> sqlite3.Connection:
        """Open the connection that writes, and make the tables if they are not there."""
        connection = self._connect()
        try:
            if not self._in_memory:
                self._use_wal(connection)
            try:
                found = connection.execute(_VERSION).fetchone()
            except sqlite3.OperationalError as error:
                if _code(error) != sqlite3.SQLITE_ERROR:  # anything but "no such table"
                    raise
                found = None
            if found is None:
                connection.execute("BEGIN IMMEDIATE")
                for sql in _TABLES.split(";"):
                    connection.execute(sql)
                found = connection.execute(_VERSION).fetchone()  # another process may have been faster
                if found is None:
                    found = (SCHEMA_VERSION,)
                    connection.execute("INSERT INTO interlock_schema VALUES (?)", found)
                connection.execute("COMMIT")
            check_version(found[0], self._path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        deadline = time.monotonic() + self._busy_timeout
        mode = ""
        while not mode:
            try:
                # Asking takes no lock; a file stays in WAL mode once it is.
                if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                    return
                mode = connection.execute("PRAGMA journal_mode = wal").fetchone()[0]
            except sqlite3.OperationalError as error:
                # SQLite does not wait here, where waiting might be for ever.
                if _code(error) & 0xFF not in _BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE)
        if mode != "wal":
            raise StoreError(
                f"{self._path}: SQLite cannot keep a write-ahead log here (its mode stays {mode!r}); give a path on a "
                "local disk"
            )

    def _busy(self) -> StoreError:
        return StoreError(
            f"{self._path}: others kept writing for {self._busy_timeout:g} s; try again, or give a longer busy_timeout",
            code="store-busy",
            retryable=True,
        )

    def _failure(self, error: sqlite3.Error) -> StoreError:
        code = _code(error) & 0xFF
        if code in _BUSY:
            return self._busy()
        advice = _ADVICE.get(code)
        return StoreError(f"{self._path}: {error}" + (f"; {advice}" if advice else ""))


def _code(error: sqlite3.Error) -> int:
    # Extended: the lowest byte says what it is. Mistakes in calling the module have none.
    return cast("int", getattr(error, "sqlite_errorcode", 0))
