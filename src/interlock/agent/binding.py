"""What an agent is bound to: its types, its events, and how functions written for it are handed to the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar, cast

from interlock.agent.adapting import Adapted, Decode, check_arguments
from interlock.agent.emitting import EmitCheck
from interlock.agent.events import EventClass
from interlock.agent.reasons import reason_of, short
from interlock.agent.shapes import check_shape
from interlock.agent.tools import Tool
from interlock.agent.transitions import Then, event_transition, is_function, slot
from interlock.agent.walking import INTERACTION
from interlock.errors import DefinitionError
from interlock.statechart import Transition, with_at
from interlock.statechart.definition import WithAt
from interlock.statechart.frozen import freeze
from interlock.statechart.narrowing import Narrowing

__all__ = ["Bound", "refuse_positional"]

P = ParamSpec("P")
C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output

_SLOTS = {"on_done": "output", "on_error": "error", "on_timeout": None}
"""What the handlers of a slot get besides the context."""

_FUNCTIONS = ("entry", "exit")


class Bound(Generic[P, C, I, O]):
    """The types and declarations of an agent, and what its words have in common."""

    __slots__ = ("_context", "_emits", "_events", "_input", "_models", "_narrow", "_output", "_tools")

    def __init__(
        self,
        *,
        context: Any,  # noqa: ANN401  # what setup has checked, a class or nothing
        events: Mapping[str, EventClass],
        input: Any,  # noqa: ANN401  # the same
        output: Any,  # noqa: ANN401  # the same
        emits: Mapping[str, EventClass] | None = None,
        models: Mapping[str, str] | None = None,
        narrow: Narrowing | None = None,
        tools: Mapping[str, Tool] | None = None,
    ) -> None:
        self._context = context
        self._events = dict(events)
        self._input = input
        self._output = output
        self._emits = None if emits is None else dict(emits)
        self._models = dict(models or {})
        self._narrow = narrow
        self._tools = dict(tools or {})

    @property
    def models(self) -> Mapping[str, str]:
        """The declared aliases of models, for whoever carries out requests."""
        return dict(self._models)

    def _adapted(self, given: Any, place: str, takes: tuple[str, ...], decode: Decode | None = None) -> Any:  # noqa: ANN401  # functions of any kind, and values
        """Return a function as the engine shall call it; whatever is no function as it is.

        ``takes`` names the arguments that it will be called with, ``decode`` makes the second one.
        """
        if isinstance(given, WithAt):
            inner = self._adapted(given.function, place, (*takes, "at"), decode)
            return given if inner is given.function else with_at(inner)
        if not callable(given) or not is_function(given):
            return given
        check_arguments(given, place, takes)
        check = None if self._emits is None else EmitCheck(self._emits)
        if self._narrow is None and decode is None and check is None:
            return given
        return Adapted(given, narrow=self._narrow, decode=decode, check=check)

    def _transition(
        self,
        then: Then,
        fields: Mapping[str, Any],
        place: str,
        takes: tuple[str, ...],
        decode: Decode | None = None,
        *,
        event: str | EventClass = "",
        wide: bool = False,
    ) -> Transition:
        given = dict(fields)
        if "guard" in given:
            given["guard"] = self._adapted(given["guard"], f"{place}: guard", takes, decode)
        if wide and isinstance(then, WithAt):
            then = then.function
        handler = self._adapted(then, place, (*takes, "at") if wide else takes, decode)
        return event_transition(event, handler, given, wide=wide)

    def _slot(self, then: Any, place: str, second: str | None, decode: Decode | None = None) -> tuple[Transition, ...]:  # noqa: ANN401  # whatever the author gave
        """Return the candidates of a slot such as ``on_done``, whose handlers take the context and ``second``."""
        takes = ("context",) if second is None else ("context", second)
        return slot(self._adapted(then, place, takes, decode))

    def _given(self, given: Any, place: str) -> Any:  # noqa: ANN401  # a function, or a value of any kind
        """Return the input of work as the engine takes it: a function of the context, or a value as JSON."""
        if is_function(given):
            return self._adapted(given, place, ("context",))
        try:
            return freeze(given, models=True)
        except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
            raise DefinitionError(
                f"{place} cannot be written as JSON: {reason_of(error)}", code="invalid-type"
            ) from None

    def _state_fields(self, word: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keywords of a state, or of work, as the engine takes them: what may happen as candidates."""
        found: dict[str, Any] = {}
        for name, value in fields.items():
            check_shape(word, name, value)
            if name in _SLOTS:
                found[name] = self._slot(value, f"{word}({name}=)", _SLOTS[name])
            elif name in _FUNCTIONS:
                found[name] = self._adapted(value, f"{word}({name}=)", ("context",))
            elif name == "meta" and value:
                found[name] = self._labelled(value, word)
            else:
                found[name] = value
        return found

    def _labelled(self, meta: Mapping[str, Any], word: str) -> Mapping[str, Any]:
        """Return the meta of a state with the function that words its interaction, if any, made fit to be called."""
        interaction = meta.get(INTERACTION)
        if not isinstance(interaction, Mapping):
            return meta
        own = cast("Mapping[str, Any]", interaction)
        label = self._adapted(own.get("label"), f"{word}(meta=): the label of {INTERACTION!r}", ("context",))
        return meta if label is own.get("label") else {**meta, INTERACTION: {**own, "label": label}}

    def _invoke_fields(self, word: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Take out of ``fields`` what may be said about any work, as the engine takes it."""
        names = ("id", "on_error", "timeout", "on_timeout", "meta")
        return self._state_fields(word, {name: fields.pop(name) for name in names if name in fields})


def refuse_positional(what: str, values: Iterable[object]) -> None:
    """Refuse context fields that are given without their names."""
    if shown := ", ".join(short(value) for value in values):
        raise TypeError(f"{what}() takes context fields by name: write field=value instead of {shown}")
