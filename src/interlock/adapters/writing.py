"""A real model that writes, in this process: no key, no server, no graphics card, and no network once it is fetched.

It is SmolLM2-135M-Instruct, 98 MB, at about 70 tokens a second on one core. It is the smallest model that writes at
all, and it is weak: a plausible sentence or two, and values copied out of a text (a number, a name) three times out of
four. It does not reason, knows little, and repeats itself. What it can be relied on for is the form: structured answers
and choices are held to their schemas token by token, so an event that is not offered cannot be written.

Choosing is what it cannot do at all: of four events it names the same one, whatever is said
(``tests/adapters/test_writing_accuracy.py``). :func:`interlock.adapters.local.local_executors` chooses by meaning and
has the fields written by this.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from threading import Event as Flag
from threading import Thread
from typing import cast, final

import anyio.to_thread

from interlock.adapters.constraint import choice_schema, grammar
from interlock.adapters.llama import Engine, Piece, load, require_package
from interlock.adapters.lowering.arguments import Malformed, read_arguments
from interlock.adapters.lowering.chat import chat_messages
from interlock.adapters.lowering.completions import Assembly, Completion, read_completion
from interlock.adapters.lowering.failures import broken_off
from interlock.adapters.lowering.outcomes import check_whole, paid
from interlock.adapters.lowering.text_form import TextForm
from interlock.adapters.weights import fetch
from interlock.agent.contract import Choice, ExecutorInfo, Executors, TextResult
from interlock.agent.descriptors import EventDescriptor
from interlock.agent.envelope import provider_output_schema
from interlock.agent.messages import AgentMessage
from interlock.agent.rendering import render_decision_attempts, render_plan_trail
from interlock.agent.requests import DecisionRequest
from interlock.agent.text_requests import TextRequest, request_messages
from interlock.errors import UnsupportedRequestError, WeightsError

__all__ = ["local_writer"]


def local_writer(
    *,
    weights: str | Path | None = None,
    max_output_tokens: int = 512,
    context: int = 4096,
    threads: int = 1,
) -> Executors:
    """Return executors for text, streams and decisions that a model in this process writes.

    The first call on a machine fetches the weights (93 MB, with a progress bar on stderr); each first call in a
    process loads them (0.4 s). Requests are answered one after the other, off the event loop, and one that nobody waits
    for any more ends between two tokens. A request's ``model`` is not looked at: there is one.

    Without a temperature the likeliest token is taken, so the same request has the same answer on the same processor,
    whatever was asked before; with a ``seed`` that holds at any temperature. After a refused choice the temperature is
    0.8; what was wrong with it is told only to weights of your own, since the small model would just repeat it.

    Decoding is constrained to the answer's schema, and to the events that are offered with their fields; keywords that
    the engine does not know are left to the check that follows anyway. Tools are not called, images and files not read:
    a request with them is refused.

    Arguments:
        weights: a GGUF file of your own with a chat template; SmolLM2-135M-Instruct, if not given.
        max_output_tokens: limit of an answer where the request has none.
        context: tokens that a request and its answer may have together; each costs 23 kB of memory.
        threads: how many threads work on an answer. More are faster only as long as nothing else wants the cores.

    Raises:
        MissingExtraError: at once, where the engine is not installed or cannot run.
        WeightsError: at once, where the weights are not there and cannot be fetched.
        ProviderError: at once, where the engine cannot load them.
        ValueError: a number that is not positive.
    """
    for name, number in {"max_output_tokens": max_output_tokens, "context": context, "threads": threads}.items():
        if number < 1:
            raise ValueError(f"{name} is at least 1, not {number!r}")
    require_package()  # before 93 MB are fetched for nothing
    if weights is None:
        file = fetch()
    elif not (file := Path(weights).expanduser()).is_file():
        raise WeightsError(f"there is no file {file}: give the path of a GGUF file, or nothing, to fetch a small model")
    writer = _Writer(
        file, max_output_tokens=max_output_tokens, context=context, threads=threads, hears=weights is not None
    )
    writer.engine()
    return Executors(generate_text=writer.generate_text, stream_text=writer.stream_text, decide=writer.decide)


@final
class _Writer:
    def __init__(self, weights: Path, *, max_output_tokens: int, context: int, threads: int, hears: bool) -> None:
        self._weights = weights
        self._longest = max_output_tokens
        self._context = context
        self._threads = threads
        # Told what was wrong with its choice, the small model makes it again: it copies what it has just read. So it is
        # not told, and left to chance; weights that somebody chose may well be able to listen.
        self._hears = hears

    def engine(self) -> Engine:
        return load(self._weights, context=self._context, threads=self._threads)

    async def generate_text(self, request: TextRequest, _info: ExecutorInfo) -> TextResult:
        """Write one answer, and return it when it is whole."""
        form, turn = self._text(request)
        return form.read(await turn.written())

    async def stream_text(self, request: TextRequest, _info: ExecutorInfo) -> AsyncIterator[str | TextResult]:
        """Write one answer, and show its text as it comes; a structured answer has no text to show."""
        form, turn = self._text(request)
        pieces: SimpleQueue[str | Completion | BaseException] = SimpleQueue()

        def write() -> None:
            try:
                pieces.put(turn.write(pieces.put))
            except BaseException as error:  # noqa: BLE001  # raised again where it is awaited
                pieces.put(error)

        Thread(target=write, name="interlock local writer").start()
        try:
            while True:
                piece = await anyio.to_thread.run_sync(pieces.get, abandon_on_cancel=True)
                if isinstance(piece, BaseException):
                    raise piece
                if isinstance(piece, Completion):
                    yield form.read(piece)
                    return
                if not form.structured:
                    yield piece
        finally:
            turn.stop()

    async def decide(self, request: DecisionRequest, _info: ExecutorInfo) -> Choice:
        """Choose one of the offered events, and write its fields."""
        place = f"decision {request.name or request.id!r}"
        refused = sum(attempt.counts for attempt in request.attempts)
        body = {
            "messages": self._messages(_decision_messages(request, retold=self._hears), place),
            "grammar": grammar(choice_schema(request.events)),
            **self._settings(request, temperature=0.8 if refused else 0.0, seed=refused),
        }
        completion = await _Turn(self.engine(), body, place).written()
        with paid(completion):
            check_whole(completion, request, whole=True)
        answer, raw = read_arguments(completion.text), dict(completion.raw)
        if isinstance(answer, Malformed):
            problem = answer.reason.replace("the arguments are", "the answer is")
            return Choice(event={"text": answer.text}, usage=completion.usage, raw=raw, problem=problem)
        return Choice(event=answer, usage=completion.usage, raw=raw)

    def _text(self, request: TextRequest) -> tuple[TextForm, _Turn]:
        place = f"text request {request.name or request.id!r}"
        if request.tools and request.tool_choice != "none":
            raise UnsupportedRequestError(
                f"{place}: the local writer calls no tools; ask another model, or give tool_choice='none'"
            )
        body: dict[str, object] = {"messages": self._messages(request_messages(request), place)}
        if request.output_schema is not None:
            body["grammar"] = grammar(_with_an_end(provider_output_schema(request)))
        else:
            # A small model goes round in circles. Where a value is to be copied, repeating is what is wanted.
            body["repeat_penalty"] = 1.1
        body |= self._settings(request, temperature=0.0, seed=0)
        return TextForm(request, {}, {}, strict_output=False), _Turn(self.engine(), body, place)

    def _messages(self, messages: tuple[AgentMessage, ...], place: str) -> list[dict[str, object]]:
        lowered = chat_messages(messages, place=place)
        return [{**message, "content": _only_text(message.get("content"), place)} for message in lowered]

    def _settings(
        self, request: TextRequest | DecisionRequest, *, temperature: float, seed: int
    ) -> Mapping[str, object]:
        said = {
            "temperature": temperature if request.temperature is None else request.temperature,
            "seed": seed if request.seed is None else request.seed + seed,
            "max_tokens": request.max_output_tokens or self._longest,
            "top_p": request.top_p,
            "top_k": request.top_k,
            "stop": list(request.stop_sequences) or None,
            "stream_options": {"include_usage": True},
        }
        return {name: value for name, value in said.items() if value is not None}


@final
class _Turn:
    """One answer being written; it may be told from elsewhere that nobody wants it any more."""

    def __init__(self, engine: Engine, body: Mapping[str, object], place: str) -> None:
        self._engine = engine
        self._body = body
        self._place = place
        self._stopped = Flag()

    async def written(self) -> Completion:
        """Return the whole answer, written in a thread."""
        try:
            return await anyio.to_thread.run_sync(self.write, abandon_on_cancel=True)
        finally:
            self.stop()

    def stop(self) -> None:
        """End the answer with the next token."""
        self._stopped.set()

    def write(self, show: Callable[[str], object] | None = None) -> Completion:
        """Return the whole answer; ``show`` gets its text piece by piece."""
        assembly = Assembly()

        def take(piece: Piece) -> bool:
            # Neither the id nor the time of an answer says anything, and both would make equal answers unequal.
            text = assembly.add({name: value for name, value in piece.items() if name not in ("id", "created")})
            if text and show is not None:
                show(text)
            return self._stopped.is_set()

        if not self._stopped.is_set():
            self._engine.answer(self._body, take, place=self._place)
        raw = assembly.whole()
        completion = read_completion(raw) if assembly.finished else None
        if completion is None:
            raise broken_off(self._place, raw)
        return completion


def _with_an_end(envelope: Mapping[str, object]) -> Mapping[str, object]:
    """Return an envelope whose reasoning is bounded: a small model does not find the end of it."""
    fields = cast("Mapping[str, Mapping[str, object]]", envelope["properties"])
    if "reasoning" not in fields:
        return envelope
    return {**envelope, "properties": {**fields, "reasoning": {**fields["reasoning"], "maxLength": 400}}}


def _decision_messages(request: DecisionRequest, *, retold: bool) -> tuple[AgentMessage, ...]:
    system = request.system or ""
    if len(request.events) > 1:
        # The choice has to be told; fields are not: named in the prompt, they are copied instead of filled.
        system = f"{system}\n\nAnswer in JSON with one of:\n{_listed(request.events)}".strip()
    said = request_messages(replace(request, system=system or None))
    return (*said, *render_plan_trail(request), *(render_decision_attempts(request) if retold else ()))


def _listed(events: tuple[EventDescriptor, ...]) -> str:
    return "\n".join(f"{event.type}: {' '.join(event.description.split())}".rstrip(": ") for event in events)


def _only_text(content: object, place: str) -> str:
    """Return the text of a message; its template takes nothing else."""
    if not isinstance(content, list):
        return str(content or "")
    texts: list[str] = []
    for part in cast("list[Mapping[str, object]]", content):
        if part.get("type") != "text":
            raise UnsupportedRequestError(f"{place}: the local writer reads text only, and this has a {part['type']}")
        texts.append(str(part.get("text", "")))
    return "\n".join(texts)
