"""``stream_agent``: a run as a stream of what happens in it, with its result at the end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Generic, TypeVar, Unpack

from interlock.errors import BindError
from interlock.run.options import GivenEvent, RunOptions, Saved
from interlock.run.results import Done, Failed, Idle
from interlock.run.running import Run, beside, open_run
from interlock.run.subscription import Subscription
from interlock.run.traces import TraceEvent
from interlock.statechart import Machine

__all__ = ["AgentStream", "stream_agent"]

C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output


class AgentStream(AsyncIterator[TraceEvent], Generic[C, I, O]):
    """The trace events of a run, from its first to its last, and what the run has come to."""

    def __init__(self, run: Run[C, I, O], events: Subscription) -> None:
        self._run = run
        self._events = events

    async def __anext__(self) -> TraceEvent:
        return await anext(self._events)

    async def settled(self) -> Done[O, C] | Idle[C] | Failed[C]:
        """Wait until the run has settled, and return its result. Events that are unread stay there to be read."""
        await self._run.settled()
        return self._run.result()

    @property
    def result(self) -> Done[O, C] | Idle[C] | Failed[C]:
        """What the run has come to: there once the events are all read, or the block is left.

        Raises :class:`BindError` (``not-settled``) before.
        """
        if not self._run.over:
            raise BindError(
                "the run has not settled yet; iterate to the end, leave the block, or await stream.settled()",
                code="not-settled",
            )
        return self._run.result()


@asynccontextmanager
async def stream_agent(
    machine: Machine[C, I, O],
    *,
    input: I | None = None,
    snapshot: Saved[C] | None = None,
    event: GivenEvent | None = None,
    **options: Unpack[RunOptions[C]],
) -> AsyncGenerator[AgentStream[C, I, O], None]:
    """Run a machine as :func:`run_agent` does, and see what happens while it happens.

    Arguments, result and exceptions are those of :func:`run_agent`. The run starts when the block is entered. Who stops
    reading does not stop the run: leaving the block waits for its end. An exception in the block cancels it::

        async with stream_agent(machine, executors=executors) as stream:
            async for event in stream:
                if isinstance(event, Chunk):
                    print(event.text, end="")
        result = stream.result
    """
    run: Run[C, I, O] = open_run(machine, input=input, snapshot=snapshot, event=event, **options)
    stream = AgentStream(run, run.subscribe())
    await run.begin()
    async with beside(run.go, wait=True):
        yield stream
