"""The engine that DBOS is: each call one step, each choice between several things one step, messages as its mail.

Its steps are named, and recorded in the order in which they are begun::

    begin                     the time of the start
    decision <key>            a call: {"at": ..., "result": {...}}; the result is null where it was given up
    wait 3                    what came first: {"at": ..., "key": ...}, {"at": ..., "message": ...} or {"at": ...}

A step's output is a text of JSON, so what is stored depends on no class of this library.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import anyio

from interlock.agent.plain import plain
from interlock.agent.reasons import short
from interlock.errors import InvalidLogError
from interlock.hosts.durable import Call, Recorded, Woken

if TYPE_CHECKING:
    from dbos import DBOS

__all__ = ["LiveSteps", "RecordEndsError", "RecordedSteps"]

_BEGIN = "begin"
_LONGEST_SLEEP = 60.0
"""Seconds. A clock that was set, or a computer that was asleep, is noticed within this time."""

_FOR_EVER = 100 * 365 * 86_400.0
"""Seconds to wait for mail: it is the machine that says how long."""


def _alone(calls: Mapping[str, Call], until: float | None, *, messages: bool) -> str | None:
    """Return the call that is all there is to wait for: then nothing has to be recorded but its result."""
    return next(iter(calls)) if len(calls) == 1 and until is None and not messages else None


# -- live ------------------------------------------------------------------------------------------------------------


class _Running:
    """A call that is under way."""

    __slots__ = ("given_up", "scope", "task")

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.given_up = False
        self.task: asyncio.Task[Recorded] | None = None


class LiveSteps:
    """The engine inside a workflow of DBOS. It is made and used by one task, on asyncio."""

    def __init__(self, dbos: type[DBOS], workflow_id: str) -> None:
        self._dbos = dbos
        self._id = workflow_id
        self._running: dict[str, _Running] = {}
        self._given_up: set[asyncio.Task[Recorded]] = set()
        self._mail: asyncio.Task[Any] | None = None
        self._waits = 0

    @property
    def execution_id(self) -> str:
        """The workflow's id."""
        return self._id

    async def now(self) -> float:
        """Return when the workflow began."""
        begun = await self._step(_BEGIN, _now)
        at: float = begun["at"]
        return at

    async def wait(self, calls: Mapping[str, Call], *, until: float | None, messages: bool) -> Woken:
        """Wait for whatever comes first; see :class:`interlock.hosts.durable.Durable`."""
        for key in [key for key in self._running if key not in calls]:
            self._give_up(key)
        for key, made in calls.items():
            if key not in self._running:
                self._begin(key, made)
        alone = _alone(calls, until, messages=messages)
        if alone is not None:
            found = await self._task(alone)
            del self._running[alone]
            return Woken(at=found["at"], key=alone, result=found.get("result"))
        if messages and self._mail is None:
            self._mail = asyncio.create_task(self._dbos.recv_async(timeout_seconds=_FOR_EVER))
            await asyncio.sleep(0)  # its place among the steps is taken before anybody else takes one
        self._waits += 1
        mail = self._mail if messages else None
        woken = await self._step(f"wait {self._waits}", lambda: self._first(list(calls), until, mail))
        if "message" in woken and self._mail is not None:
            await self._mail  # at once, also where it only repeats what was recorded
            self._mail = None
        first: str | None = woken.get("key")
        if first is None:
            return Woken(at=woken["at"], message=woken.get("message"))
        if first not in self._running:
            return Woken(at=woken["at"], key=first)  # recorded by another machine than this one: the loop says so
        found = await self._task(first)
        del self._running[first]
        return Woken(at=woken["at"], key=first, result=found.get("result"))

    async def end(self) -> None:
        """Give up what is still under way; nobody wants it any more."""
        for key in list(self._running):
            self._give_up(key)
        left: list[asyncio.Task[Any]] = [*self._given_up]
        if self._mail is not None:
            self._mail.cancel()
            left.append(self._mail)
        if left:
            await asyncio.gather(*left, return_exceptions=True)

    def _begin(self, key: str, made: Call) -> None:
        running = self._running[key] = _Running()

        async def carry_out() -> dict[str, Any]:
            result: Recorded | None = None
            if not running.given_up:
                with running.scope:
                    result = await made()
            return {"at": time.time(), "result": result}

        running.task = asyncio.create_task(self._step(key, carry_out))

    def _give_up(self, key: str) -> None:
        task = self._task(key)
        running = self._running.pop(key)
        running.given_up = True
        running.scope.cancel()
        self._given_up.add(task)  # an event loop itself holds on to no task
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Recorded]) -> None:
        self._given_up.discard(task)
        if not task.cancelled():
            task.exception()  # nobody else will ask

    def _task(self, key: str) -> asyncio.Task[Recorded]:
        task = self._running[key].task
        assert task is not None  # noqa: S101  # it is begun together with its entry
        return task

    async def _first(self, keys: list[str], until: float | None, mail: asyncio.Task[Any] | None) -> dict[str, Any]:
        """Return what came first: a call, a message, or the time."""
        tasks = {key: self._task(key) for key in keys}
        pending: list[asyncio.Task[Any]] = [*tasks.values(), *(() if mail is None else (mail,))]
        while True:
            finished = next((key for key, task in tasks.items() if task.done()), None)
            if finished is not None:
                return {"at": time.time(), "key": finished}
            if mail is not None and mail.done():
                return {"at": time.time(), "message": _message(mail.result())}
            left = None if until is None else until - time.time()
            if left is not None and left <= 0:
                return {"at": time.time()}
            timeout = None if left is None else min(left, _LONGEST_SLEEP)
            if pending:
                await asyncio.wait(pending, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(timeout or 0)

    def _step(self, name: str, body: Callable[[], Awaitable[dict[str, Any]]]) -> Coroutine[Any, Any, dict[str, Any]]:
        # The step's place is taken here and now, not when its task first runs.
        place = self._dbos.reserve_step()

        async def run() -> str:
            found = await body()
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                # The process ends in an orderly way: what was cut off is done again, not taken for a failure.
                raise asyncio.CancelledError
            return json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

        async def read() -> dict[str, Any]:
            return _record(self._id, name, await place.run_async({"name": name, "preemptible": True}, run))

        return read()


async def _now() -> dict[str, Any]:
    return {"at": time.time()}


# -- recorded --------------------------------------------------------------------------------------------------------


class RecordEndsError(Exception):
    """Nothing further is recorded. Never seen outside of this room."""


class RecordedSteps:
    """The engine over what was recorded: it makes no call, waits for nothing and knows no clock."""

    def __init__(self, workflow_id: str, steps: Iterable[tuple[str, str | None]]) -> None:
        self._id = workflow_id
        self._steps = dict(steps)
        self._asked: set[str] = set()
        self._waits = 0

    @property
    def execution_id(self) -> str:
        """The workflow's id."""
        return self._id

    async def now(self) -> float:
        """Return when the workflow began."""
        at: float = self._take(_BEGIN)["at"]
        return at

    async def wait(self, calls: Mapping[str, Call], *, until: float | None, messages: bool) -> Woken:
        """Return what ended this wait, if it is over."""
        self._asked.update(calls)
        key = _alone(calls, until, messages=messages)
        if key is None:
            self._waits += 1
            woken = self._take(f"wait {self._waits}")
            key = woken.get("key")
            if key is None:
                return Woken(at=woken["at"], message=woken.get("message"))
            result = self._take(key).get("result") if key in calls else None
            return Woken(at=woken["at"], key=key, result=result)
        finished = self._take(key)
        return Woken(at=finished["at"], key=key, result=finished.get("result"))

    @property
    def unasked(self) -> tuple[str, ...]:
        """What is recorded and was not asked for: nothing, but where it was recorded by another machine."""
        ours = {name for name, output in self._steps.items() if output is not None and not name.startswith("DBOS.")}
        return tuple(sorted(ours - self._asked))

    def _take(self, name: str) -> dict[str, Any]:
        self._asked.add(name)
        found = self._steps.get(name)
        if found is None:
            raise RecordEndsError
        return _record(self._id, name, found)


def _record(workflow_id: str, name: str, text: object) -> dict[str, Any]:
    """Return what was recorded under a name; raises :class:`InvalidLogError` for what no step of ours has written."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        found = None
    record = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    kinds = (("key", str), ("result", dict), ("message", dict))
    if type(record.get("at")) not in (int, float) or not all(
        record.get(field) is None or isinstance(record[field], kind) for field, kind in kinds
    ):
        raise InvalidLogError(
            f"workflow {workflow_id!r}: the step {name!r} is recorded as {short(text)}, which is no record of this host"
        )
    return record


def _message(sent: object) -> dict[str, Any]:
    """Return a message; one that nobody of ours has sent, and that JSON may not carry, is one without an event."""
    try:
        found = plain(json.loads(sent) if isinstance(sent, str) else sent)
    except (ValueError, RecursionError):
        found = None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {"junk": short(sent, 200)}
