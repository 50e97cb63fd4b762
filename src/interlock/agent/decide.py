"""A decision as its author writes it, and how its words are read from a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeAlias

from interlock.agent.events import EventClass
from interlock.agent.requests import JsonObject
from interlock.errors import DefinitionError, HandlerError, InvalidMoveError, NotJsonError
from interlock.statechart import Snapshot
from interlock.statechart.definition import name_of
from interlock.statechart.frozen import freeze

__all__ = ["DECIDE", "Allowed", "DecideSpec"]

DECIDE = "agent.decide"
"""The source of every decision."""

Allowed: TypeAlias = str | EventClass | Sequence[str | EventClass]
"""Event classes, types and patterns (``"todo.*"``, ``"*"``): one, or several."""

Shaping: TypeAlias = Callable[..., object]
"""A function of the context that gives the value when the request is made."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecideSpec:
    """What an author says about a decision. Every field but ``name`` is a value or a function of the context."""

    name: str | None = None
    model: str | Shaping | None = None
    system: str | Shaping | None = None
    prompt: str | Shaping | None = None
    messages: Sequence[JsonObject] | Shaping = ()
    allowed_events: Allowed | Shaping | None = None
    max_retries: int | Shaping = 2
    temperature: float | Shaping | None = None
    max_output_tokens: int | Shaping | None = None
    top_p: float | Shaping | None = None
    top_k: int | Shaping | None = None
    seed: int | Shaping | None = None
    stop_sequences: Sequence[str] | Shaping = ()
    metadata: JsonObject | Shaping = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        if self.prompt is not None and self.messages:
            raise DefinitionError("a decision has a prompt or messages, not both", code="invalid-decision")
        for item in fields(self):
            value = getattr(self, item.name)
            wrong = None if _is_shaping(value) else _refusal(item.name, value)
            if wrong is not None:
                raise DefinitionError(f"decide({item.name}={value!r}): {wrong}", code="invalid-decision")

    @property
    def named_events(self) -> tuple[str | EventClass, ...] | None:
        """The allowed events as far as they are known before anything runs; None where a function gives them."""
        return None if self.allowed_events is None or _is_shaping(self.allowed_events) else entries(self.allowed_events)

    def read(self, name: str, snapshot: Snapshot[object], state: str) -> object:
        """Return the value of a field for the snapshot of now.

        Raises :class:`HandlerError` where the author's function raises, :class:`InvalidMoveError` where it returns
        what the field cannot hold.
        """
        value: object = getattr(self, name)
        if not _is_shaping(value):
            return value
        function = value
        place = f"{name}= of the decision, {name_of(function)}"
        try:
            value = function(snapshot.context)
        except Exception as error:
            raise HandlerError(error, machine=snapshot.machine_id, state=state, event=None, handler=place) from error
        wrong = _refusal(name, value)
        if wrong is not None:
            raise InvalidMoveError(
                f"{place}, returned {_short(value)}: {wrong}",
                code="invalid-handler-result",
                machine=snapshot.machine_id,
                state=state,
            )
        return value


def entries(allowed: object) -> tuple[str | EventClass, ...]:
    """Return what ``allowed_events`` holds, one or several, as a tuple."""
    if isinstance(allowed, str) or _is_event_class(allowed):
        return (allowed,)
    assert isinstance(allowed, Sequence)  # noqa: S101
    return tuple(allowed)
