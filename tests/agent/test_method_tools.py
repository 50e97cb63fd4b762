"""Methods, partials and objects are tools as functions are, also where their types are written as names."""

from __future__ import annotations

from functools import partial

import pytest
from pydantic import BaseModel

import interlock as il


class Place(BaseModel):
    town: str


class Weather:
    def at(self, place: Place, days: int = 1) -> str:
        """Say what the weather will be."""
        return f"{place.town} {days}"

    def __call__(self, place: Place, days: int = 1) -> str:
        """Say what the weather will be."""
        return f"{place.town} {days}"


def plain(place: Place, days: int = 1) -> str:
    """Say what the weather will be."""
    return f"{place.town} {days}"


@pytest.mark.parametrize(
    "function",
    [Weather().at, Weather(), partial(Weather().at, days=2), partial(partial(plain), days=2)],
    ids=["method", "object", "partial method", "partial"],
)
def test_the_types_of_a_method_are_found_by_name(function: object):
    made = il.tool(function, name="weather")  # type: ignore[arg-type]
    schema = made.descriptor.to_json()["input_schema"]
    assert schema["properties"]["place"] == {"$ref": "#/$defs/Place"}  # type: ignore[index]
    bound = made.bind({"place": {"town": "Bergen"}})
    assert callable(bound)
    assert str(bound()).startswith("Bergen ")
    assert isinstance(made.bind({"place": "Bergen"}), il.ErrorTextOutput)
