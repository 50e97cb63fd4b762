"""The log of one run while it grows: each step an entry, made durable before anybody acts on it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import anyio

from interlock.errors import InterlockError, JournalError, NotJsonError, StepError, StoreError
from interlock.journal import Head, LogEntry, SavedSnapshot, Store, advance
from interlock.run.work import Proposal
from interlock.statechart import Effect, Input, Machine, OwedInvocation, Snapshot

__all__ = ["Journal", "Taken", "saved_head"]

C = TypeVar("C")

_log = logging.getLogger("interlock.run")

_ENTRY_SIZE = 400
"""Bytes of an ordinary entry."""


class Taken(NamedTuple):
    """One step that was taken: what was told, the states before and after it, its entry, and what it asks for."""

    input: Input
    before: Snapshot[Any]
    after: Snapshot[Any]
    entry: LogEntry
    effects: tuple[Effect, ...]


class Journal(Generic[C]):
    """Where a run's log ends, and what of it is not durable yet.

    Arguments:
        head: where the log ended when the run took it up; None where the machine could not even start.
        fresh: entries that the run has begun with, not durable yet.
        store: where entries are kept; None: nowhere but in the result.
        thread_id: under which name.
        before: where the machine stood before the step that it could not take, if there is no head.
        calls: how many model calls earlier runs of the thread have made; None where that would have to be counted.
    """

    def __init__(
        self,
        head: Head[C] | None,
        fresh: tuple[LogEntry, ...],
        *,
        store: Store | None,
        thread_id: str,
        before: Snapshot[C] | None = None,
        calls: int | None = 0,
    ) -> None:
        self.head = head
        self.calls = calls
        self.made: Callable[[], int] = _none
        """How many this run has made by now."""
        self._before = before
        self.entries: list[LogEntry] = []
        """What this run has added, as far as it is durable."""
        self.ids: set[str] = {entry.id for entry in fresh}
        """The ids of what this run has added, or is about to."""
        self._unwritten: list[LogEntry] = list(fresh)
        self._durable = None if fresh and fresh[0].is_init else head
        self._store = store
        self._thread_id = thread_id
        self._saved_at = -1
        self._saved_size = 0
        self.failure: InterlockError | None = None
        """Why a step could not be taken, or an entry not be written: nothing goes on from here."""

    @property
    def snapshot(self) -> Snapshot[C] | None:
        """Where the machine stands; after a failed write, where it durably stood before."""
        head = self.head
        if isinstance(self.failure, JournalError):
            head = self._durable
        return self._before if head is None else head.snapshot

    @property
    def index(self) -> int:
        """The index of the last entry."""
        return -1 if self.head is None else self.head.index

    def owner(self, item: OwedInvocation) -> Machine[Any, Any, Any]:
        """Return the machine that owes this work."""
        assert self.head is not None  # noqa: S101  # as above
        return self.head.owner(item)

    def began(self, identity: str) -> Snapshot[Any]:
        """Where the machine that owes this work stood when it began."""
        assert self.head is not None  # noqa: S101  # a machine that could not start owes nothing
        return self.head.began[identity]

    def add(self, proposal: Proposal, *, at: float) -> list[Taken]:
        """Take the steps of a proposal and write their entries down, all of them or none.

        What a step raises becomes the ``failure``.
        """
        assert self.head is not None  # noqa: S101  # a machine that could not start takes no steps
        head, taken = self.head, list[Taken]()
        try:
            for given in (proposal.input, *proposal.then):
                first = not taken
                grown = advance(
                    head,
                    given,
                    at=at,
                    id=proposal.entry_id if first else None,
                    metadata=proposal.metadata if first else None,
                )
                if grown.head.failure is not None and (taken or proposal.then):
                    raise grown.head.failure
                taken.append(Taken(given, head.snapshot, grown.head.snapshot, grown.entry, grown.effects))
                head = grown.head
        except (StepError, NotJsonError) as error:
            self.failure = error
            return []
        self.head = head
        self.failure = head.failure
        self._unwritten += [item.entry for item in taken]
        self.ids.update(item.entry.id for item in taken)
        return taken

    async def flush(self) -> bool:
        """Make durable what was added, and return whether it is. A cancelled caller does not cut the write off."""
        if self._unwritten:
            if self._store is None:
                self._written()
            else:
                # A task of its own, and shielded: neither a cancelled scope nor a cancelled host task ends it early.
                async with anyio.create_task_group() as group:
                    group.start_soon(self._write, self._store)
                if self._unwritten and self.failure is None:
                    # Cancelled, but not by us: whatever the store has done, it has not said that it has written.
                    self.failure = self._failed("was cancelled from inside")
        return not isinstance(self.failure, JournalError)

    async def _write(self, store: Store) -> None:
        with anyio.CancelScope(shield=True):
            batch = tuple(self._unwritten)
            try:
                await store.append(self._thread_id, batch[0].index, batch)
            except JournalError as error:
                self.failure = error
            except Exception as error:  # noqa: BLE001  # a store of somebody else's
                self.failure = self._failed(f"raised {type(error).__name__}: {error}")
                self.failure.__cause__ = error
            else:
                self._written()

    def _failed(self, how: str) -> StoreError:
        return StoreError(f"thread {self._thread_id!r}: the store {how}; the run cannot go on without its log")

    @property
    def settled(self) -> bool:
        """Whether all that was added is durable, or will never be."""
        return not self._unwritten or self.failure is not None

    def _written(self) -> None:
        self.entries += self._unwritten
        self._unwritten.clear()
        self._durable = self.head

    async def keep(self, *, at_end: bool) -> None:
        """Keep a snapshot beside the log, so that going on from here need not replay it. It is no part of the truth.

        Where a session is at rest, and not at its end, only now and then: as soon as as much was added to the log as
        the snapshot is large, so that what this costs grows with the log and not with its square.
        """
        head, store = self._durable, self._store
        if head is None or store is None or head.failure is not None or head.state_hash is None:
            return
        if isinstance(self.failure, JournalError) or head.elsewhere():
            return  # a store that cannot write is not asked again; and how open requests were worded, the log says
        added = head.index - self._saved_at
        if not added or (not at_end and added * _ENTRY_SIZE < self._saved_size):
            return
        try:
            saved = saved_head(head, head.state_hash, calls=None if self.calls is None else self.calls + self.made())
            await store.save_snapshot(self._thread_id, saved)
            self._saved_at, self._saved_size = head.index, len(saved.text)
        except Exception:  # noqa: BLE001  # the log is whole without it
            _log.warning("thread %r: its snapshot could not be kept; the log is whole", self._thread_id, exc_info=True)

    async def known(self, entry_id: str) -> bool:
        """Whether an entry with this id is in the log already, or on its way; else it is from now on.

        Where that cannot be found out nothing is changed, and who sends the event again is not taken for a second one.
        """
        if entry_id in self.ids:
            return True
        if self._store is not None and await self._store.index_of(self._thread_id, entry_id) is not None:
            return True
        known = entry_id in self.ids  # somebody else may have sent it while we looked
        self.ids.add(entry_id)
        return known


def _none() -> int:
    return 0


def saved_head(head: Head[Any], state_hash: str, *, calls: int | None) -> SavedSnapshot:
    """Return a head, and the thread's count of model calls, in the form in which they are kept beside their log."""
    text = json.dumps(
        {"snapshot": head.snapshot.dump(), "causes": dict(head.causes), "calls": calls},
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
    )
    return SavedSnapshot(
        index=head.index,
        execution_id=head.execution_id,
        state_hash=state_hash,
        machine_id=head.machine.id,
        machine_version=head.machine.version,
        text=text,
    )
