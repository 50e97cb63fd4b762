"""The hash of a state depends on the state alone: not on how it came about, where it is, or what was hashed before."""

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc
from interlock.errors import EndlessLoopError
from interlock.journal import state_hash
from interlock.journal.hashing import StateHasher
from tests.conformance.corpus import DATA, cases_in, files_in
from tests.conformance.machines import build
from tests.conformance.records import TimerNames, record
from tests.conformance.replay import to_input


class Colour(StrEnum):
    RED = "red"


class Kind(Enum):
    A = 1


class Inner(BaseModel, frozen=True):
    kind: Kind = Kind.A
    when: dt.datetime = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


class Values(BaseModel, frozen=True):
    text: str = ""
    number: int = 0
    real: float = 0.0
    flag: bool = False
    maybe: int | None = None
    colour: Colour = Colour.RED
    price: Decimal = Decimal("1.10")
    id: UUID = UUID(int=1)
    data: bytes = b"abc"
    some: frozenset[str] = frozenset()
    lines: tuple[str, ...] = ()
    inner: Inner = Inner()
    inners: tuple[Inner, ...] = ()


agent = il.setup_agent(context=Values, events=[])


def snapshot(**fields: Any) -> il.Snapshot[Values]:
    machine = agent.machine("values", context=Values(**fields), initial="a", states={"a": agent.state()})
    found, _ = sc.initial_transition(machine)
    return found


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
some_values = st.fixed_dictionaries(
    {},
    optional={
        "text": texts,
        "number": st.integers(),
        "real": st.floats(allow_nan=False, allow_infinity=False),
        "maybe": st.none() | st.integers(),
        "price": st.decimals(allow_nan=False, allow_infinity=False),
        "some": st.frozensets(texts, max_size=4),
        "lines": st.lists(texts, max_size=6).map(tuple),
        "inners": st.lists(st.datetimes(timezones=st.just(dt.UTC)).map(lambda d: Inner(when=d)), max_size=3).map(tuple),
    },
)


@given(fields=some_values)
def test_saving_and_loading_does_not_change_it(fields: dict[str, Any]):
    before = snapshot(**fields)
    machine = agent.machine(
        "values", context=Values(), initial="a", states={"a": agent.state()}, version=before.machine_version
    )
    assert state_hash(machine.load(before.to_json())) == state_hash(before)


@given(states=st.lists(some_values, min_size=1, max_size=5))
def test_what_was_hashed_before_does_not_change_it(states: list[dict[str, Any]]):
    hasher = StateHasher()
    for fields in states:
        made = snapshot(**fields)
        assert hasher.digest(made) == state_hash(made)


@given(one=some_values, other=some_values)
def test_two_states_have_one_hash_only_if_they_are_saved_alike(one: dict[str, Any], other: dict[str, Any]):
    left, right = snapshot(**one), snapshot(**other)
    assert (state_hash(left) == state_hash(right)) == (left.dump() == right.dump())


NEAR = [
    {"a": 1}, {"a": True}, {"a": 1.0}, {"a": "1"}, {"a": None}, {"a": "None"}, {"a": (1,)}, {"a": (1, 2)}, {},
    {"a": ((1,), 2)}, {"a": (1, (2,))}, {"a": ()}, {"a": {}}, {"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, {"ab": 1},
    {"a": 1, "b": 1}, {"a": 0.0}, {"a": -0.0}, {"a": ""}, {"a": ("",)}, {"a": ("", "")}, {"a": 255}, {"a": -1},
    {"a": 256},
]  # fmt: skip


def test_values_that_are_near_each_other_have_hashes_of_their_own():
    def of(context: dict[str, Any]) -> str:
        found, _ = sc.initial_transition(sc.machine("m", context=context, initial="a", states={"a": sc.state()}))
        return state_hash(found)

    assert len({of(context) for context in NEAR}) == len(NEAR)


@pytest.mark.parametrize("first", [(1, 2), ("a", "b"), ((1,), (2,))], ids=repr)
@pytest.mark.parametrize(
    "second", [(True, 2), (1.0, 2.0, 3), ("a", "b", "c"), ("a", "x"), ((True,), (2,)), ()], ids=repr
)
def test_a_sequence_that_has_grown_or_not_has_the_hash_of_what_it_is(first: Any, second: Any):
    machine = sc.machine(
        "m",
        context={"log": first},
        initial="a",
        states={"a": sc.state(on=[sc.on("SET", lambda c, e: sc.stay().set({"log": e["value"]}))])},
    )
    before, _ = sc.initial_transition(machine)
    after, _ = sc.transition(machine, before, {"type": "SET", "value": second})
    hasher = StateHasher()
    hasher.digest(before)
    assert hasher.digest(after) == state_hash(after) == state_hash(machine.load(after.to_json()))


def test_it_is_the_same_in_every_process():
    program = (
        "import tests.journal.test_hashing as t\n"
        "print(t.state_hash(t.snapshot(some=frozenset('abcdefgh'), lines=('x', 'y'))))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {state_hash(snapshot(some=frozenset("abcdefgh"), lines=("x", "y"))) + "\n"}


class Floats(BaseModel, frozen=True):
    rates: tuple[float, ...] = ()


class Rate(il.Event):
    """Set the rates."""

    rates: tuple[float, ...] = ()


def test_a_state_that_could_not_be_saved_is_refused_with_the_field():
    floats = il.setup_agent(context=Floats, events=[Rate])
    machine = floats.machine(
        "floats",
        context=Floats(),
        initial="a",
        states={"a": floats.state(on=[floats.on(Rate, lambda c, e: floats.stay(rates=(float("nan"),)))])},
    )
    before, _ = sc.initial_transition(machine)
    after, _ = sc.transition(machine, before, Rate())
    with pytest.raises(il.NotJsonError, match="nan has no form in JSON") as raised:
        state_hash(after)
    assert raised.value.path == "context.rates[0]"


@pytest.mark.parametrize("file", files_in(DATA), ids=lambda file: file.stem)
def test_on_every_step_of_the_corpus_it_depends_on_the_state_alone(file: Path):
    for case in cases_in(file):
        hasher = StateHasher()
        names = TimerNames()
        machine = build(case["machine"])
        try:
            snapshot, effects = sc.initial_transition(machine, case.get("input"), at=0.0)
            record(snapshot, effects, case["events"], names)
            for index, step in enumerate(case["steps"]):
                fresh = build(case["machine"])
                assert hasher.digest(snapshot) == state_hash(fresh.load(snapshot.to_json())), case["id"]
                if "persist" not in step:
                    snapshot, effects = sc.transition(machine, snapshot, to_input(step, names), at=float(index + 1))
                    record(snapshot, effects, case["events"], names)
        except EndlessLoopError:
            continue
