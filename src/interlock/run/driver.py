"""The one driver. It executes what a snapshot owes, and it alone moves the snapshot on.

    owed(snapshot) -> reconcile with what runs -> workers propose -> commit one input -> make its entry durable
        -> publish -> owed(snapshot) ...

First run, resume, a child machine that is stopped and a state that is entered again are the same path: what is owed
and does not run is started, in the order in which it is owed; what runs and is not owed any more is cancelled.
Everything is decided by the snapshot of now, and what is ready together is taken in the order in which it is owed, so
the same machine with the same answers gives the same inputs on asyncio and on trio.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

import anyio
import anyio.abc
import anyio.lowlevel

from interlock.errors import ErrorInfo, InterlockError, StepError
from interlock.run.clock import Clock
from interlock.run.exits import Exits
from interlock.run.functions import INSIDE
from interlock.run.journaling import Journal
from interlock.run.observers import Committed, Observers
from interlock.run.origin import Origin
from interlock.run.traces import AtRest, EventIgnored
from interlock.run.work import Perform, Proposal, Unasked, Work
from interlock.statechart import (
    UNSET,
    Effect,
    Input,
    Machine,
    OwedInvocation,
    OwedTimer,
    Snapshot,
    owed,
)
from interlock.statechart.events import as_event

__all__ = ["Driver", "FailedWork", "Timers"]

C = TypeVar("C")

Timers = Literal["wait", "return"]

_QUIET = 2
"""Turns of the event loop without anybody new, after which what is there is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedWork:
    """A piece of work that ended with an error: as data, as it was raised, and whose it was."""

    error: ErrorInfo
    exception: BaseException
    origin: Origin


class _Sent(NamedTuple):
    """What came from outside, and when."""

    given: Input
    at: float
    entry_id: str | None
    duplicate: bool


class Driver(Generic[C]):
    """Drives one machine until nothing is left that it could do. Used once: ``begin``, then ``run``.

    Arguments:
        machine: the machine, with all its sources.
        perform: carries out owed work.
        clock: what time it is.
        timers: whether pending timers are waited for.
        observers: who is told.
    """

    def __init__(
        self, machine: Machine[C, Any, Any], *, perform: Perform, clock: Clock, timers: Timers, observers: Observers
    ) -> None:
        self.machine = machine
        self.ignored: object = None
        """The last event from outside that changed nothing."""
        self.duplicate = False
        """Whether that was because it had been delivered before."""
        self._log: Journal[C] | None = None
        self._perform = perform
        self._clock = clock
        self._wait_for_timers = timers == "wait"
        self._observers = observers
        self._owed: dict[str, OwedInvocation] = {}
        self._timers: tuple[OwedTimer, ...] = ()
        self._works: dict[str, Work] = {}
        self._inbox: deque[_Sent] = deque()
        self._wake = anyio.Event()
        self._unpublished: deque[tuple[Committed, Snapshot[C], Sequence[Effect], bool, bool]] = deque()
        self._proposals = 0
        self._failed: deque[FailedWork] = deque(maxlen=16)
        self.aborted: str | None = None
        """Why the run was aborted, if it was."""
        self._exits = Exits()
        self._unasked = Unasked()
        self._over = False
        self._published = anyio.Event()
        self._rested = anyio.Event()

    # -- moving on: all of it synchronous, so that no cancellation can fall into the middle ----------------------------

    def begin(self, log: Journal[C], effects: Sequence[Effect] | None) -> None:
        """Begin where a log ends.

        Arguments:
            log: the run's log, from its first entry on, or as a thread has left it.
            effects: what the first step asks for; None where it was taken in another run, which has published it.
        """
        self._log = log
        if log.failure is not None or log.head is None:
            return
        self._adopt(log.head.snapshot)
        if effects is not None:
            committed = Committed(index=log.index, at=self._clock.now(), input=None)
            self._unpublished.append((committed, log.head.snapshot, effects, True, True))

    def send(self, given: Input, entry_id: str | None = None, *, duplicate: bool = False) -> None:
        """Deliver something from outside, after what was sent before and the timers that had run out by then.

        ``duplicate``: it was sent before, and counts once.
        """
        if self._over:
            self._ignore(given.event, duplicate=duplicate)
            return
        self._inbox.append(_Sent(given, self._clock.now(), entry_id, duplicate))
        self._stir()
        self._wake.set()

    def abort(self, reason: str) -> None:
        """End the run as soon as what has come in by now is committed."""
        if self.aborted is None:
            self.aborted = reason
            self._wake.set()

    def _stir(self) -> None:
        if self._rested.is_set() and not self._over:
            self._rested = anyio.Event()

    def commit(self, proposal: Proposal) -> bool:
        """Take one step, or several that belong together: the only place where a running system changes.

        Returns whether anything happened. The step becomes an entry of the log here, and is nobody's yet:
        :meth:`_publish` makes it durable before anybody is told, before the next work starts, and before the run
        settles.
        """
        log, before = self.log, self._standing()
        at = self._clock.now()
        taken = log.add(proposal, at=at)
        if log.failure is not None:
            return False
        snapshot = self._standing()
        if snapshot is not before:
            self._adopt(snapshot, before)
        for item in taken:
            committed = Committed(index=item.entry.index, at=at, input=item.input)
            # What belongs together leads to one snapshot that anybody may go on from: the last.
            kept = item is taken[-1] and snapshot is not before
            self._unpublished.append((committed, item.after, item.effects, item.after is not item.before, kept))
        return snapshot is not before or any(item.effects for item in taken)

    def _adopt(self, snapshot: Snapshot[C], before: Snapshot[C] | None = None) -> None:
        if before is not None and snapshot.rest is before.rest and not self._owed:
            return  # what is owed stands there, and invocations also hold the snapshot that owes them
        found = owed(snapshot)
        self._owed = {item.identity: item for item in found.invocations}
        self._timers = found.timers
        # Cancelled here, not at the next turn: no worker can learn of a step that ended its work and go on regardless.
        for identity in [identity for identity in self._works if identity not in self._owed]:
            self._works.pop(identity).cancel()
        for identity, work in self._works.items():
            work.owed = self._owed[identity]

    def _standing(self) -> Snapshot[C]:
        return cast("Snapshot[C]", self.snapshot)

    @property
    def log(self) -> Journal[C]:
        """The run's log."""
        assert self._log is not None  # noqa: S101  # a driver begins before it does anything else
        return self._log

    @property
    def snapshot(self) -> Snapshot[C] | None:
        """Where the machine stands; None before it has begun and where it could not start."""
        return None if self._log is None else self._log.snapshot

    @property
    def failure(self) -> InterlockError | None:
        """Why the run cannot go on: a step that raised, or an entry that could not be written."""
        return None if self._log is None else self._log.failure

    # -- the loop ------------------------------------------------------------------------------------------------------

    async def run(self, *, stay: bool = False) -> None:
        """Go on until the machine has ended, a step has failed, or nothing is left to do without an event.

        Arguments:
            stay: whether to wait for an event then, and go on with it.
        """
        try:
            with self._exits.around():
                async with self._observers.telling(self._exits), anyio.create_task_group() as group:
                    await self._go(group, stay=stay)
                    group.cancel_scope.cancel()
        except BaseException:
            if self._rested.is_set():
                with anyio.CancelScope(shield=True):
                    await self.log.keep(at_end=True)
            else:
                self.abort("the run was cancelled")  # where it stands is nothing that it has settled on
            raise
        finally:
            self._over = True
            self._published.set()
            self._rested.set()
        for sent in reversed(self._inbox):  # the result names the one that came first
            self._ignore(sent.given.event, duplicate=sent.duplicate)
        await self._observers.deliver()

    async def _go(self, group: anyio.abc.TaskGroup, *, stay: bool) -> None:
        self._take()  # overdue timers and a given event come before any work: they may make it needless
        while True:
            await self._publish()
            if self._is_over:
                await self.log.keep(at_end=True)
                return
            await self._start_owed(group)
            if self._at_rest() and not await self._rest(stay=stay):
                return
            await self._wait()
            self._stir()
            self._take()

    async def taken(self) -> None:
        """Wait until all that was sent is committed and durable, or the run is over."""
        while not self._over and (self._inbox or not self.log.settled):
            self._published = anyio.Event()
            await self._published.wait()

    async def settled(self) -> None:
        """Wait until the run has nothing left to do, or has ended."""
        while not self._rested.is_set():
            await self._rested.wait()

    @property
    def _is_over(self) -> bool:
        return self.failure is not None or self.aborted is not None or self._standing().status != "active"

    async def _rest(self, *, stay: bool) -> bool:
        await self.log.keep(at_end=not stay)
        if not stay:
            return False
        accepted = self._standing().accepted_events()
        self._observers.trace(lambda stamp: AtRest(stamp, accepted=accepted))
        await self._observers.deliver()
        if self._at_rest():  # nobody has sent anything meanwhile
            self._rested.set()
        return True

    def _take(self) -> None:
        """Commit all that is there now, without letting anybody come between."""
        now = self._clock.now()
        # As much as is there at the beginning: a timer that renews itself is not waited out here.
        most = len(self._inbox) + len(self._works) + sum(timer.due <= now for timer in self._timers)
        while most and self.failure is None and self._standing().status == "active" and self._take_one():
            most -= 1
        if self._inbox or any(work.proposed for work in self._works.values()):
            self._wake.set()  # what is left over, nobody else will wake us for

    def _take_one(self) -> bool:
        ready = next((work for key in self._owed if (work := self._works.get(key)) and work.proposed), None)
        since = self._inbox[0].at if self._inbox else ready.since if ready else self._clock.now()
        timer = self._timers[0] if self._timers else None
        # A timer goes first if it had run out when the other came: who comes earlier is served earlier.
        if timer is not None and timer.due <= since:
            self._unasked.asked()
            self.commit(Proposal(input=Input.fired(timer.key, address=timer.address)))
        elif self._inbox:
            self._deliver(self._inbox.popleft())
        elif ready is not None:
            self._accept(ready)
        else:
            return False
        return True

    def _deliver(self, sent: _Sent) -> None:
        given = sent.given
        if sent.duplicate:
            self._ignore(given.event, duplicate=True)
            return
        self._unasked.asked()
        before = self._standing()
        happened = self.commit(Proposal(input=given, entry_id=sent.entry_id))
        if given.event is None:
            return
        self.ignored, self.duplicate = None, False
        if not happened and self.failure is None and not before.can(given.event):
            self._ignore(given.event)

    def _ignore(self, event: object, *, duplicate: bool = False) -> None:
        if event is None:
            return
        self.ignored, self.duplicate = event, duplicate
        self._observers.trace(
            lambda stamp: EventIgnored(stamp, event_type=as_event(event).type, duplicate=duplicate, event=event)
        )

    def _accept(self, work: Work) -> None:
        make = work.accepted()
        assert make is not None  # noqa: S101  # whoever calls has looked
        try:
            proposal = make(work.owed)
            self._count(work, proposal.input)
        except StepError as error:
            self.log.failure = error
            return
        ended = proposal.input.error
        if isinstance(ended, ErrorInfo) and work.raised is not None:
            self._failed.append(FailedWork(error=ended, exception=work.raised, origin=work.origin))
        self.commit(proposal)

    def _count(self, work: Work, given: Input) -> None:
        if work.asked:
            self._unasked.asked()
        elif given.error is not UNSET or given.output is not UNSET:
            others = any(item.asked for item in self._works.values())
            self._unasked.ended(work.owed.identity, self._standing(), others=others)

    async def _start_owed(self, group: anyio.abc.TaskGroup) -> None:
        """Let all owed work go on, in the order in which it is owed, each entered before the next."""
        for identity, item in self._owed.items():
            work = self._works.get(identity)
            if work is None:
                if not self._perform.can(item):
                    continue
                work = Work(
                    item,
                    self.log.owner(item),
                    began=self.log.began(identity),
                    now=self._clock.now,
                    wake=self._proposed,
                    root=lambda: (self.machine, self._standing()),
                )
                self._works[identity] = work
                group.start_soon(self._work, work)
                await work.started()
            elif work.waiting:
                await work.go_on()
        # Where decisions are asked one after the other: who is owed first has the turn.
        if not any(work.has_turn for work in self._works.values()):
            queued = (work for identity in self._owed if (work := self._works.get(identity)) and work.queued)
            for work in queued:
                await work.take_turn()
                break

    async def _work(self, work: Work) -> None:
        INSIDE.set(True)
        with self._exits.carried():
            await work.run(self._perform)

    def _proposed(self) -> None:
        self._proposals += 1
        self._wake.set()

    def _at_rest(self) -> bool:
        if self._works or self._inbox:
            return False
        due = self._timers and (self._wait_for_timers or self._timers[0].due <= self._clock.now())
        return not due

    async def _wait(self) -> None:
        """Wait until a worker, a sender or a timer has something, and until all who come with it have come forward.

        Event loops run what is ready at the same time in an order of their own, and trio in another one each time.
        So where several work, nothing is taken before nobody new has come for two turns of the loop; then what is
        there counts as ready together. That is a matter of turns, not of time: it costs microseconds, and real calls,
        which take milliseconds, are taken as they come.
        """
        if not self._timers:
            await self._wake.wait()
        else:
            async with anyio.create_task_group() as group:
                group.start_soon(self._sleep, self._timers[0].due)
                await self._wake.wait()
                group.cancel_scope.cancel()
        quiet = 0 if len(self._works) > 1 else _QUIET
        while quiet < _QUIET:
            proposals = self._proposals
            await anyio.lowlevel.checkpoint()
            quiet = quiet + 1 if proposals == self._proposals else 0
        self._wake = anyio.Event()

    async def _sleep(self, due: float) -> None:
        with self._exits.carried():
            await self._clock.sleep_until(due)
            self._wake.set()

    async def _publish(self) -> None:
        if not await self.log.flush():
            return  # what is not durable has not happened
        while self._unpublished:
            committed, snapshot, effects, changed, kept = self._unpublished.popleft()
            self._observers.committed(committed, snapshot, effects, changed=changed, kept=kept)
            await self._observers.deliver()
        self._published.set()
        # Also where nothing was waited for: a machine that is never at rest can still be cancelled.
        await anyio.lowlevel.checkpoint()

    @property
    def pending(self) -> tuple[OwedTimer, ...]:
        """The timers that are pending, in the order in which they fall due."""
        return self._timers

    def failed_work(self, error: ErrorInfo) -> FailedWork | None:
        """Return the work of this run that ended with ``error``, the last such."""
        return next((failed for failed in reversed(self._failed) if failed.error == error), None)
