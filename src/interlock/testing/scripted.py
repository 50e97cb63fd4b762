"""Executors whose answers were written beforehand: an agent runs in a test without a model, the same way each time."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from inspect import isawaitable
from typing import TypeAlias, cast

from interlock.agent.contract import Choice, ExecutorInfo, Executors
from interlock.agent.events import Event
from interlock.agent.requests import DecisionRequest
from interlock.errors import ScriptExhaustedError

__all__ = ["Answer", "ScriptedDecision", "ScriptedExecutors"]

Answer: TypeAlias = Choice | Event | Mapping[str, object] | str
"""A choice, or just the event: an instance, a mapping with ``type``, or the type of an event without fields."""

ScriptedDecision: TypeAlias = "Answer | BaseException | Callable[[DecisionRequest], Answer | Awaitable[Answer]]"
"""An answer, an exception to raise, or a function of the request that gives an answer."""


class ScriptedExecutors(Executors):
    """Executors that answer from a script, first in, first out; handed to ``run_agent(executors=...)`` as they are.

    Arguments:
        decisions: one answer for each call of ``decide``. What is no :class:`Choice` is made one. An exception
            instance is raised. A function is called with the request.

    ``requests`` lists what was asked, ``infos`` what came with it, in order. A call beyond the script raises
    :class:`ScriptExhaustedError` naming the request.
    """

    requests: list[DecisionRequest]
    infos: list[ExecutorInfo]

    def __init__(self, *, decisions: Iterable[ScriptedDecision] = ()) -> None:
        super().__init__(decide=self._next)
        # Executors are frozen; what is kept here is the test's own record.
        object.__setattr__(self, "_script", deque(decisions))
        object.__setattr__(self, "requests", [])
        object.__setattr__(self, "infos", [])

    @property
    def remaining(self) -> int:
        """How many answers have not been asked for."""
        return len(self._queue)

    @property
    def _queue(self) -> deque[ScriptedDecision]:
        return cast("deque[ScriptedDecision]", getattr(self, "_script"))  # noqa: B009  # set past the frozen class

    # Async on purpose: plain functions run in threads, and threads would race for the script.
    async def _next(self, request: DecisionRequest, info: ExecutorInfo) -> Choice:
        self.requests.append(request)
        self.infos.append(info)
        if not self._queue:
            offered = ", ".join(event.type for event in request.events)
            raise ScriptExhaustedError(
                f"request {request.id!r} (call {len(self.requests)}, attempt {info.attempt}) finds the script empty; "
                f"add an answer to ScriptedExecutors(decisions=[...]), one of: {offered}",
                request_id=request.id,
            )
        answer = self._queue.popleft()
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer) and not isinstance(answer, Event):
            given = answer(request)
            answer = await given if isawaitable(given) else given
        if isinstance(answer, str):
            answer = {"type": answer}
        return answer if isinstance(answer, Choice) else Choice(answer)
