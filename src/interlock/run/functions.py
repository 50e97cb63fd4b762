"""Calling other people's functions: async ones on the loop, plain ones in a thread, neither ever blocking the run."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, TypeVar, cast

import anyio
import anyio.from_thread
import anyio.to_thread

__all__ = ["INSIDE", "THREADS", "Entered", "call"]

T = TypeVar("T")

Entered = Callable[[], None]
"""Called once the function is on its way, so that the next one can be started."""

THREADS = 40
"""How many plain functions of one run work at a time; more wait for their turn."""

INSIDE: ContextVar[bool] = ContextVar("interlock_inside_executor", default=False)
"""Whether this code was called by a run: an executor, a called function, or what these call."""


async def call(
    function: Callable[..., T | Awaitable[T]],
    *args: Any,  # noqa: ANN401  # what the function takes is between it and its caller
    entered: Entered,
    limiter: anyio.CapacityLimiter,
    **keywords: Any,  # noqa: ANN401
) -> T:
    """Call a function and return what it returns.

    Plain functions run in a thread of ``limiter``, with the caller's context variables. A thread cannot be stopped:
    if the call is cancelled it is left to itself and its result is dropped.
    """
    if _is_async(function):
        entered()
        return await cast("Awaitable[T]", function(*args, **keywords))
    if limiter.available_tokens < 1:
        entered()  # it will have to wait for a thread, and nobody shall wait with it
    answer = await anyio.to_thread.run_sync(
        functools.partial(_in_thread, entered, function, args, keywords), abandon_on_cancel=True, limiter=limiter
    )
    return await cast("Awaitable[T]", answer) if inspect.isawaitable(answer) else cast("T", answer)


def _in_thread(entered: Entered, function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:  # noqa: ANN401
    # Threads start in the order in which they are asked for only if each reports before the next is asked for.
    anyio.from_thread.run_sync(entered)
    return function(*args, **keywords)


def _is_async(function: Callable[..., Any]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
