"""The keywords that authors give to states, transitions and decisions, typed by the context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Generic, TypeAlias, TypedDict, TypeVar

from interlock.agent.decide import Allowed
from interlock.agent.messages import AgentMessage
from interlock.agent.requests import JsonObject
from interlock.errors import ErrorInfo
from interlock.statechart import After, Invoke, Move, Transition

__all__ = [
    "DecideFields",
    "Delay",
    "ErrorSlot",
    "EventlessFields",
    "FinalFields",
    "InvokeFields",
    "PlanFields",
    "Slot",
    "StateFields",
    "Targets",
    "TransitionFields",
]

C = TypeVar("C")
E = TypeVar("E")

Delay: TypeAlias = float | timedelta | str
"""Seconds, a ``timedelta``, or the name of one of the machine's delays."""

Targets: TypeAlias = str | Sequence[str]
"""Where to: a state, or states of several regions."""

Slot: TypeAlias = Targets | Move | Callable[[C], Move | None]
"""What happens then: a target, a move, or a function of the context that says so (None: nothing)."""

ErrorSlot: TypeAlias = Targets | Move | Callable[[C, ErrorInfo], Move | None]
"""What happens after a failure."""


class TransitionFields(TypedDict, Generic[C, E], total=False):
    """What may be said about a transition besides its event and what happens."""

    to: Targets
    """The targets that the handler may return; read from its code where they are not given."""
    guard: Callable[[C, E], bool]
    """Whether the transition is legal; a handler says so itself, by returning None."""
    reenter: bool
    meta: Mapping[str, object]
    """``{"actor": "human"}`` reserves the transition for people."""
    description: str


class EventlessFields(TypedDict, Generic[C], total=False):
    """The same for a transition that no event of the author's starts."""

    to: Targets
    guard: Callable[[C], bool]
    reenter: bool
    meta: Mapping[str, object]
    description: str


class StateFields(TypedDict, Generic[C], total=False):
    """What a state may hold besides its child states."""

    on: Sequence[Transition]
    always: Sequence[Transition]
    after: Sequence[After]
    invoke: Invoke | Sequence[Invoke]
    entry: Move | Callable[[C], Move | None]
    exit: Move | Callable[[C], Move | None]
    on_done: Targets | Move | Transition | Callable[[C, object], Move | None]
    """Taken when the state's own final state is reached; ``agent.done(T, ...)`` says of which type its output is."""
    on_error: ErrorSlot[C]
    """Taken when anything that the state invoked fails."""
    timeout: Delay
    on_timeout: Slot[C]
    tags: str | Iterable[str]
    meta: Mapping[str, object]
    description: str


class FinalFields(TypedDict, Generic[C], total=False):
    """What a final state may hold besides its output."""

    entry: Move | Callable[[C], Move | None]
    tags: str | Iterable[str]
    meta: Mapping[str, object]
    id: str
    description: str


class InvokeFields(TypedDict, Generic[C], total=False):
    """What may be said about any work that a state starts."""

    id: str
    on_error: ErrorSlot[C]
    """Taken when the work fails; where nothing takes it, the run fails."""
    timeout: Delay
    on_timeout: Slot[C]
    meta: Mapping[str, object]


class DecideFields(InvokeFields[C], total=False):
    """What may be said about a decision; each shaping field is a value or a function of the context."""

    name: str
    model: str | Callable[[C], str | None]
    system: str | Callable[[C], str | None]
    prompt: str | Callable[[C], str | None]
    messages: Sequence[AgentMessage | JsonObject] | Callable[[C], Sequence[AgentMessage | JsonObject]]
    allowed_events: Allowed | Callable[[C], Allowed | None]
    """Classes, types and patterns; everything that the machine accepts, if not given."""
    max_retries: int | Callable[[C], int]
    """Tries after the first; 2, if not given."""
    temperature: float | Callable[[C], float | None]
    max_output_tokens: int | Callable[[C], int | None]
    top_p: float | Callable[[C], float | None]
    top_k: int | Callable[[C], int | None]
    seed: int | Callable[[C], int | None]
    stop_sequences: Sequence[str] | Callable[[C], Sequence[str]]
    metadata: JsonObject | Callable[[C], JsonObject]


class PlanFields(DecideFields[C], total=False):
    """What may be said about a plan: as about a decision, and where it ends."""

    stop_on: Allowed
    """Events that end the plan once they are sent."""
    max_steps: int | Callable[[C], int]
    """How many events it may pick at most; 8, if not given."""
    atomic: bool
    """Whether the events are tried out first, and then sent all together or not at all."""
