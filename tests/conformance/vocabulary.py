"""The little language of the cases: expressions, guards and operations, evaluated as they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import interlock.statechart as sc


class UnknownWordError(ValueError):
    """A case uses a word that this suite does not know."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may look at: the context, and the wide form's view of everything else."""

    context: Mapping[str, Any]
    at: Any

    @property
    def input(self) -> Any:
        return self.at.input

    def event_field(self, name: str) -> Any:
        event = self.at.event
        if isinstance(event, Mapping):
            return event.get(name)
        return getattr(event, name, None)


class _Nothing:
    input: Any = None
    event: Any = None


NOWHERE = Scope({}, _Nothing())
"""What literal operations see: nothing."""


def literal(operations: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the operations are the same whatever the context and the event are."""
    parts: list[Any] = []
    for operation in operations:
        if operation["op"] == "inc":
            return False
        parts.extend(part for key, part in operation.items() if key != "event")
        if isinstance(operation.get("event"), Mapping):
            parts.extend(operation["event"].values())
    return not any(isinstance(part, Mapping) for part in parts)


def value(expression: Any, scope: Scope) -> Any:
    """Evaluate an expression; what is missing is ``None``."""
    if not isinstance(expression, Mapping):
        return expression
    if "ctx" in expression:
        return scope.context.get(expression["ctx"])
    if "ev" in expression:
        return scope.event_field(expression["ev"])
    if "in" in expression:
        given = scope.input
        return given.get(expression["in"]) if isinstance(given, Mapping) else None
    if "add" in expression:
        return sum(value(part, scope) or 0 for part in expression["add"])
    if "obj" in expression:
        return {key: value(part, scope) for key, part in expression["obj"].items()}
    raise UnknownWordError(f"unknown expression {expression!r}")


def same(left: Any, right: Any) -> bool:
    """Equality without coercion: ``True`` is not ``1``, but ``1`` is ``1.0`` (JSON has one kind of number)."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


_ORDER = {
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
}


def holds(guard: Mapping[str, Any], scope: Scope) -> bool:
    """Evaluate a guard."""
    word = guard["op"]
    if word in ("true", "false"):
        return bool(word == "true")
    if word in _ORDER:
        left = scope.context.get(guard["key"])
        # A missing key is neither below nor above anything.
        return isinstance(left, (int, float)) and bool(_ORDER[word](left, guard["value"]))
    if word in ("eq", "ne"):
        present = guard["key"] in scope.context
        return (present and same(scope.context[guard["key"]], guard["value"])) is (word == "eq")
    if word == "ev":
        return same(scope.event_field(guard["key"]), guard["value"])
    if word == "in":
        return bool(scope.at.matches(guard["path"]))
    if word == "and":
        return all(holds(part, scope) for part in guard["of"])
    if word == "or":
        return any(holds(part, scope) for part in guard["of"])
    if word == "not":
        return not holds(guard["of"], scope)
    raise UnknownWordError(f"unknown guard {word!r}")


def event(description: Any, scope: Scope) -> dict[str, Any]:
    """An event as data, its payload evaluated now."""
    if isinstance(description, str):
        return {"type": description}
    return {key: part if key == "type" else value(part, scope) for key, part in description.items()}


def perform(operations: Sequence[Mapping[str, Any]], scope: Scope, move: sc.Move) -> sc.Move:
    """Add the operations to ``move`` in order; later ones see what earlier ones did to the context."""
    patch: dict[str, Any] = {}
    for operation in operations:
        word = operation["op"]
        if word == "inc":
            patch[operation["key"]] = (scope.context.get(operation["key"]) or 0) + operation["by"]
            scope = replace(scope, context={**scope.context, **patch})
        elif word == "set":
            patch[operation["key"]] = value(operation["value"], scope)
            scope = replace(scope, context={**scope.context, **patch})
        else:
            move = _effect(word, operation, scope, move)
    return move.set(patch) if patch else move


def _effect(word: str, operation: Mapping[str, Any], scope: Scope, move: sc.Move) -> sc.Move:
    if word == "mark":
        return move.log(operation["name"])
    if word == "emit":
        return move.emit(event(operation["event"], scope))
    if word == "raise":
        if "delay" not in operation:
            return move.raise_(event(operation["event"], scope))
        delay = value(operation["delay"], scope)
        return move.raise_(event(operation["event"], scope), delay=delay, id=operation.get("id"))
    if word == "cancel":
        return move.cancel(operation["id"])
    if word == "spawn":
        options = {"input": value(operation["input"], scope)} if "input" in operation else {}
        return move.spawn(operation["src"], id=operation.get("id"), **options)
    if word == "stop":
        return move.stop(operation["id"])
    if word == "send":
        late = {"delay": value(operation["delay"], scope), "id": operation.get("timer")} if "delay" in operation else {}
        return move.send(operation["to"], event(operation["event"], scope), **late)
    raise UnknownWordError(f"unknown operation {word!r}")
