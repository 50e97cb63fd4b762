"""From what an author writes to the engine's transitions: classes to types, moves and functions to candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from interlock.agent.adapting import Adapted, Decode
from interlock.agent.events import EventClass
from interlock.agent.reasons import short
from interlock.errors import DefinitionError
from interlock.statechart import Move, Transition, with_at
from interlock.statechart import on as engine_on
from interlock.statechart.definition import WithAt
from interlock.statechart.detached import detached, detached_operations

__all__ = ["Then", "event_transition", "is_function", "slot", "transition"]

Then: TypeAlias = str | Sequence[str] | Move | Callable[..., Any] | WithAt


def event_transition(
    event: str | EventClass, then: Then, fields: Mapping[str, Any], *, wide: bool = False
) -> Transition:
    """Return the transition for an event class, type or pattern."""
    if isinstance(event, str):
        return transition(then, fields, event=event, wide=wide)
    return replace(transition(then, fields, event=_type_of(event), wide=wide), event_class=event)


def transition(then: Then, fields: Mapping[str, Any], *, event: str = "", wide: bool = False) -> Transition:
    """Return one candidate: ``then`` is a target, several, a move, or a handler."""
    _check_actor(event, fields.get("meta") or {})
    guard: object = fields.get("guard")
    if guard is not None and not is_function(guard):
        raise DefinitionError(
            f"{f'on {event!r}: ' if event else ''}guard={short(guard)} is no function; a guard takes what a handler "
            "takes and returns whether the transition is legal",
            code="invalid-transition",
        )
    if isinstance(then, Move):
        made = engine_on(event, then.target, **fields)
        return replace(
            made,
            patch=detached(dict(then.patch)) if then.patch else None,
            operations=detached_operations(then.operations),
            reenter=made.reenter or then.reentering,
            input=detached(then.input),
        )
    if not _can_happen(then):
        raise DefinitionError(
            f"{f'on {event!r}: ' if event else ''}{short(then)} is nothing that can happen; give a target, "
            "agent.goto(...), agent.stay(...), or a handler that returns one of these",
            code="invalid-transition",
        )
    return engine_on(event, with_at(cast("Callable[..., Any]", then)) if wide else then, **fields)


def is_function(then: object) -> bool:
    """Whether this can be called to say what happens. A class can be called as well, but says nothing of the kind."""
    return isinstance(then, WithAt) or (callable(then) and not isinstance(then, type))


def slot(then: Then | Transition | None, decode: Decode | None = None) -> tuple[Transition, ...]:
    """Return the candidates of a slot such as ``on_done``: none, or the one that the author gave.

    ``decode`` turns the output, which is JSON, into what the handler takes.
    """
    if then is None:
        return ()
    if isinstance(then, Transition):
        return (then,)
    if decode is not None and callable(then) and is_function(then):
        return (transition(Adapted(then, decode=decode), {}),)
    return (transition(then, {}),)


def _can_happen(then: object) -> bool:
    return isinstance(then, str | Sequence) or is_function(then)


def _type_of(event: object) -> str:
    kind = getattr(event, "type", None)
    if not isinstance(event, type) or not isinstance(kind, str):
        raise DefinitionError(
            f"on {short(event)}: give an event class, its type, or a pattern such as 'todo.*'",
            code="invalid-descriptor",
        )
    return kind


def _check_actor(event: str, meta: Mapping[str, object]) -> None:
    actor = meta.get("actor")
    if actor not in (None, "human"):
        raise DefinitionError(
            f"on {event!r}: meta={{'actor': {actor!r}}} reserves the transition for nobody; the only actor is 'human'",
            code="invalid-transition",
        )
