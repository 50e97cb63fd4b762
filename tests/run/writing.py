"""Machines that have something written, and executors that write it: whole, or in pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from pydantic import BaseModel

import interlock as il


class Letter(BaseModel, frozen=True):
    subject: str
    lines: tuple[str, ...] = ()


class Context(BaseModel, frozen=True):
    topic: str = "rain"
    text: str | None = None
    letter: Letter | None = None
    failure: str | None = None
    said: str | None = None


class Approve(il.Event, actor="human"):
    """Send it."""


agent = il.setup_agent(context=Context, events=[Approve])

Play = Callable[[il.TextRequest, il.ExecutorInfo], Awaitable[il.TextResult]]


def writer(mode: str, *, output: Any = str, on_error: bool = True, **fields: Any) -> il.Machine[Context, Any, Any]:
    """Write one text or letter, and say what came of it."""
    word = agent.stream_text if mode == "stream" else agent.generate_text
    words: dict[str, Any] = {"model": "quick", "prompt": lambda c: f"On {c.topic}", "name": "draft"} | fields
    failed: dict[str, Any] = (
        {"on_error": lambda c, error: agent.goto("failed", failure=error.code, said=error.message)} if on_error else {}
    )
    return agent.machine(
        "writer",
        context=Context(),
        initial="writing",
        states={
            "writing": agent.state(
                invoke=word(
                    output=output,
                    on_done=lambda c, out: agent.goto("over", **{"text" if isinstance(out, str) else "letter": out}),
                    **failed,
                    **words,
                )
            ),
            "over": agent.final(output=lambda c: c.text if c.letter is None else c.letter.model_dump(mode="json")),
            "failed": agent.final(output=lambda c: {"failed": c.failure, "said": c.said}),
        },
    )


def executors(mode: str, play: Play) -> il.Executors:
    """Return the executors of a mode that answer as ``play`` does; streams show the text word by word."""

    async def stream(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
        result = await play(request, info)
        if isinstance(result, il.TextResult) and isinstance(result.output, str):
            for word in result.output.split(" "):
                yield word
        yield result

    return il.Executors(stream_text=stream) if mode == "stream" else il.Executors(generate_text=play)


def scripted(*turns: Any, seen: list[il.TextRequest] | None = None) -> Play:
    """Answer these turns in order, and note what was asked."""
    left = list(turns)

    async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        if seen is not None:
            seen.append(request)
        turn = left.pop(0)
        if isinstance(turn, BaseException):
            raise turn
        return turn(request) if callable(turn) else turn

    return play


def calls(*names: str, **arguments: Any) -> il.TextResult:
    """A turn that calls tools of these names, all with the same arguments."""
    return il.TextResult(
        tool_calls=tuple(il.ToolCall(f"c{number}", name, arguments) for number, name in enumerate(names)),
        finish_reason="tool-calls",
    )


async def look_up(word: str) -> str:
    """Look a word up."""
    if word == "missing":
        raise KeyError(word)
    return f"{word}: a thing"


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b
