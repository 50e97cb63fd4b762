"""What a state promises about the context: a narrower type, which holds for as long as the state is active.

Checked when the state is entered, before anything of its own is called, and after each microstep that leaves it active:
whatever broke the promise is still at hand then.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, is_typeddict

from pydantic import BaseModel, ValidationError

from interlock.errors import NotJsonError, did_you_mean
from interlock.statechart.context import ContextType, FieldError, TypeRefusedError, context_type_of
from interlock.statechart.reasons import reason_of

if TYPE_CHECKING:
    from interlock.statechart.nodes import Node
    from interlock.statechart.working import Working

__all__ = ["Narrowing", "check_active", "check_entered"]


class Narrowing:
    """A narrower type of a context. Made when the machine is built; raises :class:`TypeRefusedError`."""

    __slots__ = ("_fields", "_type", "kind", "name")

    def __init__(self, kind: Any, wide: ContextType) -> None:
        if not isinstance(kind, type):
            raise TypeRefusedError(
                "invalid-context", f"context={kind!r} is no class; give the class of the narrower context"
            )
        self._type = context_type_of(kind, None)
        if self._type.fields is None:
            raise TypeRefusedError(
                "invalid-context",
                f"{self._type.name} says nothing about any field; narrow with a frozen model, a frozen dataclass or a "
                "TypedDict",
            )
        self.kind: Any = kind
        self.name = self._type.name
        self._fields = _given_fields(kind, self._type)
        known = wide.fields
        for name in self._fields:
            if known is not None and name not in known:
                raise TypeRefusedError(
                    "invalid-context",
                    f"{self.name} has the field {name!r}, which the machine's context, {wide.name}, has not; a "
                    f"narrower type restricts fields that are there. {did_you_mean(name, known)}",
                )

    def view(self, context: Any) -> Any:
        """Return a context as the narrower type; raises :class:`FieldError` where it is not that narrow."""
        kind = self.kind
        if isinstance(context, Mapping):
            values: dict[str, Any] = {name: context[name] for name in self._fields if name in context}
        else:
            if not is_typeddict(kind) and isinstance(context, kind):
                return context
            values = {name: getattr(context, name) for name in self._fields}
        try:
            if issubclass(kind, BaseModel):
                return kind.model_validate(values, by_name=True)
            return self._type.check(values)
        except ValidationError as error:
            raise FieldError("invalid-context", "", reason_of(error)) from None
        except (NotJsonError, TypeError, ValueError) as error:
            raise FieldError("invalid-context", "", str(error)) from error


def check_entered(working: Working, node: Node, event: Any) -> None:
    """Refuse to enter a state with a context that is not as narrow as the state takes it."""
    _check(working, node, event, "on entry")


def check_active(working: Working, event: Any) -> None:
    """Refuse a microstep after which an active state's narrower type does not hold any more."""
    for node in working.configuration.nodes:
        _check(working, node, event, "and stays active with it")


def _check(working: Working, node: Node, event: Any, when: str) -> None:
    narrow = working.table.narrowing.get(node)
    if narrow is None:
        return
    try:
        narrow.view(working.context)
    except FieldError as error:
        raise working.refuse(
            "invalid-context",
            f"the state takes a context of type {narrow.name}, and this one is not ({when}): {error.reason}; set the "
            "fields in the move that leads here, or go elsewhere",
            node,
            event,
        ) from error


def _given_fields(kind: type[Any], found: ContextType) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind) if field.init)
    return tuple(found.fields or ())
