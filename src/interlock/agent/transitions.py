"""From what an author writes to the engine's transitions: classes to types, moves and functions to candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import CodeType
from typing import Any, TypeAlias, cast

from interlock.agent.events import EventClass
from interlock.agent.reasons import short
from interlock.errors import DefinitionError
from interlock.statechart import Move, Transition, with_at
from interlock.statechart import on as engine_on
from interlock.statechart.definition import WithAt

__all__ = ["Decoding", "event_transition", "slot", "transition"]

Then: TypeAlias = str | Sequence[str] | Move | Callable[..., Any] | WithAt


class Decoding:
    """An author's handler whose second argument comes as JSON and is decoded for it.

    It shows the author's name and code, so that errors name his function and its targets can be read from it.
    """

    def __init__(self, handler: Callable[..., object], decode: Callable[[Any], object]) -> None:
        self.__qualname__: str = getattr(handler, "__qualname__", type(handler).__name__)
        self.__code__: CodeType | None = getattr(handler, "__code__", None)
        self._handler = handler
        self._decode = decode

    def __call__(self, context: object, output: object) -> object:
        """Call the author's handler with the decoded output."""
        return self._handler(context, self._decode(output))


def event_transition(
    event: str | EventClass, then: Then, fields: Mapping[str, Any], *, wide: bool = False
) -> Transition:
    """Return the transition for an event class, type or pattern."""
    if isinstance(event, str):
        return transition(then, fields, event=event, wide=wide)
    return replace(transition(then, fields, event=event.type, wide=wide), event_class=event)


def transition(then: Then, fields: Mapping[str, Any], *, event: str = "", wide: bool = False) -> Transition:
    """Return one candidate: ``then`` is a target, several, a move, or a handler."""
    _check_actor(event, fields.get("meta") or {})
    if isinstance(then, Move):
        made = engine_on(event, then.target, **fields)
        return replace(
            made,
            patch=dict(then.patch) if then.patch else None,
            operations=then.operations,
            reenter=made.reenter or then.reentering,
            input=then.input,
        )
    if not _can_happen(then):
        raise DefinitionError(
            f"{f'on {event!r}: ' if event else ''}{short(then)} is nothing that can happen; give a target, "
            "agent.goto(...), agent.stay(...), or a handler that returns one of these",
            code="invalid-transition",
        )
    return engine_on(event, with_at(cast("Callable[..., Any]", then)) if wide else then, **fields)


def _can_happen(then: object) -> bool:
    if isinstance(then, type):
        return False
    return isinstance(then, str | Sequence | WithAt) or callable(then)


def slot(then: Then | None, decode: Callable[[Any], object] | None = None) -> tuple[Transition, ...]:
    """Return the candidates of a slot such as ``on_done``: none, or the one that the author gave.

    ``decode`` turns the output, which is JSON, into what the handler takes.
    """
    if then is None:
        return ()
    if decode is not None and callable(then):
        return (transition(Decoding(then, decode), {}),)
    return (transition(then, {}),)


def _check_actor(event: str, meta: Mapping[str, object]) -> None:
    actor = meta.get("actor")
    if actor not in (None, "human"):
        raise DefinitionError(
            f"on {event!r}: meta={{'actor': {actor!r}}} reserves the transition for nobody; the only actor is 'human'",
            code="invalid-transition",
        )
