"""Declared types of what comes in and goes out: made when the agent is, and the way back from JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pydantic import TypeAdapter

from interlock.agent.reasons import is_a, reason_of, short
from interlock.errors import DefinitionError, InputError
from interlock.statechart.frozen import freeze
from interlock.statechart.json_type import JsonType

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    T = TypeVar("T")
    # The class is named although it is a form as well: a checker that does not know forms still knows classes.
    TypeOf: TypeAlias = type[T] | TypeForm[T] | TypeAdapter[T]
    """A type as an author gives it: a class, or any other form where the checker knows forms, or an adapter of it."""

__all__ = ["DeclaredOutput", "adapter_of"]


def adapter_of(kind: Any, place: str) -> TypeAdapter[Any]:  # noqa: ANN401  # a type, of whatever kind
    """Return what checks values of a type; raises :class:`DefinitionError` for what is none that JSON can carry."""
    if is_a(kind, TypeAdapter):
        made: TypeAdapter[Any] = kind
        return made
    if isinstance(kind, str):
        raise DefinitionError(
            f"{place}{short(kind)} is no type but the name of one; give the type", code="invalid-type"
        )
    try:
        if isinstance(kind, type) or getattr(kind, "__origin__", None) is not None or not callable(kind):
            return TypeAdapter(kind)
    except Exception as error:  # noqa: BLE001  # a type says itself how it is checked
        reason = reason_of(error).partition("\n")[0]
        raise DefinitionError(
            f"{place}{short(kind)} is no type that JSON can carry: {reason}", code="invalid-type"
        ) from None
    raise DefinitionError(f"{place}{short(kind)} is no type", code="invalid-type")


class DeclaredOutput:
    """The type that a state's output has for the handler of its ``on_done``."""

    def __init__(self, kind: object) -> None:
        self.name: str = getattr(kind, "__name__", str(kind))
        self._type: JsonType[object] = JsonType(adapter_of(kind, "done(): "))

    def __call__(self, output: object) -> object:
        """Return an output, which is JSON, as the declared type; raises :class:`InputError` where it is none."""
        try:
            return self._type.read(output)
        except Exception as error:
            raise InputError(
                f"the state's output {short(output)} is no {self.name}, which agent.done({self.name}, ...) declares: "
                f"{reason_of(error)}",
                code="invalid-output",
            ) from error

    def refusal(self, output: object) -> str | None:
        """Return why a constant output can never be of this type; None where it is."""
        try:
            self._type.read(freeze(output, models=True))
        except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
            return reason_of(error)
        return None
