"""Durable steps on LangGraph: a node that loops, and a checkpoint after each superstep."""

from __future__ import annotations

import operator
import sqlite3
from collections.abc import Callable
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from durable_steps import Load, Pace, Reopen, Run, Subject, entry, main
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import MemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from measure import expect

FILE = "checkpoints.sqlite"


class Added(TypedDict):
    """The state as everybody writes it: the whole list is in every checkpoint."""

    entries: Annotated[list[str], operator.add]


def extended(entries: list[str], writes: list[list[str]]) -> list[str]:
    """The reducer of a delta channel, which gets many writes at once."""
    return entries + [one for write in writes for one in write]


class Delta(TypedDict):
    """The state in the channel that is in beta: a checkpoint in a hundred has the whole list."""

    entries: Annotated[list[str], DeltaChannel(extended)]


def graph(state: type, pace: Pace, *, grows: bool) -> StateGraph[Any]:
    """One node that loops for as long as the pace wants."""

    def idle(_state: dict[str, Any]) -> dict[str, Any]:
        return {}

    def append(_state: dict[str, Any]) -> dict[str, Any]:
        return {"entries": [entry(pace.taken)]}

    builder: StateGraph[Any] = StateGraph(state)
    builder.add_node("step", append if grows else idle)
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda _state: "step" if pace.goes_on() else END, ["step", END])
    return builder


def thread(steps: int) -> dict[str, Any]:
    """The configuration of the only thread, with room for so many steps."""
    return {"configurable": {"thread_id": "thread"}, "recursion_limit": steps + 10}


def take_steps(
    state: type,
    load: Load,
    pace: Pace,
    saver: Any,
    *,
    durability: Literal["sync", "async"] = "sync",
    kept: Callable[[], int],
) -> None:
    """The run; `kept` counts the checkpoints, of which the input and the start have one each."""
    compiled = graph(state, pace, grows=load.grows).compile(checkpointer=saver)
    with pace.measured():
        compiled.invoke({"entries": load.first()}, thread(pace.steps), durability=durability)
    values = compiled.get_state(thread(0)).values
    expect((kept(), len(values["entries"])), (pace.taken + 2, load.entries + pace.taken * load.grows))


def in_memory(state: type) -> Run:
    """Checkpoints in memory."""

    def run(load: Load, pace: Pace, _folder: Path) -> None:
        saver = MemorySaver()
        take_steps(state, load, pace, saver, kept=lambda: len(saver.storage["thread"][""]))

    return run


def in_sqlite(state: type, durability: Literal["sync", "async"]) -> Run:
    """Checkpoints in SQLite."""

    def run(load: Load, pace: Pace, folder: Path) -> None:
        with closing(sqlite3.connect(folder / FILE, check_same_thread=False)) as connection:

            def kept() -> int:
                return int(connection.execute("SELECT count(*) FROM checkpoints").fetchone()[0])

            take_steps(state, load, pace, SqliteSaver(connection), durability=durability, kept=kept)

    return run


def from_sqlite(state: type) -> Reopen:
    """A new connection, saver and graph, and the state of the thread."""

    def reopen(folder: Path) -> Callable[[], int]:
        connection = sqlite3.connect(folder / FILE, check_same_thread=False)
        pace = Pace(1)
        compiled = graph(state, pace, grows=True).compile(checkpointer=SqliteSaver(connection))
        before = compiled.get_state(thread(0)).values

        def go_on() -> int:
            with closing(connection), pace.measured():
                after = compiled.invoke({"entries": []}, thread(1), durability="sync")
            expect(after["entries"][:-1], before["entries"])
            return len(after["entries"])

        return go_on

    return reopen


ABOUT = {
    "loop": "the step is a node that returns nothing (or one entry), and a conditional edge leads back to it; one call "
    "of `invoke` takes all steps",
    "memory_us": "MemorySaver stores a channel again only when it was written",
    "sqlite_us": 'durability="sync", SqliteSaver\'s own settings (WAL, synchronous=FULL); CPU time, so waiting for '
    "the disk is not in it",
    "sqlite_default_us": 'durability="async", the default: a step may begin before the last one is stored',
    "resume_ms": "connection, SqliteSaver, compiled graph and `get_state`",
    "variants": "delta_channel: the list in a DeltaChannel (in beta) with the default snapshot_frequency of 100 "
    "instead of a reducer",
}
DELTA = Subject(in_memory(Delta), in_sqlite(Delta, "sync"), from_sqlite(Delta), in_sqlite(Delta, "async"))
SUBJECT = Subject(
    in_memory(Added),
    in_sqlite(Added, "sync"),
    from_sqlite(Added),
    in_sqlite(Added, "async"),
    about=ABOUT,
    variants={"delta_channel": DELTA},
)

if __name__ == "__main__":
    saver_version = metadata.version("langgraph-checkpoint-sqlite")
    main("langgraph", f"{metadata.version('langgraph')} (langgraph-checkpoint-sqlite {saver_version})", SUBJECT)
