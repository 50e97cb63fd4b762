"""Three processes take up one thread at the same moment: one of them ends it, and the others are told who has it."""

import json
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path

import anyio
import pytest

from interlock.journal import begin, replay
from interlock.journal.stores import open_store
from tests import guessing
from tests.durable.sweep import ROOT, entries
from tests.servers import Postgres

WORKERS = 3


def race(url: str, folder: Path, rounds: int) -> None:
    machine = guessing.game()
    run = uuid.uuid4().hex[:8]
    threads = [f"race-{run}-{number}" for number in range(rounds)]

    async def prepare() -> None:
        store = open_store(url)
        for thread in threads:
            # A run that was cut off with its first call under way.
            await store.append(thread, 0, [begin(machine, execution_id=thread, at=0.0).entry])
        await store.aclose()

    anyio.run(prepare)
    calls = folder / "calls"
    calls.touch()
    command = [sys.executable, "-m", "tests.durable.resumer", url, str(calls)]
    workers = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(WORKERS)
    ]
    found: dict[str, list[dict[str, object]]] = {}
    try:
        for thread in threads:
            for worker in workers:
                assert worker.stdin is not None
                worker.stdin.write(thread + "\n")
                worker.stdin.flush()
            found[thread] = []
            for worker in workers:
                assert worker.stdout is not None
                found[thread].append(json.loads(worker.stdout.readline()))
    finally:
        for worker in workers:
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdin.close()
            worker.stdout.close()
            worker.wait(30)

    conflicts = 0
    for thread, results in found.items():
        log = entries(url, thread)
        replayed = replay(machine, log, verify="strict")
        assert replayed.status == "done"
        assert [entry.index for entry in log] == list(range(len(log)))
        # Each index was written by one worker, and nobody was told otherwise.
        added = Counter(index for result in results for index in result["added"])  # type: ignore[attr-defined]
        assert added == Counter(range(1, len(log)))
        chosen = [result for result in results if result["result"] == "Done" and result["added"]]
        assert len(chosen) == 1, (thread, results)
        output = replayed.snapshot.output.guess
        for result in results:
            if result["result"] == "Done":
                assert result["output"] == output
            else:
                assert (result["result"], result["cause"], result["code"]) == ("Failed", "journal", "log-conflict")
                conflicts += 1
        resumed = [entry for entry in log if entry.is_resume]
        called = sum(line.startswith(thread + " ") for line in calls.read_text("utf-8").splitlines())
        assert called <= len(resumed)  # nobody has called who had not taken it up
    assert conflicts >= rounds  # or they did not race at all


def test_ten_rounds_on_sqlite(tmp_path: Path):
    race(f"sqlite:{tmp_path / 'race.db'}", tmp_path, 10)


@pytest.mark.slow
def test_two_hundred_rounds_on_sqlite(tmp_path: Path):
    race(f"sqlite:{tmp_path / 'race.db'}", tmp_path, 200)


@pytest.mark.slow
def test_two_hundred_rounds_on_postgres(postgres_server: Postgres, tmp_path: Path):
    race(postgres_server.url, tmp_path, 200)
