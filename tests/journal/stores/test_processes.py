"""Several processes on the same data: one winner each, and whoever is killed loses nothing that was acknowledged."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .writer import THREAD, opened

ROOT = Path(__file__).parents[3]
ONE_LOOP = pytest.mark.parametrize("anyio_backend", ["asyncio"])  # of the process that looks; the others have theirs


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    match request.param:
        case "sqlite":
            return f"sqlite:///{tmp_path / 'runs.db'}"
        case "postgres":
            server = request.getfixturevalue("postgres_server")
            return f"{server.url}#{request.getfixturevalue('schema')}"
        case _:
            server = request.getfixturevalue("redis_server")
            import redis

            with redis.Redis(port=server.port) as client:
                client.flushall()
            return server.url


@contextmanager
def writer(work: str, url: str, name: str, count: int) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.journal.stores.writer", work, url, name, str(count)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@ONE_LOOP
@pytest.mark.parametrize("count", [100, pytest.param(3_000, marks=pytest.mark.slow)])
async def test_processes_race_and_each_index_has_one_winner(url: str, count: int):
    with (
        writer("race", url, "a", count) as a,
        writer("race", url, "b", count) as b,
        writer("race", url, "c", count) as c,
    ):
        racers = {"a": a, "b": b, "c": c}
        for process in racers.values():
            process.stdin.write("go\n")
            process.stdin.flush()
        said = {name: process.communicate(timeout=300)[0].split() for name, process in racers.items()}
        assert [process.returncode for process in racers.values()] == [0, 0, 0]
    store = opened(url)
    log = await store.read(THREAD)
    await store.aclose()
    assert [entry.index for entry in log] == list(range(count))
    won = {index: entry.event["name"] for index, entry in enumerate(log)}
    assert {int(index): name for name, indexes in said.items() for index in indexes} == won
    assert sum(map(len, said.values())) == count, "and nobody else believes to have won"


@ONE_LOOP
@pytest.mark.parametrize("after", [1, 20, *(pytest.param(40 * n + 7, marks=pytest.mark.slow) for n in range(1, 12))])
async def test_a_killed_process_loses_nothing_that_was_acknowledged(url: str, after: int):
    with writer("write", url, "a", 1_000_000) as process:
        process.stdin.write("go\n")
        process.stdin.flush()
        for _ in range(after):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        acknowledged = [int(line) for line in process.stdout.read().split()]
    store = opened(url)
    log = await store.read(THREAD)
    assert len(log) > max([2 * after - 1, *acknowledged])
    assert len(log) % 2 == 0, "all of an append or none of it"
    assert [entry.index for entry in log] == list(range(len(log)))
    await store.append(THREAD, len(log), [])
    await store.aclose()
