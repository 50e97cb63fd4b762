"""Durable steps on pydantic-graph 1.x: a node that follows itself, and a file of all snapshots."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from durable_steps import Load, Pace, Subject, entry, main
from measure import expect
from pydantic_graph.basenode import BaseNode, End, GraphRunContext
from pydantic_graph.graph import Graph
from pydantic_graph.persistence.file import FileStatePersistence
from pydantic_graph.persistence.in_mem import FullStatePersistence

FILE = "snapshots.json"


@dataclass
class Context:
    """The state of the graph."""

    entries: list[str]


@dataclass
class Idle(BaseNode[Context, None, None]):
    """Nothing."""

    async def run(self, _ctx: GraphRunContext[Context]) -> Idle | End[None]:
        """On to itself."""
        return Idle()


@dataclass
class Append(BaseNode[Context, None, None]):
    """One entry more."""

    async def run(self, ctx: GraphRunContext[Context]) -> Append | End[None]:
        """On to itself."""
        ctx.state.entries.append(entry(len(ctx.state.entries)))
        return Append()


def graph(node: type[BaseNode[Context, None, None]]) -> Graph[Context, None, None]:
    """The graph of that one node."""
    return Graph(nodes=[node], state_type=Context, run_end_type=type(None))


async def take_steps(load: Load, pace: Pace, persistence: Any) -> None:
    """The run."""
    node = Append if load.grows else Idle
    context = Context(load.first())
    async with graph(node).iter(node(), state=context, persistence=persistence) as run:
        with pace.measured():
            await run.next()
            while pace.goes_on():
                await run.next()
    snapshots = await persistence.load_all()
    # One for each node that has run, and one for the node to run next.
    expect([len(snapshots), snapshots[-1].status], [pace.taken + 1, "created"])
    expect(len(snapshots[-1].state.entries), load.entries + pace.taken * load.grows)


def in_memory(load: Load, pace: Pace, _folder: Path) -> None:
    """Snapshots in memory."""
    asyncio.run(take_steps(load, pace, FullStatePersistence()))


def in_file(load: Load, pace: Pace, folder: Path) -> None:
    """Snapshots in a file."""
    asyncio.run(take_steps(load, pace, FileStatePersistence(folder / FILE)))


def from_file(folder: Path) -> Callable[[], int]:
    """A new persistence and graph, and the run at its next node."""
    runner = asyncio.Runner()
    stack = AsyncExitStack()
    run = runner.run(
        stack.enter_async_context(graph(Append).iter_from_persistence(FileStatePersistence(folder / FILE)))
    )

    async def one_more() -> int:
        async with stack:
            await run.next()
            return len(run.state.entries)

    def go_on() -> int:
        with runner:
            return runner.run(one_more())

    return go_on


SUBJECT = Subject(
    in_memory,
    in_file,
    from_file,
    about={
        "loop": "the step is a node that returns itself anew; each is one call of `GraphRun.next`",
        "memory_us": "FullStatePersistence, which copies the state deeply; it looks through all earlier snapshots, so "
        "a step costs more the more there were",
        "sqlite_us": "there is no SQLite; this is FileStatePersistence, which reads and writes the file of all "
        "snapshots three times a step, so every figure of it holds for its number of steps only. It neither syncs the "
        "file nor replaces it at once",
        "sqlite_default_us": "there is one way to save, so this is sqlite_us",
        "stored_mb_3000x100": "the size of the JSON file",
        "resume_ms": "FileStatePersistence, graph and `iter_from_persistence`, which reads the file and writes it "
        "again",
        "version": "1.x, because persistence was taken out of 2.0: 2.68.0 has no `pydantic_graph.persistence`",
    },
)

if __name__ == "__main__":
    main("pydantic-graph", metadata.version("pydantic-graph"), SUBJECT)
