"""All or nothing where others have a say: what parents answer, what usage changes, who moves the machine meanwhile."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from pydantic import BaseModel

import interlock as il
from interlock.journal import replay

pytestmark = pytest.mark.anyio


class A(il.Event):
    """The first step."""


class B(il.Event):
    """The second step."""


class Lock(il.Event):
    """Close it."""


class Switch(il.Event):
    """Let the first step through, or not."""

    on: bool


class Ping(il.Event):
    """Tell the parent."""


class Log(BaseModel, frozen=True):
    locked: bool = False
    tokens: int = 0
    done: tuple[str, ...] = ()
    error: str = ""


agent = il.setup_agent(context=Log, events=[A, B, Lock, Ping, Switch], output=Log)


def did(name: str) -> Any:
    return lambda c, e: agent.stay(done=(*c.done, name))


def failed(c: Log, error: il.ErrorInfo) -> Any:
    return agent.goto("over", error=error.code)


PLAN: dict[str, Any] = {"prompt": "?", "atomic": True, "stop_on": B, "on_done": "over", "on_error": failed}


def kid() -> il.Machine[Log, Any, Log]:
    return agent.machine(
        "kid",
        context=Log(),
        initial="planning",
        states={
            "planning": agent.state(
                invoke=agent.plan(allowed_events=[A, B], **PLAN),
                on=[
                    agent.on(A, lambda c, e: agent.stay(done=(*c.done, "A")).send("@parent", Ping())),
                    agent.on(Lock, lambda c, e: agent.stay(locked=True)),
                    agent.on(B, did("B"), guard=lambda c, e: not c.locked),
                    agent.on(B, did("B by a person"), meta={"actor": "human"}, guard=lambda c, e: c.locked),
                ],
            ),
            "over": agent.final(output=lambda c: c),
        },
    )


def family(on_ping: Any) -> il.Machine[Log, Any, Log]:
    return agent.machine(
        "family",
        context=Log(),
        initial="home",
        states={
            "home": agent.state(
                invoke=agent.child(
                    kid(), id="kid", on_done=lambda c, out: agent.goto("over", done=out.done, error=out.error)
                ),
                on=[agent.on(Ping, on_ping)],
            ),
            "gone": agent.final(output=lambda c: c),
            "over": agent.final(output=lambda c: c),
        },
    )


def in_turn(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
    return il.Choice(B() if request.applied else A(), usage=il.Usage(input_tokens=10))  # type: ignore[attr-defined]  # a plan is asked


ANSWERS: dict[str, Any] = {
    "nothing": lambda c, e: agent.stay(locked=True),
    "a lock": lambda c, e: agent.stay().send("kid", Lock()),
    "leaving": "gone",
}


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        ("nothing", Log(done=("A", "B"))),
        ("a lock", Log(error="decision-exhausted")),  # what a lock has made a person's is not the model's to send
        ("leaving", Log()),  # the first step ends the plan, and is sent: nobody is left to send the second to
    ],
)
async def test_steps_are_tried_out_with_all_that_they_set_off(answer: str, output: Log):
    machine = family(ANSWERS[answer])
    result = await il.run_agent(machine, executors=il.Executors(decide=in_turn))
    assert isinstance(result, il.Done), result
    assert result.output.done == output.done
    assert result.output.error == output.error
    assert replay(machine, result.entries).snapshot == result.snapshot
    sent = [entry.type for entry in result.entries if entry.by == "plan"]
    assert sent == {"nothing": ["A", "B"], "a lock": [], "leaving": ["A"]}[answer]
    step = il.initial_agent_step(machine, at=0.0)
    while step.requests:
        step = await il.resolve_agent_requests(machine, step, il.Executors(decide=in_turn))
    assert step.snapshot == result.snapshot


async def test_what_the_usage_of_a_call_changes_counts_before_its_step():
    """By the second call the first step leaves the state: so the plan ends with it, and nothing of the rest is sent."""
    machine = agent.machine(
        "m",
        context=Log(),
        initial="planning",
        on=[
            agent.on(B, did("B")),
            agent.on_usage(lambda c, usage: agent.stay(tokens=c.tokens + usage.tokens)),
        ],
        states={
            "planning": agent.state(
                invoke=agent.plan(**PLAN),
                on=[
                    agent.on(
                        A,
                        lambda c, e: (
                            agent.goto("elsewhere", done=("A and left",)) if c.tokens >= 20 else agent.stay(done=("A",))
                        ),
                    )
                ],
            ),
            "elsewhere": agent.state(),
            "over": agent.final(output=lambda c: c),
        },
    )
    results: list[object] = []
    result = await il.run_agent(
        machine, executors=il.Executors(decide=in_turn), on_result=lambda request, output, raw: results.append(output)
    )
    assert isinstance(result, il.Idle), result
    assert result.snapshot.value == "elsewhere"
    assert result.snapshot.context.done == ("A and left",)
    assert [entry.type for entry in result.entries if entry.by == "plan"] == ["A"]
    assert results == [il.PlanResult(steps=(A(),), stopped="done")]


async def test_a_machine_that_moves_on_each_time_ends_the_plan_before_the_budget_is_spent():
    machine = agent.machine(
        "m",
        context=Log(),
        kind="parallel",
        on=[agent.on(Switch, lambda c, e: agent.stay(locked=not e.on))],
        states={
            "model": agent.state(
                initial="planning",
                states={
                    "planning": agent.state(
                        invoke=agent.plan(allowed_events=[A, B], **PLAN),
                        on=[agent.on(A, did("A"), guard=lambda c, e: not c.locked), agent.on(B, did("B"))],
                    ),
                    "over": agent.state(),
                },
            ),
        },
    )
    calls: list[int] = []

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        calls.append(len(request.applied))  # type: ignore[attr-defined]  # a plan is asked
        await session.send(Switch(on=not calls[-1]))
        return il.Choice(B() if calls[-1] else A())

    with anyio.fail_after(20):
        async with il.AgentSession(machine, executors=il.Executors(decide=decide)) as session:
            result = await session.settled()
    assert isinstance(result, il.Idle), result
    assert result.snapshot.context.done == ()
    assert result.snapshot.context.error == "decision-exhausted"
    assert calls.count(1) == 4  # each time the whole was tried
    assert len(calls) <= 12
