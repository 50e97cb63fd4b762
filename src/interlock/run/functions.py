"""Calling other people's functions: async ones on the loop, plain ones in a thread, neither ever blocking the run."""

from __future__ import annotations

import asyncio
import contextlib
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

__all__ = ["INSIDE", "Entered", "Threads", "call", "is_async", "is_cancelling", "nobody", "poster", "together"]

Entered = Callable[[], None]
"""Called once the function is on its way, so that the next one can be started."""

INSIDE: ContextVar[bool] = ContextVar("interlock_inside_executor", default=False)
"""Whether this code was called by a run: an executor, a called function, or what these call."""


class Threads:
    """Where the plain functions of one run work: in ``most`` threads at a time, and more wait for their turn.

    A thread cannot be stopped. ``late`` is called with what a function returns that nobody waits for any more: on the
    event loop, if that still runs. ``above`` are the threads of the run whose tool this run is: who waits for those
    waits for these as well.
    """

    __slots__ = ("_above", "_late", "_left", "_quiet", "limiter", "turn")

    def __init__(
        self, most: int = 40, *, late: Callable[[object], None] | None = None, above: Threads | None = None
    ) -> None:
        self._above = above
        self.limiter = anyio.CapacityLimiter(most)
        self.turn = threading.Lock()
        self._late = late
        self._left = 0
        self._quiet: anyio.Event | None = None

    def leave(self, function: _Left) -> None:
        """Leave a function to itself."""
        self.count(1)
        post = poster()

        def ended(box: Left[object]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody can hear of it
                post(functools.partial(self._ended, box))

        function.when_ended(ended)

    def _ended(self, box: Left[object]) -> None:
        if self._late is not None and box.returned:
            self._late(box.open())
        self.count(-1)

    def count(self, more: int) -> None:
        """Count functions that were left to themselves, here and above."""
        self._left += more
        if not self._left and self._quiet is not None:
            self._quiet.set()
        if self._above is not None:
            self._above.count(more)

    async def drain(self) -> None:
        """Wait until no function is left that was left to itself."""
        while self._left:
            if self._quiet is None or self._quiet.is_set():
                self._quiet = anyio.Event()
            await self._quiet.wait()


class _Left:
    """A function in a thread, whose end somebody may come to want to know of while it runs."""

    __slots__ = ("_box", "_lock", "_told", "began")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._box: Left[object] | None = None
        self._told: Callable[[Left[object]], None] | None = None
        self.began = False

    def ended(self, box: Left[object]) -> None:
        with self._lock:
            self._box, told = box, self._told
        if told is not None:
            told(box)

    def when_ended(self, told: Callable[[Left[object]], None]) -> None:
        with self._lock:
            self._told, box = told, self._box
        if box is not None:
            told(box)


def nobody() -> None:
    """Where nobody waits for a function to be on its way."""


async def call(
    bound: Callable[[], object], *, threads: Threads, entered: Entered = nobody, own_task: bool = False
) -> object:
    """Call a function (with its arguments bound by ``functools.partial``) and return what it returns.

    Plain functions run in a thread, with the caller's context variables. A thread cannot be stopped: if the call is
    cancelled it is left to itself and its result is dropped.

    ``own_task``: whether the task is the run's own, which nobody outside holds: then a function that ends it has made a
    mistake. In any other task it is the caller's business, an ``asyncio.timeout`` around the call for example.
    """
    try:
        if is_async(bound):
            entered()
            answer = bound()
        else:
            if threads.limiter.available_tokens < 1:
                entered()  # it will have to wait for a thread, and nobody shall wait with it
            enter = functools.partial(poster(), entered)
            running = _Left()
            began = functools.partial(_in_thread, threads.turn, enter, bound, running)
            try:
                box = await anyio.to_thread.run_sync(began, abandon_on_cancel=True, limiter=threads.limiter)
            except anyio.get_cancelled_exc_class():
                if running.began:
                    threads.leave(running)
                raise
            answer = box.open()
        return await cast("Awaitable[object]", answer) if inspect.isawaitable(answer) else answer
    except (anyio.get_cancelled_exc_class(), asyncio.CancelledError) as error:  # also on trio: of a loop in there
        await anyio.lowlevel.checkpoint_if_cancelled()  # if it was us who cancelled, this is where it ends
        if not own_task and is_cancelling():
            raise
        raise ExecutorError(f"{_name(bound)} was cancelled, but not by the run") from error


def is_cancelling() -> bool:
    """Whether the task that is running was told to end by asyncio's own means, such as ``task.cancel()``."""
    if in_trio():
        return False
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _in_thread(
    turn: threading.Lock, enter: Callable[[], object], bound: Callable[[], object], running: _Left
) -> Left[object]:
    running.began = True
    # The next thread is started once this one has reported, and reports once this one has let go of its turn: which,
    # unlike reporting, it does without letting any other thread run. So functions start in the order of their calls.
    with turn:
        enter()
    box = boxed(bound)  # also what it returns: trio takes a bare awaitable from a thread for a mistake
    running.ended(box)
    return box


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


async def together(count: int, work: Callable[[int], Awaitable[None]]) -> None:
    """Do several pieces of work at once, each begun once the one before it has: in one order on any event loop."""
    begun = [anyio.Event() for _ in range(count)]

    async def begin(number: int) -> None:
        if number:
            await begun[number - 1].wait()
        begun[number].set()
        await work(number)

    async with anyio.create_task_group() as group:
        for number in range(count):
            group.start_soon(begin, number)


def in_trio() -> bool:
    """Whether it is trio that runs here."""
    trio = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_run())


def poster() -> Callable[[Entered], object]:
    """Return how a thread tells the event loop that is running here something, without waiting for an answer."""
    if in_trio():
        trio = sys.modules["trio"]
        return cast("Callable[[Entered], object]", trio.lowlevel.current_trio_token().run_sync_soon)
    return asyncio.get_running_loop().call_soon_threadsafe
