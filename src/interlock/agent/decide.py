"""A decision as its author writes it, and how its words are read from the context of now."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Self, TypeAlias, TypeGuard, cast

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from interlock.agent.events import Event, EventClass
from interlock.agent.reasons import reasons, short
from interlock.errors import DefinitionError, HandlerError, InvalidMoveError, NotJsonError
from interlock.statechart import FrozenDict, Snapshot
from interlock.statechart.definition import name_of
from interlock.statechart.frozen import freeze

__all__ = ["DECIDE", "Allowed", "DecideSpec", "Entry", "Wording"]

DECIDE = "agent.decide"
"""The source of every decision."""

Entry: TypeAlias = str | EventClass
"""An event class, its type, or a pattern such as ``"todo.*"`` or ``"*"``."""

Allowed: TypeAlias = Entry | Sequence[Entry]


class Wording(BaseModel, frozen=True, strict=True, extra="forbid"):
    """What is said to the model about a decision, each field at its value."""

    model: str | None = None
    system: str | None = None
    prompt: str | None = None
    messages: Annotated[tuple[FrozenDict[str, object], ...], Field(strict=False)] = ()
    max_retries: Annotated[int, Field(ge=0)] = 2
    temperature: float | None = None
    max_output_tokens: Annotated[int, Field(gt=0)] | None = None
    top_p: float | None = None
    top_k: Annotated[int, Field(gt=0)] | None = None
    seed: int | None = None
    stop_sequences: Annotated[tuple[str, ...], Field(strict=False)] = ()
    metadata: Annotated[FrozenDict[str, object], Field(strict=False)] = FrozenDict()

    @field_validator("messages", "metadata", mode="before")
    @classmethod
    def _plain(cls, given: object) -> object:
        try:
            return freeze(given)
        except NotJsonError as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if self.prompt is not None and self.messages:
            raise ValueError("prompt and messages say the same thing; give one of them")
        return self


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecideSpec:
    """What an author says about a decision.

    ``wording`` holds the fields of :class:`Wording`; each of them, and ``allowed_events``, is a value or a function of
    the context. Where ``allowed_events`` is None, everything that the machine accepts may be picked.
    """

    name: str | None
    allowed_events: Allowed | Callable[..., Allowed] | None
    wording: Mapping[str, object]

    def __post_init__(self) -> None:
        try:
            Wording.model_validate({name: value for name, value in self.wording.items() if not callable(value)})
            _refuse_nothing(self.declared)
        except (TypeError, ValueError) as error:
            raise DefinitionError(f"decide(...): {_reason(error)}", code="invalid-decision") from None

    @property
    def declared(self) -> tuple[Entry, ...] | None:
        """The allowed events as far as they are known before anything runs; None where they are not."""
        return None if _is_function(self.allowed_events) else _entries(self.allowed_events)

    def allowed(self, snapshot: Snapshot[object], state: str) -> tuple[Entry, ...] | None:
        """Return the allowed events for the context of now; None stands for all.

        Raises :class:`HandlerError` or :class:`InvalidMoveError` where the author's function fails, naming it.
        """
        given = self.allowed_events
        if not _is_function(given):
            return _entries(given)
        found = _ask(given, "allowed_events", snapshot, state)
        try:
            return _entries(found)
        except TypeError as error:
            raise _refused("allowed_events", given, f"{short(found)}: {error}", snapshot, state) from None

    def words(self, snapshot: Snapshot[object], state: str) -> Wording:
        """Return what is said to the model for the context of now. Raises as :meth:`allowed`."""
        values = {
            name: _ask(value, name, snapshot, state) if callable(value) else value
            for name, value in self.wording.items()
        }
        try:
            return Wording.model_validate(values)
        except ValidationError as error:
            asked = [name for name, value in self.wording.items() if callable(value)]
            wrong = next((str(item["loc"][0]) for item in error.errors() if item["loc"]), "prompt")
            name = wrong if wrong in asked else asked[0]
            raise _refused(name, self.wording[name], reasons(error), snapshot, state) from None


def _is_function(allowed: Allowed | Callable[..., Allowed] | None) -> TypeGuard[Callable[..., Allowed]]:
    # A class can be called as well; what is meant by it is the event.
    return callable(allowed) and not inspect.isclass(allowed)


def _refuse_nothing(declared: tuple[Entry, ...] | None) -> None:
    if declared == ():
        raise ValueError("allowed_events is empty; leave it out to allow everything that the machine accepts")


def _entries(allowed: object) -> tuple[Entry, ...] | None:
    if allowed is None:
        return None
    found: list[Entry] = []
    for item in _several(allowed):
        if not _is_entry(item):
            raise TypeError(
                f"allowed_events holds {short(item)}; give event classes, event types or patterns such as 'todo.*'"
            )
        found.append(item)
    return tuple(found)


def _several(allowed: object) -> Sequence[object]:
    if isinstance(allowed, str) or not isinstance(allowed, Sequence):
        return [allowed]
    return cast("Sequence[object]", allowed)


def _is_entry(item: object) -> TypeGuard[Entry]:
    return isinstance(item, str) or (isinstance(item, type) and issubclass(item, Event))


def _ask(function: Callable[..., object], name: str, snapshot: Snapshot[object], state: str) -> object:
    try:
        return function(snapshot.context)
    except Exception as error:
        place = f"{name}= of the decision, {name_of(function)},"
        raise HandlerError(error, machine=snapshot.machine_id, state=state, event=None, handler=place) from error


def _refused(name: str, function: object, what: str, snapshot: Snapshot[object], state: str) -> InvalidMoveError:
    return InvalidMoveError(
        f"{name}= of the decision, {name_of(function)}, returned {what}",
        code="invalid-handler-result",
        machine=snapshot.machine_id,
        state=state,
    )


def _reason(error: TypeError | ValueError) -> str:
    return reasons(error) if isinstance(error, ValidationError) else str(error)
