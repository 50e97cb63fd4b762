"""Messages: who says what to a model, in parts. Their JSON is the AI SDK's, so transcripts can move either way.

>>> UserMessage(content="Is it alive?").model_dump(mode="json")
{'role': 'user', 'content': 'Is it alive?'}

Attributes are written as Python writes them (``tool_call_id``), JSON as the AI SDK does (``toolCallId``); data in
either spelling loads. Messages are frozen, hold JSON only (bytes as base64) and may stand in a machine's context.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, cast

from pydantic import (
    AfterValidator,
    AnyUrl,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    Tag,
    WithJsonSchema,
    model_serializer,
)
from pydantic.alias_generators import to_camel

from interlock.agent.plain import PlainJson, plain
from interlock.statechart import FrozenDict

__all__ = [
    "AgentMessage",
    "AssistantMessage",
    "AssistantPart",
    "ContentOutput",
    "ErrorJsonOutput",
    "ErrorTextOutput",
    "FilePart",
    "ImagePart",
    "JsonOutput",
    "MediaData",
    "Part",
    "ProviderOptions",
    "SystemMessage",
    "TextOutput",
    "TextPart",
    "ToolCallPart",
    "ToolMessage",
    "ToolResultOutput",
    "ToolResultPart",
    "UserMessage",
    "UserPart",
]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")  # no base64 text holds a colon


def _media(given: object) -> object:
    """Return bytes, or a URL as text; a text that is no URL is base64, as in the AI SDK."""
    if isinstance(given, bytearray | memoryview):
        return bytes(cast("bytearray", given))
    if isinstance(given, AnyUrl):
        return str(given)
    if not isinstance(given, str) or _URL.match(given):
        return given
    text = "".join(given.split()).translate({ord("-"): "+", ord("_"): "/"})
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is neither bytes, nor a URL, nor base64 text") from None


def _base64(data: bytes | str) -> str:
    return data if isinstance(data, str) else base64.b64encode(data).decode()


MediaData: TypeAlias = Annotated[
    bytes | str,
    BeforeValidator(_media),
    PlainSerializer(_base64, when_used="json"),
    WithJsonSchema({"type": "string", "description": "base64, or a URL"}),
]
"""Bytes, or the URL of where they are (``https:``, ``data:`` ...). Text that is no URL is read as base64."""

if TYPE_CHECKING:
    ProviderOptions: TypeAlias = Mapping[str, Mapping[str, object]]
    """Anything that a provider understands and this library does not, by the provider's name."""
else:  # frozen when it comes in; a type checker need not make its users say so
    ProviderOptions = Annotated[FrozenDict[str, FrozenDict[str, object]], BeforeValidator(plain)]

Words: TypeAlias = Annotated[str, Field(strict=True), AfterValidator(plain)]
"""Text that JSON can carry; bytes are none."""


class _Written(BaseModel, frozen=True):
    """Base of parts and messages: frozen, nothing undeclared, in JSON as the AI SDK writes it."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    @model_serializer(mode="wrap")
    def _write(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, object]:
        # Whatever the dump of the whole is told about aliases, as a machine's context is: JSON has one form. What is
        # not given is left out, since null is nothing that the other side takes there.
        written: dict[str, object] = handler(self)
        if info.mode != "json":
            return written
        names = _json_names(type(self))
        return {names[name][0]: value for name, value in written.items() if value is not None or not names[name][1]}


@cache
def _json_names(kind: type[BaseModel]) -> dict[str, tuple[str, bool]]:
    """Return, for each name in either spelling, the one in JSON, and whether null stands for nothing there."""
    found: dict[str, tuple[str, bool]] = {}
    for name, field in kind.model_fields.items():
        found[name] = found[to_camel(name)] = (to_camel(name), field.default is None)
    return found


# -- parts -------------------------------------------------------------------------------------------------------------


class TextPart(_Written, frozen=True):
    """Text."""

    type: Literal["text"] = "text"
    text: Words
    provider_options: ProviderOptions | None = None


class ImagePart(_Written, frozen=True):
    """An image: its bytes, or where it is."""

    type: Literal["image"] = "image"
    image: MediaData
    media_type: Words | None = None
    provider_options: ProviderOptions | None = None


class FilePart(_Written, frozen=True):
    """A file: its bytes, or where it is, and of which kind (``application/pdf``)."""

    type: Literal["file"] = "file"
    data: MediaData
    media_type: Words
    filename: Words | None = None
    provider_options: ProviderOptions | None = None


class ToolCallPart(_Written, frozen=True):
    """A tool that the model wants to be called, with which input (JSON)."""

    type: Literal["tool-call"] = "tool-call"
    tool_call_id: Words
    tool_name: Words
    input: PlainJson
    provider_options: ProviderOptions | None = None


class TextOutput(_Written, frozen=True):
    """A tool's answer as text."""

    type: Literal["text"] = "text"
    value: Words


class JsonOutput(_Written, frozen=True):
    """A tool's answer as JSON."""

    type: Literal["json"] = "json"
    value: PlainJson


class ErrorTextOutput(_Written, frozen=True):
    """Why a tool did not answer."""

    type: Literal["error-text"] = "error-text"
    value: Words


class ErrorJsonOutput(_Written, frozen=True):
    """Why a tool did not answer, as JSON."""

    type: Literal["error-json"] = "error-json"
    value: PlainJson


class ContentOutput(_Written, frozen=True):
    """A tool's answer in texts and images."""

    type: Literal["content"] = "content"
    value: tuple[Annotated[TextPart | ImagePart, Field(discriminator="type")], ...]


ToolResultOutput: TypeAlias = Annotated[
    TextOutput | JsonOutput | ErrorTextOutput | ErrorJsonOutput | ContentOutput, Field(discriminator="type")
]
"""What a tool answered."""


class ToolResultPart(_Written, frozen=True):
    """What came of a tool call."""

    type: Literal["tool-result"] = "tool-result"
    tool_call_id: Words
    tool_name: Words
    output: ToolResultOutput
    provider_options: ProviderOptions | None = None


Part: TypeAlias = TextPart | ImagePart | FilePart | ToolCallPart | ToolResultPart

UserPart: TypeAlias = Annotated[TextPart | ImagePart | FilePart, Field(discriminator="type")]
"""What a user's message may hold."""

AssistantPart: TypeAlias = Annotated[TextPart | FilePart | ToolCallPart | ToolResultPart, Field(discriminator="type")]
"""What a model's message may hold."""


# -- messages ----------------------------------------------------------------------------------------------------------


def _kind(content: object) -> str:
    return "text" if isinstance(content, str) else "parts"


class SystemMessage(_Written, frozen=True):
    """What the model is told to be and do."""

    role: Literal["system"] = "system"
    content: Words
    provider_options: ProviderOptions | None = None


class UserMessage(_Written, frozen=True):
    """What a person, or the program on their behalf, says to the model."""

    role: Literal["user"] = "user"
    content: Annotated[
        Annotated[Words, Tag("text")] | Annotated[tuple[UserPart, ...], Tag("parts")], Discriminator(_kind)
    ]
    provider_options: ProviderOptions | None = None


class AssistantMessage(_Written, frozen=True):
    """What the model says, and which tools it calls."""

    role: Literal["assistant"] = "assistant"
    content: Annotated[
        Annotated[Words, Tag("text")] | Annotated[tuple[AssistantPart, ...], Tag("parts")], Discriminator(_kind)
    ]
    provider_options: ProviderOptions | None = None


class ToolMessage(_Written, frozen=True):
    """What came of the tool calls of the message before."""

    role: Literal["tool"] = "tool"
    content: tuple[ToolResultPart, ...]
    provider_options: ProviderOptions | None = None


AgentMessage: TypeAlias = Annotated[
    SystemMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")
]
"""A message of any role; ``tuple[AgentMessage, ...]`` is a context field that holds a transcript."""
