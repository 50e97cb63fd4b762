"""Runs with hostile models: live, in a session, and step by step; each checks the laws and counts what was answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

import interlock as il
from interlock.statechart import owed

from .laws import check_error, check_log, check_request, check_result, names_of
from .machines import RINGS, made
from .outputs import Said, answer, grown

COUNTED = {"answers": 0}
"""How many hostile answers models have given in this process: whatever is not ``good``."""


@dataclass
class Model:
    """Executors that answer by a script, again and again, and look at what they are asked."""

    script: Sequence[Said]
    calls: int = 0
    faults: list[BaseException] = field(default_factory=list)
    raised: set[str] = field(default_factory=lambda: {"PrickError", "UnspeakableError"})
    meddle: Callable[[Any], None] | None = None
    late: Any = None

    def next(self, request: Any) -> Said:
        try:
            check_request(request)
        except Exception as error:
            self.faults.append(error)
        said = self.script[self.calls % len(self.script)]
        self.calls += 1
        COUNTED["answers"] += not said.good
        return said

    def say(self, said: Said, request: Any) -> Any:
        try:
            return answer(said, request)
        except BaseException as error:
            self.raised.update(names_of(error))
            if isinstance(error, StopIteration | StopAsyncIteration):
                self.raised.add("RuntimeError")
            raise

    async def decide(self, request: Any, info: Any) -> Any:
        said = self.next(request)
        if said.meddles is not None and self.meddle is not None:
            self.meddle(said.meddles)
        return self.say(said, request)

    def decide_plainly(self, request: Any, info: Any) -> Any:
        return self.say(self.next(request), request)

    async def write(self, request: Any, info: Any) -> Any:
        said = self.next(request)
        if said.meddles is not None and self.meddle is not None:
            self.meddle(said.meddles)
        if self.late is not None:
            try:
                await self.late("look", {"word": "too late"})
            except il.ExecutorError:
                pass
            else:
                self.faults.append(AssertionError("a tool was called after the answer"))
        if info.call_tool is not None:
            for name, arguments in said.tools:
                await info.call_tool(grown(name, request), grown(arguments, request))
        self.late = info.call_tool
        return self.say(said, request)

    async def stream(self, request: Any, info: Any) -> Any:
        result = await self.write(request, info)
        yield "piece \ud800"
        yield result

    def executors(self, *, plain: bool = False) -> il.Executors:
        decide = self.decide_plainly if plain else self.decide
        return il.Executors(decide=decide, generate_text=self.write, stream_text=self.stream)

    def check(self, most: int) -> None:
        if self.faults:
            raise self.faults[0]
        assert self.calls <= most, f"{self.calls} calls, where {most} are the most"


def live(name: str, script: Sequence[Said], *, backend: str = "asyncio", plain: bool = False, limit: int = 100) -> Any:
    """Run a machine until it settles."""
    machine, model = made(name), Model(script)

    async def go() -> Any:
        return await il.run_agent(
            machine,
            executors=model.executors(plain=plain),
            clock=il.FakeClock(0.0),
            max_model_calls=limit,
            execution_id="x",
            record_raw=True,
        )

    result = anyio.run(go, backend=backend)
    model.check(min(RINGS[name].most, limit))
    check_result(machine, result, model.raised)
    _check_handled(name, result)
    return result


def _check_handled(name: str, result: Any) -> None:
    """What a model does goes to ``on_error``; where that is handled, it never brings the run down."""
    assert name == "stubborn" or not isinstance(result, il.Failed), result.error


def session(name: str, script: Sequence[Said], *, backend: str = "asyncio", store: Any = None) -> Any:
    """Keep a session open, whose machine is sent events by somebody else while the model thinks."""
    machine, model = made(name), Model(script)
    kept = il.MemoryStore()

    async def go() -> Any:
        opened = il.AgentSession(
            machine,
            executors=model.executors(),
            clock=il.FakeClock(0.0),
            execution_id="x",
            store=kept,
            thread_id="t",
            max_model_calls=40,
        )
        async with opened:
            model.meddle = opened.send_nowait
            result = await opened.settled()
            if isinstance(result, il.Idle):
                await opened.send({"type": "Approve", "by": "Ada"})
                result = await opened.settled()
        return result, await kept.read("t")

    result, log = anyio.run(go, backend=backend)
    model.check(40)  # each event from outside may take the machine to where it asks once more
    check_result(machine, result, model.raised)
    _check_handled(name, result)
    check_log(machine, list(log), result.snapshot, model.raised)
    return result


def steps(name: str, script: Sequence[Said], *, saved: bool = False) -> Any:
    """Go step by step, with the answers as results; what a step refuses is reported as the model's failure."""
    machine, model = made(name), Model(script)
    step: Any = il.initial_agent_step(machine, at=0.0, execution_id="x")
    log = [*step.entries]
    old: Any = None
    tools = 0
    while step.requests and model.calls <= RINGS[name].most and tools < 60:
        request = step.requests[0]
        if isinstance(request, il.ToolRequest):
            tools += 1
        said = model.next(request)
        if isinstance(request, il.ToolRequest):
            model.calls -= 1
        if old is not None and old is not request:
            still = _resolved(machine, step, old, said, model)  # a result of a call that was answered before
            assert still is None or still.snapshot == step.snapshot
        before = json.dumps(step.to_json())
        moved = _resolved(machine, step, request, said, model)
        assert json.dumps(step.to_json()) == before
        if moved is None:
            moved = il.reject_agent_step(machine, step, request, il.ExecutorError("no result"), at=0.0)
        old, step = request, moved
        log += step.entries
        if saved:
            step = il.AgentStep.from_json(machine, json.dumps(step.to_json()))
    model.check(RINGS[name].most)
    assert tools < 60
    if step.snapshot.status == "error":
        assert name == "stubborn"
        check_error(step.snapshot.error, model.raised)
    assert step.done or not owed(step.snapshot).invocations
    check_log(machine, log, step.snapshot, model.raised)
    return step


def _resolved(machine: Any, step: Any, request: Any, said: Said, model: Model) -> Any:
    try:
        result = model.say(said, request)
    except (Exception, asyncio.CancelledError) as error:
        return il.reject_agent_step(machine, step, request, error, at=0.0)
    try:
        return il.resolve_agent_step(machine, step, request, result, at=0.0)
    except il.InterlockError as error:
        if error.code not in ("invalid-input", "invalid-executor-result"):
            raise
        return None
