"""The object around a structured answer: what a provider is asked to keep to, and what is taken out of it."""

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

import interlock.agent as il
from interlock.errors import InputError, InvalidOutputError


class Node(BaseModel):
    name: str
    below: list["Node"] = []


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


def request(kind: Any, *, reasoning: bool = False) -> il.TextRequest:
    definition = il.text_request("sort", output=TypeAdapter(kind), model="m", prompt="x", include_reasoning=reasoning)
    return definition.request()


@pytest.mark.parametrize(
    "kind",
    [
        Node,
        list[Node],
        Cat | Dog,
        Annotated[Cat | Dog, Field(discriminator="kind")],
        int,
        Literal["a", "b"],
        str | None,
    ],
)
def test_every_answer_is_asked_for_as_an_object(kind: Any):
    schema = il.provider_output_schema(request(kind))
    assert schema["type"] == "object"
    assert list(schema["properties"]) == schema["required"] == ["result"] or list(schema["required"]) == ["result"]
    assert schema["additionalProperties"] is False
    assert "$defs" not in json.dumps(schema["properties"]).replace("#/$defs/", "")


def test_definitions_move_to_the_root_where_references_look_for_them():
    schema = il.provider_output_schema(request(Node))
    assert schema["properties"]["result"] == {"$ref": "#/$defs/Node"}
    assert set(schema["$defs"]) == {"Node"}


def test_reasoning_comes_first_and_only_where_it_is_asked_for():
    schema = il.provider_output_schema(request(int, reasoning=True))
    assert list(schema["properties"]) == ["reasoning", "result"]
    assert list(schema["required"]) == ["result"]
    assert list(il.provider_output_schema(request(int))["properties"]) == ["result"]


@pytest.mark.parametrize(
    ("text", "reasoning", "found"),
    [
        ('{"result": 3}', True, (3, None)),
        ('{"reasoning": "so", "result": [1]}', True, ((1,), "so")),
        ('{"reasoning": "so", "result": null}', False, (None, None)),
        ('{"reasoning": ["so"], "result": 3}', True, (3, None)),
        (' {"result": 3, "more": 4}\n', True, (3, None)),
    ],
)
def test_the_answer_is_taken_out(text: str, reasoning: bool, found: object):
    assert il.parse_provider_output(request(int, reasoning=reasoning), text) == found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON"),
        ('{"result": 3', "no JSON"),
        ('{"result": NaN}', "no JSON"),
        ("3", "no 'result'"),
        ("[3]", "no 'result'"),
        ('{"answer": 3}', "no 'result'"),
        ('{"result": ' + "[" * 100 + "]" * 100 + "}", "deeper than 64 levels"),
    ],
)
def test_what_is_no_envelope_is_refused(text: str, reason: str):
    with pytest.raises(InvalidOutputError, match=reason) as caught:
        il.parse_provider_output(request(int), text)
    assert caught.value.request == "sort"
    assert caught.value.partial_output == text
    assert caught.value.code == "invalid-output"


def test_text_has_no_envelope():
    plain = il.TextRequest(id="draft", prompt="x")
    with pytest.raises(InputError, match="'draft' asks for text"):
        il.provider_output_schema(plain)
    with pytest.raises(InputError, match="'draft' asks for text"):
        il.parse_provider_output(plain, "{}")
