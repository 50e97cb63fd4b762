"""The faults of the original that this engine must not have: one readable test each, and cases that show them.

The numbers are ours. ``data/faults.json`` holds generated and collected machines on which the original goes wrong,
each with the right course of events and the faults' numbers in its note; ``conformance/`` replays them like the corpus.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import interlock.statechart as sc
from interlock.errors import InvalidMoveError
from tests.conformance.corpus import cases_in
from tests.conformance.machines import Form
from tests.conformance.replay import differences

FAULTS = Path(__file__).resolve().parent / "data" / "faults.json"


def _marked(sign: str, name: str) -> sc.Move:
    return sc.stay().log(sign + name)


def _loud(name: str, **keywords: Any) -> Any:
    """A state that says when it is entered and left."""
    return sc.state(entry=_marked("+", name), exit=_marked("-", name), **keywords)


def _start(machine: Any) -> Any:
    return sc.initial_transition(machine, at=0.0)[0]


def _logged(effects: Any) -> list[str]:
    return [effect.values[0] for effect in effects if isinstance(effect, sc.Log)]


def test_f1_the_snapshot_passed_in_is_never_changed() -> None:
    machine = sc.machine(
        "m",
        context={"n": 0},
        initial="a",
        states={"a": sc.state(on={"GO": "a"}, entry=lambda context: sc.stay(n=context["n"] + 1))},
    )
    before = _start(machine)
    dumped = before.to_json()

    after, _ = sc.transition(machine, before, "GO")
    again, _ = sc.transition(machine, before, "GO")

    assert before.to_json() == dumped
    assert after.to_json() == again.to_json()


def _two_regions(**on: Any) -> Any:
    return sc.machine(
        "m",
        kind="parallel",
        states={
            "left": _loud("left", initial="x", states={"x": _loud("x", on=on), "y": _loud("y")}),
            "right": _loud("right"),
        },
    )


def test_f2_a_region_targeted_from_inside_is_left_before_it_is_entered() -> None:
    machine = _two_regions(GO="#m.left")

    after, effects = sc.transition(machine, _start(machine), "GO")

    assert after.value == {"left": "x", "right": {}}
    assert _logged(effects) == ["-x", "-left", "+left", "+x"]


def test_f2_a_region_targeted_from_its_sibling_is_left_before_it_is_entered() -> None:
    machine = _two_regions(GO="#m.right")

    after, effects = sc.transition(machine, _start(machine), "GO")

    assert after.value == {"left": "x", "right": {}}
    assert _logged(effects) == ["-right", "+right"]


def test_f2_the_invocation_of_a_region_entered_again_is_a_new_one() -> None:
    machine = sc.machine(
        "m",
        kind="parallel",
        sources={"work": None},
        states={"left": sc.state(invoke=sc.invoke("work", id="w")), "right": sc.state(on={"AGAIN": "left"})},
    )
    before = _start(machine)

    after, effects = sc.transition(machine, before, "AGAIN")

    assert [type(effect) for effect in effects] == [sc.Stop, sc.Spawn, sc.Start]
    assert after.children["w"].seq > before.children["w"].seq


def test_f3_a_transition_to_an_atomic_region_takes_part_in_conflicts() -> None:
    machine = sc.machine(
        "m",
        initial="p",
        states={
            "p": sc.parallel(states={"one": sc.state(on={"E": "two"}), "two": sc.state(on={"E": "#m.z"})}),
            "z": sc.state(),
        },
    )

    after, _ = sc.transition(machine, _start(machine), "E")

    # Both would leave `two`; the first one wins. The original did both and stood in `z` and in `p.two` at once.
    assert after.value == {"p": {"one": {}, "two": {}}}
    assert after.states == ("m", "m.p", "m.p.one", "m.p.two")


def test_f4_regions_are_asked_in_document_order_before_and_after_persisting() -> None:
    machine = sc.machine(
        "m",
        initial="p",
        states={
            "p": sc.parallel(
                states={
                    "one": sc.state(
                        initial="x",
                        states={"x": sc.state(on={"TURN": sc.to("x", reenter=True), "E": "#m.first"})},
                        on={"REDO": "#m.p.one"},
                    ),
                    "two": sc.state(on={"E": "#m.second"}),
                }
            ),
            "first": sc.state(),
            "second": sc.state(),
        },
    )
    snapshot = _start(machine)
    for event in ("TURN", "REDO"):
        # Region `one` is now the one that was entered last.
        snapshot, _ = sc.transition(machine, snapshot, event)

        assert sc.transition(machine, snapshot, "E")[0].value == "first"
        assert sc.transition(machine, machine.load(snapshot.to_json()), "E")[0].value == "first"


def test_f5_children_of_one_microstep_are_all_kept() -> None:
    machine = sc.machine(
        "m",
        initial="a",
        sources={"work": None},
        states={
            "a": sc.state(on={"GO": "b"}),
            "b": sc.state(
                initial="c",
                entry=lambda context: sc.stay().spawn("work", id="spawned"),
                on={"BACK": "a"},
                states={"c": sc.state(invoke=sc.invoke("work", id="invoked"))},
            ),
        },
    )

    inside, _ = sc.transition(machine, _start(machine), "GO")
    outside, _ = sc.transition(machine, inside, "BACK")

    assert sorted(inside.children) == ["invoked", "spawned"]
    assert sorted(outside.children) == ["spawned"]


def test_f5_a_child_stopped_on_entry_does_not_come_back() -> None:
    machine = sc.machine(
        "m",
        initial="a",
        sources={"work": None},
        entry=lambda context: sc.stay().spawn("work", id="spawned"),
        states={
            "a": sc.state(on={"GO": "b"}),
            "b": sc.state(
                initial="c",
                entry=lambda context: sc.stay().stop("spawned"),
                states={"c": sc.state(invoke=sc.invoke("work", id="invoked"))},
            ),
        },
    )

    inside, _ = sc.transition(machine, _start(machine), "GO")

    assert sorted(inside.children) == ["invoked"]


@pytest.mark.parametrize("again", [sc.to(reenter=True), lambda context, event: sc.stay().reenter()])
def test_f6_reentering_without_a_target_leaves_and_enters_the_source(again: Any) -> None:
    machine = sc.machine(
        "m",
        initial="a",
        states={
            "a": _loud("a", initial="x", on={"AGAIN": again}, states={"x": _loud("x", on={"Y": "y"}), "y": _loud("y")})
        },
    )
    snapshot, _ = sc.transition(machine, _start(machine), "Y")

    after, effects = sc.transition(machine, snapshot, "AGAIN")

    assert after.value == {"a": "x"}
    assert _logged(effects) == ["-y", "-a", "+a", "+x"]


def test_f7_a_done_machine_does_not_move_and_can_do_nothing() -> None:
    machine = sc.machine("m", initial="a", states={"a": sc.state(on={"END": "end"}), "end": sc.final()}, on={"E": ".a"})
    done, _ = sc.transition(machine, _start(machine), "END")

    assert done.status == "done"
    assert not done.can("E")
    assert done.accepted_events() == ()
    assert sc.transition(machine, done, "E") == (done, ())


def test_f8_an_error_that_nobody_handles_leaves_no_orphans() -> None:
    machine = sc.machine(
        "m",
        initial="a",
        sources={"work": None},
        states={
            "a": _loud(
                "a",
                initial="b",
                invoke=sc.invoke("work", id="outer"),
                after={20: "a"},
                states={
                    "b": _loud(
                        "b",
                        invoke=[sc.invoke("work", id="broken"), sc.invoke("work", id="inner")],
                        after={10: "b"},
                    )
                },
            )
        },
    )

    failed, effects = sc.transition(machine, _start(machine), sc.Input.failed("broken", "why"))

    assert failed.status == "error"
    assert failed.error == "why"
    assert not failed.children
    assert not failed.timers
    assert _logged(effects) == []
    assert [(type(effect), effect[0]) for effect in effects] == [
        # Not the one that failed: it is over already.
        (sc.Stop, "outer"),
        (sc.Stop, "inner"),
        (sc.Cancel, "after:20:m.a"),
        (sc.Cancel, "after:10:m.a.b"),
        (sc.Terminate, "error"),
    ]
    assert sc.owed(failed) == sc.owed(machine.load(failed.to_json()))


@pytest.mark.parametrize("nonsense", [False, True, 0, "b", {}])
def test_f10_a_handler_returns_a_move_or_none_and_anything_else_is_an_error_that_says_so(nonsense: Any) -> None:
    def handler(context: Any, event: Any) -> Any:
        return nonsense

    machine = sc.machine("m", initial="a", states={"a": sc.state(on={"E": handler}), "b": sc.state()})
    snapshot = _start(machine)

    with pytest.raises(InvalidMoveError, match="handler") as caught:
        sc.transition(machine, snapshot, "E")

    assert caught.value.code == "invalid-handler-result"
    assert repr(nonsense) in str(caught.value)
    assert snapshot.value == "a"


def test_f10_none_means_not_taken_and_asks_the_next_one() -> None:
    machine = sc.machine(
        "m",
        initial="a",
        states={"a": sc.state(on={"E": lambda context, event: None}), "b": sc.state()},
        on={"E": ".b"},
    )

    assert sc.transition(machine, _start(machine), "E")[0].value == "b"


@pytest.mark.parametrize("form", ["handlers", "static"])
def test_machines_on_which_the_original_goes_wrong_go_right(form: Form) -> None:
    found = [difference for case in cases_in(FAULTS) for difference in differences(case, form)]

    assert not found, "\n".join(map(str, found[:5]))


def test_the_cases_name_the_faults_that_they_show() -> None:
    named = json.dumps([case["note"] for case in cases_in(FAULTS)])

    for fault in ("F2", "F3", "F4", "F5", "F6"):
        assert fault in named
