"""A decision that no model could ever make is refused when the machine is built; one that some step allows is not."""

import re
from typing import Any

import pytest

import interlock.agent as il
import interlock.statechart as sc
from interlock.errors import DefinitionError


class Ask(il.Event):
    question: str = ""


class Guess(il.Event):
    pass


class Reply(il.Event, actor="human"):
    pass


agent = il.setup_agent(events=[Ask, Guess, Reply])
PEOPLE = {"actor": "human"}


def machine(states: dict[str, Any], **fields: Any) -> sc.Machine[Any, Any, Any]:
    return agent.machine("m", initial="a", states={**states, "z": agent.state()}, **fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"invoke": agent.decide()}, "handles any event"),
        ({"invoke": agent.decide(), "on": [agent.on(Reply, "z")]}, "only for people, or not handled by name: Reply"),
        ({"invoke": agent.decide(), "on": [agent.on("*", "z")]}, r"not handled by name: \*"),
        ({"invoke": agent.decide(), "on": [agent.on(Ask, "z", meta=PEOPLE)]}, "not handled by name: Ask"),
        (
            {"invoke": agent.decide(allowed_events=[Guess]), "on": [agent.on(Ask, "z")]},
            "includes none of what is handled here: Ask",
        ),
        (
            {"invoke": agent.decide(allowed_events=lambda c: [Guess]), "on": [agent.on(Reply, "z")]},
            "only for people",
        ),
    ],
)
def test_a_decision_without_prospects(fields: dict[str, Any], message: str):
    for build in (
        lambda: machine({"a": agent.state(**fields)}),
        # Others handle what is missing, but never while the decision is owed.
        lambda: machine({"a": agent.state(**fields), "b": agent.state(on=[agent.on(Ask, "z"), agent.on(Guess, "z")])}),
    ):
        with pytest.raises(DefinitionError) as caught:
            build()
        assert caught.value.code == "invalid-decision"
        assert re.search(message, str(caught.value)), caught.value
        assert "machine 'm': state 'a': decide: no model could ever pick anything" in str(caught.value)


def test_who_is_active_with_the_state_may_handle_it():
    decide = agent.decide(allowed_events=[Guess])
    on = [agent.on(Guess, "#end")]
    end = agent.state(id="end")
    agent.machine("root", initial="a", on=on, states={"a": agent.state(invoke=decide), "end": end})
    inner = {"x": agent.state(), "y": agent.state(on=on)}
    agent.machine("below", initial="a", states={"a": agent.state(invoke=decide, initial="x", states=inner), "end": end})
    both = agent.parallel(
        states={
            "left": agent.state(initial="x", states={"x": agent.state(invoke=decide)}),
            "right": agent.state(initial="x", states=inner),
        }
    )
    agent.machine("beside", initial="a", states={"a": both, "end": end})
    agent.machine("itself", states={"b": agent.state(), "end": end}, initial="b", invoke=decide, on=on)


def test_one_transition_for_models_is_enough():
    on = [agent.on(Ask, "z", meta=PEOPLE, guard=lambda c, e: False), agent.on(Ask, "z")]
    machine({"a": agent.state(invoke=agent.decide(), on=on)})
