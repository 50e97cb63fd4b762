"""What is asked of a model that picks events, and what its choice comes to where the machine stands now.

Pure, so that the driver and hosts that take the steps themselves judge alike. What was legal when it was asked for and
is not any more is no fault of the model: it does not use up a retry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import cast

from interlock.agent.contract import Choice
from interlock.agent.decisions import (
    decision_request,
    delivery,
    is_kept_choice,
    judge,
    moved_on,
    renewed_request,
)
from interlock.agent.events import Event
from interlock.agent.plain import plain
from interlock.agent.plain_answers import plain_text
from interlock.agent.plan import PlanSpec
from interlock.agent.plans import Planned, plan_ledger, plan_request, plan_result, planned, renewed_plan
from interlock.agent.reading import AnyMachine, Root
from interlock.agent.reasons import short
from interlock.agent.requests import DecisionAttempt, DecisionRequest, PlanRequest
from interlock.errors import DecisionExhaustedError, ErrorInfo, InputError
from interlock.statechart import UNSET, Input, OwedInvocation, Snapshot, transition
from interlock.statechart import owed as owed_by
from interlock.statechart.events import event_to_json

__all__ = ["Weighed", "asked", "kept_choice", "unjudged", "weigh"]

_MOST_MOVED_ON = 3
"""How often in a row a machine may move on under a decision before that fails: each time is a model call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A choice, judged: what is ``sent``, or the ``attempt`` that is kept, the last one if ``exhausted``."""

    event: Event | None = None
    """What was picked; None for the end of a plan."""
    sent: tuple[Input, ...] = ()
    result: object = UNSET
    """What the request has come to; UNSET where it goes on."""
    attempt: DecisionAttempt | None = None
    attempts: tuple[DecisionAttempt, ...] = ()
    """All attempts at this pick so far, this one included."""
    record: object = None
    """The attempt as it is kept."""
    exhausted: DecisionExhaustedError | None = None
    usage: object = None
    """What the call has consumed, as JSON; the machine hears of it before anything else."""

    def inputs(self, owed: OwedInvocation, error: ErrorInfo | None = None) -> tuple[Input, ...]:
        """Return the inputs that this is, to be committed together: nothing can fall between them.

        Arguments:
            owed: the work, as it is owed now.
            error: ``exhausted`` as data, if that is how it has ended.
        """
        given = self.sent
        if self.attempt is not None:
            failed = UNSET if error is None else error
            given = (Input(address=owed.address, invocation=owed.key, record=self.record, error=failed),)
        if self.usage is None:
            return given
        if len(given) == 1:
            return (given[0].costing(self.usage),)
        return (Input(address=owed.address, invocation=owed.key, usage=self.usage), *given)

    def exhausted_data(self) -> list[object]:
        """Return what an error that says so holds: all attempts."""
        return [item.to_json() for item in self.attempts]


def asked(
    machine: AnyMachine,
    owed: OwedInvocation,
    before: DecisionRequest | None,
    *,
    root: Root,
    began: Snapshot[object] | None = None,
) -> DecisionRequest | Weighed:
    """Return what a decision or a plan asks now, or how a plan ends where there is nothing to ask.

    Arguments:
        machine: the machine that it belongs to.
        owed: the work, as it is owed now.
        before: what it asked last; its words are kept.
        root: the root machine, and where it stands.
        began: where the machine stood when the work began, which the first words are made from.

    Raises :class:`NoLegalEventsError` for a decision that nothing can be picked for, :class:`StepError` where one of
    the author's functions raises.
    """
    if isinstance(owed.logic, PlanSpec):
        known = before if isinstance(before, PlanRequest) else None
        found = plan_request(machine, owed, root, began) if known is None else renewed_plan(machine, owed, root, known)
        return _of_plan(machine, owed, found, None) if isinstance(found, Planned) else found
    return decision_request(machine, owed, began) if before is None else renewed_request(machine, owed, before)


def weigh(
    machine: AnyMachine,
    owed: OwedInvocation,
    request: DecisionRequest,
    choice: Choice,
    *,
    root: Root,
    usage: object = None,
    asked_at: Snapshot[object] | None = None,
) -> Weighed:
    """Judge a choice where the machine stands now, once it has been told what the choice has cost.

    Arguments:
        machine: the machine that the decision belongs to.
        owed: the decision, as it is owed now.
        request: what was asked.
        choice: what was answered; it is not trusted.
        root: the root machine and where it stands: it is told of the usage, and what steps of a plan would do is tried
            out on it.
        usage: what that has consumed, as JSON.
        asked_at: where that machine stood when it was asked; None where it has not moved since.

    Raises :class:`StepError` where one of the machine's functions raises over it; see :func:`unjudged`.
    """
    whole, before = root
    standing = before if usage is None else _told(whole, before, owed, usage)
    told = owed if standing is before else _still(standing, owed)
    if told is None:  # it was too expensive, and nobody waits for it any more
        return Weighed(sent=(Input(address=owed.address, invocation=owed.key),), usage=usage)
    if told is not owed and asked_at is None:
        asked_at = owed.snapshot
    return replace(
        _weighed(machine, told, (whole, standing), request=request, choice=choice, asked_at=asked_at), usage=usage
    )


def unjudged(choice: Choice) -> dict[str, object]:
    """Return the record of a choice over which one of the machine's functions raises: it is judged when they do not.

    So what was paid for is not asked again, however often the run is taken up before the machine is mended.
    """
    event = event_to_json(choice.event) if isinstance(choice.event, Event) else choice.event
    record: dict[str, object] = {"kind": "choice", "event": plain(event)}
    if isinstance(choice.reason, str):
        record["reason"] = plain_text(choice.reason)
    return record


def kept_choice(owed: OwedInvocation) -> Choice | None:
    """Return the choice that was kept last and is still to be judged; raises :class:`InputError` for what is none."""
    record: object = owed.records[len(owed.records) - 1] if len(owed.records) else None
    if not is_kept_choice(record):
        return None
    given = cast("Mapping[str, object]", record)
    event, reason = given.get("event"), given.get("reason")
    if not isinstance(event, Mapping):
        raise InputError(f"the last record is no choice: {short(record)}", code="invalid-input")
    return Choice(event=cast("Mapping[str, object]", event), reason=reason if isinstance(reason, str) else None)


def _told(machine: AnyMachine, before: Snapshot[object], owed: OwedInvocation, usage: object) -> Snapshot[object]:
    """Return where the root machine stands once it has been told of a usage."""
    snapshot, _ = transition(machine, before, Input(address=owed.address, invocation=owed.key, usage=usage), at=0.0)
    return snapshot


def _still(root: Snapshot[object], owed: OwedInvocation) -> OwedInvocation | None:
    """Return the work as it is owed now; None where it is not any more."""
    return next((item for item in owed_by(root).invocations if item.identity == owed.identity), None)


def _weighed(
    machine: AnyMachine,
    owed: OwedInvocation,
    root: Root,
    *,
    request: DecisionRequest,
    choice: Choice,
    asked_at: Snapshot[object] | None,
) -> Weighed:
    if isinstance(owed.logic, PlanSpec):
        found = planned(machine, owed, root, request, choice)
        attempt = found.attempt
        if attempt is not None and found.kept is None:
            attempt = _blamed(machine, owed, request, choice, attempt, asked_at=None if owed.logic.atomic else asked_at)
        return _of_plan(machine, owed, found, request, attempt)
    judged = judge(machine, owed.snapshot, request, choice)
    if isinstance(judged, Event):
        return Weighed(event=judged, sent=(delivery(owed, judged),), result=judged)
    attempt = _blamed(machine, owed, request, choice, judged, asked_at=asked_at)
    return _refused(owed, request.attempts, request.max_retries, attempt, attempt.to_json())


def _of_plan(
    machine: AnyMachine,
    owed: OwedInvocation,
    found: Planned,
    request: DecisionRequest | None,
    attempt: DecisionAttempt | None = None,
) -> Weighed:
    attempt = attempt or found.attempt
    if attempt is None:
        result = UNSET if found.stopped is None else plan_result(machine, found.steps, found.stopped)
        return Weighed(event=found.event, sent=found.inputs, result=result)
    record = {"kind": "attempt", **attempt.to_json()} | ({} if found.kept is None else {"kept": found.kept})
    before, max_retries = ((), 0) if request is None else (request.attempts, request.max_retries)
    retaken = 0 if found.kept is None else plan_ledger(owed.records).retaken + 1
    return _refused(owed, before, max_retries, attempt, record, retaken=retaken)


def _blamed(
    machine: AnyMachine,
    owed: OwedInvocation,
    request: DecisionRequest,
    choice: Choice,
    attempt: DecisionAttempt,
    *,
    asked_at: Snapshot[object] | None,
) -> DecisionAttempt:
    """Return the attempt, as one that the machine has moved on from where the model could not have known better."""
    if asked_at is None or owed.snapshot is asked_at or attempt.failure != "rejected-by-guard":
        return attempt
    legal_then = judge(machine, asked_at, request, choice)
    return (moved_on(owed.snapshot, legal_then) or attempt) if isinstance(legal_then, Event) else attempt


def _refused(
    owed: OwedInvocation,
    before: tuple[DecisionAttempt, ...],
    max_retries: int,
    attempt: DecisionAttempt,
    record: object,
    *,
    retaken: int = 0,
) -> Weighed:
    attempts = (*before, attempt)
    counted = sum(item.counts for item in attempts)
    moves = sum(1 for _ in takewhile(lambda item: not item.counts, reversed(attempts)))
    exhausted = None
    if counted > max_retries or max(moves, retaken) > _MOST_MOVED_ON:
        exhausted = DecisionExhaustedError(owed.identity, attempts)
    return Weighed(attempt=attempt, attempts=attempts, record=record, exhausted=exhausted)
