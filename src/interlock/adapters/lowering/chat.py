"""Messages in the form of Chat Completions, which OpenAI and all who are compatible with it take.

Such an endpoint refuses empty texts, tool calls without answers and answers without calls, and since a transcript is
sent again with every turn, one such message would end a run for good. So blank texts are left out (the transcript
itself stays as it is), foreign ids and names are mapped, in pairs, and a torn transcript is refused here, by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TypeAlias, cast

from interlock.adapters.lowering.arguments import readable
from interlock.adapters.lowering.media import data_url, kind_of
from interlock.adapters.lowering.names import wire_call_id, wire_name
from interlock.agent.messages import (
    AgentMessage,
    AssistantMessage,
    ContentOutput,
    ErrorTextOutput,
    FilePart,
    ImagePart,
    SystemMessage,
    TextOutput,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UserMessage,
)
from interlock.agent.transcript import check_transcript
from interlock.errors import UnsupportedRequestError

__all__ = ["ChatMessage", "chat_messages"]

ChatMessage: TypeAlias = dict[str, object]

NOTHING = "(empty)"
"""What stands for a tool's answer without text: it must be answered, and with something."""

_SOUNDS = {"audio/wav": "wav", "audio/mpeg": "mp3"}


def chat_messages(messages: Iterable[AgentMessage], *, place: str) -> list[ChatMessage]:
    """Return messages as an endpoint takes them.

    Arguments:
        messages: all that is sent, in order.
        place: which request this is, for errors.

    Raises :class:`UnsupportedRequestError` for parts that have no form there, for tool calls without answers and
    answers without calls, and where nothing is left to send.
    """
    given = tuple(messages)
    if problems := check_transcript(given):
        listed = "; ".join(f"{problem.path}: {problem.fault}, {problem.reason}" for problem in problems[:5])
        raise UnsupportedRequestError(
            f"{place}: a provider refuses such a transcript: {listed}. Keep tool calls and their results together when "
            "a transcript is cut",
            code="invalid-transcript",
        )
    lowering = _Lowering(place)
    for number, message in enumerate(given):
        lowering.add(message, number)
    return lowering.finish()


class _Lowering:
    def __init__(self, place: str) -> None:
        self._place = place
        self._sent: list[ChatMessage] = []
        self._pictures: list[ChatMessage] = []  # what tools answered in images, until it can be shown
        self._here = ""

    def add(self, message: AgentMessage, number: int) -> None:
        self._here = f"message {number} ({message.role})"
        if isinstance(message, SystemMessage):
            self._say("system", message.content, message.provider_options)
        elif isinstance(message, UserMessage):
            if isinstance(message.content, str):
                self._say("user", message.content, message.provider_options)
            else:
                parts = [made for part in message.content if (made := self._part(part)) is not None]
                self._show(parts, message.provider_options)
        elif isinstance(message, AssistantMessage):
            self._assistant(message)
        else:
            for part in message.content:
                self._answer(part)

    def finish(self) -> list[ChatMessage]:
        self._show_pictures()
        if not self._sent:
            raise UnsupportedRequestError(f"{self._place}: there is nothing to send; all messages are blank")
        return self._sent

    def _say(self, role: str, text: str, options: Mapping[str, Mapping[str, object]] | None) -> None:
        self._show_pictures()
        if text.strip():
            self._sent.append({"role": role, "content": readable(text), **_own(options)})

    def _show(self, parts: list[ChatMessage], options: Mapping[str, Mapping[str, object]] | None) -> None:
        self._show_pictures()
        if parts:
            alone = parts[0]["text"] if len(parts) == 1 and parts[0].keys() == {"type", "text"} else parts
            self._sent.append({"role": "user", "content": alone, **_own(options)})

    def _assistant(self, message: AssistantMessage) -> None:
        self._show_pictures()
        content = (TextPart(text=message.content),) if isinstance(message.content, str) else message.content
        texts: list[str] = []
        calls: list[ChatMessage] = []
        answers: list[ToolResultPart] = []
        for part in content:
            if isinstance(part, TextPart):
                texts.append(readable(part.text))
            elif isinstance(part, ToolCallPart):
                calls.append(self._call(part))
            elif isinstance(part, ToolResultPart):
                answers.append(part)
            else:
                raise self._unsupported("a file that a model made cannot be sent back; leave the part out")
        said: ChatMessage = {"role": "assistant", **_own(message.provider_options)}
        text = "\n".join(text for text in texts if text.strip())
        if text:
            said["content"] = text
        if calls:
            said["tool_calls"] = calls
        if text or calls:
            self._sent.append(said)
        for answer in answers:
            self._answer(answer)

    def _call(self, part: ToolCallPart) -> ChatMessage:
        # Some servers parse what they are sent, and insist on an object.
        given: object = part.input
        if not isinstance(given, Mapping):
            given = {} if given is None else {"value": given}
        function = {"name": wire_name(part.tool_name), "arguments": _json(cast("object", given))}
        return {"id": wire_call_id(part.tool_call_id), "type": "function", "function": function}

    def _answer(self, part: ToolResultPart) -> None:
        output = part.output
        if isinstance(output, TextOutput | ErrorTextOutput):
            text = output.value
        elif isinstance(output, ContentOutput):
            text = "\n".join(piece.text for piece in output.value if isinstance(piece, TextPart))
            pictures = [self._image(piece) for piece in output.value if isinstance(piece, ImagePart)]
            if pictures:
                # A tool message holds text only, and must follow its call; so images come after them all.
                self._pictures.append({"type": "text", "text": f"Images answered by {part.tool_name}:"})
                self._pictures.extend(pictures)
                text = text or "(see the images below)"
        else:
            text = _json(output.value)
        content = readable(text) if text.strip() else NOTHING
        self._sent.append({"role": "tool", "tool_call_id": wire_call_id(part.tool_call_id), "content": content})

    def _show_pictures(self) -> None:
        if self._pictures:
            self._sent.append({"role": "user", "content": self._pictures})
            self._pictures = []

    def _part(self, part: TextPart | ImagePart | FilePart) -> ChatMessage | None:
        if isinstance(part, TextPart):
            options = _own(part.provider_options)
            return {"type": "text", "text": readable(part.text), **options} if part.text.strip() else None
        if isinstance(part, ImagePart):
            return self._image(part)
        return self._file(part)

    def _image(self, part: ImagePart) -> ChatMessage:
        url = part.image if isinstance(part.image, str) else self._url(part.image, part.media_type, "image")
        return {"type": "image_url", "image_url": {"url": url, **_own(part.provider_options)}}

    def _file(self, part: FilePart) -> ChatMessage:
        if isinstance(part.data, str):
            raise self._unsupported(f"a file cannot be sent as a URL ({part.media_type}); read it, and send its bytes")
        url = self._url(part.data, part.media_type, "file")
        kind = url.removeprefix("data:").partition(";")[0]
        if kind.startswith("image/"):
            return {"type": "image_url", "image_url": {"url": url, **_own(part.provider_options)}}
        if kind in _SOUNDS:
            return {"type": "input_audio", "input_audio": {"data": url.partition(",")[2], "format": _SOUNDS[kind]}}
        if kind == "application/pdf":
            return {"type": "file", "file": {"filename": part.filename or "file.pdf", "file_data": url}}
        raise self._unsupported(f"a file of type {kind!r} has no form here; send its text, an image of it, or a PDF")

    def _url(self, data: bytes, declared: str | None, what: str) -> str:
        try:
            return data_url(data, kind_of(data, declared))
        except UnsupportedRequestError as error:
            raise self._unsupported(f"the {what} cannot be sent: {error.message}") from None

    def _unsupported(self, message: str) -> UnsupportedRequestError:
        return UnsupportedRequestError(f"{self._place}: {self._here}: {message}")


def _own(options: Mapping[str, Mapping[str, object]] | None) -> Mapping[str, object]:
    return {} if options is None else options.get("openai", {})


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
