"""``AgentSession``: a run that stays open while its machine waits for somebody, and goes on with what is sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Generic, TypeVar, Unpack

import anyio.lowlevel

from interlock.errors import BindError
from interlock.run.options import GivenEvent, RunOptions, Saved
from interlock.run.results import Done, Failed, Idle
from interlock.run.running import Run, beside, open_run
from interlock.run.subscription import Subscription
from interlock.run.usage import RunUsage
from interlock.statechart import Machine, Snapshot

__all__ = ["AgentSession"]

C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output


class AgentSession(Generic[C, I, O]):
    """A machine that is kept running: the same driver as :func:`run_agent`'s, which does not end where it would settle.

    Its arguments are those of :func:`run_agent`. The call budget and the usage are those of the whole session. Used
    once, inside a block; at the end of the block what was sent is committed, all work is cancelled, and ``snapshot``
    can be gone on from::

        async with AgentSession(machine, executors=executors) as session:
            result = await session.settled()
            await session.send(Reply(answer="yes"))
            result = await session.settled()

    Raises, when the block is entered, what :func:`run_agent` raises before anything runs.
    """

    def __init__(
        self,
        machine: Machine[C, I, O],
        *,
        input: I | None = None,
        snapshot: Saved[C] | None = None,
        event: GivenEvent | None = None,
        **options: Unpack[RunOptions[C]],
    ) -> None:
        self._run: Run[C, I, O] = open_run(machine, input=input, snapshot=snapshot, event=event, **options)
        self._block: AbstractAsyncContextManager[None] | None = None
        self._begun = False

    async def __aenter__(self) -> AgentSession[C, I, O]:
        if self._begun:
            raise BindError("a session is opened once; make another AgentSession from its snapshot", code="not-open")
        self._begun = True
        await self._run.begin()
        block = self._working()
        await block.__aenter__()
        self._block = block
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        block = self._opened()
        try:
            return await block.__aexit__(kind, error, traceback)
        finally:
            self._block = None

    @asynccontextmanager
    async def _working(self) -> AsyncGenerator[None, None]:
        async with beside(self._go, wait=False):
            yield
            await self._run.taken()  # what was sent has been sent: it is not lost because nobody waits for the rest

    async def send(self, event: GivenEvent, *, event_id: str | None = None) -> None:
        """Deliver an event, and return at once; what comes of it is seen when the session has settled.

        An event that nothing waits for is no error: the next result holds it as ``ignored``. One whose ``event_id`` is
        in the log already is not applied again. Raises :class:`InputError` for what is no event of the machine.
        """
        self._opened()
        await self._run.send(event, event_id)
        await anyio.lowlevel.checkpoint()

    def send_nowait(self, event: GivenEvent) -> None:
        """Deliver an event without waiting for anything, as :meth:`send` does; for callbacks, and for many at once.

        To be called where the session's event loop runs, not from another thread.
        """
        self._opened()
        self._run.send_nowait(event)

    async def reply(self, request_id: str, value: object) -> None:
        """Answer a question of ``agent.user_input`` by its id, and return at once.

        Raises :class:`InputError` for a question that is not asked, or a reply that does not fit.
        """
        self._opened()
        self._run.reply({request_id: value})
        await anyio.lowlevel.checkpoint()

    async def settled(self) -> Done[O, C] | Idle[C] | Failed[C]:
        """Wait until nothing is left that could be done without an event, and return what has come of it.

        After :class:`Idle` the session goes on with the next event; after :class:`Done` and :class:`Failed` it is over.
        With ``timers="wait"`` pending timers are waited for; with ``"return"`` they are not, and fire all the same when
        they are due. Not to be awaited in an observer: the session waits for that one.
        """
        self._opened()
        if self._run.is_telling_me():
            raise BindError(
                "settled() was awaited by an observer of its own session, which waits for that observer; send what is "
                "to be sent and return",
                code="invalid-argument",
            )
        await self._run.settled()
        return self._run.result()

    def subscribe(self) -> Subscription:
        """Return the trace events from now on, to iterate over; they end with the session."""
        return self._run.subscribe()

    @property
    def snapshot(self) -> Snapshot[C] | None:
        """Where the machine stands now; None before the block is entered and where the machine could not start."""
        return self._run.snapshot

    @property
    def usage(self) -> RunUsage:
        """What the session has spent by now."""
        return self._run.usage

    async def _go(self) -> None:
        await self._run.go(stay=True)

    def _opened(self) -> AbstractAsyncContextManager[None]:
        if self._block is None:
            raise BindError("the session is not open; use it inside `async with AgentSession(...)`", code="not-open")
        return self._block
