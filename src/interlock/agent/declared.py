"""What can be known to be wrong with an agent before anything runs: names of events, sources, outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from interlock.agent.calls import CallSpec, same_function
from interlock.agent.children import ChildSpec
from interlock.agent.decide import DecideSpec, Entry
from interlock.agent.events import Event, EventClass, check_event_class
from interlock.agent.legality import matching
from interlock.agent.plan import PlanSpec
from interlock.agent.reasons import short
from interlock.agent.reports import FromChild
from interlock.agent.text import TextSpec
from interlock.agent.user_input import UserInputSpec
from interlock.agent.walking import places
from interlock.errors import DefinitionError, did_you_mean
from interlock.statechart import Invoke, Machine, State
from interlock.statechart.detached import is_whole

__all__ = ["check_machine", "collect_sources", "declared_events", "undeclared"]


def declared_events(events: Iterable[EventClass], where: str = "events") -> dict[str, EventClass]:
    """Return the event classes by type, checked: classes of events, each type once. ``where`` is setup's keyword."""
    found: dict[str, EventClass] = {}
    if isinstance(events, str | type) or not isinstance(cast("object", events), Iterable):
        raise DefinitionError(
            f"{where}={short(events)} is no list; write {where}=[...], with all event classes in it",
            code="invalid-event-class",
        )
    for event in events:
        _check_class(event, where)
        other = found.get(event.type)
        if other is not None:
            raise DefinitionError(
                f"{where}= holds {other.__name__} and {event.__name__}, both of type {event.type!r}; rename one",
                code="duplicate-event",
            )
        found[event.type] = event
    return found


def _check_class(event: EventClass, where: str) -> None:
    if not _is_event_class(event):
        raise DefinitionError(
            f"{where}= holds {short(event)}; give classes derived from Event, as in `class Ask(Event): ...`",
            code="invalid-event-class",
        )
    if not event.__pydantic_complete__:
        event.model_rebuild()
    if not is_whole(event.type):
        raise DefinitionError(
            f"{where}= holds {event.__name__}, whose type {event.type!r} holds a lone surrogate, which cannot be saved",
            code="invalid-event-class",
        )
    check_event_class(event)


def _is_event_class(given: object) -> bool:
    return isinstance(given, type) and issubclass(given, Event) and given is not Event


def collect_sources(machine_id: str, root: State, given: Mapping[str, object]) -> dict[str, object]:
    """Return the machine's sources: those that its author registered, and those that its states bring along."""
    for name in given:
        if name.startswith("agent."):
            raise DefinitionError(
                f"sources= registers {name!r}, but names that begin with 'agent.' are the library's own; choose "
                "another (to carry out decisions differently, give run_agent other executors)",
                code="reserved-name",
                machine=machine_id,
            )
    sources: dict[str, object] = dict(given)
    for path, state, _ in places(root):
        for invoke in state.invoke:
            if not isinstance(cast("object", invoke), Invoke):
                continue  # the engine will say so
            if isinstance(invoke.logic, DecideSpec):
                sources[invoke.src] = type(invoke.logic)
            elif isinstance(invoke.logic, TextSpec):
                sources[invoke.src] = TextSpec
            elif isinstance(invoke.logic, UserInputSpec):
                sources[invoke.src] = UserInputSpec
            elif isinstance(invoke.logic, CallSpec):
                spec, place = invoke.logic, {"code": "invalid-call", "machine": machine_id, "state": path}
                _bring(sources, spec.name, spec.function, f"call({spec.name})", place)
            elif isinstance(invoke.logic, ChildSpec):
                child, place = invoke.logic, {"code": "invalid-child", "machine": machine_id, "state": path}
                _bring(sources, child.name, child.machine, f"child({child.name!r})", place)
    return sources


def _bring(sources: dict[str, object], name: str, own: object, what: str, place: Mapping[str, str]) -> None:
    other = sources.setdefault(name, own)
    if not same_function(other, own):
        raise DefinitionError(
            f"{what}: another source has the name {name!r}, {short(other)}; give one of the two its own, with "
            f"{what.partition('(')[0]}(..., name=...)",
            **place,
        )


def check_machine(machine: Machine[Any, Any, Any], classes: Mapping[str, EventClass]) -> None:
    """Refuse a machine that speaks of events which nobody declares."""
    for path, state, _ in places(machine.definition):
        for transition in state.on:
            if (src := FromChild.unknown(transition, machine.sources)) is not None:
                raise DefinitionError(
                    f"a transition waits for children of the source {src!r}, which the machine does not have; register "
                    f"it: machine(..., sources={{{src!r}: ...}}). {did_you_mean(src, machine.sources)}",
                    code="unknown-source",
                    machine=machine.id,
                    state=path,
                )
            _check_handled(machine, path, transition.event, transition.event_class, classes)
        for invoke in state.invoke:
            _check_decision(machine, path, invoke, classes)


def _check_handled(
    machine: Machine[Any, Any, Any],
    path: str,
    event: str,
    event_class: EventClass | None,
    classes: Mapping[str, EventClass],
) -> None:
    if event.startswith("@"):
        return  # one of the library's own, which the engine has let pass
    entry = event if event_class is None else event_class
    if not matching(entry, classes):
        raise _unknown(machine, path, f"on {_named(entry)}", entry, classes)


def _check_decision(
    machine: Machine[Any, Any, Any], path: str, invoke: Invoke, classes: Mapping[str, EventClass]
) -> None:
    spec = invoke.logic
    if not isinstance(spec, DecideSpec):
        return
    if isinstance(spec, PlanSpec):
        for entry in spec.stops:
            _check_entry(machine, path, "stop_on", entry, classes)
    for entry in spec.declared or ():
        _check_entry(machine, path, "allowed_events" if spec.options is None else "options", entry, classes)


def _check_entry(
    machine: Machine[Any, Any, Any], path: str, slot: str, entry: Entry, classes: Mapping[str, EventClass]
) -> None:
    found = matching(entry, classes)
    if not found:
        raise _unknown(machine, path, f"{slot} holds {_named(entry)}", entry, classes)
    if all(classes[kind].actor == "human" for kind in found):
        raise DefinitionError(
            f"{slot} holds {_named(entry)}, which only a person may send (actor='human'): no model is ever "
            "offered it; leave it out",
            code="decide-allows-human-event",
            machine=machine.id,
            state=path,
        )


def _unknown(
    machine: Machine[Any, Any, Any], path: str, place: str, entry: Entry, classes: Mapping[str, EventClass]
) -> DefinitionError:
    reason = undeclared(entry, classes)
    return DefinitionError(f"{place}: {reason}", code="unknown-event", machine=machine.id, state=path)


def undeclared(entry: Entry, classes: Mapping[str, EventClass]) -> str:
    """Return why an event, as an author names it, is none of these: with the near misses."""
    name = entry if isinstance(entry, str) else entry.type
    if name in classes:
        return f"another class is declared for the type {name!r}, {classes[name].__qualname__}; use that one"
    if name.endswith(".*"):
        spaces = {kind.rpartition(".")[0] + ".*" for kind in classes if "." in kind}
        return f"no declared event lies below {name[:-2]!r}. {did_you_mean(name, spaces)}"
    if named := [kind for kind, event in classes.items() if event.__name__ == name]:
        return f"the class of this name has the type {named[0]!r}; give that, or the class"
    return f"setup_agent(events=[...]) declares no such event. {did_you_mean(name, classes)}"


def _named(entry: Entry) -> str:
    return repr(entry) if isinstance(entry, str) else entry.__name__
