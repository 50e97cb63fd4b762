"""Events: what a class becomes, and which classes are refused while they are made."""

import re
from collections import OrderedDict
from typing import Any, ClassVar, Literal

import pytest
from pydantic import BaseModel, Field, PrivateAttr, ValidationError, computed_field

from interlock.agent import Event
from interlock.errors import DefinitionError


def test_the_type_is_the_name_of_the_class_or_what_is_given():
    class Ask(Event):
        question: str

    class AddTodo(Event, type="todo.add"):
        text: str

    assert (Ask.type, AddTodo.type) == ("Ask", "todo.add")
    assert AddTodo(text="x").type == "todo.add"


def test_a_subclass_has_its_own_type_and_the_actor_of_its_base():
    class Spoken(Event, type="spoken", actor="human"):
        text: str

    class Shouted(Spoken):
        loud: bool = True

    class Heard(Spoken, actor=None):
        pass

    assert (Shouted.type, Shouted.actor) == ("Shouted", "human")
    assert (Heard.type, Heard.actor) == ("Heard", None)
    assert list(Shouted.model_fields) == ["text", "loud"]


def test_an_event_is_frozen_hashable_and_equal_by_value():
    class Ask(Event):
        question: str

    ask = Ask(question="why")
    with pytest.raises(ValidationError):
        ask.question = "who"
    assert ask == Ask(question="why")
    assert hash(ask) == hash(Ask(question="why"))


def test_undeclared_fields_are_refused():
    class Ask(Event):
        question: str

    with pytest.raises(ValidationError):
        Ask.model_validate({"question": "why", "loud": True})


def test_pydantic_keywords_of_the_class_still_count():
    class Ask(Event, str_max_length=3):
        question: str

    with pytest.raises(ValidationError):
        Ask(question="long")


def test_a_field_may_be_called_something_else_in_json():
    class Save(Event):
        copy_: bool = Field(alias="copy")

    assert Save.model_validate({"copy": True}) == Save.model_validate({"copy_": True})


def test_types_that_are_defined_later_are_checked_by_setup():
    class Late(Event):
        inner: "Inner"  # the point of this test

    class Inner(BaseModel):
        count: int

    assert Late.type == "Late"
    from interlock.agent import setup_agent

    with pytest.raises((DefinitionError, NameError), match="Inner"):
        setup_agent(events=[Late])


def make(name: str, fields: dict[str, Any], values: dict[str, Any] | None = None, **keywords: Any) -> None:
    type(Event)(name, (Event,), {"__module__": __name__, "__annotations__": fields, **(values or {})}, **keywords)


class Changeable(BaseModel):
    count: int


REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], str, str]] = [
    ("a field called type", {"type": str}, {}, {}, "invalid-event-class", r"'type' would hide .* type='\.\.\.'\)"),
    ("a literal type", {"type": Literal["x"]}, {"type": "x"}, {}, "invalid-event-class", "beside the base class"),
    ("a type as class variable", {"type": ClassVar[str]}, {"type": "x"}, {}, "invalid-event-class", "class Bad"),
    ("an assigned type", {}, {"type": "x"}, {}, "invalid-event-class", "'type' would hide"),
    ("a field called actor", {"actor": str}, {}, {}, "invalid-event-class", "actor='human'"),
    ("an attribute of every event", {"json": str}, {}, {}, "invalid-event-class", r"json_: .*Field\(alias='json'\)"),
    ("a method of every event", {"model_dump": str}, {}, {}, "invalid-event-class", "'model_dump' would hide"),
    (
        "type as a name in JSON",
        {"kind": str},
        {"kind": Field(alias="type")},
        {},
        "invalid-event-class",
        "'kind' is 'type'",
    ),
    ("a list", {"items": list[str]}, {}, {}, "invalid-event-class", r"Bad\.items .* tuple\[str, \.\.\.\]"),
    ("a dict", {"items": dict[str, int]}, {}, {}, "invalid-event-class", "FrozenDict"),
    ("a nested list", {"items": tuple[list[int], ...]}, {}, {}, "invalid-event-class", "tuple"),
    ("an ordered dict", {"items": OrderedDict[str, int]}, {}, {}, "invalid-event-class", "FrozenDict"),
    ("a model that can change", {"part": Changeable}, {}, {}, "invalid-event-class", "make Changeable frozen"),
    ("a private attribute", {"_seen": int}, {"_seen": PrivateAttr(0)}, {}, "invalid-event-class", "'_seen'"),
    ("thawed by keyword", {}, {}, {"frozen": False}, "invalid-event-class", "frozen=False"),
    ("open by keyword", {}, {}, {"extra": "allow"}, "invalid-event-class", "extra='allow'"),
    ("an unknown actor", {}, {}, {"actor": "robot"}, "invalid-event-class", "'robot'"),
    ("an empty type", {}, {}, {"type": ""}, "invalid-event-class", "no event type"),
    ("a pattern as type", {}, {}, {"type": "todo.*"}, "invalid-event-class", "without '\\*'"),
    ("a type of the engine", {}, {}, {"type": "@done"}, "reserved-event", "'@done'"),
    ("a type of the library", {}, {}, {"type": "agent.plan.done"}, "reserved-event", "the library's own"),
]


@pytest.mark.parametrize(
    ("fields", "values", "keywords", "code", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_a_wrong_class_is_refused_when_it_is_made(
    fields: dict[str, Any], values: dict[str, Any], keywords: dict[str, Any], code: str, message: str
):
    with pytest.raises(DefinitionError) as caught:
        make("Bad", fields, values, **keywords)
    assert caught.value.code == code
    assert str(caught.value).startswith("event class Bad: ")
    assert re.search(message, str(caught.value))


def test_a_computed_field_is_refused():
    with pytest.raises(DefinitionError, match="'loud' is no payload; make it a property"):

        class Bad(Event):
            text: str

            @computed_field
            @property
            def loud(self) -> str:
                return self.text.upper()


@pytest.mark.parametrize(
    ("keyword", "hint"), [("actr", "actor"), ("tpe", "type"), ("frozn", "frozen"), ("str_max_lenght", "str_max_length")]
)
def test_a_keyword_with_a_typing_error(keyword: str, hint: str):
    with pytest.raises(
        DefinitionError, match=f"event class Ask: .* no keyword '{keyword}'. Did you mean .*'{hint}'"
    ) as caught:
        type("Ask", (Event,), {"__module__": __name__}, **{keyword: "human"})
    assert caught.value.code == "invalid-event-class"


def test_a_base_beside_may_take_keywords_of_its_own():
    class Marked:
        mark: ClassVar[str]

        def __init_subclass__(cls, mark: str = "", **others: Any) -> None:
            super().__init_subclass__(**others)
            cls.mark = mark

    class Ask(Event, Marked, mark="x"):
        question: str

    assert Ask.mark == "x"
