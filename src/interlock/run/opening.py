"""What a run starts from: an input, a snapshot, or the log of a thread. Nothing is executed by opening it.

The log is the truth. A snapshot that is kept beside it saves replaying it, and is believed only where it says which
entry it stands for and hashes to what that entry says.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from interlock.agent.user_input import UserInputSpec
from interlock.errors import (
    BindError,
    InterlockError,
    LogVersionError,
    NotJsonError,
    ReplayFailedError,
    SnapshotDivergedError,
    SnapshotError,
    StepError,
)
from interlock.journal import Advance, Head, LogEntry, SavedSnapshot, Store, begin, begin_from, replay, resume
from interlock.journal.head import head_of
from interlock.journal.replaying import continued
from interlock.run.journaling import Journal
from interlock.run.usage import get_usage
from interlock.statechart import Effect, Machine, Snapshot, owed

__all__ = ["Opened", "Start", "open_log"]

C = TypeVar("C")

_log = logging.getLogger("interlock.run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Start(Generic[C]):
    """What a run was told to start from."""

    input: object
    snapshot: Snapshot[C] | None
    store: Store | None
    thread_id: str | None
    execution_id: str | None
    asks: bool = False
    """Whether the run puts open questions to a person by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened(Generic[C]):
    """A run at its beginning: its log, and what its first step asks for (None where that is another run's)."""

    journal: Journal[C]
    execution_id: str
    effects: tuple[Effect, ...] | None


async def open_log(machine: Machine[C, Any, Any], start: Start[C], *, at: float) -> Opened[C]:
    """Open the log of a run.

    Raises :class:`BindError` where the thread is another run, and any :class:`JournalError` about its log. A machine
    that could not take its first step, or a step of its log, is opened with that failure.
    """
    store, thread_id = start.store, start.thread_id or ""
    if store is not None:
        found = await _open_thread(machine, start, store, thread_id, at=at)
        if found is not None:
            return found
    execution_id = start.execution_id or uuid.uuid4().hex
    try:
        if start.snapshot is None:
            begun: Advance = begin(machine, start.input, execution_id=execution_id, at=at)
        else:
            begun = begin_from(machine, start.snapshot, execution_id=execution_id, at=at)
    except (StepError, NotJsonError) as error:
        return _failed(error, execution_id, None, store, thread_id, resumed=start.snapshot is not None)
    journal: Journal[C] = Journal(begun.head, (begun.entry,), store=store, thread_id=thread_id)
    return Opened(
        journal=journal, execution_id=execution_id, effects=None if start.snapshot is not None else begun.effects
    )


async def _open_thread(
    machine: Machine[C, Any, Any], start: Start[C], store: Store, thread_id: str, *, at: float
) -> Opened[C] | None:
    first = await store.read(thread_id, limit=1)
    if not first:
        return None
    execution_id = str(first[0].metadata.get("execution_id"))
    if start.execution_id not in (None, execution_id):
        raise BindError(
            f"thread {thread_id!r} belongs to execution {execution_id!r}, not to execution_id={start.execution_id!r}; "
            "leave it out, or take another thread",
            code="thread-exists",
        )
    _check_same_start(machine, start, first[0], thread_id)
    try:
        head, fresh, calls = await _head(machine, store, thread_id, execution_id, at=at)
    except ReplayFailedError as error:
        cause = error.__cause__
        before = cast("Snapshot[C] | None", error.snapshot)
        why = cause if isinstance(cause, (StepError, NotJsonError)) else error
        return _failed(why, execution_id, before, store, thread_id, resumed=True)
    except NotJsonError as error:  # what a migration has led to cannot be saved
        return _failed(error, execution_id, None, store, thread_id, resumed=True)
    if start.snapshot is not None and start.snapshot != head.snapshot:
        raise SnapshotDivergedError(
            f"thread {thread_id!r}: the snapshot that was given stands in {', '.join(start.snapshot.states)} and is "
            f"not the one that the thread's {head.length} entries lead to ({', '.join(head.snapshot.states)}); leave "
            "snapshot= out to go on with the thread, or take another thread_id to go on from the snapshot"
        )
    if not fresh and (head.status == "working" or (start.asks and _is_asking(head.snapshot))):
        # Who else takes this thread up finds the index taken before he calls anything.
        taken = resume(head, at=at)
        head, fresh = taken.head, (taken.entry,)
    journal = Journal(head, fresh, store=store, thread_id=thread_id, calls=calls)
    return Opened(journal=journal, execution_id=execution_id, effects=None)


def _is_asking(snapshot: Snapshot[Any]) -> bool:
    return any(isinstance(item.logic, UserInputSpec) for item in owed(snapshot).invocations)


def _check_same_start(machine: Machine[Any, Any, Any], start: Start[Any], first: LogEntry, thread_id: str) -> None:
    if start.input is None:
        return
    event: Mapping[str, object] = first.event or {}
    if "snapshot" in event or machine.input_json(start.input) != event.get("input"):
        raise BindError(
            f"thread {thread_id!r} was started with another input; leave input= out to go on with it, or take another "
            "thread_id",
            code="thread-exists",
        )


async def _kept(store: Store, thread_id: str) -> SavedSnapshot | None:
    """Return the snapshot that is kept; none where there is no reading it, since the log is whole without it."""
    try:
        return await store.load_snapshot(thread_id)
    except Exception:  # noqa: BLE001  # damaged rows, or a store of somebody else's
        _log.warning("thread %r: its snapshot cannot be read; its log is replayed", thread_id, exc_info=True)
        return None


async def _head(
    machine: Machine[C, Any, Any], store: Store, thread_id: str, execution_id: str, *, at: float
) -> tuple[Head[C], tuple[LogEntry, ...], int | None]:
    """Return where a thread's log ends, the entry that goes on from there where an older version has ended, and calls.

    Those are the model calls that were made for the thread; None where only the whole log would tell.
    """
    saved = await _kept(store, thread_id)
    if saved is not None and (saved.execution_id, saved.machine_id) == (execution_id, machine.id):
        tail = await store.read(thread_id, start=saved.index)
        if tail and tail[0].index == saved.index and tail[0].state_hash == saved.state_hash:
            kept = _read(saved)
            calls = _calls(kept, tail[1:])
            if saved.machine_version == machine.version:
                head = _believed(machine, saved, kept)
                if head is not None:
                    return continued(head, tail[1:]), (), calls
            elif machine.migrate is not None and len(tail) == 1:
                return *_migrated(machine, saved, kept, at=at), calls
    entries = await store.read(thread_id)
    last = entries[-1]
    if last.machine_id == machine.id and last.machine_version != machine.version and machine.migrate is not None:
        raise LogVersionError(
            f"thread {thread_id!r} was written by version {last.machine_version!r} of machine {machine.id!r}, this is "
            f"version {machine.version!r}, and no snapshot of its end is kept that could be migrated: the run was cut "
            "off, or the thread was forked. Let the old version take it up once more until it settles",
            index=last.index,
            expected=machine.version,
            actual=last.machine_version,
        )
    return replay(machine, entries).head, (), get_usage(entries).model_calls


def _read(saved: SavedSnapshot) -> Mapping[str, Any]:
    """Return what was kept; nothing where that is damaged."""
    try:
        found: object = json.loads(saved.text)
    except (ValueError, TypeError, RecursionError):
        return {}
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _calls(kept: Mapping[str, Any], tail: Sequence[LogEntry]) -> int | None:
    """Return the count of model calls that was kept, and what the log tells of since; None where none was kept."""
    calls: object = kept.get("calls")
    return calls + get_usage(tail).model_calls if type(calls) is int and calls >= 0 else None


def _believed(machine: Machine[C, Any, Any], saved: SavedSnapshot, kept: Mapping[str, Any]) -> Head[C] | None:
    """Return the head that was kept; None for one that is not what it says."""
    try:
        snapshot = machine.load(kept["snapshot"])
        head = head_of(
            machine, snapshot, index=saved.index, execution_id=saved.execution_id, causes=dict(kept["causes"])
        )
    except (ValueError, TypeError, KeyError, RecursionError, InterlockError):
        return None
    return head if head.state_hash == saved.state_hash else None


def _migrated(
    machine: Machine[C, Any, Any], saved: SavedSnapshot, kept: Mapping[str, Any], *, at: float
) -> tuple[Head[C], tuple[LogEntry, ...]]:
    try:
        snapshot = machine.load(kept["snapshot"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise SnapshotError(f"machine {machine.id!r}: the snapshot that was kept is damaged: {error}") from error
    origin = {"machine_version": saved.machine_version, "index": saved.index}
    begun = begin_from(
        machine,
        snapshot,
        execution_id=saved.execution_id,
        at=at,
        index=saved.index + 1,
        metadata={"migrated_from": origin},
    )
    return begun.head, (begun.entry,)


def _failed(
    error: InterlockError,
    execution_id: str,
    before: Snapshot[C] | None,
    store: Store | None,
    thread_id: str,
    *,
    resumed: bool,
) -> Opened[C]:
    journal: Journal[C] = Journal(None, (), store=store, thread_id=thread_id, before=before)
    journal.failure = error
    return Opened(journal=journal, execution_id=execution_id, effects=None if resumed else ())
