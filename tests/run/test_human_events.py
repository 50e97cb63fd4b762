"""What only a person may send: by its class, or on one transition. Nothing that a model does gets there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc
from interlock.agent import candidates, decision_request, describe
from interlock.statechart import owed


class Work(il.Event):
    """Do some work."""

    hours: int = 1


class Rest(il.Event):
    """Rest a little."""


class Sign(il.Event, actor="human"):
    """Sign it."""


class Seal(il.Event, type="seal.put", actor="human"):
    """Seal it."""


class Break(il.Event, type="seal.break"):
    """Break the seal."""


class Day(BaseModel, frozen=True):
    hours: int = 0
    log: tuple[str, ...] = ()


agent = il.setup_agent(context=Day, events=[Work, Rest, Sign, Seal, Break], output=Day)
PEOPLE = {"actor": "human"}


def done(day: Day, word: str) -> il.Move:
    return agent.stay(log=(*day.log, word))


ON = [
    # Little work anybody may order, much only a person.
    agent.on(Work, lambda day, _: done(day, "much"), guard=lambda _, work: work.hours > 8, meta=PEOPLE),
    agent.on(Work, lambda day, _: done(day, "little")),
    agent.on(Rest, lambda day, _: done(day, "rest"), meta=PEOPLE),
    agent.on(Sign, "over"),
    agent.on(Seal, lambda day, _: done(day, "sealed")),
    agent.on(Break, lambda day, _: done(day, "broken")),
]


def day(invoke: sc.Invoke, on: Any = ON) -> il.Machine[Day, None, Day]:
    return agent.machine(
        "day",
        initial="open",
        states={
            "open": agent.state(invoke=invoke, on=on),
            "over": agent.final(output=lambda day: day),
            "given-up": agent.final(output=Day(log=("given up",))),
        },
    )


# -- never offered ---------------------------------------------------------------------------------------------------


OFFERED = ["Work", "seal.break"]


@pytest.mark.parametrize(
    "allowed", [{}, {"allowed_events": "*"}, {"allowed_events": lambda _: [Sign, Rest, Work, Break]}]
)
async def test_a_decision_is_not_offered_them(allowed: dict[str, Any]):
    script = il.ScriptedExecutors(decisions=[Work()])
    result = await il.run_agent(day(agent.decide(prompt="?", **allowed)), executors=script)
    assert isinstance(result, il.Idle)
    assert [event.type for event in script.decision_requests[0].events] == OFFERED
    assert script.decision_requests[0].withheld == ()


async def test_a_plan_is_not_offered_them():
    script = il.ScriptedExecutors(decisions=[Work(), Break(), "agent.plan.done"])
    await il.run_agent(day(agent.plan(prompt="?")), executors=script)
    for request in script.decision_requests:
        assert [event.type for event in request.events] == [*OFFERED, "agent.plan.done"]


async def test_acting_is_not_offered_them():
    script = il.ScriptedExecutors(text=["Nothing to do."])
    await il.run_agent(day(agent.act(prompt="?", model="m")), executors=script)
    assert [tool.name for tool in script.text_requests[0].tools] == [item.tool_name for item in describe([Work, Break])]


def test_step_by_step_they_are_not_offered_either():
    step = il.initial_agent_step(day(agent.decide(prompt="?")))
    (request,) = step.requests
    assert isinstance(request, il.DecisionRequest)
    assert [event.type for event in request.events] == OFFERED
    assert decision_request(day(agent.decide(prompt="?")), owed(step.snapshot).invocations[0]).events == request.events


# -- named all the same ----------------------------------------------------------------------------------------------


REFUSED = [
    ({"type": "Sign"}, "unknown-event"),
    ({"type": "seal.put"}, "unknown-event"),
    ({"type": "Rest"}, "unknown-event"),
    ({"type": "Work", "hours": 9}, "rejected-by-guard"),
]


@pytest.mark.parametrize(("choice", "failure"), REFUSED)
@pytest.mark.parametrize("word", ["decide", "plan", "atomic plan"])
async def test_a_choice_that_names_one_is_refused(word: str, choice: dict[str, Any], failure: str):
    wording: Any = {"prompt": "?", "max_retries": 0, "on_error": "given-up"}
    invoke = {
        "decide": lambda: agent.decide(**wording),
        "plan": lambda: agent.plan(**wording),
        "atomic plan": lambda: agent.plan(atomic=True, **wording),
    }[word]()
    script = il.ScriptedExecutors(decisions=[choice])
    traces: list[Any] = []
    result = await il.run_agent(day(invoke), executors=script, on_trace=traces.append)
    assert isinstance(result, il.Done)
    assert result.output.log == ("given up",)
    (refused,) = [trace for trace in traces if isinstance(trace, il.ChoiceRefused)]
    assert refused.attempt.failure == failure
    if failure == "rejected-by-guard":
        assert "only a person may send 'Work'" in refused.attempt.reason


@pytest.mark.parametrize(("choice", "failure"), REFUSED)
async def test_an_acting_model_that_calls_one_is_told_no(choice: dict[str, Any], failure: str):
    names = {item.type: item.tool_name for item in describe([Work, Rest, Sign, Seal, Break])}
    given = {name: value for name, value in choice.items() if name != "type"}
    call = il.ToolCall(id="c", name=names[choice["type"]], input=given)
    script = il.ScriptedExecutors(text=[il.TextResult(tool_calls=(call,)), "Then not."])
    result = await il.run_agent(day(agent.act(prompt="?", model="m")), executors=script)
    assert isinstance(result, il.Idle)
    assert result.snapshot.value == "open"
    assert result.snapshot.context.log == ()
    told = il.request_messages(script.text_requests[1])[-1]
    assert "is not allowed in state" in repr(told)


async def test_people_send_what_they_like():
    machine, script = day(agent.decide(prompt="?")), il.ScriptedExecutors(decisions=[Work()])
    result: Any = await il.run_agent(machine, executors=script)
    for event in (Rest(), Work(hours=9), Seal(), Break(), Sign()):
        assert result.snapshot.can(event)
        result = await il.run_agent(machine, snapshot=result.snapshot, event=event, executors=script)
    assert result.output.log == ("little", "rest", "much", "sealed", "broken")


async def test_a_choice_for_people_that_becomes_theirs_meanwhile():
    """It was offered; when the answer comes, the transition that takes it is one for people."""
    on = [
        agent.on(Work, "over", guard=lambda day, _: day.hours > 0, meta=PEOPLE),
        agent.on(Work, lambda day, _: done(day, "little")),
        agent.on(Rest, agent.stay(hours=1)),
    ]
    machine = day(agent.decide(prompt="?", max_retries=0, on_error="given-up"), on)
    step = il.initial_agent_step(machine)
    (request,) = step.requests
    step = il.transition_agent_step(machine, step, Rest())
    step = il.resolve_agent_step(machine, step, request.id, Work())
    assert step.snapshot.value == "given-up"


# -- when the machine is built ---------------------------------------------------------------------------------------


def builds(invoke: Callable[[], sc.Invoke], on: Any = ON, **more: Any) -> Callable[[], object]:
    return lambda: agent.machine(
        "m",
        initial="a",
        states={
            "a": agent.state(invoke=invoke(), on=on, **more),
            "elsewhere": agent.state(on=[agent.on(Rest, "a")]),
            "over": agent.final(output=Day()),
        },
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"allowed_events": [Work, Sign]}, "allowed_events holds Sign, which only a person may send"),
        ({"allowed_events": ["Work", "seal.put"]}, "allowed_events holds 'seal.put', which only a person may send"),
        ({"allowed_events": [Work, Rest]}, "allowed_events holds Rest, but each transition that it could take"),
        ({"allowed_events": ["Work", "Rest"]}, "allowed_events holds 'Rest', but each transition"),
        ({"allowed_events": Rest}, "allowed_events holds Rest, but"),
    ],
)
def test_what_names_one_is_refused(fields: dict[str, Any], message: str):
    builders: list[Callable[..., sc.Invoke]] = [agent.decide, agent.plan]
    for word in builders:
        with pytest.raises(il.DefinitionError, match=re.escape(message)) as caught:
            builds(lambda word=word: word(prompt="?", **fields))()
        assert caught.value.code == "decide-allows-human-event"
        assert str(caught.value).startswith("machine 'm': state 'a': ")
    stops = {"stop_on": fields["allowed_events"]}
    with pytest.raises(il.DefinitionError, match=re.escape(message.replace("allowed_events", "stop_on"))) as caught:
        builds(lambda: agent.plan(prompt="?", **stops))()
    assert caught.value.code == "decide-allows-human-event"


def test_a_pattern_may_hold_some():
    builds(lambda: agent.decide(prompt="?", allowed_events=["seal.*"]))()
    builds(lambda: agent.plan(prompt="?", allowed_events="*", stop_on=["seal.*"]))()
    only_people = [agent.on(Break, "over", meta=PEOPLE), agent.on(Seal, "over"), agent.on(Work, "over")]
    with pytest.raises(il.DefinitionError, match=r"allowed_events holds 'seal\.\*', but each transition"):
        builds(lambda: agent.decide(prompt="?", allowed_events=["seal.*", Work]), only_people)()


MAYBE: list[tuple[str, Any, dict[str, Any]]] = [
    ("another transition of the same state", [*ON[:2], agent.on(Rest, "over")], {}),
    (
        "only what is behind it",
        [agent.on(Rest, "over", guard=lambda *_: False, meta=PEOPLE), agent.on(Rest, "over")],
        {},
    ),
    ("a state inside", ON, {"initial": "x", "states": {"x": agent.state(on=[agent.on(Rest, agent.stay(hours=1))])}}),
    ("a pattern takes it where a person's guard says no", [*ON, agent.on("*", "over")], {}),
    ("nobody handles it", [agent.on(Work, "over")], {}),
]


@pytest.mark.parametrize(("on", "more"), [row[1:] for row in MAYBE], ids=[row[0] for row in MAYBE])
def test_only_what_is_certain_is_refused(on: Any, more: dict[str, Any]):
    builds(lambda: agent.decide(prompt="?", allowed_events=[Work, Rest]), on, **more)()


def test_another_region_may_handle_it():
    def machine(**transition: Any) -> object:
        return agent.machine(
            "m",
            kind="parallel",
            states={
                "deciding": agent.state(invoke=agent.decide(prompt="?", allowed_events=[Work, Rest]), on=ON[:3]),
                "other": agent.state(on=[agent.on(Rest, agent.stay(hours=1), **transition)]),
            },
        )

    machine()
    with pytest.raises(il.DefinitionError, match="holds Rest, but each transition"):
        machine(meta=PEOPLE)


def test_a_state_that_is_not_active_meanwhile_does_not_count():
    """``elsewhere`` handles it for everybody, but never while the decision is owed."""
    with pytest.raises(il.DefinitionError, match="holds Rest, but"):
        builds(lambda: agent.decide(prompt="?", allowed_events=[Work, Rest]))()


def test_what_is_refused_is_indeed_never_offered():
    machine = day(agent.decide(prompt="?"))
    snapshot, _ = sc.initial_transition(machine)
    spec: Any = agent.decide(prompt="?", allowed_events=[Work, Rest, Sign]).logic
    assert [event.type for event in candidates(machine, snapshot, spec)] == ["Work"]
