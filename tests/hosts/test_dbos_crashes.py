"""A worker on DBOS is killed at every kind of place, and another goes on: nothing that was finished is done again."""

import json
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import interlock as il
from tests.durable import desk

from .conftest import NO_SQLITE

ROOT = Path(__file__).parents[2]
ENDS_WITHIN = 60  # seconds; a worker that takes longer hangs

# What was under way when the process was killed (the end of the call's key), and the states that had been reached.
CASES = {
    "in a decision": ("taking#1.1", ["taking"]),
    "in the second of parallel texts": (
        "summary.draft#3.0",
        ["writing.letter.written", "writing.summary.draft", "writing.check.over"],
    ),
    "in a tool": ("weigh", ["writing.letter.draft", "writing.summary.written", "writing.check.over"]),
    "in the function": ("stamp", ["numbering"]),
    "during the timer": ("", ["cooling"]),
    "waiting for the person": ("", ["approving"]),
    "in the last text": ("sending#7.0", ["sending"]),
}


@pytest.fixture(params=[pytest.param("sqlite", marks=NO_SQLITE), "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/runs.db"
    server = request.getfixturevalue("postgres_server")
    name = "crash_" + "".join(letter for letter in request.node.callspec.id.lower() if letter.isalnum())
    server.execute(f"CREATE DATABASE {name}")
    return server.url.removesuffix("/postgres") + f"/{name}"


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_killed_worker_is_gone_on_with(case: str, url: str, tmp_path: Path):
    blocked, states = CASES[case]
    calls = tmp_path / "calls"
    with worker(url, calls, blocked) as first:
        if case == "in the last text":
            reached(first, "states", "approving")
            answer(first, "approve")
        reached(first, "states", *states, also="blocked" if blocked else "states")
        first.send_signal(signal.SIGKILL)
        first.wait()
    with worker(url, calls) as second:  # as soon as it is there, it goes on
        if case != "in the last text":
            reached(second, "states", "approving")
        answer(second, "approve")
        end = json.loads(reached(second, "output").partition(" ")[2])
        assert second.wait(timeout=60) == 0
    assert end["output"] == uninterrupted()
    assert end["verified"]
    assert end["ids"].count("mail-1") == 1
    counted = Counter(calls.read_text("utf-8").splitlines())
    again = {key for key, count in counted.items() if count > 1}
    assert again == {key for key in counted if blocked and key.endswith(blocked)}, counted
    assert max(counted.values()) == (2 if blocked else 1)


def uninterrupted() -> object:
    idle = il.run_agent_sync(desk.desk(delay=0), executors=desk.executors())
    done = il.run_agent_sync(
        desk.desk(delay=0), snapshot=idle.snapshot, event=desk.Approve(by="Ann"), executors=desk.executors()
    )
    assert isinstance(done, il.Done)
    return done.output


@contextmanager
def worker(url: str, calls: Path, blocked: str = "") -> Iterator[subprocess.Popen]:
    with calls.with_name("errors").open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.hosts.worker", url, str(calls), blocked],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def reached(process: subprocess.Popen, kind: str, *words: str, also: str | None = None) -> str:
    """Read until a line of this kind holds all these words, and one of the kind ``also`` was read; return the line."""
    seen: list[str] = []
    left = {kind, also or kind}
    found = ""
    assert process.stdout is not None
    ending = threading.Timer(ENDS_WITHIN, process.kill)
    ending.start()
    try:
        for line in process.stdout:
            seen.append(line.strip())
            said, *rest = line.split()
            if said == kind and set(words) <= set(rest):
                found = line
                left.discard(kind)
            elif said == also != kind:
                left.discard(said)
            if not left:
                return found
    finally:
        ending.cancel()
    errors = Path(process.args[-2]).with_name("errors").read_text("utf-8")
    raise AssertionError(f"the worker ended without having said {kind} {words} and {also}; it said {seen}\n{errors}")


def answer(process: subprocess.Popen, word: str) -> None:
    assert process.stdin is not None
    process.stdin.write(word + "\n")
    process.stdin.flush()


def test_where_sqlite_is_too_old_is_said_with_both_versions():
    assert sqlite3.sqlite_version in NO_SQLITE.kwargs["reason"]
