"""What states promise each other: outputs of a declared type, ends that can be reached, a context narrow enough."""

from __future__ import annotations

from typing import Any, is_typeddict

from interlock.agent.adapting import Adapted
from interlock.agent.outputs import DeclaredOutput
from interlock.agent.reasons import reason_of, short
from interlock.agent.reports import FromChild
from interlock.agent.walking import Place, functions, places
from interlock.errors import DefinitionError
from interlock.statechart import UNSET, Machine, State
from interlock.statechart.definition import WithAt
from interlock.statechart.json_type import JsonType

__all__ = ["check_promises"]


def check_promises(machine: Machine[Any, Any, Any]) -> None:
    """Refuse a machine whose states cannot keep what they, or the machine, promise."""
    for place in places(machine.definition):
        if place.state.on_done:
            _check_done(machine, place)
        _check_narrow(machine, place)
    if machine.output_type is None:
        return
    root = machine.definition
    if root.kind == "parallel":
        if _can_end(root) and _refusal(machine.output_type, None) is not None:
            raise DefinitionError(
                "kind='parallel': when all regions are done the machine ends without an output, and its output type "
                "does not take None; put the regions into one state, agent.parallel(states=..., on_done='over'), with "
                "'over': agent.final(output=...) beside it",
                code="invalid-state",
                machine=machine.id,
                state="(root)",
            )
        return
    for key, state in root.states.items():
        if state.kind == "final":
            _check_final(machine, machine.output_type, key, state)


def _check_final(machine: Machine[Any, Any, Any], kind: JsonType[Any], key: str, state: State) -> None:
    if _is_function(state.output):
        return
    if state.output is UNSET:
        if _refusal(kind, None) is not None:
            raise DefinitionError(
                "this final state ends the machine without an output, and the machine's output type does not take "
                "None; give agent.final(output=...)",
                code="invalid-state",
                machine=machine.id,
                state=key,
            )
        return
    reason = _refusal(kind, state.output)
    if reason is not None:
        raise DefinitionError(
            f"this final state ends the machine with {short(state.output)}, which its output type refuses: {reason}",
            code="invalid-state",
            machine=machine.id,
            state=key,
        )


def _refusal(kind: JsonType[Any], output: object) -> str | None:
    try:
        kind.keep(kind.validate_python(output), "output")  # as when the machine ends
    except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
        return reason_of(error)
    return None


def _check_done(machine: Machine[Any, Any, Any], place: Place) -> None:
    state = place.state
    reason = None
    if not place.around:
        reason = "when the root is done the machine has ended; its output goes to whoever runs it"
    elif state.kind == "compound" and not any(child.kind == "final" for child in state.states.values()):
        reason = "none of its child states is an end; give it one with agent.end(...)"
    elif state.kind == "parallel":
        endless = [key for key, child in state.states.items() if not _can_end(child)]
        if endless:
            reason = f"its region {endless[0]!r} has no end; give each region one with agent.end(...)"
    elif state.kind == "atomic":
        reason = "a state without child states is never done; work that it starts has an on_done of its own"
    if reason is not None:
        raise DefinitionError(
            f"on_done= is never taken: {reason}", code="invalid-state", machine=machine.id, state=place.path
        )
    for transition in state.on_done:
        if isinstance(transition.event_class, DeclaredOutput) and state.kind == "compound":
            _check_ends(machine, place, transition.event_class)


def _check_ends(machine: Machine[Any, Any, Any], place: Place, kind: DeclaredOutput) -> None:
    for key, child in place.state.states.items():
        if child.kind != "final" or _is_function(child.output):
            continue
        output = None if child.output is UNSET else child.output
        reason = kind.refusal(output)
        if reason is not None:
            given = "ends without an output" if child.output is UNSET else f"ends with {short(output)}"
            raise DefinitionError(
                f"its end {key!r} {given}, which is no {kind.name}, as on_done=agent.done({kind.name}, ...) declares: "
                f"{reason}",
                code="invalid-state",
                machine=machine.id,
                state=place.path,
            )


def _can_end(state: State) -> bool:
    if state.kind == "parallel":
        return all(_can_end(child) for child in state.states.values())
    if state.kind == "compound":
        return any(child.kind == "final" for child in state.states.values())
    return state.kind in {"final", "history"}


def _check_narrow(machine: Machine[Any, Any, Any], place: Place) -> None:
    """Refuse a function that wants a narrower context where no state makes sure of it."""
    if place.state.kind == "choice":
        return  # never rests: what it is given is looked at when it chooses
    promised = [item.context for item in (place.state, *place.around) if item.context is not None]
    for slot, given in functions(place.state):
        function = _authors(given)
        if function is None or function.narrow is None:
            continue
        kind = function.narrow.kind
        if not any(_implies(other, kind) for other in promised):
            raise DefinitionError(
                f"{slot}: this function takes a context of type {function.narrow.name}, but neither the state nor one "
                f"around it declares that; make the state with the words of agent.narrow({function.narrow.name}), or "
                f"give agent.state(context={function.narrow.name}, ...)",
                code="invalid-context",
                machine=machine.id,
                state=place.path,
            )


def _implies(promised: Any, kind: Any) -> bool:  # noqa: ANN401  # classes of contexts
    return promised is kind or (not is_typeddict(kind) and issubclass(promised, kind))


def _authors(given: object) -> Adapted | None:
    """Return the function that an author has given with the words of an agent, whatever is wrapped around it."""
    function = given.function if isinstance(given, WithAt) else given
    if isinstance(function, FromChild):
        function = function.guard
    return function if isinstance(function, Adapted) else None


def _is_function(output: object) -> bool:
    return callable(output) or isinstance(output, WithAt)
