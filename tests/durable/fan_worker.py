"""A process that works on one thread of the fan-out, and kills itself where it is told to, as ``worker.py`` does.

python -m tests.durable.fan_worker STORE THREAD CALLS [--kill append:3 | before:3 | call:3]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import anyio

import interlock as il
from interlock.journal.stores import open_store
from tests.durable.worker import Killer, Killing
from tests.run.fan import executors, paper

TOPICS = ("rain", "snow", "hail")


async def work(store_url: str, thread: str, killer: Killer) -> dict[str, object]:
    store: Any = Killing(open_store(store_url), killer)
    for name in ("read", "length", "index_of", "fork", "threads", "delete", "save_snapshot", "load_snapshot", "aclose"):
        setattr(store, name, getattr(store._store, name))
    result = await il.run_agent(paper(), input=TOPICS, store=store, thread_id=thread, executors=executors(killer.call))
    await store.aclose()
    found: dict[str, object] = {"result": type(result).__name__, "counts": killer.counts}
    if isinstance(result, il.Done):
        found["output"] = result.output
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("thread")
    parser.add_argument("calls", type=Path)
    parser.add_argument("--kill")
    given = parser.parse_args()
    print(json.dumps(anyio.run(lambda: work(given.store, given.thread, Killer(given.kill, given.calls)))))


if __name__ == "__main__":
    main()
