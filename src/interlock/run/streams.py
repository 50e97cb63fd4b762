"""Reading an answer that comes in pieces, from async generators and plain ones alike."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TypeAlias, cast

import anyio.lowlevel

from interlock.agent.contract import TextResult
from interlock.agent.text_requests import TextRequest
from interlock.agent.turns import checked_result
from interlock.errors import ExecutorError
from interlock.run.exits import sole
from interlock.run.functions import Entered, Threads, call, nobody

__all__ = ["read_stream"]

Show: TypeAlias = Callable[[str], Awaitable[None]]

_END = object()


async def read_stream(
    request: TextRequest,
    bound: Callable[[], object],
    *,
    threads: Threads,
    show: Show,
    entered: Entered = nobody,
    own_task: bool = False,
) -> TextResult:
    """Show each piece of text, and return the result that comes last.

    Arguments:
        request: what is asked, for errors.
        bound: the executor with its arguments: an async generator, or a plain one, which works in a thread.
        threads: as for :func:`interlock.run.functions.call`; so are ``entered`` and ``own_task``.
        entered: the same.
        own_task: the same.
        show: called with each piece and waited for, so that a slow reader slows the writer down.

    Raises :class:`ExecutorError` for a stream that does not end with a :class:`TextResult`.
    """
    opened = bound() if _is_generator(bound) else await call(bound, threads=threads, entered=entered, own_task=own_task)
    if not isinstance(opened, AsyncIterator | Iterator):
        raise ExecutorError(
            f"request {request.id!r}: the stream_text executor returned {type(opened).__name__}; make it an async "
            "generator: yield pieces of text and, last, a TextResult"
        )
    pieces = cast("AsyncIterator[object] | Iterator[object]", opened)
    read = functools.partial(_read, request, pieces, threads, show)
    return cast("TextResult", await call(read, threads=threads, entered=entered, own_task=own_task))


async def _read(
    request: TextRequest, pieces: AsyncIterator[object] | Iterator[object], threads: Threads, show: Show
) -> TextResult:
    last: object = None
    try:
        while (piece := await _next(pieces, threads)) is not _END:
            if isinstance(last, TextResult):
                raise ExecutorError(
                    f"request {request.id!r}: the stream_text executor goes on after its TextResult; yield that last"
                )
            last = piece
            if isinstance(piece, str):
                if piece:
                    await show(piece)
                # A generator that never waits for anything shall not keep everybody else waiting.
                await anyio.lowlevel.checkpoint()
            elif not isinstance(piece, TextResult):
                break
    finally:
        if (close := getattr(pieces, "aclose", None)) is not None:
            await _closed(close)
    return checked_result(request, last)


async def _closed(close: Callable[[], Awaitable[object]]) -> None:
    """Close a generator. One that is left inside a task group of its own says in a group that it was told to end."""
    try:
        await close()
    except BaseExceptionGroup as group:
        rest = group.split(GeneratorExit)[1]
        if rest is not None:
            raise sole(rest) from None


async def _next(pieces: AsyncIterator[object] | Iterator[object], threads: Threads) -> object:
    if isinstance(pieces, AsyncIterator):
        return await anext(pieces, _END)
    return await call(functools.partial(next, pieces, _END), threads=threads)


def _is_generator(bound: Callable[..., object]) -> bool:
    while isinstance(bound, functools.partial):
        bound = bound.func
    own = cast("Callable[..., object]", getattr(bound, "__call__"))  # noqa: B004, B009  # an object that is called
    return any(map(inspect.isasyncgenfunction, (bound, own)))
