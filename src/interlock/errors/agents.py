"""Errors of decisions, calls and texts: what a model or a called function has made of its task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from interlock.errors.base import InterlockError

__all__ = [
    "CallResultError",
    "DecisionExhaustedError",
    "InvalidMessagesError",
    "InvalidOutputError",
    "NoLegalEventsError",
    "RefusedChoice",
    "RefusedError",
    "StepLimitError",
    "TextError",
    "TruncatedError",
]


class RefusedChoice(Protocol):
    """What is known of a choice that was refused."""

    @property
    def failure(self) -> str:
        """Which check refused it."""
        ...

    @property
    def reason(self) -> str:
        """Why."""
        ...


class DecisionExhaustedError(InterlockError):
    """A model chose nothing legal in all its tries. It goes to the decision's ``on_error``, else the run fails with it.

    ``attempts`` are the refused choices, oldest first.
    """

    code = "decision-exhausted"

    def __init__(self, request_id: str, attempts: Sequence[RefusedChoice]) -> None:
        listed = "; ".join(f"{number}. {item.failure}: {item.reason}" for number, item in enumerate(attempts, 1))
        count = f"{len(attempts)} attempt{'' if len(attempts) == 1 else 's'}"
        super().__init__(f"decision {request_id!r}: no legal choice in {count}. {listed}")
        self.request_id = request_id
        self.attempts = tuple(attempts)


class NoLegalEventsError(InterlockError):
    """A decision for which there is nothing to pick now; no model was asked.

    ``accepted`` are the event types and patterns that the active states handle, legal or not, for models or not.
    """

    code = "no-legal-events"

    def __init__(self, message: str, *, machine: str, state: str, accepted: Sequence[str]) -> None:
        super().__init__(f"machine {machine!r}, state {state!r}: {message}")
        self.machine = machine
        self.state = state
        self.accepted = tuple(accepted)


class CallResultError(InterlockError):
    """A called function returned something else than it is annotated with. It goes to the invocation's ``on_error``."""

    code = "invalid-call-result"


class InvalidMessagesError(InterlockError):
    """Data that is no list of messages. ``problems`` are pairs of a path (``[1].content[0].toolName``) and a reason."""

    code = "invalid-messages"

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        listed = "; ".join(f"{path}: {reason}" for path, reason in problems[:5])
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
        super().__init__(f"these are no messages: {listed}{more}")
        self.problems = tuple(problems)


class TextError(InterlockError):
    """A model's answer that cannot be used, mostly to a text request; one of the classes below, to ``on_error``.

    ``request`` is the request's name, ``request_id`` names the invocation; ``partial_output`` is what the model did
    say, its first 2000 characters: to be logged, never to be parsed. ``usage`` is what the answer has cost all the
    same, as far as the executor that raises this knows it: a run books it.
    """

    code = "text-failed"
    usage: object = None

    def __init__(
        self,
        message: str,
        *,
        request: str | None,
        request_id: str | None = None,
        partial_output: str | None = None,
        kind: str = "text request",
    ) -> None:
        named = repr(request or request_id) + (f" ({request_id})" if request and request_id else "")
        super().__init__(f"{kind} {named}: {message}")
        self.request = request
        self.request_id = request_id
        self.partial_output = None if partial_output is None else partial_output[:2000]


class TruncatedError(TextError):
    """An answer cut off at the token limit before it was whole; raise ``max_output_tokens`` or ask for less."""

    code = "truncated"


class RefusedError(TextError):
    """A model that refuses to answer, or a provider's filter that holds the answer back."""

    code = "refused"


class InvalidOutputError(TextError):
    """A structured answer that is no JSON, or does not fit the type that was asked for."""

    code = "invalid-output"


class StepLimitError(TextError):
    """A model that still calls tools on its last turn; raise ``max_steps``, or say in the prompt when to answer."""

    code = "max-steps"
