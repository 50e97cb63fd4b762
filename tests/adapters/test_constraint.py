"""What the grammar says: closed objects, one event of those offered, and nothing that would switch it off."""

import json
from datetime import date
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, Field

from interlock.adapters.constraint import choice_schema, grammar
from interlock.agent import Event
from interlock.agent.descriptors import describe


class Place(BaseModel, frozen=True):
    city: str
    country: str = "DE"


class Move(Event, type="parcel.move"):
    """Send it elsewhere."""

    to: Place
    by: Literal["road", "air"] = "road"


class Stop(Event):
    """Stop it."""


def schema_in(text: str) -> dict:
    head, _, body = text.partition("%json ")
    assert head == "%llguidance {}\nstart: "
    return json.loads(body)


def test_an_event_is_its_type_and_its_fields_and_no_other():
    first, second = choice_schema(describe([Move, Stop]))["anyOf"]
    assert list(first["properties"]) == ["type", "to", "by"], "the type comes first: what follows hangs on it"
    assert first["properties"]["type"] == {"const": "parcel.move"}
    assert first["required"] == ["type", "to"]
    assert second == {
        "type": "object",
        "properties": {"type": {"const": "Stop"}},
        "required": ["type"],
        "additionalProperties": False,
    }


def test_definitions_of_several_events_do_not_get_into_each_others_way():
    schema = choice_schema(describe([Stop, Move]))
    assert list(schema["$defs"]) == ["e1.Place"]
    assert schema["anyOf"][1]["properties"]["to"] == {"$ref": "#/$defs/e1.Place"}


def test_objects_that_list_their_fields_get_no_others():
    schema = schema_in(grammar(choice_schema(describe([Move]))))
    assert schema["$defs"]["e0.Place"]["additionalProperties"] is False
    given = {"type": "object", "properties": {"a": {"type": "object"}}, "additionalProperties": True}
    made = schema_in(grammar(given))
    assert made["additionalProperties"] is True, "what the author opened stays open"
    assert made["properties"]["a"] == {"type": "object"}


def test_patterns_that_no_automaton_knows_are_left_to_the_check_afterwards():
    class Payment(BaseModel):
        amount: Decimal  # its pattern looks ahead
        code: str = Field(pattern=r"^[A-Z]{2}\d+$")
        word: str = Field(pattern=r"\bword\b")
        pattern: str  # a field's name is no keyword
        due: date

    fields = schema_in(grammar(Payment.model_json_schema()))["properties"]
    assert [option.keys() for option in fields["amount"]["anyOf"]] == [{"type"}, {"type"}]
    assert fields["code"]["pattern"] == r"^[A-Z]{2}\d+$"
    assert "pattern" not in fields["word"]
    assert fields["pattern"]["type"] == "string"
    assert fields["due"]["format"] == "date"


def test_data_inside_a_schema_is_left_as_it_is():
    given = {"properties": {"a": {"const": {"properties": {"pattern": "(?=x)"}}}}}
    assert schema_in(grammar(given))["properties"]["a"] == given["properties"]["a"]
