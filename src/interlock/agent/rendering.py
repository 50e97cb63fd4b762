"""Requests put into words as far as they are more than their own messages: what was refused, and how far a plan is."""

from __future__ import annotations

import json
from collections.abc import Mapping

from interlock.agent.message_helpers import user_message
from interlock.agent.messages import UserMessage
from interlock.agent.plan import PLAN_DONE
from interlock.agent.reasons import short
from interlock.agent.requests import DecisionAttempt, DecisionRequest, PlanRequest

__all__ = ["render_decision_attempts", "render_plan_trail"]

_LONGEST = 400
"""Characters of an event that are shown again: it may be a book."""


def render_decision_attempts(request: DecisionRequest) -> tuple[UserMessage, ...]:
    """Return one message for each choice of this decision that was refused, oldest first; none for a first call.

    Each says what was chosen, why it was not taken, and what may be chosen now. An adapter puts them after the
    request's own messages, and behind the trail of a plan.
    """
    offered = ", ".join(event.label for event in request.events)
    return tuple(user_message(_refused(attempt, offered)) for attempt in request.attempts)


def render_plan_trail(request: DecisionRequest) -> tuple[UserMessage, ...]:
    """Return one message that says which events a plan has picked, how many are left, and how it is ended.

    An adapter puts it after the request's own messages. There is none for a decision that is no plan.
    """
    if not isinstance(request, PlanRequest):
        return ()
    said = "Nothing was picked yet."
    if request.applied:
        listed = "\n".join(f"{number}. {_written(event)}" for number, event in enumerate(request.applied, 1))
        said = f"Picked so far, in this order:\n{listed}"
    left = request.steps_remaining
    most = "one more event" if left == 1 else f"up to {left} more events, one at a time"
    return (user_message(f"{said}\nYou may pick {most}. When nothing more is to be done, choose {PLAN_DONE} instead."),)


def _refused(attempt: DecisionAttempt, offered: str) -> str:
    chosen = "Your last answer" if attempt.event is None else f"Your choice {_written(attempt.event)}"
    because = attempt.reason.rstrip(".") if len(attempt.reason) <= 2_000 else short(attempt.reason, 2_000)
    return f"{chosen} was not taken ({attempt.failure}): {because}. Choose exactly one of: {offered}."


def _written(event: Mapping[str, object]) -> str:
    written = json.dumps(event, ensure_ascii=False, default=str)
    return written if len(written) <= _LONGEST else f"{written[: _LONGEST - 3]}..."
