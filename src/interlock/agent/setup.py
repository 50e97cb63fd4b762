"""Where an agent begins: its context, its events, what goes in and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from interlock.agent.authoring import Agent
from interlock.agent.declared import declared_events
from interlock.agent.events import EventClass
from interlock.agent.model_refs import checked_models
from interlock.agent.outputs import adapter_of
from interlock.agent.reasons import short
from interlock.agent.tools import GivenTools, named_tools
from interlock.errors import DefinitionError
from interlock.statechart import UNSET
from interlock.statechart.moves import Unset

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, TypeVar  # as Python 3.13 has them: with defaults

    P = ParamSpec("P", default=...)
    C = TypeVar("C", default=Mapping[str, Any])
    I = TypeVar("I", default=None)  # noqa: E741  # input
    O = TypeVar("O", default=object)  # noqa: E741  # output
    M = TypeVar("M", bound=Mapping[str, Any])

    from interlock.agent.outputs import TypeOf

__all__ = ["mapping", "setup_agent"]


# One signature, not overloads: for those mypy infers the list of events without knowing what it is for, and fails.
def setup_agent(
    *,
    context: Callable[P, C] | None = None,
    events: Sequence[EventClass],
    input: TypeOf[I] | Unset | None = UNSET,
    output: TypeOf[O] | Unset | None = UNSET,
    emits: Sequence[EventClass] | None = None,
    models: Mapping[str, str] | None = None,
    tools: GivenTools | None = None,
) -> Agent[P, C, I, O]:
    """Bind the types that an agent speaks in, and return what its machine is written with.

    Arguments:
        context: the class of the context, a frozen pydantic model or a frozen dataclass; :func:`mapping` of a
            ``TypedDict``; or nothing, for any mapping of JSON values. Fields have defaults, since ``agent.goto`` and
            ``agent.stay`` name only what changes.
        events: all event classes, those that only a person sends included.
        input: the type of what a run starts with, or pydantic's ``TypeAdapter`` of it.
        output: the type of what the machine gives when it is done, or an adapter. Type checkers that do not take a
            union for a type (mypy) know it as ``TypeAdapter(A | None)``.
        emits: the classes of what the machine publishes with ``.emit(...)``; anything may be emitted, if not given.
        models: aliases of models, for use as ``model=``: what each stands for is for the host to resolve
            (``agent.models``); other references than these may be used as well.
        tools: functions that text requests may let a model call by these names: ``{"search": search}``, or a list.

    Raises :class:`DefinitionError` for event classes that cannot be told apart or could be changed in place, and for
    types that JSON cannot carry.
    """
    if context is not None and not isinstance(context, type):
        raise DefinitionError(
            f"context={short(context)} is no class; give the class here and a function that makes the first context to "
            "agent.machine(context=...)",
            code="invalid-context",
        )
    taken, given = (None if isinstance(kind, Unset) else kind for kind in (input, output))
    for name, kind in (("input", taken), ("output", given)):
        if kind is not None:
            adapter_of(kind, f"{name}=")
    return Agent(
        context=context,
        events=declared_events(events),
        input=taken,
        output=given,
        emits=None if emits is None else declared_events(emits, "emits"),
        models=checked_models(models),
        tools=named_tools(tools or (), {}, what="setup_agent"),
    )


def mapping(context: type[M]) -> Callable[..., M]:
    """Return a ``TypedDict`` as a context, so that moves may name any of its fields (checked when they are made).

    To type checkers a ``TypedDict`` is something that must be given all its keys at once; a move gives some.
    """
    return context
