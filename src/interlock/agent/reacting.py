"""What happens: moves, and the transitions that make them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, ParamSpec, TypeVar, Unpack, cast, overload

from pydantic import TypeAdapter

from interlock.agent.binding import Bound, refuse_positional
from interlock.agent.events import AnyEvent, Event, EventClass
from interlock.agent.fields import Delay, EventlessFields, Slot, Targets, TransitionFields
from interlock.agent.keywords import known_keywords
from interlock.agent.outputs import DeclaredOutput
from interlock.agent.reports import ChildDone, ChildFailed, FromChild, reported_source
from interlock.agent.usage import CallUsage, usage_of
from interlock.statechart import After, At, Machine, Move, Transition
from interlock.statechart import after as engine_after
from interlock.statechart import goto as engine_goto
from interlock.statechart import stay as engine_stay
from interlock.statechart.events import USAGE

__all__ = ["Reactions"]

P = ParamSpec("P")
C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output
E = TypeVar("E", bound=Event)
T = TypeVar("T")


class Reactions(Bound[P, C, I, O]):
    """The words for what happens, and when."""

    __slots__ = ()

    # -- moves ---------------------------------------------------------------------------------------------------------

    def goto(self, target: Targets, /, *args: P.args, **fields: P.kwargs) -> Move:
        """Return the move to a state (or to states of several regions), with context fields changed.

        Targets are written as siblings' keys (``"deciding"``), ``".child"`` or ``"#id"``.
        """
        refuse_positional("goto", args)
        if not isinstance(target, str) and not isinstance(cast("object", target), Sequence):
            raise TypeError(f"goto({target!r}): a target is a state's key, '.child' or '#id'; several make a list")
        return engine_goto(target, **fields)

    def stay(self, /, *args: P.args, **fields: P.kwargs) -> Move:
        """Return the move that stays in the state, with context fields changed."""
        refuse_positional("stay", args)
        return engine_stay(**fields)

    # -- transitions ---------------------------------------------------------------------------------------------------

    @overload
    def on(
        self,
        event: type[E],
        then: Targets | Move | Callable[[C, E], Move | None],
        /,
        **fields: Unpack[TransitionFields[C, E]],
    ) -> Transition: ...
    @overload
    def on(
        self,
        event: Literal["*"],
        then: Targets | Move | Callable[[C, AnyEvent], Move | None],
        /,
        **fields: Unpack[TransitionFields[C, AnyEvent]],
    ) -> Transition: ...
    @overload
    def on(
        self,
        event: str,
        then: Targets | Move | Callable[[C, Event], Move | None],
        /,
        **fields: Unpack[TransitionFields[C, Event]],
    ) -> Transition: ...
    def on(self, event: str | EventClass, then: Any, /, **fields: Any) -> Transition:
        """Say what happens on an event, given as its class, its type, or a pattern (``"todo.*"``, ``"*"``).

        ``then`` is a target, a move, or a handler: a pure function of the context and the event that returns a move,
        or None where the event is not legal now.
        """
        known_keywords("on", fields, TransitionFields)
        return self._transition(then, fields, f"on {_named(event)}", ("context", "event"), event=event)

    @overload
    def on_at(
        self, event: type[E], then: Callable[[C, E, At], Move | None], /, **fields: Unpack[TransitionFields[C, E]]
    ) -> Transition: ...
    @overload
    def on_at(
        self,
        event: Literal["*"],
        then: Callable[[C, AnyEvent, At], Move | None],
        /,
        **fields: Unpack[TransitionFields[C, AnyEvent]],
    ) -> Transition: ...
    @overload
    def on_at(
        self, event: str, then: Callable[[C, Event, At], Move | None], /, **fields: Unpack[TransitionFields[C, Event]]
    ) -> Transition: ...
    def on_at(self, event: str | EventClass, then: Any, /, **fields: Any) -> Transition:
        """Say what happens on an event to a handler that must also see where the machine stands, its third argument.

        ``at.input`` is the state's own input, ``at.matches("a.b")`` says whether a state is active, ``at.children``
        holds the statuses of what is running.
        """
        known_keywords("on_at", fields, TransitionFields)
        return self._transition(then, fields, f"on_at {_named(event)}", ("context", "event"), event=event, wide=True)

    def on_usage(
        self,
        then: Targets | Move | Callable[[C, CallUsage], Move | None],
        /,
        **fields: Unpack[TransitionFields[C, CallUsage]],
    ) -> Transition:
        """Say what happens when a model call has ended, to a handler that gets its :class:`CallUsage`.

        The machine is told of each call, retries and those of child machines included, before it is told what has come
        of it: so a guard can stop what has become too expensive. Of a machine tree, the root is told.
        """
        known_keywords("on_usage", fields, TransitionFields)
        return self._transition(then, fields, "on_usage", ("context", "usage"), usage_of, event=USAGE)

    @overload
    def on_child_done(
        self,
        child: Machine[Any, Any, T],
        then: Targets | Move | Callable[[C, ChildDone[T]], Move | None],
        /,
        *,
        name: str | None = None,
        **fields: Unpack[TransitionFields[C, ChildDone[T]]],
    ) -> Transition: ...
    @overload
    def on_child_done(
        self,
        child: str,
        then: Targets | Move | Callable[[C, ChildDone[Any]], Move | None],
        /,
        **fields: Unpack[TransitionFields[C, ChildDone[Any]]],
    ) -> Transition: ...
    def on_child_done(self, child: Any, then: Any, /, *, name: str | None = None, **fields: Any) -> Transition:
        """Say what happens when a child of a source has ended, to a handler that gets a :class:`ChildDone`.

        It is for spawned children, which no state owns. A child that a state has started is heard here as well, where
        no ``on_done`` of its own takes it.

        Arguments:
            child: the machine that is started, or the name of a source that is a function.
            then: what happens; asked once for each child, with its id and its output.
            name: the name under which the machine is registered in ``sources=``; its id, if not given.
            fields: as for any transition.
        """
        src, decode, _ = reported_source(child, name)
        known_keywords("on_child_done", fields, TransitionFields, also=("name",))
        word = f"on_child_done {src!r}"
        made = self._transition(then, fields, word, ("context", "child"), decode, event="@done.invoke.*")
        return FromChild.guarding(made, src)

    def on_child_error(
        self,
        child: Machine[Any, Any, Any] | str,
        then: Targets | Move | Callable[[C, ChildFailed], Move | None],
        /,
        *,
        name: str | None = None,
        **fields: Unpack[TransitionFields[C, ChildFailed]],
    ) -> Transition:
        """Say what happens when a child of a source has failed, to a handler that gets a :class:`ChildFailed`.

        For which children: as :meth:`on_child_done`. Where neither this nor the ``on_error`` of an active state takes
        it, the machine fails with it.
        """
        src, _, decode = reported_source(child, name)
        known_keywords("on_child_error", fields, TransitionFields, also=("name",))
        word = f"on_child_error {src!r}"
        made = self._transition(then, fields, word, ("context", "child"), decode, event="@error.invoke.*")
        return FromChild.guarding(made, src)

    def done(
        self,
        output: type[T] | TypeAdapter[T],
        then: Targets | Move | Callable[[C, T], Move | None],
        /,
        **fields: Unpack[TransitionFields[C, T]],
    ) -> Transition:
        """Say what happens when a state is done, to a handler that gets the output of its final state as a ``T``.

        Written where it belongs: ``agent.state(on_done=agent.done(Summary, lambda context, summary: ...), ...)``. For a
        parallel state the output is an object with one field per region.
        """
        known_keywords("done", fields, TransitionFields)
        declared = DeclaredOutput(output)
        made = self._transition(then, fields, "done", ("context", "output"), declared)
        return replace(made, event_class=declared)  # also where no function takes it: what is promised is checked

    def after(self, delay: Delay, then: Slot[C], /, **fields: Unpack[EventlessFields[C]]) -> After:
        """Say what happens when the state has been active for ``delay`` (seconds, ``timedelta``, or a name)."""
        known_keywords("after", fields, EventlessFields)
        return engine_after(delay, self._transition(then, fields, f"after {delay}", ("context",)))

    def always(self, then: Slot[C], /, **fields: Unpack[EventlessFields[C]]) -> Transition:
        """Say what happens without any event, as soon as ``then`` or its guard allows it."""
        known_keywords("always", fields, EventlessFields)
        return self._transition(then, fields, "always", ("context",))


def _named(event: object) -> str:
    return repr(event) if isinstance(event, str) else getattr(event, "__name__", repr(event))
