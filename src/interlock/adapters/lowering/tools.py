"""Tools as Chat Completions take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from interlock.adapters.lowering.schemas import object_schema, restored, strict_schema
from interlock.errors import UnsupportedRequestError

__all__ = ["MOST_TOOLS", "WireTool", "check_count", "wire_tool"]

MOST_TOOLS = 128
"""Tools that may stand in one request."""

_LONGEST_DESCRIPTION = 1024


@dataclass(frozen=True, slots=True)
class WireTool:
    """A tool as it is sent, and what its name and its arguments stand for when they come back."""

    name: str
    schema: Mapping[str, object]
    strict: bool
    sent: Mapping[str, object]

    def arguments(self, given: Mapping[str, object]) -> object:
        """Return what a model wrote as the tool's own schema means it."""
        return restored(self.schema, given) if self.strict else dict(given)


def wire_tool(*, name: str, wire: str, description: str, schema: Mapping[str, object], strict: bool) -> WireTool:
    """Return a tool as it is sent.

    Arguments:
        name: what the tool is called here.
        wire: what it is called there.
        description: what it is for; cut after 1024 characters, which is all that a provider takes.
        schema: the JSON schema of its arguments.
        strict: whether decoding shall be constrained, where the schema can be said so.
    """
    closed = strict_schema(schema) if strict else None
    function: dict[str, object] = {"name": wire}
    if description.strip():
        said = description.strip()
        cut = len(said) > _LONGEST_DESCRIPTION
        function["description"] = f"{said[: _LONGEST_DESCRIPTION - 3]}..." if cut else said
    function["parameters"] = object_schema(schema) if closed is None else closed
    if closed is not None:
        function["strict"] = True
    return WireTool(name, schema, closed is not None, {"type": "function", "function": function})


def check_count(tools: Sequence[object], *, place: str, advice: str) -> None:
    """Raise where there are more tools than a provider takes; it would say so less clearly."""
    if len(tools) > MOST_TOOLS:
        raise UnsupportedRequestError(
            f"{place}: {len(tools)} tools, and a provider takes at most {MOST_TOOLS}; {advice}", code="too-many-tools"
        )
