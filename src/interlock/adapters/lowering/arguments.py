"""What a model writes where JSON is asked for: read strictly, and never repaired into something that it did not say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn, cast

from interlock.agent.plain import DEEPEST

__all__ = ["Malformed", "cleaned", "read_arguments", "readable"]

_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Malformed:
    """Arguments that are no JSON object, and why."""

    reason: str
    text: str


def read_arguments(given: object) -> dict[str, object] | Malformed:
    """Return the arguments of a tool call. Nothing, blanks and null all mean that there are none."""
    if given is None:
        return {}
    if isinstance(given, Mapping):  # some servers send the object itself
        given = json.dumps(dict(cast("Mapping[str, object]", given)))
    text = str(given)
    if not text.strip():
        return {}
    if _depth(text) > DEEPEST:
        return Malformed(f"the arguments are nested deeper than {DEEPEST} levels", readable(text))
    try:
        value: object = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        return Malformed(f"the arguments are malformed JSON: {error.msg} ({where})", readable(text))
    except ValueError as error:
        return Malformed(f"the arguments are malformed JSON: {error}", readable(text))
    if value is None:
        return {}
    if not isinstance(value, dict):
        return Malformed("the arguments are JSON, but no object", readable(text))
    return cast("dict[str, object]", cleaned(cast("object", value)))


def readable(text: str) -> str:
    """Return a text that can be written as UTF-8: half of a surrogate pair becomes U+FFFD, a whole pair a character."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def cleaned(value: object) -> object:
    """Return JSON with all its texts as :func:`readable` gives them."""
    if isinstance(value, str):
        return readable(value)
    if isinstance(value, dict):
        return {readable(name): cleaned(item) for name, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [cleaned(item) for item in cast("list[object]", value)]
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _unique(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name[:80]!r} stands twice")
        found[name] = value
    return found


def _depth(text: str) -> int:
    # Counted before parsing: a parser runs out of stack on what nobody means.
    depth = deepest = 0
    for sign in re.findall(r"[\[{\]}]", _STRINGS.sub("", text)):
        depth += 1 if sign in "[{" else -1
        deepest = max(deepest, depth)
    return deepest
