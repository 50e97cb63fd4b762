"""What the functions over logs and steps are called with by mistake gets a typed error that says what to give."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import interlock as il
from interlock.journal import diff, fork, replay
from tests.guessing import Reply, game

pytestmark = pytest.mark.anyio

GAME = game()
LOG = il.initial_agent_step(GAME).entries
JUNK: list[Any] = [None, 5, "", "\ud800", b"x", object(), [None], ["x"], {"a": 1}, [{}]]

CALLS: dict[str, Callable[[Any], object]] = {
    "replay": lambda junk: replay(GAME, junk),
    "replay(machine)": lambda junk: replay(junk, LOG),
    "diff left": lambda junk: diff(GAME, junk, LOG),
    "diff right": lambda junk: diff(GAME, LOG, junk),
    "fork": lambda junk: fork(junk, 1),
    "fork length": lambda junk: fork(LOG, junk),
    "get_usage": il.get_usage,
    "get_decision_attempts": il.get_decision_attempts,
    "entry": il.LogEntry.from_json,
    "initial(entries)": lambda junk: il.initial_agent_step(GAME, entries=junk) if junk is not None else fork(junk, 1),
    "initial(snapshot)": lambda junk: il.initial_agent_step(GAME, snapshot=junk) if junk is not None else fork(junk, 1),
    "transition": lambda junk: il.transition_agent_step(GAME, junk, Reply(answer="yes")),
    "resolve": lambda junk: il.resolve_agent_step(GAME, junk, "x", 1),
    "resolve(request)": lambda junk: il.resolve_agent_step(GAME, il.initial_agent_step(GAME), junk, 1),
    "reject": lambda junk: il.reject_agent_step(GAME, junk, "x", ValueError()),
    "step": lambda junk: il.AgentStep.from_json(GAME, junk),
    "open_store": il.open_store,
    "sqlite": lambda junk: il.SQLiteStore(junk) if junk not in ("x", "\ud800") else il.open_store(junk),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:20])
def test_junk_is_named(call: str, junk: Any):
    with pytest.raises(il.InterlockError) as caught:
        CALLS[call](junk)
    assert caught.value.code
    assert len(str(caught.value)) > 20


async def test_what_a_run_returns_is_copied_as_what_it_is_and_pickled_by_its_parts():
    result = await il.run_agent(GAME, executors=il.ScriptedExecutors(decisions=[ValueError()]))
    assert copy.deepcopy(result) is result
    assert pickle.loads(pickle.dumps(result.entries)) == result.entries
    with pytest.raises(TypeError, match=r"keep result\.snapshot\.dump\(\)"):
        pickle.dumps(result)
