"""Executors whose answers were written beforehand: an agent runs in a test without a model, the same way each time."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from inspect import isawaitable
from typing import TypeAlias, TypeVar, cast

from pydantic import BaseModel
from pydantic_core import to_json

from interlock.agent.contract import Choice, ExecutorInfo, Executors, TextResult
from interlock.agent.events import Event
from interlock.agent.requests import DecisionRequest
from interlock.agent.text_requests import TextRequest
from interlock.errors import InputError, ScriptExhaustedError

__all__ = ["Answer", "ScriptedDecision", "ScriptedExecutors", "ScriptedText", "Written"]

Answer: TypeAlias = Choice | Event | Mapping[str, object] | str
"""A choice, or just the event: an instance, a mapping with ``type``, or the type of an event without fields."""

ScriptedDecision: TypeAlias = "Answer | BaseException | Callable[[DecisionRequest], Answer | Awaitable[Answer]]"
"""An answer, an exception to raise, or a function of the request that gives an answer."""

Written: TypeAlias = (
    TextResult | BaseModel | Mapping[str, object] | list[object] | tuple[object, ...] | str | float | None
)
"""A whole turn, or just what it puts out: the text, or the value where the request asks for another type."""

ScriptedText: TypeAlias = "Written | BaseException | Callable[[TextRequest], Written | Awaitable[Written]]"
"""The same, an exception to raise, or a function of the request."""

R = TypeVar("R", DecisionRequest, TextRequest)


class ScriptedExecutors(Executors):
    """Executors that answer from a script, first in, first out; handed to ``run_agent(executors=...)`` as they are.

    Arguments:
        decisions: one answer for each call of ``decide``. What is no :class:`Choice` is made one. An exception
            instance is raised. A function is called with the request.
        text: one answer for each turn of a text request, streamed (word by word) or not. What is no
            :class:`TextResult` is the ``output`` of one; ``TextResult(tool_calls=(...,))`` calls tools.

    ``requests`` lists what was asked, ``infos`` what came with it, in order; ``decision_requests`` and
    ``text_requests`` list one kind. A call beyond the script raises :class:`ScriptExhaustedError` out of the run,
    past any ``on_error``, and names the request.
    """

    requests: list[DecisionRequest | TextRequest]
    infos: list[ExecutorInfo]

    def __init__(self, *, decisions: Iterable[ScriptedDecision] = (), text: Iterable[ScriptedText] = ()) -> None:
        answers, turns = list(decisions), list(text)
        for word, given in (("decisions", answers), ("text", turns)):
            _refuse_classes(word, given)
        super().__init__(decide=self._decide, generate_text=self._generate, stream_text=self._stream)
        # Executors are frozen; what is kept here is the test's own record.
        object.__setattr__(self, "_decisions", deque(answers))
        object.__setattr__(self, "_texts", deque(turns))
        object.__setattr__(self, "requests", [])
        object.__setattr__(self, "infos", [])

    @property
    def remaining(self) -> int:
        """How many answers have not been asked for."""
        return len(self._script("decisions")) + len(self._script("texts"))

    @property
    def decision_requests(self) -> list[DecisionRequest]:
        """The decisions that were asked for, in order."""
        return [request for request in self.requests if isinstance(request, DecisionRequest)]

    @property
    def text_requests(self) -> list[TextRequest]:
        """The texts that were asked for, one request for each turn, in order."""
        return [request for request in self.requests if isinstance(request, TextRequest)]

    def _script(self, name: str) -> deque[object]:
        return cast("deque[object]", getattr(self, f"_{name}"))

    # Async on purpose: plain functions run in threads, and threads would race for the script.
    async def _decide(self, request: DecisionRequest, info: ExecutorInfo) -> Choice:
        answer = await self._next("decisions", request, info, "one of: " + ", ".join(e.type for e in request.events))
        if isinstance(answer, str):
            answer = {"type": answer}
        return answer if isinstance(answer, Choice) else Choice(cast("Event | Mapping[str, object]", answer))

    async def _generate(self, request: TextRequest, info: ExecutorInfo) -> TextResult:
        kind = "a text" if request.output_schema is None else "a value that fits its output type"
        answer = await self._next("text", request, info, kind)
        return answer if isinstance(answer, TextResult) else TextResult(output=answer)

    async def _stream(self, request: TextRequest, info: ExecutorInfo) -> AsyncIterator[str | TextResult]:
        result = await self._generate(request, info)
        for piece in _pieces(result.output):
            yield piece
        yield result

    async def _next(self, name: str, request: R, info: ExecutorInfo, wanted: str) -> object:
        self.requests.append(request)
        self.infos.append(info)
        script = self._script("decisions" if name == "decisions" else "texts")
        if not script:
            raise ScriptExhaustedError(
                f"request {request.id!r} (call {len(self.requests)}, attempt {info.attempt}) finds the script empty; "
                f"add an answer to ScriptedExecutors({name}=[...]), {wanted}",
                request_id=request.id,
            )
        answer = script.popleft()
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer) and not isinstance(answer, BaseModel):
            given = cast("Callable[[R], object]", answer)(request)
            answer = await given if isawaitable(given) else given
        return answer


def _refuse_classes(word: str, given: Iterable[object]) -> None:
    """Refuse a class among the answers: it can be called, but what is meant by it is an instance."""
    for number, answer in enumerate(given):
        if isinstance(answer, type):
            raise InputError(
                f"ScriptedExecutors({word}=[...]): answer {number} is the class {answer.__name__}; give an instance, "
                f"{answer.__name__}(...), or a function of the request",
                code="invalid-input",
            )


def _pieces(output: object) -> list[str]:
    """Return an answer as a model would write it down, word by word."""
    if output is None:
        return []
    text = output if isinstance(output, str) else to_json(output).decode()
    return re.findall(r"\s*\S+\s*?|\s+$", text) if text.strip() else [text]
