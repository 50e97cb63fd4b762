"""A process that works on one thread of the desk, and kills itself where it is told to.

    python -m tests.durable.worker STORE THREAD CALLS [--kill append:3 | before:3 | call:3] [--approve]

``append:N`` kills it right after the Nth append has returned, ``before:N`` right before it, ``call:N`` in the middle of
the Nth call (of an executor, the tool or the function), which is in CALLS by then. Prints what has come of the run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

import interlock as il
from interlock.journal import Store
from interlock.journal.stores import open_store
from tests.durable.desk import Approve, desk, executors


class Killer:
    """Counts what happens, and ends the process at the point that it was told."""

    def __init__(self, point: str | None, calls: Path) -> None:
        self.what, _, number = (point or ":0").partition(":")
        self.number = int(number)
        self.counts: dict[str, int] = {}
        self.calls = calls

    def reached(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
        if self.what == what and self.counts[what] == self.number:
            os.kill(os.getpid(), signal.SIGKILL)

    def call(self, key: str) -> None:
        with self.calls.open("a", encoding="utf-8") as file:
            file.write(key + "\n")
        self.reached("call")


class Killing:
    """A store whose appends may be the last thing that happens."""

    def __init__(self, store: Store, killer: Killer) -> None:
        self._store = store
        self._killer = killer

    async def append(self, thread_id: str, expected_index: int, entries: Sequence[il.LogEntry]) -> None:
        self._killer.reached("before")
        await self._store.append(thread_id, expected_index, entries)
        self._killer.reached("append")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def work(store_url: str, thread: str, killer: Killer, *, approve: bool) -> dict[str, object]:
    def stamp(topic: str) -> int:
        killer.call("stamp")
        return len(topic)

    store: Any = Killing(open_store(store_url), killer)
    for name in ("read", "length", "index_of", "fork", "threads", "delete", "save_snapshot", "load_snapshot", "aclose"):
        setattr(store, name, getattr(store._store, name))
    event = Approve(by="a person") if approve else None
    result = await il.run_agent(
        desk(stamp),
        store=store,
        thread_id=thread,
        executors=executors(killer.call),
        event=event,
        event_id="approval" if approve else None,
    )
    await store.aclose()
    found: dict[str, object] = {"result": type(result).__name__, "counts": killer.counts}
    if isinstance(result, il.Done):
        found["output"] = result.output
    if isinstance(result, il.Failed):
        found |= {"cause": result.cause, "code": result.error.code}
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("thread")
    parser.add_argument("calls", type=Path)
    parser.add_argument("--kill")
    parser.add_argument("--approve", action="store_true")
    given = parser.parse_args()
    found = anyio.run(lambda: work(given.store, given.thread, Killer(given.kill, given.calls), approve=given.approve))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
