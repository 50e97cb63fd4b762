"""Carrying out a text request: one executor call is one turn; tools that a turn calls are run, and it is asked again.

A turn is committed as a record before its tools run, each answer before the next one runs, and the last turn together
with the end of the request. So whatever is taken up elsewhere goes on after its last record, and nothing that was
answered is asked twice. Whether the text comes whole or in pieces is decided in one line; everything else is shared.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from interlock.agent.act import acted, is_event, task_of, task_then
from interlock.agent.contract import ExecutorInfo, Executors, StreamExecutor, TextExecutor, TextResult, ToolCall
from interlock.agent.messages import ToolResultOutput
from interlock.agent.text import GENERATE_TEXT, STREAM_TEXT, TextSpec
from interlock.agent.text_requests import TextMode, TextRequest
from interlock.agent.turn_outcome import turn_outcome
from interlock.agent.turns import (
    TextTask,
    answer_record,
    answered,
    checked_result,
    step_limit,
)
from interlock.errors import ModelCallLimitError, StepError
from interlock.run.clock import Clock
from interlock.run.exits import HOST_MISTAKES
from interlock.run.functions import Entered, Threads, call, nobody
from interlock.run.means import Means, Wanted
from interlock.run.noted import cost_of, noted_turn, spent
from interlock.run.origin import Origin
from interlock.run.streams import read_stream
from interlock.run.tool_scope import ToolScope
from interlock.run.toolbox import Toolbox, Turn, at_once, run_tool
from interlock.run.watching import Watched
from interlock.run.work import Proposal, Work
from interlock.statechart import UNSET, OwedInvocation

__all__ = ["Writer", "executor_of", "is_text", "mode_of", "turn_of"]


def is_text(src: str, logic: object) -> bool:
    """Whether an invocation is a text request."""
    return isinstance(logic, TextSpec) or src in (GENERATE_TEXT, STREAM_TEXT)


def mode_of(src: str, logic: object) -> TextMode:
    """Return whether a text request is written whole or in pieces."""
    if isinstance(logic, TextSpec):
        return logic.definition.mode
    return "stream" if src == STREAM_TEXT else "generate"


def executor_of(src: str, logic: object, executors: Executors) -> TextExecutor | StreamExecutor | None:
    """Return what carries out a text request: the executor that it was given itself, else the run's own."""
    if isinstance(logic, TextSpec) and logic.definition.executor is not None:
        return logic.definition.executor
    return executors.stream_text if mode_of(src, logic) == "stream" else executors.generate_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Carries out the text requests of one run."""

    means: Means
    clock: Clock

    async def __call__(self, work: Work, execute: TextExecutor | StreamExecutor) -> None:
        """Carry out one text request."""
        task = await _task(work)
        if task is None:
            return
        number = len(task.ledger.turns) + 1
        work.origin = Origin.of(work.owed, name=task.request.name, attempt=number)
        watched = Watched(self.means.observers, work, task.request.kind, task.request)
        with watched.watching():
            while task is not None:
                task = await self._step(work, execute, task, watched)

    async def _step(
        self, work: Work, execute: TextExecutor | StreamExecutor, task: TextTask, watched: Watched
    ) -> TextTask | None:
        """Run the tools that are called, take a turn, and return how it goes on; None where it has ended."""
        await watched.told()
        if task.request.steps_remaining <= 0 and not task.acts:
            await work.fail(step_limit(task.request, task.ledger.pending), told=watched.failed)
            return None
        if pending := task.ledger.pending:
            for number, asked in enumerate(pending, answered(task.ledger)):
                await self._answer(work, asked, task, watched, number=str(number))
                await watched.told()
            task = task_then(work.machine, work.owed, task)
        if task.request.steps_remaining <= 0:
            text = task.ledger.last_text
            await work.finish(text, told=partial(watched.ended, text))
            return None
        try:
            result = await self._turn(work, execute, task, watched)
        except HOST_MISTAKES:
            raise
        except Exception as error:  # noqa: BLE001  # whatever else it is, it goes to the invocation
            cost = cost_of(error)
            self.means.budget.book(cost)
            watched.spent(cost)
            usage = None if isinstance(error, ModelCallLimitError) else spent(task.request, cost)
            await work.fail(error, usage=usage, told=watched.failed)
            return None
        return await self._taken(work, task, result, watched)

    async def _taken(self, work: Work, task: TextTask, result: TextResult, watched: Watched) -> TextTask | None:
        """Propose a turn, the last one together with what the request comes to: no crash can fall between them."""
        outcome = turn_outcome(task, result)
        noted = {
            "usage": spent(task.request, result.usage),
            "metadata": noted_turn(result, raw=self.means.record_raw),
        }
        record: object = UNSET
        if outcome.record is not None:
            watched.turn(outcome.record, result)
            record = outcome.record.to_json()
        if outcome.goes_on:
            await work.record(record, **noted)
            return task_then(work.machine, work.owed, task)
        if outcome.error is not None:
            await work.fail(outcome.error, record=record, told=watched.failed, **noted)
            return None
        ended = partial(
            watched.ended,
            outcome.shown,
            raw=result.raw,
            finish_reason=result.finish_reason,
            reasoning=result.reasoning,
        )
        await work.finish(outcome.output, record=record, told=ended, **noted)
        return None

    async def _turn(
        self, work: Work, execute: TextExecutor | StreamExecutor, task: TextTask, watched: Watched
    ) -> TextResult:
        request = task.request
        number = len(task.ledger.turns) + 1
        work.origin = replace(work.origin, attempt=number)
        self.means.budget.admit(request.id)
        watched.called(request, number)

        async def answer(asked: ToolCall, number: str, turn: Turn) -> ToolResultOutput:
            return await self._answer(work, asked, task, watched, number=number, turn=turn)

        toolbox = Toolbox(work, task, number, answer)
        info = ExecutorInfo(
            run_id=self.means.execution_id,
            request_id=request.id,
            call_key=f"{self.means.execution_id}:{request.id}.{toolbox.records_before}",
            attempt=number,
            on_chunk=watched.chunk,
            call_tool=toolbox.call,
            abort=Wanted(work),
        )
        with toolbox.open():
            bound = partial(cast("Callable[..., object]", execute), request, info)
            threads = self.means.threads
            result = await turn_of(
                request, bound, threads=threads, show=watched.chunk, entered=work.entered, own_task=True
            )
        self.means.budget.book(result.usage)
        watched.spent(result.usage)
        return result

    async def _answer(
        self,
        work: Work,
        asked: ToolCall,
        task: TextTask,
        watched: Watched,
        *,
        number: str,
        turn: Turn | None = None,
    ) -> ToolResultOutput:
        """Answer one call, keep the answer, and return it.

        ``number`` names the call in its request, before and after a crash; ``turn`` is held while it is kept, for an
        executor that takes its turns by itself.
        """
        began = self.clock.now()
        own_task = turn is None
        turn = turn or at_once
        if task.acts and is_event(work.machine, asked.name):
            told: list[ToolResultOutput] = []

            def send(owed: OwedInvocation) -> Proposal:
                found = acted(work.machine, owed, asked)
                told.append(found.output)
                watched.tool(asked, found.output, self.clock.now() - began)
                return Proposal(input=found.input)

            async with turn():
                await work.propose(send)
                work.entered()
            return told[-1]
        scope = ToolScope(
            key=f"{self.means.execution_id}:{task.request.id}.{number}",
            run_id=self.means.execution_id,
            executors=self.means.executors,
            budget=self.means.budget,
            threads=self.means.threads,
            clock=self.clock,
        )
        output = await run_tool(
            asked,
            task.tools,
            scope=scope,
            threads=self.means.threads,
            entered=work.entered,
            own_task=own_task,
            offered=() if asked.name in task.tools else _offered(work, task),
        )
        watched.tool(asked, output, self.clock.now() - began)
        async with turn():
            await work.record(answer_record(asked, output).to_json())
            work.entered()
        return output


async def turn_of(
    request: TextRequest,
    bound: Callable[[], object],
    *,
    threads: Threads,
    show: Callable[[str], Awaitable[None]],
    entered: Entered = nobody,
    own_task: bool = False,
) -> TextResult:
    """Call an executor for one turn, whether its text comes whole or in pieces.

    Arguments:
        request: what is asked.
        bound: the executor with its arguments.
        threads: as for :func:`interlock.run.functions.call`; so are ``entered`` and ``own_task``.
        show: called with each piece, and waited for.
        entered: the same.
        own_task: the same.

    Raises what the executor raises, and :class:`ExecutorError` for what is no answer.
    """
    if request.mode == "stream":
        return await read_stream(request, bound, threads=threads, show=show, entered=entered, own_task=own_task)
    return checked_result(request, await call(bound, threads=threads, entered=entered, own_task=own_task))


def _offered(work: Work, task: TextTask) -> list[str]:
    """Return the names of what a model may call, where the machine stands now."""
    now = task_then(work.machine, work.owed, task) if task.acts else task
    return [tool.name for tool in now.request.tools]


async def _task(work: Work) -> TextTask | None:
    """Return the request as it stands by its records; None where there is none, which has been reported then."""
    try:
        return task_of(work.machine, work.owed, work.began)
    except StepError as error:
        await work.crash(error)
    except Exception as error:  # noqa: BLE001  # a refused input, or somebody else's records
        await work.fail(error)
    return None
