"""Entries are strict JSON: what they say comes back as it was, and what says nothing is refused with its place."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlock as il
import interlock.statechart as sc
from interlock.journal import LogEntry, advance, begin, begin_from, resume
from interlock.statechart import UNSET

GOOD: dict[str, Any] = {
    "schema_version": 1,
    "id": "evt_00000003",
    "index": 3,
    "recorded_at": 12.5,
    "machine_id": "m",
    "machine_version": "1",
    "status": "waiting",
    "event": {"type": "GO", "n": [1, {"a": None}]},
    "by": "host",
}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(payload=st.dictionaries(texts, values, max_size=4), metadata=st.dictionaries(texts, values, max_size=3))
def test_what_an_entry_holds_comes_back_from_its_text(payload: dict[str, Any], metadata: dict[str, Any]):
    entry = LogEntry.from_json({**GOOD, "event": {**payload, "type": "GO"}, "metadata": metadata})
    again = LogEntry.from_json(entry.to_text())
    assert again == entry
    assert again.to_text() == entry.to_text()
    assert json.loads(entry.to_text())["event"] == {**payload, "type": "GO"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"schema_version": 2}, "schema_version is 2; this library reads 1"),
        ({"schema_version": True}, "schema_version"),
        ({"index": -1}, "index is -1"),
        ({"index": True}, "index is True"),
        ({"index": 1.0}, "index is 1.0"),
        ({"index": 2**63}, "index is 9223372036854775808"),
        ({"id": ""}, "id is ''"),
        ({"recorded_at": float("inf")}, "recorded_at"),
        ({"recorded_at": "2026-01-01"}, "recorded_at"),
        ({"recorded_at": True}, "recorded_at is True"),
        ({"recorded_at": 10**400}, "recorded_at is 1000"),
        ({"machine_id": None}, "machine_id is None"),
        ({"status": "asleep"}, "status is 'asleep', expected one of working"),
        ({"event": {"n": 1}}, "event is"),
        ({"event": {"type": "@done.state.x"}}, "event is"),
        ({"event": {"type": "@agent.init", "input": 1, "snapshot": {}}}, "input or snapshot, not both"),
        ({"event": {"type": "GO", "x": float("nan")}}, "entry 3: event.x: nan has no form in JSON"),
        ({"event": {"type": "GO", "x": {1: 2}}}, "entry 3: event.x: key 1 is no string"),
        ({"event": {"type": "GO", "x": "\ud800"}}, "entry 3: event.x: the text holds a lone surrogate"),
        ({"event": {"type": "GO", "x": object}}, "entry 3: event.x: a value of type type"),
        ({"to": ["a", ""]}, "to is"),
        ({"metadata": []}, "metadata is []"),
        ({"verification": {}}, "verification is {}"),
        ({"error": {"info": {}, "value": 1}}, "error is"),
        ({"invocation": "a#1", "output": 1, "usage": {"input_tokens": "7"}}, "usage is"),
        ({"invocation": "a#1", "output": 1, "usage": {"model_calls": True}}, "usage is"),
        ({"invocation": "a#1", "error": {"info": {}}}, "says what nothing can have said"),
        ({"output": 1}, "says what nothing can have said"),
        ({"timer": "t#1"}, "says what nothing can have said"),
        ({"extra": 1}, "has a field 'extra' that no entry has"),
    ],
    ids=lambda value: "" if isinstance(value, str) else repr(value)[:60],
)
def test_what_is_no_entry_is_refused_with_its_place(wrong: dict[str, Any], said: str):
    with pytest.raises(il.InvalidLogError) as raised:
        LogEntry.from_json({**GOOD, **wrong})
    assert said in str(raised.value)


def test_a_number_that_python_would_not_write_is_refused_as_well():
    for name in ("index", "recorded_at"):
        with pytest.raises(il.InvalidLogError, match=f"{name} is int of thousands of digits"):
            LogEntry.from_json({**GOOD, name: 10**5000})


@pytest.mark.parametrize("missing", ["id", "index", "recorded_at", "machine_id", "machine_version", "status"])
def test_what_is_missing_is_named(missing: str):
    with pytest.raises(il.InvalidLogError, match=f"{missing} is missing"):
        LogEntry.from_json({name: value for name, value in GOOD.items() if name != missing})


@pytest.mark.parametrize("given_", ["", "{", "[1]", '{"a": NaN}', "1" * 5000, "[" * 100_000], ids=str.__len__)
def test_text_that_is_no_entry(given_: str):
    with pytest.raises(il.InvalidLogError):
        LogEntry.from_json(given_)


def test_one_input_is_one_entry():
    machine = sc.machine(
        "m",
        initial="a",
        sources={"work": print},
        states={
            "a": sc.state(
                invoke=sc.invoke("work", id="w", on_done=sc.on("", "b"), on_error=sc.on("", "b")), on={"GO": "b"}
            ),
            "b": sc.state(after=[sc.after(1, "c")]),
            "c": sc.final(),
        },
    )
    head, first, _ = begin(machine, execution_id="x", at=1.0)
    assert (first.type, first.status, first.metadata) == ("@agent.init", "working", {"execution_id": "x"})
    grown, record, _ = advance(head, sc.Input(invocation="w#1", record={"n": 1}), at=2.0, metadata={"k": 1})
    assert (record.type, record.record, record.output, record.metadata) == ("@record.w", {"n": 1}, UNSET, {"k": 1})
    both, done, _ = advance(grown, sc.Input(invocation="w#1", record={"n": 2}, output=(1, 2)), at=3.0)
    assert (done.type, done.record, done.output, done.causation_id) == (
        "@done.invoke.w",
        {"n": 2},
        (1, 2),
        "evt_00000000",
    )
    over, timer, _ = advance(both, sc.Input.fired("after:1:m.b#2"), at=4.0)
    assert (timer.type, timer.status, timer.causation_id, over.length) == ("@timer.after:1:m.b", "done", done.id, 4)
    _, failed, _ = advance(head, sc.Input.failed("w", ValueError("no")), at=2.0)
    assert failed.type == "@error.invoke.w"
    assert failed.error["info"]["message"] == "no"
    _, plain, _ = advance(head, sc.Input.failed("w", {"code": 3}), at=2.0)
    assert plain.error == {"value": {"code": 3}}
    for entry in (first, record, done, timer, failed, plain):
        assert LogEntry.from_json(entry.to_text()) == entry


@pytest.mark.parametrize(
    "at", [10**400, -(10**400), float("nan"), float("inf"), "now", True], ids=lambda at: str(at)[:9]
)
def test_a_time_that_no_entry_could_hold_is_refused(at: Any):
    machine = sc.machine(
        "m", initial="a", states={"a": sc.state(on={"GO": "b"}, after=[sc.after(9, "b")]), "b": sc.state()}
    )
    head = begin(machine, execution_id="x", at=1e9).head
    for grown in (
        lambda: begin(machine, execution_id="x", at=at),
        lambda: begin_from(machine, head.snapshot, execution_id="x", at=at),
        lambda: advance(head, sc.Input(event="GO"), at=at),
        lambda: resume(head, at=at),
    ):
        with pytest.raises(il.InputError, match=r"machine 'm': at=.*give the time in Unix seconds") as raised:
            grown()
        assert raised.value.code == "invalid-input"
    for good in (0, -5, 1e300, 10**300):
        entry = resume(head, at=good).entry
        assert LogEntry.from_json(entry.to_text()) == entry


class Loose(sc.Event):
    """An event whose payload nobody has looked at."""


@pytest.mark.parametrize(
    ("given_", "path"),
    [
        (sc.Input(invocation="w#1", output=float("nan")), "entry.output"),
        (sc.Input(invocation="w#1", output={"a": [1, {2}]}), "entry.output.a[1]"),
        (sc.Input(invocation="w#1", record={"x": "\udfff"}), "entry.record.x"),
        (sc.Input(invocation="w#1", error={"x": {3: 1}}), "entry.error.value.x"),
    ],
    ids=["nan", "set", "surrogate", "key"],
)
def test_what_cannot_be_written_is_refused_with_its_path_and_changes_nothing(given_: sc.Input, path: str):
    machine = sc.machine(
        "m", initial="a", sources={"work": print}, states={"a": sc.state(invoke=sc.invoke("work", id="w"))}
    )
    head, _, _ = begin(machine, execution_id="x")
    with pytest.raises(il.NotJsonError) as raised:
        advance(head, given_)
    assert raised.value.path == path
    assert "machine 'm', entry 1" in str(raised.value)
    assert head.length == 1
