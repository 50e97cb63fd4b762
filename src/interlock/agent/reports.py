"""What a machine hears of its children, of spawned ones above all: that one has ended, which, and with what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from interlock.agent.children import ChildSpec
from interlock.agent.reasons import short
from interlock.errors import DefinitionError, ErrorInfo
from interlock.statechart import InternalEvent, Machine, Transition, with_at
from interlock.statechart.definition import WithAt

__all__ = ["ChildDone", "ChildFailed", "FromChild", "reported_source"]

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ChildDone(Generic[T_co]):
    """A child that has ended: its ``id``, as it was started, and its ``output``, as the child's output type."""

    id: str
    output: T_co


@dataclass(frozen=True, slots=True)
class ChildFailed:
    """A child that has failed: its ``id``, and what it has failed with."""

    id: str
    error: ErrorInfo


class FromChild:
    """The guard of a transition that only a child of one source starts, whatever the child is called."""

    __slots__ = ("__qualname__", "guard", "src")

    def __init__(self, src: str, guard: Callable[..., object] | None) -> None:
        self.__qualname__ = f"(is it a child of {src!r}?)"
        self.src = src
        self.guard = guard

    def __call__(self, context: object, event: InternalEvent, *at: object) -> object:
        """Say whether the child is of the source, and the author's own guard lets it pass."""
        return event.src == self.src and (self.guard is None or self.guard(context, event, *at))

    @classmethod
    def guarding(cls, transition: Transition, src: str) -> Transition:
        """Return a transition as one that only a child of this source starts."""
        guard = transition.guard
        if isinstance(guard, WithAt):
            return replace(transition, guard=with_at(cls(src, guard.function)))
        return replace(transition, guard=cls(src, guard))

    @staticmethod
    def unknown(transition: Transition, known: object) -> str | None:
        """Return the source that a transition waits for and that is not ``known``; None where it is."""
        guard = transition.guard.function if isinstance(transition.guard, WithAt) else transition.guard
        if isinstance(guard, FromChild) and guard.src not in cast("Any", known):
            return guard.src
        return None


def reported_source(
    child: Machine[Any, Any, Any] | str, name: str | None
) -> tuple[str, Callable[[object], ChildDone[Any]], Callable[[object], ChildFailed]]:
    """Return the name of a source, and how what is heard of its children is read, good and bad.

    Arguments:
        child: a machine, or the name of a source that is a function.
        name: the name under which the machine is registered; its id, if not given.
    """
    if isinstance(child, str):
        if name is not None or not child:
            raise DefinitionError(
                f"on_child_...({child!r}, name={name!r}): give a machine, or the name of one source",
                code="invalid-child",
            )
        return child, _done(lambda output: output), _failed
    if not isinstance(cast("object", child), Machine):
        raise DefinitionError(
            f"on_child_...({short(child)}): give the machine that is spawned, or the name of its source",
            code="invalid-child",
        )
    spec = ChildSpec.of(child, name)
    return spec.name, _done(spec.decode), _failed


def _done(decode: Callable[[object], object]) -> Callable[[object], ChildDone[Any]]:
    def read(event: object) -> ChildDone[Any]:
        told = cast("InternalEvent", event)
        return ChildDone(told.id or "", decode(told.output))

    return read


def _failed(event: object) -> ChildFailed:
    told = cast("InternalEvent", event)
    error: object = told.error
    if not isinstance(error, ErrorInfo):
        error = ErrorInfo("machine-error", "MachineError", f"child {told.id!r} has failed with {error!r}", data=error)
    return ChildFailed(told.id or "", error)
