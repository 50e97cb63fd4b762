"""Carrying out a decision: ask, propose what was chosen, and ask again where it is refused.

The choice is judged when the driver takes it, against the snapshot of that moment. What was legal when it was asked
for and is not any more is no fault of the model: it does not use up a retry.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

from interlock.agent.contract import Choice, DecideExecutor, ExecutorInfo
from interlock.agent.decisions import checked_choice, decision_request, delivery, judge, moved_on, renewed_request
from interlock.agent.events import Event
from interlock.agent.requests import DecisionAttempt, DecisionRequest
from interlock.errors import DecisionExhaustedError, StepError
from interlock.run.border import AnyMachine
from interlock.run.exits import HOST_MISTAKES
from interlock.run.functions import call
from interlock.run.means import Means, Wanted
from interlock.run.origin import Origin
from interlock.run.watching import Watched
from interlock.run.work import Work
from interlock.statechart import Input, OwedInvocation, Snapshot

__all__ = ["Decider"]

_MOST_MOVED_ON = 3
"""How often in a row a machine may move on under a decision before that fails: each time is a model call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Carries out the decisions of one run."""

    execute: DecideExecutor
    means: Means

    async def __call__(self, work: Work) -> None:
        """Carry out one decision."""
        request = await _ask(work, None)
        if request is None:
            return
        work.origin = Origin.of(work.owed, name=request.name, attempt=len(request.attempts) + 1)
        watched = Watched(self.means.observers, work, "decision", request)
        with watched.watching():
            while request is not None:
                await watched.told()
                asked_at = work.owed.snapshot
                try:
                    choice = await self._choice(work, request, watched)
                except HOST_MISTAKES:
                    raise
                except Exception as error:  # noqa: BLE001  # whatever else it is, it goes to the invocation
                    await work.fail(error, told=watched.failed)
                    return
                judged = _Judged(work, request, choice, asked_at, watched)
                await work.propose(judged)
                request = await _ask(work, request, watched)

    async def _choice(self, work: Work, request: DecisionRequest, watched: Watched) -> Choice:
        number = len(request.attempts) + 1
        work.origin = replace(work.origin, attempt=number)
        self.means.budget.admit(request.id)
        watched.called(request, number)
        info = ExecutorInfo(
            run_id=self.means.execution_id,
            request_id=request.id,
            call_key=f"{self.means.execution_id}:{request.id}.{len(request.attempts)}",
            attempt=number,
            abort=Wanted(work),
        )
        answer = await call(partial(self.execute, request, info), entered=work.entered, threads=self.means.threads)
        choice = checked_choice(request, answer)
        self.means.budget.book(choice.usage)
        watched.spent(choice.usage)
        return choice


async def _ask(work: Work, before: DecisionRequest | None, watched: Watched | None = None) -> DecisionRequest | None:
    """Return the request as it stands now; None where there is nothing to ask, which has been reported then."""
    try:
        if before is None:
            return decision_request(work.machine, work.owed)
        return renewed_request(work.machine, work.owed, before)
    except StepError as error:
        await work.crash(error)
    except Exception as error:  # noqa: BLE001  # nothing legal, or records that somebody else has written
        await work.fail(error, told=None if watched is None else watched.failed)
    return None


class _Judged:
    """What a choice comes to, once it is known where the machine stands when it is delivered."""

    __slots__ = ("asked_at", "choice", "request", "watched", "work")

    def __init__(
        self,
        work: Work,
        request: DecisionRequest,
        choice: Choice,
        asked_at: Snapshot[object],
        watched: Watched,
    ) -> None:
        self.work = work
        self.request = request
        self.choice = choice
        self.asked_at = asked_at
        self.watched = watched

    def __call__(self, owed: OwedInvocation) -> Input:
        machine = self.work.machine
        judged = judge(machine, owed.snapshot, self.request, self.choice)
        if isinstance(judged, Event):
            self.watched.ended(judged, raw=self.choice.raw, reasoning=self.choice.reason)
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
        self.watched.refused(attempt, self.choice.usage)
        if counted <= self.request.max_retries and moves <= _MOST_MOVED_ON:
            return Input(address=owed.address, invocation=owed.key, record=record)
        error = DecisionExhaustedError(self.request.id, attempts)
        info = self.work.blame(error, data=[item.to_json() for item in attempts])
        self.watched.failed(info)
        # The last attempt and the end of the decision are one input: no crash can fall between them.
        return Input(address=owed.address, invocation=owed.key, record=record, error=info)
