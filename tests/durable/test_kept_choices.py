"""A function of the machine raises over a choice that was paid for: the choice is kept, and judged again unasked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

import interlock as il

pytestmark = pytest.mark.anyio


class Take(il.Event):
    """Take some."""

    count: int = 0


class Shop(BaseModel, frozen=True):
    taken: int = 0
    tokens: int = 0


agent = il.setup_agent(context=Shop, events=[Take], output=str)


class Bug:
    """What is wrong with the machine, until it is mended."""

    def __init__(self) -> None:
        self.there = True

    def bites(self, at: int, shop: Shop) -> None:
        if self.there and shop.taken == at:
            raise ZeroDivisionError("a bug")


def desk(invoke: Any, on: Any) -> Any:
    states = {"buying": agent.state(invoke=invoke, on=[on]), "over": agent.final(output="over")}
    return agent.machine("desk", version="1", context=Shop(), initial="buying", states=states)


def in_a_handler(bug: Bug) -> Any:
    def take(shop: Shop, event: Take) -> Any:
        bug.bites(0, shop)
        return agent.goto("over")

    return desk(agent.decide(prompt="?"), agent.on(Take, take, to=["over"]))


def in_a_guard(bug: Bug) -> Any:
    def enough(shop: Shop, event: Take) -> bool:
        bug.bites(0, shop)
        return True

    return desk(agent.decide(prompt="?"), agent.on(Take, "over", guard=enough))


def of_the_usage(bug: Bug) -> Any:
    def spent(shop: Shop, usage: il.Usage) -> Any:
        bug.bites(0, shop)
        return agent.stay(tokens=shop.tokens + usage.input_tokens)

    states = {"buying": agent.state(invoke=agent.decide(prompt="?"), on=[agent.on(Take, "over")])}
    return agent.machine(
        "desk",
        version="1",
        context=Shop(),
        initial="buying",
        on=[agent.on_usage(spent)],
        states=states | {"over": agent.final(output="over")},
    )


def planned(bug: Bug, *, atomic: bool) -> Any:
    def take(shop: Shop, event: Take) -> Any:
        bug.bites(1, shop)
        return agent.stay(taken=shop.taken + 1)

    plan = agent.plan(prompt="?", max_steps=2, atomic=atomic, on_done=lambda _shop, _result: agent.goto("over"))
    return desk(plan, agent.on(Take, take, to=["over"]))


MACHINES: dict[str, tuple[Callable[[Bug], Any], int]] = {
    "handler": (in_a_handler, 1),
    "guard": (in_a_guard, 1),
    "usage": (of_the_usage, 1),
    "plan": (lambda bug: planned(bug, atomic=False), 2),
    "atomic plan": (lambda bug: planned(bug, atomic=True), 2),
}


class Model:
    """A model that takes one more, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        self.asked[info.call_key] += 1
        return il.Choice(Take(count=1), reason="why not", usage=il.Usage(input_tokens=10))


@pytest.mark.parametrize("name", MACHINES)
async def test_it_is_paid_once_however_often_the_run_is_taken_up(name: str):
    build, calls = MACHINES[name]
    bug, model, store = Bug(), Model(), il.MemoryStore()
    machine = build(bug)

    async def run() -> Any:
        return await il.run_agent(
            machine,
            store=store,
            thread_id="t",
            executors=il.Executors(decide=model),
            max_model_calls=calls,
            budget="thread",
        )

    for _ in range(3):
        broken = await run()
        assert isinstance(broken, il.Failed)
        assert broken.error.code == "handler-raised"
        assert "a bug" in broken.error.message
        assert il.get_usage(await store.read("t")).model_calls == calls
    bug.there = False
    mended = await run()
    assert isinstance(mended, il.Done)
    assert mended.output == "over"
    assert set(model.asked.values()) == {1}
    assert len(model.asked) == calls
    log = await store.read("t")
    assert il.get_usage(log).input_tokens == 10 * calls
    assert il.replay(machine, log).snapshot == mended.snapshot


@pytest.mark.parametrize("name", MACHINES)
async def test_on_the_step_path_it_is_judged_once_more_by_those_who_have_its_log(name: str):
    build, calls = MACHINES[name]
    bug, model = Bug(), Model()
    machine = build(bug)
    step = il.initial_agent_step(machine, execution_id="x")
    log = list(step.entries)
    bug.there = False
    while not step.done:
        step = await il.resolve_agent_requests(machine, step, il.Executors(decide=model))
        log += step.entries
    assert step.snapshot.output == "over"
    assert len(model.asked) == calls
    assert il.replay(machine, log).snapshot == step.snapshot


async def test_a_run_that_was_broken_in_a_process_goes_on_step_by_step_in_another():
    bug, model, store = Bug(), Model(), il.MemoryStore()
    machine = in_a_guard(bug)
    broken = await il.run_agent(machine, store=store, thread_id="t", executors=il.Executors(decide=model))
    assert isinstance(broken, il.Failed)
    bug.there = False
    log = await store.read("t")
    step = il.initial_agent_step(machine, entries=log)
    assert step.done
    assert step.snapshot.output == "over"
    assert len(model.asked) == 1
    assert [entry.type for entry in step.entries][-1:] == ["Take"]
    await store.append("t", len(log), step.entries)
    over = await il.run_agent(machine, store=store, thread_id="t", executors=il.Executors(decide=model))
    assert isinstance(over, il.Done)
    assert len(model.asked) == 1


async def test_what_was_kept_and_is_not_legal_any_more_is_an_attempt_and_the_model_is_asked_again():
    bug, store = Bug(), il.MemoryStore()
    allowed = [False]

    def enough(shop: Shop, event: Take) -> bool:
        bug.bites(0, shop)
        return allowed[0] or event.count > 1

    machine = desk(agent.decide(prompt="?"), agent.on(Take, "over", guard=enough))
    asked: list[il.DecisionRequest] = []

    def model(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        asked.append(request)
        return il.Choice(Take(count=len(asked)))

    executors = il.Executors(decide=model)
    assert isinstance(await il.run_agent(machine, store=store, thread_id="t", executors=executors), il.Failed)
    bug.there = False
    done = await il.run_agent(machine, store=store, thread_id="t", executors=executors)
    assert isinstance(done, il.Done)
    assert len(asked) == 2
    (attempt,) = asked[1].attempts
    assert attempt.reason == "'Take' with this payload is not allowed in state 'buying'"
