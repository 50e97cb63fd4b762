"""Answers of Chat Completions, read: one form for what comes whole and for what comes in pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from interlock.adapters.lowering.arguments import readable
from interlock.agent.contract import FinishReason, Usage

__all__ = ["Assembly", "Completion", "WrittenCall", "read_completion"]

Json: TypeAlias = Mapping[str, object]

_REASONS: dict[object, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "content_filter": "content-filter",
}


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A tool call as the model wrote it; ``arguments`` is text that ought to be JSON."""

    id: str
    name: str
    arguments: object


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered. ``raw`` is the answer as the provider gave it, its own finish reason included."""

    text: str
    refusal: str | None
    calls: tuple[WrittenCall, ...]
    finish_reason: FinishReason
    reasoning: str | None
    usage: Usage | None
    raw: Json


def read_completion(raw: Json) -> Completion | None:
    """Return an answer, read; None where the provider's JSON holds no answer at all."""
    choices = raw.get("choices")
    first = cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None
    choice = _object(first)
    message = _object(choice.get("message"))
    if not message:
        return None
    calls = tuple(
        WrittenCall(_text(call.get("id")), _text(function.get("name")), function.get("arguments"))
        for call in _objects(message.get("tool_calls"))
        if (function := _object(call.get("function")))
    )
    finish = _REASONS.get(choice.get("finish_reason"), "other")
    return Completion(
        text=_text(message.get("content")),
        refusal=_text(message.get("refusal")) or None,
        calls=calls,
        # Whoever is forced to call one certain tool "stops" with it, at some providers.
        finish_reason="tool-calls" if calls and finish == "stop" else finish,
        reasoning=_text(message.get("reasoning_content") or message.get("reasoning")) or None,
        usage=_usage(_object(raw.get("usage"))),
        raw=raw,
    )


class Assembly:
    """Puts an answer together from its pieces, so that it ends up as if it had come whole."""

    def __init__(self) -> None:
        self._head: dict[str, object] = {}
        self._message: dict[str, object] = {"role": "assistant", "content": None, "refusal": None}
        self._calls: dict[int, dict[str, object]] = {}
        self._finish: object = None
        self._usage: object = None

    @property
    def finished(self) -> bool:
        """Whether the provider has said why it stopped; a stream that ends before that has broken off."""
        return self._finish is not None

    def add(self, chunk: Json) -> str:
        """Take one piece; return the text in it, "" if there is none."""
        self._head |= {name: chunk[name] for name in ("id", "created", "model") if chunk.get(name) is not None}
        # Some providers count from the beginning in every piece, most count once, in the last: so the last counts.
        self._usage = chunk.get("usage") or self._usage
        text = ""
        for choice in _objects(chunk.get("choices")):
            if choice.get("index", 0) != 0:
                continue
            delta = _object(choice.get("delta"))
            text += self._join("content", delta)
            for name in ("refusal", "reasoning_content", "reasoning"):
                self._join(name, delta)
            for piece in _objects(delta.get("tool_calls")):
                self._call(piece)
            self._finish = choice.get("finish_reason") or self._finish
        return readable(text)

    def whole(self) -> dict[str, object]:
        """Return what has come so far in the form of an answer that comes whole."""
        if self._calls:
            self._message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        choice = {"index": 0, "finish_reason": self._finish, "message": self._message}
        return {**self._head, "object": "chat.completion", "choices": [choice], "usage": self._usage}

    def _join(self, name: str, delta: Json) -> str:
        piece = delta.get(name)
        if not isinstance(piece, str) or not piece:
            return ""
        self._message[name] = f"{self._message.get(name) or ''}{piece}"
        return piece

    def _call(self, piece: Json) -> None:
        index = piece.get("index")
        if not isinstance(index, int):  # left out where there is only one call in a piece
            index = max(self._calls, default=0) if not piece.get("id") else len(self._calls)
        call = self._calls.setdefault(index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        call["id"] = piece.get("id") or call["id"]
        whole = cast("dict[str, object]", call["function"])
        function = _object(piece.get("function"))
        # A name comes once, but some servers repeat it with every piece; arguments come in pieces.
        whole["name"] = function.get("name") or whole["name"]
        whole["arguments"] = f"{whole['arguments']}{function.get('arguments') or ''}"


def _usage(given: Json) -> Usage | None:
    if not given:
        return None
    read = _object(given.get("prompt_tokens_details"))
    written = _object(given.get("completion_tokens_details"))
    usage = Usage(
        input_tokens=_count(given.get("prompt_tokens")),
        output_tokens=_count(given.get("completion_tokens")),
        total_tokens=_count(given.get("total_tokens")),
        reasoning_tokens=_count(written.get("reasoning_tokens")),
        cached_input_tokens=_count(read.get("cached_tokens")),
    )
    return None if usage == Usage() else usage


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _text(value: object) -> str:
    if isinstance(value, list):  # parts, at some providers
        return "".join(_text(part.get("text")) for part in _objects(cast("object", value)))
    return readable(value) if isinstance(value, str) else ""


def _object(value: object) -> Json:
    return cast("Json", value) if isinstance(value, Mapping) else {}


def _objects(value: object) -> list[Json]:
    if not isinstance(value, list):
        return []
    return [cast("Json", item) for item in cast("list[object]", value) if isinstance(item, Mapping)]
