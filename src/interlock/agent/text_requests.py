"""A request for text, as plain data: what an executor is given, and the messages that it sends."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal, TypeAlias

from pydantic import TypeAdapter

from interlock.agent.message_helpers import system_message, user_message
from interlock.agent.messages import AgentMessage
from interlock.agent.messages_schema import messages_schema
from interlock.agent.received import object_of, read_object
from interlock.agent.requests import DecisionRequest, JsonObject

__all__ = ["TextMode", "TextRequest", "ToolDescriptor", "request_messages"]

TextMode: TypeAlias = Literal["generate", "stream"]
"""Whether the answer comes whole or in pieces; it is the same answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDescriptor:
    """A tool as a model sees it; ``input_schema`` is a JSON schema of an object."""

    name: str
    description: str
    input_schema: JsonObject

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data."""
        return {"name": self.name, "description": self.description, "input_schema": dict(self.input_schema)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRequest:
    """One model turn that is asked for: the words, what the turns before it came to, and what may be answered.

    Exactly one of ``prompt`` and ``messages`` is given. Every call of one request is given the same words and one more
    turn; :func:`request_messages` puts all of it in the order in which a provider takes it.
    """

    id: str
    """Names this request and no other, before and after a restart."""
    kind: Literal["text", "act"] = "text"
    """``act``: some of its tools are events of the machine, and running them is the machine's business."""
    src: str = "agent.generate_text"
    name: str | None = None
    mode: TextMode = "generate"
    model: str | None = None
    system: str | None = None
    prompt: str | None = None
    messages: tuple[AgentMessage, ...] = ()
    turns: tuple[AgentMessage, ...] = ()
    """What the model has said in this request so far, and what its tools have answered."""
    tools: tuple[ToolDescriptor, ...] = ()
    tool_choice: str | None = None
    """``auto``, ``none``, ``required``, or the name of the tool that must be called."""
    max_steps: int = 8
    """How many turns the model may take, the one with the answer included."""
    steps_remaining: int = 8
    """How many of them are left; tools that are called on the last one are not run."""
    output_schema: JsonObject | None = None
    """The JSON schema of the answer; None where it is text."""
    include_reasoning: bool = False
    """Whether the model is asked to say, before a structured answer, how it comes to it."""
    temperature: float | None = None
    max_output_tokens: int | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop_sequences: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict[str, object])
    call_key: str | None = None
    """The key of this very call, the same before and after a crash, where the request is handed out as data; an
    executor that a run calls finds it in its info."""

    def with_turns(self, turns: tuple[AgentMessage, ...], *, steps_remaining: int) -> TextRequest:
        """Return this request as it is asked after these turns."""
        return replace(self, turns=turns, steps_remaining=steps_remaining)

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data; messages as the AI SDK writes them."""
        return {
            "kind": self.kind,
            "id": self.id,
            "src": self.src,
            "name": self.name,
            "mode": self.mode,
            "model": self.model,
            "system": self.system,
            "prompt": self.prompt,
            "messages": messages_schema.dump(self.messages),
            "turns": messages_schema.dump(self.turns),
            "tools": [tool.to_json() for tool in self.tools],
            "tool_choice": self.tool_choice,
            "max_steps": self.max_steps,
            "steps_remaining": self.steps_remaining,
            "output_schema": None if self.output_schema is None else dict(self.output_schema),
            "include_reasoning": self.include_reasoning,
            "temperature": self.temperature,
            "max_output_tokens": self.max_output_tokens,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "seed": self.seed,
            "stop_sequences": list(self.stop_sequences),
            "metadata": dict(self.metadata),
            "call_key": self.call_key,
        }

    @classmethod
    def from_json(cls, data: JsonObject) -> TextRequest:
        """Return what :meth:`to_json` wrote.

        Raises :class:`InvalidMessagesError` for messages that are none, :class:`InputError` for what is no text
        request.
        """
        given = object_of(data, "text request")
        for name in ("messages", "turns"):
            messages_schema.validate(given.get(name, ()))
        return read_object(_reader(), given, "text request")


@cache
def _reader() -> TypeAdapter[TextRequest]:
    return TypeAdapter(TextRequest)


def request_messages(request: TextRequest | DecisionRequest) -> tuple[AgentMessage, ...]:
    """Return all messages of a request in order: the system text, the messages or the prompt, the turns so far.

    The refused choices of a decision are not among them: they are data, and whoever asks puts them into words.
    """
    system = () if request.system is None else (system_message(request.system),)
    asked = () if request.prompt is None else (user_message(request.prompt),)
    turns = request.turns if isinstance(request, TextRequest) else ()
    return (*system, *request.messages, *asked, *turns)
