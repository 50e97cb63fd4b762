"""What is saved is complete, stable and versioned; what does not fit is refused with the field that is wrong."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlock.statechart as sc
from interlock.errors import ErrorInfo, SnapshotError


def rich() -> sc.Machine[Any, Any, Any]:
    """A machine whose snapshot has everything that a snapshot can have."""
    kid = sc.machine(
        "kid", initial="w", context={"k": 1}, states={"w": sc.state(after={9: "e"}), "e": sc.final(output=5)}
    )
    return sc.machine(
        "rich",
        version="1",
        initial="p",
        context={"n": 1, "text": "ü🚀", "deep": {"list": [1, None, True, 1.5]}},
        sources={"kid": kid, "f": None},
        states={
            "p": sc.parallel(
                states={
                    "a": sc.state(
                        initial="x", states={"x": sc.state(on={"N": "y"}), "y": sc.state(), "h": sc.history(deep=True)}
                    ),
                    "b": sc.state(
                        initial="1",
                        invoke=[sc.invoke("kid", id="k"), sc.invoke("f", id="f", input={"q": [1]})],
                        after={30: ".2"},
                        states={
                            "1": sc.state(on={"F": lambda _c, _e: sc.goto("2").with_input({"i": 1})}),
                            "2": sc.final(output=3),
                        },
                        entry=sc.stay().raise_({"type": "LATER", "v": [1]}, delay=60, id="later"),
                    ),
                },
                on={"OUT": "out", "SPAWN": lambda _c, _e: sc.stay().spawn("f", id="s", input="x")},
            ),
            "out": sc.state(on={"BACK": "p"}),
        },
    )


MACHINE = rich()


def full() -> Any:
    snapshot, _ = sc.initial_transition(MACHINE, at=100.0)
    for number, event in enumerate(
        ["N", "OUT", "BACK", "N", "F", "SPAWN", sc.Input(invocation="f", record={"attempt": 1})]
    ):
        snapshot, _ = sc.transition(MACHINE, snapshot, event, at=101.0 + number)
    return snapshot


def test_everything_is_there() -> None:
    dump = full().dump()
    assert set(dump) >= {
        "format",
        "machine",
        "version",
        "status",
        "states",
        "context",
        "seq",
        "history",
        "inputs",
        "results",
        "children",
        "timers",
    }
    assert [item["id"] for item in dump["children"]] == ["k", "f", "s"]
    assert dump["children"][1]["records"] == [{"attempt": 1}]
    assert {item["id"] for item in dump["timers"]} == {"after:30:rich.p.b", "id:later"}
    assert dump["children"][0]["snapshot"]["timers"][0]["id"] == "after:9:kid.w"


@pytest.mark.parametrize("hops", [1, 3])
def test_any_number_of_hops_changes_nothing(hops: int) -> None:
    snapshot = full()
    text = snapshot.to_json()
    for _ in range(hops):
        snapshot = rich().load(snapshot.to_json())
        assert snapshot.to_json() == text
    mine = MACHINE.load(text)
    assert mine == full()
    assert sc.owed(mine).timers == sc.owed(full()).timers


def test_a_pending_timer_keeps_its_deadline() -> None:
    snapshot = MACHINE.load(full().to_json())
    due = {timer.id: timer.due for timer in sc.owed(snapshot).timers}
    assert due == {"after:9:kid.w": 112.0, "after:30:rich.p.b": 133.0, "id:later": 163.0}


def test_loading_accepts_text_bytes_and_data_and_changes_none_of_them() -> None:
    data = full().dump()
    before = copy.deepcopy(data)
    assert MACHINE.load(data) == MACHINE.load(json.dumps(data)) == MACHINE.load(json.dumps(data).encode())
    assert data == before


def test_the_dump_belongs_to_the_caller() -> None:
    snapshot = full()
    snapshot.dump()["context"]["deep"]["list"].append(2)
    assert snapshot.dump() == full().dump()


def test_a_snapshot_cannot_be_made_changed_or_pickled() -> None:
    snapshot = full()
    with pytest.raises(TypeError, match="initial_transition"):
        sc.Snapshot()
    for name in ("context", "configuration", "rest", "new"):
        with pytest.raises(AttributeError):
            setattr(snapshot, name, 1)
        with pytest.raises(AttributeError):
            delattr(snapshot, name)
    with pytest.raises(TypeError, match=r"machine.load\(\)"):
        pickle.dumps(snapshot)
    assert copy.deepcopy(snapshot) is snapshot
    snapshot.value.clear()
    assert snapshot.value == full().value


BROKEN: dict[str, tuple[Any, str, str]] = {
    "null": (lambda _: None, "invalid-snapshot", "NoneType"),
    "list": (lambda _: [], "invalid-snapshot", "list"),
    "empty": (lambda _: {}, "unsupported-format", "format"),
    "cut text": (lambda d: json.dumps(d)[:-5], "invalid-snapshot", "no JSON"),
    "not-a-number": (lambda d: json.dumps(d).replace("1.5", "NaN"), "invalid-snapshot", "NaN is not JSON"),
    "format 99": (lambda d: d | {"format": 99}, "unsupported-format", "is 99"),
    "other machine": (lambda d: d | {"machine": "ticket"}, "machine-mismatch", "saved by machine 'ticket'"),
    "other version": (lambda d: d | {"version": "2"}, "version-mismatch", "saved by version '2', this is version '1'"),
    "no status": (lambda d: d | {"status": None}, "invalid-snapshot", "status"),
    "unknown status": (lambda d: d | {"status": "stopped"}, "invalid-snapshot", "'stopped'"),
    "no states": (lambda d: d | {"states": []}, "invalid-snapshot", "states"),
    "renamed state": (lambda d: d | {"states": ["rich.reviewing"]}, "invalid-snapshot", "no state 'rich.reviewing'"),
    "half a configuration": (lambda d: d | {"states": ["rich.p.a.y"]}, "invalid-snapshot", "cannot be active together"),
    "two at once": (
        lambda d: d | {"states": ["rich.p.a.y", "rich.out"]},
        "invalid-snapshot",
        "cannot be active together",
    ),
    "a state with children": (lambda d: d | {"states": ["rich.p"]}, "invalid-snapshot", "no state without children"),
    "no context": (lambda d: {k: v for k, v in d.items() if k != "context"}, "invalid-snapshot", "context: is missing"),
    "context of a wrong kind": (lambda d: d | {"context": [1]}, "invalid-snapshot", "context"),
    "no number": (lambda d: d | {"seq": "5"}, "invalid-snapshot", "seq"),
    "child of no source": (
        lambda d: d | {"children": [{"id": "x", "seq": 1, "src": "g"}]},
        "invalid-snapshot",
        "is no source",
    ),
    "child without its snapshot": (
        lambda d: d | {"children": [{"id": "k", "seq": 1, "src": "kid"}]},
        "invalid-snapshot",
        "snapshot",
    ),
    "child from the future": (
        lambda d: d | {"children": [{"id": "f", "seq": 99, "src": "f"}]},
        "invalid-snapshot",
        "seq of 'f'",
    ),
    "child twice": (
        lambda d: d | {"children": [{"id": "f", "seq": 1, "src": "f"}] * 2},
        "invalid-snapshot",
        "stands twice",
    ),
    "timer that nobody declares": (
        lambda d: d | {"timers": [{"id": "after:1:x", "seq": 1, "delay": 1, "due": 1}]},
        "invalid-snapshot",
        "no active state declares it",
    ),
    "timer without a time": (
        lambda d: d | {"timers": [{"id": "id:later", "seq": 1}]},
        "invalid-snapshot",
        "must be numbers",
    ),
    "history of strangers": (
        lambda d: d | {"history": {"rich.p.a.h": ["rich.out"]}},
        "invalid-snapshot",
        "outside its parent",
    ),
    "done but still owing": (lambda d: d | {"status": "done"}, "invalid-snapshot", "owes nothing"),
    "error without an error": (
        lambda d: d | {"status": "error", "children": [], "timers": []},
        "invalid-snapshot",
        "error",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_does_not_fit_is_refused_by_name(name: str) -> None:
    change, code, text = BROKEN[name]
    with pytest.raises(SnapshotError) as caught:
        MACHINE.load(change(full().dump()))
    assert caught.value.code == code
    assert text in str(caught.value)
    assert "machine '" in str(caught.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_no_damage_ever_gives_more_than_a_snapshot_error(data: Any) -> None:
    dump: Any = full().dump()
    place: Any = dump
    while True:
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(place[key], (dict, list)) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        if data.draw(st.booleans()):
            place[key] = data.draw(json_values)
        else:
            del place[key]
        break
    try:
        loaded = MACHINE.load(dump)
    except SnapshotError:
        return
    assert MACHINE.load(loaded.to_json()) == loaded


def test_an_old_version_is_migrated_by_the_machine() -> None:
    def migrate(dump: dict[str, Any], from_version: str) -> dict[str, Any]:
        assert from_version == "1"
        dump["states"] = ["m.review"]
        dump["context"]["count"] = dump["context"].pop("n")
        return dump

    def build(version: str, key: str, context: Any, **keywords: Any) -> Any:
        return sc.machine("m", version=version, initial=key, context=context, states={key: sc.state()}, **keywords)

    old, new = build("1", "reviewing", {"n": 3}), build("2", "review", {"count": 0}, migrate=migrate)
    saved = sc.initial_transition(old)[0].dump()
    before = copy.deepcopy(saved)
    snapshot = new.load(saved)
    assert (snapshot.value, snapshot.context, snapshot.machine_version) == ("review", {"count": 3}, "2")
    assert saved == before
    with pytest.raises(SnapshotError, match="migrate raised KeyError"):
        build("3", "x", {}, migrate=lambda dump, _: dump["nope"]).load(saved)
    with pytest.raises(SnapshotError, match=r"no state .m\.reviewing."):
        build("3", "x", {}, migrate=lambda dump, _: dump).load(saved)


def test_the_structural_version_sees_structure_and_not_code() -> None:
    def build(key: str = "b", handler: Any = lambda _c, _e: None, source: Any = None) -> str:
        return sc.machine(
            "m",
            initial="a",
            context={},
            sources={"f": source},
            states={"a": sc.state(on={"GO": handler}), key: sc.state()},
        ).version

    assert build() == build(handler=lambda c, e: sc.stay() if c or e else None)
    assert build() != build(key="c")
    assert build() != build(source=sc.machine("kid", context={}))


def test_history_is_remembered_through_saving() -> None:
    for deep in (False, True):
        machine = sc.machine(
            "m",
            initial="A",
            context={},
            states={
                "A": sc.state(
                    initial="1",
                    states={
                        "1": sc.state(on={"N": "2"}),
                        "2": sc.state(initial="x", states={"x": sc.state(on={"N": "y"}), "y": sc.state()}),
                        "h": sc.history(deep=deep),
                    },
                    on={"OUT": "B"},
                ),
                "B": sc.state(on={"BACK": "A.h"}),
            },
        )
        snapshot, _ = sc.initial_transition(machine)
        for event in ("N", "N", "OUT"):
            snapshot, _ = sc.transition(machine, snapshot, event)
        snapshot = machine.load(snapshot.to_json())
        snapshot, _ = sc.transition(machine, snapshot, "BACK")
        assert snapshot.value == {"A": {"2": "y" if deep else "x"}}


def test_a_failed_machine_keeps_its_error() -> None:
    machine = sc.machine("m", context={}, sources={"f": None}, invoke=sc.invoke("f", id="f"))
    snapshot, _ = sc.initial_transition(machine)
    for error in ("boom", {"code": [1]}, None, ErrorInfo("c", "T", "m", {"a": 1}, ErrorInfo("d", "U", "n"))):
        failed, effects = sc.transition(machine, snapshot, sc.Input.failed("f", error))
        assert failed.status == "error"
        assert effects == (sc.Terminate("error"),)
        assert machine.load(failed.to_json()) == failed
        assert json.loads(json.dumps(failed.dump())) == failed.dump()


def test_a_machine_that_stands_at_its_end_is_not_active() -> None:
    region = {"a": sc.state(on={"GO": "z"}), "z": sc.final()}
    plain = sc.machine("plain", context={}, initial="a", states=region)
    regions = {name: sc.state(initial="a", states=region) for name in ("left", "right")}
    both = sc.machine("both", context={}, kind="parallel", states=regions)
    for machine, ends in ((plain, ["plain.z"]), (both, ["both.left.z", "both.right.z"])):
        snapshot, _ = sc.initial_transition(machine)
        with pytest.raises(SnapshotError, match="is done, not active") as refused:
            machine.load(snapshot.dump() | {"states": ends})
        assert refused.value.code == "invalid-snapshot"
    half = sc.initial_transition(both)[0].dump() | {"states": ["both.left.a", "both.right.z"]}
    assert both.load(half).status == "active"
