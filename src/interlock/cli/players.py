"""The executors of a run in the terminal: somebody answers, and everybody sees what, and what becomes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from inspect import isawaitable
from time import perf_counter
from typing import cast

import interlock as il
from interlock.agent.contract import ExecutorInfo
from interlock.cli.board import Board
from interlock.cli.minds import FindMind, Mind
from interlock.cli.screen import Screen
from interlock.cli.stops import UsageError
from interlock.cli.words import json_line
from interlock.errors import MissingExtraError

__all__ = ["Player"]


class Player:
    """Shows the moves, lets somebody decide and write, and shows what became of it.

    Arguments:
        model: the name of who plays, as a saved case remembers it.
        minds: how each who may play is found, by name; ``human`` takes over where a model cannot run.
        board: where the run stands.
        screen: where it is shown.
        pretend: the type of an event that shall be the first answer, whatever the model says.
    """

    def __init__(
        self, model: str, minds: Mapping[str, FindMind], board: Board, screen: Screen, *, pretend: str | None = None
    ) -> None:
        self.model = model
        self.reason: str | None = None
        """Why the last choice was made, by those who made it."""
        self._minds = minds
        self._board = board
        self._screen = screen
        self._pretend = pretend
        self._mind: Mind | None = None
        self._writing: str | None = None

    @property
    def executors(self) -> il.Executors:
        """What a run is given."""
        return il.Executors(decide=self._decide, generate_text=self._generate, stream_text=self._stream)

    def get_ready(self) -> Mind:
        """Load the model, or find who takes its place.

        Raises :class:`UsageError` where nobody can answer.
        """
        if self._mind is None:
            self._mind = self._found()
        return self._mind

    def _found(self) -> Mind:
        try:
            return self._minds[self.model]()
        except MissingExtraError as error:
            if error.code != "unsupported-platform":
                raise UsageError(f"{error.message}; or decide yourself: --model human") from error
            self._screen.note(f"{error.message}.")
            self._screen.note("So you play the model.")
            self.model = "human"
            return self._minds["human"]()

    async def _decide(self, request: il.DecisionRequest, info: ExecutorInfo) -> il.Choice:
        mind = self.get_ready()
        took: float | None = None
        for attempt in request.attempts[-1:]:
            picked = "nothing" if attempt.event is None else str(attempt.event.get("type"))
            self._screen.refused(picked, attempt.failure, self._board.obstacle(picked) or attempt.reason)
        if self._pretend is not None:
            choice = il.Choice(event={"type": self._pretend}, reason="pretended, as you asked")
            self._pretend = None
        else:
            decide = mind.executors.decide
            assert decide is not None  # noqa: S101  # every mind has one
            started = perf_counter()
            answer = decide(request, info)
            choice = await answer if isawaitable(answer) else answer
            took = perf_counter() - started
        self.reason = choice.reason
        weights = _weights(choice)
        if not mind.silent and (not request.attempts or weights):
            rows = self._board.rows(request)
            self._screen.moves(self._board.state, rows, weights=weights, chosen=_type(choice))
        if took is not None and (by := mind.decides(choice)):
            self._screen.note(f"by {by}, in {_seconds(took)}")
        return choice

    async def _generate(self, request: il.TextRequest, info: ExecutorInfo) -> il.TextResult:
        mind = self.get_ready()
        generate = mind.executors.generate_text
        assert generate is not None  # noqa: S101  # every mind has one
        self._announce(request, mind)
        answer = generate(request, info)
        result = await answer if isawaitable(answer) else answer
        if not mind.silent:
            self._whole(result)
        return result

    async def _stream(self, request: il.TextRequest, info: ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
        mind = self.get_ready()
        stream = mind.executors.stream_text
        assert stream is not None  # noqa: S101  # every mind has one
        self._announce(request, mind)
        shown = False
        async for piece in stream(request, info):
            if isinstance(piece, str):
                shown = True
            elif shown or mind.silent:
                self._screen.ends_text()
            else:
                self._whole(piece)
            yield piece

    def chunk(self, text: str, request: il.TextRequest) -> None:
        """Show a piece of a text; where several are written at once, say whose it is."""
        mind = self.get_ready()
        if not mind.silent:
            if self._writing != request.id:
                self._announce(request, mind)
            self._screen.text(text)

    def _announce(self, request: il.TextRequest, mind: Mind) -> None:
        self._writing = request.id
        if not mind.silent:
            self._screen.writes(request.name or request.id, mind.writes)

    def _whole(self, result: il.TextResult) -> None:
        if result.output not in (None, ""):
            self._screen.text(result.output if isinstance(result.output, str) else json_line(result.output, 2_000))
            self._screen.ends_text()
        for call in result.tool_calls:
            self._screen.note(f"calls {call.name}({json_line(call.input)})")


def _type(choice: il.Choice) -> str:
    return str(choice.event.get("type")) if isinstance(choice.event, Mapping) else choice.event.type


def _weights(choice: il.Choice) -> Mapping[str, float]:
    raw = choice.raw
    return cast("Mapping[str, Mapping[str, float]]", raw).get("weights", {}) if isinstance(raw, Mapping) else {}


def _seconds(took: float) -> str:
    return f"{took:.1f} s" if took >= 1 else f"{took * 1000:.0f} ms"
