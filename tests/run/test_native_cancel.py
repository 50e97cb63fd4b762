"""Tasks that asyncio itself ends: ``task.cancel()`` and ``asyncio.timeout`` mean what they mean everywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import interlock as il
from tests import guessing
from tests.run.writing import writer

MACHINE = guessing.game()
TEXT = writer("generate")
STREAM = writer("stream")


async def for_ever(request: object, info: object) -> Any:
    await asyncio.sleep(3600)


async def in_pieces(request: object, info: object) -> Any:
    yield "a"
    await asyncio.sleep(3600)


EXECUTORS = il.Executors(decide=for_ever, generate_text=for_ever, stream_text=in_pieces)


def asked(machine: Any) -> Any:
    return il.initial_agent_step(machine, at=0.0)


CALLS: dict[str, Callable[[], Awaitable[object]]] = {
    "resolve_decision": lambda: il.resolve_decision(asked(MACHINE).requests[0], for_ever),
    "execute a text": lambda: il.execute_agent_request(asked(TEXT).requests[0], EXECUTORS),
    "execute a stream": lambda: il.execute_agent_request(asked(STREAM).requests[0], EXECUTORS),
    "resolve a decision": lambda: il.resolve_agent_requests(MACHINE, asked(MACHINE), EXECUTORS),
    "resolve a text": lambda: il.resolve_agent_requests(TEXT, asked(TEXT), EXECUTORS),
    "run a decision": lambda: il.run_agent(MACHINE, executors=EXECUTORS),
    "run a text": lambda: il.run_agent(TEXT, executors=EXECUTORS),
    "run a stream": lambda: il.run_agent(STREAM, executors=EXECUTORS),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_timeout_is_a_timeout(name: str):
    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await CALLS[name]()
        assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]  # a task is running

    asyncio.run(main())


@pytest.mark.parametrize("name", CALLS)
def test_a_task_that_is_cancelled_is_cancelled(name: str):
    async def main() -> None:
        task = asyncio.ensure_future(CALLS[name]())
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())


def test_an_executor_may_give_its_tools_a_time_limit_of_its_own():
    async def slow(word: str) -> str:
        """Take a while."""
        await asyncio.sleep(3600)
        return word

    async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        assert info.call_tool is not None
        try:
            async with asyncio.timeout(0.02):
                await info.call_tool("slow", {"word": "x"})
        except TimeoutError:
            return il.TextResult(output="too slow")
        return il.TextResult(output="?")

    async def main() -> None:
        result = await il.run_agent(writer("generate", tools=[slow]), executors=il.Executors(generate_text=play))
        assert isinstance(result, il.Done), result
        assert result.output == "too slow"

    asyncio.run(main())


def test_an_executor_that_ends_its_own_task_has_made_a_mistake():
    async def stops(request: object, info: object) -> Any:
        asyncio.current_task().cancel()  # type: ignore[union-attr]  # a task is running
        await asyncio.sleep(1)

    async def main() -> None:
        machine = writer("generate", on_error=False)
        result = await il.run_agent(machine, executors=il.Executors(generate_text=stops))
        assert isinstance(result, il.Failed)
        assert result.error.code == "invalid-executor-result"
        assert "was cancelled, but not by the run" in result.error.message

    asyncio.run(main())
