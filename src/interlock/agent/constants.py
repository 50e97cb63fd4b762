"""What is written as a value can be judged at once: fields, events and sources of moves, arguments, model names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any, cast

from interlock.agent.act import ActSpec
from interlock.agent.calls import CallSpec, same_function
from interlock.agent.descriptors import OF_EVENTS, tool_names
from interlock.agent.emitting import refused_event
from interlock.agent.events import EventClass
from interlock.agent.model_refs import near_alias
from interlock.agent.reasons import reason_of, short
from interlock.agent.walking import Place, places, transitions, wording_of
from interlock.errors import DefinitionError, did_you_mean
from interlock.statechart import Invoke, Machine, Move, State
from interlock.statechart.frozen import freeze
from interlock.statechart.moves import Operation

__all__ = ["check_constants"]

Classes = Mapping[str, EventClass]


def check_constants(
    machine: Machine[Any, Any, Any], events: Classes, emits: Classes | None, models: Mapping[str, str]
) -> None:
    """Refuse a machine in which something that is written as a value, not as a function, can never be right."""
    for place in places(machine.definition):
        for slot, patch, operations in _moves(place.state):
            _check_fields(machine, place, slot, patch)
            for operation in operations:
                reason = _wrong(machine, operation, events, emits)
                if reason is not None:
                    raise DefinitionError(f"{slot}: {reason[1]}", code=reason[0], machine=machine.id, state=place.path)
        for invoke in place.state.invoke:
            _check_call(machine, place, invoke)
            _check_model(machine, place, invoke, models)
            _check_choice(machine, place, invoke, events)


def _moves(state: State) -> Iterator[tuple[str, Mapping[str, Any], Iterable[Operation]]]:
    for slot, transition in transitions(state):
        if transition.handler is None:
            yield slot, transition.patch or {}, transition.operations
    for slot, given in (("entry", state.entry), ("exit", state.exit)):
        if isinstance(given, Move):
            yield slot, given.patch or {}, given.operations


def _check_fields(machine: Machine[Any, Any, Any], place: Place, slot: str, patch: Mapping[str, Any]) -> None:
    known = machine.table.context.fields
    for name in patch if known is not None else ():
        if name not in (known or {}):
            raise DefinitionError(
                f"{slot}: the move sets the field {name!r}, but {machine.table.context.name} has no such field. "
                f"{did_you_mean(name, known or {})}",
                code="unknown-field",
                machine=machine.id,
                state=place.path,
            )


def _wrong(
    machine: Machine[Any, Any, Any], operation: Operation, events: Classes, emits: Classes | None
) -> tuple[str, str] | None:
    """Return code and reason where an effect of a constant move can never be carried out."""
    name, payload = operation.name, operation.payload
    if name == "emit" and emits is not None:
        reason = refused_event(payload, emits, "emits")
        if reason is not None:
            return "unknown-event", f"the move emits {short(payload)}: {reason}"
    elif name == "raise":
        reason = refused_event(payload, events, "events")
        if reason is not None:
            return "unknown-event", f"the move raises {short(payload)}: {reason}"
    elif name == "spawn":
        return _wrong_spawn(machine, operation)
    return _wrong_delay(machine, operation.delay)


def _wrong_delay(machine: Machine[Any, Any, Any], delay: object) -> tuple[str, str] | None:
    if isinstance(delay, str):
        known = machine.table.delays
        if delay in known:
            return None
        return "unknown-delay", f"the delay {delay!r} is not among the machine's delays. {did_you_mean(delay, known)}"
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
    fits = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < float("inf")
    if delay is None or fits:
        return None
    return "invalid-delay", f"the delay {short(delay)} is none; give seconds (0 or more), a timedelta, or a name"


def _wrong_spawn(machine: Machine[Any, Any, Any], operation: Operation) -> tuple[str, str] | None:
    """Return code and reason where a constant spawn can never start its child."""
    src = str(operation.to)
    if src.startswith("agent."):
        return "reserved-name", f"the move spawns {src!r}, which is the library's own: it runs where a state invokes it"
    if src not in machine.sources:
        return "unknown-source", (
            f"the move spawns the source {src!r}, which the machine does not have. {did_you_mean(src, machine.sources)}"
        )
    named = src if operation.id is None else operation.id
    if (
        not isinstance(cast("object", named), str)
        or not named
        or any(character in named for character in "#/")
        or named.startswith("@")
    ):
        given = f"spawn({src!r}) without an id= is called" if operation.id is None else f"spawn({src!r}, id={named!r}):"
        return "invalid-key", f"{given} {named!r}, which cannot be a child's id: no '#', '/' or leading '@'"
    source = machine.sources[src]
    try:
        given = freeze(operation.payload, "input", models=True)
        if isinstance(source, Machine):
            source.checked_input(given)
        elif callable(source) and (reason := _unfit(source, given)) is not None:
            return "invalid-call", f"the move spawns {src!r}: {reason}"
    except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
        needs = "without an input" if operation.payload is None else f"with input={short(operation.payload)}"
        return "invalid-child", f"the move spawns {src!r} {needs}: {reason_of(error)}"
    return None


def _check_call(machine: Machine[Any, Any, Any], place: Place, invoke: Invoke) -> None:
    spec = invoke.logic
    if not isinstance(spec, CallSpec) or callable(invoke.input):
        return
    if not same_function(machine.sources.get(spec.name), spec.function):
        return
    reason = _unfit(spec.function, invoke.input)
    if reason is not None:
        raise DefinitionError(f"call({spec.name}): {reason}", code="invalid-call", machine=machine.id, state=place.path)


def _unfit(function: Callable[..., object], given: object) -> str | None:
    """Return why a function cannot be called with a constant input; None where it can, or does not say."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None  # a builtin that does not say
    positional, named = CallSpec.arguments(given)
    unknown = [name for name in named if name not in signature.parameters]
    try:
        signature.bind(*positional, **named)
    except TypeError as error:
        hint = f". {did_you_mean(unknown[0], signature.parameters)}" if unknown else ""
        return f"the function takes {signature}, and input={short(given)} does not fit: {error}{hint}"
    return None


def _check_model(machine: Machine[Any, Any, Any], place: Place, invoke: Invoke, models: Mapping[str, str]) -> None:
    model = wording_of(invoke).get("model")
    if not isinstance(model, str):
        return
    near = near_alias(model, models)
    if near is not None:
        raise DefinitionError(
            f"model={model!r} is neither an alias nor a reference that models= declares. Did you mean {near!r}? If the "
            "model is called that, declare it in models=, or name its provider: 'provider/id'",
            code="unknown-model",
            machine=machine.id,
            state=place.path,
        )


def _check_choice(machine: Machine[Any, Any, Any], place: Place, invoke: Invoke, events: Classes) -> None:
    """Refuse an act loop that must call a tool of an event which no model is ever offered."""
    choice = wording_of(invoke).get("tool_choice")
    if not isinstance(invoke.logic, ActSpec) or not isinstance(choice, str) or not choice.startswith(OF_EVENTS):
        return
    kinds = {name: kind for kind, name in tool_names(events).items()}
    offered = [name for name, kind in kinds.items() if events[kind].actor != "human"]
    if choice in offered:
        return
    reason = f"no event of the machine has that tool. {did_you_mean(choice, offered)}"
    if choice in kinds:
        reason = f"only a person may send {kinds[choice]!r} (actor='human'): no model is ever offered it"
    raise DefinitionError(
        f"act(tool_choice={choice!r}): {reason}", code="unknown-tool", machine=machine.id, state=place.path
    )
