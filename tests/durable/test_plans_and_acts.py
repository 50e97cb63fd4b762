"""Plans and act loops that are cut off anywhere: nothing that was kept is paid for again, no event is sent twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anyio
import pytest

import interlock as il
from interlock.journal import replay
from interlock.journal.stores import open_store
from interlock.statechart import UNSET
from tests.durable.planner import executors, planner
from tests.durable.stores import Failing, whole
from tests.run.ways import said

ROOT = Path(__file__).parent.parent.parent


def recorded(log: Iterable[il.LogEntry]) -> set[str]:
    """Return the keys of the calls whose answers are in a log."""
    keys: set[str] = set()
    records: Counter[str] = Counter()
    for entry in log:
        if entry.invocation is None:
            continue
        identity = "/".join((*entry.to, entry.invocation))
        if entry.usage is not None:
            keys.add(f"x:{identity}.{records[identity]}")
        records[identity] += entry.record is not UNSET
    return keys


def happened(log: Iterable[il.LogEntry]) -> list[object]:
    return [entry.happened() for entry in said(tuple(log))]


Whole = tuple[il.Done[Any, Any], tuple[il.LogEntry, ...], list[str]]

KNOWN: dict[bool, Whole] = {}


async def uninterrupted(*, child: bool) -> Whole:
    if child not in KNOWN:
        KNOWN[child] = await undisturbed(child=child)
    return KNOWN[child]


async def undisturbed(*, child: bool) -> Whole:
    calls: list[str] = []
    store = il.MemoryStore()
    result = await il.run_agent(
        planner(lambda grams: calls.append(f"weigh:{grams}"), child=child),
        executors=executors(calls.append),
        store=store,
        thread_id="t",
        execution_id="x",
    )
    assert isinstance(result, il.Done), result
    return result, await whole(store, "t"), calls


@pytest.mark.parametrize("child", [False, True])
async def test_what_it_comes_to(child: bool):
    result, log, calls = await uninterrupted(child=child)
    if not child:
        assert result.output["n"] == 10
        assert result.output["steps"] == ["Add", "Double", "Add", "Add", "Add"]
        assert result.output["said"] == "Acted."
    else:
        assert result.output["tokens"] == 5 * 13
    model_calls = [key for key in calls if not key.startswith("weigh")]
    assert len(model_calls) == len(set(model_calls)) == 13
    assert recorded(log) == set(model_calls)
    assert il.get_usage(log).model_calls == 13
    assert {len(attempts) for attempts in il.get_decision_attempts(log).values()} == {1, 2}


async def check_cut_off(number: int, *, child: bool) -> None:
    result, log, _ = await uninterrupted(child=child)
    store = Failing(number, OSError("disk full"))
    calls: list[str] = []
    built = planner(lambda grams: calls.append(f"weigh:{grams}"), child=child)
    options: dict[str, Any] = {
        "executors": executors(calls.append),
        "store": store,
        "thread_id": "t",
        "execution_id": "x",
    }
    first = await il.run_agent(built, **options)
    kept = await whole(store, "t")
    known = recorded(kept)
    assert happened(kept) == happened(log)[: len(said(kept))]
    if isinstance(first, il.Done):  # there are no more appends than that
        assert happened(kept) == happened(log)
        return
    assert isinstance(first, il.Failed)
    assert first.cause == "journal"
    store.left = 1000
    again = await il.run_agent(built, **options)
    assert isinstance(again, il.Done)
    assert again.output == result.output
    after = await whole(store, "t")
    assert happened(after) == happened(log)
    assert replay(built, after, verify="strict").snapshot == again.snapshot
    made = Counter(calls)
    assert [key for key in known if made[key] != 1] == []
    assert max(made.values()) <= 2
    assert sum(made.values()) - len(made) <= 1, "what was in flight is made again, and nothing else"


CUTS = [*((False, number) for number in range(2, 24, 2)), *((True, number) for number in range(3, 24, 4))]


@pytest.mark.parametrize(("child", "number"), CUTS)
async def test_cut_off_at_any_append_it_goes_on_where_its_log_ends(child: bool, number: int):
    await check_cut_off(number, child=child)


@pytest.mark.slow
@pytest.mark.parametrize("child", [False, True])
@pytest.mark.parametrize("number", range(2, 26))
async def test_at_every_append(child: bool, number: int):
    await check_cut_off(number, child=child)


async def test_by_hand_from_each_entry_on_it_is_the_same():
    """A host that keeps a log of its own, and begins from it in a new process after each step."""
    _, log, _ = await uninterrupted(child=False)
    built = planner()
    calls: list[str] = []
    step: il.AgentStep[Any] = il.initial_agent_step(built, at=0.0, execution_id="x")
    kept = list(step.entries)
    while not step.done:
        step = await il.resolve_agent_requests(built, step, executors(calls.append))
        kept += step.entries
        step = il.initial_agent_step(built, entries=[il.LogEntry.from_json(entry.to_text()) for entry in kept])
        assert step.entries == ()
    assert happened(kept) == happened(log)
    assert len(calls) == len(set(calls)) == 13


# -- real kills ------------------------------------------------------------------------------------------------------


def run(url: str, thread: str, calls: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "tests.durable.planner", url, thread, str(calls), *options)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done


def read(url: str, thread: str) -> tuple[il.LogEntry, ...]:
    async def reading() -> tuple[il.LogEntry, ...]:
        store = open_store(url)
        try:
            return await store.read(thread)
        finally:
            await store.aclose()

    return anyio.run(reading)


def check_killed(point: str, folder: Path) -> None:
    result, log, _ = anyio.run(lambda: uninterrupted(child=False))
    url, calls = f"sqlite:///{folder / 'runs.db'}", folder / "calls"
    calls.touch()
    assert run(url, "t", calls, "--kill", point).returncode == -signal.SIGKILL
    known = recorded(read(url, "t"))
    found = json.loads(run(url, "t", calls).stdout)
    assert (found["result"], found["output"]) == ("Done", result.output)
    assert happened(read(url, "t")) == happened(log)
    made = Counter(calls.read_text("utf-8").split())
    assert [key for key in known if made[key] != 1] == []
    assert sum(made.values()) - len(made) <= 1


@pytest.mark.parametrize("point", ["append:3", "append:9", "call:11"])
def test_a_process_that_is_killed_is_gone_on_with(point: str, tmp_path: Path):
    check_killed(point, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["append", "before", "call"])
@pytest.mark.parametrize("number", range(1, 14))
def test_wherever_it_is_killed(what: str, number: int, tmp_path: Path):
    check_killed(f"{what}:{number}", tmp_path)
