"""Carrying out a decision: ask, propose what was chosen, and ask again where it is refused.

The choice is judged when the driver takes it, against the snapshot of that moment. What was legal when it was asked
for and is not any more is no fault of the model: it does not use up a retry.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from interlock.agent.contract import Choice, DecideExecutor, ExecutorInfo
from interlock.agent.decisions import checked_choice, decision_request, delivery, judge, moved_on, renewed_request
from interlock.agent.events import Event
from interlock.agent.requests import DecisionAttempt, DecisionRequest
from interlock.errors import DecisionExhaustedError, InterlockError, StepError
from interlock.run.border import AnyMachine, error_info
from interlock.run.functions import Threads, call
from interlock.run.usage import Budget
from interlock.run.work import Work
from interlock.statechart import Input, OwedInvocation, Snapshot

__all__ = ["Decider"]

_MOST_MOVED_ON = 3
"""How often in a row a machine may move on under a decision before that fails: each time is a model call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Carries out the decisions of one run."""

    execute: DecideExecutor
    budget: Budget
    threads: Threads
    execution_id: str

    async def __call__(self, work: Work) -> None:
        """Carry out one decision."""
        request = await _ask(work, None)
        while request is not None:
            asked_at = work.owed.snapshot
            try:
                choice = await self._choice(work, request)
            except Exception as error:  # noqa: BLE001  # whatever it is, it goes to the invocation
                await work.fail(error)
                return
            judged = _Judged(work, request, choice, asked_at)
            await work.propose(judged)
            request = await _ask(work, request)

    async def _choice(self, work: Work, request: DecisionRequest) -> Choice:
        self.budget.admit(request.id)
        info = ExecutorInfo(
            run_id=self.execution_id,
            request_id=request.id,
            call_key=f"{self.execution_id}:{request.id}.{len(request.attempts)}",
            attempt=len(request.attempts) + 1,
        )
        answer = await call(partial(self.execute, request, info), entered=work.entered, threads=self.threads)
        choice = checked_choice(request, answer)
        self.budget.book(choice.usage)
        return choice


async def _ask(work: Work, before: DecisionRequest | None) -> DecisionRequest | None:
    """Return the request as it stands now; None where there is nothing to ask, which has been reported then."""
    try:
        if before is None:
            return decision_request(work.machine, work.owed)
        return renewed_request(work.machine, work.owed, before)
    except StepError as error:
        await work.crash(error)
    except (InterlockError, KeyError, ValueError) as error:  # nothing legal, or records that somebody else has written
        await work.fail(error)
    return None


class _Judged:
    """What a choice comes to, once it is known where the machine stands when it is delivered."""

    __slots__ = ("asked_at", "choice", "request", "work")

    def __init__(self, work: Work, request: DecisionRequest, choice: Choice, asked_at: Snapshot[object]) -> None:
        self.work = work
        self.request = request
        self.choice = choice
        self.asked_at = asked_at

    def __call__(self, owed: OwedInvocation) -> Input:
        machine = self.work.machine
        judged = judge(machine, owed.snapshot, self.request, self.choice)
        if isinstance(judged, Event):
            return delivery(owed, judged)
        return self._refused(owed, self._blamed(machine, owed, judged))

    def _blamed(self, machine: AnyMachine, owed: OwedInvocation, attempt: DecisionAttempt) -> DecisionAttempt:
        """Return the attempt, as one that the machine has moved on from where the model could not have known better."""
        if owed.snapshot is self.asked_at or attempt.failure != "rejected-by-guard":
            return attempt
        legal_then = judge(machine, self.asked_at, self.request, self.choice)
        return (moved_on(owed.snapshot, legal_then) or attempt) if isinstance(legal_then, Event) else attempt

    def _refused(self, owed: OwedInvocation, attempt: DecisionAttempt) -> Input:
        attempts = (*self.request.attempts, attempt)
        counted = sum(item.counts for item in attempts)
        moves = sum(1 for _ in takewhile(lambda item: not item.counts, reversed(attempts)))
        record = attempt.to_json()
        if counted <= self.request.max_retries and moves <= _MOST_MOVED_ON:
            return Input(address=owed.address, invocation=owed.key, record=record)
        self.work.raised = error = DecisionExhaustedError(self.request.id, attempts)
        info = error_info(error, data=[item.to_json() for item in attempts])
        # The last attempt and the end of the decision are one input: no crash can fall between them.
        return Input(address=owed.address, invocation=owed.key, record=record, error=info)
