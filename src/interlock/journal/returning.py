"""Whether an event comes back from its entry as it went in: a replay sees what was written, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from interlock.errors import NotJsonError
from interlock.statechart import Machine
from interlock.statechart.events import event_to_json
from interlock.statechart.frozen import freeze
from interlock.statechart.reasons import reason_of

__all__ = ["check_returns"]

_SCALARS = {str, int, float, bool, NoneType}


def check_returns(machine: Machine[Any, Any, Any] | None, event: Any, written: Mapping[str, Any]) -> None:
    """Raise :class:`NotJsonError`, naming the field, for an event that its entry would not lead back to.

    Arguments:
        machine: the machine that the event is for; None for one that is not there any more.
        event: the event.
        written: the event as it will stand in its entry.
    """
    kind = type(event)
    if machine is None or machine.event_types.get(written["type"]) is not kind or _is_plain(kind):
        return
    try:
        again: Mapping[str, Any] = freeze(dict(event_to_json(machine.event_from_json(written))))
    except Exception as error:  # validators and serializers are the author's code
        raise NotJsonError(
            f"event {written['type']!r} is written in a form that cannot be read: {reason_of(error)}", path="event"
        ) from error
    if again != written:
        name = next(name for name in written if again.get(name) != written[name])
        raise NotJsonError(
            f"{written[name]!r} would come back as {again.get(name)!r}; declare a type that survives JSON (no one-way "
            "serializers), and validators that change nothing the second time",
            path=f"event.{name}",
        )


@lru_cache(maxsize=1024)
def _is_plain(kind: type[Any]) -> bool:
    """Whether the fields of a class are texts, numbers and constants that nobody's code looks at."""
    if not issubclass(kind, BaseModel):
        return False
    decorators = kind.__pydantic_decorators__
    looked_at = (
        decorators.field_validators,
        decorators.model_validators,
        decorators.field_serializers,
        decorators.model_serializers,
        decorators.validators,
        decorators.root_validators,
    )
    return not any(looked_at) and all(
        not field.metadata and _is_scalar(field.annotation) for field in kind.model_fields.values()
    )


def _is_scalar(annotation: Any) -> bool:
    if get_origin(annotation) is Literal:
        return all(type(value) in _SCALARS for value in get_args(annotation))
    return annotation in _SCALARS
