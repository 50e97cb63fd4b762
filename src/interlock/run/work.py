"""A piece of owed work while it is being done: what its worker may see, and how it says what came of it.

A worker only *proposes*. What it proposes is a function of what is owed at the moment of delivery; the driver calls
it, and alone decides what is committed, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeAlias

import anyio
import anyio.lowlevel

from interlock.errors import EndlessLoopError, ErrorInfo
from interlock.run.border import AnyMachine, error_info
from interlock.run.origin import Origin
from interlock.statechart import UNSET, Input, OwedInvocation, Snapshot, owed

__all__ = ["Make", "Perform", "Proposal", "Unasked", "Work"]

_MOST_UNASKED = 1000
"""How many requests may end one after the other, in one and the same context, before anybody is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What shall be committed: an input, and what the log keeps beside it.

    ``then`` are inputs that are committed with it, all of them or none. ``entry_id`` is given where an event must count
    once, however often it is sent.
    """

    input: Input
    then: tuple[Input, ...] = ()
    metadata: Mapping[str, object] | None = None
    entry_id: str | None = None


Make: TypeAlias = Callable[[OwedInvocation], Proposal]
"""Says what shall be committed, given the work as it is owed now; raises StepError where the machine's code does."""


class Unasked:
    """Counts the requests that end without anybody being asked (nothing legal to pick, calls used up), in a row.

    A machine that answers such an end by asking again would go round for ever, in no time and for no money. What was
    owed at the same time counts as one: many children that cannot be served are no loop. Nor is a long list that is
    gone through item by item, nor waiting for others in this way: so where the context has changed, or somebody else
    is being asked meanwhile, ten times as many may end.
    """

    __slots__ = ("_all", "_context", "_together", "_visited")

    def __init__(self) -> None:
        self._visited: list[str] = []
        self._all = 0
        self._together: set[str] = set()
        self._context: object = None

    def ended(self, identity: str, snapshot: Snapshot[Any], *, others: bool = False) -> None:
        """Count a request that ends, given where the machine stands before, and whether others are being asked.

        Raises :class:`EndlessLoopError` where there were too many.
        """
        if identity in self._together:
            return
        items = owed(snapshot).invocations
        self._together = {item.identity for item in items}
        if others or snapshot.context != self._context:
            self._visited.clear()
            self._context = snapshot.context
        item = next((item for item in items if item.identity == identity), None)
        self._visited.append(identity if item is None else item.state or item.src)
        self._all += 1
        if len(self._visited) <= _MOST_UNASKED and self._all <= _MOST_UNASKED * 10:
            return
        cycle = tuple(dict.fromkeys(self._visited))
        number = len(self._visited) if len(self._visited) > _MOST_UNASKED else self._all
        raise EndlessLoopError(
            f"goes round in {', '.join(cycle)}: {number - 1} requests in a row have ended before anybody could be "
            "asked; let on_error and on_done lead somewhere else",
            machine=snapshot.machine_id,
            event=None,
            cycle=cycle,
        )

    def asked(self) -> None:
        """Begin anew: somebody was asked, or something has happened outside."""
        self._visited.clear()
        self._together.clear()
        self._all = 0
        self._context = None


class Work:
    """One running invocation, as its worker and the driver see it."""

    __slots__ = (
        "_committed",
        "_now",
        "_turn",
        "_under_way",
        "_wake",
        "asked",
        "began",
        "machine",
        "origin",
        "over",
        "owed",
        "proposed",
        "raised",
        "root",
        "scope",
        "since",
    )

    def __init__(
        self,
        owed: OwedInvocation,
        machine: AnyMachine,
        *,
        began: Snapshot[object],
        now: Callable[[], float],
        wake: Callable[[], None],
        root: Callable[[], tuple[AnyMachine, Snapshot[object]]],
    ) -> None:
        self.owed = owed
        """What is owed by now: the invocation with its records, and the state of the machine that owes it."""
        self.machine = machine
        """The machine that owes it: the root, or a child machine."""
        self.began = began
        """Where that machine stood when the work began."""
        self.scope = anyio.CancelScope()
        self.proposed: Make | None = None
        """What the worker wants to be committed."""
        self.since = 0.0
        """When it came to want that."""
        self.raised: BaseException | None = None
        """What the work has failed with."""
        self.origin = Origin.of(owed)
        """Where the work belongs, and which attempt at it is under way."""
        self.asked = False
        """Whether outside code was called for it."""
        self.over = False
        """Whether nobody waits any more for what comes of it. A thread may look here, at a scope on trio it may not."""
        self.root = root
        """Gives the root machine and where it stands now."""
        self._now = now
        self._wake = wake
        self._under_way = anyio.Event()
        self._committed: anyio.Event | None = None
        self._turn: anyio.Event | None = None

    # -- the worker's side ---------------------------------------------------------------------------------------------

    async def run(self, perform: Perform) -> None:
        """Do the work. Returns when it is done, or is owed no more."""
        try:
            with self.scope:
                await perform(self)
        finally:
            self.over = True
            self.entered()

    def entered(self) -> None:
        """Say that outside code is about to be called, so that the next work may go on."""
        self._under_way.set()

    async def turn(self) -> None:
        """Wait until nobody else has a turn. It is over with the next proposal that is dealt with."""
        self._turn = anyio.Event()
        self._wake()
        self.entered()
        await self._turn.wait()

    async def propose(self, make: Make) -> None:
        """Ask for something to be committed, and wait until it is. Cancelled if the work is owed no more by then."""
        self.proposed, self.since = make, self._now()
        if self._committed is not None:
            self._committed.set()  # a tool that an executor has left behind: nobody else would wake it
        self._committed = anyio.Event()
        self._wake()
        self.entered()
        await self._committed.wait()
        if self.scope.cancel_called:
            await anyio.lowlevel.checkpoint()  # ends here, however the two were ordered

    async def finish(
        self,
        output: object,
        *,
        record: object = UNSET,
        usage: object = None,
        metadata: Mapping[str, object] | None = None,
        told: Callable[[], None] | None = None,
    ) -> None:
        """Ask for the work to be completed with ``output``, which is JSON; ``told`` is called when it is taken."""

        def make(owed: OwedInvocation) -> Proposal:
            if told is not None:
                told()
            given = Input(address=owed.address, invocation=owed.key, record=record, output=output, usage=usage)
            return Proposal(input=given, metadata=metadata)

        await self.propose(make)

    async def fail(
        self,
        error: Exception,
        *,
        record: object = UNSET,
        usage: object = None,
        metadata: Mapping[str, object] | None = None,
        told: Callable[[ErrorInfo], None] | None = None,
    ) -> None:
        """Ask for the work to be ended with an error; ``told`` is called with it when it is taken."""
        info = self.blame(error)

        def make(owed: OwedInvocation) -> Proposal:
            if told is not None:
                told(info)
            given = Input(address=owed.address, invocation=owed.key, record=record, error=info, usage=usage)
            return Proposal(input=given, metadata=metadata)

        await self.propose(make)

    def blame(self, error: Exception, *, data: object = None) -> ErrorInfo:
        """Return an error that the work ends with as data; the exception itself gets a note that says whose it is."""
        self.raised = error
        note = f"in {self.origin}"
        with suppress(Exception):  # exceptions are other people's code
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
        return error_info(error, data=data)

    async def record(
        self, record: object, *, usage: object = None, metadata: Mapping[str, object] | None = None
    ) -> None:
        """Ask for a record to be kept on the invocation, and go on once it is."""
        await self.propose(
            lambda owed: Proposal(
                input=Input(address=owed.address, invocation=owed.key, record=record, usage=usage), metadata=metadata
            )
        )

    async def crash(self, error: Exception) -> None:
        """Report that the machine's own code raised while the work was prepared: the run cannot go on."""

        def make(_: OwedInvocation) -> NoReturn:
            raise error

        await self.propose(make)

    # -- the driver's side ---------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        """Whether what was proposed has been dealt with and the worker does not know it yet."""
        return self.proposed is None and self._committed is not None and not self._committed.is_set()

    @property
    def queued(self) -> bool:
        """Whether the worker waits for its turn."""
        return self._turn is not None and not self._turn.is_set()

    @property
    def has_turn(self) -> bool:
        """Whether it has one."""
        return self._turn is not None and self._turn.is_set()

    async def take_turn(self) -> None:
        """Let the worker have its turn, and wait as :meth:`started` does."""
        if self._turn is not None:
            self._under_way = anyio.Event()
            self._turn.set()
            await self._under_way.wait()

    def accepted(self) -> Make | None:
        """Return what the worker proposes, which is dealt with now; its turn is over."""
        make, self.proposed, self._turn = self.proposed, None, None
        return make

    def cancel(self) -> None:
        """End the work: it is owed no more."""
        self.over = True
        self.scope.cancel()

    async def started(self) -> None:
        """Wait until the worker has called outside code, or wants something, or has ended."""
        await self._under_way.wait()

    async def go_on(self) -> None:
        """Tell the worker that what it proposed is committed, and wait as :meth:`started` does."""
        if self._committed is not None:
            self._under_way = anyio.Event()
            self._committed.set()
            await self._under_way.wait()


class Perform(Protocol):
    """Carries out work. What outside code raises, it reports; it raises only for faults of the library."""

    def can(self, owed: OwedInvocation) -> bool:
        """Whether there is anybody to carry this out: what waits for a person, it may be that nobody asks."""
        ...

    async def __call__(self, work: Work) -> None:
        """Carry out one piece of work."""
        ...
