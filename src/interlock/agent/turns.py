"""The turns of a text request: what was said, which tools were called, and what they answered; kept as records.

One call of an executor is one turn. A turn that calls tools is kept before they run, each answer before the next one
runs, and then the model is asked again; so a run that is taken up elsewhere goes on where the records end. What is
written here any provider takes: every call has an id of its own and exactly one answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from interlock.agent.contract import FinishReason, TextResult, ToolCall, Usage
from interlock.agent.message_helpers import get_message_text
from interlock.agent.messages import (
    AgentMessage,
    AssistantMessage,
    ErrorTextOutput,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResultOutput,
    ToolResultPart,
)
from interlock.agent.messages_schema import messages_schema
from interlock.agent.plain_answers import plain_arguments, plain_text, plain_turn
from interlock.agent.reasons import is_a, reasons, short
from interlock.agent.text import TextRequestDefinition, TextSpec
from interlock.agent.text_requests import TextRequest, request_messages
from interlock.agent.tools import Tool
from interlock.agent.transcript import check_transcript, open_calls
from interlock.errors import (
    ExecutorError,
    InputError,
    InvalidMessagesError,
    InvalidOutputError,
    NotJsonError,
    RefusedError,
    StepLimitError,
    TruncatedError,
)
from interlock.statechart import OwedInvocation
from interlock.statechart.frozen import freeze
from interlock.statechart.owing import Records

__all__ = [
    "AnswerRecord",
    "Ledger",
    "TextTask",
    "TurnRecord",
    "answer_record",
    "answered",
    "checked_result",
    "final_output",
    "read_ledger",
    "step_limit",
    "text_task",
    "turn_record",
]

NOT_RUN = "The tool was not run."
"""What stands for the answer to a call where the turn has ended without one."""


class TurnRecord(BaseModel, frozen=True, extra="forbid"):
    """One turn of the model, as it is kept: what it adds to the transcript, and the calls that wait for answers."""

    kind: Literal["turn"] = "turn"
    messages: tuple[AgentMessage, ...]
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish_reason: FinishReason | None = None

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data."""
        return self.model_dump(mode="json")


class AnswerRecord(BaseModel, frozen=True, extra="forbid"):
    """What came of one tool call, as it is kept."""

    kind: Literal["answer"] = "answer"
    call: ToolCall
    output: ToolResultOutput

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data."""
        return self.model_dump(mode="json")


@dataclass(frozen=True, slots=True)
class Ledger:
    """What the records of a text request come to."""

    turns: tuple[TurnRecord, ...] = ()
    answers: tuple[AnswerRecord, ...] = ()
    said: tuple[AgentMessage, ...] = ()
    """The transcript of the turns before the last one."""

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls of the last turn that have no answer yet, in call order: they are run before the model is asked."""
        answered = {answer.call.id for answer in self.answers}
        return tuple(call for call in (self.turns[-1].calls if self.turns else ()) if call.id not in answered)

    @property
    def last_text(self) -> str:
        """What the model has said in its last turn."""
        said = self.turns[-1].messages if self.turns else ()
        return "".join(get_message_text(message) for message in said if isinstance(message, AssistantMessage))

    def messages(self) -> tuple[AgentMessage, ...]:
        """Return the transcript. A call that was never answered is answered by saying so."""
        if not self.turns:
            return ()
        last = self.turns[-1]
        if not last.calls:
            return (*self.said, *last.messages)
        answers = {answer.call.id: answer.output for answer in self.answers}
        return (*self.said, *last.messages, _answered(last.calls, answers))

    def then(self, record: TurnRecord | AnswerRecord) -> Ledger:
        """Return what these come to with one more record."""
        if isinstance(record, TurnRecord):
            return Ledger((*self.turns, record), self.answers, self.messages())
        return Ledger(self.turns, (*self.answers, record), self.said)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTask:
    """A text request that is owed: what is asked next, with which tools, and how far it has come."""

    definition: TextRequestDefinition[Any, Any]
    request: TextRequest
    tools: Mapping[str, Tool]
    ledger: Ledger
    acts: bool = False
    """Whether it is an act loop: it is over when its turns are, with whatever the model has said last."""

    def after(self, records: Iterable[object]) -> TextTask:
        """Return this task as it stands after these records (all of them): the same words, the turns of now."""
        ledger = read_ledger(records)
        left = self.request.max_steps - len(ledger.turns)
        return replace(self, ledger=ledger, request=self.request.with_turns(ledger.messages(), steps_remaining=left))


def text_task(owed: OwedInvocation) -> TextTask:
    """Return a running text request, worded from the snapshot that it is owed by.

    Raises :class:`StepError` where one of the author's functions fails, :class:`InputError` for an input that the
    request refuses, and for records that are none.
    """
    spec: object = owed.logic
    if not isinstance(spec, TextSpec):
        raise InputError(f"invocation {owed.identity!r} (source {owed.src!r}) is no text request", code="invalid-input")
    definition = spec.definition
    place = definition.place(owed.snapshot.machine_id, owed.state or "(root)")
    argument = owed.snapshot.context if spec.of_context else definition.read_input(owed.input)
    tools = definition.all_tools(spec.known, argument, place)
    name = owed.id if definition.name == owed.src else None  # written inline, and not named
    request = definition.worded(argument, tools, place, id=owed.identity, name=name)
    return TextTask(definition=definition, request=request, tools=tools, ledger=Ledger()).after(owed.records)


def read_ledger(records: Iterable[object]) -> Ledger:
    """Return what the records of an invocation come to; raises :class:`InputError` for what is no such record."""
    if isinstance(records, Records):
        return records.fold(_read_on, _EMPTY)
    found = _EMPTY
    for number, record in enumerate(records):
        found = _read_on(found, record, number)
    return found


_EMPTY = Ledger()


def _read_on(ledger: Ledger, record: object, number: int) -> Ledger:
    given = cast("Mapping[str, object]", record) if is_a(record, Mapping) else None
    kind = None if given is None else given.get("kind")
    try:
        if kind == "turn":
            return ledger.then(TurnRecord.model_validate(freeze(given)))
        if kind == "answer":
            return ledger.then(AnswerRecord.model_validate(freeze(given)))
    except ValidationError as error:
        raise InputError(f"record {number} is no {kind}: {reasons(error)}", code="invalid-input") from None
    except NotJsonError as error:
        raise InputError(f"record {number}: {error.message}", code="invalid-input") from None
    raise InputError(f"record {number} is neither a turn nor an answer: {short(record)}", code="invalid-input")


def checked_result(request: TextRequest, answer: object) -> TextResult:
    """Return what an executor answered if it is a :class:`TextResult`; else raise an error that shows how to."""
    if is_a(answer, TextResult):
        try:
            return plain_turn(cast("TextResult", answer))
        except ValueError as error:
            raise ExecutorError(f"request {request.id!r}: the executor's TextResult has {error}") from None
    slot = "stream_text" if request.mode == "stream" else "generate_text"
    fix = "wrap it: return TextResult(output=<that>, usage=...)"
    if answer is None or (request.mode == "stream" and is_a(answer, str)):
        fix = f"{'yield as the last item' if request.mode == 'stream' else 'return'} TextResult(output=...)"
    raise ExecutorError(
        f"request {request.id!r}: the {slot} executor returned {short(answer, 200)} ({type(answer).__name__}); {fix}"
    )


def turn_record(request: TextRequest, result: TextResult) -> TurnRecord:
    """Return a turn as it is kept. Ids of calls that are missing, or were used before, are replaced.

    Raises :class:`RefusedError` and :class:`TruncatedError` for a turn that ended before it was whole, and
    :class:`ExecutorError` for what no executor may return.
    """
    if result.finish_reason == "content-filter":
        raise RefusedError(
            "the provider holds the answer back (content filter)",
            request=request.name,
            request_id=request.id,
            partial_output=_text(result.output),
        )
    if result.finish_reason == "length" and result.tool_calls:
        raise TruncatedError(
            "cut off at the token limit in the middle of a tool call",
            request=request.name,
            request_id=request.id,
            partial_output=_text(result.output),
        )
    renamed, calls = _own_ids(request, result.tool_calls)
    messages = _given(request, result, renamed) if result.messages else _written(result, calls)
    return TurnRecord(messages=messages, calls=calls, usage=result.usage, finish_reason=result.finish_reason)


def answered(ledger: Ledger) -> int:
    """Return how many records there were when the call of now was first made: what it has asked itself is no part."""
    of_model = {asked.id for turn in ledger.turns for asked in turn.calls}
    return len(ledger.turns) + sum(answer.call.id in of_model for answer in ledger.answers)


def answer_record(call: ToolCall, output: ToolResultOutput) -> AnswerRecord:
    """Return a tool's answer as it is kept."""
    return AnswerRecord(call=call, output=output)


def final_output(definition: TextRequestDefinition[Any, Any], request: TextRequest, result: TextResult) -> object:
    """Return the answer of the last turn as strict JSON, checked by the type that was asked for.

    Raises :class:`TruncatedError` for a structured answer that was cut off, or an empty text,
    :class:`InvalidOutputError` for one that does not fit, :class:`ExecutorError` for a turn without any answer.
    """
    if result.finish_reason == "length" and (definition.output is not None or not result.output):
        raise TruncatedError(
            "cut off at the token limit before the answer was whole",
            request=request.name,
            request_id=request.id,
            partial_output=_text(result.output),
        )
    if definition.output is None and not is_a(result.output, str):
        said = "neither output nor tool_calls" if result.output is None else f"the output {short(result.output, 200)}"
        raise ExecutorError(
            f"request {request.id!r}: the executor's TextResult holds {said}; give the text: TextResult(output='...')"
        )
    try:
        return definition.write_output(result.output)
    except ValueError as error:
        raise InvalidOutputError(
            f"the answer does not fit: {error}",
            request=request.name,
            request_id=request.id,
            partial_output=_text(result.output),
        ) from None


def step_limit(request: TextRequest, calls: Sequence[ToolCall]) -> StepLimitError:
    """Return the error of a request whose last turn still calls tools."""
    named = ", ".join(dict.fromkeys(call.name for call in calls))
    turns = f"{request.max_steps} turn{'' if request.max_steps == 1 else 's'}"
    return StepLimitError(
        f"after {turns} the model still calls tools ({named}); raise max_steps, or say in the prompt when to answer",
        request=request.name,
        request_id=request.id,
    )


def _answered(calls: Sequence[ToolCall], answers: Mapping[str, ToolResultOutput]) -> ToolMessage:
    missing = ErrorTextOutput(value=NOT_RUN)
    return ToolMessage(
        content=tuple(
            ToolResultPart(tool_call_id=call.id, tool_name=call.name, output=answers.get(call.id, missing))
            for call in calls
        )
    )


def _own_ids(request: TextRequest, given: Sequence[ToolCall]) -> tuple[dict[str, str], tuple[ToolCall, ...]]:
    """Return calls whose ids nobody has used before, and which id each was given under."""
    taken = {
        part.tool_call_id
        for message in request_messages(request)
        if not isinstance(message.content, str)
        for part in message.content
        if isinstance(part, ToolCallPart | ToolResultPart)
    }
    renamed: dict[str, str] = {}
    calls: list[ToolCall] = []
    for number, call in enumerate(cast("Sequence[object]", given), 1):
        if not isinstance(call, ToolCall) or not isinstance(cast("object", call.name), str):
            raise ExecutorError(
                f"request {request.id!r}: tool_calls holds {short(call)}; give ToolCall(id=..., name=..., input=...)"
            )
        wanted = plain_text(str(call.id or "")) or f"call-{request.max_steps - request.steps_remaining + 1}-{number}"
        name, count = wanted, 1
        while name in taken:
            count += 1
            name = f"{wanted}~{count}"
        taken.add(name)
        renamed.setdefault(call.id, name)
        calls.append(ToolCall(id=name, name=plain_text(call.name), input=plain_arguments(call.input)))
    return renamed, tuple(calls)


def _written(result: TextResult, calls: Sequence[ToolCall]) -> tuple[AgentMessage, ...]:
    text = _text(result.output)
    if not calls:
        return (AssistantMessage(content=text or ""),)
    said = (TextPart(text=text),) if text else ()
    asked = tuple(ToolCallPart(tool_call_id=call.id, tool_name=call.name, input=call.input) for call in calls)
    return (AssistantMessage(content=(*said, *asked)),)


def _given(request: TextRequest, result: TextResult, renamed: Mapping[str, str]) -> tuple[AgentMessage, ...]:
    """Return the messages that an executor gave, if they say what its tool calls say."""
    try:
        messages = tuple(_renamed(message, renamed) for message in messages_schema.validate(result.messages))
    except InvalidMessagesError as error:
        raise ExecutorError(
            f"request {request.id!r}: the executor's TextResult(messages=...): {error.message}"
        ) from None
    foreign = next((message.role for message in messages if message.role not in ("assistant", "tool")), None)
    unanswered = open_calls(messages)
    if foreign is not None:
        wrong = f"a message of the role {foreign!r}, but a turn adds what the model and its tools say"
    elif set(unanswered) != set(renamed.values()) or len(unanswered) != len(result.tool_calls):
        wrong = f"open calls {list(unanswered)}, but tool_calls has {list(renamed.values())}"
    else:
        names = {renamed[call.id]: call.name for call in result.tool_calls}
        closing = _answered([ToolCall(identity, names[identity]) for identity in unanswered], {})
        problems = check_transcript((*messages, closing) if unanswered else messages)
        if not problems:
            return messages
        wrong = "; ".join(f"{problem.path}: {problem.fault}: {problem.reason}" for problem in problems)
    raise ExecutorError(f"request {request.id!r}: the executor's TextResult(messages=...) holds {wrong}")


def _renamed(message: AgentMessage, renamed: Mapping[str, str]) -> AgentMessage:
    if not isinstance(message, AssistantMessage) or isinstance(message.content, str):
        return message
    parts = tuple(
        part.model_copy(update={"tool_call_id": renamed.get(part.tool_call_id, part.tool_call_id)})
        if isinstance(part, ToolCallPart)
        else part
        for part in message.content
    )
    return message.model_copy(update={"content": parts})


def _text(output: object) -> str | None:
    if output is None or is_a(output, str):
        return None if output is None else plain_text(cast("str", output))
    try:
        return to_json(output).decode()
    except Exception:  # noqa: BLE001  # whatever an executor hands over may write itself
        return plain_text(short(output, 2000))
