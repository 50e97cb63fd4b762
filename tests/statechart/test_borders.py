"""What may come into a machine, and what may not: classes, the engine's own events, reports of who has gone."""

from __future__ import annotations

from typing import Any

import pytest

import interlock as il
import interlock.statechart as sc


class Go(il.Event):
    pass


OWN = sc.InternalEvent("@done.state.m.a", "m.a")
COST = {"tokens": 5}


def working(**fields: Any) -> sc.Machine[Any, Any, Any]:
    return sc.machine(
        id="m",
        context={"n": 0},
        initial="a",
        sources={"f": None},
        states={
            "a": sc.state(invoke=sc.invoke("f", id="w"), on={"Go": "b"}, **fields),
            "b": sc.state(on={"Go": lambda c, e: sc.stay(n=c["n"] + 1)}),
        },
    )


def test_a_class_is_no_event_whatever_was_asked_before():
    machine = working()
    snapshot, _ = sc.initial_transition(machine)
    for _ in range(3):
        with pytest.raises(il.InputError, match="is no event"):
            sc.transition(machine, snapshot, Go)
        sc.transition(machine, snapshot, Go())


def test_nobody_outside_completes_a_state():
    machine = working(on_done="b")
    snapshot, _ = sc.initial_transition(machine)
    with pytest.raises(il.InputError) as caught:
        sc.transition(machine, snapshot, OWN)
    assert caught.value.code == "reserved-event"
    for fields in ({}, {"invocation": "w#1"}, {"address": ("w#1",)}):
        with pytest.raises(il.InputError) as caught:
            sc.Input(event=OWN, **fields)
        assert caught.value.code == "reserved-event"


@pytest.mark.parametrize("how", ["send", "later", "raise", "emit"])
def test_what_the_engine_has_said_is_not_handed_on(how: str):
    made = {
        "send": lambda c, e: sc.stay().send("w", e),
        "later": lambda c, e: sc.stay().send("w", e, delay=1),
        "raise": lambda c, e: sc.stay().raise_(e),
        "emit": lambda c, e: sc.stay().emit(e),
    }
    machine = sc.machine(
        id="m",
        initial="a",
        sources={"f": None},
        states={"a": sc.state(invoke=sc.invoke("f", id="w"), on={"*": made[how]})},
    )
    snapshot, _ = sc.initial_transition(machine)
    with pytest.raises(il.StepError) as caught:
        sc.transition(machine, snapshot, sc.Input.failed("w", "no"), at=0.0)
    assert caught.value.code == "reserved-event"


@pytest.mark.parametrize("key", ["gone", "gone#3", "w#7"])
def test_a_report_of_who_is_there_no_longer_changes_nothing(key: str):
    machine = working()
    snapshot, _ = sc.initial_transition(machine)
    for given in (sc.Input.failed(key, "x"), sc.Input.done(key, 1)):
        after, effects = sc.transition(machine, snapshot, given)
        assert (after.status, after.value, effects) == ("active", "a", ())


def test_a_call_that_was_too_expensive_has_its_event_dropped():
    machine = sc.machine(
        id="m",
        context={"heard": ()},
        initial="a",
        sources={"f": None},
        on={"@agent.usage": ".broke"},
        states={
            "a": sc.state(invoke=sc.invoke("f", id="w"), on={"Go": "b"}),
            "b": sc.state(),
            "broke": sc.state(on={"Go": lambda c, e: sc.stay(heard=(*c["heard"], "Go"))}),
        },
    )
    snapshot, _ = sc.initial_transition(machine)
    given = sc.Input(event=Go(), invocation="w", output=1, usage=COST)
    after, _ = sc.transition(machine, snapshot, given)
    assert (after.value, after.context) == ("broke", {"heard": ()})
