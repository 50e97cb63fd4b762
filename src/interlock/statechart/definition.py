"""A statechart as frozen data: made by ``builders``, checked for meaning when it is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_ITERABLE_COROUTINE
from types import CodeType
from typing import Any, Literal, TypeAlias

from interlock.statechart.moves import UNSET, Delay, Move, Operation

__all__ = [
    "After",
    "Arguments",
    "Candidate",
    "Candidates",
    "Function",
    "Invoke",
    "Kind",
    "State",
    "Targets",
    "Transition",
    "WithAt",
    "is_deferred",
    "name_of",
    "with_at",
]

Kind = Literal["atomic", "compound", "parallel", "final", "history", "choice"]
Arguments = Literal["event", "output", "error", "none"]
Function: TypeAlias = "Callable[..., Any] | WithAt"
Targets: TypeAlias = "str | Sequence[str] | None"
Candidate: TypeAlias = "str | Callable[..., Any] | WithAt | Transition"
Candidates: TypeAlias = "Candidate | Sequence[Candidate]"


@dataclass(frozen=True, slots=True)
class WithAt:
    """A function that also wants to see where the machine stands; made by :func:`with_at`."""

    function: Callable[..., Any]

    @property
    def __name__(self) -> str:
        return name_of(self.function)


def with_at(function: Callable[..., Any]) -> WithAt:
    """Mark a function of the machine as wide: it is called with one more argument, an ``At``.

    ``at`` offers the event being handled, ``matches``, ``value``, the state's input and its children.
    """
    return WithAt(function)


def name_of(function: Any) -> str:
    """Return how an error message names an author's function."""
    if isinstance(function, WithAt):
        function = function.function
    name = getattr(function, "__qualname__", None) or type(function).__name__
    code = getattr(function, "__code__", None)
    if code is not None:
        return f"{name} ({code.co_filename.rsplit('/', 1)[-1]}:{code.co_firstlineno})"
    return str(name)


def is_deferred(function: Any) -> bool:
    """Whether a call gives a coroutine or a generator, and no answer: no function of a machine may be of that kind."""
    while isinstance(function, WithAt | partial):
        function = function.function if isinstance(function, WithAt) else function.func
    code = getattr(function, "__code__", None) or getattr(getattr(function, "__call__", None), "__code__", None)  # noqa: B004  # how it is called, not whether
    return isinstance(code, CodeType) and bool(code.co_flags & _DEFERRED)


_DEFERRED = CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_GENERATOR | CO_ASYNC_GENERATOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One candidate: what may happen on an event, and under which condition.

    ``handler`` decides at run time and may return None; without one the transition is static. ``targets`` are the
    static targets, or those that a handler may return (None: not known).
    """

    event: str = ""
    handler: Function | None = None
    guard: Function | None = None
    targets: tuple[str, ...] | None = None
    patch: Mapping[str, Any] | None = None
    operations: tuple[Operation, ...] = ()
    reenter: bool = False
    input: Any = UNSET
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    description: str | None = None
    event_class: Any = None

    @property
    def static(self) -> bool:
        """Whether what happens is known without calling anything (a guard may still forbid it)."""
        return self.handler is None


@dataclass(frozen=True, slots=True)
class After:
    """Transitions that are taken when a state has been active for ``delay``."""

    delay: Delay
    transitions: tuple[Transition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoke:
    """Work that runs while a state is active."""

    src: str
    id: str | None = None
    input: Any = None
    on_done: tuple[Transition, ...] = ()
    on_error: tuple[Transition, ...] = ()
    timeout: Delay | None = None
    on_timeout: tuple[Transition, ...] = ()
    logic: Any = None
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class State:
    """A node of the chart, with everything that belongs to it.

    ``context`` is a type narrower than the machine's own, which the context has while the state is active.
    """

    kind: Kind = "atomic"
    id: str | None = None
    initial: str | None = None
    initial_input: Any = UNSET
    states: Mapping[str, State] = field(default_factory=dict[str, "State"])
    on: tuple[Transition, ...] = ()
    always: tuple[Transition, ...] = ()
    after: tuple[After, ...] = ()
    timeout: Delay | None = None
    on_timeout: tuple[Transition, ...] = ()
    on_done: tuple[Transition, ...] = ()
    on_error: tuple[Transition, ...] = ()
    invoke: tuple[Invoke, ...] = ()
    entry: Function | Move | None = None
    exit: Function | Move | None = None
    output: Any = UNSET
    context: Any = None
    tags: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    description: str | None = None
    deep: bool = False
    targets: tuple[str, ...] | None = None
    choose: Function | None = None

    def __repr__(self) -> str:
        return f"<{self.kind} state with {len(self.states)} children>"
