"""Those who look on: told what happens, in order, and unable to change anything, even by raising."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias

import anyio
import anyio.lowlevel

from interlock.errors import BindError
from interlock.run.exits import Exits
from interlock.run.functions import is_cancelling
from interlock.run.traces import EventEmitted, MakeTrace, Stamp, TraceEvent, Transition
from interlock.statechart import Effect, Emit, Input, Log, Machine, Send, Snapshot

__all__ = ["Committed", "Observer", "Observers"]

Observer: TypeAlias = Callable[..., object]
"""A plain or async function; what it gives back is not looked at, what it raises is logged."""

TOLD_BY: ContextVar[object] = ContextVar("interlock_told_by", default=None)
"""The observers of the run that is telling this code something, and waits for it meanwhile."""

_log = logging.getLogger("interlock.run")
_machine_log = logging.getLogger("interlock.machine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """One thing that has happened to the running system: what it was told, when, and as the how-manieth thing.

    The number is that of the log's entry: 0 is the start, with ``input`` None, and a thread that is taken up again
    counts on.
    """

    index: int
    at: float
    input: Input | None


class Observers:
    """The observers of one run. An error of one is logged once (logger ``interlock.run``) and changes nothing.

    What is to be told is noted down where it happens, at once, and told in that order by the driver, or by a task of
    its own while the driver waits. So the order is the same for all, and no observer is cut off because the work that
    he is told of is owed no more.
    """

    def __init__(
        self,
        *,
        machine: Machine[Any, Any, Any],
        now: Callable[[], float],
        on_transition: Observer | None = None,
        on_event: Observer | None = None,
        on_chunk: Observer | None = None,
        on_result: Observer | None = None,
        on_trace: Observer | None = None,
        on: Mapping[Any, Observer] | None = None,
    ) -> None:
        self.listeners: list[Callable[[TraceEvent], None]] = []
        """Called with each trace event at the moment it happens; they must not raise."""
        self.run_id = ""
        """The execution that is told of; known before anything is."""
        self._machine = machine
        self._now = now
        self._on_transition = on_transition
        self._on_event = on_event
        self._on_chunk = on_chunk
        self._on_result = on_result
        self._on_trace = on_trace
        self._on = {_type_of(key): function for key, function in (on or {}).items()}
        self._anybody = bool(self._on) or any((on_transition, on_event, on_chunk, on_result, on_trace))
        self._seq = 0
        self._untold: deque[tuple[Observer, tuple[object, ...]]] = deque()
        self._turn = anyio.Lock()
        self._news = anyio.Event()
        self._waiting: list[anyio.Event] = []
        self._reported: set[int] = set()

    @property
    def heard(self) -> tuple[str, ...]:
        """The types of the events that somebody wants to hear of when the machine emits them."""
        return tuple(self._on)

    # -- noting down: never waits --------------------------------------------------------------------------------------

    def trace(self, make: MakeTrace) -> None:
        """Note down a trace event."""
        self._seq += 1
        if self._on_trace is None and not self.listeners:
            return
        event = make(Stamp(self.run_id, self._seq, self._now(), self._machine.id, self._machine.version))
        for listener in self.listeners:
            listener(event)
        self._note(self._on_trace, event)

    def result(self, request: object, output: object, raw: object) -> None:
        """Note down what came of a request."""
        self._note(self._on_result, request, output, raw)

    def committed(
        self, committed: Committed, snapshot: Snapshot[Any], effects: Sequence[Effect], *, changed: bool, kept: bool
    ) -> None:
        """Note down one input, the snapshot it led to (``changed``) or left as it was, what was emitted and logged.

        ``kept``: whether it is a snapshot to go on from, and not one in the middle of what was committed together.
        """
        self.trace(lambda stamp: _transition(stamp, committed, snapshot, changed=changed))
        self._note(self._on_event, committed)
        if kept:
            self._note(self._on_transition, snapshot, committed.input)
        for effect in effects:
            self._effect(effect)

    def _effect(self, effect: Effect) -> None:
        if isinstance(effect, Emit):
            event, address = effect.event, effect.address
            self.trace(lambda stamp: EventEmitted(stamp, event_type=event.type, address=address, event=event))
            for key in (event.type, "*"):
                self._note(self._on.get(key), event)
        elif isinstance(effect, Log):
            _machine_log.info("%s", " ".join(str(value) for value in effect.values))
        elif isinstance(effect, Send) and effect.delay is None:
            _log.warning("event %r was sent to child %r, a function, which hears nothing", effect.event.type, effect.to)

    def _note(self, observer: Observer | None, *values: object) -> None:
        if observer is not None:
            self._untold.append((observer, values))
            self._news.set()

    # -- telling -------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def telling(self, exits: Exits) -> AsyncGenerator[None, None]:
        """Tell whatever is noted down while a block is carried out, and, after it, what is left."""
        if not self._anybody:
            yield
            return
        async with anyio.create_task_group() as group:
            group.start_soon(self._tell_on, exits)
            yield
            await self.deliver()
            group.cancel_scope.cancel()

    async def _tell_on(self, exits: Exits) -> None:
        with exits.carried():
            while True:
                await self._news.wait()
                self._news = anyio.Event()
                await self.deliver()

    async def deliver(self) -> None:
        """Tell all that has been noted down by now, in that order."""
        if not self._untold:
            return
        async with self._turn:
            while self._untold:
                observer, values = self._untold.popleft()
                await self._tell(observer, *values)
            for waiting in self._waiting:
                waiting.set()
            self._waiting.clear()

    async def told(self) -> None:
        """Wait until all that has been noted down has been told. May be cancelled without anybody being cut off."""
        if self._untold or self._turn.locked():
            waiting = anyio.Event()
            self._waiting.append(waiting)
            await waiting.wait()

    async def chunk(self, text: str, request: object) -> None:
        """Tell of a piece of text. Who is slow here holds up this stream, and no other."""
        await self.told()
        if self._on_chunk is not None:
            await self._tell(self._on_chunk, text, request)

    async def _tell(self, observer: Observer, *values: object) -> None:
        token = TOLD_BY.set(self)  # an observer may run another machine, which has observers of its own
        try:
            await self._called(observer, values)
        except Exception:  # noqa: BLE001  # observers only observe
            if id(observer) not in self._reported:
                self._reported.add(id(observer))
                _log.exception(
                    "observer %r raised; the run goes on as if it had not. Further errors of it are not reported",
                    getattr(observer, "__qualname__", observer),
                )
        finally:
            TOLD_BY.reset(token)

    async def _called(self, observer: Observer, values: tuple[object, ...]) -> None:
        try:
            answer = observer(*values)
            if inspect.isawaitable(answer):
                await answer
        except (anyio.get_cancelled_exc_class(), asyncio.CancelledError) as error:
            await anyio.lowlevel.checkpoint_if_cancelled()
            if is_cancelling():
                raise
            raise RuntimeError("the observer was cancelled, but not by the run") from error


def _transition(stamp: Stamp, committed: Committed, snapshot: Snapshot[Any], *, changed: bool) -> Transition:
    given = committed.input
    inside = () if given is None else given.address
    heard = None if given is None else given.invocation or given.timer
    path = None if heard is None else "/".join((*inside, heard))
    return Transition(
        stamp,
        index=committed.index,
        changed=changed,
        value=snapshot.value,
        event=None if given is None or given.event is None else given.event.type,
        by=None if given is None else given.by,
        invocation=None if given is None or given.invocation is None else path,
        timer=None if given is None or given.timer is None else path,
        input=given,
        snapshot=snapshot,
    )


def _type_of(key: object) -> str:
    kind = key if isinstance(key, str) else getattr(key, "type", None)
    if not isinstance(kind, str) or not kind:
        raise BindError(
            f"on={{{key!r}: ...}} names no event; use an event class, its type, or '*' for all", code="invalid-argument"
        )
    return kind
