"""What a model's choice comes to where the machine stands now: an event that is sent, or an attempt that is kept.

Pure, so that the driver and hosts that take the steps themselves judge alike. What was legal when it was asked for and
is not any more is no fault of the model: it does not use up a retry.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from interlock.agent.contract import Choice
from interlock.agent.decisions import delivery, judge, moved_on
from interlock.agent.events import Event
from interlock.agent.reading import AnyMachine
from interlock.agent.requests import DecisionAttempt, DecisionRequest
from interlock.errors import DecisionExhaustedError, ErrorInfo
from interlock.statechart import Input, OwedInvocation, Snapshot

__all__ = ["Weighed", "weigh"]

_MOST_MOVED_ON = 3
"""How often in a row a machine may move on under a decision before that fails: each time is a model call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A choice, judged: the ``event`` that is sent, or the ``attempt`` that is kept, the last one if ``exhausted``."""

    event: Event | None = None
    attempt: DecisionAttempt | None = None
    attempts: tuple[DecisionAttempt, ...] = ()
    """All attempts so far, this one included."""
    exhausted: DecisionExhaustedError | None = None

    def input(self, owed: OwedInvocation, error: ErrorInfo | None = None) -> Input:
        """Return the one input that this is: no crash can fall between an attempt and the end of its decision.

        Arguments:
            owed: the decision, as it is owed now.
            error: ``exhausted`` as data, if that is how it has ended.
        """
        if self.event is not None:
            return delivery(owed, self.event)
        record = None if self.attempt is None else self.attempt.to_json()
        if error is None:
            return Input(address=owed.address, invocation=owed.key, record=record)
        return Input(address=owed.address, invocation=owed.key, record=record, error=error)

    def exhausted_data(self) -> list[object]:
        """Return what an error that says so holds: all attempts."""
        return [item.to_json() for item in self.attempts]


def weigh(
    machine: AnyMachine,
    owed: OwedInvocation,
    request: DecisionRequest,
    choice: Choice,
    *,
    asked_at: Snapshot[object] | None = None,
) -> Weighed:
    """Judge a choice where the machine stands now.

    Arguments:
        machine: the machine that the decision belongs to.
        owed: the decision, as it is owed now.
        request: what was asked.
        choice: what was answered; it is not trusted.
        asked_at: where that machine stood when it was asked; None where it has not moved since.
    """
    judged = judge(machine, owed.snapshot, request, choice)
    if isinstance(judged, Event):
        return Weighed(event=judged)
    attempt = judged
    if asked_at is not None and owed.snapshot is not asked_at and attempt.failure == "rejected-by-guard":
        legal_then = judge(machine, asked_at, request, choice)
        if isinstance(legal_then, Event):
            attempt = moved_on(owed.snapshot, legal_then) or attempt
    attempts = (*request.attempts, attempt)
    counted = sum(item.counts for item in attempts)
    moves = sum(1 for _ in takewhile(lambda item: not item.counts, reversed(attempts)))
    if counted <= request.max_retries and moves <= _MOST_MOVED_ON:
        return Weighed(attempt=attempt, attempts=attempts)
    return Weighed(attempt=attempt, attempts=attempts, exhausted=DecisionExhaustedError(request.id, attempts))
