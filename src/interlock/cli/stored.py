"""Where a command finds logs: a store by its URL, a file of entries, or a folder of such files. All of it only read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlencode

import anyio

from interlock.cli.stops import CommandError, UsageError
from interlock.errors import BindError, InvalidLogError, MissingExtraError, StoreError
from interlock.journal import LogEntry, Store, ThreadInfo
from interlock.journal.stores import open_store
from interlock.journal.stores.base import thread_info, thread_row
from interlock.journal.stores.opening import redis_address

__all__ = ["Found", "Logs", "open_logs"]

T = TypeVar("T")

_ENDING = ".jsonl"
_READ_ONLY = "-c default_transaction_read_only=on"
_REFUSED = "25006"
"""What PostgreSQL says to whoever would write all the same: here, to the store that would make its tables."""


@dataclass(frozen=True, slots=True)
class Found:
    """A log that is there: how it stands, or why it cannot be read."""

    thread_id: str
    info: ThreadInfo | None
    problem: InvalidLogError | None = None


class Logs(Protocol):
    """Logs by thread id. What goes wrong with a place is a :class:`CommandError` or a :class:`StoreError`."""

    @property
    def store(self) -> Store | None:
        """The store that keeps them, with their snapshots; None for files."""
        ...

    def found(self) -> Sequence[Found]:
        """Return all logs, those that were written to last first."""
        ...

    def read(self, thread_id: str) -> tuple[LogEntry, ...]:
        """Return the entries of a log; none for one that is not there. Raises :class:`InvalidLogError`."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...


def open_logs(place: str) -> Logs:
    """Return the logs in a place. Nothing is made there that was not there before.

    Raises :class:`UsageError` for a place that cannot be one, :class:`CommandError` for one that is not there.
    """
    path = Path(place)
    if place.endswith(_ENDING) or path.is_dir():
        return _Files(path)
    if path.is_file():
        raise UsageError(f"{place} is a file; give sqlite:{place} for a store in it, or a file of entries (*{_ENDING})")
    try:
        store = open_store(place)
        kind = place.partition(":")[0].lower()
        if kind == "sqlite":
            _check_sqlite(place)
        elif kind == "memory":
            raise UsageError("memory: is the memory of another process; give a store that outlives its process")
        elif kind in {"redis", "rediss", "unix"}:
            _check_redis(place)
            # Whatever the server promises to those who write: here nobody does.
            store = open_store(
                place if "durability=" in place else f"{place}{'&' if '?' in place else '?'}durability=none"
            )
        else:
            store = open_store(_read_only(place))
    except (BindError, MissingExtraError) as error:
        raise UsageError(f"STORE: {error.message}") from error
    return _Stored(store)


class _Stored:
    """The logs of a store."""

    def __init__(self, store: Store) -> None:
        self.store: Store | None = store
        self._store = store

    def found(self) -> Sequence[Found]:
        return [Found(info.thread_id, info) for info in _run(self._store.threads)]

    def read(self, thread_id: str) -> tuple[LogEntry, ...]:
        try:
            return _run(lambda: self._store.read(thread_id))
        except StoreError as error:
            if error.code == "store-failed" or error.retryable:
                raise
            raise UsageError(error.message) from error  # a name that no thread can have

    def close(self) -> None:
        _run(self._store.aclose)


def _run(call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    # A loop for each call: between them Ctrl-C ends a replay at once, and not at the next wait.
    try:
        return anyio.run(call)
    except StoreError as error:
        if getattr(error.__cause__, "sqlstate", None) == _REFUSED:
            raise CommandError("there are no logs in this database: it holds none of the tables of a store") from error
        raise


def _check_sqlite(url: str) -> None:
    path = unquote(url.partition(":")[2].partition("?")[0])
    path = path.removeprefix("///")
    if path in {"", "//", ":memory:"}:
        raise UsageError("an SQLite store in memory is that of another process; give the path of a file")
    file = Path(path)
    if not file.is_file():
        raise CommandError(f"{path} is not a file" if file.exists() else f"there is no file {path}")
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            tables = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'interlock_schema'").fetchone()
    except sqlite3.Error as error:
        raise CommandError(f"{path} cannot be read: {error}") from error
    if tables is None:
        raise CommandError(f"there are no logs in {path}: it holds none of the tables of a store")


def _read_only(url: str) -> str:
    """Return a URL of PostgreSQL by which the server itself lets nobody write."""
    address, _, query = url.partition("?")
    given = dict(parse_qsl(query, keep_blank_values=True))
    options = given.get("options", os.environ.get("PGOPTIONS", ""))
    return f"{address}?{urlencode({**given, 'options': f'{options} {_READ_ONLY}'.strip()}, quote_via=quote)}"


def _check_redis(url: str) -> None:
    from interlock.journal.stores.redis_server import connected, passwords

    address, _ = redis_address(url)
    client = connected(address, 30.0)
    try:
        there = client.exists("interlock:version")
    except Exception as error:  # noqa: BLE001  # the driver's, which is an extra
        said = str(error) or type(error).__name__
        for secret in passwords(url):
            said = said.replace(secret, "***")
        raise CommandError(f"Redis: {said}") from None
    finally:
        client.close()
    if not there:
        raise CommandError("there are no logs in this Redis: it holds none of the keys of a store")


class _Files:
    """Files of entries, one a line, as ``interlock log show --json`` writes them; a log is called as its file."""

    store: Store | None = None

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            try:
                files = sorted(path.glob(f"*{_ENDING}"))
            except OSError as error:
                raise _unreadable(path, error) from error
            if not files:
                raise CommandError(f"there are no logs in the folder {path}: no file in it ends with {_ENDING}")
        elif path.is_file():
            files = [path]
        else:
            raise CommandError(f"there is no file {path}")
        self._files = {file.stem: file for file in files}

    def found(self) -> Sequence[Found]:
        logs = [self._found(name) for name in self._files]
        return sorted(logs, key=lambda log: -((log.info and log.info.updated_at) or 0.0))

    def _found(self, name: str) -> Found:
        try:
            log = self.read(name)
        except InvalidLogError as error:
            return Found(name, None, error)
        if not log:
            return Found(name, None, InvalidLogError("the file is empty"))
        return Found(name, replace(thread_info(name, thread_row(log)), length=len(log)))  # a file may be a part

    def read(self, thread_id: str) -> tuple[LogEntry, ...]:
        file = self._files.get(thread_id)
        if file is None:
            return ()
        entries: list[LogEntry] = []
        try:
            with file.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    if line.strip():
                        entries.append(_entry(line, number))
        except OSError as error:
            raise _unreadable(file, error) from error
        return tuple(entries)

    def close(self) -> None: ...


def _entry(line: bytes, number: int) -> LogEntry:
    try:
        return LogEntry.from_json(line.decode())
    except UnicodeDecodeError as error:
        raise InvalidLogError(f"line {number}: is not UTF-8: {error.reason}") from error
    except InvalidLogError as error:
        named = InvalidLogError(f"line {number}: {error.message}")
        named.index = error.index
        raise named from error


def _unreadable(path: Path, error: OSError) -> CommandError:
    return CommandError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}")
