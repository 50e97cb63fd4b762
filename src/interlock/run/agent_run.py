"""``run_agent``: drive a machine until it has ended, waits for somebody, or has failed."""

from __future__ import annotations

import asyncio
import functools
import sys
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar, cast

import anyio
from anyio.from_thread import start_blocking_portal

from interlock.agent.contract import Executors
from interlock.agent.events import Event
from interlock.errors import BindError
from interlock.run import bind
from interlock.run.border import read_event
from interlock.run.clock import Clock, SystemClock
from interlock.run.driver import Driver, Timers
from interlock.run.functions import INSIDE
from interlock.run.observers import Committed, Observers
from interlock.run.perform import Performer
from interlock.run.results import Done, Failed, Idle
from interlock.run.settle import settle
from interlock.run.usage import Budget
from interlock.statechart import Input, Machine, Snapshot

__all__ = ["run_agent", "run_agent_sync"]

C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output

Saved: TypeAlias = "Snapshot[C] | Mapping[str, object] | str | bytes"
GivenEvent: TypeAlias = Event | Mapping[str, object] | str
OnEvent: TypeAlias = Callable[[Committed], object]
OnTransition: TypeAlias = "Callable[[Snapshot[C], Input | None], object]"
OnEmitted: TypeAlias = Mapping[str | type[Event], Callable[[Any], object]]


async def run_agent(
    machine: Machine[C, I, O],
    *,
    input: I | None = None,
    snapshot: Saved[C] | None = None,
    event: GivenEvent | None = None,
    executors: Executors | None = None,
    actors: Mapping[str, object] | None = None,
    max_model_calls: int = 100,
    clock: Clock | None = None,
    timers: Timers = "wait",
    on_transition: OnTransition[C] | None = None,
    on_event: OnEvent | None = None,
    on: OnEmitted | None = None,
    execution_id: str | None = None,
) -> Done[O, C] | Idle[C] | Failed[C]:
    """Run a machine until nothing is left that it could do by itself.

    Arguments:
        machine: the machine.
        input: what a fresh run starts from; checked, defaults applied.
        snapshot: where to go on instead: a snapshot, or what its ``dump()`` or ``to_json()`` gave in any process.
        event: delivered once, as soon as the machine stands; ``result.ignored`` holds it if nothing waited for it.
        executors: the model calls that the host can carry out.
        actors: functions or machines for sources that the machine declares.
        max_model_calls: how many calls this run may make, retries and child machines included. The one over the limit
            is not made; its invocation fails with the code ``max-model-calls``.
        clock: what time it is (default: the computer's).
        timers: ``"wait"`` lets the clock run while timers are pending; ``"return"`` settles :class:`Idle` instead and
            lists them.
        on_transition: called with ``(snapshot, input)`` after each step that changed something; the first time, for a
            fresh run, with input None.
        on_event: called with a :class:`Committed` for everything that was committed.
        on: functions called with what the machine emits, by event class or type, ``"*"`` for all.
        execution_id: names this execution over its whole life, so that call keys stay the same on resume; made up if
            not given.

    Observers may be async, are waited for, and cannot change anything; what they raise is logged.

    Returns :class:`Done`, :class:`Idle` or :class:`Failed`. Raises, before anything runs, :class:`BindError`,
    :class:`InputError` for a refused input or event and :class:`SnapshotError`. Cancelling the task cancels all work
    and propagates.
    """
    if actors:
        machine = machine.provide(actors)
    given = _checked(executors, max_model_calls, timers)
    if snapshot is not None and input is not None:
        raise BindError(
            "a run starts from an input or goes on from a snapshot; give one of them", code="invalid-argument"
        )
    bind.check(machine, given)
    observers = Observers(on_transition=on_transition, on_event=on_event, on=on)
    delivered = None if event is None else read_event(machine, event)
    budget = Budget(max_model_calls)
    driver = Driver(
        machine,
        perform=Performer(given, budget, execution_id or uuid.uuid4().hex),
        clock=SystemClock() if clock is None else clock,
        timers=timers,
        observers=observers,
    )
    if snapshot is None:
        driver.start(input)
    else:
        driver.resume(_loaded(machine, snapshot))
    if delivered is not None:
        driver.send(delivered)
    await _alone(driver.run)
    settled: Done[O, C] | Idle[C] | Failed[C] = settle(driver, budget.spent)
    return settled


def run_agent_sync(
    machine: Machine[C, I, O],
    *,
    input: I | None = None,
    snapshot: Saved[C] | None = None,
    event: GivenEvent | None = None,
    executors: Executors | None = None,
    actors: Mapping[str, object] | None = None,
    max_model_calls: int = 100,
    clock: Clock | None = None,
    timers: Timers = "wait",
    on_transition: OnTransition[C] | None = None,
    on_event: OnEvent | None = None,
    on: OnEmitted | None = None,
    execution_id: str | None = None,
) -> Done[O, C] | Idle[C] | Failed[C]:
    """Run :func:`run_agent` to its end, for scripts. Arguments and result are the same.

    Where an event loop is running already (a notebook), the run gets a thread of its own and this call blocks until it
    has settled. Inside an executor or a called function it raises :class:`BindError` (``run-inside-executor``): there,
    await :func:`run_agent`.
    """
    if INSIDE.get():
        raise BindError(
            f"run_agent_sync(machine {machine.id!r}) was called by an executor or a function of another run, which it "
            "would block; make that function async and await run_agent(...), or invoke the machine as a child",
            code="run-inside-executor",
        )
    run = functools.partial(
        run_agent,
        machine,
        input=input,
        snapshot=snapshot,
        event=event,
        executors=executors,
        actors=actors,
        max_model_calls=max_model_calls,
        clock=clock,
        timers=timers,
        on_transition=on_transition,
        on_event=on_event,
        on=on,
        execution_id=execution_id,
    )
    if not _loop_is_running():
        return anyio.run(run)
    with start_blocking_portal() as portal:
        return portal.call(run)


def _checked(executors: Executors | None, max_model_calls: int, timers: str) -> Executors:
    if executors is None:
        executors = Executors()
    elif not isinstance(cast("object", executors), Executors):
        raise BindError(
            f"executors={executors!r} is {type(executors).__name__}; wrap the functions: Executors(decide=...)",
            code="invalid-argument",
        )
    most = cast("object", max_model_calls)
    if isinstance(most, bool) or not isinstance(most, int) or most < 0:
        raise BindError(f"max_model_calls={most!r}; give a whole number of 0 or more", code="invalid-argument")
    if timers not in ("wait", "return"):
        raise BindError(f"timers={timers!r}; give 'wait' or 'return'", code="invalid-argument")
    return executors


def _loaded(machine: Machine[C, Any, Any], saved: Saved[C]) -> Snapshot[C]:
    if not isinstance(saved, Snapshot):
        return machine.load(saved)
    # A live snapshot knows the functions of the machine that made it; another machine's goes through its saved form.
    return saved if saved.table is machine.table else machine.load(saved.dump())


async def _alone(run: Callable[[], Awaitable[None]]) -> None:
    """Run the driver; an exception that ends it comes out as itself, not in a group of one."""
    try:
        await run()
    except BaseExceptionGroup as group:
        sole: BaseException = group
        while isinstance(sole, BaseExceptionGroup):
            inside = cast("BaseExceptionGroup[BaseException]", sole).exceptions  # pyright: ignore[reportUnnecessaryCast]
            if len(inside) != 1:
                raise
            (sole,) = inside
    else:
        return
    raise sole


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        trio = sys.modules.get("trio")
        return trio is not None and bool(trio.lowlevel.in_trio_run())
    return True
