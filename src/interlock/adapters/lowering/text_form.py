"""Text requests as Chat Completions take them: one model turn, with tools and a schema for the answer if need be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from interlock.adapters.lowering.arguments import Malformed, read_arguments
from interlock.adapters.lowering.completions import Completion
from interlock.adapters.lowering.names import wire_name
from interlock.adapters.lowering.outcomes import check_whole, paid
from interlock.adapters.lowering.schemas import object_schema, restored, strict_schema
from interlock.adapters.lowering.tools import WireTool, check_count, wire_tool
from interlock.agent.contract import TextResult, ToolCall
from interlock.agent.envelope import parse_provider_output, provider_output_schema
from interlock.agent.message_helpers import assistant_message
from interlock.agent.messages import AgentMessage, TextPart, ToolCallPart
from interlock.agent.text_requests import TextRequest, request_messages
from interlock.errors import UnsupportedRequestError, did_you_mean

__all__ = ["TextForm", "text_form"]


@dataclass(frozen=True, slots=True)
class TextForm:
    """How one turn is asked for, and how its answer is read. ``fields`` go into the body of the call."""

    request: TextRequest
    fields: Mapping[str, object]
    tools: Mapping[str, WireTool]
    strict_output: bool

    @property
    def structured(self) -> bool:
        """Whether the answer is a value, and its text no text for anybody's eyes."""
        return self.request.output_schema is not None

    def read(self, completion: Completion) -> TextResult:
        """Return the turn. Raises :class:`TruncatedError`, :class:`RefusedError` or :class:`InvalidOutputError`."""
        with paid(completion):
            return self._read(completion)

    def _read(self, completion: Completion) -> TextResult:
        check_whole(completion, self.request, whole=self.structured)
        result = TextResult(
            output=completion.text,
            usage=completion.usage,
            finish_reason=completion.finish_reason,
            reasoning=completion.reasoning,
            raw=dict(completion.raw),
        )
        if completion.calls:
            calls = self._calls(completion)
            return replace(result, output=None, tool_calls=calls, messages=(_turn(completion.text, calls),))
        if not self.structured:
            return result
        output, reasoning = parse_provider_output(self.request, completion.text)
        if self.strict_output and self.request.output_schema is not None:
            output = restored(self.request.output_schema, output)
        return replace(result, output=output, reasoning=reasoning or result.reasoning)

    def _calls(self, completion: Completion) -> tuple[ToolCall, ...]:
        # Some servers count ids anew with every turn, some give none; here an id names one call of a transcript.
        taken = {
            part.tool_call_id
            for message in request_messages(self.request)
            if not isinstance(message.content, str)
            for part in message.content
            if isinstance(part, ToolCallPart)
        }
        calls: list[ToolCall] = []
        for call in completion.calls:
            wanted = call.id or "call"
            identity, number = wanted, 1
            while identity in taken or not identity:
                number += 1
                identity = f"{wanted}_{number}"
            taken.add(identity)
            tool = self.tools.get(call.name)
            given = read_arguments(call.arguments)
            if isinstance(given, Malformed):
                # Passed on as the text that it is: who runs the tools says to the model what is wrong with it.
                calls.append(ToolCall(identity, call.name if tool is None else tool.name, given.text))
            else:
                fields = given if tool is None else tool.arguments(given)
                calls.append(ToolCall(identity, call.name if tool is None else tool.name, fields))
        return tuple(calls)


def text_form(request: TextRequest, *, strict: bool) -> TextForm:
    """Return how a turn is asked for. With ``strict``, decoding is constrained as far as the schemas can be said so.

    Raises :class:`UnsupportedRequestError` for too many tools and for a ``tool_choice`` that names none of them.
    """
    fields: dict[str, object] = {}
    closed: dict[str, object] | None = None
    if request.output_schema is not None:
        envelope = provider_output_schema(request)
        closed = strict_schema(envelope) if strict else None
        wanted = {
            "name": wire_name(request.name) if request.name else "answer",
            "schema": object_schema(envelope) if closed is None else closed,
            "strict": closed is not None,
        }
        fields["response_format"] = {"type": "json_schema", "json_schema": wanted}
    tools: dict[str, WireTool] = {}
    if request.tools:
        place = f"text request {request.name or request.id!r}"
        check_count(request.tools, place=place, advice="give the request fewer tools=")
        for tool in request.tools:
            name = wire_name(tool.name)
            tools[name] = wire_tool(
                name=tool.name, wire=name, description=tool.description, schema=tool.input_schema, strict=strict
            )
        fields["tools"] = [tool.sent for tool in tools.values()]
        if (choice := _tool_choice(request, tools, place)) is not None:
            fields["tool_choice"] = choice
    return TextForm(request, fields, tools, closed is not None)


def _tool_choice(request: TextRequest, tools: Mapping[str, WireTool], place: str) -> object:
    if request.steps_remaining <= 1 and request.kind != "act":
        return "none"  # the last turn can only answer; of an act loop, the calls of the last turn count as well
    if request.turns or request.tool_choice is None:
        return None  # a choice that is forced in every turn would never come to an answer
    if request.tool_choice in ("auto", "none", "required"):
        return request.tool_choice
    name = wire_name(request.tool_choice)
    if name not in tools:
        raise UnsupportedRequestError(
            f"{place}: tool_choice={request.tool_choice!r} is none of its tools. "
            + did_you_mean(request.tool_choice, ["auto", "none", "required", *(tool.name for tool in tools.values())])
        )
    return {"type": "function", "function": {"name": name}}


def _turn(text: str, calls: tuple[ToolCall, ...]) -> AgentMessage:
    said = [TextPart(text=text)] if text.strip() else []
    made = [ToolCallPart(tool_call_id=call.id, tool_name=call.name, input=call.input) for call in calls]
    return assistant_message([*said, *made])
