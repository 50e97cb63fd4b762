"""Carrying out a decision: ask, propose what was chosen, and ask again where it is refused.

The choice is judged when the driver takes it, against the snapshot of that moment. What was legal when it was asked
for and is not any more is no fault of the model: it does not use up a retry.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from interlock.agent.contract import Choice, DecideExecutor, ExecutorInfo
from interlock.agent.decisions import checked_choice
from interlock.agent.requests import DecisionRequest
from interlock.agent.weighing import Weighed, asked, kept_choice, unjudged, weigh
from interlock.errors import ModelCallLimitError, StepError
from interlock.run.exits import HOST_MISTAKES
from interlock.run.functions import call
from interlock.run.means import Means, Wanted
from interlock.run.noted import cost_of, noted_choice, spent
from interlock.run.origin import Origin
from interlock.run.watching import Watched
from interlock.run.work import Proposal, Work
from interlock.statechart import UNSET, Input, OwedInvocation, Snapshot

__all__ = ["Decider"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Carries out the decisions and plans of one run."""

    execute: DecideExecutor
    means: Means

    async def __call__(self, work: Work) -> None:
        """Carry out one decision, or one plan."""
        request = await _ask(work, None)
        if request is None:
            return
        work.origin = Origin.of(work.owed, name=request.name, attempt=len(work.owed.records) + 1)
        watched = Watched(self.means.observers, work, request.kind, request)
        with watched.watching():
            while request is not None:
                await watched.told()
                if self.means.one_at_a_time:
                    await work.turn()
                    request = await _ask(work, request, watched)  # others may have moved the machine meanwhile
                    if request is None:
                        return
                asked_at = work.owed.snapshot
                try:
                    kept = kept_choice(work.owed)  # one that was paid for, and is judged once more
                    choice = await self._choice(work, request, watched) if kept is None else kept
                except HOST_MISTAKES:
                    raise
                except Exception as error:  # noqa: BLE001  # whatever else it is, it goes to the invocation
                    cost = cost_of(error)
                    self.means.budget.book(cost)
                    watched.spent(cost)
                    usage = None if isinstance(error, ModelCallLimitError) else spent(request, cost)
                    await work.fail(error, usage=usage, told=watched.failed)
                    return
                raw = self.means.record_raw
                await work.propose(_Judged(work, request, choice, asked_at, watched, raw=raw, kept=kept is not None))
                request = await _ask(work, request, watched)

    async def _choice(self, work: Work, request: DecisionRequest, watched: Watched) -> Choice:
        before = len(work.owed.records)
        work.origin = replace(work.origin, attempt=before + 1)
        self.means.budget.admit(request.id)
        watched.called(request, before + 1)
        info = ExecutorInfo(
            run_id=self.means.execution_id,
            request_id=request.id,
            call_key=f"{self.means.execution_id}:{request.id}.{before}",
            attempt=before + 1,
            abort=Wanted(work),
        )
        answer = await call(
            partial(self.execute, request, info), threads=self.means.threads, entered=work.entered, own_task=True
        )
        choice = checked_choice(request, answer)
        self.means.budget.book(choice.usage)
        watched.spent(choice.usage)
        return choice


async def _ask(work: Work, before: DecisionRequest | None, watched: Watched | None = None) -> DecisionRequest | None:
    """Return the request as it stands now; None where there is nothing to ask, which has been reported then."""
    while True:
        try:
            found = asked(work.machine, work.owed, before, root=work.root(), began=work.began)
        except StepError as error:
            await work.crash(error)
            return None
        except Exception as error:  # noqa: BLE001  # nothing legal, or records that somebody else has written
            await work.fail(error, told=None if watched is None else watched.failed)
            return None
        if isinstance(found, DecisionRequest):
            return found
        await work.propose(partial(_ended, work, before, watched))


def _ended(work: Work, before: DecisionRequest | None, watched: Watched | None, owed: OwedInvocation) -> Proposal:
    """End a plan that has nothing to ask, judged where the machine stands now."""
    found = asked(work.machine, owed, before, root=work.root(), began=work.began)
    weighed = Weighed() if isinstance(found, DecisionRequest) else found
    first, *then = weighed.inputs(owed) or (Input(address=owed.address, invocation=owed.key),)
    if watched is not None and weighed.result is not UNSET:
        watched.ended(weighed.result)
    return Proposal(input=first, then=tuple(then))


class _Judged:
    """What a choice comes to, once it is known where the machine stands when it is delivered."""

    __slots__ = ("asked_at", "choice", "kept", "raw", "request", "watched", "work")

    def __init__(
        self,
        work: Work,
        request: DecisionRequest,
        choice: Choice,
        asked_at: Snapshot[object],
        watched: Watched,
        *,
        raw: bool,
        kept: bool,
    ) -> None:
        self.work = work
        self.request = request
        self.choice = choice
        self.asked_at = asked_at
        self.watched = watched
        self.raw = raw
        self.kept = kept

    def __call__(self, owed: OwedInvocation) -> Proposal:
        usage = None if self.kept else spent(self.request, self.choice.usage)
        noted = {} if self.kept else noted_choice(self.choice, raw=self.raw)
        try:
            found = weigh(
                self.work.machine,
                owed,
                self.request,
                self.choice,
                usage=usage,
                asked_at=self.asked_at,
                root=self.work.root(),
            )
        except StepError:
            if self.kept:
                raise
            record = unjudged(self.choice)
            given = Input(address=owed.address, invocation=owed.key, record=record, usage=usage)
            return Proposal(input=given, metadata=noted)
        info = None
        if found.attempt is not None:
            self.watched.refused(found.attempt, self.choice.usage)
            if found.exhausted is not None:
                info = self.work.blame(found.exhausted, data=found.exhausted_data())
                self.watched.failed(info)
        elif found.event is not None and self.request.kind == "plan":
            self.watched.step(found.event, self.choice.usage)
        if found.result is not UNSET:
            self.watched.ended(found.result, raw=self.choice.raw, reasoning=self.choice.reason)
        first, *then = found.inputs(owed, info)
        return Proposal(input=first, then=tuple(then), metadata=noted)
