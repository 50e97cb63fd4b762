"""What every store refuses before it asks its database, and how entries are written down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from interlock.errors import BindError, NotJsonError, StoreError
from interlock.journal.entries import LONGEST_ID, LogEntry, is_entry_id, is_iterable, is_time

__all__ = [
    "check_append",
    "check_fork",
    "check_thread_id",
    "closed",
    "duplicate",
    "entry_texts",
    "positive",
    "unknown",
    "whole",
]


def check_thread_id(thread_id: object) -> str:
    """Return a thread id, or raise :class:`StoreError` for what cannot be one."""
    if not is_entry_id(thread_id):
        shown = repr(thread_id)
        raise StoreError(
            f"{shown if len(shown) <= 80 else shown[:77] + '...'} is no thread id; give a text of 1 to {LONGEST_ID} "
            "characters, without NUL and lone surrogates",
            code="invalid-append",
        )
    return str(thread_id)


def check_append(thread_id: str, expected_index: int, entries: Iterable[LogEntry]) -> tuple[LogEntry, ...]:
    """Return the entries that are to be appended, the store's own from now on.

    Raises :class:`StoreError` for what is none, or does not follow each other from ``expected_index`` on.
    """
    check_thread_id(thread_id)
    whole("expected_index", expected_index)
    given: tuple[object, ...] = tuple(entries) if is_iterable(entries) else (entries,)
    for item in given:
        if not isinstance(item, LogEntry):
            raise StoreError(
                f"thread {thread_id!r}: {type(item).__name__} is no LogEntry; give a list of entries, read with "
                "LogEntry.from_json where they are JSON",
                code="invalid-append",
            )
    found = cast("tuple[LogEntry, ...]", given)
    _check_order(thread_id, expected_index, found)
    return found


def _check_order(thread_id: str, expected_index: int, entries: Sequence[LogEntry]) -> None:
    for number, entry in enumerate(entries):
        if entry.index != expected_index + number:
            raise StoreError(
                f"thread {thread_id!r}: entry {entry.id!r} has index {entry.index}, but would stand at "
                f"{expected_index + number}; give entries with contiguous indexes from expected_index on",
                code="invalid-append",
            )
        if not is_entry_id(entry.id):
            raise StoreError(
                f"thread {thread_id!r}: the id of entry {entry.index} is none; give a text of 1 to {LONGEST_ID} "
                "characters, without NUL and lone surrogates",
                code="invalid-append",
            )
        if not is_time(entry.recorded_at):
            raise StoreError(
                f"thread {thread_id!r}: the time of entry {entry.index} is none; give Unix seconds, or None",
                code="invalid-append",
            )
    if len(entries) > 1:
        ids = [entry.id for entry in entries]
        if len(set(ids)) != len(ids):
            twice = next(name for name in ids if ids.count(name) > 1)
            raise duplicate(thread_id, twice)


def duplicate(thread_id: str, entry_id: str) -> StoreError:
    """Return the error for an entry id that a thread holds already."""
    return StoreError(
        f"thread {thread_id!r}: there is an entry {entry_id!r} already; what it says was written before",
        code="duplicate-entry",
    )


def check_fork(thread_id: str, new_thread_id: str, *, length: int, wanted: int | None, taken: int) -> int:
    """Return how many entries are copied, or raise :class:`StoreError`.

    Arguments:
        thread_id: the thread that is copied.
        new_thread_id: where to.
        length: how many entries it has.
        wanted: how many of them are asked for.
        taken: how many entries the new thread has already.
    """
    check_thread_id(new_thread_id)
    if not length:
        raise StoreError(f"there is no thread {thread_id!r} to fork", code="unknown-thread")
    if taken:
        raise StoreError(
            f"thread {new_thread_id!r} has {taken} entries already; fork into a new thread", code="thread-exists"
        )
    count = length if wanted is None else whole("length", wanted)
    if not 1 <= count <= length:
        raise StoreError(
            f"thread {thread_id!r} has {length} entries, of which {count} cannot be forked; give 1 to {length}",
            code="invalid-fork",
        )
    return count


def entry_texts(thread_id: str, entries: Sequence[LogEntry], limit: int | None) -> list[str]:
    """Return entries as they are stored: one line of JSON each.

    Arguments:
        thread_id: for the message.
        entries: the entries.
        limit: how many bytes each may have in UTF-8; None for any number.

    Raises :class:`StoreError`: ``entry-too-large``, or ``invalid-append`` for what JSON cannot carry.
    """
    texts: list[str] = []
    for entry in entries:
        try:
            text = entry.to_text()
            size = len(text) if text.isascii() else len(text.encode())
        except (NotJsonError, UnicodeEncodeError, TypeError, RecursionError) as error:
            raise StoreError(
                f"thread {thread_id!r}: entry {entry.index} ({entry.type}) cannot be written as JSON: {error}",
                code="invalid-append",
            ) from error
        if limit is not None and size > limit:
            raise StoreError(
                f"thread {thread_id!r}: entry {entry.index} ({entry.type}) has {size} bytes, and this store takes "
                f"{limit}; keep large values elsewhere and a reference to them in the event",
                code="entry-too-large",
            )
        texts.append(text)
    return texts


def whole(name: str, number: object) -> int:
    """Return an argument that counts something, or raise :class:`StoreError` for what is no whole number."""
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    raise StoreError(f"{name}={number!r}: give a whole number", code="invalid-argument")


def closed() -> StoreError:
    """Return the error for a store that has been closed."""
    return StoreError("the store is closed; open another one", code="store-closed")


def positive(name: str, value: float | None, *, unit: str) -> None:
    """Raise :class:`BindError` for an argument of a store that is not a number above 0; None is none."""
    if value is not None and not value > 0:
        raise BindError(f"{name}={value!r}: give a number of {unit} above 0")


def unknown(said: str) -> str:
    """Return what is said of a write in whose middle the connection to a server was lost."""
    return f"the connection was lost ({said}), and whether this was written is not known; read the thread"
