"""From untrusted data to messages: what is wrong with it, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from interlock.agent.messages import AgentMessage
from interlock.agent.reasons import short
from interlock.errors import InvalidMessagesError, did_you_mean

__all__ = ["MessagesSchema", "messages_schema"]

_PARTS = ("text", "image", "file", "tool-call", "tool-result")
_TOPS = {"dict_type", "model_type", "model_attributes_type"}


class MessagesSchema:
    """The schema of a transcript. ``tuple[AgentMessage, ...]`` is the same, as the type of a context's field."""

    def validate(self, value: object) -> tuple[AgentMessage, ...]:
        """Return data as messages, in either spelling, or what are messages already.

        Raises :class:`InvalidMessagesError` with the path of everything that is wrong.
        """
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            raise InvalidMessagesError(_problems(error.errors(include_url=False), value)) from None

    def accepts(self, value: object) -> bool:
        """Whether data is a list of messages."""
        try:
            self.validate(value)
        except InvalidMessagesError:
            return False
        return True

    def dump(self, messages: Sequence[AgentMessage]) -> list[dict[str, object]]:
        """Return messages as JSON data, spelled as the AI SDK spells them, bytes as base64."""
        return [message.model_dump(mode="json") for message in messages]

    @cached_property
    def _adapter(self) -> TypeAdapter[tuple[AgentMessage, ...]]:
        return TypeAdapter(tuple[AgentMessage, ...])


messages_schema = MessagesSchema()
"""Reads transcripts: ``messages_schema.validate(data)``."""


def _problems(items: Sequence[ErrorDetails], value: object) -> list[tuple[str, str]]:
    """Return what is wrong. Of a part that cannot stand where it stands, nothing else is said."""
    found = [(_path(item, value), _reason(item)) for item in items]
    foreign = tuple(path.removesuffix("type") for (path, _), item in zip(found, items, strict=True) if _is_kind(item))
    kept: list[tuple[str, str]] = []
    for (path, reason), item in zip(found, items, strict=True):
        if _is_kind(item):
            kept.append((path.removesuffix(".type"), reason))
        elif not path.startswith(foreign):
            kept.append((path, reason))
    return kept


def _is_kind(item: ErrorDetails) -> bool:
    """Whether a part is of another type than the only one that is possible in its place."""
    return item["type"] == "literal_error" and item["loc"][-1:] == ("type",)


def _path(item: ErrorDetails, value: object) -> str:
    """Return where the data is wrong, without the alternatives that the schema has gone through on its way there."""
    shown = ""
    here = value
    last = len(item["loc"]) - 1
    for number, step in enumerate(item["loc"]):
        if isinstance(step, int):
            shown += f"[{step}]"
            here = cast("Sequence[object]", here)[step] if isinstance(here, list | tuple) else None
        elif isinstance(here, Mapping) and step in here:
            shown += f".{step}"
            here = cast("Mapping[str, object]", here)[step]
        elif number == last and item["type"] == "missing":
            shown += f".{step}"
    return shown.removeprefix(".") or "value"


def _reason(item: ErrorDetails) -> str:
    given = item["input"]
    match item["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return "is nothing that a message has; what only a provider understands goes into provider_options"
        case "union_tag_not_found":
            tag = str(item.get("ctx", {}).get("discriminator", "")).strip("'")
            return f"needs a {tag!r}"
        case "union_tag_invalid":
            return _wrong_tag(item.get("ctx", {}))
        case "tuple_type":
            wanted = "text or a list of parts" if item["loc"][-1:] == ("parts",) else "a list"
            return f"needs {wanted}, not {short(given)}"
        case "literal_error" if _is_kind(item):
            return _wrong_type(str(given), [str(item.get("ctx", {}).get("expected")).strip("'")])
        case "value_error":
            return item["msg"].removeprefix("Value error, ")
        case kind if kind in _TOPS:
            return f"needs an object, not {short(given)}"
        case _:
            return f"{item['msg'][:1].lower()}{item['msg'][1:]} (given: {short(given)})"


def _wrong_tag(context: Mapping[str, object]) -> str:
    tag, of = str(context.get("tag")), str(context.get("discriminator")).strip("'")
    expected = [name.strip(" '") for name in str(context.get("expected_tags")).split(",")]
    if of == "role":
        return f"there is no role {tag[:40]!r}. {did_you_mean(tag[:40], expected)}"
    return _wrong_type(tag, expected)


def _wrong_type(given: str, expected: Sequence[str]) -> str:
    if given in _PARTS and set(expected) <= set(_PARTS):
        return f"a part of type {given!r} cannot stand here; possible are: {', '.join(expected)}"
    return f"there is no type {given[:40]!r} here. {did_you_mean(given[:40], expected)}"
