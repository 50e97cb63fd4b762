"""What a log keeps of a model's answer beside what the machine gets: what it cost, why it ended, why it was given."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from pydantic_core import to_json

from interlock.agent.contract import Choice, TextResult, Usage
from interlock.agent.reasons import reason_of
from interlock.agent.requests import DecisionRequest
from interlock.agent.text_requests import TextRequest
from interlock.statechart.frozen import freeze

__all__ = ["cost_of", "noted_choice", "noted_turn", "spent"]


def spent(request: DecisionRequest | TextRequest, usage: Usage | None = None) -> dict[str, object]:
    """Return what one call for ``request`` has consumed, whatever came of it: as JSON, for the log and the machine."""
    found: dict[str, object] = {"kind": request.kind, "request_id": request.id, "name": request.name}
    if request.model is not None:
        found["model"] = request.model
    found["model_calls"] = 1
    if usage is not None:
        for field in fields(usage):
            if (value := getattr(usage, field.name)) is not None:
                found[field.name] = value
    return found


def cost_of(error: BaseException) -> Usage | None:
    """Return what a call has cost that failed with ``error``, where whoever raised it has said so (``error.usage``)."""
    try:
        found = getattr(error, "usage", None)
    except Exception:  # noqa: BLE001  # exceptions are other people's code
        return None
    return found if isinstance(found, Usage) else None


def noted_choice(choice: Choice, *, raw: bool = False) -> dict[str, object]:
    """Return what is kept beside a decision's answer; ``raw``: the provider's own answer as well."""
    found: dict[str, object] = {}
    if isinstance(choice.reason, str):
        found["reason"] = _text(choice.reason)
    return _with_raw(found, choice.raw) if raw else found


def noted_turn(result: TextResult, *, raw: bool = False) -> dict[str, object]:
    """Return what is kept beside a text's turn; ``raw``: the provider's own answer as well."""
    found: dict[str, object] = {}
    if result.finish_reason is not None:
        found["finish_reason"] = result.finish_reason
    return _with_raw(found, result.raw) if raw else found


def _with_raw(found: dict[str, object], raw: object) -> dict[str, object]:
    if raw is None:
        return found
    try:
        written: Any = freeze(json.loads(to_json(raw, inf_nan_mode="strings", serialize_unknown=True)), "raw")
    except Exception as error:  # noqa: BLE001  # what it cost is kept, whatever the adapter hands over beside it
        written = f"(left out: {reason_of(error)})"
    return {**found, "raw": written}


def _text(text: str) -> str:
    return text.encode(errors="replace").decode()
