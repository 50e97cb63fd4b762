"""JSON Schemas in the dialect of providers that constrain decoding, and the values that come back.

Such a provider takes a subset: closed objects whose fields are all required, ``anyOf`` for unions, no defaults. A
field that may be left out becomes one that may be null, and on the way back that null is left out again. What the
subset cannot say stays as it is, and the provider is then asked without constraint. No constraint is ever the last
check: what comes back is validated by whoever declared it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast, final

__all__ = ["embedded", "object_schema", "restored", "strict_schema"]

Schema: TypeAlias = Mapping[str, object]

_INEXPRESSIBLE = frozenset({
    "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties", "prefixItems", "contains"
})  # fmt: skip
_KEPT = frozenset({
    "description", "type", "enum", "const", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "minItems", "maxItems"
})  # fmt: skip
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})

# What the strictest provider accepts in one schema.
_DEEPEST = 10
_MOST_FIELDS = 5_000
_MOST_CHOICES = 1_000
_MOST_CHARACTERS = 120_000


def object_schema(schema: Schema) -> dict[str, object]:
    """Return a schema whose root is an object with ``properties``, as every provider demands, else as it was."""
    root = _root(schema)
    if not any(word in root for word in ("anyOf", "oneOf", "allOf")):
        empty: dict[str, object] = {}
        root = {"type": "object", "properties": empty, **root}
    return root


def strict_schema(schema: Schema) -> dict[str, object] | None:
    """Return a schema in the strict dialect; None where the dialect cannot say it.

    The schema that is given stays as it is. Constraints that the dialect does not know are left out of the result:
    the model is told less, and the answer is validated all the same.
    """
    root = _root(schema)
    if root.get("type") != "object":
        return None
    definitions = _definitions(root)
    maker = _Strict(root)
    try:
        made = maker.convert(root, 1, ())
        if definitions:
            made["$defs"] = {name: maker.convert(inner, 1, (f"#/$defs/{name}",)) for name, inner in definitions.items()}
    except _InexpressibleError:
        return None
    return made if _within_limits(made) else None


def restored(schema: Schema, value: object) -> object:
    """Return what a model wrote for the strict form of ``schema`` as the schema itself means it.

    A null stands for "left out" where the schema knows no null. ``value`` is JSON of any shape: nothing is validated.
    """
    return _Reader(_root(schema)).read(schema, value)


def embedded(schema: Schema, *, prefix: str) -> tuple[dict[str, object], dict[str, object]]:
    """Return a schema that can stand inside another one, and the definitions that belong beside that one's root.

    ``prefix`` keeps the definitions of several schemas apart.
    """
    root = _root(schema)
    definitions = {prefix + name: _renamed(inner, prefix) for name, inner in _definitions(root).items()}
    return {key: _renamed(value, prefix) for key, value in root.items() if key != "$defs"}, definitions


def _renamed(value: object, prefix: str) -> object:
    if isinstance(value, Mapping):
        given = cast("Mapping[str, object]", value)
        made = {key: _renamed(item, prefix) for key, item in given.items()}
        name = given.get("$ref")
        if isinstance(name, str) and name.startswith("#/$defs/"):
            made["$ref"] = f"#/$defs/{prefix}{name.removeprefix('#/$defs/')}"
        return made
    if isinstance(value, list | tuple):
        return [_renamed(item, prefix) for item in cast("Sequence[object]", value)]
    return value


class _InexpressibleError(Exception):
    """The dialect has no words for this."""


class _Resolver:
    """What a ``$ref`` of one schema stands for."""

    def __init__(self, root: Schema) -> None:
        self._root = root

    def resolve(self, node: Schema) -> Schema:
        """Return a schema that is no mere reference; raises where a reference leads nowhere or round."""
        seen: set[str] = set()
        while isinstance(name := node.get("$ref"), str):
            if name in seen:
                raise _InexpressibleError
            seen.add(name)
            node = self.target(name)
        return node

    def target(self, name: str) -> Schema:
        """Return what a reference names."""
        found: object = self._root
        for step in name.removeprefix("#").split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")  # noqa: PLW2901  # as JSON Pointer writes it
            found = _node(found).get(step)
        target = _node(found)
        if not name.startswith("#") or not target:
            raise _InexpressibleError
        return target

    def knows_null(self, node: Schema) -> bool:
        """Whether null itself fits a schema."""
        node = self.resolve(node)
        if "null" in _types(node) or ("const" in node and node["const"] is None):
            return True
        if None in _list(node.get("enum")):
            return True
        return any(self.knows_null(member) for member in _members(node))


@final
class _Strict(_Resolver):
    def convert(self, node: Schema, depth: int, inside: tuple[str, ...]) -> dict[str, object]:
        if depth > _DEEPEST or not _INEXPRESSIBLE.isdisjoint(node):
            raise _InexpressibleError
        if isinstance(name := node.get("$ref"), str):
            return self._reference(name, node, depth, inside)
        parts = _list(node.get("allOf"))
        if parts:
            if len(parts) > 1 or not isinstance(parts[0], Mapping):
                raise _InexpressibleError
            rest = {key: value for key, value in node.items() if key != "allOf"}
            return self.convert({**cast("Schema", parts[0]), **rest}, depth, inside)
        made: dict[str, object] = {key: value for key, value in node.items() if key in _KEPT}
        if members := _members(node):
            if "properties" in node or "items" in node:
                raise _InexpressibleError
            made.pop("type", None)
            made["anyOf"] = [self.convert(member, depth, inside) for member in members]
            return made
        types = _types(node)
        if not types and "enum" not in node and "const" not in node:
            raise _InexpressibleError
        if "object" in types:
            made |= self._object(node, depth, inside)
        if "array" in types:
            items = node.get("items")
            if not isinstance(items, Mapping):
                raise _InexpressibleError
            made["items"] = self.convert(cast("Schema", items), depth + 1, inside)
        pattern, form = node.get("pattern"), node.get("format")
        if isinstance(pattern, str) and "(?" not in pattern:  # their automata look neither ahead nor behind
            made["pattern"] = pattern
        if form in _FORMATS:
            made["format"] = form
        return made

    def _reference(self, name: str, node: Schema, depth: int, inside: tuple[str, ...]) -> dict[str, object]:
        target = self.target(name)
        if not name.startswith("#/$defs/"):
            raise _InexpressibleError
        # Nothing may stand beside a reference, so what does is written into a copy of what it names.
        if "description" not in node or name in inside:
            return {"$ref": name}
        return self.convert({**target, "description": node["description"]}, depth, (*inside, name))

    def _object(self, node: Schema, depth: int, inside: tuple[str, ...]) -> dict[str, object]:
        properties = node.get("properties")
        if not isinstance(properties, Mapping) or node.get("additionalProperties", False) is not False:
            raise _InexpressibleError
        required = _list(node.get("required"))
        fields: dict[str, object] = {}
        for name, given in cast("Mapping[str, Schema]", properties).items():
            field = self.convert(_with_default_in_words(given), depth + 1, inside)
            if name not in required and not self.knows_null(given):
                described = {"description": field.pop("description")} if "description" in field else {}
                field = {"anyOf": [field, {"type": "null"}], **described}
            fields[name] = field
        return {"properties": fields, "required": list(fields), "additionalProperties": False}


@final
class _Reader(_Resolver):
    def read(self, node: Schema, value: object) -> object:
        try:
            node = self.resolve(node)
            members = _members(node) or [cast("Schema", part) for part in _list(node.get("allOf"))]
            if members:
                return self.read(next(member for member in members if self._fits(member, value)), value)
        except (_InexpressibleError, StopIteration):
            return value
        properties, items = node.get("properties"), node.get("items")
        if isinstance(value, Mapping) and isinstance(properties, Mapping):
            known = cast("Mapping[str, Schema]", properties)
            required = _list(node.get("required"))
            return {
                name: self.read(known[name], item) if name in known else item
                for name, item in cast("Mapping[str, object]", value).items()
                if item is not None or name not in known or name in required or self.knows_null(known[name])
            }
        if isinstance(value, list | tuple) and isinstance(items, Mapping):
            return [self.read(cast("Schema", items), item) for item in cast("Sequence[object]", value)]
        return value  # pyright: ignore[reportUnknownVariableType]  # JSON of any shape

    def _fits(self, node: Schema, value: object) -> bool:
        """Whether a value looks like this member of a union: by its type and by the fields that tell members apart."""
        node = self.resolve(node)
        members = _members(node)
        if members:
            return any(self._fits(member, value) for member in members)
        types = _types(node)
        if types and not any(_is_of(kind, value) for kind in types):
            return False
        if not isinstance(value, Mapping):
            return True
        given = cast("Mapping[str, object]", value)
        fields = cast("Mapping[str, Schema]", node.get("properties") or {})
        if any(name not in given for name in _list(node.get("required"))):
            return False
        return all(
            given.get(name) in choices
            for name, field in fields.items()
            if (choices := list(_fixed(self.resolve(field))))
        )


def _root(schema: Schema) -> dict[str, object]:
    """Return a schema whose root is no reference; the definitions stay beside it."""
    if "$ref" not in schema:
        return dict(schema)
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    try:
        return {**_Resolver(schema).resolve(schema), **rest}
    except _InexpressibleError:
        return dict(schema)


def _with_default_in_words(node: Schema) -> Schema:
    default = node.get("default")
    if default is None:
        return node
    words = f"{node.get('description', '')} Default: {json.dumps(default, ensure_ascii=False)}."
    return {**node, "description": words.strip()}


def _within_limits(made: Schema) -> bool:
    fields = choices = characters = 0
    for node in _nodes(made):
        names = list(cast("Mapping[str, object]", node.get("properties") or {}))
        fixed = list(_fixed(node))
        fields += len(names)
        choices += len(fixed)
        characters += sum(map(len, names)) + sum(len(str(item)) for item in fixed)
    return fields <= _MOST_FIELDS and choices <= _MOST_CHOICES and characters <= _MOST_CHARACTERS


def _nodes(schema: Schema) -> Iterator[Schema]:
    yield schema
    for group in ("properties", "$defs"):
        for inner in cast("Mapping[str, Schema]", schema.get(group) or {}).values():
            yield from _nodes(inner)
    for member in _members(schema):
        yield from _nodes(member)
    if isinstance(items := schema.get("items"), Mapping):
        yield from _nodes(cast("Schema", items))


def _definitions(schema: Schema) -> Mapping[str, Schema]:
    found = schema.get("$defs")
    return cast("Mapping[str, Schema]", found) if isinstance(found, Mapping) else {}


def _node(value: object) -> Schema:
    return cast("Schema", value) if isinstance(value, Mapping) else {}


def _members(node: Schema) -> list[Schema]:
    return [cast("Schema", member) for member in _list(node.get("anyOf") or node.get("oneOf"))]


def _types(node: Schema) -> list[object]:
    found = node.get("type")
    return [found] if isinstance(found, str) else _list(found)


def _fixed(node: Schema) -> Iterator[object]:
    if "const" in node:
        yield node["const"]
    yield from _list(node.get("enum"))


def _list(value: object) -> list[object]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(cast("Sequence[object]", value))
    return []


def _is_of(kind: object, value: object) -> bool:
    match kind:
        case "object":
            return isinstance(value, Mapping)
        case "array":
            return isinstance(value, list | tuple)
        case "string":
            return isinstance(value, str)
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case _:  # integer, number
            return isinstance(value, int | float) and not isinstance(value, bool)
