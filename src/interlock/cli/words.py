"""Values as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import to_json

import interlock as il

__all__ = ["clean", "first_line", "json_line", "one_line", "payload", "said_in", "state_of"]


def clean(text: str) -> str:
    """Return a text that can only be read: nothing in it moves the cursor or colours the terminal."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)


def one_line(text: str) -> str:
    """Return a text that can only be read, on one line: for cells of tables, and names within sentences."""
    return clean(text).replace("\n", " ")


def first_line(text: str | None) -> str:
    """Return the first paragraph of a docstring, on one line."""
    return " ".join((text or "").strip().split("\n\n")[0].split())


def state_of(value: object) -> str:
    """Return the active states: ``a.b``, and ``a.(b | c)`` where several are active at once."""
    if not isinstance(value, Mapping):
        return str(value)
    inside = cast("Mapping[str, object]", value)
    parts = [name + (f".{below}" if (below := state_of(inner)) else "") for name, inner in inside.items()]
    return parts[0] if len(parts) == 1 else f"({' | '.join(parts)})" if parts else ""


def json_line(value: object, longest: int = 200) -> str:
    """Return a value as JSON on one line, cut where it is too long; a text as it is."""
    if isinstance(value, str):
        text = " ".join(value.split())
    else:
        text = to_json(value, fallback=repr, inf_nan_mode="strings", bytes_mode="base64").decode()
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def payload(event: object) -> dict[str, Any]:
    """Return the fields of an event that say something: all but those at their defaults."""
    if isinstance(event, BaseModel):
        return event.model_dump(mode="json", exclude_defaults=True)
    if isinstance(event, Mapping):
        return {str(name): value for name, value in cast("Mapping[object, Any]", event).items() if name != "type"}
    return {}


def said_in(event: object) -> str:
    """Return what an event says beside its type: the words of its only text, or its fields."""
    fields = payload(event)
    if len(fields) == 1 and isinstance(words := next(iter(fields.values())), str) and isinstance(event, il.Event):
        return f'"{words}"'
    return ", ".join(f"{name}={json_line(value)}" for name, value in fields.items())
