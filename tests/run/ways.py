"""One machine moved on in three ways: by hand, by the driver, by its log. With a gate that says whose turn it is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio
import anyio.lowlevel

import interlock as il
from interlock.agent.calls import CallSpec
from interlock.agent.decide import DecideSpec
from interlock.agent.text import TextSpec
from interlock.journal import LogEntry, MemoryStore
from interlock.run.perform import function_of
from interlock.statechart import OwedInvocation, owed

Pick: TypeAlias = Callable[[int], int]
"""Whose turn it is among so many."""

Interrupt: TypeAlias = tuple[int, Any]
"""An event that comes at the turn of a call, counted from 0, while all that is owed is under way."""

AnyMachine: TypeAlias = il.Machine[Any, Any, Any]


def first(_: int) -> int:
    return 0


class Gate:
    """Where all calls of a run wait. When all that is owed is here, one goes, and the rest wait for the next step.

    Open, until a machine is watched.
    """

    def __init__(self) -> None:
        self.machine: AnyMachine | None = None
        self.pick: Pick = first
        self.waiting: list[tuple[str, anyio.Event]] = []
        self.wanted: tuple[str, ...] = ()
        self.turns = 0
        self.hold = -1
        self.held = anyio.Event()

    def watch(self, machine: AnyMachine, pick: Pick, interrupt: Interrupt | None = None) -> None:
        """Let calls wait from now on; at the turn of an ``interrupt`` none goes, and ``held`` is set."""
        self.machine, self.pick, self.waiting = machine, pick, []
        self.turns, self.hold, self.held = 0, -1 if interrupt is None else interrupt[0], anyio.Event()

    async def __call__(self, key: str) -> None:
        if self.machine is None:
            return
        entry = (key, anyio.Event())
        self.waiting.append(entry)
        try:
            self.let_go()
            await entry[1].wait()
        finally:
            if entry in self.waiting:
                self.waiting.remove(entry)

    def owes(self, snapshot: il.Snapshot[Any], _: object = None) -> None:
        """Say where the machine stands; an observer of the run."""
        assert self.machine is not None
        asked = {request.id: request for request in il.get_agent_requests(self.machine, snapshot)}
        self.wanted = ()
        wanted: list[str] = []
        for item in owed(snapshot).invocations:
            request = asked.get(item.identity)
            if isinstance(request, il.ToolRequest):
                wanted.append(f"tool:{request.name}")
            elif request is not None:
                wanted.append(request.id)
            elif isinstance(item.logic, DecideSpec | TextSpec):
                return  # it comes to something by itself
            else:
                wanted.append(f"call:{item.src}")
        self.wanted = tuple(wanted)
        self.let_go()

    def let_go(self) -> None:
        here = [key for key, _ in self.waiting]
        if not self.wanted or any(here.count(key) < self.wanted.count(key) for key in self.wanted):
            return
        self.turns += 1
        if self.turns - 1 == self.hold:
            self.held.set()
            return
        turn = self.pick(len(self.wanted))
        key = self.wanted[turn]
        number = self.wanted[:turn].count(key)  # calls of the same name have come in the order in which they are owed
        entry = [item for item in self.waiting if item[0] == key][number]
        self.waiting.remove(entry)
        self.wanted = ()
        entry[1].set()


Decide: TypeAlias = Callable[[il.DecisionRequest], il.Choice]
Write: TypeAlias = Callable[[il.TextRequest], il.TextResult]


def executors(gate: Gate, decide: Decide | None = None, write: Write | None = None) -> il.Executors:
    """Return executors that answer by the request alone, when it is their turn."""

    async def decide_(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        await gate(request.id)
        assert decide is not None
        return decide(request)

    async def generate(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        await gate(request.id)
        assert write is not None
        return write(request)

    async def stream(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
        result = await generate(request, info)
        for word in str(result.output or "").split():
            yield word
        yield result

    return il.Executors(decide=decide_, generate_text=generate, stream_text=stream)


@dataclass(kw_only=True)
class Example:
    """A machine with all that answers it. ``build`` is given the gate that its functions and tools wait at."""

    build: Callable[[Gate], AnyMachine]
    decide: Decide | None = None
    write: Write | None = None
    events: tuple[Any, ...] = ()
    input: Any = None
    gated: bool = True
    """Whether all that it calls waits at the gate."""
    gate: Gate = field(default_factory=Gate)

    def __post_init__(self) -> None:
        self.machine = self.build(self.gate)
        self.executors = executors(self.gate, self.decide, self.write)


@dataclass(frozen=True)
class Way:
    """Where a machine has come to, and its log."""

    snapshot: il.Snapshot[Any]
    log: tuple[LogEntry, ...]


START = 100.0


async def by_hand(
    example: Example, pick: Pick = first, *, interrupt: Interrupt | None = None, restarted: bool = False
) -> Way:
    """Go the way of a host with a loop of its own; ``restarted``: one that starts anew after each step."""
    machine, clock, events = example.machine, il.FakeClock(START), list(example.events)
    example.gate.machine = None
    step: il.AgentStep[Any] = il.initial_agent_step(machine, example.input, at=clock.now(), execution_id="x")
    log, turn = [*step.entries], -1
    while not step.done:
        found = step.owed
        turn += bool(found.invocations)
        if found.invocations and interrupt is not None and turn == interrupt[0]:
            step = il.transition_agent_step(machine, step, interrupt[1], at=clock.now())
        elif found.invocations:
            step = await carried_out(example, step, found.invocations[pick(len(found.invocations))], at=clock.now())
        elif found.timers:
            clock.advance(max(0.0, found.timers[0].due - clock.now()))
            step = il.transition_agent_step(machine, step, found.timers[0], at=clock.now())
        elif events:
            step = il.transition_agent_step(machine, step, events.pop(0), at=clock.now())
        else:
            break
        log += step.entries
        if restarted:
            step = il.AgentStep.from_json(machine, json.dumps(step.to_json()))
    return Way(step.snapshot, tuple(log))


async def carried_out(example: Example, step: il.AgentStep[Any], item: OwedInvocation, *, at: float) -> Any:
    """Carry out one thing that is owed, and take the step that it leads to."""
    machine = example.machine
    request = next((request for request in step.requests if request.id == item.identity), None)
    try:
        if isinstance(request, il.DecisionRequest):
            assert example.decide is not None
            result: object = example.decide(request)
        elif request is not None:
            result = await il.execute_agent_request(request, example.executors, verbose=True, step=step)
        else:
            owner = step.head.machine_at(item.address)
            function = function_of(owner.sources[item.src] if owner else None)
            assert function is not None
            positional, named = CallSpec.arguments(item.input)
            result = function(*positional, **named)
            if hasattr(result, "__await__"):
                result = await result
    except il.ScriptExhaustedError:
        raise
    except Exception as error:
        return il.reject_agent_step(machine, step, request or item, error, at=at)
    return il.resolve_agent_step(machine, step, request or item, result, at=at)


async def by_session(example: Example, pick: Pick = first, *, interrupt: Interrupt | None = None) -> Way:
    """Go the way of a session that is kept open, and is sent what the machine waits for."""
    machine, gate, clock, events = example.machine, example.gate, il.FakeClock(START), list(example.events)
    gate.watch(machine, pick, interrupt)
    store = MemoryStore()
    session = il.AgentSession(
        machine,
        input=example.input,
        executors=example.executors,
        clock=clock,
        timers="return",
        on_transition=gate.owes,
        execution_id="x",
        store=store,
        thread_id="t",
    )

    async def interrupted() -> None:
        await gate.held.wait()
        assert interrupt is not None
        await session.send(interrupt[1])

    async with session, anyio.create_task_group() as group:
        group.start_soon(interrupted)
        while True:
            result = await session.settled()
            if not isinstance(result, il.Idle):
                break
            if result.timers:
                before = session.snapshot
                clock.advance(max(0.0, result.timers[0].due - clock.now()))
                while session.snapshot is before:
                    await anyio.lowlevel.checkpoint()
            elif events:
                await session.send(events.pop(0))
            else:
                break
        group.cancel_scope.cancel()
    assert result.snapshot is not None
    return Way(result.snapshot, tuple(await store.read("t")))


async def by_runs(example: Example, pick: Pick = first) -> Way:
    """Go the way of a host that calls ``run_agent`` again whenever something has happened, on a thread of a store."""
    machine, gate, clock, events = example.machine, example.gate, il.FakeClock(START), list(example.events)
    gate.watch(machine, pick)
    store = MemoryStore()
    options: dict[str, Any] = {"input": example.input}
    while True:
        result = await il.run_agent(
            machine,
            executors=example.executors,
            clock=clock,
            timers="return",
            on_transition=gate.owes,
            execution_id="x",
            store=store,
            thread_id="t",
            **options,
        )
        if not isinstance(result, il.Idle):
            break
        options = {}
        if result.timers:
            clock.advance(max(0.0, result.timers[0].due - clock.now()))
        elif events:
            options = {"event": events.pop(0)}
        else:
            break
    assert result.snapshot is not None
    return Way(result.snapshot, tuple(await store.read("t")))


def said(log: Sequence[LogEntry]) -> list[LogEntry]:
    """Return what a log says, without who took the run up."""
    return [entry for entry in log if not entry.is_resume]
