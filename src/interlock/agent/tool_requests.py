"""A tool that a model has called, as plain data for hosts that run tools themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter

from interlock.agent.contract import ToolCall
from interlock.agent.received import object_of, read_object
from interlock.agent.text_requests import TextRequest
from interlock.statechart import FrozenDict

__all__ = ["ToolRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A call that waits for its tool: the next one, in call order, of the turn that ``text`` has come to."""

    text: TextRequest
    """The request in whose course the tool was called."""
    call: ToolCall
    kind: Literal["tool"] = "tool"

    @property
    def id(self) -> str:
        """Names the text request, before and after a restart."""
        return self.text.id

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.call.name

    @property
    def call_key(self) -> str | None:
        """The same for the same call before and after a crash, and for no other."""
        return self.text.call_key

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data."""
        call = {"id": self.call.id, "name": self.call.name, "input": self.call.input}
        return {"kind": self.kind, "id": self.id, "call": call, "text": self.text.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolRequest:
        """Return what :meth:`to_json` wrote; raises :class:`InputError` for other data."""
        read = read_object(_reader(), object_of(data, "tool request"), "tool request")
        return cls(text=TextRequest.from_json(read.text), call=read.call)


class _Form(BaseModel, frozen=True):
    """What is written."""

    kind: Literal["tool"] = "tool"
    text: FrozenDict[str, Any]
    call: ToolCall


@cache
def _reader() -> TypeAdapter[_Form]:
    return TypeAdapter(_Form)
