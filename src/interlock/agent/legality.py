"""Which events a model may pick now. What the machine would do is asked of the machine, by the code of the step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlock.agent.decide import DecideSpec, Entry
from interlock.agent.events import Event, EventClass
from interlock.agent.reading import AnyMachine, classes_of
from interlock.agent.reasons import short
from interlock.errors import InvalidMoveError, did_you_mean
from interlock.statechart import Snapshot, Transition, selected

if TYPE_CHECKING:
    from interlock.statechart.nodes import Node
    from interlock.statechart.queries import Taken

__all__ = ["Offer", "candidates", "for_people", "forbidden", "matching", "offer", "refusal"]


@dataclass(frozen=True, slots=True)
class Offer:
    """What a decision may pick now, and what it could pick if the machine stood otherwise."""

    events: tuple[EventClass, ...]
    withheld: tuple[EventClass, ...]
    """Events without fields that the machine knows here, but whose transition is not legal now."""


def candidates(
    machine: AnyMachine, snapshot: Snapshot[object], spec: DecideSpec, *, state: str = "(root)"
) -> tuple[EventClass, ...]:
    """Return the events that a decision may pick now, in the author's order. See :func:`offer`."""
    return offer(machine, snapshot, spec, state=state).events


def offer(machine: AnyMachine, snapshot: Snapshot[object], spec: DecideSpec, *, state: str = "(root)") -> Offer:
    """Return what the decision allows, the machine accepts, and a model may send.

    An active state must handle the event by its own name: a handler of ``"*"`` invites nothing. Events that only a
    person may send are left out. An event without fields is judged at once, its guard included; one with fields is
    judged when it comes. ``state`` names the invoking state in errors.

    Raises :class:`HandlerError` where one of the author's functions raises, guards of events without fields included.
    """
    classes = classes_of(machine)
    accepted = {kind: classes[kind] for kind in snapshot.accepted_events() if kind in classes}
    allowed = spec.allowed(snapshot, state)
    wanted = list(accepted) if allowed is None else _expanded(allowed, accepted, classes, snapshot, state)
    events: list[EventClass] = []
    withheld: list[EventClass] = []
    for kind in wanted:
        event = accepted[kind]
        if event.actor == "human" or _for_people_only(snapshot, kind):
            continue
        if event.model_fields or _is_legal(snapshot, event):
            events.append(event)
        else:
            withheld.append(event)
    return Offer(tuple(events), tuple(withheld))


def _is_legal(snapshot: Snapshot[object], event: EventClass) -> bool:
    try:
        bare = event()
    except Exception:  # noqa: BLE001  # its validators are other people's code
        return False
    return refusal(snapshot, bare) is None


def refusal(snapshot: Snapshot[object], event: Event) -> str | None:
    """Return why a model may not send ``event`` now; None where it may.

    One of the transitions that it would take must be there for this event by name: what only a pattern would take is
    never offered, and an event whose own guard says no is not legal because somebody listens to everything.
    """
    taken = [item for item in selected(snapshot, event) if not item.bare]
    named = any(item.definition.event == event.type for item in taken)
    return _refused(snapshot, event, taken, legal=named)


def forbidden(snapshot: Snapshot[object], event: Event) -> str | None:
    """Return why an event that a host has made of what a model has said may not be sent now; None where it may.

    Its author has named the event, so a pattern may take it; what is a person's stays a person's.
    """
    taken = [item for item in selected(snapshot, event) if not item.bare]
    return _refused(snapshot, event, taken, legal=bool(taken))


def _refused(snapshot: Snapshot[object], event: Event, taken: Sequence[Taken], *, legal: bool) -> str | None:
    if getattr(event, "actor", None) == "human":  # events of a machine without an agent have no actor
        return f"only a person may send {event.type!r}"
    if not legal:
        return f"{event.type!r} with this payload is not allowed in state {short(snapshot.value)}"
    if any(for_people(item.definition) for item in taken):
        return f"only a person may send {event.type!r} with this payload in state {short(snapshot.value)}"
    return None


def for_people(transition: Transition) -> bool:
    """Whether a transition is reserved for people."""
    return transition.meta.get("actor") == "human"


def matching(entry: Entry, classes: Mapping[str, EventClass]) -> list[str]:
    """Return the types that an entry of ``allowed_events`` names, in the order of ``classes``."""
    if not isinstance(entry, str):
        return [entry.type] if classes.get(entry.type) is entry else []
    if entry == "*":
        return list(classes)
    if entry.endswith(".*"):
        return [kind for kind in classes if kind.startswith(entry[:-1])]
    return [entry] if entry in classes else []


def _expanded(
    allowed: tuple[Entry, ...],
    accepted: Mapping[str, EventClass],
    classes: Mapping[str, EventClass],
    snapshot: Snapshot[object],
    state: str,
) -> list[str]:
    found: dict[str, None] = {}
    for entry in allowed:
        if not matching(entry, classes):
            # A list was checked when the machine was built: this one comes from a function.
            name = entry if isinstance(entry, str) else entry.__name__
            raise InvalidMoveError(
                f"allowed_events= of the decision returned {name!r}, which is no event of the machine. "
                f"{did_you_mean(name, classes)}",
                code="invalid-handler-result",
                machine=snapshot.machine_id,
                state=state,
            )
        found.update(dict.fromkeys(matching(entry, accepted)))
    return list(found)


def _for_people_only(snapshot: Snapshot[object], kind: str) -> bool:
    """Whether every transition that an event of this type could take now is reserved for people.

    Which of several is taken depends on guards, and so on the payload: the choice itself is judged once more.
    """
    possible: list[Transition] = []
    for leaf in snapshot.configuration.leaves:
        chain = list(_up_to_first_certain(leaf, kind))
        if len(chain) == 1 and for_people(chain[0]) and _certain(chain[0]):
            return True
        possible.extend(chain)
    return bool(possible) and all(for_people(transition) for transition in possible)


def _up_to_first_certain(leaf: Node, kind: str) -> Iterator[Transition]:
    node: Node | None = leaf
    while node is not None:
        for candidate in node.candidates(kind):
            yield candidate.definition
            if _certain(candidate.definition):
                return
        node = node.parent


def _certain(transition: Transition) -> bool:
    """Whether a transition is taken whatever the payload, so that none behind it is ever asked."""
    return transition.static and transition.guard is None
