"""What the checks of a store are written with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

from interlock.errors import JournalError, LogConflictError, StoreError
from interlock.journal.entries import LogEntry
from interlock.journal.stores.base import SavedSnapshot, Store

__all__ = ["Call", "Check", "Probe", "entries", "entry", "snapshot"]

E = TypeVar("E", bound=JournalError)


class Probe:
    """A store on trial. ``open_other`` opens one more, which may or may not have the same data."""

    def __init__(self, store: Store, open_other: Callable[[], Awaitable[Store]]) -> None:
        self.store = store
        self.open_other = open_other

    async def thread(self, name: str, length: int = 0) -> str:
        """Return the id of a thread that has so many entries, those of :func:`entries`, and no more."""
        thread = f"conformance/{name}"
        await self.store.delete(thread)
        if length:
            await self.store.append(thread, 0, entries(0, length))
        return thread

    async def holds(self, thread: str, expected: Sequence[LogEntry], what: str) -> None:
        """Fail unless a thread's log is just this, as far as can be seen."""
        same_log(await self.store.read(thread), tuple(expected), f"{what}: read({_short(thread)})")
        same(await self.store.length(thread), len(expected), f"{what}: length({_short(thread)})")
        for given in expected[-3:]:
            same(await self.store.index_of(thread, given.id), given.index, f"{what}: index_of(..., {given.id!r})")

    async def refuses(self, doing: Callable[[], Awaitable[object]], code: str, what: str) -> StoreError:
        """Fail unless a call raises a :class:`StoreError` with this code."""
        error = await raised(doing, StoreError, f"StoreError({code})", what)
        same(error.code, code, f"{what}: the error's code")
        return error

    async def conflicts(self, thread: str, expected_index: int, actual_index: int, what: str) -> None:
        """Fail unless an append of one entry conflicts, and says all there is to say about it."""
        appending = partial(self.store.append, thread, expected_index, entries(expected_index, 1, "late"))
        error = await raised(appending, LogConflictError, "LogConflictError", what)
        said = (error.thread_id, error.expected_index, error.actual_index)
        same(said, (thread, expected_index, actual_index), f"{what}: thread_id, expected_index, actual_index")


Call: TypeAlias = Callable[[], Awaitable[object]]
Check: TypeAlias = Callable[[Probe], Awaitable[None]]


def entry(index: int, name: str = "", **fields: Any) -> LogEntry:  # fields of an entry's JSON
    """Return an entry; ``name`` makes its id another one, and None for ``event`` or ``verification`` leaves it out."""
    given: dict[str, Any] = {
        "schema_version": 1,
        "id": f"evt_{name}{index:08d}",
        "index": index,
        "recorded_at": 1767225600.25 + index,
        "machine_id": "conformance",
        "machine_version": "1",
        "status": "working",
        "event": {"type": "Tried", "index": index, "name": name},
        "verification": {"state_hash": f"hash-{index}"},
    }
    given |= fields
    left_out = {name for name in ("event", "verification") if given[name] is None}
    return LogEntry.from_json({name: value for name, value in given.items() if name not in left_out})


def entries(start: int, count: int, name: str = "") -> list[LogEntry]:
    """Return so many entries from an index on."""
    return [entry(index, name) for index in range(start, start + count)]


def snapshot(index: int, text: str = '{"state":"asking"}') -> SavedSnapshot:
    """Return a snapshot after an entry of :func:`entries`."""
    return SavedSnapshot(
        index=index,
        execution_id="run_1",
        state_hash=f"hash-{index}",
        machine_id="conformance",
        machine_version="1",
        text=text,
    )


def same(came: object, expected: object, what: str) -> None:
    """Fail unless two values are equal and of one type."""
    if came != expected or type(came) is not type(expected):
        raise AssertionError(f"{what}: expected {_short(expected)}, came {_short(came)}")


def same_log(came: Sequence[LogEntry], expected: Sequence[LogEntry], what: str) -> None:
    """Fail unless two logs say the same, letter by letter: equality alone takes 1 for 1.0, and -0.0 for 0.0."""
    same(type(came).__name__, "tuple", f"{what}: its type")
    ids, wanted = [given.id for given in came], [given.id for given in expected]
    if ids != wanted:
        raise AssertionError(f"{what}: expected the entries {_short(wanted)}, came {_short(ids)}")
    for given, want in zip(came, expected, strict=True):
        if given != want or given.to_text() != want.to_text():
            raise AssertionError(f"{what}: expected {_short(want.to_text())}, came {_short(given.to_text())}")


async def raised(doing: Callable[[], Awaitable[object]], kind: type[E], wanted: str, what: str) -> E:
    """Return the error that a call raises, or fail."""
    try:
        came = await doing()
    except kind as error:
        return error
    except Exception as error:
        raise AssertionError(f"{what}: expected {wanted}, came {type(error).__name__}: {error}") from error
    raise AssertionError(f"{what}: expected {wanted}, came {_short(came)}")


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 300 else f"{text[:200]} ... {text[-80:]} ({len(text)} characters)"
