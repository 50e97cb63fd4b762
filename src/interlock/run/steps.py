"""The step path: a machine moved on one step at a time by a host that owns the loop, the clock and the log.

    step = initial_agent_step(machine, input, at=now)
    while not step.done:
        step = await resolve_agent_requests(machine, step, executors)   # or, by hand:
        step = resolve_agent_step(machine, step, request, result, at=now)

Everything here is pure and synchronous: the same arguments give the same step, with the same log entries as
``run_agent`` writes. What calls models stands in ``step_calls``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar

from interlock.agent.decide import DecideSpec
from interlock.agent.events import Event
from interlock.agent.reading import checked_machine
from interlock.agent.reasons import short
from interlock.agent.text import TextSpec
from interlock.agent.tools import tool_failure
from interlock.agent.turns import answer_record
from interlock.agent.user_input import UserInputRequest, UserInputSpec
from interlock.errors import (
    BindError,
    ErrorInfo,
    InputError,
    InvalidMessagesError,
    SnapshotError,
    did_you_mean,
)
from interlock.journal import Advance, Head, LogEntry, advance, begin, begin_from, replay
from interlock.journal.entries import wrong_id
from interlock.journal.head import head_of
from interlock.run.border import AnyMachine, error_info, loaded_snapshot, read_event
from interlock.run.noted import cost_of, spent
from interlock.run.replies import pending_inputs, reply_input
from interlock.run.step_requests import AgentRequest, decision_of, request_from_json, same_call, text_of, wanted
from interlock.run.step_results import called, decided, written
from interlock.run.work import Proposal, Unasked
from interlock.statechart import UNSET, Effect, Input, Machine, Owed, OwedInvocation, OwedTimer, Snapshot, owed

__all__ = [
    "AgentRequest",
    "AgentStep",
    "checked_head",
    "get_agent_requests",
    "initial_agent_step",
    "reject_agent_step",
    "resolve_agent_step",
    "transition_agent_step",
]

C = TypeVar("C")

Named: TypeAlias = AgentRequest | UserInputRequest | OwedInvocation | str
"""What a step is asked to go on with: a request, owed work, or the id of either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStep(Generic[C]):
    """A machine after a step, and what its host has to do next.

    ``requests`` are the model calls (and their tools) that are owed now, in order; they come again with every step,
    until they are resolved. ``effects`` is what this very step asks for: functions to start and stop, timers, events to
    publish; what is still owed from earlier steps, ``owed`` lists. ``done``: the machine has ended, see
    ``snapshot.status``. ``entries`` are what this step adds to the log: keep them, in a store for example, before you
    act on the step.
    """

    snapshot: Snapshot[C]
    requests: tuple[AgentRequest, ...]
    effects: tuple[Effect, ...]
    entries: tuple[LogEntry, ...]
    head: Head[C]
    """Where the log ends; what the next step goes on from."""

    @property
    def done(self) -> bool:
        """Whether the machine has ended, well or not."""
        return self.snapshot.status != "active"

    @property
    def pending_inputs(self) -> tuple[UserInputRequest, ...]:
        """What people are asked; a reply is the result of such a request."""
        return pending_inputs(self.snapshot)

    @property
    def owed(self) -> Owed:
        """All calls and timers that are owed, also those that earlier steps have asked for."""
        return owed(self.snapshot)

    def to_json(self) -> dict[str, object]:
        """Return what the next step needs as JSON data: :meth:`from_json` goes on from it in any process."""
        return {
            "snapshot": self.snapshot.dump(),
            "index": self.head.index,
            "execution_id": self.head.execution_id,
            "causes": dict(self.head.causes),
            "began": {identity: began.dump() for identity, began in self.head.elsewhere().items()},
            "requests": [request.to_json() for request in self.requests],
        }

    @classmethod
    def from_json(cls, machine: Machine[C, Any, Any], data: Mapping[str, object] | str | bytes) -> AgentStep[C]:
        """Return the step that :meth:`to_json` wrote, without its effects and entries: those were the host's already.

        Raises :class:`SnapshotError` for what no step of this machine has written.
        """
        checked_machine(machine)
        try:
            given: Any = json.loads(data) if isinstance(data, str | bytes | bytearray) else data
            snapshot = machine.load(given["snapshot"])
            index, execution_id, causes = given["index"], given["execution_id"], dict(given["causes"])
            _check_place(index, execution_id, causes)
            before = tuple(request_from_json(item) for item in given["requests"])
            head = head_of(
                machine,
                snapshot,
                index=index,
                execution_id=execution_id,
                causes=causes,
                began=dict(given["began"]),
            )
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            RecursionError,
            InputError,
            InvalidMessagesError,
        ) as error:
            raise SnapshotError(
                f"machine {machine.id!r}: this is no saved step ({type(error).__name__}: {error}); give what "
                "step.to_json() returned"
            ) from error
        return _settled(head, before, None)


# -- steps -----------------------------------------------------------------------------------------------------------


def initial_agent_step(
    machine: Machine[C, Any, Any],
    input: object = None,
    *,
    snapshot: Snapshot[C] | Mapping[str, object] | str | bytes | None = None,
    entries: Iterable[LogEntry] | None = None,
    at: float | None = None,
    execution_id: str | None = None,
) -> AgentStep[C]:
    """Start a machine, or stand where a snapshot stands or a log ends.

    Arguments:
        machine: the machine, with all its sources.
        input: what it starts from.
        snapshot: where to stand instead: a snapshot, or what its ``dump()`` or ``to_json()`` gave. A new log begins.
        entries: a log to go on with instead; it is replayed and verified. The step's own entries are what follows from
            its end without anybody being asked: none, unless the log was cut off there.
        at: the time, in Unix seconds; needed if the machine schedules timers.
        execution_id: names the execution, for the calls' keys. If not given it is made from the other arguments, so
            give one where the same machine is started twice with the same input at the same time.

    Raises :class:`InputError`, :class:`StepError`, :class:`SnapshotError`, :class:`JournalError`.
    """
    checked_machine(machine)
    given = [
        name for name, value in (("input", input), ("snapshot", snapshot), ("entries", entries)) if value is not None
    ]
    if len(given) > 1:
        raise BindError(f"a step starts from one of input, snapshot and entries, not from {' and '.join(given)}")
    if entries is not None:
        return _settled(replay(machine, entries).head, (), at)
    if snapshot is not None:
        loaded = loaded_snapshot(machine, snapshot)
        name = execution_id or _named(machine, loaded.dump(), at)
        return _grown([begin_from(machine, loaded, execution_id=name, at=at)], (), at)
    name = execution_id or _named(machine, machine.input_json(input), at)
    return _grown([begin(machine, input, execution_id=name, at=at)], (), at)


def transition_agent_step(
    machine: Machine[C, Any, Any],
    step: AgentStep[C] | Snapshot[C],
    event: Event | Mapping[str, object] | str | Input | OwedTimer,
    *,
    at: float | None = None,
    event_id: str | None = None,
) -> AgentStep[C]:
    """Take a step with something that has happened outside.

    Arguments:
        machine: the machine.
        step: where it stands; with a bare snapshot a new log begins (``initial_agent_step(snapshot=...)`` gives the
            step that holds its first entry).
        event: an event from the host, a timer of ``step.owed.timers`` that has run out, or any :class:`Input`.
        at: the time, in Unix seconds; needed if the machine schedules timers.
        event_id: the id of the entry, where an event must count once: stores refuse an id that they hold already.

    An event that nothing waits for changes nothing, and is in the log all the same. Raises :class:`InputError` for what
    is no event of the machine that it is for, :class:`StepError` where one of its functions raises.
    """
    before = initial_agent_step(machine, snapshot=step, at=at) if isinstance(step, Snapshot) else step
    head = checked_head(machine, before)
    if event_id is not None:
        wrong = wrong_id(event_id)
        if wrong is not None:
            raise InputError(f"machine {machine.id!r}: event_id={short(event_id)}: {wrong}", code="invalid-input")
    if isinstance(event, OwedTimer):
        given = Input.fired(event.key, address=event.address)
    elif isinstance(event, Input):
        given = _read(head, event)
    else:
        given = Input(event=read_event(machine, event), by="host")
    return _grown([advance(head, given, at=at, id=event_id)], before.requests, at)


def resolve_agent_step(
    machine: Machine[C, Any, Any],
    step: AgentStep[C],
    request: Named,
    result: object = None,
    *,
    at: float | None = None,
) -> AgentStep[C]:
    """Take the step that the result of a request, or of a function, leads to.

    Arguments:
        machine: the machine.
        step: where it stands.
        request: one of ``step.requests`` or ``step.owed.invocations``, or its id, also from another process. A request
            stands for this very call, an id for whatever is asked under it now.
        result: for a decision a :class:`Choice` (or just the event); for a text a :class:`TextResult` (or just the
            output); for a tool what it returned; for a function what it returned.
        at: the time, in Unix seconds; needed if the machine schedules timers.

    Results are judged as in a run: a choice that is refused is kept as an attempt and the request comes again, until
    its retries are used up. What is owed no more (its state was left, or this call has been answered) changes nothing.
    Raises :class:`InputError` for a request that there never was.
    """
    head = checked_head(machine, step)
    found = _owed(machine, step, request)
    if found is None:
        return _still(step)
    if isinstance(found.logic, DecideSpec):
        proposal = decided(head, found, decision_of(head, step.requests, found), result)
    elif isinstance(found.logic, TextSpec):
        proposal = written(found, text_of(head, step.requests, found), result)
    elif isinstance(found.logic, UserInputSpec):
        proposal = Proposal(input=reply_input(found, result))
    else:
        proposal = called(found, result)
    return _grown(_advanced(head, proposal, at), step.requests, at)


def reject_agent_step(
    machine: Machine[C, Any, Any],
    step: AgentStep[C],
    request: Named,
    error: BaseException | ErrorInfo,
    *,
    at: float | None = None,
) -> AgentStep[C]:
    """Take the step that the failure of a request, or of a function, leads to.

    Arguments are those of :func:`resolve_agent_step`; ``error`` goes to the invocation's ``on_error``. The failure of a
    tool is its answer: the model is told.
    """
    head = checked_head(machine, step)
    if not isinstance(error, BaseException | ErrorInfo):  # pyright: ignore[reportUnnecessaryIsInstance]  # any host's
        raise InputError(
            f"machine {machine.id!r}: {short(error)} is no error; give an exception, or ErrorInfo(message=...)",
            code="invalid-input",
        )
    found = _owed(machine, step, request)
    if found is None:
        return _still(step)
    task = text_of(head, step.requests, found) if isinstance(found.logic, TextSpec) else None
    if task is not None and task.ledger.pending:
        failure = RuntimeError(error.message) if isinstance(error, ErrorInfo) else error
        record = answer_record(task.ledger.pending[0], tool_failure(failure)).to_json()
        given = Input(address=found.address, invocation=found.key, record=record)
    else:
        given = Input(address=found.address, invocation=found.key, error=error_info(error))
        cost = None if isinstance(error, ErrorInfo) else cost_of(error)
        if task is not None:
            given = given.costing(spent(task.request, cost))
        elif isinstance(found.logic, DecideSpec):
            given = given.costing(spent(decision_of(head, step.requests, found), cost))
    return _grown([advance(head, given, at=at)], step.requests, at)


def get_agent_requests(
    machine: Machine[C, Any, Any],
    snapshot: Snapshot[C],
    *,
    before: Sequence[AgentRequest] = (),
    execution_id: str = "",
) -> tuple[AgentRequest, ...]:
    """Return the model calls, and tools of models, that a snapshot owes, in order.

    A request is worded from the first snapshot that owes it, and keeps its words: give the requests of the step
    ``before``, where there was one, and the ``execution_id`` that the keys of its calls begin with. A decision with
    nothing legal to pick is no request: the step that leads to it takes the step of its failure as well.
    """
    loaded = loaded_snapshot(machine, snapshot)
    head = head_of(machine, loaded, index=0, execution_id=execution_id, causes={}, verify=False)
    return tuple(item for item in wanted(head, before) if not isinstance(item, tuple))


# -- parts -----------------------------------------------------------------------------------------------------------


def _advanced(head: Head[Any], proposal: Proposal, at: float | None) -> list[Advance]:
    """Take the steps of a proposal, all of them or none."""
    grown: list[Advance] = []
    for given in (proposal.input, *proposal.then):
        metadata = None if grown else proposal.metadata
        grown.append(advance(grown[-1].head if grown else head, given, at=at, metadata=metadata))
    return grown


def _grown(grown: Sequence[Advance], before: Sequence[AgentRequest], at: float | None) -> AgentStep[Any]:
    """Return the step that a log has grown by, with all that follows from it without anybody being asked."""
    head = grown[-1].head
    if head.failure is not None:
        raise head.failure
    effects = tuple(effect for step in grown for effect in step.effects)
    return _settled(head, before, at, effects=effects, entries=tuple(step.entry for step in grown))


def _settled(
    head: Head[Any],
    before: Sequence[AgentRequest],
    at: float | None,
    *,
    effects: tuple[Effect, ...] = (),
    entries: tuple[LogEntry, ...] = (),
) -> AgentStep[Any]:
    unasked = Unasked()
    while True:
        requests: list[AgentRequest] = []
        foregone: tuple[Input, ...] = ()
        for item in wanted(head, before):
            if isinstance(item, tuple):
                foregone = item
                break  # who comes after it is asked once that has been taken, in the words of when he began
            requests.append(item)
        if not foregone:
            asked = tuple(requests)
            return AgentStep(snapshot=head.snapshot, requests=asked, effects=effects, entries=entries, head=head)
        if foregone[-1].error is not UNSET or foregone[-1].output is not UNSET:
            unasked.ended("/".join((*foregone[-1].address, str(foregone[-1].invocation))), head.snapshot)
        taken = _advanced(head, Proposal(input=foregone[0], then=foregone[1:]), at)
        head = taken[-1].head
        if head.failure is not None:
            raise head.failure
        effects += tuple(effect for step in taken for effect in step.effects)
        entries += tuple(step.entry for step in taken)


def _check_place(index: object, execution_id: object, causes: Mapping[object, object]) -> None:
    if type(index) is not int or index < 0:
        raise ValueError(f"index is {short(index)}")
    if not all(isinstance(text, str) for text in (execution_id, *causes.values())):
        raise ValueError("an id is no text")


def _still(step: AgentStep[C]) -> AgentStep[C]:
    return replace(step, effects=(), entries=())


def checked_head(machine: Machine[C, Any, Any], step: AgentStep[C]) -> Head[C]:
    """Return where a step's log ends; raises :class:`SnapshotError` for the step of another machine."""
    checked_machine(machine)
    if not isinstance(step, AgentStep):  # pyright: ignore[reportUnnecessaryIsInstance]  # whatever a host has given
        raise InputError(
            f"machine {machine.id!r}: {short(step)} is no step; give what initial_agent_step or the last step returned",
            code="invalid-input",
        )
    if machine.table is not step.head.machine.table:
        raise SnapshotError(
            f"the step belongs to machine {step.head.machine.id!r} (version {step.head.machine.version}), not to this "
            f"{machine.id!r} (version {machine.version})",
            code="machine-mismatch",
        )
    return step.head


def _read(head: Head[Any], given: Input) -> Input:
    """Return an input whose event is read by the machine that it is for, as it will be when the log is replayed."""
    reader = None if given.event is None else head.machine_at(given.address)
    if reader is None:
        return given
    return Input(
        address=given.address,
        event=read_event(reader, given.event),
        by=given.by,
        invocation=given.invocation,
        record=given.record,
        output=given.output,
        error=given.error,
        usage=given.usage,
    )


def _owed(
    machine: Machine[Any, Any, Any],
    step: AgentStep[Any],
    request: Named,
) -> OwedInvocation | None:
    """Return what a request stands for; None where it is owed no more. Raises where it never was."""
    if isinstance(request, str):
        name = request
    elif isinstance(request, OwedInvocation):
        name = request.identity
    elif isinstance(request, AgentRequest | UserInputRequest):  # pyright: ignore[reportUnnecessaryIsInstance]  # whatever was given
        name = request.id
    else:
        raise InputError(f"{short(request)} is no request; give one, or its id", code="invalid-input")
    invocations = step.owed.invocations
    exact = [item for item in invocations if item.identity == name]
    if exact:
        now = next((item for item in step.requests if item.id == name), None)
        return None if isinstance(request, AgentRequest) and not same_call(request, now) else exact[0]
    if "#" in name:
        return None  # one that was there once
    alike = [item for item in invocations if name in (item.id, getattr(item.logic, "name", None))]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise InputError(
            f"machine {machine.id!r}: several requests have the id {name!r}; name one exactly: "
            + ", ".join(repr(item.identity) for item in alike),
            code="invalid-input",
        )
    hint = did_you_mean(name, [item.id for item in invocations])
    raise InputError(f"machine {machine.id!r} owes no {name!r} in this step. {hint}", code="invalid-input")


def _named(machine: AnyMachine, start: object, at: float | None) -> str:
    given = json.dumps([machine.id, machine.version, start, at], sort_keys=True, default=repr)
    return hashlib.sha256(given.encode()).hexdigest()[:32]
