"""The plainest value that fits a JSON schema: for scripts that stand in for a model, and for commands to copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

__all__ = ["resolved", "sample"]

_Schema: TypeAlias = Mapping[str, object]

_DEEPEST = 12

_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00",
    "duration": "PT1H",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "email": "somebody@example.org",
    "uri": "https://example.org",
}


def sample(schema: Mapping[str, object], *, words: str = "...") -> object:
    """Return a value for a schema: defaults and first choices where there are any, ``words`` for texts."""
    return _sample(schema, schema, words, 0)


def _sample(schema: object, root: Mapping[str, object], words: str, depth: int) -> object:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    given: Mapping[str, object] = resolved(cast("_Schema", schema), root)
    for name in ("const", "default"):
        if name in given:
            return given[name]
    for name in ("enum", "examples"):
        if listed := given.get(name):
            return cast("Sequence[object]", listed)[0]
    for name in ("anyOf", "oneOf", "allOf"):
        if listed := given.get(name):
            return _sample(cast("Sequence[object]", listed)[0], root, words, depth + 1)
    match given.get("type"):
        case "object":
            properties = cast("Mapping[str, object]", given.get("properties", {}))
            needed = cast("Sequence[str]", given.get("required", ()))
            return {name: _sample(properties.get(name), root, words, depth + 1) for name in needed}
        case "array":
            fewest = cast("int", given.get("minItems", 0))
            parts = cast("Sequence[object]", given.get("prefixItems", ()))
            return [
                _sample(parts[at] if at < len(parts) else given.get("items"), root, words, depth + 1)
                for at in range(fewest)
            ]
        case "integer" | "number":
            lowest = given.get("minimum", given.get("exclusiveMinimum", 0))
            return cast("float", lowest) + ("exclusiveMinimum" in given)
        case "boolean":
            return True
        case "string" if given.get("format") in _FORMATS:
            return _FORMATS[str(given["format"])]
        case "string":
            fewest, most = cast("int", given.get("minLength", 0)), cast("int", given.get("maxLength", 1_000))
            return words.ljust(fewest, ".")[:most]
        case _:
            return None


def resolved(schema: Mapping[str, object], root: Mapping[str, object]) -> Mapping[str, object]:
    """Return a schema, or the one within ``root`` that it refers to."""
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    found = root
    for name in reference.removeprefix("#/").split("/"):
        found = cast("_Schema", found.get(name, {}))
    return found
