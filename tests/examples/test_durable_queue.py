"""The example as a user runs it, killed where it may be, and by two workers at once."""

import os
import subprocess
import sys

import pytest

from tests.examples.programs import EXAMPLES, program

queue = program("durable_queue.py")
REPLY = "done: We have looked into it (refund: I was charged twice.)."
AGAIN = "t: it is there already; enqueued once more"


def enqueued(tmp_path) -> None:
    assert queue(tmp_path, "enqueue", "t", "I was charged twice.") == "t: enqueued"


def test_one_turn_a_process(tmp_path):
    enqueued(tmp_path)
    assert queue(tmp_path, "work") == "t: now in tickets.replying"
    assert queue(tmp_path, "show") == "t: working, 2 entries"
    assert queue(tmp_path, "work") == f"t: {REPLY}"
    assert queue(tmp_path, "work") == "no job is free"
    assert queue(tmp_path, "enqueue", "t", "I was charged twice.") == AGAIN
    assert queue(tmp_path, "drain") == f"t: {REPLY}"
    assert queue(tmp_path, "show") == "t: done, 3 entries"


@pytest.mark.slow
@pytest.mark.parametrize(("where", "calls"), [("before", 2), ("after", 1)])
def test_a_worker_that_is_killed_loses_at_most_the_call_that_it_had_made(tmp_path, where, calls):
    enqueued(tmp_path)
    told: list[str] = []
    queue(tmp_path, "work", "--lease", "0", status=9, calls=told, QUEUE_DIES=where)
    assert queue(tmp_path, "drain", "--lease", "0", calls=told).splitlines()[-1] == f"t: {REPLY}"
    assert [told.count(key) for key in dict.fromkeys(told)] == [calls, 1]
    assert queue(tmp_path, "show") == "t: done, 3 entries"


def test_enqueued_again_after_it_was_cut_off(tmp_path):
    enqueued(tmp_path)
    assert queue(tmp_path, "enqueue", "t", "I was charged twice.") == AGAIN
    assert queue(tmp_path, "show") == "t: working, 1 entries"


def test_a_ticket_that_fails_is_told_from_one_that_is_done(tmp_path):
    assert queue(tmp_path, "enqueue", "t", "") == "t: enqueued"
    assert queue(tmp_path, "drain") == "t: failed: the letter is empty"
    assert queue(tmp_path, "show") == "t: error, 2 entries"
    assert queue(tmp_path, "drain") == "no job is free"


@pytest.mark.slow
def test_a_worker_that_is_killed_after_the_last_commit_leaves_nothing_to_do_but_the_job(tmp_path):
    enqueued(tmp_path)
    queue(tmp_path, "work")
    queue(tmp_path, "work", "--lease", "0", status=9, QUEUE_DIES="after")
    told: list[str] = []
    assert queue(tmp_path, "drain", calls=told) == f"t: {REPLY}"
    assert (told, queue(tmp_path, "show")) == ([], "t: done, 3 entries")


def test_a_file_that_is_no_database_is_said(tmp_path):
    (tmp_path / "queue.db").write_text("not a database, whatever its name says " * 30)
    assert queue(tmp_path, "show", status=1).startswith("queue.db: ")


@pytest.mark.slow
def test_of_two_workers_that_take_the_same_ticket_one_drops_its_work(tmp_path):
    """Both read, both are asked for the same turn; the one commits while the other is still at it."""
    enqueued(tmp_path)
    file = str(EXAMPLES / "durable_queue.py")
    slow = (
        "import runpy, sys, subprocess\n"
        "import interlock as il\n"
        "resolve = il.resolve_agent_requests\n"
        "async def late(*given):\n"
        "    step = await resolve(*given)\n"
        f"    subprocess.run([sys.executable, {file!r}, 'work', '--lease', '0'], check=True)\n"
        "    return step\n"
        "il.resolve_agent_requests = late\n"
        "sys.argv = ['durable_queue.py', 'work', '--lease', '0']\n"
        f"runpy.run_path({file!r}, run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", slow], cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "t: now in tickets.replying",
        "t: another worker was faster; its job goes on, ours is dropped",
    ]
    assert queue(tmp_path, "drain") == f"t: {REPLY}"
    assert queue(tmp_path, "show") == "t: done, 3 entries"
