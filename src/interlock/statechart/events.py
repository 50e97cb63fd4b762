"""What a machine is told: events, and inputs that carry an event, a result or a timer to one machine of the tree.

Types that start with ``@`` are the engine's own. They are made here and nowhere else; from outside they are refused,
so that no user event can pass for a completion, whatever it is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from interlock.errors import InputError, NotJsonError
from interlock.statechart.frozen import FrozenDict, freeze
from interlock.statechart.moves import UNSET, Unset

__all__ = ["Event", "Input", "InternalEvent", "as_event", "event_to_json"]


class Event(FrozenDict[str, Any]):
    """An event given as a mapping: its fields are items, its ``type`` an attribute as well."""

    __slots__ = ()

    @property
    def type(self) -> str:
        """The event's type."""
        return cast("str", self["type"])

    def __repr__(self) -> str:
        return f"Event({super().__repr__()})"


class InternalEvent:
    """An event of the engine: ``@done.state.<id>``, ``@done.invoke.<id>``, ``@error.invoke.<id>``, ``@after:...`` ...

    ``output`` and ``error`` are set where the event carries one; ``id`` names the state, child or timer, ``src`` the
    source of a child that reports.
    """

    __slots__ = ("error", "id", "output", "src", "type")

    def __init__(
        self, type: str, id: str | None = None, output: Any = None, error: Any = None, src: str | None = None
    ) -> None:
        self.type = type
        self.id = id
        self.output = output
        self.error = error
        self.src = src

    def __repr__(self) -> str:
        return f"InternalEvent({self.type!r})"


USAGE = "@agent.usage"
"""The type of the event that tells a machine what a call has consumed."""

INIT = InternalEvent("@init")
"""What the functions of the initial states see as the event."""


class Input:
    """One thing that happens to one machine of the tree: the only shape in which anything reaches a running system.

    Arguments:
        address: path of ``id#seq`` keys of child machines, ``()`` for the root.
        event: an event for that machine; ``by`` says who sent it.
        invocation: the child ``id`` (or, precisely, ``id#seq``) that reports; with ``record``, and with ``output`` or
            ``error`` when it has ended. Given together with ``event``, the event goes first.
        usage: what the call behind the report has consumed, as JSON. If the root machine handles ``@agent.usage``, it
            is given that before everything else.
        timer: the timer ``id`` (or ``id#seq``) that has fired.

    What is addressed to a child, timer or machine that is there no longer changes nothing.
    """

    __slots__ = ("address", "by", "error", "event", "invocation", "output", "record", "timer", "usage")

    def __init__(
        self,
        *,
        address: tuple[str, ...] = (),
        event: Any = None,
        by: str | None = None,
        invocation: str | None = None,
        record: Any = UNSET,
        output: Any = UNSET,
        error: Any = UNSET,
        timer: str | None = None,
        usage: Any = None,
    ) -> None:
        self.address = tuple(address)
        self.event = None if event is None else as_event(event)
        self.by = by
        self.invocation = invocation
        self.record = record
        self.output = output
        self.error = error
        self.timer = timer
        self.usage = usage
        if isinstance(self.event, InternalEvent):
            raise InputError(
                f"event type {self.event.type!r} is the engine's own; report results with Input.done and Input.failed",
                code="reserved-event",
            )
        if invocation is None and usage is not None:
            raise InputError("usage belongs to an invocation: name it", code="invalid-input")
        if invocation is None and not (record is output is error is UNSET):
            raise InputError("record, output and error belong to an invocation: name it", code="invalid-input")
        if output is not UNSET and error is not UNSET:
            raise InputError("an invocation ends with an output or with an error, not with both", code="invalid-input")
        if event is None and invocation is None and timer is None:
            raise InputError("an input holds an event, an invocation's report or a timer", code="invalid-input")
        if timer is not None and (event is not None or invocation is not None):
            raise InputError("a timer that fires is an input of its own", code="invalid-input")

    def costing(self, usage: Any) -> Input:
        """Return this input with what the call behind it has consumed."""
        return Input(**{**{name: getattr(self, name) for name in self.__slots__}, "usage": usage})

    @classmethod
    def done(cls, invocation: str, output: Any = None, *, address: tuple[str, ...] = ()) -> Input:
        """Return the input that an invocation has finished with ``output``."""
        return cls(address=address, invocation=invocation, output=output)

    @classmethod
    def failed(cls, invocation: str, error: Any, *, address: tuple[str, ...] = ()) -> Input:
        """Return the input that an invocation has failed with ``error``."""
        return cls(address=address, invocation=invocation, error=error)

    @classmethod
    def fired(cls, timer: str, *, address: tuple[str, ...] = ()) -> Input:
        """Return the input that a timer has elapsed."""
        return cls(address=address, timer=timer)

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in self.__slots__}
        shown = ", ".join(
            f"{name}={value!r}"
            for name, value in given.items()
            if not (value is None or value == () or isinstance(value, Unset))
        )
        return f"Input({shown})"


def as_event(given: Any) -> Any:
    """Return ``given`` as an event with a ``.type``: objects that have one as they are, mappings and strings wrapped.

    Raises :class:`InputError` for anything else and for types that are reserved.
    """
    event: Any
    if isinstance(given, str):
        event = Event(type=given)
    elif isinstance(given, Mapping):
        mapping = cast("Mapping[str, Any]", given)
        if not isinstance(mapping.get("type"), str):
            raise InputError(
                f"an event needs a text under 'type', got {mapping.get('type')!r}; write {{'type': 'NAME', ...}}",
                code="invalid-event",
            )
        try:
            event = mapping if type(mapping) is Event else Event(freeze(dict(mapping), "event"))
        except NotJsonError as error:
            raise InputError(f"event {mapping.get('type')!r}: {error}", code="invalid-event") from None
    else:
        event = given
    kind = getattr(event, "type", None)
    if not isinstance(kind, str) or not kind or isinstance(given, type):
        raise InputError(
            f"{_shown(given)} is no event; send an object with a text in .type, a mapping with 'type', or a type as a "
            "string",
            code="invalid-event",
        )
    if kind[0] == "@" and not isinstance(event, InternalEvent):
        raise InputError(
            f"event type {kind!r} is reserved for the engine; it cannot be sent from outside", code="reserved-event"
        )
    return event


def event_to_json(event: Any) -> Any:
    """Return an event as JSON data: its fields and its type."""
    if isinstance(event, Event):
        return event
    dump = getattr(event, "model_dump", None)
    if dump is not None:
        return {"type": event.type, **dump(mode="json")}
    fields = getattr(event, "__dict__", {})
    return {"type": event.type, **{name: value for name, value in fields.items() if not name.startswith("_")}}


def _shown(given: Any) -> str:
    try:
        text = repr(given)
    except Exception:  # noqa: BLE001  # a broken repr must not hide the error that is being reported
        text = "an object"
    kind = type(given).__name__
    return f"{text[:80]} ({kind})"
