"""Whatever a model says in plans and act loops, side by side or in a child machine: all ways of running them agree."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

import interlock as il
import interlock.statechart as sc
from tests.run.planning import (
    DONE,
    USAGE,
    Add,
    Again,
    Count,
    Double,
    Leave,
    act,
    added,
    again,
    agent,
    machine,
    plan,
    within,
)
from tests.run.test_three_ways import assert_replays, assert_same
from tests.run.ways import Example, by_hand, by_runs, by_session

EVENTS: list[Any] = [
    *(Add(by=1), Add(by=3), Add(by=-2), Add(by=20), Double(), DONE, Again(), Leave()),
    *({"type": "Nudge", "to": 2}, {"type": "Add"}, {"type": "Fly"}, {}, {"type": None}),
]
CALLS: list[tuple[str, Any]] = [
    *(("send_event_Add", {"by": by}) for by in (1, 3, -2, 20, "x")),
    *(("send_event_Double", {}), ("send_event_Double", None), ("send_event_Again", {}), ("send_event_Leave", {})),
    *(("send_event_Nudge", {"to": 3}), ("send_event_Fly", {}), ("look_up", {"word": "a"}), ("look_up", {"world": 1})),
]


def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: a thing"


def answers(seed: int) -> tuple[Any, Any]:
    """Return what decides and what writes: at random, but the same for the same question."""

    def decide(request: il.DecisionRequest) -> il.Choice:
        applied = getattr(request, "applied", ())
        random = Random(f"{seed} {request.name} {len(applied)} {len(request.attempts)} {request.id}")
        if random.random() < 0.03:
            raise OSError("no line")
        return il.Choice(random.choice(EVENTS), usage=USAGE)

    def write(request: il.TextRequest) -> il.TextResult:
        assert il.check_transcript(il.request_messages(request)) == ()
        random = Random(f"{seed} {request.name} {request.steps_remaining} {request.id}")
        if random.random() < 0.03:
            raise OSError("no line")
        if random.random() < 0.3:
            return il.TextResult("done", usage=USAGE)
        calls = tuple(
            il.ToolCall(random.choice(["", "a"]), *random.choice(CALLS)) for _ in range(random.randrange(1, 4))
        )
        return il.TextResult(random.choice([None, "so"]), tool_calls=calls, usage=USAGE)

    return decide, write


def pair(one: Any, other: Any) -> il.Machine[Any, Any, Any]:
    """Two regions, each with work of its own on the same number."""

    def region(invoke: Any) -> sc.State:
        on = [
            agent.on(Add, added),
            agent.on(Double, lambda c, _: agent.stay(n=c.n * 2) if 0 < c.n <= 5 else None),
            agent.on(Again, again),
            agent.on(Leave, "off"),
        ]
        return agent.state(initial="on", states={"on": agent.state(invoke=invoke, on=on), "off": agent.end()})

    return agent.machine(
        "pair",
        context=Count(),
        initial="both",
        states={
            "both": agent.parallel(states={"a": region(one), "b": region(other)}, on_done="over"),
            "over": agent.final(output=lambda c: c.model_dump(mode="json")),
        },
    )


ENDS: dict[str, Any] = {"on_done": "off", "on_error": "off"}
MACHINES: dict[str, Any] = {
    "plan": lambda: machine(plan(max_retries=1)),
    "atomic": lambda: machine(plan(max_retries=1, atomic=True)),
    "expensive": lambda: machine(plan(atomic=True), limit=22),
    "act": lambda: machine(act(tools=[look_up]), limit=30),
    "act-in-child": lambda: within(machine(act(tools=[look_up])), limit=22),
    "plan-in-child": lambda: within(machine(plan()), limit=22),
    "atomic-in-child": lambda: within(machine(plan(atomic=True)), limit=22),
}
SIDE_BY_SIDE: dict[str, Any] = {
    "plans": lambda: pair(plan(name="one", **ENDS), plan(name="two", atomic=True, **ENDS)),
    "plan-and-act": lambda: pair(plan(name="one", **ENDS), act(name="two", **ENDS)),
    "acts": lambda: pair(act(name="one", **ENDS), act(name="two", tools=[look_up], **ENDS)),
}


async def check(name: str, seed: int) -> None:
    build = (MACHINES | SIDE_BY_SIDE)[name]
    decide, write = answers(seed)
    built = build()
    case = Example(build=lambda gate: built, decide=decide, write=write, gated=False)
    hand = await by_hand(case)
    assert_replays(built, hand)
    assert_same(hand, await by_hand(case, restarted=True))
    if name in MACHINES:
        for way in (await by_session(case), await by_runs(case)):
            assert_same(hand, way)
        return
    # Side by side, what is asked when is the host's business; the run is one of the ways that it can go.
    for decisions in ("concurrent", "one-at-a-time"):
        result = await il.run_agent(built, executors=case.executors, execution_id="x", decisions=decisions)
        assert not isinstance(result, il.Idle)
        log = result.entries
        assert [il.LogEntry.from_json(entry.to_text()) for entry in log] == list(log)
        assert il.replay(built, log, verify="strict").snapshot == result.snapshot
        for length in range(1, len(log)):
            step = il.initial_agent_step(built, entries=log[:length], at=log[length - 1].recorded_at)
            assert json.loads(json.dumps(step.to_json()))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", [*MACHINES, *SIDE_BY_SIDE])
async def test_all_ways_agree(name: str, seed: int):
    await check(name, seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(3))
@pytest.mark.parametrize("name", [*MACHINES, *SIDE_BY_SIDE])
async def test_much_more_of_it(name: str, block: int):
    for seed in range(1000 + block * 30, 1030 + block * 30):
        await check(name, seed)
