"""The face of the library: what an author writes a machine with, bound to his context, input and output types."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Generic, Literal, ParamSpec, TypeVar, Unpack, cast, overload

from interlock.agent.calls import CallSpec
from interlock.agent.decide import DECIDE, DecideSpec
from interlock.agent.declared import check_machine, collect_sources
from interlock.agent.events import AnyEvent, Event, EventClass
from interlock.agent.fields import (
    DecideFields,
    Delay,
    EventlessFields,
    FinalFields,
    InvokeFields,
    Slot,
    StateFields,
    Targets,
    TransitionFields,
)
from interlock.agent.reading import Unreadable, read_event
from interlock.agent.reasons import short
from interlock.agent.requests import JsonObject
from interlock.agent.transitions import event_transition, slot, transition
from interlock.errors import InputError
from interlock.statechart import UNSET, After, At, Invoke, Machine, Move, State, Transition
from interlock.statechart import after as engine_after
from interlock.statechart import choice as engine_choice
from interlock.statechart import final as engine_final
from interlock.statechart import goto as engine_goto
from interlock.statechart import history as engine_history
from interlock.statechart import invoke as engine_invoke
from interlock.statechart import machine as engine_machine
from interlock.statechart import state as engine_state
from interlock.statechart import stay as engine_stay

__all__ = ["Agent"]

P = ParamSpec("P")
C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output
E = TypeVar("E", bound=Event)
T = TypeVar("T")

Migrate = Callable[[dict[str, Any], str], dict[str, Any]]


class Agent(Generic[P, C, I, O]):
    """What :func:`setup_agent` returns. P: the context's fields, C: the context, I and O: input and output."""

    __slots__ = ("_context", "_events", "_input", "_output")

    def __init__(self, *, context: Any, events: Mapping[str, EventClass], input: Any, output: Any) -> None:  # noqa: ANN401
        self._context = context
        self._events = dict(events)
        self._input = input
        self._output = output

    # -- moves ---------------------------------------------------------------------------------------------------------

    def goto(self, target: Targets, /, *args: P.args, **fields: P.kwargs) -> Move:
        """Return the move to a state (or to states of several regions), with context fields changed.

        Targets are written as siblings' keys (``"deciding"``), ``".child"`` or ``"#id"``.
        """
        _refuse_positional("goto", args)
        return engine_goto(target, **fields)

    def stay(self, *args: P.args, **fields: P.kwargs) -> Move:
        """Return the move that stays in the state, with context fields changed."""
        _refuse_positional("stay", args)
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
        return event_transition(event, then, fields)

    @overload
    def on_at(
        self, event: type[E], then: Callable[[C, E, At], Move | None], /, **fields: Unpack[TransitionFields[C, E]]
    ) -> Transition: ...
    @overload
    def on_at(
        self, event: str, then: Callable[[C, Any, At], Move | None], /, **fields: Unpack[TransitionFields[C, Event]]
    ) -> Transition: ...
    def on_at(self, event: str | EventClass, then: Any, /, **fields: Any) -> Transition:
        """Say what happens on an event to a handler that must also see where the machine stands, its third argument."""
        return event_transition(event, then, fields, wide=True)

    def after(self, delay: Delay, then: Slot[C], /, **fields: Unpack[EventlessFields[C]]) -> After:
        """Say what happens when the state has been active for ``delay`` (seconds, ``timedelta``, or a name)."""
        return engine_after(delay, transition(then, fields))

    def always(self, then: Slot[C], /, **fields: Unpack[EventlessFields[C]]) -> Transition:
        """Say what happens without any event, as soon as ``then`` or its guard allows it."""
        return transition(then, fields)

    # -- work ----------------------------------------------------------------------------------------------------------

    def decide(
        self,
        *,
        on_done: Targets | Move | Callable[[C, Event], Move | None] | None = None,
        **fields: Unpack[DecideFields[C]],
    ) -> Invoke:
        """Let a model pick one of the events that are legal now; the event is sent as if a person had sent it.

        ``on_done`` sees the event, if its transition has not left the state; ``on_error`` sees the failure, above all
        ``decision-exhausted``: the model has picked nothing legal in all its tries.
        """
        given: dict[str, Any] = dict(fields)
        common = _invoke_fields(given)
        spec = DecideSpec(name=given.pop("name", None), allowed_events=given.pop("allowed_events", None), wording=given)
        return engine_invoke(DECIDE, logic=spec, on_done=slot(on_done, self._decoded), **common)

    @overload
    def call(
        self,
        function: Callable[..., Awaitable[T]],
        /,
        *,
        input: JsonObject | Callable[[C], object] | None = None,
        on_done: Targets | Move | Callable[[C, T], Move | None] | None = None,
        name: str | None = None,
        **fields: Unpack[InvokeFields[C]],
    ) -> Invoke: ...
    @overload
    def call(
        self,
        function: Callable[..., T],
        /,
        *,
        input: JsonObject | Callable[[C], object] | None = None,
        on_done: Targets | Move | Callable[[C, T], Move | None] | None = None,
        name: str | None = None,
        **fields: Unpack[InvokeFields[C]],
    ) -> Invoke: ...
    def call(
        self,
        function: Callable[..., object],
        /,
        *,
        input: Any = None,
        on_done: Any = None,
        name: str | None = None,
        **fields: Any,
    ) -> Invoke:
        """Call a function, async or plain, while the state is active.

        Arguments:
            function: what to call; its return annotation says what ``on_done`` gets.
            input: its arguments: a mapping of names, or a function of the context that gives one (or a single value).
            on_done: what happens with the answer.
            name: the source under which ``machine.provide`` may put another function; the function's own name, if not
                given.
            fields: as for any work that a state starts.
        """
        own_name: str = getattr(function, "__name__", type(function).__name__)
        spec = CallSpec(function=function, name=own_name if name is None else name)
        common = _invoke_fields(fields)
        return engine_invoke(spec.name, logic=spec, input=input, on_done=slot(on_done, spec.decode), **common)

    # -- states --------------------------------------------------------------------------------------------------------

    def state(
        self,
        *,
        initial: str | tuple[str, object] | None = None,
        states: Mapping[str, State] | None = None,
        id: str | None = None,
        **fields: Unpack[StateFields[C]],
    ) -> State:
        """Return a state; one with ``states`` is compound, and ``initial`` names the child to enter."""
        return engine_state(initial=initial, states=states, id=id, **_state_fields(fields))

    def parallel(
        self, *, states: Mapping[str, State], id: str | None = None, **fields: Unpack[StateFields[C]]
    ) -> State:
        """Return a state whose children, its regions, are all active at once."""
        return engine_state(kind="parallel", states=states, id=id, **_state_fields(fields))

    @overload
    def final(self, *, output: Callable[[C], O], **fields: Unpack[FinalFields[C]]) -> State: ...
    @overload
    def final(self, *, output: O | None = None, **fields: Unpack[FinalFields[C]]) -> State: ...
    def final(self, *, output: Any = UNSET, **fields: Any) -> State:
        """Return a state that ends the machine; ``output``, a value or a function of the context, is what it gives."""
        return engine_final(output=output, **fields)

    def end(self, *, output: Callable[[C], object] | object = UNSET, **fields: Unpack[FinalFields[C]]) -> State:
        """Return a final state inside another; its output goes to that one's ``on_done`` and may be of any type."""
        return engine_final(output=output, **fields)

    def choice(
        self,
        choose: Callable[[C], Move],
        /,
        *,
        to: Targets | None = None,
        id: str | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> State:
        """Return a state that is left at once, to where ``choose`` says."""
        return engine_choice(choose, to=to, id=id, meta=meta)

    def history(self, *, deep: bool = False, target: Targets | None = None, id: str | None = None) -> State:
        """Return a state that stands for what was last active beside it, or for ``target`` the first time."""
        return engine_history(deep=deep, target=target, id=id)

    # -- the machine ---------------------------------------------------------------------------------------------------

    def machine(
        self,
        id: str,
        /,
        *,
        states: Mapping[str, State] | None = None,
        initial: str | tuple[str, object] | None = None,
        context: C | Callable[[I], C] | None = None,
        kind: Literal["parallel"] | None = None,
        sources: Mapping[str, object] | None = None,
        delays: Mapping[str, Delay | Callable[[C], float]] | None = None,
        version: str | None = None,
        migrate: Migrate | None = None,
        **fields: Unpack[StateFields[C]],
    ) -> Machine[C, I, O]:
        """Build the machine, or say what is wrong with it.

        Arguments:
            id: its name.
            states: the top states.
            initial: the first of them; not needed with ``kind="parallel"``, where all are active at once.
            context: what to start from, or a function that makes it from the machine's input; the defaults of the
                context type, if not given.
            kind: ``"parallel"``, if the top states are regions.
            sources: machines and functions that ``spawn`` may start, by name; decisions and calls bring their own.
            delays: named delays: seconds, ``timedelta``, or functions of the context.
            version: names this version; otherwise a hash of the structure does.
            migrate: ``(dump, from_version) -> dump``, called when a snapshot of another version is loaded.
            fields: whatever a state may hold, for the machine as a whole.

        Raises :class:`DefinitionError` naming the machine, the state and the near misses.
        """
        root: dict[str, Any] = {"kind": kind, "initial": initial, **_state_fields(fields)}
        definition = engine_state(states=states, **root)
        made = engine_machine(
            id,
            states=states,
            context=context,
            context_type=self._context,
            sources=collect_sources(id, definition, sources or {}),
            delays=delays,
            version=version,
            migrate=migrate,
            event_types=self._events,
            input_type=self._input,
            output_type=self._output,
            **root,
        )
        check_machine(made, self._events)
        return cast("Machine[C, I, O]", made)

    def _decoded(self, output: object) -> Event:
        read = read_event(self._events, output)
        if isinstance(read, Unreadable):
            raise InputError(f"the decision's output {short(output)} is no event: {read.reason}", code="invalid-event")
        return read


def _state_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state's keywords as the engine takes them: what may happen as candidates."""
    slots = ("on_done", "on_error", "on_timeout")
    return {name: slot(value) if name in slots else value for name, value in fields.items()}


def _invoke_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Take out of ``fields`` what may be said about any work, as the engine takes it."""
    names = ("id", "on_error", "timeout", "on_timeout", "meta")
    return _state_fields({name: fields.pop(name) for name in names if name in fields})


def _refuse_positional(what: str, values: Iterable[object]) -> None:
    if shown := ", ".join(short(value) for value in values):
        raise TypeError(f"{what}() takes context fields by name: write field=value instead of {shown}")
