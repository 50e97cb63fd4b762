"""``budget="thread"``: the model calls of earlier runs count, also those that left nothing in the log."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import anyio
import pytest

import interlock as il
from interlock.journal import LogEntry

pytestmark = pytest.mark.anyio


class Go(il.Event):
    """Ask."""


class Yes(il.Event):
    """Say yes."""


agent = il.setup_agent(events=[Go, Yes], output=str)


def asking(after: float = 60) -> Any:
    """A machine that asks when it is told to, and that waits for no longer than so many seconds."""
    return agent.machine(
        "asking",
        version="1",
        context={},
        initial="waiting",
        states={
            "waiting": agent.state(on=[agent.on(Go, "asked")]),
            "asked": agent.state(
                invoke=agent.decide(name="ask", prompt="?", allowed_events=[Yes], on_error="over"),
                on=[agent.on(Yes, "waiting")],
                after=[agent.after(after, "waiting")],
            ),
            "over": agent.final(output="too many"),
        },
    )


class Model:
    """A model that counts what it is asked, and may think for longer than anybody waits."""

    def __init__(self, *, thinks: float = 0) -> None:
        self.made = 0
        self.thinks = thinks

    async def __call__(self, request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        self.made += 1
        await anyio.sleep(self.thinks)
        return il.Choice(Yes())


class Counting(il.MemoryStore):
    """A store that counts the entries that are read from it."""

    entries = 0

    async def read(self, thread_id: str, *, start: int = 0, limit: int | None = None) -> tuple[LogEntry, ...]:
        found = await super().read(thread_id, start=start, limit=limit)
        self.entries += len(found)
        return found


async def go(machine: Any, store: il.Store, model: Model, *, budget: Any = "thread", limit: int = 4) -> Any:
    executors = il.Executors(decide=model)
    return await il.run_agent(
        machine, store=store, thread_id="t", event=Go(), executors=executors, budget=budget, max_model_calls=limit
    )


async def test_calls_that_were_cut_off_count():
    store, model, machine = il.MemoryStore(), Model(thinks=60), asking(0.01)
    for _ in range(4):
        assert isinstance(await go(machine, store, model), il.Idle)
    assert isinstance(await go(machine, store, model), il.Done)
    assert model.made == 4
    assert il.get_usage(await store.read("t")).model_calls == 0, "what was cut off has led to no entry"


async def test_runs_that_count_for_themselves_count_for_the_thread():
    store, model, machine = il.MemoryStore(), Model(), asking()
    for budget in ("run", "thread", "run", "run"):
        assert isinstance(await go(machine, store, model, budget=budget), il.Idle)
    assert isinstance(await go(machine, store, model), il.Done)
    assert model.made == 4


@pytest.mark.parametrize("damage", ["lost", "older", "no JSON"])
async def test_where_no_count_was_kept_the_log_is_counted(damage: str):
    store, model, machine = il.MemoryStore(), Model(), asking()
    for _ in range(3):
        await go(machine, store, model)
    saved = await store.load_snapshot("t")
    assert saved is not None
    if damage == "lost":
        other = il.MemoryStore()
        await other.append("t", 0, await store.read("t"))
        store = other
    else:
        kept = {name: value for name, value in json.loads(saved.text).items() if name != "calls"}
        await store.save_snapshot("t", replace(saved, text=json.dumps(kept) if damage == "older" else "{"))
    assert isinstance(await go(machine, store, model), il.Idle)
    assert isinstance(await go(machine, store, model), il.Done)
    assert model.made == 4


async def test_calls_since_the_count_was_kept_are_those_of_the_log():
    store, model, machine = il.MemoryStore(), Model(), asking()
    await go(machine, store, model)
    saved = await store.load_snapshot("t")
    await go(machine, store, model)
    await go(machine, store, model)
    assert saved is not None
    await store.save_snapshot("t", saved)
    assert isinstance(await go(machine, store, model), il.Idle)
    assert isinstance(await go(machine, store, model), il.Done)
    assert model.made == 4


async def test_calls_inside_of_tools_count():
    inner = il.setup_agent(events=[], output=str)
    helper = inner.machine(
        "helper",
        context={},
        initial="writing",
        states={
            "writing": inner.state(invoke=inner.generate_text(model="m", prompt="?", on_done="done")),
            "done": inner.final(output="x"),
        },
    )
    outer = il.setup_agent(events=[Go], output=str)
    machine = outer.machine(
        "outer",
        version="1",
        context={},
        initial="waiting",
        states={
            "waiting": outer.state(on=[outer.on(Go, "writing")]),
            "writing": outer.state(
                invoke=outer.generate_text(
                    model="m",
                    prompt="!",
                    tools=[il.machine_tool(helper, name="help")],
                    on_done="waiting",
                    on_error="over",
                )
            ),
            "over": outer.final(output="too many"),
        },
    )

    def write(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        if request.tools and not request.turns:
            return il.TextResult(tool_calls=(il.ToolCall("1", "help", {}),))
        return il.TextResult("x")

    store, made = il.MemoryStore(), []
    for _ in range(4):
        result = await il.run_agent(
            machine,
            store=store,
            thread_id="t",
            event=Go(),
            executors=il.Executors(generate_text=write),
            budget="thread",
            max_model_calls=6,
        )
        made.append(result.usage.model_calls)
    assert made == [3, 3, 0, 0]


async def test_it_costs_what_has_been_added_and_not_the_whole_thread():
    store, model, machine = Counting(), Model(), asking()
    for _ in range(10):
        await go(machine, store, model, limit=1000)
    store.entries = 0
    await go(machine, store, model, limit=1000)
    assert store.entries <= 3
