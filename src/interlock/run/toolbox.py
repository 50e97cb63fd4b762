"""Running the tools that a model calls, whoever takes the turns: the driver, or an executor with a loop of its own."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TypeAlias

import anyio
from pydantic_core import to_json

from interlock.agent.contract import ToolCall
from interlock.agent.messages import ToolResultOutput
from interlock.agent.plain import plain
from interlock.agent.plain_answers import plain_text
from interlock.agent.reasons import is_a, short
from interlock.agent.tools import Tool, bound_call, tool_failure
from interlock.agent.turns import AnswerRecord, TextTask
from interlock.errors import ExecutorError
from interlock.run.exits import HOST_MISTAKES
from interlock.run.functions import Entered, Threads, call, nobody
from interlock.run.tool_scope import SCOPE, ToolScope
from interlock.run.work import Work

__all__ = ["Toolbox", "Turn", "at_once", "run_tool"]

Turn: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]
"""In which one answer is kept at a time."""


@asynccontextmanager
async def at_once() -> AsyncGenerator[None, None]:
    """The turn of those who are the only ones."""
    yield


async def run_tool(
    asked: ToolCall,
    tools: Mapping[str, Tool],
    *,
    scope: ToolScope,
    threads: Threads,
    entered: Entered = nobody,
    own_task: bool = False,
    offered: Iterable[str] = (),
) -> ToolResultOutput:
    """Call a tool, and return what the model is told: also of a tool that is not there, does not fit, or raises."""
    bound = bound_call(asked, tools, offered=offered)
    if not callable(bound):
        return bound
    before = SCOPE.set(scope)
    try:
        value = await call(bound, threads=threads, entered=entered, own_task=own_task)
        return tools[asked.name].answer(value)
    except HOST_MISTAKES:
        raise
    except Exception as error:  # noqa: BLE001  # whatever else it is, the model is told
        return tool_failure(error)
    finally:
        SCOPE.reset(before)


class Toolbox:
    """The tools of a request for the time of one executor call, for executors that do their turns by themselves.

    Each answer is kept as a record before the executor gets it. If the same executor call has to be made again, in
    another process, what it asks in the same words is answered from those records, and the tool is not run again.
    """

    def __init__(
        self,
        work: Work,
        task: TextTask,
        turn: int,
        answer: Callable[[ToolCall, str, Turn], Awaitable[ToolResultOutput]],
    ) -> None:
        self._work = work
        self._answer = answer
        self._id = f"call_tool:{turn}:"
        self._open = False
        self._running = 0
        self._records = anyio.Lock()  # one proposal at a time, however many tools run at once
        of_model = {asked.id for record in task.ledger.turns for asked in record.calls}
        own = [record for record in task.ledger.answers if record.call.id not in of_model]
        self.records_before = len(task.ledger.turns) + len(task.ledger.answers) - len(own)
        """Records that were there when this call was first made: the same number whenever it is made again."""
        self._kept: list[AnswerRecord] = [record for record in own if record.call.id.startswith(self._id)]
        self._count = len(self._kept)
        self._asked: Counter[str] = Counter()

    @contextmanager
    def open(self) -> Generator[None, None, None]:
        """Take calls until the executor has answered."""
        self._open = True
        try:
            yield
        finally:
            self._open = False
        if self._running:
            raise ExecutorError(
                f"request {self._work.owed.identity!r}: the executor has answered while a tool that it called with "
                "info.call_tool still runs; await all of its calls first"
            )

    @asynccontextmanager
    async def _turn(self) -> AsyncGenerator[None, None]:
        async with self._records:
            self._check("a tool of info.call_tool ended")
            yield

    def _check(self, what: str) -> None:
        if not self._open:
            raise ExecutorError(
                f"request {self._work.owed.identity!r}: {what} after the executor has answered; await all of its calls "
                "first"
            )

    async def call(self, name: str, arguments: object) -> ToolResultOutput:
        """Run a tool and return what the model is to be told. It never raises for what the tool, or the model, did."""
        if not is_a(name, str):
            raise ExecutorError(
                f"request {self._work.owed.identity!r}: info.call_tool({short(name)}, ...): a tool's name is a text"
            )
        name = plain_text(name)
        self._check(f"info.call_tool({short(name)})")
        try:
            given = plain(arguments)
        except ValueError:
            # No tool takes a text for its arguments: the model will be told so.
            given = plain_text(short(arguments, 200))
        words = hashlib.sha256(to_json([name, given])).hexdigest()[:16]
        self._asked[words] += 1
        for record in self._kept:
            if (record.call.name, record.call.input) == (name, given):
                self._kept.remove(record)
                return record.output
        self._count += 1
        asked = ToolCall(f"{self._id}{self._count}", name, given)
        # By its words, and which time they are said: that stays, in whatever order several tools ran before a crash.
        self._running += 1
        try:
            return await self._answer(asked, f"{self.records_before}.{words}.{self._asked[words]}", self._turn)
        finally:
            self._running -= 1
