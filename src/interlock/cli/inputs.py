"""Questions that a machine asks a person, ``agent.user_input``: which are open, what they want, what a reply is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel, RootModel
from pydantic_core import from_json, to_json

import interlock as il
from interlock.agent.reading import AnyMachine
from interlock.agent.user_input import UserInputSpec
from interlock.cli.fields import NAMES, ask_fields, matching
from interlock.cli.samples import resolved, sample
from interlock.cli.screen import Screen
from interlock.cli.words import json_line, one_line
from interlock.errors import InputError
from interlock.statechart import OwedInvocation, Snapshot, owed

__all__ = ["Kind", "Question", "ask_reply", "kinds", "open_questions"]

_LONGEST_LABEL = 40
_LONGEST_SCHEMA = 1_000

_Schema = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Kind:
    """A question as its author has declared it."""

    spec: UserInputSpec
    names: frozenset[str]
    """What it may be called: its name, and the id of the invocation."""

    @property
    def schema(self) -> _Schema:
        """The JSON schema of the reply, with what it refers to put in its place."""
        return resolved(self.spec.schema, self.spec.schema)

    @property
    def values(self) -> Mapping[str, object]:
        """What there is to choose from, by the words for it; nothing where anything else fits."""
        return _values(self.schema)

    @property
    def wants(self) -> str:
        """What a reply has to be, in few words."""
        return _wants(self.schema, self.spec.schema)

    @property
    def model(self) -> type[BaseModel] | None:
        """The class whose fields the reply has, if it is one."""
        schema: _Schema = cast("_Schema", self.spec.reply.adapter.core_schema)
        kind = schema.get("cls") if schema.get("type") == "model" else None
        if not isinstance(kind, type) or not issubclass(kind, BaseModel) or issubclass(kind, RootModel):
            return None
        return kind if kind.model_fields else None

    @property
    def example(self) -> object:
        """A reply that may fit."""
        return sample(self.spec.schema)

    @property
    def is_text(self) -> bool:
        """Whether a reply is a text, whatever is in it."""
        return self.schema.get("type") == "string"

    def read(self, text: str) -> object:
        """Return a reply as it was given on the command line: JSON, or as it stands there where that is a text.

        Raises :class:`InputError` for one that does not fit.
        """
        try:
            found = from_json(text)
        except ValueError as error:
            try:
                return self.checked(text)
            except InputError:
                if text.lstrip().startswith(("{", "[", '"')):
                    raise InputError(f"the reply is no JSON: {error}", code="invalid-reply") from error
                raise
        if self.is_text and not isinstance(found, str):
            return self.checked(text)
        try:
            return self.checked(found)
        except InputError:
            with suppress(InputError):  # a text that only looks like something else
                return self.checked(text)
            raise

    def checked(self, reply: object) -> object:
        """Return a reply; raises :class:`InputError` for one that does not fit."""
        self.spec.encode(reply, "the question")
        return reply


@dataclass(frozen=True, slots=True)
class Question(Kind):
    """A question that is open now."""

    item: OwedInvocation
    request: il.UserInputRequest
    key: str
    """What a reply calls it: its name where only this one has it, else its id."""

    @property
    def label(self) -> str:
        """What it is called in a menu."""
        if self.spec.name is not None:
            return one_line(self.spec.name)
        words = one_line(self.request.prompt)
        return words if len(words) <= _LONGEST_LABEL else f"{words[: _LONGEST_LABEL - 1]}…"

    def lines(self) -> list[str]:
        """Return the question, what it is called, and the schema of the reply."""
        schema = json.dumps(_untitled(self.request.input_schema), ensure_ascii=False)
        return [f"{self.key} asks: {self.request.prompt}", f"   a reply is: {schema[:_LONGEST_SCHEMA]}"]

    def option(self) -> str:
        """Return an example of a reply as the command line takes it."""
        value = self.example
        plain = self.is_text and isinstance(value, str) and not value.startswith('"')
        return f"{self.key}={value if plain else to_json(value).decode()}"


def kinds(machine: AnyMachine) -> list[Kind]:
    """Return every question of a machine, and of the machines in it."""
    found: list[Kind] = []
    waiting, seen = [machine], {id(machine)}
    while waiting:
        here = waiting.pop()
        for node in here.nodes:
            for number, invoke in enumerate(node.definition.invoke):
                if isinstance(invoke.logic, UserInputSpec):
                    found.append(_kind(invoke.logic, invoke.id or f"{number}.{node.id}"))
        for name, source in here.sources.items():
            if here.is_machine(name) and id(source) not in seen:
                seen.add(id(source))
                waiting.append(source)
    return found


def open_questions(snapshot: Snapshot[Any], asked: Sequence[il.UserInputRequest]) -> tuple[Question, ...]:
    """Return the questions that a run has come to rest at; ``asked`` is what it says of them."""
    requests = {request.id: request for request in asked}
    items = [item for item in owed(snapshot).invocations if item.identity in requests]
    known = [(item, _kind(cast("UserInputSpec", item.logic), item.id)) for item in items]
    return tuple(
        Question(kind.spec, kind.names, item, requests[item.identity], _key(item, [other.names for _, other in known]))
        for item, kind in known
    )


def ask_reply(screen: Screen, question: Question) -> object:
    """Return a reply as it was typed, once it fits. Raises EOFError where nothing more can come."""
    if (model := question.model) is not None:
        for line in question.request.prompt.splitlines():
            screen.note(line)
    while True:
        reply: object
        if model is not None:
            reply = ask_fields(screen, model)
        elif question.values:
            reply = _chosen(screen, question)
        else:
            reply = screen.ask(f"{question.request.prompt} ({question.wants}):")
            if not reply:
                continue
        try:
            return (
                question.checked(reply) if model or question.values or question.is_text else question.read(str(reply))
            )
        except InputError as error:
            screen.note(f"{error.message}. Once more:")


def _chosen(screen: Screen, question: Question) -> object:
    values = question.values
    while True:
        typed = screen.ask(f"{question.request.prompt} ({question.wants}):")
        if (found := matching(typed, values)) is not None:
            return values[found]
        screen.note(f"{typed!r} is none of {', '.join(values)}")


def _untitled(schema: object) -> object:
    """Return a schema without the titles that pydantic makes of names."""
    if isinstance(schema, Mapping):
        given = cast("Mapping[str, object]", schema)
        named = isinstance(given.get("title"), str)
        return {name: _untitled(value) for name, value in given.items() if not (named and name == "title")}
    if isinstance(schema, Sequence) and not isinstance(schema, str):
        return [_untitled(value) for value in cast("Sequence[object]", schema)]
    return schema


def _values(schema: _Schema) -> Mapping[str, object]:
    if schema.get("type") == "boolean":
        return {"yes": True, "no": False}
    listed = cast("Sequence[object]", schema.get("enum", [schema["const"]] if "const" in schema else ()))
    return {value if isinstance(value, str) else to_json(value).decode(): value for value in listed}


def _wants(schema: _Schema, root: _Schema) -> str:
    for name in ("anyOf", "oneOf"):
        if listed := cast("Sequence[_Schema]", schema.get(name, ())):
            return " or ".join(dict.fromkeys(_wants(resolved(one, root), root) for one in listed))
    if values := _values(schema):
        return "/".join(values)
    kind = str(schema.get("type", "JSON"))
    if kind == "string" and "format" in schema:
        return f"{schema['format']}, like {sample(schema)}"
    if kind == "array" and "items" in schema:
        return f"JSON list of {_wants(resolved(cast('_Schema', schema['items']), root), root)}"
    if kind in ("array", "object"):
        return f"JSON, like {json_line(sample({**schema, '$defs': root.get('$defs', {})}))}"
    return NAMES.get(kind, kind)


def _kind(spec: UserInputSpec, invocation: str) -> Kind:
    return Kind(spec, frozenset({invocation, spec.name or invocation}))


def _key(item: OwedInvocation, names: Sequence[frozenset[str]]) -> str:
    spec = cast("UserInputSpec", item.logic)
    name = spec.name or item.id
    return name if sum(name in others for others in names) == 1 else item.identity
