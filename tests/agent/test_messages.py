"""Messages: their parts, their JSON in either spelling, and what is wrong with data that is none."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from pydantic import AnyUrl, BaseModel, TypeAdapter, ValidationError

import interlock.agent as il
import interlock.statechart as sc
from interlock.errors import InvalidMessagesError
from tests.agent.strategies import messages, transcripts

READER: TypeAdapter[tuple[il.AgentMessage, ...]] = TypeAdapter(tuple[il.AgentMessage, ...])

CONVERSATION = (
    il.system_message("Be brief."),
    il.user_message([il.TextPart(text="What is this?"), il.ImagePart(image=b"\xff\x00\x01", media_type="image/png")]),
    il.assistant_message([il.ToolCallPart(tool_call_id="1", tool_name="look", input={"zoom": [1, 2]})]),
    il.tool_message([il.ToolResultPart(tool_call_id="1", tool_name="look", output=il.TextOutput(value="a cat"))]),
    il.assistant_message("A cat."),
)

# As the AI SDK writes it.
WRITTEN = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image", "image": "/wAB", "mediaType": "image/png"},
        ],
    },
    {
        "role": "assistant",
        "content": [{"type": "tool-call", "toolCallId": "1", "toolName": "look", "input": {"zoom": [1, 2]}}],
    },
    {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "1",
                "toolName": "look",
                "output": {"type": "text", "value": "a cat"},
            }
        ],
    },
    {"role": "assistant", "content": "A cat."},
]


class Talk(BaseModel, frozen=True):
    messages: tuple[il.AgentMessage, ...] = ()


@dataclass(frozen=True)
class Speech:
    messages: tuple[il.AgentMessage, ...] = ()


def test_the_json_of_a_transcript_is_that_of_the_ai_sdk():
    assert il.messages_schema.dump(CONVERSATION) == WRITTEN
    assert READER.dump_python(CONVERSATION, mode="json") == WRITTEN
    assert il.messages_schema.validate(WRITTEN) == CONVERSATION


@given(transcripts)
def test_what_is_dumped_loads_as_it_was(given: tuple[il.AgentMessage, ...]):
    written = il.messages_schema.dump(given)
    assert il.messages_schema.validate(json.loads(json.dumps(written))) == given
    assert il.messages_schema.validate(READER.dump_python(given)) == given
    assert READER.validate_json(READER.dump_json(given)) == given
    assert READER.validate_json(READER.dump_json(given, by_alias=False)) == given


@given(messages)
def test_messages_are_values(message: il.AgentMessage):
    assert hash(message) == hash(type(message).model_validate(message.model_dump()))
    with pytest.raises(ValidationError, match="frozen"):
        message.content = ""


@pytest.mark.parametrize("context", [Talk(messages=CONVERSATION), Speech(CONVERSATION)])
def test_a_context_holds_messages_with_their_bytes(context: object):
    agent = il.setup_agent(context=type(context), events=[])
    machine = agent.machine("talk", context=context, initial="a", states={"a": agent.state()})
    snapshot = sc.initial_transition(machine)[0]
    loaded = machine.load(json.loads(snapshot.to_json()))
    assert loaded.context == context
    assert snapshot.dump()["context"]["messages"] == WRITTEN
    assert loaded.context.messages[1].content[1].image == b"\xff\x00\x01"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (b"\xff\xfe", b"\xff\xfe"),
        (bytearray(b"\xff"), b"\xff"),
        (memoryview(b"\xff"), b"\xff"),
        ("//4=", b"\xff\xfe"),
        ("__4", b"\xff\xfe"),
        (" //4=\n", b"\xff\xfe"),
        ("", b""),
        ("https://a.example/b?c=d", "https://a.example/b?c=d"),
        ("data:text/plain,hello", "data:text/plain,hello"),
        (AnyUrl("https://a.example/b"), "https://a.example/b"),
    ],
)
def test_text_is_a_url_or_base64(given: object, kept: object):
    part = il.FilePart.model_validate({"data": given, "mediaType": "text/plain"})
    assert part.data == kept
    assert il.FilePart.model_validate_json(part.model_dump_json()) == part


@pytest.mark.parametrize("given", ["no base64!", "Zg=x", "a", 3, None, {"0": 255}])
def test_other_data_is_refused(given: object):
    with pytest.raises(ValidationError):
        il.ImagePart(image=given)


@pytest.mark.parametrize(
    ("given", "path", "reason"),
    [
        (3, "value", "needs a list, not 3"),
        ("hello", "value", "needs a list, not 'hello'"),
        ({"role": "user", "content": "x"}, "value", "needs a list"),
        ([3], "[0]", "needs an object, not 3"),
        ([{"content": "x"}], "[0]", "needs a 'role'"),
        ([{"role": "usr", "content": "x"}], "[0]", "there is no role 'usr'. Did you mean 'user'?"),
        ([{"role": "function", "content": "x"}], "[0]", "Known: assistant, system, tool, user"),
        ([{"role": "user", "content": "x"}, {"role": "user"}], "[1].content", "is missing"),
        ([{"role": "user", "content": 5}], "[0].content", "needs text or a list of parts, not 5"),
        ([{"role": "system", "content": [{"type": "text", "text": "x"}]}], "[0].content", "valid string"),
        ([{"role": "system", "content": b"x"}], "[0].content", "valid string"),
        ([{"role": "tool", "content": "x"}], "[0].content", "needs a list, not 'x'"),
        (
            [{"role": "tool", "content": [{"type": "text", "text": "x"}]}],
            "[0].content[0]",
            "a part of type 'text' cannot stand here; possible are: tool-result",
        ),
        (
            [{"role": "user", "content": [{"type": "tool-call"}]}],
            "[0].content[0]",
            "a part of type 'tool-call' cannot stand here; possible are: text, image, file",
        ),
        (
            [{"role": "assistant", "content": [{"type": "image", "image": "AA=="}]}],
            "[0].content[0]",
            "a part of type 'image' cannot stand here",
        ),
        ([{"role": "tool", "content": [{"type": "txt"}]}], "[0].content[0]", "no type 'txt' here. Known: tool-result"),
        ([{"role": "user", "content": [{"type": "txt"}]}], "[0].content[0]", "Did you mean 'text'?"),
        ([{"role": "user", "content": [{}]}], "[0].content[0]", "needs a 'type'"),
        ([{"role": "user", "content": ["x"]}], "[0].content[0]", "needs an object, not 'x'"),
        ([{"role": "user", "content": [{"type": "text"}]}], "[0].content[0].text", "is missing"),
        ([{"role": "user", "content": [{"type": "image"}]}], "[0].content[0].image", "is missing"),
        ([{"role": "user", "content": [{"type": "file", "data": "AA=="}]}], "[0].content[0].mediaType", "is missing"),
        (
            [{"role": "user", "content": [{"type": "image", "image": "?!"}]}],
            "[0].content[0].image",
            "is neither bytes, nor a URL, nor base64 text",
        ),
        (
            [{"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "1", "toolName": "t"}]}],
            "[0].content[0].input",
            "is missing",
        ),
        (
            [{"role": "assistant", "content": [{"type": "tool-call", "toolCallId": 1, "toolName": "t", "input": 1}]}],
            "[0].content[0].toolCallId",
            "valid string",
        ),
        (
            [{"role": "assistant", "content": [{"type": "tool-call", "tool_call_id": "", "tool_name": 1, "input": 1}]}],
            "[0].content[0].tool_name",
            "valid string",
        ),
        (
            [
                {
                    "role": "tool",
                    "content": [{"type": "tool-result", "toolCallId": "1", "toolName": "t", "output": {"type": "jsn"}}],
                }
            ],
            "[0].content[0].output",
            "there is no type 'jsn' here. Did you mean 'json'",
        ),
        (
            [
                {
                    "role": "tool",
                    "content": [
                        {
                            "type": "tool-result",
                            "toolCallId": "1",
                            "toolName": "t",
                            "output": {"type": "content", "value": [{"type": "file"}]},
                        }
                    ],
                }
            ],
            "[0].content[0].output.value[0]",
            "a part of type 'file' cannot stand here; possible are: text, image",
        ),
        ([{"role": "user", "content": "x", "name": "Bo"}], "[0].name", "provider_options"),
        (
            [{"role": "user", "content": "x", "providerOptions": {"a": {"b": float("nan")}}}],
            "[0].providerOptions",
            "nan",
        ),
        (
            [{"role": "user", "content": "x", "providerOptions": {"a": 3}}],
            "[0].providerOptions.a",
            "needs an object, not 3",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(given: object, path: str, reason: str):
    with pytest.raises(InvalidMessagesError) as caught:
        il.messages_schema.validate(given)
    (found,) = caught.value.problems
    assert found[0] == path
    assert reason in found[1]
    assert caught.value.code == "invalid-messages"
    assert f"{path}: " in str(caught.value)
    assert not il.messages_schema.accepts(given)


def test_all_problems_are_listed_and_a_few_are_shown():
    with pytest.raises(InvalidMessagesError, match="and 2 more") as caught:
        il.messages_schema.validate([{"role": "x"}] * 7)
    assert len(caught.value.problems) == 7
    assert il.messages_schema.accepts([])


def test_json_nested_without_end_is_refused():
    nested: object = ()
    for _ in range(100):
        nested = (nested,)
    with pytest.raises(ValidationError, match="nested deeper than 64 levels"):
        il.ToolCallPart(tool_call_id="1", tool_name="t", input=nested)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (il.system_message("a"), "a"),
        (il.user_message([il.TextPart(text="a"), il.ImagePart(image=b"b"), il.TextPart(text="c")]), "a\nc"),
        (il.assistant_message([il.ToolCallPart(tool_call_id="1", tool_name="t", input={})]), ""),
        (CONVERSATION[3], "a cat"),
        (
            il.tool_message(
                [il.ToolResultPart(tool_call_id="1", tool_name="t", output=il.JsonOutput(value={"a": "b"}))]
            ),
            "",
        ),
    ],
)
def test_the_text_of_a_message(message: il.AgentMessage, text: str):
    assert il.get_message_text(message) == text


def test_what_a_provider_alone_understands_passes_through():
    message = il.user_message("x", provider_options={"anthropic": {"cache": {"type": "ephemeral"}}})
    assert message.model_dump(mode="json")["providerOptions"] == {"anthropic": {"cache": {"type": "ephemeral"}}}
    with pytest.raises(TypeError, match="immutable"):
        message.provider_options["anthropic"]["cache"] = 3


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: il.system_message(5), "content"),
        (lambda: il.user_message(None), "content"),
        (lambda: il.user_message([il.ToolCallPart(tool_call_id="a", tool_name="t", input={})]), r"content\[0\]"),
        (lambda: il.tool_message("x"), "content"),
        (lambda: il.assistant_message("x", provider_options="y"), "provider_options"),
        (lambda: il.get_message_text("x"), "object"),
    ],
    ids=["system", "user", "a part that is no person's", "tool", "options", "text"],
)
def test_what_the_helpers_cannot_make_or_read_is_said(make: Any, said: str):
    with pytest.raises(InvalidMessagesError, match=said):
        make()
