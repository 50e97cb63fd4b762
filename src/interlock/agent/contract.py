"""The whole contract with the outside: what a host hands in, and what its functions take and give back.

An executor carries out one model call. It gets a request (plain data: what to ask) and an info (where the request
stands in its run), and answers with a :class:`Choice` or a :class:`TextResult`. It may be async or plain. Transport
retries are its own business; whether a choice is legal, and what a tool answers, is none: that is judged and done
where the machine is.

An executor of texts takes one turn and hands back the calls in it, or it takes all turns itself and runs each call by
``info.call_tool``. One that can do neither, because what it stands on runs whole loops with tools of its own, says so
with an attribute of the function: ``execute.whole_loops = True``. It may write texts; an ``agent.act`` would be without
its events there, so that is refused before anything runs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json, to_jsonable_python

from interlock.agent.events import Event
from interlock.agent.messages import AgentMessage, ToolResultOutput
from interlock.agent.messages_schema import messages_schema
from interlock.agent.reasons import reason_of, reasons
from interlock.agent.received import object_of
from interlock.agent.requests import DecisionRequest
from interlock.agent.text_requests import TextRequest
from interlock.errors import InputError, NotJsonError
from interlock.statechart.events import event_to_json
from interlock.statechart.frozen import freeze

__all__ = [
    "AbortScope",
    "Choice",
    "DecideExecutor",
    "ExecutorInfo",
    "Executors",
    "FinishReason",
    "StreamExecutor",
    "TextExecutor",
    "TextResult",
    "ToolCall",
    "Usage",
    "runs_whole_loops",
]


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
    ``problem`` says why the answer is no choice at all, as the executor found it: several were made, or none, or the
    payload is no JSON. The choice is then refused for that reason, and ``event`` is what there was instead.
    """

    event: Event | Mapping[str, object]
    reason: str | None = None
    usage: Usage | None = None
    raw: object = None
    problem: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data, without ``raw``, which is the provider's own. Raises :class:`NotJsonError`."""
        return {
            "event": _json(event_to_json(self.event) if isinstance(self.event, Event) else self.event, "event"),
            "reason": _clean(self.reason),
            "usage": None if self.usage is None else asdict(self.usage),
            "problem": _clean(self.problem),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Choice:
        """Return what :meth:`to_json` wrote; raises :class:`InputError` for anything else."""
        read = _read(_ChoiceForm, data, "choice")
        return cls(freeze(read.event, "event"), read.reason, _usage(read.usage), None, read.problem)


FinishReason: TypeAlias = Literal["stop", "length", "tool-calls", "content-filter", "other"]
"""Why a model stopped: it was done, cut off at its token limit, waits for tools, or was held back."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants to be called. ``input`` is JSON, not trusted; ``id`` is what the answer goes to."""

    id: str
    name: str
    input: object = None


@dataclass(frozen=True, slots=True)
class TextResult:
    """One model turn. With ``tool_calls`` it is not the last: they are run, and the model is asked again.

    ``output`` is the text, or the JSON value where the request has an output schema (taken out of its envelope).
    ``messages`` is what the turn adds to the transcript, for an executor with a loop of its own or with parts that this
    library does not know; made from ``output`` and ``tool_calls``, if not given. ``reasoning`` goes to traces only.
    """

    output: object = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish_reason: FinishReason | None = None
    reasoning: str | None = None
    messages: tuple[AgentMessage, ...] = ()
    raw: object = None

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data, without ``raw``, which is the provider's own.

        Raises :class:`NotJsonError` and :class:`InvalidMessagesError` for what JSON cannot carry.
        """
        return {
            "output": _json(self.output, "output"),
            "tool_calls": [
                {"id": _clean(call.id), "name": _clean(call.name), "input": _json(call.input, "tool_calls.input")}
                for call in self.tool_calls
            ],
            "usage": None if self.usage is None else asdict(self.usage),
            "finish_reason": self.finish_reason,
            "reasoning": _clean(self.reasoning),
            "messages": messages_schema.dump(messages_schema.validate(self.messages)),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> TextResult:
        """Return what :meth:`to_json` wrote; raises :class:`InputError` for anything else."""
        read = _read(_TextForm, data, "text result")
        return cls(
            output=freeze(read.output, "output"),
            tool_calls=tuple(ToolCall(call.id, call.name, freeze(call.input, "input")) for call in read.tool_calls),
            usage=_usage(read.usage),
            finish_reason=read.finish_reason,
            reasoning=read.reasoning,
            messages=messages_schema.validate(read.messages),
        )


class AbortScope(Protocol):
    """Whether the call is still wanted. Async executors are cancelled; one in a thread may look here now and then."""

    @property
    def cancel_called(self) -> bool:
        """Whether nobody waits for the answer any more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorInfo:
    """Where a request stands: ``call_key`` is the same for the same call before and after a crash, and for no other."""

    run_id: str
    request_id: str
    call_key: str
    attempt: int = 1
    """1 for the first call of a request, 2 for the first retry of a decision or the second turn of a text."""
    on_chunk: Callable[[str], Awaitable[None]] | None = None
    """Shows a piece of text to whoever watches the run; a stream's own pieces are shown without it."""
    call_tool: Callable[[str, object], Awaitable[ToolResultOutput]] | None = None
    """``await call_tool(name, arguments)`` runs one of the request's tools, for an executor with a loop of its own."""
    abort: AbortScope | None = None


DecideExecutor: TypeAlias = Callable[[DecisionRequest, ExecutorInfo], Choice | Awaitable[Choice]]
TextExecutor: TypeAlias = Callable[[TextRequest, ExecutorInfo], TextResult | Awaitable[TextResult]]
StreamExecutor: TypeAlias = Callable[[TextRequest, ExecutorInfo], AsyncIterator[str | TextResult]]
"""Yields pieces of text and, last, the whole :class:`TextResult`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executors:
    """The model calls that a host can carry out; leave out what no machine of yours asks for."""

    generate_text: TextExecutor | None = None
    stream_text: StreamExecutor | None = None
    decide: DecideExecutor | None = None


def runs_whole_loops(executor: object) -> bool:
    """Whether an executor says of itself that it runs whole loops, and calls no tool of a request."""
    return getattr(executor, "whole_loops", False) is True


# -- as JSON ---------------------------------------------------------------------------------------------------------


class _Form(BaseModel, extra="forbid", strict=True):
    """What is written. Every field has to be there, so that nothing else is taken for it."""


class _UsageForm(_Form):
    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None
    reasoning_tokens: int | None
    cached_input_tokens: int | None


class _CallForm(_Form):
    id: str
    name: str
    input: Any


class _ChoiceForm(_Form):
    event: Any
    reason: str | None
    usage: _UsageForm | None
    problem: str | None


class _TextForm(_Form):
    output: Any
    tool_calls: list[_CallForm]
    usage: _UsageForm | None
    finish_reason: FinishReason | None
    reasoning: str | None
    messages: list[dict[str, Any]]


F = TypeVar("F", bound=_Form)


def _read(form: type[F], data: Mapping[str, object], what: str) -> F:
    given = object_of(data, what)
    try:
        return form.model_validate_json(to_json(given))
    except ValidationError as error:
        raise InputError(f"this is no {what}: {reasons(error)}", code="invalid-input") from None
    except ValueError as error:  # what cannot even be written
        raise InputError(f"this is no {what}: {reason_of(error)}", code="invalid-input") from None


def _usage(read: _UsageForm | None) -> Usage | None:
    return None if read is None else Usage(**read.model_dump())


def _json(value: object, path: str) -> object:
    """Return what an executor answered as frozen JSON: models as their fields, texts as any provider takes them."""
    if isinstance(value, str):
        return _clean(value)
    try:
        written = to_jsonable_python(value, inf_nan_mode="constants")
    except Exception as error:  # whatever an executor hands over may write itself
        raise NotJsonError(reason_of(error), path=path) from error
    frozen: object = freeze(written, path)
    return frozen


def _clean(text: str | None) -> str | None:
    # JSON carries no half of a surrogate pair; what is kept of an answer has it replaced as well.
    return text.encode(errors="replace").decode() if isinstance(text, str) else text
