"""Who hears of what a call has cost: only a machine that asks for it by name."""

from __future__ import annotations

from typing import Any

import pytest

import interlock.statechart as sc

COST = {"kind": "text", "tokens": 5}


def counting(**root: Any) -> sc.Machine[Any, Any, Any]:
    return sc.machine(
        id="m",
        context={"heard": 0, "any": 0},
        initial="a",
        sources={"f": None},
        states={
            "a": sc.state(
                invoke=sc.invoke("f", id="work"), on={"*": lambda c, e: sc.stay(any=c["any"] + 1), "GO": "b"}
            ),
            "b": sc.state(),
        },
        **root,
    )


def told(machine: sc.Machine[Any, Any, Any]) -> Any:
    snapshot, _ = sc.initial_transition(machine)
    given = sc.Input(invocation="work", record={"n": 1}, usage=COST)
    return sc.transition(machine, snapshot, given)[0]


def test_a_handler_of_everything_does_not_hear_of_it():
    after = told(counting())
    assert after.context == {"heard": 0, "any": 0}
    assert len(sc.owed(after).invocations[0].records) == 1


def test_nor_does_it_stand_in_the_way_of_who_asks_for_it():
    after = told(counting(on={"@agent.usage": lambda c, e: sc.stay(heard=c["heard"] + 1)}))
    assert after.context == {"heard": 1, "any": 0}


@pytest.mark.parametrize("event", ["ANY", "x.y"])
def test_whatever_else_happens_is_still_everything(event: str):
    machine = counting()
    snapshot, _ = sc.initial_transition(machine)
    after, _ = sc.transition(machine, snapshot, {"type": event})
    assert after.context["any"] == 1
