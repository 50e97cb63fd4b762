"""The crash sweep: a machine is killed with SIGKILL at every point, and gone on with in a new process.

    python bench/crash.py                    lines of text
    python bench/crash.py --json             one JSON object
    python bench/crash.py --postgres URL     the same on a PostgreSQL database that may be written to

The machine has decisions (one of them refused at first), two texts and a child machine in parallel, a tool, a function,
a timer, and waits for a person. It is killed after every append, before every append and in the middle of every call.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PEERS = {
    "source": "measured elsewhere, on 2026-11-30, with three model calls and two tool calls; not measured in this run",
    "columns": ["dies inside a tool, its model call answered", "dies inside the second model call"],
    "google-adk 2.13, resumable app": ["0 model calls repeated", "1 repeated, in flight"],
    "langgraph 1.2.24, durability=sync, model and tool as own nodes": ["0 repeated", "1 repeated, in flight"],
    "langgraph 1.2.24, default durability": ["1 repeated", "1 and the tool repeated"],
    "burr 0.43, own actions": ["0 repeated", "1 repeated, in flight"],
    "harel 0.9, auto-transition chain": ["1 repeated", "both repeated"],
    "openai-agents 0.24, SQLiteSession": ["1 repeated", "1 repeated, in flight"],
    "pydantic-ai, harness StepPersistence": ["starts over", "1 repeated, in flight"],
    "xstate-statemachine 0.11, run_agent(store=SQLiteStore)": ["1 repeated", "everything repeated"],
}


def main() -> None:
    """Sweeps and prints."""
    parser = argparse.ArgumentParser(description="Kills a machine at every point and counts what is done twice.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--postgres", metavar="URL", help="a PostgreSQL database to write to, instead of SQLite")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from tests.durable.sweep import sweep  # of this repository, and no package

    with tempfile.TemporaryDirectory(prefix="interlock-bench-") as name:
        folder = Path(name)
        if options.postgres:
            store, run = options.postgres, uuid.uuid4().hex[:8]
            found = sweep(lambda _: store, folder, say=say, prefix=f"crash-{run}-")
        else:
            found = sweep(lambda thread: f"sqlite:{folder / thread}.db", folder, say=say)
    summary = found.summary()
    if options.json:
        print(json.dumps(summary | {"store": "postgres" if options.postgres else "sqlite", "peers": PEERS}))
        return
    print("\n".join(f"{key:26} {value}" for key, value in summary.items()))
    print("\nPeers (" + str(PEERS["source"]) + "):")
    for peer, facts in PEERS.items():
        if peer not in ("source", "columns"):
            print(
                f"  {peer}: "
                + "; ".join(f"{column}: {fact}" for column, fact in zip(PEERS["columns"], facts, strict=True))
            )


def say(line: str) -> None:
    """Progress, on stderr."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
