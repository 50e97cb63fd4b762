"""Calls of plain functions, async or not: what they are given, and what their answers are by their annotation."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MethodType
from typing import Any, cast, get_args, get_origin, get_type_hints

from pydantic_core import to_jsonable_python

from interlock.agent.keywords import checked_name
from interlock.agent.reasons import reason_of, short
from interlock.errors import CallResultError, DefinitionError
from interlock.statechart.frozen import freeze
from interlock.statechart.json_type import JsonType

__all__ = ["CallSpec", "same_function"]


@dataclass(frozen=True, kw_only=True, eq=False)
class CallSpec:
    """A function that a state calls. ``name`` is the source under which a host may provide another one."""

    function: Callable[..., object]
    name: str

    def __post_init__(self) -> None:
        checked_name("call", self.name, "invalid-call")
        if self.name.startswith("agent."):
            raise DefinitionError(
                f"call(name={self.name!r}): names that begin with 'agent.' are the library's own; choose another",
                code="reserved-name",
            )
        if not self.name.replace(".", "_").replace("-", "_").isidentifier():
            raise DefinitionError(
                f"call({short(self.function)}): {self.name!r} is no name for a source; give name=", code="invalid-call"
            )
        _ = self._answer  # an annotation that means nothing is said now

    @staticmethod
    def arguments(given: object) -> tuple[tuple[object, ...], dict[str, object]]:
        """Return the invocation's input as positional and keyword arguments: a mapping gives names, else one value."""
        if given is None:
            return (), {}
        if isinstance(given, Mapping):
            return (), dict(cast("Mapping[str, object]", given))
        return (given,), {}

    def encode(self, answer: object) -> object:
        """Return the function's answer as strict JSON; raises :class:`CallResultError` if it is of another type."""
        try:
            checked = self._answer.validate_python(answer)
            if self._answer.adapter.core_schema["type"] == "any":
                # Where nothing is declared, the adapter would write NaN as null without a word.
                return freeze(to_jsonable_python(answer, by_alias=False, inf_nan_mode="constants"))
            return self._answer.keep(checked)
        except Exception as error:
            raise self._refused(answer, reason_of(error)) from error

    def decode(self, output: object) -> object:
        """Return what :meth:`encode` made as the type that the function is annotated with."""
        return self._answer.read(output)

    @cached_property
    def _answer(self) -> JsonType[Any]:
        annotation = _returned(self.function)
        try:
            return JsonType(annotation)
        except Exception as error:  # noqa: BLE001  # a type says itself how it is checked
            raise DefinitionError(
                f"call({self.name}): the return annotation {annotation!r} is no type that JSON can carry; "
                f"{reason_of(error)}",
                code="invalid-call",
            ) from None

    def _refused(self, answer: object, reason: str) -> CallResultError:
        return CallResultError(f"{self.name} returned {short(answer)}, which its annotation refuses: {reason}")


def same_function(one: object, other: object) -> bool:
    """Whether two sources are one: a bound method is another object each time that it is asked for."""
    return one is other or (isinstance(one, MethodType) and isinstance(other, MethodType) and one == other)


def _returned(function: Callable[..., object]) -> Any:  # noqa: ANN401  # a type, of whatever kind
    """Return what a function is annotated to return, awaited; anything goes where nothing is said."""
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        annotation: Any = get_type_hints(target, include_extras=True).get("return", object)
    except Exception as error:  # noqa: BLE001  # annotations may hold any code
        raise DefinitionError(
            f"call({short(function)}): its annotations cannot be read ({reason_of(error)}); define the type before the "
            "call, at the top of a module",
            code="invalid-call",
        ) from None
    origin = get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, Awaitable):
        return get_args(annotation)[-1]
    return annotation
