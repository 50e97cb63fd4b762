"""Where logs are kept: in memory, SQLite, PostgreSQL or Redis, all behind one protocol."""

from interlock.journal.stores.base import SavedSnapshot, Store, ThreadInfo
from interlock.journal.stores.memory import MemoryStore

__all__ = ["MemoryStore", "SavedSnapshot", "Store", "ThreadInfo"]
