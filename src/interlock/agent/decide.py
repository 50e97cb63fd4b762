"""A decision as its author writes it, and how its words are read from the context of now."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias, TypeGuard, cast

from pydantic import Field, ValidationError

from interlock.agent.events import Event, EventClass
from interlock.agent.keywords import checked_name
from interlock.agent.reasons import reasons, short
from interlock.agent.wording import Place, Wording, check_wording, worded
from interlock.errors import DefinitionError
from interlock.statechart import Snapshot
from interlock.statechart.detached import detached

__all__ = ["DECIDE", "Allowed", "DecideSpec", "DecisionWording", "Entry", "Options", "entries", "is_entry"]

DECIDE = "agent.decide"
"""The source of every decision."""

Entry: TypeAlias = str | EventClass
"""An event class, its type, or a pattern such as ``"todo.*"`` or ``"*"``."""

Allowed: TypeAlias = Entry | Sequence[Entry]

Options: TypeAlias = Sequence[Event]
"""Events that are ready to be sent: a closed choice picks one of them."""


class DecisionWording(Wording, frozen=True, strict=True, extra="forbid"):
    """What is said to the model about a decision, each field at its value."""

    max_retries: Annotated[int, Field(ge=0)] = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecideSpec:
    """What an author says about a decision.

    ``wording`` holds the fields of :class:`DecisionWording`; each of them, and ``allowed_events``, is a value or a
    function of the context. Where ``allowed_events`` is None, everything that the machine accepts may be picked; where
    ``options`` are given, which may be a function of the context as well, one of them and nothing else.
    """

    name: str | None
    allowed_events: Allowed | Callable[..., Allowed] | None
    wording: Mapping[str, object]
    options: Options | Callable[..., Options] | None = None

    def __post_init__(self) -> None:
        try:
            check_wording(self.wordings, self.wording)
            self._check_options()
            _refuse_both(self.wording)
            _refuse_nothing(self.declared)
            self.check()
            self.keep()
            checked_name(self.word, self.name, "invalid-decision")
        except (TypeError, ValueError) as error:
            raise DefinitionError(f"{self.word}(...): {_reason(error)}", code="invalid-decision") from None

    @property
    def word(self) -> str:
        """The word that its author used."""
        return "decide"

    @property
    def wordings(self) -> type[DecisionWording]:
        """What may be said."""
        return DecisionWording

    def check(self) -> None:
        """Refuse what means nothing; raises TypeError or ValueError."""

    def keep(self) -> None:
        """Hold on to what was given, apart from the lists in which it was given."""
        for name in ("allowed_events", "options", "wording"):
            object.__setattr__(self, name, detached(getattr(self, name)))

    @property
    def declared(self) -> tuple[Entry, ...] | None:
        """The allowed events as far as they are known before anything runs; None where they are not."""
        if self.options is not None:
            return None if callable(self.options) else _classes(self.options)
        return None if _is_function(self.allowed_events) else entries(self.allowed_events)

    def ready(self, snapshot: Snapshot[object], state: str) -> tuple[Event, ...]:
        """Return the options of a closed choice for the context of now. Raises as :meth:`allowed`."""
        given = self.options
        if not callable(given):
            return tuple(given or ())
        place = _place(snapshot, state)
        found = place.ask(given, "options", snapshot.context)
        try:
            return _events(found)
        except TypeError as error:
            raise place.refused("options", given, f"{short(found)}: {error}") from None

    def _check_options(self) -> None:
        if self.options is None:
            return
        if self.allowed_events is not None:
            raise ValueError("options and allowed_events say the same thing; give one of them")
        if not callable(self.options) and not _events(self.options):
            raise ValueError("options is empty; give the events to pick from, or a function that does")

    def allowed(self, snapshot: Snapshot[object], state: str) -> tuple[Entry, ...] | None:
        """Return the allowed events for the context of now; None stands for all.

        Raises :class:`HandlerError` or :class:`InvalidMoveError` where the author's function fails, naming it.
        """
        if self.options is not None:
            return _classes(self.ready(snapshot, state))
        given = self.allowed_events
        if not _is_function(given):
            return entries(given)
        place = _place(snapshot, state)
        found = place.ask(given, "allowed_events", snapshot.context)
        try:
            return entries(found)
        except TypeError as error:
            raise place.refused("allowed_events", given, f"{short(found)}: {error}") from None

    def words(self, snapshot: Snapshot[object], state: str) -> DecisionWording:
        """Return what is said to the model for the context of now. Raises as :meth:`allowed`."""
        return worded(self.wordings, self.wording, snapshot.context, _place(snapshot, state))


def _place(snapshot: Snapshot[object], state: str) -> Place:
    return Place(what="the decision", machine=snapshot.machine_id, state=state)


def _is_function(allowed: Allowed | Callable[..., Allowed] | None) -> TypeGuard[Callable[..., Allowed]]:
    # A class can be called as well; what is meant by it is the event.
    return callable(allowed) and not inspect.isclass(allowed)


def _events(given: object) -> tuple[Event, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError("options is a list of events, each ready to be sent")
    for item in cast("Sequence[object]", given):
        if not isinstance(item, Event):
            raise TypeError(f"options holds {short(item)}; give events, as in options=[Attack(weapon='bow'), Flee()]")
    return tuple(cast("Sequence[Event]", given))


def _classes(options: Sequence[Event]) -> tuple[Entry, ...]:
    return tuple(dict.fromkeys(type(option) for option in options))


def _refuse_both(wording: Mapping[str, object]) -> None:
    if wording.get("prompt") and wording.get("messages"):
        raise ValueError("prompt and messages say the same thing; give one of them")


def _refuse_nothing(declared: tuple[Entry, ...] | None) -> None:
    if declared == ():
        raise ValueError("allowed_events is empty; leave it out to allow everything that the machine accepts")


def entries(allowed: object, name: str = "allowed_events") -> tuple[Entry, ...] | None:
    """Return events, as an author names them, as a tuple; None for none at all. Raises TypeError for anything else."""
    if allowed is None:
        return None
    found: list[Entry] = []
    for item in _several(allowed):
        if not is_entry(item):
            raise TypeError(f"{name} holds {short(item)}; give event classes, event types or patterns such as 'todo.*'")
        found.append(item)
    return tuple(found)


def _several(allowed: object) -> Sequence[object]:
    if isinstance(allowed, str) or not isinstance(allowed, Sequence):
        return [allowed]
    return cast("Sequence[object]", allowed)


def is_entry(item: object) -> TypeGuard[Entry]:
    """Whether this names events: a class of events, or a text."""
    return isinstance(item, str) or (isinstance(item, type) and issubclass(item, Event))


def _reason(error: TypeError | ValueError) -> str:
    return reasons(error) if isinstance(error, ValidationError) else str(error)
