"""Where logs are kept: in memory, SQLite, PostgreSQL or Redis, all behind one protocol."""

from importlib import import_module
from typing import TYPE_CHECKING

from interlock.journal.stores.base import SavedSnapshot, Store, ThreadInfo
from interlock.journal.stores.memory import MemoryStore

if TYPE_CHECKING:
    from interlock.journal.stores.conformance import assert_store_conformance
    from interlock.journal.stores.opening import open_store
    from interlock.journal.stores.postgres import PostgresStore
    from interlock.journal.stores.redis import RedisStore
    from interlock.journal.stores.sqlite import SQLiteStore

__all__ = [
    "MemoryStore",
    "PostgresStore",
    "RedisStore",
    "SQLiteStore",
    "SavedSnapshot",
    "Store",
    "ThreadInfo",
    "assert_store_conformance",
    "open_store",
]

# Whoever runs without a database need not wait for the import of three.
_LATER = {
    "PostgresStore": "postgres",
    "RedisStore": "redis",
    "SQLiteStore": "sqlite",
    "assert_store_conformance": "conformance",
    "open_store": "opening",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
        return value
