"""The JSON border: what comes from outside is written as strict JSON and read back by its declared type, live too.

So a step that happens now sees the very values that the same step sees when it is replayed or loaded elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from interlock.errors import ErrorInfo, InputError, InterlockError, NotJsonError, did_you_mean
from interlock.statechart import Event, InternalEvent, Machine
from interlock.statechart.events import as_event, event_to_json
from interlock.statechart.frozen import freeze

__all__ = ["error_info", "event_json", "read_event"]

AnyMachine = Machine[Any, Any, Any]


def event_json(event: object) -> Mapping[str, Any]:
    """Return an event as frozen JSON. Raises :class:`InputError` where JSON cannot carry it."""
    kind = getattr(event, "type", None)
    try:
        return cast("Mapping[str, Any]", freeze(dict(event_to_json(event)), f"event {kind!r}"))
    except (NotJsonError, PydanticSerializationError) as error:
        raise InputError(f"event {kind!r} cannot be written as JSON: {error}", code="invalid-event") from error


def read_event(machine: AnyMachine, given: object) -> Any:  # noqa: ANN401  # of whatever class the machine declares
    """Return an event from outside as the machine's steps see it: an instance of its declared class.

    A machine that declares no event classes takes any event. Raises :class:`InputError` for what is no event, is not
    declared, or whose payload its class refuses.
    """
    event = as_event(given)
    if isinstance(event, InternalEvent):
        raise InputError(f"event type {event.type!r} is the engine's own; it cannot be sent", code="reserved-event")
    data = event_json(event)
    known = machine.event_types
    if not known:
        return Event(data)
    if data["type"] not in known:
        raise InputError(
            f"machine {machine.id!r} declares no event {data['type']!r}. {did_you_mean(data['type'], known)}",
            code="invalid-event",
        )
    try:
        return machine.event_from_json(data)
    except ValidationError as error:
        reasons = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'payload'}: {item['msg']}"
            for item in error.errors(include_url=False, include_context=False)
        )
        raise InputError(
            f"machine {machine.id!r}: the payload of event {data['type']!r} is refused: {reasons}", code="invalid-event"
        ) from error


def error_info(error: BaseException | ErrorInfo, *, data: object = None) -> ErrorInfo:
    """Return an exception as data that JSON can carry."""
    info = error if isinstance(error, ErrorInfo) else ErrorInfo.of(error, data=data)
    cause = None if info.cause is None else error_info(info.cause)
    return ErrorInfo(info.code, _text(info.type), _text(info.message), _json(info.data), cause)


def _text(value: str) -> str:
    # An error must come through whatever its text: half of a surrogate pair is shown, not passed on.
    return value.encode("utf-8", "backslashreplace").decode()


def _json(data: object) -> object:
    try:
        return cast("object", freeze(data))
    except InterlockError as error:
        return f"(left out: {_text(error.message)})"
