"""What a provider would refuse in a transcript, found before it is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from interlock.agent.messages import AgentMessage, ToolCallPart, ToolResultPart
from interlock.agent.messages_schema import messages_schema

__all__ = ["TranscriptFault", "TranscriptProblem", "check_transcript", "open_calls"]

TranscriptFault: TypeAlias = Literal[
    "call-without-result",
    "result-without-call",
    "result-before-call",
    "result-too-late",
    "duplicate-id",
    "empty-id",
    "other-tool",
]
"""What can be wrong between a tool call and its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptProblem:
    """One thing that a provider would refuse, and where it is (``[2].content[0]``)."""

    fault: TranscriptFault
    path: str
    tool_call_id: str
    reason: str


def check_transcript(messages: Sequence[AgentMessage | Mapping[str, object]]) -> tuple[TranscriptProblem, ...]:
    """Return what a strict provider would refuse, in the order of the messages; nothing, if it would take them.

    Each tool call has a result of its own, of the same tool, in the same message or in the tool messages right behind
    it, and no id is used twice. Takes messages or their JSON; raises :class:`InvalidMessagesError` for what is neither.
    """
    found = _problems(messages_schema.validate(messages))
    return tuple(problem for _, problem in sorted(found, key=lambda item: item[0]))


def open_calls(messages: Sequence[AgentMessage]) -> tuple[str, ...]:
    """Return the ids of the tool calls that have no result, in call order."""
    calls = [part.tool_call_id for _, _, part in _parts(messages) if isinstance(part, ToolCallPart)]
    results = {part.tool_call_id for _, _, part in _parts(messages) if isinstance(part, ToolResultPart)}
    return tuple(call for call in calls if call not in results)


def _problems(messages: Sequence[AgentMessage]) -> Iterator[tuple[tuple[int, int], TranscriptProblem]]:
    calls: dict[str, tuple[int, int]] = {}
    names: dict[str, str] = {}
    results: dict[str, tuple[int, int]] = {}
    early: dict[str, tuple[int, int]] = {}
    for at, place, part in _parts(messages):
        identity = part.tool_call_id
        what = "call" if isinstance(part, ToolCallPart) else "result"
        if not identity:
            yield place, _problem("empty-id", place, identity, f"a tool {what} needs an id")
        elif isinstance(part, ToolCallPart):
            if identity in calls:
                yield place, _problem("duplicate-id", place, identity, f"{_at(calls[identity])} has this id already")
            calls.setdefault(identity, place)
            names.setdefault(identity, part.tool_name)
        elif identity in results:
            yield (
                place,
                _problem("duplicate-id", place, identity, f"{_at(results[identity])} is a result of it already"),
            )
        elif identity not in calls:
            early[identity] = results[identity] = place
        else:
            results[identity] = place
            if calls[identity][0] != _asker(messages, at):
                reason = f"the call is {_at(calls[identity])}, and another message stands between them"
                yield place, _problem("result-too-late", place, identity, reason)
            if names[identity] != part.tool_name:
                reason = (
                    f"the call {_at(calls[identity])} is of {names[identity]!r}, and this answers {part.tool_name!r}"
                )
                yield place, _problem("other-tool", place, identity, reason)
    for identity, place in early.items():
        if identity in calls:
            yield place, _problem("result-before-call", place, identity, f"the call is {_at(calls[identity])}")
        else:
            yield place, _problem("result-without-call", place, identity, "no message calls a tool with this id")
    for identity, place in calls.items():
        if identity not in results:
            yield place, _problem("call-without-result", place, identity, "no tool message answers it")


def _asker(messages: Sequence[AgentMessage], at: int) -> int:
    """Return which message a result at this place must belong to: the last before it that is not a tool's."""
    while at >= 0 and messages[at].role == "tool":
        at -= 1
    return at


def _parts(
    messages: Sequence[AgentMessage],
) -> Iterator[tuple[int, tuple[int, int], ToolCallPart | ToolResultPart]]:
    for at, message in enumerate(messages):
        if not isinstance(message.content, str):
            for number, part in enumerate(message.content):
                if isinstance(part, ToolCallPart | ToolResultPart):
                    yield at, (at, number), part


def _problem(fault: TranscriptFault, place: tuple[int, int], identity: str, reason: str) -> TranscriptProblem:
    return TranscriptProblem(fault=fault, path=_at(place), tool_call_id=identity, reason=reason)


def _at(place: tuple[int, int]) -> str:
    return f"[{place[0]}].content[{place[1]}]"
