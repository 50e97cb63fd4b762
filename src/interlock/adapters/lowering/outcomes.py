"""Answers that are none: refused, or cut off. They are paid for all the same."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypedDict

from interlock.adapters.lowering.completions import Completion
from interlock.agent.requests import DecisionRequest
from interlock.agent.text_requests import TextRequest
from interlock.errors import ProviderError, RefusedError, TextError, TruncatedError

__all__ = ["check_whole", "paid"]


class _Names(TypedDict):
    request: str | None
    request_id: str
    kind: str


@contextmanager
def paid(completion: Completion) -> Generator[None, None, None]:
    """Note on what says that an answer cannot be used what the answer has cost."""
    try:
        yield
    except (TextError, ProviderError) as error:
        error.usage = completion.usage
        raise


def check_whole(completion: Completion, request: TextRequest | DecisionRequest, *, whole: bool) -> None:
    """Raise :class:`RefusedError` or :class:`TruncatedError` where an answer cannot be used.

    Arguments:
        completion: the answer.
        request: what was asked.
        whole: whether half an answer is of no use. Half a text is; half a value, a call or a choice is not, even
            where what has come could be read.
    """
    kind = "decision" if isinstance(request, DecisionRequest) else "text request"
    names: _Names = {"request": request.name, "request_id": request.id, "kind": kind}
    if completion.refusal is not None:
        raise RefusedError(
            f"the model refuses to answer: {completion.refusal[:500]}", partial_output=completion.refusal, **names
        )
    if completion.finish_reason == "content-filter":
        raise RefusedError(
            "the provider's content filter holds the answer back", partial_output=completion.text, **names
        )
    empty = not completion.calls and not completion.text.strip()
    if completion.finish_reason == "length" and (whole or completion.calls or empty):
        limit = request.max_output_tokens
        cut = "the limit of the model or the provider" if limit is None else f"max_output_tokens={limit}"
        partial = completion.text or "".join(f"{call.name}({call.arguments}" for call in completion.calls)
        raise TruncatedError(
            f"the answer was cut off at {cut} before it was whole; raise the limit, or ask for less",
            partial_output=partial,
            **names,
        )
    if empty and not isinstance(request, DecisionRequest):
        # Garbage from an endpoint must not become a successful empty answer.
        raise ProviderError(
            f"{kind} {request.name!r}: the answer is empty, and calls no tool", code="incomplete-answer", retryable=True
        )
