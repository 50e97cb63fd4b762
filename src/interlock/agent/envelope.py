"""The form in which a structured answer is asked for: an object around it, since providers take no other root.

The reasoning, where it is asked for, comes first: what is written later can rest on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pydantic_core import from_json

from interlock.agent.plain import plain
from interlock.agent.reasons import short
from interlock.agent.requests import JsonObject
from interlock.agent.text_requests import TextRequest
from interlock.errors import InputError, InvalidOutputError
from interlock.statechart.frozen import freeze

__all__ = ["parse_provider_output", "provider_output_schema"]


def provider_output_schema(request: TextRequest) -> JsonObject:
    """Return the JSON schema that a provider is asked to keep to: ``{"reasoning"?, "result"}``.

    Raises :class:`InputError` for a request whose answer is text.
    """
    inner = dict(_schema(request))
    definitions = inner.pop("$defs", None)  # references are counted from the root
    reasoning = {"reasoning": {"type": "string", "description": "How you come to the result."}}
    envelope: dict[str, object] = {
        "type": "object",
        "properties": {**(reasoning if request.include_reasoning else {}), "result": inner},
        "required": ["result"],
        "additionalProperties": False,
    }
    if definitions is not None:
        envelope["$defs"] = definitions
    frozen: JsonObject = freeze(envelope)
    return frozen


def parse_provider_output(request: TextRequest, text: str) -> tuple[object, str | None]:
    """Return the value and the reasoning that a provider's answer holds; None for a reasoning that was not asked for.

    Whether the value fits the request is not judged here: that is done for every executor alike, before the machine
    sees it. Raises :class:`InvalidOutputError` for text that is no envelope.
    """
    _schema(request)
    try:
        data = plain(from_json(text, allow_inf_nan=False))
    except ValueError as error:
        raise _invalid(request, text, f"the answer is no JSON ({error})") from None
    if not isinstance(data, Mapping) or "result" not in data:
        raise _invalid(request, text, f"the answer has no 'result': {short(text)}")
    answer = cast("JsonObject", data)
    reasoning = answer.get("reasoning") if request.include_reasoning else None
    return answer["result"], reasoning if isinstance(reasoning, str) else None


def _schema(request: TextRequest) -> JsonObject:
    if request.output_schema is None:
        raise InputError(f"request {request.id!r} asks for text: there is no envelope to it", code="invalid-input")
    return request.output_schema


def _invalid(request: TextRequest, text: str, reason: str) -> InvalidOutputError:
    return InvalidOutputError(reason, request=request.name, request_id=request.id, partial_output=text)
