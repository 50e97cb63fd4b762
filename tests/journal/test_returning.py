"""What an entry holds leads back to what was seen: other events are not accepted, other states not hashed."""

import enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, PlainSerializer, PlainValidator, field_validator

import interlock as il
import interlock.statechart as sc
from interlock.journal import advance, begin, replay, state_hash


class Pair(enum.Enum):
    ONE = (1, 2)


class Paired(il.Event):
    """Holds what is written as an array, and an array is no value of the enum."""

    v: Pair


class Louder(il.Event):
    """Changes its value each time that it is read."""

    v: str

    @field_validator("v")
    @classmethod
    def _louder(cls, value: str) -> str:
        return value + "!"


class Once(il.Event):
    """Takes no value of its own."""

    v: str

    @field_validator("v")
    @classmethod
    def _once(cls, value: str) -> str:
        if value.startswith("<"):
            raise ValueError("marked already")
        return f"<{value}"


class Plain(il.Event):
    """Texts, numbers, constants."""

    v: str = ""
    n: int | None = None
    of: Literal["a", "b"] = "a"


agent = il.setup_agent(events=[Paired, Louder, Once, Plain])
machine = agent.machine(
    "m",
    context={"v": ""},
    initial="a",
    states={
        "a": agent.state(
            on=[
                agent.on(Paired, lambda _, event: agent.stay(v=str(event.v))),
                agent.on(Louder, lambda _, event: agent.stay(v=event.v)),
                agent.on(Once, lambda _, event: agent.stay(v=event.v)),
                agent.on(Plain, lambda _, event: agent.stay(v=event.v)),
            ]
        )
    },
)


@pytest.mark.parametrize(
    ("event", "path", "told"),
    [
        (Paired(v=Pair.ONE), "entry.event", "cannot be read"),
        (Louder(v="a"), "entry.event.v", "'a!' would come back as 'a!!'"),
        (Once(v="a"), "entry.event", "marked already"),
    ],
)
def test_an_event_that_would_come_back_as_another_is_not_accepted(event: il.Event, path: str, told: str):
    with pytest.raises(il.NotJsonError, match=told) as raised:
        advance(begin(machine, execution_id="x").head, sc.Input(event=event))
    assert raised.value.path == path
    result = il.run_agent_sync(machine, event=event)
    assert isinstance(result, il.Failed)
    assert (result.cause, result.error.code) == ("journal", "not-json")
    assert replay(machine, result.entries).snapshot == result.snapshot


def test_any_other_is():
    result = il.run_agent_sync(machine, event=Plain(v="é", n=2))
    assert isinstance(result, il.Idle)
    assert replay(machine, result.entries, verify="strict").snapshot == result.snapshot


class Opaque:
    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and other.name == self.name

    __hash__ = object.__hash__


def opaque(value: Any) -> Opaque:
    return value if isinstance(value, Opaque) else Opaque(value)


Own = Annotated[Any, PlainSerializer(lambda value: value.name), PlainValidator(opaque)]


class Kept(BaseModel, frozen=True):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    own: Own = Opaque("a")
    data: bytes = b"\xff"
    n: int = 0


class Set(il.Event):
    """Set it."""

    name: str


def test_what_only_its_type_can_save_is_hashed_as_it_is_saved():
    keeping = il.setup_agent(context=Kept, events=[Set])
    chart = keeping.machine(
        "kept",
        context=Kept(),
        initial="a",
        states={"a": keeping.state(on=[keeping.on(Set, lambda _, event: keeping.stay(own=Opaque(event.name)))])},
    )
    result = il.run_agent_sync(chart, event=Set(name="b"))
    assert isinstance(result, il.Idle)
    assert result.snapshot.context == Kept(own=Opaque("b"))
    assert replay(chart, result.entries, verify="strict").snapshot == result.snapshot
    assert state_hash(chart.load(result.snapshot.to_json())) == result.entries[-1].state_hash
    first, second = (entry.state_hash for entry in result.entries)
    assert first != second
