"""What a user interface shows while a machine waits for somebody, and the event that an answer is. All of it pure.

A state says so in ``meta={"interaction": {...}}``::

    agent.state(
        meta={
            "interaction": {
                "label": "Send this to {customer.name}?",
                "events": {
                    Approve: "Send it",
                    Revise: {"label": "Make it shorter", "style": "secondary", "event": {"note": "shorter"}},
                },
                "text_event": Revise,
            }
        },
        on=[...],
    )

``label`` is a text, or a function of the context; ``events`` are the choices, by class or type, each a label or
``{"label", "style", "event"}`` with fields that are fixed; ``text_event`` is the event whose field ``text`` takes what
somebody writes freely. The shape is checked when the machine is built.

Of several active states that declare one, the innermost speaks, and of equally deep ones the first in document order;
nothing is mixed. A machine speaks for itself: what a child machine shows is asked of the child's machine and snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from interlock.agent.events import Event, EventClass
from interlock.agent.interaction_meta import (
    INTERACTION,
    PLACEHOLDER,
    ChoiceSpec,
    InteractionSpec,
    fields_by_key,
    interaction_spec,
)
from interlock.agent.plain import plain
from interlock.agent.reading import AnyMachine, checked_machine, classes_of, parse_event, read_event
from interlock.agent.reasons import reason_of, short
from interlock.agent.requests import JsonObject
from interlock.agent.wording import Place
from interlock.errors import InputError, NotJsonError, SnapshotError, StepError
from interlock.statechart import Snapshot
from interlock.statechart.saving import thaw

if TYPE_CHECKING:
    from interlock.statechart.nodes import Node

__all__ = ["Interaction", "InteractionChoice", "event_from_interaction", "get_interaction"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionChoice:
    """One event that may be sent now: a button, say.

    ``event`` are the fields that are fixed; whoever answers gives the others. ``style`` is the author's own word.
    """

    type: str
    label: str
    style: str | None = None
    event: JsonObject = field(default_factory=dict[str, object])

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data."""
        return {"type": self.type, "label": self.label, "style": self.style, "event": thaw(self.event)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """What a user interface shows now, as plain data.

    ``label`` is empty where the state declares none; ``text_event`` is the type of the event that a free text becomes,
    None where none is asked for.
    """

    label: str
    events: tuple[InteractionChoice, ...] = ()
    text_event: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data."""
        return {
            "label": self.label,
            "events": [choice.to_json() for choice in self.events],
            "text_event": self.text_event,
        }


def get_interaction(
    machine: AnyMachine, snapshot: Snapshot[object], *, preserve_whitespace: bool = False
) -> Interaction | None:
    """Return what the active states of a machine say to show; None where none of them declares anything.

    A choice is offered while an active state handles its event, be it by a pattern. Where the payload is complete as it
    is (the fixed fields, and defaults), the guard is asked as well: a choice that would be refused, or do nothing, is
    left out. One that still lacks a field stays, and so does one whose guard raises; it is judged when it comes.

    ``{a.b}`` in a text is a value of the context, as it would be saved as JSON: nothing for None and for what is not
    there, the values of a list with commas between. ``{{a.b}}`` stands for ``{a.b}``. What a function returns is shown
    as it is.

    Arguments:
        machine: the machine; it knows the event classes.
        snapshot: where it stands, also with other sources (``machine.provide``).
        preserve_whitespace: leave white space in labels as it is; otherwise each run of it becomes one space, and none
            is left at the ends.

    Raises :class:`SnapshotError` for the snapshot of another machine, :class:`StepError` where the function that words
    the label fails, and :class:`DefinitionError` where a machine that no agent has built declares something else.
    """
    found = _declared(machine, snapshot)
    if found is None:
        return None
    node, spec = found
    words = _Words(machine, snapshot, node, preserve_whitespace=preserve_whitespace)
    return Interaction(
        label=words.said(spec.label),
        events=tuple(
            InteractionChoice(
                type=choice.event.type, label=words.said(choice.label), style=choice.style, event=choice.fixed
            )
            for choice in _offered(snapshot, spec)
        ),
        text_event=None if (event := _text_event(snapshot, spec)) is None else event.type,
    )


def event_from_interaction(machine: AnyMachine, snapshot: Snapshot[object], reply: Mapping[str, object]) -> Event:
    """Return the event that an answer to what :func:`get_interaction` shows is; whether it is legal, a step says.

    Arguments:
        machine: the machine.
        snapshot: where it stands now; the answer may be to what was shown earlier.
        reply: ``{"type": ...}`` of a choice beside the fields that it leaves open, or ``{"text": ...}``. It is not
            trusted: what is fixed stays as it is, and the payload is checked by the event's class.

    Raises :class:`InputError`: ``no-interaction`` where nothing is shown, ``choice-not-offered``, ``no-free-text``
    where no text is asked for, ``invalid-reply`` for what is neither a choice nor a text, ``invalid-event`` for fields
    that do not fit.
    """
    found = _declared(machine, snapshot)
    if found is None:
        raise InputError(
            f"machine {machine.id!r}: nothing is shown in {', '.join(snapshot.states)} ({snapshot.status}), so this "
            f"answers nothing: {short(reply)}",
            code="no-interaction",
        )
    _, spec = found
    given = _read(machine, reply)
    if "type" in given:
        return _chosen(machine, snapshot, spec, given)
    event = _text_event(snapshot, spec)
    if event is None:
        raise InputError(
            f"machine {machine.id!r}: no free text is asked for now. {_listed(snapshot, spec)}", code="no-free-text"
        )
    return parse_event(machine, {"text": given["text"], "type": event.type})


def _chosen(machine: AnyMachine, snapshot: Snapshot[object], spec: InteractionSpec, given: JsonObject) -> Event:
    kind = given["type"]
    choice = next((choice for choice in _offered(snapshot, spec) if choice.event.type == kind), None)
    if choice is None:
        raise InputError(
            f"machine {machine.id!r}: {short(kind)} is not offered now. {_listed(snapshot, spec)}",
            code="choice-not-offered",
        )
    # Whatever it is called: a field that is fixed is not to be filled by one of its other names.
    names = fields_by_key(choice.event)
    fixed = {names[key] for key in choice.fixed}
    free = {key: value for key, value in given.items() if names.get(key) not in fixed}
    return parse_event(machine, {**free, **choice.fixed, "type": choice.event.type})


def _read(machine: AnyMachine, reply: object) -> JsonObject:
    """Return a reply as JSON, with ``type`` or else ``text`` alone in it."""
    shown = short(reply)
    given: JsonObject | None = None
    try:
        if isinstance(reply, Mapping):
            given = cast("JsonObject", plain(dict(cast("JsonObject", reply))))
    except Exception as error:  # noqa: BLE001  # mappings are other people's code
        raise InputError(
            f"machine {machine.id!r}: the reply cannot be written as JSON: {reason_of(error)}", code="invalid-reply"
        ) from None
    if given is not None and ("type" in given or (set(given) == {"text"} and isinstance(given["text"], str))):
        return given
    raise InputError(
        f"machine {machine.id!r}: {shown} is no reply; give {{'type': <a choice>, ...}} with the fields that it "
        "leaves open, or {'text': '...'} alone",
        code="invalid-reply",
    )


def _listed(snapshot: Snapshot[object], spec: InteractionSpec) -> str:
    kinds = ", ".join(repr(choice.event.type) for choice in _offered(snapshot, spec))
    event = _text_event(snapshot, spec)
    text = "" if event is None else f"; a free text becomes {event.type!r}"
    return f"Offered: {kinds or 'no choice'}{text}"


def _declared(machine: AnyMachine, snapshot: Snapshot[object]) -> tuple[Node, InteractionSpec] | None:
    """Return the state that speaks, and what it says."""
    checked_machine(machine)
    if not isinstance(snapshot, Snapshot):  # pyright: ignore[reportUnnecessaryIsInstance]  # whatever a host has given
        raise InputError(
            f"machine {machine.id!r}: {short(snapshot)} is no snapshot; read a saved one with machine.load(...)",
            code="invalid-input",
        )
    if snapshot.machine_id != machine.id:
        raise SnapshotError(
            f"the snapshot is one of machine {snapshot.machine_id!r}, not of {machine.id!r}", code="machine-mismatch"
        )
    if snapshot.status != "active":
        return None
    # max() keeps the first of equals: the nodes stand in document order.
    speaking = [node for node in snapshot.configuration.nodes if INTERACTION in node.definition.meta]
    node = max(speaking, key=_depth, default=None)
    if node is None:
        return None
    given = node.definition.meta[INTERACTION]
    return node, interaction_spec(given, classes_of(machine), machine=machine.id, state=node.path or "(root)")


def _depth(node: Node) -> int:
    depth, above = 0, node.parent
    while above is not None:
        depth, above = depth + 1, above.parent
    return depth


def _offered(snapshot: Snapshot[object], spec: InteractionSpec) -> list[ChoiceSpec]:
    return [
        choice for choice in spec.choices if _is_accepted(snapshot, choice.event) and not _is_idle(snapshot, choice)
    ]


def _text_event(snapshot: Snapshot[object], spec: InteractionSpec) -> EventClass | None:
    return spec.text_event if spec.text_event is not None and _is_accepted(snapshot, spec.text_event) else None


def _is_accepted(snapshot: Snapshot[object], event: EventClass) -> bool:
    """Whether an active state handles an event of this class, by its type or by a pattern.

    Other than for a model, a pattern is enough: here the author has named the event himself.
    """
    for leaf in snapshot.configuration.leaves:
        node: Node | None = leaf
        while node is not None:
            if node.candidates(event.type):
                return True
            node = node.parent
    return False


def _is_idle(snapshot: Snapshot[object], choice: ChoiceSpec) -> bool:
    """Whether a choice, sent as it is, would be refused or do nothing; not where that cannot be said yet."""
    kind = choice.event.type
    event = read_event({kind: choice.event}, {**choice.fixed, "type": kind})
    if not isinstance(event, Event):
        return False
    try:
        return not snapshot.can(event)
    except StepError:
        return False  # the author's guard has failed on it; with other fields it need not


class _Words:
    """What is shown of a context."""

    def __init__(self, machine: AnyMachine, snapshot: Snapshot[Any], node: Node, *, preserve_whitespace: bool) -> None:
        self._place = Place(what="the interaction", machine=machine.id, state=node.path or "(root)")
        self._kind = snapshot.table.context
        self._context = snapshot.context
        self._preserve = preserve_whitespace

    def said(self, label: object) -> str:
        """Return a label in words."""
        if not isinstance(label, str):
            function: Any = label
            label = self._place.ask(function, "label", self._context)
            if not isinstance(label, str):
                raise self._place.refused("label", function, f"{short(label)}; a label is a text")
            text = label
        else:
            text = PLACEHOLDER.sub(lambda match: f"{{{match[1]}}}" if match[1] else self._value(match[2]), label)
        return text if self._preserve else " ".join(text.split())

    def _value(self, path: str) -> str:
        first, *rest = path.split(".")
        value = self._field(first)
        for name in rest:
            value = _inside(value, name)
        return _shown(value)

    def _field(self, name: str) -> object:
        """Return one field of the context as it is saved, whatever kind of context it is."""
        known = self._kind.fields
        if known is not None and name not in known:
            return None
        try:
            saved = cast("Mapping[str, object]", self._kind.dump(self._context, include={name: True}))
        except Exception as error:  # serializers are the author's code
            raise NotJsonError(f"cannot be written: {reason_of(error)}", path=f"context.{name}") from error
        value = saved.get(name)
        given = getattr(self._context, name, None)
        # A set has no order, and must be shown in the same one everywhere.
        return sorted(cast("list[Any]", value), key=_shown) if isinstance(given, frozenset) else value


def _inside(value: object, name: str) -> object:
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value).get(name)
    if isinstance(value, Sequence) and not isinstance(value, str) and name.isdecimal():
        items = cast("Sequence[object]", value)
        return items[int(name)] if int(name) < len(items) else None
    return None


def _shown(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Sequence):
        return ", ".join(_shown(item) for item in cast("Sequence[object]", value))
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
