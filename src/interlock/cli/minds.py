"""Who can play the model: models in this process, the person at the keyboard, a script, an endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import isawaitable
from signal import SIGINT, default_int_handler, getsignal, signal
from typing import TypeAlias, TypeVar, cast

import anyio
import anyio.to_thread

import interlock as il
from interlock.agent.contract import ExecutorInfo
from interlock.cli.board import Board
from interlock.cli.fields import ask_event, ask_json
from interlock.cli.samples import sample
from interlock.cli.screen import Screen
from interlock.cli.stops import UsageError
from interlock.errors import BindError, MissingExtraError, UncertainChoiceError, WeightsError

__all__ = ["FindMind", "Mind", "endpoint", "local", "person", "script", "writer"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mind:
    """Who answers, and what they are called: who made a choice (``decides``), and who writes (``writes``)."""

    executors: il.Executors
    decides: Callable[[il.Choice], str] = lambda _: ""
    writes: str = ""
    silent: bool = False
    """Whether what they do is on the screen already."""


FindMind: TypeAlias = Callable[[], Mind]
"""Finds who plays the model, and says early what is missing."""


# -- models in this process ------------------------------------------------------------------------------------------


class _Writer:
    """The model that writes, loaded (and on the first use of all fetched) when something is to be written."""

    def __init__(self) -> None:
        self._made: il.Executors | MissingExtraError | WeightsError | None = None
        self._lock = anyio.Lock()

    @property
    def executors(self) -> il.Executors:
        """Executors that load it when they are called."""
        return il.Executors(decide=self.decide, generate_text=self._generate, stream_text=self._stream)

    async def decide(self, request: il.DecisionRequest, info: ExecutorInfo) -> il.Choice:
        """Have an event chosen and its fields written."""
        decide = (await self._ready()).decide
        assert decide is not None  # noqa: S101  # it is what they are for
        answer = decide(request, info)
        return await answer if isawaitable(answer) else answer

    async def _generate(self, request: il.TextRequest, info: ExecutorInfo) -> il.TextResult:
        generate = (await self._ready()).generate_text
        assert generate is not None  # noqa: S101  # the same
        answer = generate(request, info)
        return await answer if isawaitable(answer) else answer

    async def _stream(self, request: il.TextRequest, info: ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
        stream = (await self._ready()).stream_text
        assert stream is not None  # noqa: S101  # the same
        async for piece in stream(request, info):
            yield piece

    async def _ready(self) -> il.Executors:
        from interlock.adapters.writing import local_writer

        async with self._lock:
            if self._made is None:
                try:
                    self._made = await anyio.to_thread.run_sync(local_writer, abandon_on_cancel=True)
                except (MissingExtraError, WeightsError) as error:
                    self._made = error  # once is enough: without a network each try takes its time
        if isinstance(self._made, Exception):
            raise self._made
        return self._made


def writer() -> Mind:
    """Return the model in this process that writes; it is loaded when it is first asked.

    Raises :class:`MissingExtraError` where it cannot run.
    """
    from interlock.adapters.llama import require_package
    from interlock.adapters.weights import SMOLLM2

    require_package()
    name = f"{SMOLLM2.name}, on this computer"
    return Mind(executors=_Writer().executors, decides=lambda choice: name if choice.raw else "", writes=name)


def local(board: Board, *, examples: Mapping[str, Sequence[str]] | None = None) -> Mind:
    """Return the models in this process: one chooses by meaning, another fills fields and writes.

    The one that chooses is loaded at once, if the machine decides anything. Raises :class:`MissingExtraError`.
    """
    from interlock.adapters.embedding import MODEL, load
    from interlock.adapters.local import local_executors
    from interlock.adapters.weights import SMOLLM2

    writing = _Writer()
    name = f"{SMOLLM2.name}, on this computer"
    if not _decides(board):
        return Mind(executors=writing.executors, writes=name)
    executors = local_executors(examples=examples, writer=writing.executors)
    if examples:
        # What is compared with is read once and kept; then what a decision takes is what it takes from now on.
        about = [" ".join((kind.__doc__ or "").split()) for kind in _events(board) if kind.actor is None]
        load()("", [*about, *(said for all_said in examples.values() for said in all_said)])
    choose = executors.decide
    assert choose is not None  # noqa: S101  # it is what they are for

    async def decide(request: il.DecisionRequest, info: ExecutorInfo) -> il.Choice:
        try:
            answer = choose(request, info)
            return await answer if isawaitable(answer) else answer
        except UncertainChoiceError:
            # A machine without a way out, that was written for models that always name something.
            choice = await writing.decide(request, info)
            return replace(choice, reason="none is near in meaning, so it is what the model that writes would do")

    def decides(choice: il.Choice) -> str:
        raw = cast("Mapping[str, object]", choice.raw or {})
        chose = [MODEL] if "weights" in raw else []
        wrote = [SMOLLM2.name] if "written" in raw or not chose else []
        return f"{' and '.join([*chose, *wrote])}, on this computer"

    return Mind(executors=replace(executors, decide=decide), decides=decides, writes=name)


def _events(board: Board) -> list[type[il.Event]]:
    types: Mapping[str, object] = board.machine.event_types
    return [kind for kind in types.values() if isinstance(kind, type) and issubclass(kind, il.Event)]


def _decides(board: Board) -> bool:
    waiting, seen = [board.machine], {id(board.machine)}
    while waiting:
        machine = waiting.pop()
        if any(invoke.src == "agent.decide" for node in machine.nodes for invoke in node.definition.invoke):
            return True
        for name, source in machine.sources.items():
            if machine.is_machine(name) and id(source) not in seen:
                seen.add(id(source))
                waiting.append(source)
    return False


# -- an endpoint -----------------------------------------------------------------------------------------------------


def endpoint(model: str | None, base_url: str | None) -> Mind:
    """Return an OpenAI-compatible endpoint, asked for ``model`` whatever the machine says, if it is given."""
    from interlock.adapters.openai import openai_executors

    try:
        asked = openai_executors(base_url=base_url)
    except (BindError, MissingExtraError) as error:
        raise UsageError(f"--model openai: {error.message}") from error
    decide, generate, stream = asked.decide, asked.generate_text, asked.stream_text
    assert decide is not None  # noqa: S101  # it has all three
    assert generate is not None  # noqa: S101  # the same
    assert stream is not None  # noqa: S101  # the same
    if model is not None:
        executors = il.Executors(
            decide=lambda request, info: decide(replace(request, model=model), info),
            generate_text=lambda request, info: generate(replace(request, model=model), info),
            stream_text=lambda request, info: stream(replace(request, model=model), info),
        )
    else:
        executors = asked
    name = model or "the endpoint"
    return Mind(executors=executors, decides=lambda _: name, writes=name)


# -- a script --------------------------------------------------------------------------------------------------------


def script(
    board: Board,
    *,
    decide: Callable[[il.DecisionRequest], il.Choice] | None = None,
    write: Callable[[il.TextRequest], str] | None = None,
) -> Mind:
    """Return a script that answers at once, always the same way.

    Without scripts of its own it sends of the offered events the one that was sent least, with plain fields.
    """

    def choose(request: il.DecisionRequest) -> il.Choice:
        refused = [(attempt.event or {}).get("type") for attempt in request.attempts]
        sent = [step.via for step in board.path]
        event = min(request.events, key=lambda event: (refused.count(event.type), sent.count(event.type)))
        fields = cast("Mapping[str, object]", sample(event.input_schema))
        return il.Choice(event={**fields, "type": event.type}, reason="the script takes turns")

    def text(request: il.TextRequest) -> il.TextResult:
        if write is not None:
            return il.TextResult(output=write(request), finish_reason="stop")
        if request.output_schema is not None:
            return il.TextResult(output=sample(request.output_schema), finish_reason="stop")
        return il.TextResult(output=f"(what a model would write for {request.name or request.id})")

    async def stream(request: il.TextRequest, _info: ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
        result = text(request)
        if isinstance(result.output, str):
            yield result.output
        yield result

    executors = il.Executors(
        # Async on purpose: plain functions run in threads.
        decide=lambda request, _info: (decide or choose)(request),
        generate_text=lambda request, _info: text(request),
        stream_text=stream,
    )
    return Mind(executors=executors, writes="the script")


# -- a person --------------------------------------------------------------------------------------------------------


def person(board: Board, screen: Screen) -> Mind:
    """Return the person at the keyboard. Raises :class:`UsageError` where nobody sits there."""
    if not screen.interactive:
        raise UsageError("--model human needs a terminal to ask you in; without one, take --model scripted")
    played = _Person(board, screen)
    executors = il.Executors(decide=played.decide, generate_text=played.write, stream_text=played.stream)
    return Mind(executors=executors, silent=True)


class _Person:
    def __init__(self, board: Board, screen: Screen) -> None:
        self._board = board
        self._screen = screen

    async def decide(self, request: il.DecisionRequest, _info: ExecutorInfo) -> il.Choice:
        return await self._asked(lambda: self._picked(request))

    async def write(self, request: il.TextRequest, _info: ExecutorInfo) -> il.TextResult:
        return await self._asked(lambda: self._written(request))

    async def stream(self, request: il.TextRequest, info: ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
        result = await self.write(request, info)
        if isinstance(result.output, str):
            yield result.output
        yield result

    def _picked(self, request: il.DecisionRequest) -> il.Choice:
        rows = self._board.rows(request)
        if not request.attempts:
            for line in (request.prompt or "").splitlines():
                self._screen.note(line)
            self._screen.moves(self._board.state, rows, weights={}, numbered=True)
            self._screen.note("You play the model. Pick a move; pick an illegal one to see it refused.")
        classes = request.event_classes()
        schemas = {event.type: event.input_schema for event in request.events}
        while True:
            typed = self._screen.ask(f"Which move? [1-{len(rows)}]").lower()
            for number, row in enumerate(rows, 1):
                if typed not in (str(number), row.event.lower()):
                    continue
                event: il.Event | dict[str, object] = {"type": row.event}
                if row.event in classes:
                    event = ask_event(self._screen, classes[row.event])
                elif schemas.get(row.event, {}).get("properties"):
                    event = {**ask_json(self._screen, "Its fields, as JSON:"), "type": row.event}
                return il.Choice(event=event, reason="picked by you")

    def _written(self, request: il.TextRequest) -> il.TextResult:
        name = request.name or "a text"
        self._screen.note(f"You play the model, and write: {name}")
        for message in il.request_messages(request)[-1:]:
            for line in il.get_message_text(message).splitlines():
                self._screen.note(line)
        if request.output_schema is not None:
            return il.TextResult(output=ask_json(self._screen, f"{name}, as JSON:"))
        return il.TextResult(output=self._screen.ask(f"{name}:"), finish_reason="stop")

    async def _asked(self, ask: Callable[[], T]) -> T:
        try:
            with _interruptible():
                return ask()
        except (KeyboardInterrupt, EOFError):
            # No failure of the executor, which the machine would have an answer to: the run itself is given up.
            self._board.leave()
            await anyio.sleep_forever()
            raise


@contextmanager
def _interruptible() -> Generator[None]:
    """Let Ctrl-C end a question: the handler of a running event loop would wait for the answer first."""
    before = getsignal(SIGINT)
    signal(SIGINT, default_int_handler)
    try:
        yield
    finally:
        signal(SIGINT, before)
