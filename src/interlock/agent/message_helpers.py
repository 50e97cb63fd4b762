"""Messages made and read in one call.

>>> user_message("Is it alive?").model_dump(mode="json")
{'role': 'user', 'content': 'Is it alive?'}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from interlock.agent.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    ProviderOptions,
    SystemMessage,
    TextOutput,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from interlock.agent.messages_schema import messages_schema
from interlock.errors import InvalidMessagesError

__all__ = ["assistant_message", "get_message_text", "system_message", "tool_message", "user_message"]


def system_message(content: str, *, provider_options: ProviderOptions | None = None) -> SystemMessage:
    """Return a message that tells the model what to be and do.

    Raises :class:`InvalidMessagesError` for what can be no such message, as the other helpers do for theirs.
    """
    return cast("SystemMessage", _message("system", content, provider_options))


def user_message(
    content: str | Sequence[TextPart | ImagePart | FilePart], *, provider_options: ProviderOptions | None = None
) -> UserMessage:
    """Return what a person says: text, or parts."""
    return cast("UserMessage", _message("user", content, provider_options))


def assistant_message(
    content: str | Sequence[TextPart | FilePart | ToolCallPart | ToolResultPart],
    *,
    provider_options: ProviderOptions | None = None,
) -> AssistantMessage:
    """Return what a model said: text, or parts."""
    return cast("AssistantMessage", _message("assistant", content, provider_options))


def tool_message(content: Sequence[ToolResultPart], *, provider_options: ProviderOptions | None = None) -> ToolMessage:
    """Return what came of tool calls."""
    return cast("ToolMessage", _message("tool", content, provider_options))


def get_message_text(message: SystemMessage | UserMessage | AssistantMessage | ToolMessage) -> str:
    """Return the text of a message: its text parts and the texts that tools answered, a line each."""
    (message,) = messages_schema.validate([message])
    if isinstance(message.content, str):
        return message.content
    found: list[str] = []
    for part in message.content:
        if isinstance(part, TextPart):
            found.append(part.text)
        elif isinstance(part, ToolResultPart) and isinstance(part.output, TextOutput):
            found.append(part.output.value)
    return "\n".join(found)


def _message(role: str, content: object, options: object) -> object:
    given = {"role": role, "content": content, **({} if options is None else {"provider_options": options})}
    try:
        return messages_schema.validate([given])[0]
    except InvalidMessagesError as error:
        problems = [(path.removeprefix("[0]").removeprefix("."), reason) for path, reason in error.problems]
        raise InvalidMessagesError(problems) from None
