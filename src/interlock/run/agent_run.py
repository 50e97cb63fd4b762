"""``run_agent``: drive a machine until it has ended, waits for somebody, or has failed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import TypeVar, Unpack

import anyio
from anyio.from_thread import start_blocking_portal

from interlock.agent.contract import Executors
from interlock.errors import BindError
from interlock.journal import Store
from interlock.run.abort import Abort
from interlock.run.clock import Clock
from interlock.run.driver import Timers
from interlock.run.exits import LEAVING, Left
from interlock.run.functions import INSIDE
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
    RunOptions,
    Saved,
    UserInput,
)
from interlock.run.results import Done, Failed, Idle
from interlock.run.running import alone, open_run
from interlock.statechart import Machine

__all__ = ["run_agent", "run_agent_sync"]

C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output


async def run_agent(
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
) -> Done[O, C] | Idle[C] | Failed[C]:
    """Run a machine until nothing is left that it could do by itself.

    Arguments:
        machine: the machine.
        input: what a fresh run starts from; checked, defaults applied.
        snapshot: where to go on instead: a snapshot, or what its ``dump()`` or ``to_json()`` gave in any process.
        event: delivered once, as soon as the machine stands; ``result.ignored`` holds it if nothing waited for it.
        event_id: names the event, so that it counts once however often it is sent: if the log holds an entry with this
            id, nothing is applied again, and the result says so (``ignored`` and ``duplicate``).
        replies: replies to questions that the machine waits for (``pending_inputs`` of :class:`Idle`), by their ids.
        store: where the log is kept while it grows. Nothing is called before the entries that led to it are durable; a
            write that fails ends the run (:class:`Failed`, cause ``journal``), also where another worker has written to
            the thread meanwhile.
        thread_id: under which name. A thread that is there already is gone on with where its log ends: leave ``input``
            and ``snapshot`` out, or give the same again.
        executors: the model calls that the host can carry out.
        actors: functions or machines for sources that the machine declares.
        user_input: asks a person what ``agent.user_input`` wants to know: called with a :class:`UserInputRequest`, it
            returns the reply. Without it such a question does not keep the run going.
        decisions: ``"one-at-a-time"``: of several decisions and plans that wait together, in parallel states or child
            machines, the next is asked when what came of the one before is committed, so each sees what the others have
            done. Texts and functions go on meanwhile.
        budget: ``"thread"`` counts the calls that were made for the thread in earlier runs as well.
        max_model_calls: how many calls this run may make, retries, turns and child machines included. The one over the
            limit is not made; its invocation fails with the code ``max-model-calls``.
        abort: ends the run from outside, in an orderly way: it settles as :class:`Failed` with the cause ``aborted``.
        clock: what time it is (default: the computer's).
        timers: ``"wait"`` lets the clock run while timers are pending; ``"return"`` settles :class:`Idle` instead and
            lists them.
        on_transition: called with ``(snapshot, input)`` after each step that changed something (once for steps that are
            committed together); the first time, for a fresh run, with input None.
        on_event: called with a :class:`Committed` for everything that was committed.
        on_chunk: called with ``(text, request)`` for each piece of a text that is streamed. The stream goes on when it
            has returned; other streams do not wait for it.
        on_result: called with ``(request, output, raw)`` for each decision and text that a model has answered; ``raw``
            is the provider's own answer, as the executor handed it over.
        on_trace: called with each :class:`TraceEvent`: everything that happens, in one order.
        on: functions called with what the machine emits, by event class or type, ``"*"`` for all.
        execution_id: names this execution over its whole life, so that call keys stay the same on resume; made up if
            not given, and kept in the log.
        record_raw: whether the log keeps the providers' own answers as well, as far as they are JSON.

    Observers may be async, are waited for, and cannot change anything; what they raise is logged.

    Returns :class:`Done`, :class:`Idle` or :class:`Failed`. Raises, before anything runs, :class:`BindError`,
    :class:`InputError` for a refused input or event, :class:`SnapshotError`, and :class:`JournalError` for a thread
    that cannot be gone on with. Cancelling the task cancels all work and propagates. So do ``SystemExit`` and
    ``KeyboardInterrupt`` that a function raises, in a thread or not, and the host's own mistakes in there:
    :class:`BindError` and :class:`ScriptExhaustedError` never go to ``on_error``.
    """
    run = open_run(
        machine,
        input=input,
        snapshot=snapshot,
        event=event,
        event_id=event_id,
        replies=replies,
        store=store,
        thread_id=thread_id,
        executors=executors,
        actors=actors,
        user_input=user_input,
        decisions=decisions,
        max_model_calls=max_model_calls,
        budget=budget,
        abort=abort,
        clock=clock,
        timers=timers,
        on_transition=on_transition,
        on_event=on_event,
        on_chunk=on_chunk,
        on_result=on_result,
        on_trace=on_trace,
        on=on,
        execution_id=execution_id,
        record_raw=record_raw,
    )
    await run.begin()
    await alone(run.go)
    return run.result()


def run_agent_sync(
    machine: Machine[C, I, O],
    *,
    input: I | None = None,
    snapshot: Saved[C] | None = None,
    event: GivenEvent | None = None,
    **options: Unpack[RunOptions[C]],
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

    async def run() -> Left[Done[O, C] | Idle[C] | Failed[C]]:
        try:
            return Left(await run_agent(machine, input=input, snapshot=snapshot, event=event, **options))
        except LEAVING as error:
            return Left(error=error)  # the loop ends in order, and its threads with it

    if not _loop_is_running():
        return anyio.run(run).open()
    with start_blocking_portal() as portal:
        left = portal.call(run)
    return left.open()


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        trio = sys.modules.get("trio")
        return trio is not None and bool(trio.lowlevel.in_trio_run())
    return True
