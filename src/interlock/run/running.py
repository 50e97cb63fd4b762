"""One run, checked and ready to go: the driver with everything around it. All ways of running a machine start here."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Generic, TypeVar

import anyio

from interlock.agent.contract import Executors
from interlock.agent.reading import checked_machine
from interlock.errors import BindError
from interlock.journal import Store
from interlock.run import bind
from interlock.run.abort import Abort
from interlock.run.arguments import check_actors, check_arguments, check_event_id, checked_executors, checked_on
from interlock.run.border import check_input, loaded_snapshot, read_event
from interlock.run.clock import Clock, SystemClock
from interlock.run.driver import Driver, Timers
from interlock.run.exits import Exits, sole
from interlock.run.functions import Threads
from interlock.run.means import Means
from interlock.run.observers import TOLD_BY, Observers
from interlock.run.opening import Start, open_log
from interlock.run.options import (
    BudgetScope,
    Decisions,
    GivenEvent,
    OnChunk,
    OnEmitted,
    OnEvent,
    OnResult,
    OnTrace,
    OnTransition,
    Saved,
    UserInput,
)
from interlock.run.perform import Performer
from interlock.run.replies import answers
from interlock.run.results import Done, Failed, Idle
from interlock.run.settle import settle
from interlock.run.subscription import Subscription
from interlock.run.tool_scope import ToolScope
from interlock.run.traces import RunEnded, RunStarted, Stamp
from interlock.run.usage import Budget, RunUsage, get_usage
from interlock.statechart import Input, Machine, Snapshot

__all__ = ["Run", "alone", "beside", "drained", "open_run"]

C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output


class Run(Generic[C, I, O]):
    """A run that stands at its beginning; :meth:`go` drives it, once."""

    def __init__(
        self,
        machine: Machine[C, I, O],
        *,
        driver: Driver[C],
        observers: Observers,
        budget: Budget,
        threads: Threads,
        abort: Abort | None,
        begin: Callable[[], Awaitable[None]],
    ) -> None:
        self._machine = machine
        self._driver = driver
        self._observers = observers
        self.budget = budget
        self.threads = threads
        self._abort = abort
        self._begin = begin
        self._subscriptions: list[Subscription] = []
        self.over = False
        """Whether the run has settled and told so."""

    async def go(self, *, stay: bool = False) -> None:
        """Go on until the run has settled; with ``stay`` until it has ended or is cancelled."""
        driver = self._driver
        try:
            with nullcontext() if self._abort is None else self._abort.ending(driver.abort):
                await driver.run(stay=stay)
            result = self.result()
            self._observers.trace(lambda stamp: _ended(stamp, result))
            await self._observers.deliver()
        finally:
            self.over = True
            for subscription in self._subscriptions:
                subscription.end()

    def result(self) -> Done[O, C] | Idle[C] | Failed[C]:
        """Return what the run has come to by now."""
        result: Done[O, C] | Idle[C] | Failed[C] = settle(
            self._driver, self.budget.spent, partial(drained, self.threads, self.budget)
        )
        return result

    async def settled(self) -> None:
        """Wait until nothing is left to do."""
        await self._driver.settled()

    async def send(self, event: GivenEvent, event_id: str | None = None) -> None:
        """Deliver an event from outside; raises :class:`InputError` for what is none of the machine's."""
        delivered = read_event(self._machine, event)
        if event_id is not None:
            check_event_id(event_id)
        duplicate = event_id is not None and await self._driver.log.known(event_id)
        self._driver.send(Input(event=delivered, by="host"), event_id, duplicate=duplicate)

    def send_nowait(self, event: GivenEvent) -> None:
        """Deliver an event from outside, whose id does not matter."""
        self._driver.send(Input(event=read_event(self._machine, event), by="host"))

    async def taken(self) -> None:
        """Wait until what was sent is committed and durable, or the run has ended."""
        await self._driver.taken()

    def reply(self, replies: Mapping[str, object]) -> None:
        """Answer questions by their ids; raises :class:`InputError` for one that is not asked, or does not fit."""
        for given in answers(self._driver.snapshot, replies):
            self._driver.send(given)

    def is_telling_me(self) -> bool:
        """Whether the caller is an observer of this run, which waits for him."""
        return TOLD_BY.get() is self._observers

    def subscribe(self) -> Subscription:
        """Return the trace from now on."""
        subscription = Subscription(self._observers)
        self._subscriptions.append(subscription)
        if self.over:
            subscription.end()
        return subscription

    async def begin(self) -> None:
        """Take the first step, or stand where the snapshot or the thread stands; raises where that cannot be."""
        await self._begin()

    @property
    def snapshot(self) -> Snapshot[C] | None:
        """Where the machine stands; None where it could not start."""
        return self._driver.snapshot

    @property
    def usage(self) -> RunUsage:
        """What was spent by now."""
        return self.budget.spent


def open_run(
    machine: Machine[C, I, O],
    *,
    input: I | None = None,
    snapshot: Saved[C] | None = None,
    event: GivenEvent | None = None,
    event_id: str | None = None,
    replies: Mapping[str, object] | None = None,
    store: Store | None = None,
    thread_id: str | None = None,
    executors: Executors | None = None,
    actors: Mapping[str, object] | None = None,
    user_input: UserInput | None = None,
    decisions: Decisions = "concurrent",
    max_model_calls: int = 100,
    budget: BudgetScope = "run",
    abort: Abort | None = None,
    clock: Clock | None = None,
    timers: Timers = "wait",
    on_transition: OnTransition[C] | None = None,
    on_event: OnEvent | None = None,
    on_chunk: OnChunk | None = None,
    on_result: OnResult | None = None,
    on_trace: OnTrace | None = None,
    on: OnEmitted | None = None,
    execution_id: str | None = None,
    record_raw: bool = False,
    above: ToolScope | None = None,
) -> Run[C, I, O]:
    """Return a run that is ready to begin; raises for whatever can be known to be wrong now.

    ``above`` is the call that this run is, as a tool of another run; the rest is as for ``run_agent``.
    """
    checked_machine(machine)
    check_actors(actors)
    if actors:
        machine = machine.provide(actors)
    given = checked_executors(executors)
    check_arguments(
        decisions=decisions,
        max_model_calls=max_model_calls,
        budget=budget,
        timers=timers,
        abort=abort,
        clock=clock,
        execution_id=execution_id,
        store=store,
        thread_id=thread_id,
        event=event,
        event_id=event_id,
        replies=replies,
        observers={
            "on_transition": on_transition,
            "on_event": on_event,
            "on_chunk": on_chunk,
            "on_result": on_result,
            "on_trace": on_trace,
            "user_input": user_input,
        },
    )
    if snapshot is not None and input is not None:
        raise BindError(
            "a run starts from an input or goes on from a snapshot; give one of them", code="invalid-argument"
        )
    check_input(machine, input)
    bind.check(machine, given)
    time = SystemClock() if clock is None else clock
    observers = Observers(
        machine=machine,
        now=time.now,
        on_transition=on_transition,
        on_event=on_event,
        on_chunk=on_chunk,
        on_result=on_result,
        on_trace=on_trace,
        on=checked_on(on),
    )
    bind.check_heard(machine, observers.heard)
    delivered = None if event is None else read_event(machine, event)
    loaded = None if snapshot is None else loaded_snapshot(machine, snapshot)
    account = Budget(max_model_calls, None if above is None else above.budget)
    threads = Threads(late=account.book_late, above=None if above is None else above.threads)
    means = Means(
        executors=given,
        budget=account,
        threads=threads,
        observers=observers,
        user_input=user_input,
        record_raw=record_raw,
        one_at_a_time=decisions == "one-at-a-time",
    )
    start = Start(
        input=input,
        snapshot=loaded,
        store=store,
        thread_id=thread_id,
        execution_id=execution_id,
        asks=user_input is not None,
    )
    driver = Driver(machine, perform=Performer(means, time), clock=time, timers=timers, observers=observers)

    async def begin() -> None:
        opened = await open_log(machine, start, at=time.now())
        journal = opened.journal
        journal.made = lambda: account.spent.model_calls
        if budget == "thread" and store is not None:
            if journal.calls is None:
                journal.calls = get_usage(await store.read(thread_id or "")).model_calls
            account.before = journal.calls
        observers.run_id = opened.execution_id
        driver.begin(journal, opened.effects)
        resumed = opened.effects is None
        observers.trace(lambda stamp: RunStarted(stamp, resumed=resumed, input=input))
        if replies:
            run.reply(replies)
        if delivered is not None:
            await run.send(delivered, event_id)

    run = Run(machine, driver=driver, observers=observers, budget=account, threads=threads, abort=abort, begin=begin)
    return run


async def drained(threads: Threads, budget: Budget) -> RunUsage:
    """Wait for what was left to its threads, and return what was spent then."""
    await threads.drain()
    return budget.spent


async def alone(run: Callable[[], Awaitable[None]]) -> None:
    """Run the driver; an exception that ends it comes out as itself, not in a group of one."""
    try:
        await run()
    except BaseExceptionGroup as group:
        only = sole(group)
    else:
        return
    raise only


@asynccontextmanager
async def beside(run: Callable[[], Coroutine[object, object, None]], *, wait: bool) -> AsyncGenerator[None, None]:
    """Run the driver while a block is carried out; ``wait`` for its end after the block, or else cancel it then.

    What the block raises comes out as it is, and cancels the driver.
    """
    exits = Exits()

    async def carried() -> None:
        with exits.carried():
            await alone(run)

    try:
        with exits.around():
            async with anyio.create_task_group() as group:
                group.start_soon(carried)
                yield
                if not wait:
                    group.cancel_scope.cancel()
    except BaseExceptionGroup as several:
        only = sole(several)
    else:
        return
    raise only


def _ended(stamp: Stamp, result: Done[O, C] | Idle[C] | Failed[C]) -> RunEnded:
    match result:
        case Done():
            return RunEnded(stamp, status="done", usage=result.usage, output=result.output)
        case Idle():
            return RunEnded(stamp, status="idle", usage=result.usage)
        case Failed():
            error = result.error
            return RunEnded(
                stamp, status="failed", cause=result.cause, code=error.code, usage=result.usage, error=error
            )
