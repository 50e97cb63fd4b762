"""A queue whose workers may be killed at any point: the host owns the loop, one step a job, one log a ticket.

    python examples/durable_queue.py enqueue ticket-1 "I was charged twice."
    python examples/durable_queue.py work          # takes one job, makes one turn, puts the next job
    python examples/durable_queue.py drain         # works until there is no job left
    python examples/durable_queue.py show
    python examples/durable_queue.py enqueue ticket-2 ""    # a ticket that fails: there is nothing in it

The queue is a table in the SQLite file that holds the logs as well (``--file``, default ``queue.db``). A job only says
that a ticket may have something to do; what there is to do, its log says. So a job may be lost with its worker, and put
twice, and nothing is done twice for it:

1. The job is leased: nobody else takes it for some seconds. A worker that dies leaves it behind, and in time
   its lease runs out.
2. The worker reads the log and stands where it ends: ``initial_agent_step(entries=...)``.
3. It makes one turn: ``resolve_agent_requests``. Nothing is written yet, so dying here costs this one call.
4. ``store.append(thread, where_it_read_to, step.entries)`` is the commit. Of two workers that have made the same turn
   one gets ``LogConflictError``: it drops its work and its job, for the other one has put the next.
5. The job is put again, or dropped where the machine has ended, well or not.

No key is needed: the model's answers come from rules. ``QUEUE_DIES=before`` or ``after`` ends a worker before or after
its commit, to see what comes of it.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import anyio
from pydantic import BaseModel

import interlock as il
from interlock.journal.stores import SQLiteStore

LEASE = 30.0
"""Seconds after which a job is taken for abandoned."""


class Refund(il.Event):
    """Give the money back."""


class Explain(il.Event):
    """Explain the bill."""


class Ticket(BaseModel, frozen=True):
    text: str = ""
    move: str = ""
    reply: str = ""


class Words(BaseModel, frozen=True):
    text: str


agent = il.setup_agent(context=Ticket, events=[Refund, Explain], input=Words, output=str)

tickets = agent.machine(
    "tickets",
    version="1",
    context=lambda given: Ticket(text=given.text),
    initial="sorting",
    states={
        "sorting": agent.state(
            invoke=agent.decide(name="sort", model="quick", prompt=lambda ticket: ticket.text),
            on=[
                agent.on(Refund, lambda ticket, _: agent.goto("replying", move="refund")),
                agent.on(Explain, lambda ticket, _: agent.goto("replying", move="explain")),
            ],
        ),
        "replying": agent.state(
            invoke=agent.generate_text(
                name="reply",
                model="quick",
                prompt=lambda ticket: f"{ticket.move}: {ticket.text}",
                on_done=lambda ticket, text: agent.goto("closed", reply=text),
            )
        ),
        "closed": agent.final(output=lambda ticket: ticket.reply),
    },
)


def executors() -> il.Executors:
    """Return who answers: here rules that stand in for a model. Each call is told on stderr."""

    def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        print(f"call {info.call_key}", file=sys.stderr)
        if not request.prompt:
            raise ValueError("the letter is empty")
        return il.Choice(Refund() if "twice" in str(request.prompt) else Explain())

    def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        print(f"call {info.call_key}", file=sys.stderr)
        return il.TextResult(output=f"We have looked into it ({request.prompt}).")

    return il.Executors(decide=decide, generate_text=generate_text)


class Queue:
    """Jobs, which are names of tickets; each stands in the queue once."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with self._open() as database:
            database.execute("CREATE TABLE IF NOT EXISTS jobs (ticket TEXT PRIMARY KEY, free_at REAL NOT NULL)")

    def put(self, ticket: str) -> None:
        """Put a job, or free the one that is there."""
        with self._open() as database:
            database.execute("INSERT INTO jobs VALUES (?, 0) ON CONFLICT (ticket) DO UPDATE SET free_at = 0", (ticket,))

    def take(self, *, lease: float) -> str | None:
        """Lease a job that is free, and return its ticket."""
        now = time.time()
        with self._open() as database:
            database.execute("BEGIN IMMEDIATE")
            row = database.execute("SELECT ticket FROM jobs WHERE free_at <= ? ORDER BY rowid", (now,)).fetchone()
            if row is not None:
                database.execute("UPDATE jobs SET free_at = ? WHERE ticket = ?", (now + lease, row[0]))
            database.execute("COMMIT")
        return None if row is None else str(row[0])

    def drop(self, ticket: str) -> None:
        """Drop a job."""
        with self._open() as database:
            database.execute("DELETE FROM jobs WHERE ticket = ?", (ticket,))

    def _open(self) -> closing[sqlite3.Connection]:
        return closing(sqlite3.connect(self._file, timeout=30.0, isolation_level=None))


async def enqueue(store: SQLiteStore, queue: Queue, ticket: str, text: str) -> str:
    """Begin a ticket's log, then put its first job. Done again it changes nothing, so do it again when in doubt."""
    begun = await store.length(ticket)
    if not begun:
        step = il.initial_agent_step(tickets, Words(text=text), at=time.time(), execution_id=ticket)
        try:
            await store.append(ticket, 0, step.entries)
        except il.LogConflictError:
            return f"{ticket}: somebody else has begun it"
    queue.put(ticket)
    return f"{ticket}: it is there already; enqueued once more" if begun else f"{ticket}: enqueued"


async def work(store: SQLiteStore, queue: Queue, *, lease: float) -> str | None:
    """Take one job and make one turn; returns what came of it, or None where no job is free."""
    ticket = queue.take(lease=lease)
    if ticket is None:
        return None
    entries = await store.read(ticket)
    step = il.initial_agent_step(tickets, entries=entries, at=time.time())
    fresh = step.entries  # what follows from the end of the log without anybody being asked: mostly nothing
    if not step.done:
        step = await il.resolve_agent_requests(tickets, step, executors())
        fresh += step.entries
    die("before")
    try:
        await store.append(ticket, len(entries), fresh)
    except il.LogConflictError:
        return f"{ticket}: another worker was faster; its job goes on, ours is dropped"
    die("after")
    if step.done:
        queue.drop(ticket)
        if step.snapshot.status == "error":
            error = step.snapshot.error
            return f"{ticket}: failed: {error.message if isinstance(error, il.ErrorInfo) else error}"
        return f"{ticket}: done: {step.snapshot.output}"
    queue.put(ticket)
    return f"{ticket}: now in {step.snapshot.states[-1]}"


def die(where: str) -> None:
    """End this process here and now, if that was asked for: to see that nothing is lost by it."""
    if os.environ.get("QUEUE_DIES") == where:
        os._exit(9)


async def show(store: SQLiteStore) -> str:
    """Show all tickets."""
    return "\n".join(f"{info.thread_id}: {info.status}, {info.length} entries" for info in await store.threads())


def main() -> None:
    """Read the command line and carry it out."""
    parser = argparse.ArgumentParser(description="A queue whose workers may be killed at any point.")
    parser.add_argument("--file", type=Path, default=Path("queue.db"), help="the SQLite file (default: %(default)s)")
    commands = parser.add_subparsers(dest="command", required=True)
    adding = commands.add_parser("enqueue")
    adding.add_argument("ticket")
    adding.add_argument("text")
    for name in ("work", "drain"):
        command = commands.add_parser(name)
        command.add_argument("--lease", type=float, default=LEASE, help="seconds (default: %(default)s)")
    commands.add_parser("show")
    given = parser.parse_args()

    async def carry_out() -> None:
        store, queue = SQLiteStore(given.file), Queue(given.file)
        try:
            if given.command == "enqueue":
                print(await enqueue(store, queue, given.ticket, given.text))
            elif given.command == "show":
                print(await show(store))
            else:
                done = await work(store, queue, lease=given.lease)
                print(done or "no job is free")
                while done and given.command == "drain":
                    done = await work(store, queue, lease=given.lease)
                    if done:
                        print(done)
        finally:
            await store.aclose()

    try:
        anyio.run(carry_out)
    except (il.InterlockError, sqlite3.Error) as error:
        sys.exit(f"{given.file}: {error}" if isinstance(error, sqlite3.Error) else str(error))


if __name__ == "__main__":
    main()
