"""Killed at every point, the desk comes to the same end, and no call whose answer is in the log is made again."""

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.durable.sweep import ROOT, Sweep, sweep
from tests.servers import Postgres


def check(found: Sweep, kills: int) -> None:
    summary = found.summary()
    assert summary["kills"] == kills
    assert summary["recorded_calls_repeated"] == 0
    assert summary["most_calls_of_one"] == 2
    assert summary["outcomes_equal"]
    for outcome in found.outcomes:
        assert outcome.output == found.output, outcome.point


def test_a_few_kills_on_sqlite(tmp_path: Path):
    points = ["append:4", "before:4", "call:5"]
    check(sweep(lambda thread: f"sqlite:{tmp_path / thread}.db", tmp_path, points=points), len(points))


@pytest.mark.slow
def test_every_kill_on_sqlite(tmp_path: Path):
    command = [sys.executable, "bench/crash.py", "--json"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found["kills"] >= 29
    assert (found["recorded_calls_repeated"], found["outcomes_equal"]) == (0, True)


@pytest.mark.slow
def test_every_kill_on_postgres(postgres_server: Postgres, tmp_path: Path):
    run = uuid.uuid4().hex[:8]
    found = sweep(lambda _: postgres_server.url, tmp_path, prefix=f"crash-{run}-")
    check(found, len(found.outcomes))
