"""Keywords that were given something of another shape than they take: what type checkers say, for those without one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from interlock.agent.adapting import check_arguments
from interlock.agent.reasons import short
from interlock.errors import DefinitionError
from interlock.statechart import After, Invoke, Move, State, Transition
from interlock.statechart.definition import WithAt

__all__ = ["check_machine_shape", "check_shape"]


def check_shape(word: str, name: str, value: object) -> None:
    """Refuse a value that the keyword ``name`` of ``agent.<word>(...)`` cannot hold, saying what it holds."""
    rule = _RULES.get(name)
    if rule is not None and not rule[0](value):
        raise DefinitionError(f"{word}({name}={short(value)}): {rule[1]}", code=rule[2])


def check_machine_shape(
    id: object, *, kind: object, context: object, sources: object, delays: object, migrate: object, version: object
) -> None:
    """Refuse what a machine as a whole was given in another shape than it takes."""
    if not isinstance(id, str):
        raise DefinitionError(f"machine({short(id)}): a machine's name is a text", code="invalid-key")
    if not isinstance(version, str | None):
        raise DefinitionError(f"version={short(version)}: a version is a text", code="invalid-key", machine=id)
    if kind not in (None, "parallel"):
        raise DefinitionError(
            f"kind={kind!r}: the only kind that a machine can be given is 'parallel'", code="invalid-state", machine=id
        )
    for name, given in (("sources", sources), ("delays", delays)):
        if not _is_mapping(given) or not all(
            isinstance(key, str) for key in cast("Mapping[object, object]", given or {})
        ):
            raise DefinitionError(f"{name}={short(given)}: give a mapping by name", code="invalid-key", machine=id)
    for name, delay in cast("Mapping[str, object]", delays or {}).items():
        if callable(delay):
            _check_function(delay, f"delays[{name!r}]", ("context",), id)
    if migrate is not None:
        if not callable(migrate):
            raise DefinitionError(
                f"migrate={short(migrate)}: give a function of (dump, from_version)", code="invalid-handler", machine=id
            )
        _check_function(migrate, "migrate=", ("dump", "from_version"), id)
    if callable(context) and not isinstance(context, type) and not _takes_nothing(context):
        _check_function(context, "context=", ("input",), id)


def _check_function(function: Callable[..., object], place: str, takes: tuple[str, ...], machine: str) -> None:
    try:
        check_arguments(function, place, takes)
    except DefinitionError as error:
        raise DefinitionError(error.message, code=error.code, machine=machine) from None


def _takes_nothing(function: Callable[..., object]) -> bool:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):
        return False
    return True


def _all(kind: type) -> Callable[[object], bool]:
    def fits(value: object) -> bool:
        return (
            isinstance(value, Sequence)
            and not isinstance(value, str)
            and all(isinstance(item, kind) for item in cast("Sequence[object]", value))
        )

    return fits


def _is_work(value: object) -> bool:
    return isinstance(value, Invoke) or _all(Invoke)(value)


def _is_quiet(value: object) -> bool:
    if isinstance(value, Move):
        return value.target is None
    return isinstance(value, WithAt) or (callable(value) and not isinstance(value, type))


def _is_tags(value: object) -> bool:
    if isinstance(value, str):
        return True
    return isinstance(value, Sequence | set | frozenset) and all(isinstance(tag, str) for tag in cast("Any", value))


def _is_initial(value: object) -> bool:
    if value is None or isinstance(value, str):
        return True
    pair = cast("tuple[object, ...]", value) if isinstance(value, tuple) else ()
    return len(pair) == 2 and isinstance(pair[0], str)


def _is_mapping(value: object) -> bool:
    return value is None or isinstance(value, Mapping)


def _is_states(value: object) -> bool:
    # What stands among the states is for the engine to look at: it knows the place.
    return value is None or (isinstance(value, Mapping) and not isinstance(value, State))


_RULES: Mapping[str, tuple[Callable[[object], bool], str, str]] = {
    "on": (_all(Transition), "give a list of agent.on(...) and agent.on_at(...)", "invalid-transition"),
    "always": (_all(Transition), "give a list of agent.always(...)", "invalid-transition"),
    "after": (_all(After), "give a list of agent.after(...)", "invalid-transition"),
    "invoke": (
        _is_work,
        "give what agent.decide(...), agent.call(...), agent.child(...) or agent.ask(...) returned, or a list of these",
        "invalid-state",
    ),
    "entry": (
        _is_quiet,
        "nothing can be left on entry: give agent.stay(...) or a function returning it",
        "invalid-state",
    ),
    "exit": (_is_quiet, "a state is left already: give agent.stay(...) or a function returning it", "invalid-state"),
    "tags": (_is_tags, "give a text, or several", "invalid-state"),
    "meta": (_is_mapping, "give a mapping", "invalid-state"),
    "states": (_is_states, "give states by key: {'key': agent.state(...)}", "invalid-state"),
    "initial": (_is_initial, "give the key of a child state, or (key, input)", "invalid-state"),
}
