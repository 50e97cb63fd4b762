"""One request under way, as those who look on are told of it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from interlock.agent.contract import FinishReason, TextResult, ToolCall, Usage
from interlock.agent.events import Event
from interlock.agent.messages import ErrorJsonOutput, ErrorTextOutput, ToolResultOutput
from interlock.agent.requests import DecisionAttempt, DecisionRequest
from interlock.agent.text_requests import TextRequest
from interlock.agent.turns import TurnRecord
from interlock.errors import ErrorInfo
from interlock.run.observers import Observers
from interlock.run.traces import (
    ChoiceRefused,
    Chunk,
    RequestCancelled,
    RequestEnded,
    RequestFailed,
    RequestKind,
    RequestStarted,
    StepPicked,
    ToolAnswered,
    TurnTaken,
)
from interlock.run.usage import RunUsage
from interlock.run.work import Work

__all__ = ["Watched"]


class Watched:
    """Tells of a request: that it has started, what happens to it, and, exactly once, how it has ended."""

    __slots__ = ("_chunks", "_ended", "_kind", "_observers", "_request", "_usage", "_work")

    def __init__(
        self, observers: Observers, work: Work, kind: RequestKind, request: DecisionRequest | TextRequest | None
    ) -> None:
        self._observers = observers
        self._work = work
        self._kind: RequestKind = kind
        self._request = request
        self._usage = RunUsage()
        self._chunks = 0
        self._ended = False

    @contextmanager
    def watching(self) -> Generator[None, None, None]:
        """Tell of the start, and, if nobody has told of an end by then, that the request was cancelled."""
        work, request, kind = self._work, self._request, self._kind
        self._observers.trace(
            lambda stamp: RequestStarted(
                stamp,
                origin=work.origin,
                kind=kind,
                src=work.owed.src,
                model=None if request is None else request.model,
                resumed=bool(work.owed.records),
                request=request,
            )
        )
        try:
            yield
        finally:
            if not self._ended:
                self._observers.trace(
                    lambda stamp: RequestCancelled(
                        stamp, origin=work.origin, kind=kind, usage=self._usage, chunks=self._chunks
                    )
                )

    def called(self, request: DecisionRequest | TextRequest | None, attempt: int = 1) -> None:
        """Say that an executor or a function is called, for the ``attempt``-th time since the request was made."""
        self._request = request
        self._work.asked = True
        if request is not None:
            self._usage = replace(self._usage, model_calls=self._usage.model_calls + 1)
        self._work.origin = replace(self._work.origin, attempt=attempt)

    def spent(self, usage: Usage | None) -> None:
        """Say what the last call reports to have consumed."""
        if usage is not None:
            self._usage = self._usage.plus(usage)

    def refused(self, attempt: DecisionAttempt, usage: Usage | None) -> None:
        """Say that a choice was refused."""
        origin, kind = self._work.origin, self._kind
        self._observers.trace(
            lambda stamp: ChoiceRefused(
                stamp, origin=origin, kind=kind, failure=attempt.failure, usage=usage, attempt=attempt
            )
        )

    def step(self, event: Event, usage: Usage | None) -> None:
        """Say that a plan has picked an event."""
        origin, kind = self._work.origin, self._kind
        self._observers.trace(
            lambda stamp: StepPicked(stamp, origin=origin, kind=kind, event_type=event.type, usage=usage, event=event)
        )

    def turn(self, record: TurnRecord, result: TextResult) -> None:
        """Say that a model has taken a turn."""
        origin, kind = self._work.origin, self._kind
        self._observers.trace(
            lambda stamp: TurnTaken(
                stamp,
                origin=origin,
                kind=kind,
                tools=tuple(call.name for call in record.calls),
                usage=result.usage,
                finish_reason=result.finish_reason,
                messages=record.messages,
            )
        )

    def tool(self, call: ToolCall, output: ToolResultOutput, seconds: float) -> None:
        """Say what a tool has answered."""
        origin, kind = self._work.origin, self._kind
        self._observers.trace(
            lambda stamp: ToolAnswered(
                stamp,
                origin=origin,
                kind=kind,
                tool=call.name,
                failed=isinstance(output, ErrorTextOutput | ErrorJsonOutput),
                seconds=seconds,
                call=call,
                output=output,
            )
        )

    async def chunk(self, text: str) -> None:
        """Show a piece of text, and wait until it has been looked at."""
        self._chunks += 1
        origin, kind, number = self._work.origin, self._kind, self._chunks
        self._observers.trace(
            lambda stamp: Chunk(stamp, origin=origin, kind=kind, number=number, length=len(text), text=text)
        )
        await self._observers.chunk(text, self._request)

    async def told(self) -> None:
        """Wait until all that was said has been told."""
        await self._observers.told()

    def ended(
        self,
        output: object,
        *,
        raw: object = None,
        finish_reason: FinishReason | None = None,
        reasoning: str | None = None,
    ) -> None:
        """Say what has come of the request."""
        self._ended = True
        origin, kind = self._work.origin, self._kind
        if self._request is not None:
            self._observers.result(self._request, output, raw)
        self._observers.trace(
            lambda stamp: RequestEnded(
                stamp,
                origin=origin,
                kind=kind,
                usage=self._usage,
                chunks=self._chunks,
                finish_reason=finish_reason,
                output=output,
                reasoning=reasoning,
                raw=raw,
            )
        )

    def failed(self, error: ErrorInfo) -> None:
        """Say that the request has failed."""
        self._ended = True
        origin, kind = self._work.origin, self._kind
        self._observers.trace(
            lambda stamp: RequestFailed(
                stamp,
                origin=origin,
                kind=kind,
                code=error.code,
                error_type=error.type,
                usage=self._usage,
                chunks=self._chunks,
                error=error,
            )
        )
