"""Refused choices put into words: what a model is told before it is asked again."""

from __future__ import annotations

import json

from interlock.agent.message_helpers import user_message
from interlock.agent.messages import UserMessage
from interlock.agent.reasons import short
from interlock.agent.requests import DecisionAttempt, DecisionRequest

__all__ = ["render_decision_attempts"]

_LONGEST = 400
"""Characters of a refused choice that are shown again: it may be a book."""


def render_decision_attempts(request: DecisionRequest) -> tuple[UserMessage, ...]:
    """Return one message for each choice of this decision that was refused, oldest first; none for a first call.

    Each says what was chosen, why it was not taken, and what may be chosen now. An adapter puts them after the
    request's own messages.
    """
    offered = ", ".join(event.type for event in request.events)
    return tuple(user_message(_words(attempt, offered)) for attempt in request.attempts)


def _words(attempt: DecisionAttempt, offered: str) -> str:
    if attempt.event is None:
        chosen = "Your last answer"
    else:
        written = json.dumps(attempt.event, ensure_ascii=False, default=str)
        chosen = f"Your choice {written if len(written) <= _LONGEST else written[: _LONGEST - 3] + '...'}"
    because = attempt.reason.rstrip(".") if len(attempt.reason) <= 2_000 else short(attempt.reason, 2_000)
    return f"{chosen} was not taken ({attempt.failure}): {because}. Choose exactly one of: {offered}."
