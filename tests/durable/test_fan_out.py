"""Cut off at every entry, or killed, a fan-out comes to the same end, and pays for nothing twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import interlock as il
from tests.durable.fan_worker import TOPICS
from tests.durable.stores import Failing, whole
from tests.durable.sweep import ROOT, entries
from tests.run.fan import CALLS_OF_A_WRITER, executors, paper

OUTPUT = {topic: f"On {topic}, 1!" for topic in TOPICS}
CALLS = len(TOPICS) * CALLS_OF_A_WRITER


def recorded(log: Iterable[il.LogEntry]) -> set[str]:
    """Return the keys of the calls whose answers are in a log."""
    keys: set[str] = set()
    records: Counter[str] = Counter()
    execution = ""
    for entry in log:
        if entry.is_init:
            execution = entry.metadata["execution_id"]
        if entry.invocation is None:
            continue
        identity = "/".join((*entry.to, entry.invocation))
        if entry.usage is not None:
            keys.add(f"{execution}:{identity}.{records[identity]}")
        records[identity] += entry.record is not il.statechart.UNSET
    return keys


@pytest.mark.anyio
@pytest.mark.parametrize("number", range(1, CALLS + 2))
async def test_cut_off_after_any_entry_it_comes_to_the_same_end(number: int):
    store = Failing(number, il.StoreError("gone"))
    calls: list[str] = []
    machine = paper()
    first = await il.run_agent(
        machine, input=TOPICS, store=store, thread_id="t", executors=executors(calls.append, apart=10)
    )
    assert isinstance(first, il.Failed)
    cut = await whole(store, "t")
    assert len(cut) == number - 1  # each answer was an entry, and an append, of its own
    before = recorded(cut)
    store.left = 1000
    result = await il.run_agent(machine, input=TOPICS, store=store, thread_id="t", executors=executors(calls.append))
    assert isinstance(result, il.Done)
    assert result.output == OUTPUT
    made = Counter(calls)
    assert len(made) == CALLS
    assert all(made[key] == 1 for key in before)
    log = await whole(store, "t")
    assert recorded(log) == set(made)
    assert il.get_usage(log).model_calls == CALLS
    assert il.check_log(machine, log).verdict == "ok"


@pytest.mark.anyio
async def test_cut_off_again_and_again_it_still_comes_to_its_end():
    store = Failing(2, il.StoreError("gone"))
    calls: list[str] = []
    for _ in range(100):
        result = await il.run_agent(
            paper(), input=TOPICS, store=store, thread_id="t", executors=executors(calls.append)
        )
        if isinstance(result, il.Done):
            break
        store.left = 2
    assert isinstance(result, il.Done)
    assert result.output == OUTPUT
    assert recorded(await whole(store, "t")) == set(calls)


def work(url: str, calls: Path, *options: str) -> dict[str, Any] | None:
    command = [sys.executable, "-m", "tests.durable.fan_worker", url, "t", str(calls), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return None if done.returncode else json.loads(done.stdout)


def killed(point: str, folder: Path) -> None:
    url, calls = f"sqlite:{folder / point.replace(':', '-')}.db", folder / f"{point.replace(':', '-')}.calls"
    assert work(url, calls, "--kill", point) is None
    before = recorded(entries(url, "t"))
    found = work(url, calls)
    assert found is not None
    assert found["output"] == OUTPUT
    made = Counter(calls.read_text("utf-8").split())
    assert len(made) == CALLS
    assert all(made[key] == 1 for key in before)
    assert max(made.values()) <= 2


@pytest.mark.parametrize("point", ["append:2", "before:4", "call:8"])
def test_killed_it_comes_to_the_same_end(point: str, tmp_path: Path):
    killed(point, tmp_path)


@pytest.mark.slow
def test_killed_at_any_point_it_comes_to_the_same_end(tmp_path: Path):
    counts = (work(f"sqlite:{tmp_path / 'whole'}.db", tmp_path / "whole.calls") or {})["counts"]
    for what in ("append", "before", "call"):
        for number in range(1, counts[what] + 1):
            killed(f"{what}:{number}", tmp_path)
