"""Logs in PostgreSQL: for many computers."""

from __future__ import annotations

import re
import select
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from urllib.parse import quote, quote_plus

from interlock.errors import BindError, MissingExtraError, StoreError
from interlock.journal.entries import LogEntry
from interlock.journal.stores.base import thread_row
from interlock.journal.stores.checks import closed, positive, unknown
from interlock.journal.stores.sql import SCHEMA_VERSION, SqlStore, TakenError, check_version
from interlock.journal.stores.workers import Idle, Workers

if TYPE_CHECKING:
    import psycopg
    import psycopg.rows

    Connection: TypeAlias = psycopg.Connection[psycopg.rows.TupleRow]
    Cursor: TypeAlias = psycopg.Cursor[psycopg.rows.TupleRow]

__all__ = ["PostgresStore"]

# Text sorts byte by byte here: no index then depends on what the server's C library thinks of languages.
_TABLES = """
CREATE TABLE IF NOT EXISTS {t}threads (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread_id text COLLATE "C" NOT NULL UNIQUE, length bigint NOT NULL, status text NOT NULL,
    updated_at double precision, machine_id text NOT NULL, machine_version text NOT NULL);
CREATE TABLE IF NOT EXISTS {t}entries (number bigint GENERATED ALWAYS AS IDENTITY, thread bigint NOT NULL,
    idx bigint NOT NULL, id text COLLATE "C" NOT NULL, entry text NOT NULL, PRIMARY KEY (thread, idx),
    UNIQUE (thread, id));
CREATE TABLE IF NOT EXISTS {t}snapshots (thread bigint PRIMARY KEY, idx bigint NOT NULL, execution_id text NOT NULL,
    state_hash text NOT NULL, machine_id text NOT NULL, machine_version text NOT NULL, snapshot text NOT NULL);
CREATE TABLE IF NOT EXISTS {t}schema (version integer NOT NULL)
"""

# One statement is one transaction and one trip to the server. Two appends that meet wait for each other at the
# thread's row; the second one then finds another length, and nothing to add to.
_ADD = """
WITH thread AS ({thread} RETURNING number)
INSERT INTO {t}entries (thread, idx, id, entry)
SELECT thread.number, %s + added.place - 1, added.id, added.entry
FROM thread, unnest(%s::text[], %s::text[]) WITH ORDINALITY AS added (id, entry, place)
"""
_BEGIN = """
INSERT INTO {t}threads (length, status, updated_at, machine_id, machine_version, thread_id)
VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (thread_id) DO NOTHING
"""
_MORE = """
UPDATE {t}threads SET length = %s, status = %s, updated_at = %s, machine_id = %s, machine_version = %s
WHERE thread_id = %s AND length = %s
"""

# What roles and databases may have set otherwise; a stronger synchronous_commit is left as it is.
_SESSION = (
    b"SET default_transaction_isolation = 'read committed'",
    b"SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
)
_CREATING = 0x696E7465726C6F63  # the number of the lock that those hold who make tables: "interloc"


class PostgresStore(SqlStore):
    """A store in a PostgreSQL database, of version 12 or newer.

    An append is one statement, and durable when it returns (``synchronous_commit`` is on). The tables are made at the
    first call if they are not there, whoever else makes them at the same time. Needs the extra ``postgres``.

    Where a connection is lost in the middle of a write, nobody here knows whether the server has done it: the
    :class:`StoreError` says so, and whoever reads the thread again finds all of it or nothing. The store itself goes on
    with a new connection.

    Arguments:
        conninfo: ``postgresql://user@host:5432/database`` or ``host=... dbname=...``, as libpq reads it. What is not
            said there, libpq takes from its environment variables and password file.
        schema: the schema for the tables, made if it is not there; if not given, that which the server chooses.
        max_connections: how many connections there are at most, for each event loop that uses this object.
        connect_timeout: how many seconds connecting may take.
        lock_timeout: how many seconds to wait while others write; then a :class:`StoreError` ``store-busy``.
        max_entry_bytes: how large an entry may be in UTF-8; None for any size.

    Raises:
        MissingExtraError: psycopg is not installed.
        BindError: arguments that cannot be. No message and no repr has the password.
    """

    _locked = " FOR UPDATE"

    def __init__(
        self,
        conninfo: str,
        *,
        schema: str | None = None,
        max_connections: int = 10,
        connect_timeout: float = 10.0,
        lock_timeout: float = 30.0,
        max_entry_bytes: int | None = None,
    ) -> None:
        _psycopg()
        for name, value in (("connect_timeout", connect_timeout), ("lock_timeout", lock_timeout)):
            positive(name, value, unit="seconds")
        positive("max_connections", max_connections, unit="connections")
        self._parameters = _read(conninfo)
        self._parameters.setdefault("connect_timeout", str(max(round(connect_timeout), 2)))  # libpq knows whole ones
        self._parameters.setdefault("application_name", "interlock")
        self._lock_timeout = lock_timeout
        self._schema = None if schema is None else _identifier(schema)
        tables = "interlock_" if self._schema is None else f"{self._schema}.interlock_"
        super().__init__(tables=tables, at_once=max_connections, max_entry_bytes=max_entry_bytes)
        self._readers = self._writers = Workers(max_connections)
        self._tables = tables
        self._sql_more = _ADD.format(t=tables, thread=_MORE.format(t=tables)).encode()
        self._sql_first = _ADD.format(t=tables, thread=_BEGIN.format(t=tables)).encode()
        self._lock = threading.Lock()
        self._ready = False
        self._writes = threading.Condition()
        self._at_work = 0
        """How many writes are under way."""
        self._idle: Idle[_Session] = Idle(self._connect, _Session.close, _Session.is_alive)

    def __repr__(self) -> str:
        return f"PostgresStore({self._place})"

    @property
    def _place(self) -> str:
        found = self._parameters
        host = found.get("host") or found.get("hostaddr") or "local"
        place = f"{host}:{found.get('port') or 5432}/{found.get('dbname') or found.get('user') or ''}"
        return self._without_password(place)

    @contextmanager
    def _reading(self) -> Generator[_Session]:
        with self._session() as session:
            yield session

    @contextmanager
    def _writing(self) -> Generator[_Session]:
        with self._counted(), self._session(writing=True) as session, session.connection.transaction():
            yield session

    def _add(self, thread_id: str, expected_index: int, entries: Sequence[LogEntry], texts: list[str]) -> bool:
        added = (expected_index, _array([entry.id for entry in entries]), _array(texts))
        row = thread_row(entries)
        with self._counted(), self._session(writing=True) as session:
            if expected_index:
                done = session.connection.execute(self._sql_more, (*row, thread_id, expected_index, *added))
            else:
                done = session.connection.execute(self._sql_first, (*row, thread_id, *added))
            return done.rowcount > 0

    @contextmanager
    def _counted(self) -> Generator[None]:
        with self._writes:
            self._at_work += 1
        try:
            yield
        finally:
            with self._writes:
                self._at_work -= 1
                self._writes.notify_all()

    def _shut(self) -> None:
        self._idle.shut()  # from now on nobody gets a connection
        with self._writes:
            self._writes.wait_for(lambda: not self._at_work)

    @contextmanager
    def _session(self, *, writing: bool = False) -> Generator[_Session]:
        from psycopg import Error
        from psycopg.errors import UniqueViolation

        session: _Session | None = None
        try:
            if not self._ready:
                self._prepare()
            session = self._idle.take()
            yield session
        except UniqueViolation as error:
            raise TakenError from error
        except Error as error:
            lost = session is not None and session.connection.broken
            raise self._failure(error, lost=lost, writing=writing) from self._cause(error)
        finally:
            if session is not None:
                if session.connection.closed:
                    self._idle.drop(session)
                else:
                    self._idle.give(session)

    def _connect(self) -> _Session:
        if self._closed:
            raise closed()
        connection: Connection = _psycopg().Connection.connect(autocommit=True, **self._parameters)
        try:
            for statement in _SESSION:
                connection.execute(statement)
            connection.execute(f"SET lock_timeout = {max(round(self._lock_timeout * 1000), 1)}".encode())
        except BaseException:
            connection.close()
            raise
        return _Session(connection)

    def _prepare(self) -> None:
        """Make the tables if they are not there."""
        from psycopg.errors import InvalidSchemaName, UndefinedTable

        with self._lock:
            if self._ready:
                return
            session = self._connect()
            try:
                version = f"SELECT version FROM {self._tables}schema"  # noqa: S608  # a quoted name
                try:
                    found = session.execute(version).fetchone()
                except (UndefinedTable, InvalidSchemaName):
                    found = None
                if found is None:  # asked first, because whoever may write need not be allowed to make tables
                    with session.connection.transaction():
                        # IF NOT EXISTS alone fails where two make the same table at the same time.
                        session.execute("SELECT pg_advisory_xact_lock(?)", (_CREATING,))
                        if self._schema is not None:
                            session.execute(f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
                        for sql in _TABLES.format(t=self._tables).split(";"):
                            session.execute(sql)
                        found = session.execute(version).fetchone()
                        if found is None:
                            found = (SCHEMA_VERSION,)
                            session.execute(f"INSERT INTO {self._tables}schema VALUES (?)", found)  # noqa: S608
                check_version(found[0], self._place)
                self._ready = True
            finally:
                if self._ready:
                    self._idle.give(session)
                else:
                    self._idle.drop(session)

    def _failure(self, error: Exception, *, lost: bool, writing: bool) -> StoreError:
        from psycopg import OperationalError
        from psycopg.errors import DeadlockDetected, LockNotAvailable, SerializationFailure

        if isinstance(error, (LockNotAvailable, DeadlockDetected, SerializationFailure)):
            return StoreError(
                f"{self._place}: others kept writing for {self._lock_timeout:g} s; try again, or give a longer "
                "lock_timeout",
                code="store-busy",
                retryable=True,
            )
        said = self._without_password(str(error).strip().replace("\n", " "))
        if lost and writing:
            said = unknown(said)
        return StoreError(f"{self._place}: {said}", retryable=isinstance(error, OperationalError))

    def _cause(self, error: Exception) -> Exception | None:
        # A server may repeat what it was told.
        said = str(error)
        return error if self._without_password(said) == said else None

    def _without_password(self, text: str) -> str:
        password = self._parameters.get("password")
        if password:
            for form in {password, quote(password, safe=""), quote_plus(password)}:
                text = text.replace(form, "***")
        return text


class _Session:
    """A connection in autocommit, with parameters as ``?``."""

    __slots__ = ("connection",)

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def execute(self, statement: str, parameters: Sequence[Any] = (), /) -> Cursor:
        """Run one statement."""
        return self.connection.execute(statement.replace("?", "%s").encode(), parameters or None)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def is_alive(self) -> bool:
        """Whether the server is still there, as far as can be known without asking it."""
        connection = self.connection
        if connection.closed:
            return False
        # Nothing is owed to us: what comes all the same is a farewell.
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(connection.fileno(), select.POLLIN)
            return not poll.poll(0)
        return not select.select([connection.fileno()], [], [], 0)[0]


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise MissingExtraError(
            "logs in PostgreSQL need the package 'psycopg', which is not installed: pip install 'interlock[postgres]'",
            package="psycopg",
            extra="postgres",
        ) from error
    return psycopg


def _read(conninfo: str) -> dict[str, str]:
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    if not isinstance(cast("object", conninfo), str):
        raise BindError(f'conninfo is {type(conninfo).__name__}; give "postgresql://user@host:5432/database"')
    try:
        return {name: str(value) for name, value in conninfo_to_dict(conninfo).items() if value is not None}
    except ProgrammingError:
        pass  # libpq's message repeats what it could not read, which may be the password
    raise BindError(
        "conninfo is nothing that libpq reads (it is not shown here: it may hold a password); give "
        '"postgresql://user@host:5432/database" or "host=... dbname=... user=..."'
    )


def _array(texts: Sequence[str]) -> str:
    # As PostgreSQL writes arrays. psycopg would do it as well, at ten times the price.
    inside = '","'.join([text.replace("\\", "\\\\").replace('"', '\\"') for text in texts])
    return f'{{"{inside}"}}'


def _identifier(name: str) -> str:
    if not isinstance(cast("object", name), str) or not re.fullmatch(r"[^\W\d]\w{0,62}", name, re.ASCII):
        raise BindError(f"schema={name!r}: give a name of ASCII letters, digits and underscores")
    return f'"{name}"'
