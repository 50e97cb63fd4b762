"""Nothing is lost without a word: what cannot come back from saving is refused when it is built, set or saved."""

from __future__ import annotations

import dataclasses
import enum
import json
from decimal import Decimal
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel, Field, PrivateAttr, SecretStr, computed_field, field_serializer, field_validator

import interlock.statechart as sc
from interlock.errors import DefinitionError, InputError, InvalidMoveError, NotJsonError, SnapshotError


class Secret(BaseModel, frozen=True):
    x: SecretStr = SecretStr("")


class LeftOut(BaseModel, frozen=True):
    x: str = Field(default="", exclude=True)


class Private(BaseModel, frozen=True):
    n: int = 0
    _x: list[int] = PrivateAttr(default_factory=list)


class Base(BaseModel, frozen=True):
    a: int = 0


class Sub(Base, frozen=True):
    d: int = 0


class Cat(BaseModel, frozen=True):
    n: int = 0


class Dog(BaseModel, frozen=True):
    n: int = 0


class HoldsBase(BaseModel, frozen=True):
    x: Base = Base()


class Pet(BaseModel, frozen=True):
    x: Cat | Dog = Cat()


class Ambiguous(BaseModel, frozen=True):
    x: Decimal | str = Decimal(0)


class Louder(BaseModel, frozen=True):
    x: str = ""

    @field_validator("x")
    @classmethod
    def _louder(cls, value: str) -> str:
        return value + "!" if value else value


class Computed(BaseModel, frozen=True, extra="forbid"):
    x: int = 0

    @computed_field
    def double(self) -> int:
        return 2 * self.x


class OneWay(BaseModel, frozen=True):
    x: int = 0

    @field_serializer("x")
    def _words(self, value: int) -> str:
        return "none" if value == 0 else f"{value} of them"


class Anything(BaseModel, frozen=True):
    x: Any = None
    n: int = 0


class Picky(BaseModel, frozen=True):
    x: str = ""

    @field_validator("x")
    @classmethod
    def _known(cls, value: str) -> str:
        return {"": "", "a": "a"}[value]


class Raw(BaseModel, frozen=True):
    x: bytes = b""
    f: float = 0.0
    s: str = ""


def changed(context: Any, value: Any, field: str = "x") -> Any:
    machine = sc.machine(
        "m",
        initial="a",
        context=context,
        states={"a": sc.state(on={"GO": lambda _c, _e: sc.stay().set({field: value})})},
    )
    return sc.transition(machine, sc.initial_transition(machine)[0], "GO")[0]


@pytest.mark.parametrize("context", [LeftOut(), Private(), OneWay()], ids=lambda context: type(context).__name__)
def test_what_is_known_to_be_lost_is_refused_when_the_machine_is_built(context: Any) -> None:
    with pytest.raises(DefinitionError, match=r"saved|loaded") as caught:
        sc.machine("m", context=context)
    assert caught.value.code == "invalid-context"


@pytest.mark.parametrize(
    ("context", "value"),
    [
        (Secret(), SecretStr("hush")),
        (HoldsBase(), Sub(a=1, d=2)),
        (Pet(), Dog(n=1)),
        (Ambiguous(), "1.5"),
        (Louder(), "a"),
        (Raw(), b"\xff\xfe"),
    ],
    ids=["secret", "subclass", "union", "ambiguous", "validator", "bytes"],
)
def test_what_would_be_lost_is_refused_when_it_is_saved(context: Any, value: Any) -> None:
    snapshot = changed(context, value)
    with pytest.raises(NotJsonError, match="context") as caught:
        snapshot.to_json()
    assert "hush" not in str(caught.value)


def test_computed_fields_are_not_saved() -> None:
    snapshot = changed(Computed(), 4)
    assert snapshot.configuration.table.context.load(snapshot.dump()["context"]) == Computed(x=4)


@pytest.mark.parametrize("value", [[1, {"a": [2]}], "text", None, {"k": (1,)}])
def test_a_field_of_any_type_holds_frozen_json(value: Any) -> None:
    snapshot = changed(Anything(), value)
    assert json.loads(snapshot.to_json())["context"]["x"] == json.loads(json.dumps(value))
    assert not isinstance(snapshot.context.x, list)
    if isinstance(value, list):
        value.append(3)
        assert len(snapshot.context.x) == 2


@pytest.mark.parametrize(
    ("context", "field", "value"),
    [
        (Anything(), "x", {1}),
        (Anything(), "x", Decimal(1)),
        (Raw(), "f", float("inf")),
        (Raw(), "s", "\ud800"),
        (Picky(), "x", "zz"),
        ({"x": 0}, "x", [[[]]] * 1),
    ],
    ids=["set", "decimal", "infinity", "surrogate", "validator that raises", "depth"],
)
def test_what_cannot_be_saved_is_refused_in_the_step(context: Any, field: str, value: Any) -> None:
    if isinstance(context, dict):
        for _ in range(200):
            value = [value]
    with pytest.raises(InvalidMoveError) as caught:
        changed(context, value, field)
    assert caught.value.code == "invalid-field"


def test_a_validator_that_raises_is_no_reason_to_fail_without_a_name() -> None:
    machine = sc.machine("m", context=Picky())
    dump = sc.initial_transition(machine)[0].dump() | {"context": {"x": "zz"}}
    with pytest.raises(SnapshotError, match="KeyError"):
        machine.load(dump)
    with pytest.raises(DefinitionError, match="KeyError"):
        sc.machine("m", context={"x": "zz"}, context_type=Picky)


@pytest.mark.parametrize(
    ("kind", "output"), [(Decimal, Decimal("1.50")), (tuple[Base, ...], (Base(a=1),)), (list[int], [1, 2])]
)
def test_a_declared_output_is_saved_by_its_type_and_belongs_to_the_caller(kind: Any, output: Any) -> None:
    machine = sc.machine(
        "m", initial="a", context={}, output_type=kind, states={"a": sc.final(output=lambda _c: output)}
    )
    snapshot, _ = sc.initial_transition(machine)
    assert snapshot.output == output
    assert machine.load(snapshot.to_json()) == snapshot
    if isinstance(output, list):
        snapshot.output.append(9)
        assert snapshot.output == [1, 2]


@pytest.mark.parametrize("at", [float("nan"), float("inf"), "now", True])
def test_a_time_that_is_none_is_refused(at: Any) -> None:
    machine = sc.machine("m", initial="a", context={}, states={"a": sc.state(after={1: "b"}), "b": sc.state()})
    with pytest.raises(InputError, match="no time"):
        sc.initial_transition(machine, at=at)


def test_an_input_for_a_machine_that_takes_none_is_refused() -> None:
    with pytest.raises(InputError, match="takes no input"):
        sc.initial_transition(sc.machine("m", context={}), 5)


def test_a_growing_tuple_is_frozen_once() -> None:
    machine = sc.machine(
        "m",
        initial="a",
        context={"log": ()},
        states={"a": sc.state(on={"ADD": lambda c, e: sc.stay(log=(*c["log"], [e["n"]]))})},
    )
    snapshot, _ = sc.initial_transition(machine)
    for number in range(50):
        before = snapshot.context["log"]
        snapshot, _ = sc.transition(machine, snapshot, {"type": "ADD", "n": number})
        assert all(new is old for new, old in zip(snapshot.context["log"], before, strict=False))
    assert snapshot.context["log"][-1] == (49,)


class Inner(BaseModel, frozen=True):
    n: int = 0
    data: bytes = b""


@dataclasses.dataclass(frozen=True)
class Holder:
    inner: Inner = dataclasses.field(default_factory=Inner)


class Deep(BaseModel, frozen=True):
    x: tuple[Holder, ...] = ()
    named: sc.FrozenDict[str, bytes] = sc.FrozenDict()


class Declared(TypedDict):
    x: tuple[bytes, ...]


class Pair(enum.Enum):
    ONE = (1, 2)


class HoldsPair(BaseModel, frozen=True):
    x: Pair | None = None


class Number(BaseModel, frozen=True):
    x: int = 0


BAD = b"\xff"


@pytest.mark.parametrize(
    ("context", "value", "path"),
    [
        (Raw(), BAD, "context.x"),
        (Deep(), (Holder(), Holder(Inner(data=BAD))), "context.x[1].inner.data"),
        (Holder(), Inner(data=BAD), "context.inner.data"),
        (HoldsPair(), Pair.ONE, "context.x"),
        pytest.param(Number(), 10**5000, "context.x", id="large"),
    ],
)
def test_what_cannot_be_saved_is_named_by_its_place(context: Any, value: Any, path: str) -> None:
    after = changed(context, value, "inner" if isinstance(context, Holder) else "x")
    with pytest.raises(NotJsonError) as caught:
        after.dump()
    assert caught.value.path == path


def test_the_place_in_other_kinds_of_context() -> None:
    named = changed(Deep(), sc.FrozenDict({"good": b"a", "bad": BAD}), "named")
    with pytest.raises(NotJsonError, match=r"context\.named\.bad: cannot be saved"):
        named.dump()
    machine = sc.machine(
        "m",
        context_type=Declared,
        context={"x": ()},
        initial="a",
        states={"a": sc.state(on={"GO": lambda _c, _e: sc.stay(x=(b"a", BAD))})},
    )
    with pytest.raises(NotJsonError, match=r"context\.x\[1\]: cannot be saved"):
        sc.transition(machine, sc.initial_transition(machine)[0], "GO")[0].dump()
    with pytest.raises(DefinitionError, match=r"context\.a\.b: nan"):
        sc.machine("m", context={"a": {"b": float("nan")}})
    with pytest.raises(DefinitionError, match=r"field 'x': a value of type object cannot be kept"):
        sc.machine("m", context=Anything(x=object()))
