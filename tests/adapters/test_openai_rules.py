"""The strict server is itself held to what it promises: each of these the real API refuses with a 400."""

import copy

import pytest

from .openai_rules import RefusedRequestError, check

TOOL = {"type": "function", "function": {"name": "clock", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "a", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
ASSISTANT = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TOOL_ANSWER = {"role": "tool", "tool_call_id": "a", "content": "noon"}
USER = {"role": "user", "content": "Hi."}
BODY = {"model": "m", "messages": [USER], "tools": [TOOL]}


def strict(schema: dict) -> dict:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}}


def tool(**changes) -> dict:
    made = copy.deepcopy(TOOL)
    made["function"] |= changes
    return {"tools": [made]}


def closed(**field) -> dict:
    return {"type": "object", "properties": {"a": field}, "required": ["a"], "additionalProperties": False}


def test_a_good_request_is_taken():
    check({**BODY, "messages": [USER, ASSISTANT, TOOL_ANSWER], "tool_choice": "required", "temperature": 1})
    check({**BODY, **strict(closed(type="string"))})
    check({**BODY, **strict({**closed(**{"$ref": "#/$defs/A"}), "$defs": {"A": closed(type=["string", "null"])}})})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"top_k": 4}, "Unrecognized request argument"),
        ({"model": ""}, "model"),
        ({"messages": []}, "empty array"),
        ({"temperature": 2.5}, "temperature"),
        ({"max_completion_tokens": 0}, "below minimum"),
        ({"max_completion_tokens": 5, "max_tokens": 5}, "both limits"),
        ({"stop": list("abcde")}, "stop"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"tools": []}, "empty array"),
        ({"tools": [TOOL] * 129}, "too long"),
        ({"tools": [TOOL, TOOL]}, "unique"),
        (tool(name="order.cancel"), "pattern"),
        (tool(name="x" * 65), "pattern"),
        (tool(description="x" * 1025), "too long"),
        (tool(parameters={"type": "object"}), "missing properties"),
        (tool(parameters={"anyOf": []}), 'type "object"'),
        (tool(parameters={"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}), "can't resolve"),
        ({"tool_choice": "any"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "other"}}}, "not found"),
        (
            strict({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            "additionalProperties",
        ),
        (strict({**closed(type="string"), "required": []}), "required"),
        (strict(closed(type="string", default="x")), "default"),
        (strict(closed(type="string", maxLength=3)), "maxLength"),
        (strict(closed(oneOf=[{"type": "string"}])), "oneOf"),
        (strict(closed()), "no type"),
        (strict(closed(type="array")), "missing items"),
        (strict(closed(type="string", pattern="(?=x)")), "pattern"),
        (strict(closed(type="string", format="uri")), "format"),
        (strict({**closed(**{"$ref": "#/$defs/A", "description": "x"}), "$defs": {"A": closed()}}), "beside it"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "role"),
        ({"messages": [{**USER, "id": 1}]}, "Unknown parameter"),
        ({"messages": [{"role": "user", "content": " "}]}, "non-empty"),
        ({"messages": [{"role": "user", "content": []}]}, "array of parts"),
        ({"messages": [{"role": "assistant", "content": None}]}, "content"),
        ({"messages": [{"role": "assistant", "content": "x", "tool_calls": []}]}, "empty array"),
        ({"messages": [USER, TOOL_ANSWER]}, "preceding"),
        ({"messages": [USER, ASSISTANT]}, "followed by tool messages"),
        ({"messages": [USER, ASSISTANT, USER, TOOL_ANSWER]}, "followed by tool messages"),
        ({"messages": [USER, {**ASSISTANT, "tool_calls": [{**CALL, "id": "x" * 41}]}]}, "too long"),
        ({"messages": [USER, {**ASSISTANT, "tool_calls": [CALL, CALL]}]}, "duplicate"),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}],
                    }
                ]
            },
            "no image/png",
        ),
    ],
)
def test_a_bad_request_is_refused(changes, why):
    with pytest.raises(RefusedRequestError, match=why):
        check({**BODY, **changes})


@pytest.mark.parametrize(("field", "value"), [("tool_choice", "auto"), ("parallel_tool_calls", False)])
def test_what_belongs_to_tools_needs_tools(field, value):
    with pytest.raises(RefusedRequestError, match="only allowed when 'tools'"):
        check({"model": "m", "messages": [USER], field: value})
