"""A store from a URL, as a command line or a setting gives it."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlencode

from interlock.errors import BindError, did_you_mean
from interlock.journal.stores.base import Store
from interlock.journal.stores.memory import MemoryStore
from interlock.journal.stores.postgres import PostgresStore
from interlock.journal.stores.redis import RedisStore
from interlock.journal.stores.sqlite import SQLiteStore

__all__ = ["open_store", "redis_address"]

_SCHEMES = ("memory", "sqlite", "postgresql", "postgres", "redis", "rediss", "unix")


def open_store(url: str, *, max_entry_bytes: int | None = None) -> Store:
    """Return the store that a URL names. Nothing is connected to or made before its first call.

    =================================  ===========================================================
    ``memory:``                        :class:`MemoryStore`
    ``sqlite:///runs.db``              :class:`SQLiteStore`, relative to the current folder
    ``sqlite:////var/lib/runs.db``     the same, with an absolute path
    ``sqlite:runs.db``                 the same, with a path as it stands; ``sqlite::memory:``
    ``postgresql://user@host/name``    :class:`PostgresStore`, as libpq reads it
    ``redis://host:6379/0``            :class:`RedisStore`, as redis-py reads it; also ``rediss``, ``unix``
    =================================  ===========================================================

    What a store of one kind takes may follow: ``?synchronous=normal`` for SQLite, ``?durability=everysec`` for Redis.

    Arguments:
        url: the URL.
        max_entry_bytes: how large an entry may be in UTF-8; None for any size. A store in memory takes any.

    Raises:
        BindError: a URL that names no store, which is shown only as far as it can hold no password.
        MissingExtraError: the database's driver is not installed.
    """
    if not isinstance(cast("object", url), str):
        raise BindError(f"open_store({type(url).__name__}): give a URL, such as sqlite:runs.db")
    scheme, colon, rest = url.partition(":")
    scheme = scheme.lower()
    if not colon or scheme not in _SCHEMES:
        # Only what can be a scheme is shown.
        shown = scheme if colon and scheme.isalnum() else ""
        hint = did_you_mean(shown, [f"{name}:" for name in _SCHEMES])
        what = f"{shown + ':'!r} is none that there is" if shown else "this has none; for a file write sqlite:<path>"
        raise BindError(f"a store's URL begins with its kind, and {what}. {hint}")
    if scheme == "memory":
        if rest.strip("/"):
            raise BindError(f"memory: is the whole URL; what is {rest!r}?")
        return MemoryStore()
    if scheme == "sqlite":
        path, options, others = _options(rest, "synchronous")
        if others:
            raise BindError(f"sqlite: has no option {next(iter(others))!r}; there is synchronous (full or normal)")
        if path.startswith("//"):
            if not path.startswith("///") and path != "//":
                raise BindError(f"sqlite:{path}: give three slashes and a relative path, or four and an absolute one")
            path = path[3:]
        if not path:
            raise BindError("sqlite: names no file; give sqlite:runs.db, or sqlite::memory: for none")
        return SQLiteStore(unquote(path), max_entry_bytes=max_entry_bytes, **options)
    if scheme in {"postgresql", "postgres"}:
        return PostgresStore(url, max_entry_bytes=max_entry_bytes)
    address, options = redis_address(url)
    return RedisStore(address, max_entry_bytes=max_entry_bytes, **options)


def redis_address(url: str) -> tuple[str, dict[str, Any]]:
    """Return what redis-py is to read of a URL, and what is a store's own in it, as keyword arguments."""
    address, options, others = _options(url, "durability")
    return address + ("?" + urlencode(others) if others else ""), options


def _options(url: str, name: str) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Return a URL without its query, the option of this name, as a keyword argument, and the other ones."""
    address, _, query = url.partition("?")
    given = dict(parse_qsl(query, keep_blank_values=True))
    return address, {name: given.pop(name)} if name in given else {}, given
