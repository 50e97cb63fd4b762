"""What the engine may write, as a grammar over JSON schemas: no other token can be sampled.

A grammar that the engine does not understand is dropped by it without a word, and the model then writes what it likes.
So what it does not understand is taken out before, and no grammar is ever the last check: the answer is judged as any.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from interlock.adapters.lowering.schemas import embedded
from interlock.agent.descriptors import EventDescriptor

__all__ = ["choice_schema", "grammar"]

_OPTIONS: Mapping[str, object] = {
    # One way to write each value: small models get lost in white space.
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "coerce_one_of": True,
    "lenient": True,  # keywords that it does not know are left to the check afterwards
}

_BEYOND = re.compile(r"\(\?(?!:)|\\[1-9bBAZzpP]")
"""What regular expressions have and automata have not: looking around, looking back, borders of words."""

_NAMED = frozenset({"properties", "$defs"})
_DATA = frozenset({"const", "enum", "default", "examples"})


def grammar(schema: Mapping[str, object]) -> str:
    """Return a grammar for exactly one JSON value that fits a schema, as far as the engine knows the schema's words.

    Objects that list their fields get no others: a small model never stops adding some.
    """
    return "%llguidance {}\nstart: %json " + json.dumps({**_closed(schema), "x-guidance": _OPTIONS})


def choice_schema(events: Iterable[EventDescriptor]) -> dict[str, object]:
    """Return the schema of an event that is one of these: its ``type`` first, then its fields."""
    definitions: dict[str, object] = {}
    members: list[object] = []
    for number, event in enumerate(events):
        payload, inner = embedded(event.input_schema, prefix=f"e{number}.")
        definitions |= inner
        members.append(
            {
                "type": "object",
                "properties": {"type": {"const": event.type}, **_object(payload.get("properties"))},
                "required": ["type", *_list(payload.get("required"))],
                "additionalProperties": False,
            }
        )
    beside: dict[str, object] = {"$defs": definitions} if definitions else {}
    return {"anyOf": members, **beside}


def _closed(node: Mapping[str, object]) -> dict[str, object]:
    made: dict[str, object] = {}
    for word, value in node.items():
        if word in _NAMED:
            made[word] = {name: _inner(item) for name, item in _object(value).items()}
        elif word == "pattern" and (not isinstance(value, str) or _BEYOND.search(value)):
            continue
        else:
            made[word] = value if word in _DATA else _inner(value)
    if "properties" in made and "patternProperties" not in made:
        made.setdefault("additionalProperties", False)
    return made


def _inner(value: object) -> object:
    if isinstance(value, Mapping):
        return _closed(cast("Mapping[str, object]", value))
    if isinstance(value, list | tuple):
        return [_inner(item) for item in cast("Sequence[object]", value)]
    return value


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
