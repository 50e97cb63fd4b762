"""Where an agent begins: its context, its events, what goes in and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from interlock.agent.authoring import Agent
from interlock.agent.declared import declared_events
from interlock.agent.events import EventClass
from interlock.agent.reasons import short
from interlock.errors import DefinitionError

__all__ = ["setup_agent"]

P = ParamSpec("P")
C = TypeVar("C")
M = TypeVar("M", bound=Mapping[str, Any])
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output

# Three kinds of context, each with or without an input and an output type. Mappings come before classes: a TypedDict
# could be called as well, but to change one field nobody must give all the others.


@overload
def setup_agent(
    *, context: None = None, events: Sequence[EventClass]
) -> Agent[..., Mapping[str, Any], None, object]: ...
@overload
def setup_agent(*, context: type[M], events: Sequence[EventClass]) -> Agent[..., M, None, object]: ...
@overload
def setup_agent(*, context: Callable[P, C], events: Sequence[EventClass]) -> Agent[P, C, None, object]: ...
@overload
def setup_agent(
    *, context: None = None, events: Sequence[EventClass], input: type[I]
) -> Agent[..., Mapping[str, Any], I, object]: ...
@overload
def setup_agent(*, context: type[M], events: Sequence[EventClass], input: type[I]) -> Agent[..., M, I, object]: ...
@overload
def setup_agent(*, context: Callable[P, C], events: Sequence[EventClass], input: type[I]) -> Agent[P, C, I, object]: ...
@overload
def setup_agent(
    *, context: None = None, events: Sequence[EventClass], output: type[O]
) -> Agent[..., Mapping[str, Any], None, O]: ...
@overload
def setup_agent(*, context: type[M], events: Sequence[EventClass], output: type[O]) -> Agent[..., M, None, O]: ...
@overload
def setup_agent(*, context: Callable[P, C], events: Sequence[EventClass], output: type[O]) -> Agent[P, C, None, O]: ...
@overload
def setup_agent(
    *, context: None = None, events: Sequence[EventClass], input: type[I], output: type[O]
) -> Agent[..., Mapping[str, Any], I, O]: ...
@overload
def setup_agent(
    *, context: type[M], events: Sequence[EventClass], input: type[I], output: type[O]
) -> Agent[..., M, I, O]: ...
@overload
def setup_agent(
    *, context: Callable[P, C], events: Sequence[EventClass], input: type[I], output: type[O]
) -> Agent[P, C, I, O]: ...
def setup_agent(
    *,
    context: Callable[..., Any] | None = None,
    events: Sequence[EventClass],
    input: type[Any] | None = None,
    output: type[Any] | None = None,
) -> Agent[..., Any, Any, Any]:
    """Bind the types that an agent speaks in, and return what its machine is written with.

    Arguments:
        context: the class of the context: a frozen pydantic model, a frozen dataclass, or a ``TypedDict``. Its fields
            have defaults, since ``agent.goto`` and ``agent.stay`` name only what changes. Without one the context is
            any mapping of JSON values.
        events: all event classes, those that only a person sends included.
        input: the type of what a run starts with.
        output: the type of what the machine gives when it is done.

    Raises :class:`DefinitionError` for event classes that cannot be told apart or could be changed in place.
    """
    if context is not None and not isinstance(context, type):
        raise DefinitionError(
            f"context={short(context)} is no class; give the class here and a function that makes the first context to "
            "agent.machine(context=...)",
            code="invalid-context",
        )
    return Agent(context=context, events=declared_events(events), input=input, output=output)
