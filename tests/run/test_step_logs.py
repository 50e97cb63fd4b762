"""Whatever a host hands in: it is refused with a typed error, or it is in a log that can be read and replayed."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from pydantic import BaseModel

import interlock as il
from interlock.errors import InterlockError
from interlock.journal import replay
from interlock.statechart import Input, InternalEvent
from tests.durable.desk import Accept, Again, Approve, desk
from tests.run.writing import calls

DESK = desk(delay=5.0)


class Made(BaseModel, frozen=True):
    n: int = 1


VALUES: list[Any] = [
    *(None, 1, 1.5, True, "x", "\ud800", float("inf"), 10**400, b"x", {1}, [1, {"a": (2,)}], Made(), object()),
    *({"kind": "turn"}, {"kind": "answer", "call": {}}, {"type": "Fine"}, Accept(topic="q"), {1: 2}),
    {"kind": "turn", "messages": [{"role": "assistant", "content": "x"}]},
    {"failure": "unknown-event", "reason": "r", "event": None, "model_reason": None},
    *(ValueError("z"), il.ErrorInfo.of(ValueError("\ud800")), il.ErrorInfo.of(ValueError("q"), data={1, 2})),
]
EVENTS: list[Any] = [
    *("Accept", "Fine", "Again", "\ud800", "@agent.resume", {"type": "@x"}, {"type": "Fine"}, 5, Again()),
    *({"type": "Accept", "topic": "t"}, {"type": "Approve", "by": 3}, {"type": "Approve", "by": "\ud800"}),
    *(Approve(by="x"), InternalEvent("@done")),
]


def drawn(random: Random, step: il.AgentStep[Any]) -> Input:
    """Some input, sensible or not."""
    names = ["", "nope", "nope#9"]
    for item in step.owed.invocations:
        names += [item.key, item.identity, item.id]
    found: dict[str, Any] = {}
    if random.random() < 0.5:
        found["invocation"] = random.choice(names)
    elif random.random() < 0.4:
        found["timer"] = random.choice([*names, *(timer.key for timer in step.owed.timers)])
    if random.random() < 0.4:
        found["event"] = random.choice(EVENTS)
    for name in ("record", "output", "error"):
        if random.random() < 0.3:
            found[name] = random.choice(VALUES)
    if random.random() < 0.3:
        addresses = [item.address for item in step.owed.invocations]
        found["address"] = random.choice([*addresses, ("nope#1",), ("",)])
    if random.random() < 0.3:
        found["by"] = random.choice(["x", "decision", "host", ""])
    return Input(**found)


def resolved(random: Random, step: il.AgentStep[Any]) -> il.AgentStep[Any]:
    """Answer something that is owed: well, most of the time, so that the machine comes somewhere."""
    if not step.owed.invocations:
        event = step.owed.timers[0] if step.owed.timers else random.choice([Approve(by="Ada"), Again()])
        return il.transition_agent_step(DESK, step, event, at=1.0)
    item = random.choice(step.owed.invocations)
    request = next((request for request in step.requests if request.id == item.identity), item)
    if random.random() < 0.1:
        return il.reject_agent_step(DESK, step, request, random.choice([ValueError("z"), OSError("\ud800")]), at=1.0)
    if random.random() < 0.2:
        return il.resolve_agent_step(DESK, step, request, random.choice([*VALUES, *EVENTS]), at=1.0)
    if isinstance(request, il.DecisionRequest):
        good: Any = {"type": "Accept", "topic": "rain"} if request.name == "take" else "Fine"
    else:
        good = random.choice(["a text", calls("weigh", grams=1)]) if isinstance(request, il.TextRequest) else 3
    return il.resolve_agent_step(DESK, step, request, good, at=1.0)


def play(seed: int) -> int:
    random = Random(seed)
    step: il.AgentStep[Any] = il.initial_agent_step(DESK, at=0.0, execution_id="x")
    log = list(step.entries)
    for _ in range(random.randrange(1, 16)):
        before = json.dumps(step.to_json())
        try:
            if random.random() < 0.6:
                step = resolved(random, step)
            else:
                step = il.transition_agent_step(DESK, step, drawn(random, step), at=1.0)
        except InterlockError:
            assert json.dumps(step.to_json()) == before
            continue
        log += step.entries
        assert [il.LogEntry.from_json(entry.to_text()) for entry in step.entries] == list(step.entries)
        assert il.AgentStep.from_json(DESK, json.dumps(step.to_json())).requests == step.requests
    found = replay(DESK, log, verify="strict")
    assert found.snapshot == step.snapshot
    assert json.dumps(found.snapshot.dump()) == json.dumps(step.snapshot.dump())
    assert found.head.causes == step.head.causes
    return len(log)


@pytest.mark.parametrize("block", range(4))
def test_what_is_taken_can_be_replayed(block: int):
    assert sum(play(seed) for seed in range(block * 50, block * 50 + 50)) > 150


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_much_more_that_is_taken_can_be_replayed(block: int):
    for seed in range(10_000 + block * 200, 10_000 + block * 200 + 200):
        play(seed)
