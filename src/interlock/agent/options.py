"""Closed choices: the author has made the events beforehand, and a model picks one of them and adds nothing.

Each option that is legal now is offered by itself, with a schema that holds its own values and no others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from interlock.agent.decide import DecideSpec
from interlock.agent.descriptors import EventDescriptor, describe, option_names
from interlock.agent.events import Event, EventClass
from interlock.agent.legality import offer, refusal
from interlock.agent.reading import AnyMachine, classes_of
from interlock.errors import InvalidMoveError, did_you_mean
from interlock.statechart.events import event_to_json
from interlock.statechart.frozen import freeze

if TYPE_CHECKING:
    from interlock.agent.requests import JsonObject
    from interlock.statechart import Snapshot

__all__ = ["offered", "outside"]

_LONGEST = 400
"""Characters of an option's fields that its description shows; the schema has them all."""


def offered(
    machine: AnyMachine, snapshot: Snapshot[object], spec: DecideSpec, *, state: str
) -> tuple[tuple[EventDescriptor, ...], tuple[str, ...]]:
    """Return what a decision may pick now, as a model is shown it, and the types that it may not pick now.

    Raises as :func:`interlock.agent.legality.offer`.
    """
    classes = classes_of(machine)
    if spec.options is None:
        found = offer(machine, snapshot, spec, state=state)
        return describe(found.events, among=classes.values()), tuple(event.type for event in found.withheld)
    given = _ready(spec.ready(snapshot, state), classes, snapshot, state)
    # Named before any is left out, so that an option keeps its name whatever else is legal beside it.
    names = option_names([option.type for option in given], among=classes)
    accepted = snapshot.accepted_events()
    legal: list[EventDescriptor] = []
    withheld: dict[str, None] = {}
    for option, name in zip(given, names, strict=True):
        if option.type in accepted and refusal(snapshot, option) is None:
            legal.append(_described(option, name))
        else:
            withheld[option.type] = None
    open_types = {event.type for event in legal}
    return tuple(legal), tuple(kind for kind in withheld if kind not in open_types)


def outside(options: Sequence[JsonObject], event: Event) -> str | None:
    """Return why an event is none of the options of a closed choice; None where it is one."""
    if freeze(dict(event_to_json(event))) in options:
        return None
    same = [option for option in options if option["type"] == event.type]
    shown = "; ".join(json.dumps(dict(option), ensure_ascii=False, default=str)[:_LONGEST] for option in same[:8])
    return f"{event.type!r} with this payload is none of the options, which are taken as they are: {shown}"


def _ready(
    given: Sequence[Event], classes: Mapping[str, EventClass], snapshot: Snapshot[object], state: str
) -> tuple[Event, ...]:
    found: dict[JsonObject, Event] = {}
    for option in given:
        if classes.get(option.type) is not type(option):
            raise InvalidMoveError(
                f"options= of the decision returned {option!r:.200}, which is no event of the machine. "
                f"{did_you_mean(option.type, classes)}",
                code="invalid-handler-result",
                machine=snapshot.machine_id,
                state=state,
            )
        found.setdefault(freeze(dict(event_to_json(option)), "options"), option)
    return tuple(found.values())


def _described(option: Event, name: str) -> EventDescriptor:
    written = cast("Mapping[str, object]", freeze(dict(event_to_json(option))))
    fields = {key: value for key, value in written.items() if key != "type"}
    (described,) = describe([type(option)])
    said = described.description
    if fields:
        shown = json.dumps(fields, ensure_ascii=False, default=str)
        shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."
        said = f"With {shown}: {said}" if said else f"With {shown}."
    schema: dict[str, object] = {
        "additionalProperties": False,
        "properties": {key: {"const": value} for key, value in fields.items()},
        "type": "object",
    }
    if fields:
        schema["required"] = list(fields)
    return EventDescriptor(
        type=option.type,
        tool_name=name,
        description=said,
        input_schema=freeze(schema),
        option=written,
        event_class=type(option),
    )
