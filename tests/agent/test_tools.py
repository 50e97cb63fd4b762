"""Tools: what a model sees of a function, what is called with which arguments, and what it is told."""

import datetime as dt
import functools
import re
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

import interlock.agent as il
from interlock.agent.tools import named_tools
from interlock.errors import DefinitionError


class Place(BaseModel):
    city: str
    days: tuple[int, ...] = ()


def weather(city: Annotated[str, Field(description="Where?")], day: dt.date, *, unit: str = "C") -> str:
    """Tell the weather.

    Of any day.
    """
    return f"{city} {day:%d} {unit}"


async def forecast(place: Place) -> Place:
    return place


class Shop:
    """Find things."""

    def __call__(self, name: str) -> str:
        return name

    def price(self, name: str) -> int:
        """Tell what it costs."""
        return len(name)


def ask(made: il.Tool, arguments: object) -> object:
    bound = il.bound_call(il.ToolCall("1", made.name, arguments), {made.name: made})
    assert callable(bound), bound
    return bound()


def test_a_model_sees_name_docstring_and_parameters():
    descriptor = il.tool(weather).descriptor
    assert descriptor.name == "weather"
    assert descriptor.description == "Tell the weather.\n\nOf any day."
    schema = descriptor.input_schema
    assert schema["type"] == "object"
    assert list(schema["required"]) == ["city", "day"]
    assert schema["properties"]["city"]["description"] == "Where?"
    assert schema["properties"]["unit"]["default"] == "C"
    assert schema["additionalProperties"] is False
    hash(schema)
    assert descriptor.to_json()["name"] == "weather"


def test_a_name_and_a_description_may_be_given():
    made = il.tool(weather, name="sky", description="Look up.")
    assert (made.name, made.descriptor.description) == ("sky", "Look up.")


@pytest.mark.parametrize(
    ("function", "arguments", "answer"),
    [
        (weather, {"city": "Bonn", "day": "2026-01-02"}, "Bonn 02 C"),
        (weather, {"city": "Bonn", "day": "2026-01-02", "unit": "F"}, "Bonn 02 F"),
        (Shop(), {"name": "pen"}, "pen"),
        (Shop().price, {"name": "pen"}, 3),
        (functools.partial(weather, unit="K"), {"city": "Bonn", "day": "2026-01-02"}, "Bonn 02 K"),
        (lambda: 3, {}, 3),
        (lambda: 3, None, 3),
    ],
)
def test_arguments_are_decoded(function: Callable[..., object], arguments: object, answer: object):
    assert ask(il.tool(function, name="t"), arguments) == answer


def test_models_are_decoded_for_async_functions_too():
    made = il.tool(forecast)
    call = ask(made, {"place": {"city": "Bonn", "days": [1, 2]}})
    with pytest.raises(StopIteration) as done:
        call.send(None)
    assert done.value.value == Place(city="Bonn", days=(1, 2))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"city": "Bonn"}, "weather was not called: day: Missing required argument"),
        ({"city": "Bonn", "day": "soon"}, "day: .*given: 'soon'"),
        ({"city": 3, "day": "2026-01-02"}, "city: .*given: 3"),
        ({"city": "Bonn", "day": "2026-01-02", "week": 3}, "week: Unexpected keyword argument"),
        ("Bonn", "weather needs an object of arguments, not 'Bonn'"),
        (["Bonn", "2026-01-02"], "needs an object"),
        ({"city": {1}}, "has no order in JSON"),
    ],
)
def test_arguments_that_do_not_fit_are_answered(arguments: object, told: str):
    bound = il.bound_call(il.ToolCall("1", "weather", arguments), {"weather": il.tool(weather)})
    assert isinstance(bound, il.ErrorTextOutput)
    assert re.search(told, bound.value), bound.value


def test_a_tool_that_does_not_exist_is_answered():
    bound = il.bound_call(il.ToolCall("1", "wether", {}), {"weather": il.tool(weather)})
    assert bound == il.ErrorTextOutput(value="there is no tool 'wether'. Did you mean 'weather'?")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("x", il.TextOutput(value="x")),
        (None, il.JsonOutput(value=None)),
        (Place(city="Bonn"), il.JsonOutput(value={"city": "Bonn", "days": []})),
        ([1, dt.date(2026, 1, 2)], il.JsonOutput(value=[1, "2026-01-02"])),
        (il.TextPart(text="x"), il.ContentOutput(value=(il.TextPart(text="x"),))),
        ([il.ImagePart(image=b"x")], il.ContentOutput(value=(il.ImagePart(image=b"x"),))),
        (il.ErrorJsonOutput(value=3), il.ErrorJsonOutput(value=3)),
        ([], il.JsonOutput(value=[])),
    ],
)
def test_what_a_tool_returns_is_told(value: object, told: object):
    assert il.tool(weather).answer(value) == told


@pytest.mark.parametrize("value", [object(), float("nan"), "\ud800", {"a": {1: object()}}])
def test_what_json_cannot_carry_is_told_as_an_error(value: object):
    told = il.tool(weather).answer(value)
    assert isinstance(told, il.ErrorTextOutput)
    assert told.value.startswith("weather returned what JSON cannot carry")


def test_what_a_tool_raises_is_told():
    assert il.tool_failure(ValueError("no \ud800")) == il.ErrorTextOutput(value="ValueError: no ?")
    assert il.tool_failure(KeyError()) == il.ErrorTextOutput(value="KeyError")


def unannotated(city): ...
def positional(city: str, /): ...
def several(*cities: str): ...
def anything(**cities: str): ...
def foreign(city: Shop): ...


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ([unannotated], "invalid-tool", "parameter 'city' has no annotation"),
        ([positional], "invalid-tool", "does not take"),
        ([several], "invalid-tool", r"parameter '\*cities: str' does not take"),
        ([anything], "invalid-tool", r"parameter '\*\*cities: str' does not take"),
        ([foreign], "invalid-tool", "nothing that JSON can carry"),
        ([lambda: 3], "invalid-tool", "'<lambda>'.*give another with name="),
        ({"two words": weather}, "invalid-tool", "1 to 64 letters"),
        ({"auto": weather}, "invalid-tool", "is a tool_choice"),
        ({"send_event_Ask": weather}, "invalid-tool", "stand for events"),
        ([weather, il.tool(forecast, name="weather")], "invalid-tool", "two tools are named 'weather'"),
        ([3], "invalid-tool", "3 is no function"),
        ([Place], "invalid-tool", "is no function"),
        ("weather", "invalid-tool", "tools='weather'; give a list"),
        (weather, "invalid-tool", "give a list"),
        (["serch"], "unknown-tool", "has no tool 'serch'. Did you mean 'search'?"),
    ],
)
def test_what_is_no_tool_is_refused(given: Any, code: str, message: str):
    with pytest.raises(DefinitionError, match=message) as caught:
        named_tools(given, {"search": il.tool(weather, name="search")}, what="text request 'draft'")
    assert caught.value.code == code


@pytest.mark.parametrize("given", ["weather", None, {"weather": weather}, 3, Place])
def test_what_is_no_function_is_no_tool(given: Any):
    with pytest.raises(DefinitionError, match=r"^tool\(.*\): give a function$") as caught:
        il.tool(given)
    assert caught.value.code == "invalid-tool"


def test_tools_have_the_names_that_they_are_given():
    known = {"search": il.tool(weather, name="search")}
    found = named_tools({"sky": weather, "find": known["search"], "search": "search"}, known, what="x")
    assert [made.name for made in found.values()] == ["sky", "find", "search"]
    assert list(found) == ["sky", "find", "search"]
