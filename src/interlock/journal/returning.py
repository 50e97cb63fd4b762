"""Whether an event comes back from its entry as it went in: a replay sees what was written, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.errors import NotJsonError
from interlock.statechart import Machine
from interlock.statechart.events import event_to_json
from interlock.statechart.frozen import freeze
from interlock.statechart.plain_classes import is_plain
from interlock.statechart.reasons import reason_of

__all__ = ["check_returns"]


def check_returns(machine: Machine[Any, Any, Any] | None, event: Any, written: Mapping[str, Any]) -> None:
    """Raise :class:`NotJsonError`, naming the field, for an event that its entry would not lead back to.

    Arguments:
        machine: the machine that the event is for; None for one that is not there any more.
        event: the event.
        written: the event as it will stand in its entry.
    """
    kind: type[Any] = event.__class__
    if machine is None or machine.event_types.get(written["type"]) is not kind or is_plain(kind):
        return
    try:
        back: object = machine.event_from_json(written)
        if back == event:
            return  # by value, as contexts are: sets are written in no order
        again: Mapping[str, Any] = freeze(dict(event_to_json(back)))
    except Exception as error:  # validators and serializers are the author's code
        raise NotJsonError(
            f"event {written['type']!r} is written in a form that cannot be read: {reason_of(error)}",
            path="entry.event",
        ) from error
    if again != written:
        name = next(name for name in written if again.get(name) != written[name])
        raise NotJsonError(
            f"{written[name]!r} would come back as {again.get(name)!r}; declare a type that survives JSON (no one-way "
            "serializers), and validators that change nothing the second time",
            path=f"entry.event.{name}",
        )
