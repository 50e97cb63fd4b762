"""Logs as data: what happened to a running system, entry by entry; replayed, forked and compared without a model.

``head.py`` is where logs grow: one input, one step, one entry. ``stores`` keeps them.
"""

from interlock.journal.comparing import Change, LogCheck, LogDiff, check_log, diff, fork
from interlock.journal.entries import EntryStatus, LogEntry
from interlock.journal.hashing import state_hash
from interlock.journal.head import Advance, Head, advance, begin, begin_from, resume
from interlock.journal.replaying import Replay, Verify, replay
from interlock.journal.stores import MemoryStore, SavedSnapshot, Store, ThreadInfo

__all__ = [
    "Advance",
    "Change",
    "EntryStatus",
    "Head",
    "LogCheck",
    "LogDiff",
    "LogEntry",
    "MemoryStore",
    "Replay",
    "SavedSnapshot",
    "Store",
    "ThreadInfo",
    "Verify",
    "advance",
    "begin",
    "begin_from",
    "check_log",
    "diff",
    "fork",
    "replay",
    "resume",
    "state_hash",
]
