"""Decisions as Chat Completions take them: a forced choice among tools, or one JSON object that names the event.

Either way the provider may be able to hold the model to what is offered. Whether the choice is one of the offered
events, and whether it is legal, is judged elsewhere, from what :meth:`DecisionForm.read` gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from interlock.adapters.lowering.arguments import Malformed, read_arguments
from interlock.adapters.lowering.completions import Completion, WrittenCall
from interlock.adapters.lowering.names import wire_name
from interlock.adapters.lowering.outcomes import check_whole, paid
from interlock.adapters.lowering.schemas import embedded, restored, strict_schema
from interlock.adapters.lowering.tools import WireTool, check_count, wire_tool
from interlock.agent.contract import Choice
from interlock.agent.requests import DecisionRequest

__all__ = ["DecideBy", "DecisionForm", "decision_form"]

DecideBy: TypeAlias = Literal["tools", "json"]
"""How a model is made to choose: by a forced tool call, or by an answer held to a JSON schema."""

_KEY = "event"
_LONGEST = 2_000
"""Characters of an unusable answer that are kept."""


@dataclass(frozen=True, slots=True)
class DecisionForm:
    """How one decision is asked, and how its answer is read. ``fields`` go into the body of the call."""

    request: DecisionRequest
    by: DecideBy
    fields: Mapping[str, object]
    tools: Mapping[str, WireTool]
    strict: bool

    def read(self, completion: Completion) -> Choice:
        """Return what was chosen, or the problem that the answer is none.

        Raises :class:`TruncatedError` or :class:`RefusedError`: asking again would not change these.
        """
        with paid(completion):
            check_whole(completion, self.request, whole=True)
        event, problem = self._by_tools(completion) if self.by == "tools" else self._by_json(completion)
        said = completion.text.strip() if self.by == "tools" and completion.calls else ""
        return Choice(
            event=event, reason=said or None, usage=completion.usage, raw=dict(completion.raw), problem=problem
        )

    def _by_tools(self, completion: Completion) -> tuple[Mapping[str, object], str | None]:
        calls = completion.calls
        if len(calls) == 1:
            return self._called(calls[0])
        if not calls:
            return {"text": completion.text[:_LONGEST]}, "no choice was made: the answer calls no tool"
        names = ", ".join(self._type(call) for call in calls)
        made = [{"type": self._type(call), "arguments": str(call.arguments)[:_LONGEST]} for call in calls[:8]]
        return {"choices": made}, f"{len(calls)} choices were made at once ({names[:200]}); exactly one is needed"

    def _called(self, call: WrittenCall) -> tuple[Mapping[str, object], str | None]:
        kind = self._type(call)
        given = read_arguments(call.arguments)
        if isinstance(given, Malformed):
            return {"type": kind, "arguments": given.text[:_LONGEST]}, given.reason
        tool = self.tools.get(call.name)
        fields = given if tool is None else tool.arguments(given)
        # The type comes last: what the model calls is what it chose, whatever it writes into the arguments.
        return {**cast("Mapping[str, object]", fields), "type": kind}, None

    def _by_json(self, completion: Completion) -> tuple[Mapping[str, object], str | None]:
        answer = read_arguments(completion.text)
        if isinstance(answer, Malformed):
            reason = answer.reason.replace("the arguments are", "the answer is")
            return {"text": answer.text[:_LONGEST]}, f"no choice was made: {reason}"
        chosen = answer.get(_KEY)
        if not isinstance(chosen, Mapping):
            return answer, f"no choice was made: the answer has no object {_KEY!r}"
        event = cast("Mapping[str, object]", chosen)
        for offered in self.request.events:
            if self.strict and event.get("type") == offered.type:
                fields = restored(offered.input_schema, {key: value for key, value in event.items() if key != "type"})
                return {**cast("Mapping[str, object]", fields), "type": offered.type}, None
        return event, None

    def _type(self, call: WrittenCall) -> str:
        tool = self.tools.get(call.name)
        return call.name if tool is None else tool.name


def decision_form(request: DecisionRequest, *, by: DecideBy, strict: bool) -> DecisionForm:
    """Return how a decision is asked. With ``strict``, decoding is constrained as far as the schemas can be said so.

    Raises :class:`UnsupportedRequestError` where more events are offered than a provider takes tools.
    """
    if by == "json":
        schema, closed = _choice_schema(request, strict=strict)
        wanted = {"name": "choice", "schema": schema, "strict": closed}
        return DecisionForm(
            request, by, {"response_format": {"type": "json_schema", "json_schema": wanted}}, {}, closed
        )
    check_count(
        request.events,
        place=f"decision {request.name or request.id!r}",
        advice="narrow it down with allowed_events, or decide by JSON (decide='json')",
    )
    tools = {
        event.tool_name: wire_tool(
            name=event.type,
            wire=event.tool_name,
            description=event.description or f"Choose the event {event.type}.",
            schema=event.input_schema,
            strict=strict,
        )
        for event in request.events
    }
    fields = {
        "tools": [tool.sent for tool in tools.values()],
        "tool_choice": "required",
        "parallel_tool_calls": False,
    }
    return DecisionForm(request, by, fields, tools, strict)


def _choice_schema(request: DecisionRequest, *, strict: bool) -> tuple[dict[str, object], bool]:
    if any(event.input_schema.get("properties") for event in request.events):
        definitions: dict[str, object] = {}
        members: list[object] = []
        for event in request.events:
            payload, inner = embedded(event.input_schema, prefix=f"{wire_name(event.type)}.")
            definitions |= inner
            properties = cast("Mapping[str, object]", payload.get("properties") or {})
            required = cast("list[str]", payload.get("required") or [])
            members.append(
                {
                    "type": "object",
                    "description": event.description,
                    "properties": {"type": {"type": "string", "enum": [event.type]}, **properties},
                    "required": ["type", *required],
                    "additionalProperties": payload.get("additionalProperties", False),
                }
            )
        one: dict[str, object] = {"anyOf": members}
        beside: dict[str, object] = {"$defs": definitions} if definitions else {}
    else:
        listed = "\n".join(f"{event.type}: {event.description}" for event in request.events if event.description)
        kinds: dict[str, object] = {"type": "string", "enum": [event.type for event in request.events]}
        if listed:
            kinds["description"] = listed
        one, beside = (
            {"type": "object", "properties": {"type": kinds}, "required": ["type"], "additionalProperties": False},
            {},
        )
    schema: dict[str, object] = {
        "type": "object",
        "properties": {_KEY: one},
        "required": [_KEY],
        "additionalProperties": False,
        **beside,
    }
    closed = strict_schema(schema) if strict else None
    return (schema, False) if closed is None else (closed, True)
