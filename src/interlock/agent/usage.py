"""What a machine is told of a model call: whose it was, and what it has consumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

from interlock.statechart import InternalEvent

__all__ = ["CallUsage", "usage_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUsage:
    """One model call, as the machine is told of it before what the call has led to.

    ``kind`` is ``decision``, ``plan``, ``text`` or ``act``. A number of tokens is None where the provider does not say.
    """

    kind: str
    request_id: str
    name: str | None = None
    model: str | None = None
    model_calls: int = 1
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None

    @property
    def tokens(self) -> int:
        """All tokens, as far as the provider says: the total, else input and output."""
        if self.total_tokens is not None:
            return self.total_tokens
        return (self.input_tokens or 0) + (self.output_tokens or 0)


def usage_of(event: object) -> CallUsage:
    """Return what an ``@agent.usage`` event tells."""
    given = cast("Mapping[str, Any]", cast("InternalEvent", event).output)
    known = {field.name for field in fields(CallUsage)}
    told: dict[str, Any] = {"kind": "", "request_id": "", **given}  # a host of the engine alone may say less
    return CallUsage(**{name: value for name, value in told.items() if name in known})
