"""Logs in Redis: for many computers, as durable as the server is set to be."""

from __future__ import annotations

import secrets
import threading
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

import anyio

from interlock.errors import BindError, LogConflictError, StoreError
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
    unknown,
    whole,
)
from interlock.journal.stores.redis_scripts import APPEND, DELETE, SAVE, SHA
from interlock.journal.stores.redis_server import (
    Client,
    Durability,
    check_durability,
    checked,
    connected,
    decoded,
    passwords,
)
from interlock.journal.stores.workers import Workers

__all__ = ["Durability", "RedisStore"]

SCHEMA_VERSION = 1
BUCKETS = 64
"""Over how many hash tags threads are spread. A thread and the list of threads that it stands in have the same one."""

T = TypeVar("T")

_INFO = ("status", "updated_at", "machine_id", "machine_version")
_SAVED = ("index", "execution_id", "state_hash", "machine_id", "machine_version", "text")
_PAGE = 256  # how many threads are asked for in one trip


class RedisStore:
    """A store in Redis, of version 5 or newer, or in what speaks the same.

    Redis keeps everything in memory, and on its disk what its settings say. At the first call this asks for them, and
    refuses a server that promises less than ``durability``. Replicas are beside the point: a failover may lose entries
    that were acknowledged. Needs the extra ``redis``.

    Arguments:
        server: ``redis://``, ``rediss://`` or ``unix://`` with what redis-py reads there, or a client of your own
            (``redis.Redis`` or ``redis.cluster.RedisCluster``, not those for asyncio), which you close yourself.
        durability: ``"always"``: an entry is on the disk when append returns (``appendonly yes`` with ``appendfsync
            always``). ``"everysec"``: a crash of the server may take the last second. ``"none"``: nothing is asked.
        prefix: what all keys begin with.
        max_connections: how many calls may be at work at a time, in each event loop.
        timeout: how many seconds to wait for an answer of the server; for clients that are made here.
        max_entry_bytes: how large an entry may be in UTF-8; None for any size.

    Raises:
        MissingExtraError: redis-py is not installed.
        BindError: arguments that cannot be. No message and no repr has the password.
    """

    def __init__(
        self,
        server: str | Client,
        *,
        durability: Durability = "always",
        prefix: str = "interlock",
        max_connections: int = 10,
        timeout: float = 30.0,
        max_entry_bytes: int | None = None,
    ) -> None:
        if durability not in {"always", "everysec", "none"}:
            raise BindError(f'durability={durability!r}: give "always", "everysec" or "none"')
        if not prefix or {"{", "}"} & set(prefix) or not is_entry_id(prefix):
            raise BindError(f"prefix={prefix!r}: give a text without braces, which stand for something in keys")
        positive("max_connections", max_connections, unit="connections")
        positive("timeout", timeout, unit="seconds")
        positive("max_entry_bytes", max_entry_bytes, unit="bytes")
        self._own = isinstance(server, str)
        self._client: Any = connected(server, timeout) if isinstance(server, str) else checked(server)
        self._secrets = passwords(server) if isinstance(server, str) else frozenset[str]()
        self._durability: Durability = durability
        self._prefix = prefix
        self._max_entry_bytes = max_entry_bytes
        self._workers = Workers(max_connections)
        self._lock = threading.Lock()
        self._ready = self._closed = False

    def __repr__(self) -> str:
        return f"RedisStore(prefix={self._prefix!r}, durability={self._durability!r})"

    async def append(self, thread_id: str, expected_index: int, entries: Sequence[LogEntry]) -> None:
        """See :meth:`Store.append`."""
        self._check()
        given = check_append(thread_id, expected_index, entries)
        if given:
            await self._run(lambda: self._append(thread_id, expected_index, given), writing=True)

    def _append(self, thread_id: str, expected_index: int, entries: Sequence[LogEntry]) -> None:
        texts = entry_texts(thread_id, entries, self._max_entry_bytes)
        said = self._add(thread_id, expected_index, entries, texts)
        if said[0] == "duplicate":
            raise duplicate(thread_id, said[1])
        if said[0] == "conflict":
            raise LogConflictError(thread_id=thread_id, expected_index=expected_index, actual_index=int(said[1]))

    def _add(
        self, thread_id: str, expected_index: int, entries: Sequence[LogEntry], texts: Sequence[str]
    ) -> tuple[str, ...]:
        _, status, at, machine_id, machine_version = thread_row(entries)
        arguments: list[str] = [
            str(expected_index),
            secrets.token_hex(8),
            status,
            "" if at is None else repr(at),
            machine_id,
            machine_version,
            thread_id,
            str(len(entries)),
        ]
        for entry, text in zip(entries, texts, strict=True):
            arguments += (entry.id, text)
        return tuple(decoded(part) for part in self._script(APPEND, thread_id, arguments))

    async def read(self, thread_id: str, *, start: int = 0, limit: int | None = None) -> tuple[LogEntry, ...]:
        """See :meth:`Store.read`."""
        self._check(thread_id)
        first = max(whole("start", start), 0)
        last = -1 if limit is None else first + whole("limit", limit) - 1
        if (limit is not None and limit < 1) or max(first, last) >= 2**62:
            first, last = min(first, 2**62), (-1 if limit is None or limit > 0 else -(2**62))
        log = self._keys(thread_id)[0]
        found = await self._run(lambda: self._client.lrange(log, first, last))
        return tuple([LogEntry.from_json(decoded(line)) for line in found])

    async def length(self, thread_id: str) -> int:
        """See :meth:`Store.length`."""
        self._check(thread_id)
        return int(await self._run(lambda: self._client.llen(self._keys(thread_id)[0])))

    async def index_of(self, thread_id: str, entry_id: str) -> int | None:
        """See :meth:`Store.index_of`."""
        self._check(thread_id)
        if not is_entry_id(entry_id):
            return None
        found = await self._run(lambda: self._client.hget(self._keys(thread_id)[1], entry_id))
        return None if found is None else int(found)

    async def fork(self, thread_id: str, new_thread_id: str, *, length: int | None = None) -> int:
        """See :meth:`Store.fork`."""
        self._check(thread_id)
        check_thread_id(new_thread_id)
        return await self._run(lambda: self._fork(thread_id, new_thread_id, length), writing=True)

    def _fork(self, thread_id: str, new_thread_id: str, wanted: int | None) -> int:
        # The two may live on two servers. What was read of a log never changes, and the new one is written at once.
        texts = [decoded(line) for line in self._client.lrange(self._keys(thread_id)[0], 0, -1)]
        taken = int(self._client.llen(self._keys(new_thread_id)[0]))
        count = check_fork(thread_id, new_thread_id, length=len(texts), wanted=wanted, taken=taken)
        texts = texts[:count]
        said = self._add(new_thread_id, 0, [LogEntry.from_json(text) for text in texts], texts)
        if said[0] != "ok":  # somebody began it between our question and our answer
            check_fork(thread_id, new_thread_id, length=count, wanted=None, taken=int(said[1]))
        return count

    async def threads(self, *, status: EntryStatus | None = None, limit: int | None = None) -> tuple[ThreadInfo, ...]:
        """See :meth:`Store.threads`. Servers of a cluster are as agreed on the order as their clocks are."""
        self._check()
        most = None if limit is None else whole("limit", limit)
        return await self._run(lambda: tuple(self._threads(status, most)))

    def _threads(self, status: EntryStatus | None, limit: int | None) -> list[ThreadInfo]:
        # Without a status no bucket can give more than there will be in all.
        last = -1 if limit is None or status is not None else min(limit, 2**62) - 1
        if limit is not None and limit <= 0:
            return []
        asked: Any = self._client.pipeline(transaction=False)
        for bucket in range(BUCKETS):
            asked.zrevrange(self._index(bucket), 0, last, withscores=True)
        written = [(float(score), decoded(name)) for found in asked.execute() for name, score in found]
        names = [name for _, name in sorted(written, reverse=True)]
        infos: list[ThreadInfo] = []
        while names and (limit is None or len(infos) < limit):
            page, names = names[:_PAGE], names[_PAGE:]
            asked = self._client.pipeline(transaction=False)
            for name in page:
                log, _, info, *_ = self._keys(name)
                asked.llen(log)
                asked.hmget(info, _INFO)
            said = asked.execute()
            for name, length, fields in zip(page, said[::2], said[1::2], strict=True):
                found = [decoded(field) for field in fields if field is not None]
                if length and len(found) == len(_INFO) and status in {None, found[0]}:
                    kept, at, machine_id, machine_version = found
                    row = int(length), cast("EntryStatus", kept), float(at) if at else None
                    infos.append(thread_info(name, (*row, machine_id, machine_version)))
        return infos if limit is None else infos[:limit]

    async def delete(self, thread_id: str) -> bool:
        """See :meth:`Store.delete`."""
        self._check(thread_id)
        return bool(await self._run(lambda: self._script(DELETE, thread_id, [thread_id]), writing=True))

    async def save_snapshot(self, thread_id: str, saved: SavedSnapshot) -> None:
        """See :meth:`Store.save_snapshot`."""
        self._check(thread_id)
        fields = [part for name in _SAVED for part in (name, str(getattr(saved, name)))]
        await self._run(lambda: self._script(SAVE, thread_id, fields), writing=True)

    async def load_snapshot(self, thread_id: str) -> SavedSnapshot | None:
        """See :meth:`Store.load_snapshot`."""
        self._check(thread_id)
        found = await self._run(lambda: self._client.hmget(self._keys(thread_id)[3], _SAVED))
        if any(field is None for field in found):
            return None
        index, execution_id, state_hash, machine_id, machine_version, text = (decoded(field) for field in found)
        return SavedSnapshot(
            index=int(index),
            execution_id=execution_id,
            state_hash=state_hash,
            machine_id=machine_id,
            machine_version=machine_version,
            text=text,
        )

    async def aclose(self) -> None:
        """See :meth:`Store.aclose`. A client of your own stays open."""
        self._closed = True
        if self._own:
            with anyio.CancelScope(shield=True):
                await self._workers.run(lambda: self._client.connection_pool.disconnect(inuse_connections=False))

    def _check(self, *thread_ids: object) -> None:
        if self._closed:
            raise closed()
        for thread_id in thread_ids:
            check_thread_id(thread_id)

    def _index(self, bucket: int) -> str:
        return f"{self._prefix}:{{{bucket}}}:threads"

    def _keys(self, thread_id: str) -> list[str]:
        """Return a thread's keys: log, ids, info, snapshot, and the list of threads that it stands in."""
        bucket = zlib.crc32(thread_id.encode()) % BUCKETS
        start = f"{self._prefix}:{{{bucket}}}"  # the first braces are the hash tag; those in an id come later
        parts = ("log", "ids", "info", "snapshot")
        return [*(f"{start}:{part}:{thread_id}" for part in parts), self._index(bucket)]

    def _script(self, script: str, thread_id: str, arguments: Iterable[str]) -> Any:
        from redis.exceptions import NoScriptError

        keys = self._keys(thread_id)
        given = (len(keys), *keys, *arguments)
        try:
            return self._client.evalsha(SHA[script], *given)
        except NoScriptError:  # a server that has not seen it yet, or has been started anew
            return self._client.eval(script, *given)

    async def _run(self, work: Callable[[], T], *, writing: bool = False) -> T:
        return await self._workers.run(lambda: self._said(work, writing=writing))

    def _said(self, work: Callable[[], T], *, writing: bool) -> T:
        from redis.exceptions import ConnectionError as LostError
        from redis.exceptions import RedisError
        from redis.exceptions import TimeoutError as LateError

        begun = False
        try:
            if not self._ready:
                self._prepare()
            begun = True
            return work()
        except (RedisError, OSError) as error:
            said = self._hidden(str(error) or type(error).__name__)
            lost = isinstance(error, (LostError, LateError, OSError))
            cause = error if said == str(error) else None
            # Also where it says that it could not connect: that may have been its second try.
            told = unknown(said) if lost and begun and writing else said
            raise StoreError(f"Redis: {told}", retryable=lost) from cause
        finally:
            if self._closed and self._own:
                self._client.connection_pool.disconnect(inuse_connections=False)

    def _prepare(self) -> None:
        with self._lock:
            if self._ready:
                return
            check_durability(self._client, self._durability)
            key = f"{self._prefix}:version"
            self._client.set(key, SCHEMA_VERSION, nx=True)
            found = decoded(self._client.get(key) or "")
            if found != str(SCHEMA_VERSION):
                raise StoreError(
                    f"Redis: the keys under {self._prefix!r} are of version {found}, and this version of the library "
                    f"knows version {SCHEMA_VERSION}; update the library",
                    code="store-version",
                )
            self._ready = True

    def _hidden(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text
