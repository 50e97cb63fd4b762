"""What a run tells of itself, as one ordered stream of frozen events.

An event holds everything, prompts and answers too; its JSON leaves those out unless it is asked for them. A request
that starts ends in exactly one of :class:`RequestEnded`, :class:`RequestFailed` and :class:`RequestCancelled`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Literal, TypeAlias, cast

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from interlock.agent.contract import FinishReason, ToolCall, Usage
from interlock.agent.messages import AgentMessage, ToolResultOutput
from interlock.agent.requests import DecisionAttempt, DecisionRequest
from interlock.agent.text_requests import TextRequest
from interlock.errors import ErrorInfo
from interlock.run.origin import Origin
from interlock.run.results import Cause
from interlock.run.usage import RunUsage
from interlock.statechart import UNSET, Input, Snapshot

__all__ = [
    "TRACE_VERSION",
    "AtRest",
    "ChoiceRefused",
    "Chunk",
    "EventEmitted",
    "EventIgnored",
    "MakeTrace",
    "RequestCancelled",
    "RequestEnded",
    "RequestFailed",
    "RequestKind",
    "RequestStarted",
    "RunEnded",
    "RunStarted",
    "Stamp",
    "StepPicked",
    "ToolAnswered",
    "TraceEvent",
    "Transition",
    "TurnTaken",
]

TRACE_VERSION = 1
"""Of the form of trace events. New kinds and new fields do not raise it."""

RequestKind: TypeAlias = Literal["decision", "plan", "text", "act", "call", "input"]
"""What is asked of whom: a model to decide, a model to write, a function to answer."""

_BODY = {"body": True}


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which run tells, of which machine, when (Unix seconds), and as the how-manieth thing (from 1, without gaps)."""

    run_id: str
    seq: int
    at: float
    machine_id: str
    machine_version: str


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One thing that happened; the classes below say what."""

    type: ClassVar[str] = ""

    stamp: Stamp

    @property
    def seq(self) -> int:
        """The number of the event in its run."""
        return self.stamp.seq

    def to_json(self, *, bodies: bool = False) -> dict[str, object]:
        """Return this as JSON data.

        Arguments:
            bodies: whether to write down what was said as well: inputs, prompts, answers, payloads, error messages.
        """
        stamp = self.stamp
        data: dict[str, object] = {
            "schema_version": TRACE_VERSION,
            "type": self.type,
            "run_id": stamp.run_id,
            "seq": stamp.seq,
            "at": stamp.at,
            "machine_id": stamp.machine_id,
            "machine_version": stamp.machine_version,
        }
        for item in fields(self):
            if item.name not in ("stamp", "raw") and (bodies or not item.metadata):
                data[item.name] = _json(getattr(self, item.name))
        return data


MakeTrace: TypeAlias = Callable[[Stamp], TraceEvent]
"""Makes an event once its number is known; not called where nobody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(TraceEvent):
    """A run begins, afresh from an input or (``resumed``) from a snapshot."""

    type: ClassVar[str] = "run.start"
    resumed: bool
    input: object = field(default=None, metadata=_BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(TraceEvent):
    """A run has settled; the last event of its stream. A run whose task is cancelled tells no end."""

    type: ClassVar[str] = "run.end"
    status: Literal["done", "idle", "failed"]
    cause: Cause | None = None
    code: str | None = None
    usage: RunUsage
    output: object = field(default=None, metadata=_BODY)
    error: ErrorInfo | None = field(default=None, metadata=_BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class AtRest(TraceEvent):
    """A session has nothing left to do and waits for an event; ``accepted`` are those that it takes."""

    type: ClassVar[str] = "rest"
    accepted: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition(TraceEvent):
    """A step was taken; ``changed`` says whether it led anywhere. Number 0 is the start, with no input."""

    type: ClassVar[str] = "transition"
    index: int
    changed: bool
    value: object
    """Which states are active now."""
    event: str | None
    """The type of the event that was delivered, if it was one."""
    by: str | None
    invocation: str | None
    """Which invocation was heard, as its path."""
    timer: str | None
    input: Input | None = field(default=None, metadata=_BODY)
    snapshot: Snapshot[Any] | None = field(default=None, metadata=_BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTrace(TraceEvent):
    """Something about one request: ``origin`` says whose it is, ``kind`` what it is."""

    origin: Origin
    kind: RequestKind


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStarted(RequestTrace):
    """Work has begun that the machine waits for. ``resumed`` if records of it were there already."""

    type: ClassVar[str] = "request.start"
    src: str
    model: str | None = None
    resumed: bool = False
    request: DecisionRequest | TextRequest | None = field(default=None, metadata=_BODY)
    """None for the call of a function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestEnded(RequestTrace):
    """The work is done, and its output goes to the machine."""

    type: ClassVar[str] = "request.end"
    usage: RunUsage
    """What this run has spent on it, in how many calls of models."""
    chunks: int = 0
    """Pieces of text that were shown."""
    finish_reason: FinishReason | None = None
    output: object = field(default=None, metadata=_BODY)
    reasoning: str | None = field(default=None, metadata=_BODY)
    raw: object = field(default=None, metadata=_BODY)
    """What the executor handed over as the provider's own answer; never in JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFailed(RequestTrace):
    """The work has failed, and the error goes to the machine."""

    type: ClassVar[str] = "request.error"
    code: str
    error_type: str
    usage: RunUsage
    chunks: int = 0
    error: ErrorInfo = field(metadata=_BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCancelled(RequestTrace):
    """The machine has left the state that waited for the work, or the run was ended."""

    type: ClassVar[str] = "request.cancelled"
    usage: RunUsage
    chunks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRefused(RequestTrace):
    """A choice was refused, and the model is asked again unless that was its last try."""

    type: ClassVar[str] = "request.attempt"
    failure: str
    usage: Usage | None = None
    attempt: DecisionAttempt = field(metadata=_BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPicked(RequestTrace):
    """A plan has picked an event."""

    type: ClassVar[str] = "request.step"
    event_type: str
    usage: Usage | None = None
    event: object = field(default=None, metadata=_BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTaken(RequestTrace):
    """A model has taken a turn of a text request, and calls ``tools``; the last turn calls none."""

    type: ClassVar[str] = "turn"
    tools: tuple[str, ...] = ()
    usage: Usage | None = None
    finish_reason: FinishReason | None = None
    messages: tuple[AgentMessage, ...] = field(default=(), metadata=_BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswered(RequestTrace):
    """A tool has answered a model; ``failed`` if by saying what went wrong."""

    type: ClassVar[str] = "tool"
    tool: str
    failed: bool
    seconds: float
    call: ToolCall = field(metadata=_BODY)
    output: ToolResultOutput = field(metadata=_BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk(RequestTrace):
    """A piece of text was shown: the ``number``-th of its request, ``length`` characters long."""

    type: ClassVar[str] = "chunk"
    number: int
    length: int
    text: str = field(metadata=_BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventEmitted(TraceEvent):
    """The machine has emitted an event."""

    type: ClassVar[str] = "emitted"
    event_type: str
    address: tuple[str, ...] = ()
    event: object = field(default=None, metadata=_BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventIgnored(TraceEvent):
    """An event came from outside that nothing was waiting for, or (``duplicate``) that had been delivered before."""

    type: ClassVar[str] = "ignored"
    event_type: str
    duplicate: bool = False
    event: object = field(default=None, metadata=_BODY)


def _json(value: Any) -> object:  # noqa: ANN401  # whatever a trace event holds
    """Return a value as JSON; what has no JSON is shown as text, for telling of a run must not end it."""
    if isinstance(value, Snapshot):
        return cast("Snapshot[object]", value).dump()
    if isinstance(value, Input):
        given = {name: getattr(value, name) for name in Input.__slots__}
        return {name: _json(item) for name, item in given.items() if item is not UNSET and item not in (None, ())}
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in cast("list[object]", value)]
    if callable(own := getattr(value, "to_json", None)) and not isinstance(value, type):
        return own()
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _json(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, BaseModel):
        kind = getattr(value, "type", None)
        return {**({"type": kind} if isinstance(kind, str) else {}), **value.model_dump(mode="json")}
    return to_jsonable_python(value, inf_nan_mode="strings", serialize_unknown=True)
