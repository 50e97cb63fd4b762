"""Errors of logs: entries that are none, logs that this machine cannot be replayed from, and stores."""

from __future__ import annotations

from interlock.errors.base import InterlockError

__all__ = [
    "InvalidLogError",
    "JournalError",
    "LogConflictError",
    "LogVersionError",
    "ReplayDivergedError",
    "ReplayFailedError",
    "SnapshotDivergedError",
    "StoreError",
]


class JournalError(InterlockError):
    """Base of what goes wrong with logs and stores. What was stored before is as it was."""

    code = "journal-error"


class InvalidLogError(JournalError):
    """Data that is no log, or no entry of one; ``index`` says which, where that is known."""

    code = "invalid-log"

    def __init__(self, message: str, *, index: int | None = None) -> None:
        super().__init__(message if index is None else f"entry {index}: {message}")
        self.index = index


class LogVersionError(JournalError):
    """A log that another version of the machine, or another machine, has written. Nothing was executed."""

    code = "log-version-mismatch"

    def __init__(self, message: str, *, index: int, expected: str, actual: str) -> None:
        super().__init__(f"entry {index}: {message}")
        self.index = index
        self.expected = expected
        self.actual = actual


class ReplayDivergedError(JournalError):
    """Replaying leads to another state than the log says: the machine's functions are not those that wrote it.

    ``expected`` and ``actual`` are state hashes; ``code`` is ``replay-diverged``, or ``missing-verification`` where the
    log says nothing and the replay was strict.
    """

    code = "replay-diverged"

    def __init__(
        self, message: str, *, code: str | None = None, index: int, entry_id: str, expected: str | None, actual: str
    ) -> None:
        super().__init__(f"entry {index} ({entry_id}): {message}", code=code)
        self.index = index
        self.entry_id = entry_id
        self.expected = expected
        self.actual = actual


class ReplayFailedError(JournalError):
    """A function of the machine raised while an entry was replayed, or made what cannot be saved.

    What it raised is the ``__cause__``, or a :class:`NotJsonError`.

    ``index`` names the entry, ``snapshot`` is the state before it (None for the first one). The log is not changed:
    replayed by the repaired machine it goes on from there.
    """

    code = "replay-failed"

    def __init__(self, message: str, *, index: int, entry_id: str, snapshot: object = None) -> None:
        super().__init__(f"entry {index} ({entry_id}): {message}")
        self.index = index
        self.entry_id = entry_id
        self.snapshot = snapshot


class SnapshotDivergedError(JournalError):
    """A snapshot that was given to go on from is not the one that the thread's log leads to."""

    code = "snapshot-diverged"


class LogConflictError(JournalError):
    """Somebody else has written to the thread meanwhile; nothing of this append was written.

    Read the thread again and decide anew. ``expected_index`` is where the append would have begun, ``actual_index``
    where the log ended.
    """

    code = "log-conflict"

    def __init__(self, *, thread_id: str, expected_index: int, actual_index: int) -> None:
        super().__init__(
            f"thread {thread_id!r}: the log has {actual_index} entries, not the {expected_index} that this append was "
            "made for; another worker has written to it. Nothing was written; read the thread again"
        )
        self.thread_id = thread_id
        self.expected_index = expected_index
        self.actual_index = actual_index


class StoreError(JournalError):
    """A store that could not do what it was asked; nothing of it was done.

    ``code`` is one of: ``store-failed`` (the database refused or could not be reached; it is the ``__cause__``),
    ``store-busy`` (others kept it locked for too long), ``invalid-append`` (entries that do not follow each other),
    ``duplicate-entry`` (an entry id that the thread holds already), ``entry-too-large``, ``unknown-thread``,
    ``thread-exists``, ``invalid-fork``, ``store-durability`` (the server promises less than was asked for),
    ``store-version`` (tables of a newer version of the library), ``store-closed``, ``invalid-argument``.
    ``retryable`` says whether the same call may succeed later.
    """

    code = "store-failed"

    def __init__(self, message: str, *, code: str | None = None, retryable: bool = False) -> None:
        super().__init__(message, code=code)
        self.retryable = retryable
