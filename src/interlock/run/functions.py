"""Calling other people's functions: async ones on the loop, plain ones in a thread, neither ever blocking the run."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import cast

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from interlock.errors import ExecutorError

__all__ = ["INSIDE", "THREADS", "Entered", "call"]

Entered = Callable[[], None]
"""Called once the function is on its way, so that the next one can be started."""

THREADS = 40
"""How many plain functions of one run work at a time; more wait for their turn."""

INSIDE: ContextVar[bool] = ContextVar("interlock_inside_executor", default=False)
"""Whether this code was called by a run: an executor, a called function, or what these call."""


async def call(bound: Callable[[], object], *, entered: Entered, limiter: anyio.CapacityLimiter) -> object:
    """Call a function (with its arguments bound by ``functools.partial``) and return what it returns.

    Plain functions run in a thread of ``limiter``, with the caller's context variables. A thread cannot be stopped:
    if the call is cancelled it is left to itself and its result is dropped.
    """
    try:
        if _is_async(bound):
            entered()
            answer = bound()
        else:
            if limiter.available_tokens < 1:
                entered()  # it will have to wait for a thread, and nobody shall wait with it
            (answer,) = await anyio.to_thread.run_sync(
                _in_thread, entered, bound, abandon_on_cancel=True, limiter=limiter
            )
        return await cast("Awaitable[object]", answer) if inspect.isawaitable(answer) else answer
    except anyio.get_cancelled_exc_class() as error:
        await anyio.lowlevel.checkpoint_if_cancelled()  # if it was us who cancelled, this is where it ends
        raise ExecutorError(f"{_name(bound)} was cancelled, but not by the run") from error


def _in_thread(entered: Entered, bound: Callable[[], object]) -> tuple[object]:
    # Threads start in the order in which they are asked for only if each reports before the next is asked for.
    anyio.from_thread.run_sync(entered)
    return (bound(),)  # wrapped: trio takes a bare awaitable from a thread for a mistake


def _is_async(function: Callable[..., object]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _name(function: Callable[..., object]) -> str:
    # Never the arguments: they hold prompts, and errors are written to logs.
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__qualname__", type(function).__name__))
