"""Where a log ends, and how it grows: one input, one step, one entry. All of it pure.

Everybody who moves a machine on goes through here: the driver, hosts that take the steps themselves, and replay. So all
of them write and read the same entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar, cast

from interlock.errors import InputError, InvalidLogError, NotJsonError, StepError
from interlock.journal.entries import (
    INIT,
    RESUME,
    EntryStatus,
    JsonObject,
    LogEntry,
    as_kept,
    entry_id,
    input_fields,
    is_name,
    is_time,
)
from interlock.journal.hashing import StateHasher
from interlock.journal.returning import check_returns
from interlock.statechart import (
    Effect,
    FrozenDict,
    Input,
    Machine,
    Owed,
    OwedInvocation,
    Snapshot,
    initial_transition,
    owed,
    transition,
)
from interlock.statechart.frozen import EMPTY, freeze
from interlock.statechart.queries import machine_at

__all__ = ["Advance", "Head", "advance", "apply", "begin", "begin_from", "head_of", "resume"]

C = TypeVar("C")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head(Generic[C]):
    """Where a log ends: the state after its last entry, and what the next entry is made with."""

    machine: Machine[C, Any, Any]
    snapshot: Snapshot[C]
    index: int
    """The last entry's index."""
    execution_id: str
    status: EntryStatus
    causes: Mapping[str, str]
    """By the identity of owed work and timers: the id of the entry that started them."""
    began: Mapping[str, Snapshot[Any]] = field(compare=False, repr=False)
    """By the identity of owed work: where the machine that owes it stood when it began. What models are told is worded
    from there, so that whoever takes the work up says what was said before."""
    state_hash: str | None
    failure: StepError | None = None
    """Why the last entry could not be folded, if it could not; the log cannot grow then."""
    hasher: StateHasher | None = field(compare=False, repr=False)
    """Digests the states; None where nobody wants to know."""

    @property
    def length(self) -> int:
        """How many entries the log has."""
        return self.index + 1

    def machine_at(self, address: tuple[str, ...]) -> Machine[Any, Any, Any] | None:
        """Return the machine that an address leads to; None for one that is not there any more."""
        return machine_at(self.machine, self.snapshot, address)

    def owner(self, item: OwedInvocation) -> Machine[Any, Any, Any]:
        """Return the machine that owes this work, which is owed now."""
        return cast("Machine[Any, Any, Any]", self.machine_at(item.address))

    def elsewhere(self) -> dict[str, Snapshot[Any]]:
        """Return what of ``began`` the snapshot does not say itself: where the context has changed since."""
        return {
            item.identity: self.began[item.identity]
            for item in owed(self.snapshot).invocations
            if item.snapshot.context is not self.began[item.identity].context
            and not getattr(item.logic, "waits", False)
        }


class Advance(NamedTuple):
    """A log that has grown by one entry: its head, the entry, and the effects of the step."""

    head: Head[Any]
    entry: LogEntry
    effects: tuple[Effect, ...]


def begin(
    machine: Machine[C, Any, Any],
    input: object = None,
    *,
    execution_id: str,
    at: float | None = None,
    verify: bool = True,
    metadata: Mapping[str, object] | None = None,
) -> Advance:
    """Start a machine, and its log.

    Arguments:
        machine: the machine.
        input: what it starts from; checked, defaults applied, and taken through JSON.
        execution_id: names this execution for good.
        at: the time, in Unix seconds.
        verify: whether entries hold digests of the state.
        metadata: more to be kept with the first entry.

    Raises :class:`InputError`, :class:`StepError`, and :class:`NotJsonError` for what cannot be kept.
    """
    _check_time(machine, at)
    given = machine.input_json(input)
    snapshot, effects = initial_transition(machine, machine.input_from_json(given), at=at)
    event: dict[str, object] = {"type": INIT} if given is None else {"type": INIT, "input": given}
    return _first(
        machine,
        snapshot,
        effects,
        event,
        execution_id=execution_id,
        at=at,
        verify=verify,
        metadata=metadata,
        index=0,
    )


def begin_from(
    machine: Machine[C, Any, Any],
    snapshot: Snapshot[C],
    *,
    execution_id: str,
    at: float | None = None,
    verify: bool = True,
    metadata: Mapping[str, object] | None = None,
    index: int = 0,
) -> Advance:
    """Start a log from a snapshot; ``index`` is greater than 0 where it goes on after a migration."""
    _check_time(machine, at)
    event: dict[str, object] = {"type": INIT, "snapshot": snapshot.dump()}
    return _first(
        machine,
        snapshot,
        (),
        event,
        execution_id=execution_id,
        at=at,
        verify=verify,
        metadata=metadata,
        index=index,
    )


def _first(
    machine: Machine[C, Any, Any],
    snapshot: Snapshot[C],
    effects: tuple[Effect, ...],
    event: Mapping[str, object],
    *,
    execution_id: str,
    at: float | None,
    verify: bool,
    metadata: Mapping[str, object] | None,
    index: int,
) -> Advance:
    if not is_name(execution_id):
        raise InputError(
            f"machine {machine.id!r}: execution_id={execution_id!r}; give a text that is not empty, and without lone "
            "surrogates",
            code="invalid-input",
        )
    name = entry_id(index)
    head = head_of(machine, snapshot, index=index, execution_id=execution_id, causes={}, verify=verify)
    entry = LogEntry(
        index=index,
        id=name,
        machine_id=machine.id,
        machine_version=machine.version,
        status=head.status,
        recorded_at=at,
        event=freeze(dict(event), "event"),
        metadata=freeze({"execution_id": execution_id, **(metadata or {})}, "metadata"),
        state_hash=head.state_hash,
    )
    return Advance(head, entry, effects)


def _check_time(machine: Machine[Any, Any, Any], at: object) -> None:
    """Refuse a time that no entry could hold."""
    if not is_time(at):
        shown = "a number of hundreds of digits" if type(at) is int else repr(at)
        raise InputError(
            f"machine {machine.id!r}: at={shown}; give the time in Unix seconds, a number, or leave it out",
            code="invalid-input",
        )


def head_of(
    machine: Machine[C, Any, Any],
    snapshot: Snapshot[C],
    *,
    index: int,
    execution_id: str,
    causes: Mapping[str, str],
    began: Mapping[str, object] | None = None,
    verify: bool = True,
) -> Head[C]:
    """Return the head of a log that has led to a snapshot with its entry ``index``.

    ``began``, by identity: the saved form of where work began, if that is not in the snapshot itself.

    Raises :class:`NotJsonError` for a state that cannot be saved, :class:`SnapshotError` for a ``began`` that is none.
    """
    hasher = StateHasher() if verify else None
    found = owed(snapshot)
    saved = began or {}
    loaded = {
        item.identity: cast("Machine[Any, Any, Any]", machine_at(machine, snapshot, item.address)).load(
            cast("Mapping[str, object]", saved[item.identity])
        )
        for item in found.invocations
        if item.identity in saved
    }
    return Head(
        machine=machine,
        snapshot=snapshot,
        index=index,
        execution_id=execution_id,
        status=_status(snapshot, found),
        causes=_causes(found, causes, entry_id(index)),
        began=_began(found, loaded),
        state_hash=None if hasher is None else _digest(hasher, snapshot, machine),
        hasher=hasher,
    )


def resume(head: Head[C], *, at: float | None = None) -> Advance:
    """Add the entry that says that a worker takes the run up. Nothing happens by it.

    Raises :class:`StepError` where the log cannot grow, :class:`InputError` for a time that is none.
    """
    _check(head)
    _check_time(head.machine, at)
    index = head.index + 1
    grown = _moved(head, head.snapshot, index=index, name=entry_id(index), digest=head.state_hash)
    entry = LogEntry(
        index=index,
        id=entry_id(index),
        machine_id=head.machine.id,
        machine_version=head.machine.version,
        status=head.status,
        recorded_at=at,
        event=_RESUME,
        state_hash=head.state_hash,
    )
    return Advance(grown, entry, ())


_RESUME: JsonObject = FrozenDict({"type": RESUME})


def advance(
    head: Head[C],
    given: Input,
    *,
    at: float | None = None,
    id: str | None = None,
    metadata: Mapping[str, object] | None = None,
) -> Advance:
    """Take one step and write it down.

    A fact (work that reports, a timer that has fired) is written even if one of the machine's functions raises over
    it: it has happened, and may have been paid for. Then the snapshot stays as it was, ``head.failure`` says why, and a
    replay by the repaired machine goes on from there. An event from outside that makes a function raise is not written.

    Arguments:
        head: where the log ends.
        given: what happens.
        at: when it was accepted, in Unix seconds.
        id: the entry's id, for an event that must count once; made of the index, if not given.
        metadata: what else is known about it, as JSON.

    Raises :class:`StepError` for an event that cannot be taken, :class:`NotJsonError` (with the path) for what cannot
    be kept; the head is as it was.
    """
    _check(head)
    _check_time(head.machine, at)
    index = head.index + 1
    name = entry_id(index) if id is None else id
    fields = _input_fields(given, head.machine, index)
    if given.event is not None:
        check_returns(head.machine_at(given.address), given.event, fields["event"])
    given = as_kept(given, fields)
    kept = EMPTY if not metadata else freeze(dict(metadata), "metadata")
    failure: StepError | None = None
    effects: tuple[Effect, ...] = ()
    try:
        snapshot, effects = transition(head.machine, head.snapshot, given, at=at)
    except StepError as error:
        if given.invocation is None and given.timer is None:
            raise
        snapshot, failure = head.snapshot, error
    cause = _cause(head, given)
    digest = None
    if failure is None and head.hasher is not None:
        digest = head.state_hash if snapshot is head.snapshot else _digest(head.hasher, snapshot, head.machine)
    grown = _moved(head, snapshot, index=index, name=name, digest=digest, failure=failure)
    entry = LogEntry(
        index=index,
        id=name,
        machine_id=head.machine.id,
        machine_version=head.machine.version,
        status=grown.status,
        recorded_at=at,
        causation_id=cause,
        metadata=kept,
        state_hash=digest,
        **fields,
    )
    return Advance(grown, entry, effects)


def apply(head: Head[C], entry: LogEntry) -> tuple[Head[C], tuple[Effect, ...]]:
    """Fold an entry that was written before, and return where that leads, with the effects of the step.

    Raises :class:`InvalidLogError` for an event that the machine cannot read, :class:`StepError` where one of its
    functions raises.
    """
    _check(head)
    event = entry.event
    effects: tuple[Effect, ...] = ()
    if entry.is_resume:
        snapshot = head.snapshot
    else:
        machine = head.machine
        if event is not None:
            reader = head.machine_at(entry.to) if entry.to else machine
            if reader is not None:
                try:
                    event = reader.event_from_json(event)
                except Exception as error:
                    raise InvalidLogError(
                        f"the event {entry.type!r} cannot be read by machine {reader.id!r} (version {reader.version}): "
                        f"{error}",
                        index=entry.index,
                    ) from error
        # A bare event for the root is the common case, and the engine has a shorter way for it.
        given = event if event is not None and not entry.to and entry.invocation is None else entry.input(event)
        try:
            snapshot, effects = transition(machine, head.snapshot, given, at=entry.recorded_at)
        except InputError as error:
            raise InvalidLogError(error.message, index=entry.index) from error
    hasher = head.hasher
    digest = head.state_hash
    if hasher is not None and snapshot is not head.snapshot:
        digest = _digest(hasher, snapshot, head.machine)
    return _moved(head, snapshot, index=entry.index, name=entry.id, digest=digest), effects


def _moved(
    head: Head[C],
    snapshot: Snapshot[C],
    *,
    index: int,
    name: str,
    digest: str | None,
    failure: StepError | None = None,
) -> Head[C]:
    status, causes, began = head.status, head.causes, head.began
    if snapshot.rest is not head.snapshot.rest:
        found = owed(snapshot)
        status, causes, began = _status(snapshot, found), _causes(found, causes, name), _began(found, began)
    return Head(
        machine=head.machine,
        snapshot=snapshot,
        index=index,
        execution_id=head.execution_id,
        status="error" if failure is not None else status,
        causes=causes,
        began=began,
        state_hash=digest,
        failure=failure,
        hasher=head.hasher,
    )


def _check(head: Head[Any]) -> None:
    if head.failure is not None:
        raise head.failure


def _status(snapshot: Snapshot[Any], found: Owed) -> EntryStatus:
    if snapshot.status == "active":
        # What waits for a person is nobody's work.
        working = any(not getattr(item.logic, "waits", False) for item in found.invocations)
        return "working" if working else "waiting"
    return "done" if snapshot.status == "done" else "error"


def _causes(found: Owed, before: Mapping[str, str], name: str) -> Mapping[str, str]:
    identities = [item.identity for item in found.invocations] + [item.identity for item in found.timers]
    return {identity: before.get(identity, name) for identity in identities}


def _began(found: Owed, before: Mapping[str, Snapshot[Any]]) -> Mapping[str, Snapshot[Any]]:
    return {item.identity: before.get(item.identity, item.snapshot) for item in found.invocations}


def _cause(head: Head[Any], given: Input) -> str | None:
    key = given.invocation or given.timer
    if key is None:
        return None
    name = "/".join((*given.address, key))
    if "#" in key:
        return head.causes.get(name)
    return next((cause for identity, cause in head.causes.items() if identity.rpartition("#")[0] == name), None)


def _input_fields(given: Input, machine: Machine[Any, Any, Any], index: int) -> dict[str, Any]:
    try:
        return input_fields(given)
    except NotJsonError as error:
        raise NotJsonError(
            f"{error.reason} (machine {machine.id!r}, entry {index})", path=f"entry.{error.path}"
        ) from error


def _digest(hasher: StateHasher, snapshot: Snapshot[Any], machine: Machine[Any, Any, Any]) -> str:
    try:
        return hasher.digest(snapshot)
    except NotJsonError as error:
        raise NotJsonError(
            f"{error.reason}; so the state of machine {machine.id!r} could not be saved", path=error.path
        ) from error
