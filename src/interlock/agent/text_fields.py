"""The keywords that say what a text request is, typed by what their functions are asked with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypedDict, TypeVar

from interlock.agent.fields import InvokeFields
from interlock.agent.messages import AgentMessage
from interlock.agent.requests import JsonObject
from interlock.agent.tools import GivenTools

__all__ = ["InlineTextFields", "TextFields"]

C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input


class TextFields(TypedDict, Generic[I], total=False):
    """What may be said about a text request besides its model; each field is a value or a function of the input."""

    system: str | Callable[[I], str | None]
    prompt: str | Callable[[I], str | None]
    """What is asked. Either this or ``messages``."""
    messages: Sequence[AgentMessage | JsonObject] | Callable[[I], Sequence[AgentMessage | JsonObject]]
    """The transcript that the model goes on with."""
    tools: GivenTools | Callable[[I], GivenTools]
    """Functions that the model may call, and names of those that ``setup_agent(tools=...)`` knows."""
    tool_choice: str | Callable[[I], str | None]
    """``auto``, ``none``, ``required``, or the name of the tool that must be called."""
    max_steps: int | Callable[[I], int]
    """Turns of the model, the one with the answer included; 8, if not given."""
    include_reasoning: bool | Callable[[I], bool]
    """Whether the model says, before a structured answer, how it comes to it; seen in traces only."""
    temperature: float | Callable[[I], float | None]
    max_output_tokens: int | Callable[[I], int | None]
    top_p: float | Callable[[I], float | None]
    top_k: int | Callable[[I], int | None]
    seed: int | Callable[[I], int | None]
    stop_sequences: Sequence[str] | Callable[[I], Sequence[str]]
    metadata: JsonObject | Callable[[I], JsonObject]


class InlineTextFields(InvokeFields[C], TextFields[C], total=False):
    """The same for a request that is written where it is made, whose functions take the context."""

    name: str
    model: str | Callable[[C], str | None]
