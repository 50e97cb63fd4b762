"""Contexts are immutable data of four kinds; patches are checked field by field."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import Any, TypedDict
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, field_validator, model_validator

import interlock.statechart as sc
from interlock.errors import DefinitionError, InvalidMoveError


class Colour(Enum):
    RED = "red"


class Line(BaseModel, frozen=True):
    sku: str
    price: Decimal = Decimal(0)


class Model(BaseModel, frozen=True):
    n: int = 0
    name: str | None = None
    lines: tuple[Line, ...] = ()
    colour: Colour = Colour.RED
    counts: sc.FrozenDict[str, int] = sc.FrozenDict()
    even: int = Field(default=0, multiple_of=2)
    upper: str = ""
    when: datetime | None = None
    blob: bytes = b""
    key: UUID | None = None

    @field_validator("upper")
    @classmethod
    def _upper(cls, value: str) -> str:
        return value.upper()

    @cached_property
    def double(self) -> int:
        return 2 * self.n


class Whole(BaseModel, frozen=True):
    low: int = 0
    high: int = 10

    @model_validator(mode="after")
    def _ordered(self) -> Whole:
        if self.low > self.high:
            raise ValueError("low must not be above high")
        return self


@dataclasses.dataclass(frozen=True)
class Data:
    n: int = 0
    tags: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    n: int = 0
    half: int = dataclasses.field(init=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "half", self.n // 2)


class Typed(TypedDict, total=False):
    n: int
    items: tuple[str, ...]


def machine_of(context: Any, handler: Any, **keywords: Any) -> tuple[Any, Any]:
    machine = sc.machine("m", initial="a", context=context, states={"a": sc.state(on={"GO": handler})}, **keywords)
    return machine, sc.initial_transition(machine)[0]


def after(context: Any, **fields: Any) -> Any:
    machine, snapshot = machine_of(context, lambda _c, _e: sc.stay().set(fields))
    first, _ = sc.transition(machine, snapshot, "GO")
    second, _ = sc.transition(machine, snapshot, "GO")
    assert first == second
    assert machine.load(first.to_json()) == first
    assert machine.load(first.to_json()).context == first.context
    return first.context


@pytest.mark.parametrize(
    ("context", "fields", "expected"),
    [
        ({"n": 1}, {"n": 2}, {"n": 2}),
        ({"n": 1}, {"new": [1, {"a": [2]}]}, {"n": 1, "new": (1, {"a": (2,)})}),
        (Model(), {"n": 5, "name": "x"}, Model(n=5, name="x")),
        (Model(), {"lines": [{"sku": "a", "price": "1.50"}]}, Model(lines=(Line(sku="a", price=Decimal("1.50")),))),
        (Model(), {"colour": "red", "even": 4, "upper": "abc"}, Model(even=4, upper="ABC")),
        (Model(), {"counts": {"a": 1}}, Model(counts=sc.FrozenDict({"a": 1}))),
        (
            Model(),
            {"when": datetime(2026, 1, 1, tzinfo=UTC), "blob": b"xyz", "key": UUID(int=5)},
            Model(when=datetime(2026, 1, 1, tzinfo=UTC), blob=b"xyz", key=UUID(int=5)),
        ),
        (Whole(), {"low": 11, "high": 12}, Whole(low=11, high=12)),
        (Data(), {"n": 3, "tags": ["a"]}, Data(n=3, tags=("a",))),
        (Slotted(), {"n": 8}, Slotted(8)),
    ],
    ids=[
        "mapping",
        "mapping, nested",
        "model",
        "model, nested",
        "validators",
        "frozen mapping",
        "types",
        "whole",
        "dataclass",
        "slots",
    ],
)
def test_a_patch_gives_a_new_context(context: Any, fields: dict[str, Any], expected: Any) -> None:
    changed = after(context, **fields)
    assert changed == expected
    assert type(changed) is type(expected) or isinstance(changed, dict)


@pytest.mark.parametrize(
    ("context", "fields", "code", "text"),
    [
        (Model(), {"m": 1}, "unknown-field", "has no field 'm'. Did you mean 'n'|Known"),
        (Model(), {"names": "x"}, "unknown-field", "Did you mean 'name'"),
        (Model(), {"n": "five"}, "invalid-field", "field 'n': .*valid integer.*given: 'five'"),
        (Model(), {"even": 3}, "invalid-field", "multiple of 2"),
        (Model(), {"lines": [{}]}, "invalid-field", "sku"),
        (Whole(), {"low": 11}, "invalid-field", "low must not be above high"),
        (Data(), {"n": None}, "invalid-field", "field 'n'"),
        (Data(), {"m": 1}, "unknown-field", "Data has no field 'm'"),
        (Slotted(), {"n": "x"}, "invalid-field", "field 'n'"),
    ],
)
def test_a_wrong_patch_is_refused_at_the_transition_that_made_it(
    context: Any, fields: dict[str, Any], code: str, text: str
) -> None:
    machine, snapshot = machine_of(context, lambda _c, _e: sc.stay().set(fields))
    for _ in range(2):
        with pytest.raises(InvalidMoveError, match=text) as caught:
            sc.transition(machine, snapshot, "GO")
        assert (caught.value.code, caught.value.state, caught.value.event) == (code, "a", "GO")


def test_a_typed_mapping_is_closed() -> None:
    machine, snapshot = machine_of({"n": 1}, lambda c, _e: sc.stay(n=c["n"] + 1), context_type=Typed)
    assert sc.transition(machine, snapshot, "GO")[0].context == {"n": 2}
    machine, snapshot = machine_of({"n": 1}, lambda _c, _e: sc.stay(m=1), context_type=Typed)
    with pytest.raises(InvalidMoveError, match="no field 'm'"):
        sc.transition(machine, snapshot, "GO")
    assert machine.load(snapshot.to_json()) == snapshot
    with pytest.raises(DefinitionError, match="has no field 'm'"):
        sc.machine("m", context={"n": 1, "m": 2}, context_type=Typed)


def test_what_is_cached_on_a_model_does_not_outlive_a_patch() -> None:
    machine, snapshot = machine_of(Model(n=1), lambda _c, _e: sc.stay(n=2))
    assert snapshot.context.double == 2
    changed, _ = sc.transition(machine, snapshot, "GO")
    assert changed.context.double == 4


def test_the_definition_is_not_touched_by_what_the_author_keeps() -> None:
    items = [1]
    machine = sc.machine("m", context={"items": items})
    items.append(2)
    assert sc.initial_transition(machine)[0].context == {"items": (1,)}


@pytest.mark.parametrize(
    "change",
    ["c['n'] = 1", "c.clear()", "c.pop('n')", "c.setdefault('x', 1)", "c.update(n=2)", "del c['n']", "c |= {}"],
)
def test_a_mapping_context_cannot_be_changed_in_place(change: str) -> None:
    _, snapshot = machine_of({"n": 0}, "a")
    with pytest.raises(TypeError, match="immutable"):
        exec(change, {"c": snapshot.context})
    assert snapshot.context == {"n": 0}


def test_a_context_made_from_the_input() -> None:
    machine = sc.machine("m", context=lambda order: Data(n=order["n"]), context_type=Data)
    snapshot, _ = sc.initial_transition(machine, {"n": 4})
    assert snapshot.context == Data(4)
    machine = sc.machine("m", context=dict)
    assert sc.initial_transition(machine)[0].context == {}
