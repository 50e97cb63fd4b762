"""The JSON border: what comes from outside is written as strict JSON and read back by its declared type, live too.

So a step that happens now sees the very values that the same step sees when it is replayed or loaded elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar, cast

from pydantic_core import to_jsonable_python

from interlock.agent.calls import CallSpec
from interlock.agent.reading import checked_machine, classes_of, parse_event
from interlock.agent.reasons import reason_of, short
from interlock.errors import ErrorInfo, InputError, TextError
from interlock.statechart import Event, InternalEvent, Machine, Snapshot
from interlock.statechart.events import as_event, event_to_json
from interlock.statechart.frozen import freeze

__all__ = ["AnyMachine", "answer_json", "check_input", "error_info", "loaded_snapshot", "output_json", "read_event"]

AnyMachine: TypeAlias = Machine[Any, Any, Any]

C = TypeVar("C")


def read_event(machine: AnyMachine, given: object) -> Any:  # noqa: ANN401  # of whatever class the machine declares
    """Return an event from outside as the machine's steps see it: an instance of its declared class.

    A machine that declares no event classes takes any event. Raises :class:`InputError` for what is no event, is not
    declared, or whose payload its class refuses.
    """
    if classes_of(machine):
        return parse_event(machine, given)
    try:
        event = as_event(given)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{short(given)} is no event: {reason_of(error)}", code="invalid-event") from error
    if isinstance(event, InternalEvent):
        raise InputError(f"event type {event.type!r} is the engine's own; it cannot be sent", code="reserved-event")
    try:
        return Event(freeze(dict(event_to_json(event)), f"event {event.type!r}"))
    except Exception as error:
        raise InputError(
            f"event {event.type!r} cannot be written as JSON: {reason_of(error)}", code="invalid-event"
        ) from error


def loaded_snapshot(
    machine: Machine[C, Any, Any], saved: Snapshot[C] | Mapping[str, object] | str | bytes
) -> Snapshot[C]:
    """Return a snapshot of this machine, whatever form it was kept in; raises :class:`SnapshotError`."""
    checked_machine(machine)
    if not isinstance(saved, Snapshot):
        return machine.load(saved)
    # A live snapshot knows the functions of the machine that made it; another machine's goes through its saved form.
    return saved if saved.table is machine.table else machine.load(saved.dump())


def check_input(machine: AnyMachine, given: object) -> None:
    """Raise :class:`InputError` for an input that an agent's machine would drop, since its agent declares none."""
    # A machine of the engine's own words may make its context of an input of no declared type.
    if given is not None and machine.input_type is None and classes_of(machine):
        raise InputError(
            f"machine {machine.id!r} takes no input, but was given {short(given)}; declare its type: "
            "setup_agent(input=...), and make the context of it: agent.machine(context=lambda given: ...)",
            code="invalid-input",
        )


def output_json(value: object) -> object:
    """Return what a function returned as frozen JSON. Raises :class:`NotJsonError` or pydantic's own error."""
    return cast("object", freeze(to_jsonable_python(value, inf_nan_mode="constants"), "output"))


def answer_json(logic: object, answer: object) -> object:
    """Return what a function has answered as JSON: by its annotation, where the work is one that says it.

    Raises :class:`CallResultError`, or what :func:`output_json` raises.
    """
    return logic.encode(answer) if isinstance(logic, CallSpec) else output_json(answer)


def error_info(error: BaseException | ErrorInfo, *, data: object = None) -> ErrorInfo:
    """Return an exception as data that JSON can carry."""
    if data is None and isinstance(error, TextError):
        data = _held(error)
    info = error if isinstance(error, ErrorInfo) else ErrorInfo.of(error, data=data)
    cause = None if info.cause is None else error_info(info.cause)
    return ErrorInfo(_text(info.code), _text(info.type), _text(info.message), _json(info.data), cause)


def _held(error: TextError) -> object:
    try:
        return {"request": error.request, "partial_output": error.partial_output}
    except Exception:  # noqa: BLE001  # an error must come through whatever its class makes of its fields
        return None


def _text(value: str) -> str:
    # An error must come through whatever its text: half of a surrogate pair is shown, not passed on.
    return str.encode(value, "utf-8", "backslashreplace").decode()


def _json(data: object) -> object:
    try:
        return cast("object", freeze(data))
    except Exception as error:  # noqa: BLE001  # an error must come through whatever it holds
        return f"(left out: {reason_of(error)})"
