"""The whole contract with the outside: what a host hands in, and what its functions take and give back.

An executor carries out one model call. It gets a request (plain data: what to ask) and an info (where the request
stands in its run), and answers with a :class:`Choice`. It may be async or plain. Transport retries are its own
business; whether the choice is legal is none: that is judged where the machine is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from interlock.agent.events import Event
from interlock.agent.requests import DecisionRequest

__all__ = ["Choice", "DecideExecutor", "ExecutorInfo", "Executors", "Usage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one model call consumed, in tokens; None where the provider does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """What the model picked: an event, as an instance or as a mapping with ``type`` beside its fields.

    ``reason`` is what the model says about it (kept for people, never judged), ``raw`` is the provider's own answer.
    """

    event: Event | Mapping[str, object]
    reason: str | None = None
    usage: Usage | None = None
    raw: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorInfo:
    """Where a request stands: ``call_key`` is the same for the same call before and after a crash, and for no other."""

    run_id: str
    request_id: str
    call_key: str
    attempt: int = 1
    """1 for the first call of a request, 2 for the first retry."""


DecideExecutor: TypeAlias = Callable[[DecisionRequest, ExecutorInfo], Choice | Awaitable[Choice]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Executors:
    """The model calls that a host can carry out; leave out what no machine of yours asks for."""

    decide: DecideExecutor | None = None
