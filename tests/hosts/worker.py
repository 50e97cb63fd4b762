"""A process that runs the desk on DBOS: ``python -m tests.hosts.worker URL CALLS [BLOCKED]``.

It appends the key of each call that begins to the file CALLS, and prints a line for each thing worth knowing: which
states the machine is in, and that the call whose key ends with BLOCKED has begun, which then never ends. Once the
machine waits for the person, it reads a line and, if that says ``approve``, sends the event twice and prints what came
of it.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path

import anyio
import dbos

import interlock as il
from interlock.hosts.dbos import DBOSHost, application_version
from interlock.journal import replay
from tests.durable import desk

WORKFLOW = "case:7"


def main(url: str, calls: str, blocked: str = "") -> None:
    def begins(key: str) -> bool:
        with Path(calls).open("ab", buffering=0) as file:
            file.write(key.encode() + b"\n")
            os.fsync(file.fileno())
        if not blocked or not key.endswith(blocked):
            return False
        say("blocked")
        return True

    machine = machine_with(begins)
    host = DBOSHost(machine, executors_with(begins))
    dbos.DBOS(
        config={
            "name": "worker",
            "system_database_url": url,
            "application_version": application_version("worker", host),
            "notification_listener_polling_interval_sec": 0.02,
            "log_level": "ERROR",
        }
    )
    dbos.DBOS.launch()
    host.start(workflow_id=WORKFLOW)
    over = threading.Event()
    telling = threading.Thread(target=tell_states, args=(host, over), daemon=True)
    telling.start()
    if sys.stdin.readline().strip() == "approve":
        for _ in range(2):
            host.send(WORKFLOW, desk.Approve(by="Ann"), event_id="mail-1")
        output = host.result(WORKFLOW, poll=0.02)
        standing = host.standing(WORKFLOW)
        ids = [entry.id for entry in standing.entries]
        verified = replay(machine, standing.entries, verify="strict").snapshot.output == output
        say("output", json.dumps({"output": output, "ids": ids, "verified": verified, "ignored": standing.ignored}))
    over.set()
    telling.join()  # it must not be in the middle of a query when the interpreter ends
    dbos.DBOS.destroy()


def machine_with(begins) -> il.Machine:
    def weigh(grams: int) -> str:
        """Say what a letter weighs."""
        if begins("weigh"):
            time.sleep(3600)
        return f"{grams} g"

    def stamp(topic: str) -> int:
        if begins("stamp"):
            time.sleep(3600)
        return len(topic)

    desk.weigh = weigh
    return desk.desk(stamp, delay=1.0)


def executors_with(begins) -> il.Executors:
    given = desk.executors()

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        if begins(info.call_key):
            await anyio.sleep(3600)
        return await given.decide(request, info)

    async def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        if begins(info.call_key):
            await anyio.sleep(3600)
        return await given.generate_text(request, info)

    return il.Executors(decide=decide, generate_text=generate_text)


def tell_states(host: DBOSHost, over: threading.Event) -> None:
    told: tuple[str, ...] = ()
    while not over.is_set():
        snapshot = host.standing(WORKFLOW).snapshot
        if snapshot is not None and snapshot.states != told:
            told = snapshot.states
            say("states", *(name.removeprefix("desk.") for name in told))
        time.sleep(0.02)


def say(*words: str) -> None:
    os.write(1, (" ".join(words) + "\n").encode())  # in one piece: several threads have something to say


if __name__ == "__main__":
    main(*sys.argv[1:])
