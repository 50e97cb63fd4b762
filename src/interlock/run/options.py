"""The keywords that all ways of running a machine share; ``run_agent`` explains them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeAlias, TypedDict, TypeVar

from interlock.agent.contract import Executors
from interlock.agent.events import Event
from interlock.agent.requests import DecisionRequest
from interlock.agent.text_requests import TextRequest
from interlock.agent.user_input import UserInputRequest
from interlock.journal import Store
from interlock.run.abort import Abort
from interlock.run.clock import Clock
from interlock.run.driver import Timers
from interlock.run.observers import Committed
from interlock.run.traces import TraceEvent
from interlock.statechart import Input, Snapshot

__all__ = [
    "BudgetScope",
    "Decisions",
    "GivenEvent",
    "OnChunk",
    "OnEmitted",
    "OnEvent",
    "OnResult",
    "OnTrace",
    "OnTransition",
    "RunOptions",
    "Saved",
    "UserInput",
]

C = TypeVar("C")

Saved: TypeAlias = "Snapshot[C] | Mapping[str, object] | str | bytes"
GivenEvent: TypeAlias = Event | Mapping[str, object] | str
Decisions: TypeAlias = Literal["concurrent", "one-at-a-time"]
"""Whether decisions that wait together are asked together."""
BudgetScope: TypeAlias = Literal["run", "thread"]
"""Whose calls ``max_model_calls`` counts: those of this run, or all that the thread's log tells of as well."""
UserInput: TypeAlias = Callable[[UserInputRequest], object]
"""Asks a person, and returns the reply, or an awaitable of it."""
OnEvent: TypeAlias = Callable[[Committed], object]
OnTransition: TypeAlias = "Callable[[Snapshot[C], Input | None], object]"
OnChunk: TypeAlias = Callable[[str, TextRequest], object]
OnResult: TypeAlias = Callable[[DecisionRequest | TextRequest, Any, Any], object]
OnTrace: TypeAlias = Callable[[TraceEvent], object]
OnEmitted: TypeAlias = Mapping[str | type[Event], Callable[[Any], object]]


class RunOptions(TypedDict, Generic[C], total=False):
    """How a machine is run, whatever it starts from."""

    executors: Executors | None
    actors: Mapping[str, object] | None
    decisions: Decisions
    max_model_calls: int
    budget: BudgetScope
    abort: Abort | None
    clock: Clock | None
    timers: Timers
    on_transition: OnTransition[C] | None
    on_event: OnEvent | None
    on_chunk: OnChunk | None
    on_result: OnResult | None
    on_trace: OnTrace | None
    on: OnEmitted | None
    execution_id: str | None
    event_id: str | None
    replies: Mapping[str, object] | None
    user_input: UserInput | None
    store: Store | None
    thread_id: str | None
    record_raw: bool
