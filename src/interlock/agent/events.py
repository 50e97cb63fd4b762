"""Events are classes: a frozen pydantic model each, whose docstring is what a model reads.

>>> class Ask(Event):
...     '''Ask one yes/no question.'''
...
...     question: str
>>> Ask(question="Is it alive?").type
'Ask'
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self, TypeAlias, Unpack

from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict
from pydantic.fields import FieldInfo

from interlock.errors import DefinitionError, did_you_mean
from interlock.statechart import Event as MappingEvent
from interlock.statechart import InternalEvent
from interlock.statechart.mutability import find_mutable

__all__ = ["Actor", "AnyEvent", "Event", "EventClass", "check_event_class", "was_made"]

Actor: TypeAlias = Literal["human"]
"""Who alone may send an event; no model is ever offered what only a person may send."""


class Event(BaseModel):
    """Base of all events. Subclasses declare the payload as fields; class keywords say the rest.

    ``type`` names the event (the class name, if not given; dots make name spaces: ``"todo.add"``), ``actor="human"``
    reserves it for people. As data an event is flat: its fields beside its type.
    """

    # Not as keywords of the class: to type checkers a frozen class cannot be the base of one that does not say so too.
    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True)

    # No field: which events are what their class has made of their fields, so that its validators have seen them.
    __slots__ = ("_made",)

    type: ClassVar[str] = "Event"
    actor: ClassVar[Actor | None] = None

    def __init_subclass__(
        cls,
        *,
        type: str | None = None,
        actor: Actor | Literal["inherit"] | None = "inherit",
        **config: Unpack[ConfigDict],
    ) -> None:
        try:
            super().__init_subclass__(**config)
        except TypeError:
            _check_keywords(cls, config)
            raise
        _check_names(cls)
        cls.type = _checked_type(cls, type)
        if actor != "inherit":
            cls.actor = _checked_actor(cls, actor)

    @classmethod
    def __pydantic_init_subclass__(cls, **_keywords: object) -> None:
        check_event_class(cls)

    def model_post_init(self, _context: Any, /) -> None:  # noqa: ANN401  # pydantic's own signature
        """Remember that the validators have seen the fields."""
        object.__setattr__(self, "_made", True)

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:  # noqa: ANN401  # the same
        """Make an event that no validator has seen; where it is sent, they will."""
        made = super().model_construct(_fields_set, **values)
        object.__setattr__(made, "_made", False)
        return made


EventClass: TypeAlias = type[Event]

AnyEvent: TypeAlias = Event | MappingEvent | InternalEvent
"""What a handler of ``"*"`` may get: a declared event, an undeclared one as a mapping, or one of the engine's own."""


def was_made(event: Event) -> bool:
    """Whether an event has gone through its class's validators; not so a copy, or what ``model_construct`` gives."""
    return getattr(event, "_made", False)


def check_event_class(event: type[Event]) -> None:
    """Refuse a class whose events could be changed in place, or would not come back from JSON as they were.

    Called when the class is made and, for classes that name types which did not exist then, once more by setup.
    """
    config = event.model_config
    if not config.get("frozen") or config.get("extra") == "allow":
        raise _refused(event, "events are frozen and hold nothing undeclared: leave out frozen=False and extra='allow'")
    if event.__private_attributes__:
        name = _first(event.__private_attributes__)
        raise _refused(event, f"the private attribute {name!r} would not be saved; make it a field")
    if event.model_computed_fields:
        name = _first(event.model_computed_fields)
        raise _refused(event, f"the computed field {name!r} is no payload; make it a property")
    for name, field in event.model_fields.items():
        if "type" in _aliases(field):
            raise _refused(event, f"field {name!r} is 'type' in JSON, where the event's own type stands; rename it")
        _check_names_in_json(event, name, field)
    found = find_mutable(event)
    if found is not None:
        raise _refused(event, found)


def _check_keywords(event: type[Event], given: Iterable[str]) -> None:
    known = {"type", "actor", *ConfigDict.__annotations__}
    for name in given:
        if name not in known:
            hint = did_you_mean(name, ("type", "actor"))
            if not hint.startswith("Did"):
                hint = did_you_mean(name, known) if did_you_mean(name, known).startswith("Did") else hint
            raise _refused(event, f"a class of events has no keyword {name!r}. {hint}")


def _check_names(event: type[Event]) -> None:
    for name in _declared_names(event):
        if name == "type":
            advice = f"the type is given beside the base class: `class {event.__name__}(Event, type='...')`"
        elif name == "actor":
            advice = f"who may send it is given beside the base class: `class {event.__name__}(Event, actor='human')`"
        elif name != "model_config" and name in _OWN:
            advice = f"rename it; to keep the name in JSON: `{name}_: ... = Field(alias={name!r})`"
        else:
            continue
        raise _refused(event, f"the field name {name!r} would hide what every event has under that name; {advice}")


def _declared_names(event: type[Event]) -> Iterable[str]:
    """Return the names that the class body annotates, and those of ours that it assigns."""
    try:
        annotated = inspect.get_annotations(event)
    except NameError:  # From Python 3.14 on, where one of them names a type that comes later; pydantic still warns.
        annotated = {}
    assigned = {name for name in ("type", "actor") if name in event.__dict__}
    return [*annotated, *sorted(assigned - annotated.keys())]


def _checked_type(event: type[Event], given: str | None) -> str:
    kind = event.__name__ if given is None else given
    if not kind or "*" in kind:
        raise _refused(event, f"{given!r} is no event type: use a non-empty text without '*'")
    if kind.startswith(("@", "agent.")):
        raise DefinitionError(
            f"event class {event.__name__}: types that begin with '@' or 'agent.' are the library's own, not {kind!r}",
            code="reserved-event",
        )
    return kind


def _checked_actor(event: type[Event], given: Actor | None) -> Actor | None:
    if given in (None, "human"):
        return given
    raise _refused(event, f"actor={given!r}: the only actor that an event can be reserved for is 'human'")


def _aliases(field: FieldInfo) -> list[object]:
    return [field.alias, field.serialization_alias, *_read_under(field)]


def _read_under(field: FieldInfo) -> list[object]:
    """Return the keys under which a field may stand in JSON besides its own name."""
    validation = field.validation_alias
    choices = validation.choices if isinstance(validation, AliasChoices) else [validation]
    return [choice.path[0] if isinstance(choice, AliasPath) else choice for choice in choices if choice is not None]


def _check_names_in_json(event: type[Event], name: str, field: FieldInfo) -> None:
    read = _read_under(field)
    taken = [alias for alias in read if alias != name and alias in event.model_fields]
    if taken:
        raise _refused(event, f"field {name!r} is {taken[0]!r} in JSON, where the field of that name stands; rename it")
    written = field.serialization_alias
    if event.model_config.get("serialize_by_alias") and written is not None and written not in (name, *read):
        raise _refused(
            event,
            f"field {name!r} would be written as {written!r}, under which it is not read: leave out "
            "serialize_by_alias=True, or give it one alias for both",
        )


def _first(names: Iterable[str]) -> str:
    return next(iter(names))


def _refused(event: type[Event], message: str) -> DefinitionError:
    return DefinitionError(f"event class {event.__name__}: {message}", code="invalid-event-class")


_OWN = frozenset(dir(Event))
