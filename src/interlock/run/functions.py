"""Calling other people's functions: async ones on the loop, plain ones in a thread, neither ever blocking the run."""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import cast

import anyio
import anyio.lowlevel
import anyio.to_thread

from interlock.errors import ExecutorError
from interlock.run.exits import Left, boxed

__all__ = ["INSIDE", "Entered", "Threads", "call", "is_async", "poster"]

Entered = Callable[[], None]
"""Called once the function is on its way, so that the next one can be started."""

INSIDE: ContextVar[bool] = ContextVar("interlock_inside_executor", default=False)
"""Whether this code was called by a run: an executor, a called function, or what these call."""


class Threads:
    """Where the plain functions of one run work: in ``most`` threads at a time, and more wait for their turn."""

    __slots__ = ("limiter", "turn")

    def __init__(self, most: int = 40) -> None:
        self.limiter = anyio.CapacityLimiter(most)
        self.turn = threading.Lock()


async def call(bound: Callable[[], object], *, entered: Entered, threads: Threads) -> object:
    """Call a function (with its arguments bound by ``functools.partial``) and return what it returns.

    Plain functions run in a thread, with the caller's context variables. A thread cannot be stopped: if the call is
    cancelled it is left to itself and its result is dropped.
    """
    try:
        if is_async(bound):
            entered()
            answer = bound()
        else:
            if threads.limiter.available_tokens < 1:
                entered()  # it will have to wait for a thread, and nobody shall wait with it
            enter = functools.partial(poster(), entered)
            box = await anyio.to_thread.run_sync(
                _in_thread, threads.turn, enter, bound, abandon_on_cancel=True, limiter=threads.limiter
            )
            answer = box.open()
        return await cast("Awaitable[object]", answer) if inspect.isawaitable(answer) else answer
    except anyio.get_cancelled_exc_class() as error:
        await anyio.lowlevel.checkpoint_if_cancelled()  # if it was us who cancelled, this is where it ends
        raise ExecutorError(f"{_name(bound)} was cancelled, but not by the run") from error


def _in_thread(turn: threading.Lock, enter: Callable[[], object], bound: Callable[[], object]) -> Left[object]:
    # The next thread is started once this one has reported, and reports once this one has let go of its turn: which,
    # unlike reporting, it does without letting any other thread run. So functions start in the order of their calls.
    with turn:
        enter()
    return boxed(bound)  # also what it returns: trio takes a bare awaitable from a thread for a mistake


def is_async(function: Callable[..., object]) -> bool:
    """Whether a function, with whatever arguments are bound to it, is awaited rather than run in a thread."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004  # how it is called, not whether


def _name(function: Callable[..., object]) -> str:
    # Never the arguments: they hold prompts, and errors are written to logs.
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__qualname__", type(function).__name__))


def poster() -> Callable[[Entered], object]:
    """Return how a thread tells the event loop that is running here something, without waiting for an answer."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return cast("Callable[[Entered], object]", trio.lowlevel.current_trio_token().run_sync_soon)
    return asyncio.get_running_loop().call_soon_threadsafe
