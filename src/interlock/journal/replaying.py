"""From a log back to the state that it leads to, without a model, a clock or anything else from outside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from interlock.errors import (
    InputError,
    InterlockError,
    InvalidLogError,
    LogVersionError,
    NotJsonError,
    ReplayDivergedError,
    ReplayFailedError,
    SnapshotError,
    StepError,
)
from interlock.journal.entries import EntryStatus, LogEntry, entries_of
from interlock.journal.head import Head, apply, begin, begin_from
from interlock.statechart import Effect, Emit, Machine, Snapshot
from interlock.statechart.saving import thaw

__all__ = ["Replay", "Verify", "continued", "replay"]

C = TypeVar("C")

Verify: TypeAlias = Literal[True, False, "strict"]
"""Whether states are compared with the hashes in the log: where there are any, never, or ``"strict"``: everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay(Generic[C]):
    """Where a log leads to.

    ``emitted`` are the events that the machine emitted on the way, each with the index of its entry; only if they were
    asked for.
    """

    head: Head[C]
    emitted: tuple[tuple[int, Any], ...] = ()

    @property
    def snapshot(self) -> Snapshot[C]:
        """The state after the last entry."""
        return self.head.snapshot

    @property
    def execution_id(self) -> str:
        """The execution that the log belongs to."""
        return self.head.execution_id

    @property
    def status(self) -> EntryStatus:
        """How the run stands after the last entry."""
        return self.head.status


def replay(
    machine: Machine[C, Any, Any], entries: Iterable[LogEntry], *, verify: Verify = True, effects: bool = False
) -> Replay[C]:
    """Fold a log, and return where it leads to. A part from its beginning is a log as well: so one travels in time.

    Arguments:
        machine: the machine that wrote it.
        entries: the log, or its first so many entries.
        verify: whether the states on the way are compared with the hashes in the log.
        effects: whether the events that were emitted on the way are returned.

    Where a log was gone on with after a migration, its last part is replayed: it holds all that is needed.

    Raises :class:`InvalidLogError`, :class:`LogVersionError` (nothing was executed), :class:`ReplayDivergedError` and
    :class:`ReplayFailedError`; each names the entry.
    """
    if not isinstance(machine, Machine):  # pyright: ignore[reportUnnecessaryIsInstance]  # whatever was given
        raise InputError(
            f"replay(machine): {type(machine).__name__} is no machine; give the one that wrote the log",
            code="invalid-input",
        )
    if verify not in (True, False, "strict"):
        raise InputError(f"replay(verify={verify!r}): give True, False or 'strict'", code="invalid-input")
    log = checked_log(entries)
    start = max(entry.index for entry in log if entry.is_init)
    head, first = _begun(machine, log[start], hashing=verify is not False)
    emitted: list[tuple[int, Any]] = _emitted(0, first) if effects else []
    _verify(head, log[start], verify)
    for entry in log[start + 1 :]:
        head, made = _folded(head, entry, verify)
        if effects and made:
            emitted += _emitted(entry.index, made)
    return Replay(head=head, emitted=tuple(emitted))


def continued(head: Head[C], entries: Sequence[LogEntry], *, verify: Verify = True) -> Head[C]:
    """Fold the entries that follow a head, and return where they lead to. Raises as :func:`replay`."""
    for entry in checked_entries(entries, start=head.index + 1):
        head, _ = _folded(head, entry, verify)
    return head


def checked_log(entries: Iterable[LogEntry]) -> tuple[LogEntry, ...]:
    """Return a log that begins at its beginning; raises :class:`InvalidLogError` for what is none."""
    log = checked_entries(entries, start=0)
    if not log:
        raise InvalidLogError("an empty log leads nowhere; it begins with an @agent.init entry")
    if not log[0].is_init:
        raise InvalidLogError(f"a log begins with @agent.init, not with {log[0].type!r}", index=0)
    return log


def checked_entries(entries: Iterable[LogEntry], *, start: int) -> tuple[LogEntry, ...]:
    """Return entries that follow each other from ``start`` on; raises :class:`InvalidLogError`."""
    log = tuple(entries_of(entries))
    seen: set[str] = set()
    for number, entry in enumerate(log, start):
        if entry.index != number:
            raise InvalidLogError(f"has index {entry.index}; a log is contiguous", index=number)
        if entry.id in seen:
            raise InvalidLogError(f"the id {entry.id!r} stands twice", index=number)
        if number and entry.is_init and not (entry.event and "snapshot" in entry.event):
            raise InvalidLogError("a log has one beginning; later ones go on from a snapshot", index=number)
        seen.add(entry.id)
    return log


def _begun(machine: Machine[C, Any, Any], entry: LogEntry, *, hashing: bool) -> tuple[Head[C], tuple[Effect, ...]]:
    _check_machine(machine, entry)
    execution_id = entry.metadata.get("execution_id")
    if not isinstance(execution_id, str):
        raise InvalidLogError("its metadata hold no execution_id", index=entry.index)
    event: Mapping[str, Any] = entry.event or {}
    try:
        if "snapshot" in event:
            begun = begin_from(
                machine,
                machine.load(thaw(event["snapshot"])),
                execution_id=execution_id,
                at=entry.recorded_at,
                verify=hashing,
                index=entry.index,
            )
        else:
            begun = begin(machine, event.get("input"), execution_id=execution_id, at=entry.recorded_at, verify=hashing)
    except (StepError, NotJsonError) as error:
        raise _failed(error, entry, None) from error
    except (InputError, SnapshotError) as error:
        raise InvalidLogError(error.message, index=entry.index) from error
    return begun.head, begun.effects


def _folded(head: Head[C], entry: LogEntry, verify: Verify) -> tuple[Head[C], tuple[Effect, ...]]:
    if entry.machine_version != head.machine.version or entry.machine_id != head.machine.id:
        _check_machine(head.machine, entry)
    try:
        after, effects = apply(head, entry)
    except (StepError, NotJsonError) as error:  # a state that cannot be saved has no digest
        raise _failed(error, entry, head.snapshot) from error
    if verify is not False:
        _verify(after, entry, verify)
    return after, effects


def _verify(head: Head[Any], entry: LogEntry, verify: Verify) -> None:
    if verify is False or entry.state_hash == head.state_hash:
        return
    if entry.state_hash is None:
        if verify == "strict":
            raise ReplayDivergedError(
                f"{entry.type!r} was written without a state hash, so a strict replay cannot pass it",
                code="missing-verification",
                index=entry.index,
                entry_id=entry.id,
                expected=None,
                actual=head.state_hash or "",
            )
        return
    raise ReplayDivergedError(
        f"{entry.type!r} leads machine {head.machine.id!r} (version {head.machine.version}) to another state now, in "
        f"{', '.join(head.snapshot.states)}: {head.state_hash} instead of {entry.state_hash}. One of its functions has "
        "changed since, or depends on more than its arguments; give a changed machine another version=",
        index=entry.index,
        entry_id=entry.id,
        expected=entry.state_hash,
        actual=head.state_hash or "",
    )


def _check_machine(machine: Machine[Any, Any, Any], entry: LogEntry) -> None:
    if entry.machine_id != machine.id:
        raise LogVersionError(
            f"was written by machine {entry.machine_id!r}, this is {machine.id!r}; replay it with that machine",
            index=entry.index,
            expected=machine.id,
            actual=entry.machine_id,
        )
    if entry.machine_version != machine.version:
        raise LogVersionError(
            f"was written by version {entry.machine_version!r} of machine {machine.id!r}, this is version "
            f"{machine.version!r}; replay it with that one, or keep its version= if nothing that matters has changed",
            index=entry.index,
            expected=machine.version,
            actual=entry.machine_version,
        )


def _failed(error: InterlockError, entry: LogEntry, before: Snapshot[Any] | None) -> ReplayFailedError:
    return ReplayFailedError(
        f"{entry.type!r} cannot be folded: {error.message}", index=entry.index, entry_id=entry.id, snapshot=before
    )


def _emitted(index: int, effects: Iterable[Effect]) -> list[tuple[int, Any]]:
    return [(index, effect.event) for effect in effects if isinstance(effect, Emit)]
