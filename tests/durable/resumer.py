"""A process that takes up threads when it is told to, and says what has come of each.

    python -m tests.durable.resumer STORE CALLS

Reads names of threads from stdin, takes up each, and prints one line of JSON for it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import anyio

import interlock as il
from interlock.journal.stores import open_store
from tests import guessing


async def resume(store: il.Store, thread: str, calls: Path) -> dict[str, object]:
    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        with calls.open("a", encoding="utf-8") as file:
            file.write(f"{thread} {info.call_key} {os.getpid()}\n")
        await anyio.sleep(0.002)
        return il.Choice(guessing.Guess(guess=f"by {os.getpid()}"))

    result = await il.run_agent(guessing.game(), store=store, thread_id=thread, executors=il.Executors(decide=decide))
    found: dict[str, object] = {"result": type(result).__name__, "added": [entry.index for entry in result.entries]}
    if isinstance(result, il.Done):
        found["output"] = result.output.guess
    if isinstance(result, il.Failed):
        found |= {"cause": result.cause, "code": result.error.code}
    return found


async def main(url: str, calls: Path) -> None:
    store = open_store(url)
    for line in sys.stdin:
        print(json.dumps(await resume(store, line.strip(), calls)), flush=True)
    await store.aclose()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], Path(sys.argv[2]))
