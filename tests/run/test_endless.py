"""Machines that ask again and again without anybody being asked: they are named, and do not go round for ever."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

import interlock as il
from tests.run import fan

pytestmark = pytest.mark.anyio


class Count(BaseModel, frozen=True):
    failures: int = 0


class Go(il.Event):
    pass


agent = il.setup_agent(context=Count, events=[Go], output=int)


def failed(c: Count, _: object) -> Any:
    return agent.goto("asking", failures=c.failures + 1).reenter()


def again(c: Count, _: object) -> Any:
    return agent.goto("asking").reenter()


ASKING = {
    "decide": lambda then: agent.decide(prompt="?", on_error=then),
    "plan": lambda then: agent.plan(prompt="?", on_done=then, on_error=then),
    "text": lambda then: agent.generate_text(prompt="?", on_done=then, on_error=then),
    "act": lambda then: agent.act(prompt="?", on_done=then, on_error=then),
}


def stubborn(kind: str, *, legal: bool, then: Any = again) -> il.Machine[Count, Any, int]:
    return agent.machine(
        "stubborn",
        context=Count(),
        initial="asking",
        states={
            "asking": agent.state(
                invoke=ASKING[kind](then),
                on=[agent.on(Go, "over", guard=lambda c, e: legal)],
            ),
            "over": agent.final(output=lambda c: c.failures),
        },
    )


CASES = [(kind, "calls") for kind in ASKING] + [(kind, "events") for kind in ("decide", "plan")]


@pytest.mark.parametrize(("kind", "wanting"), CASES)
async def test_a_machine_that_asks_on_although_nobody_is_asked_is_named(
    kind: str, wanting: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("interlock.run.work._MOST_UNASKED", 50)
    machine = stubborn(kind, legal=wanting == "calls")
    executors = il.ScriptedExecutors()
    with anyio.fail_after(60):
        result = await il.run_agent(machine, executors=executors, max_model_calls=0 if wanting == "calls" else 100)
    assert isinstance(result, il.Failed)
    assert (result.cause, result.error.code) == ("machine", "endless-loop"), result.error
    assert "stubborn.asking" in result.error.message
    assert "let on_error and on_done lead somewhere else" in result.error.message
    assert executors.requests == []
    assert "50 requests in a row" in result.error.message
    assert il.journal.replay(machine, result.entries).snapshot == result.snapshot


@pytest.mark.parametrize("wanting", ["calls", "events"])
async def test_one_that_counts_what_it_does_has_more_patience_but_not_for_ever(
    wanting: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("interlock.run.work._MOST_UNASKED", 20)
    machine = stubborn("decide", legal=wanting == "calls", then=failed)
    with anyio.fail_after(60):
        result = await il.run_agent(
            machine, executors=il.ScriptedExecutors(), max_model_calls=0 if wanting == "calls" else 100
        )
    assert isinstance(result, il.Failed)
    assert result.error.code == "endless-loop"
    assert result.snapshot is not None
    assert result.snapshot.context.failures == 200


def beside(seconds: float) -> il.Machine[Count, Any, int]:
    async def work() -> int:
        await anyio.sleep(seconds)
        return 1

    return agent.machine(
        "beside",
        context=Count(),
        kind="parallel",
        states={
            "loop": agent.state(
                initial="asking",
                states={
                    "asking": agent.state(
                        invoke=agent.decide(prompt="?", on_error=again),
                        on=[agent.on(Go, "over", guard=lambda c, e: c.failures > 0)],
                    ),
                    "over": agent.state(),
                },
            ),
            "work": agent.state(
                initial="working",
                states={
                    "working": agent.state(
                        invoke=agent.call(work, on_done=lambda c, n: agent.goto("over", failures=n))
                    ),
                    "over": agent.state(),
                },
            ),
        },
    )


async def test_who_waits_for_others_in_this_way_has_more_patience_too():
    result = await il.run_agent(beside(0.3), executors=il.ScriptedExecutors(decisions=[Go()]))
    assert isinstance(result, il.Idle), result
    assert result.snapshot.context.failures == 1


async def test_the_states_that_are_gone_round_are_named_and_no_others(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("interlock.run.work._MOST_UNASKED", 20)
    result = await il.run_agent(beside(60), executors=il.ScriptedExecutors())
    assert isinstance(result, il.Failed)
    assert "goes round in beside.loop.asking: 200 requests in a row" in result.error.message
    machine = beside(60)
    with pytest.raises(il.EndlessLoopError, match=r"goes round in beside\.loop\.asking:") as caught:
        il.initial_agent_step(machine, at=0.0)
    assert caught.value.cycle == ("beside.loop.asking",)


async def test_what_happens_outside_begins_the_count_anew():
    """A decision that cannot be made now, tried again each second, is no loop: time goes by."""
    tried = agent.machine(
        "patient",
        context=Count(),
        initial="asking",
        states={
            "asking": agent.state(
                invoke=agent.decide(prompt="?", on_error=lambda c, e: agent.goto("pausing", failures=c.failures + 1)),
                on=[agent.on(Go, "over", guard=lambda c, e: False)],
            ),
            "pausing": agent.state(
                after=[agent.after(1, lambda c: agent.goto("over" if c.failures > 1100 else "asking"))]
            ),
            "over": agent.final(output=lambda c: c.failures),
        },
    )
    clock = il.FakeClock(0.0)
    async with anyio.create_task_group() as group:

        async def tick() -> None:
            while True:
                clock.advance(1)
                await anyio.lowlevel.checkpoint()

        group.start_soon(tick)
        result = await il.run_agent(tried, executors=il.ScriptedExecutors(), clock=clock)
        group.cancel_scope.cancel()
    assert isinstance(result, il.Done), result
    assert result.output == 1101


async def test_many_children_that_nobody_can_serve_are_no_loop(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("interlock.run.work._MOST_UNASKED", 20)
    topics = tuple(str(number) for number in range(100))
    result = await il.run_agent(fan.paper(keeps_going=True), input=topics, executors=fan.executors(), max_model_calls=0)
    assert isinstance(result, il.Done), result
    assert len(result.snapshot.context.failed) == len(topics)


async def test_more_children_than_one_step_can_start_are_no_loop_but_too_many():
    topics = tuple(str(number) for number in range(1100))
    result = await il.run_agent(fan.paper(), input=topics, executors=fan.executors())
    assert isinstance(result, il.Failed)
    assert result.error.code == "endless-loop"
    assert result.error.message.endswith(
        "it has started 1001 machines, each at least one of them. Start fewer in one step"
    ), result.error.message
