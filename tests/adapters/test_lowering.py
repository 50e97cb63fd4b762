"""From requests to what providers take: schemas, names, arguments, messages, media, words for refused choices."""

import copy
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.adapters.lowering import chat_messages, render_decision_attempts
from interlock.adapters.lowering.arguments import Malformed, read_arguments, readable
from interlock.adapters.lowering.completions import Assembly, read_completion
from interlock.adapters.lowering.events import EventLines
from interlock.adapters.lowering.names import wire_call_id, wire_name, wire_names
from interlock.adapters.lowering.schemas import object_schema, restored, strict_schema
from interlock.agent import DecisionAttempt, DecisionRequest, Event
from interlock.agent.descriptors import describe
from interlock.agent.message_helpers import (
    assistant_message,
    get_message_text,
    system_message,
    tool_message,
    user_message,
)
from interlock.agent.messages import (
    ContentOutput,
    ErrorJsonOutput,
    FilePart,
    ImagePart,
    TextOutput,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from interlock.errors import UnsupportedRequestError

from . import openai_rules as rules
from .openai_server import Answer

PNG = b"\x89PNG\r\n\x1a\n0000"

# -- schemas -------------------------------------------------------------------------------------------------------

SCALARS = st.sampled_from(
    [
        {"type": "string", "maxLength": 3, "title": "Text"},
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "binary"},
        {"type": "string", "pattern": "^(?!x).*$"},
        {"type": "integer", "minimum": 1, "default": 3},
        {"type": "number", "exclusiveMaximum": 9, "description": "A number"},
        {"type": "boolean"},
        {"type": "null"},
        {"type": ["string", "null"]},
        {"enum": ["a", "b", None]},
        {"const": "a"},
        {"$ref": "#/$defs/Leaf"},
        {"$ref": "#/$defs/Leaf", "description": "The leaf"},
        {"$ref": "#/$defs/Tree", "description": "The tree", "default": {"x": 1}},
        {"allOf": [{"$ref": "#/$defs/Leaf"}], "default": {"name": "n"}},
        {},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "array"},
        {"type": "array", "prefixItems": [{"type": "string"}]},
    ]
)


def objects(inner):
    return st.builds(
        lambda fields, required, closed: {
            "type": "object",
            "properties": fields,
            "required": [name for name in fields if name in required],
            **closed,
        },
        st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
        st.sets(st.sampled_from("abcd")),
        st.sampled_from([{}, {"additionalProperties": False}, {"additionalProperties": True}]),
    )


SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        objects(inner),
        st.builds(lambda items: {"type": "array", "items": items, "maxItems": 3, "uniqueItems": True}, inner),
        st.builds(lambda members: {"anyOf": members}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda members: {"oneOf": members, "discriminator": {}}, st.lists(inner, min_size=1, max_size=2)),
    ),
    max_leaves=8,
)
DEFINITIONS = {
    "Leaf": {"type": "object", "properties": {"name": {"type": "string", "default": "n"}}},
    "Tree": {
        "type": "object",
        "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}, "x": {"type": "integer"}},
        "required": ["below"],
    },
}


@given(objects(SCHEMAS))
def test_a_strict_schema_is_what_the_strict_dialect_takes_and_the_given_one_stays(schema):
    whole = {**schema, "$defs": DEFINITIONS}
    before = copy.deepcopy(whole)
    made = strict_schema(whole)
    rules.schema(object_schema(whole), "x", strict=False)
    if made is not None:
        rules.schema(made, "x", strict=True)
    assert whole == before


@pytest.mark.parametrize(
    "inner",
    [
        {},
        {"type": "object"},
        {"type": "object", "additionalProperties": True},
        {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}},
        {"type": "array"},
        {"not": {"type": "string"}},
        {"allOf": [{"type": "string"}, {"type": "string"}]},
        {"type": "array", "prefixItems": [{"type": "string"}]},
        {"$ref": "#/$defs/Nobody"},
        {"$ref": "https://example.org/schema"},
        {"enum": [str(number) for number in range(1001)]},
    ],
)
def test_what_the_dialect_cannot_say_is_not_said(inner):
    assert strict_schema({"type": "object", "properties": {"a": inner}, "required": ["a"]}) is None


def test_eleven_levels_are_too_many():
    schema = {"type": "string"}
    for _ in range(9):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    assert strict_schema(schema) is not None
    assert strict_schema({"type": "object", "properties": {"a": {"type": "array", "items": schema}}}) is None


def test_a_field_that_may_be_left_out_may_be_null_and_says_its_default():
    schema = {"type": "object", "properties": {"days": {"type": "integer", "default": 14, "description": "How long."}}}
    assert strict_schema(schema) == {
        "type": "object",
        "properties": {
            "days": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "How long. Default: 14."}
        },
        "required": ["days"],
        "additionalProperties": False,
    }


def test_a_described_reference_is_written_out_and_a_recursive_one_is_kept():
    schema = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Tree", "description": "Ours"}},
        "required": ["tree"],
        "$defs": DEFINITIONS,
    }
    made = strict_schema(schema)
    assert made is not None
    tree = made["properties"]["tree"]
    assert tree["description"] == "Ours"
    assert tree["properties"]["below"]["items"] == {"$ref": "#/$defs/Tree"}


def test_a_root_that_is_a_reference_is_an_object_all_the_same():
    schema = {"$ref": "#/$defs/Tree", "$defs": DEFINITIONS}
    assert object_schema(schema)["type"] == "object"
    made = strict_schema(schema)
    rules.schema(made, "tree", strict=True)
    assert restored(schema, {"below": [{"below": [], "x": None}], "x": 1}) == {"below": [{"below": []}], "x": 1}


def test_nulls_are_left_out_by_the_member_that_fits():
    schema = {
        "type": "object",
        "properties": {
            "pet": {
                "oneOf": [
                    {
                        "type": "object",
                        "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer", "default": 9}},
                        "required": ["kind"],
                    },
                    {
                        "type": "object",
                        "properties": {"kind": {"const": "dog"}, "lives": {"type": ["integer", "null"]}},
                        "required": ["kind"],
                    },
                ]
            }
        },
        "required": ["pet"],
    }
    assert restored(schema, {"pet": {"kind": "cat", "lives": None}}) == {"pet": {"kind": "cat"}}
    assert restored(schema, {"pet": {"kind": "dog", "lives": None}}) == {"pet": {"kind": "dog", "lives": None}}


@given(objects(SCHEMAS), st.recursive(st.none() | st.integers() | st.text(max_size=3), st.lists, max_leaves=5))
def test_reading_back_takes_anything(schema, value):
    whole = {**schema, "$defs": DEFINITIONS}
    for shape in (value, {"a": value}, {"a": {"b": value}, "z": None}):
        restored(whole, shape)


# -- names and arguments -------------------------------------------------------------------------------------------


@given(st.text(min_size=1, max_size=90), st.text(min_size=1, max_size=90))
def test_names_are_legal_their_own_and_told_apart(one, other):
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", wire_name(one))
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}", wire_call_id(one))
    assert wire_names([one, other])[wire_name(one)] == one or wire_name(one) == wire_name(other)
    assert (wire_name(one) == wire_name(other)) == (one == other)


def test_a_legal_name_is_its_own():
    assert wire_name("send_event_Refund") == "send_event_Refund"
    assert wire_name("pay now").startswith("pay_now_")


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_arguments_are_read_or_refused_and_nothing_else(text):
    found = read_arguments(text)
    assert isinstance(found, dict | Malformed)


def test_arguments_may_come_as_the_object_itself():
    assert read_arguments({"a": 1}) == {"a": 1}


def test_pairs_become_characters_and_halves_are_replaced():
    assert readable("\ud83c\udf78") == "\U0001f378"
    assert readable("a\ud83d") == "a\ufffd"


# -- messages ------------------------------------------------------------------------------------------------------


def sent(*messages) -> list[dict]:
    made = json.loads(json.dumps(chat_messages(messages, place="text request 'draft'")))
    rules.messages(made)
    return made


def test_files_that_have_a_form_are_sent_in_it():
    parts = [
        FilePart(data=b"%PDF-1.7", media_type="application/octet-stream", filename="a.pdf"),
        FilePart(data=b"RIFF0000WAVEfmt ", media_type="audio/x-wav"),
        FilePart(data=PNG, media_type="image/*"),
    ]
    kinds = [part["type"] for part in sent(user_message(parts))[0]["content"]]
    assert kinds == ["file", "input_audio", "image_url"]


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (FilePart(data=b"a,b", media_type="text/csv"), "type 'text/csv' has no form here"),
        (FilePart(data="https://example.org/a.pdf", media_type="application/pdf"), "cannot be sent as a URL"),
        (ImagePart(image=b""), "it is empty"),
        (ImagePart(image=b"abc"), "do not show what it is"),
    ],
)
def test_what_has_no_form_is_refused_with_its_place(part, why):
    with pytest.raises(UnsupportedRequestError, match=rf"text request 'draft': message 1 \(user\): .*{why}"):
        sent(system_message("Hi."), user_message([part]))


def test_a_file_that_a_model_made_is_refused():
    with pytest.raises(UnsupportedRequestError, match="cannot be sent back"):
        sent(assistant_message([FilePart(data=PNG, media_type="image/png")]))


def calls(*names: str):
    return assistant_message([ToolCallPart(tool_call_id=name, tool_name=name, input=None) for name in names])


def result(name: str, output) -> ToolResultPart:
    return ToolResultPart(tool_call_id=name, tool_name=name, output=output)


def test_every_tool_answer_is_a_message_and_never_blank():
    made = sent(
        calls("a", "b", "c", "löschen jetzt"),
        tool_message([result("a", TextOutput(value=" ")), result("b", ErrorJsonOutput(value={"code": 1}))]),
        tool_message([result("c", ContentOutput(value=())), result("löschen jetzt", TextOutput(value="ok"))]),
    )
    assert [message["content"] for message in made[1:]] == ["(empty)", '{"code": 1}', "(empty)", "ok"]
    assert made[0]["tool_calls"][3]["function"]["name"] == wire_name("löschen jetzt")


def test_results_inside_a_model_s_message_follow_it():
    call = ToolCallPart(tool_call_id="a", tool_name="a", input={"x": 1})
    made = sent(assistant_message([TextPart(text="Well."), call, result("a", TextOutput(value="ok"))]))
    assert [message["role"] for message in made] == ["assistant", "tool"]


def test_images_that_tools_answer_come_after_all_answers():
    picture = ContentOutput(value=(TextPart(text="Here."), ImagePart(image=PNG)))
    made = sent(
        calls("draw", "b"),
        tool_message([result("draw", picture)]),
        tool_message([result("b", TextOutput(value="ok"))]),
        user_message("Nice."),
    )
    assert [message["role"] for message in made] == ["assistant", "tool", "tool", "user", "user"]
    assert made[3]["content"][0]["text"] == "Images answered by draw:"


@given(st.lists(st.sampled_from(["", " ", "\n", "x"]), max_size=4), st.booleans())
def test_no_blank_text_is_ever_sent(texts, parts):
    contents = [[TextPart(text=text)] if parts else text for text in texts]
    history = [make(content) for content in contents for make in (user_message, assistant_message)]
    if "x" not in texts:
        with pytest.raises(UnsupportedRequestError, match="nothing to send"):
            sent(*history)
    else:
        assert {message["content"] for message in sent(*history)} == {"x"}


# -- answers -------------------------------------------------------------------------------------------------------


@given(st.text(), st.lists(st.tuples(st.text(min_size=1), st.text()), max_size=3), st.lists(st.integers(1, 40)))
def test_however_a_stream_is_cut_it_is_the_same_answer(text, calls, cuts):
    answer = Answer(text=text, calls=calls)
    lines = EventLines()
    assembly = Assembly()
    stream = b"".join(
        b": ping\n\ndata: " + json.dumps(chunk, ensure_ascii=False).encode("utf-8", "replace") + b"\r\n\r\n"
        for chunk in answer.chunks("m", usage=True)
    )
    at = 0
    for size in [*cuts, len(stream)]:
        for said in lines.feed(stream[at : at + size]):
            assembly.add(json.loads(said))
        at += size
    whole = read_completion(answer.whole("m"))
    pieces = read_completion(assembly.whole())
    assert whole is not None
    assert pieces is not None
    assert (whole.text, whole.calls, whole.usage, whole.finish_reason) == (
        pieces.text,
        pieces.calls,
        pieces.usage,
        pieces.finish_reason,
    )


def test_some_servers_number_no_calls():
    assembly = Assembly()
    for piece in (
        {"id": "a", "function": {"name": "one", "arguments": "{"}},
        {"function": {"arguments": "}"}},
        {"id": "b", "function": {"name": "two", "arguments": "{}"}},
    ):
        assembly.add({"choices": [{"delta": {"tool_calls": [piece]}}]})
    found = read_completion(assembly.whole())
    assert found is not None
    assert [(call.id, call.name, call.arguments) for call in found.calls] == [("a", "one", "{}"), ("b", "two", "{}")]


# -- refused choices -----------------------------------------------------------------------------------------------


class Refund(Event):
    """Pay back."""

    amount: int


class Close(Event):
    """Close the case."""


def test_refused_choices_are_put_into_words():
    attempts = (
        DecisionAttempt(failure="unknown-event", reason="no choice was made."),
        DecisionAttempt(failure="rejected-by-guard", reason="too much", event={"type": "Refund", "amount": 10**500}),
    )
    request = DecisionRequest(id="triage", events=describe([Refund, Close]), prompt="x", attempts=attempts)
    first, second = render_decision_attempts(request)
    assert get_message_text(first) == (
        "Your last answer was not taken (unknown-event): no choice was made. Choose exactly one of: Refund, Close."
    )
    assert len(get_message_text(second)) < 600
    assert render_decision_attempts(request.with_attempts(())) == ()
