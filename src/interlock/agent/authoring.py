"""The face of the library: what an author writes a machine with, bound to his context, input and output types."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, Unpack, cast, overload

from interlock.agent.adapting import Adapted, check_arguments
from interlock.agent.asking import Asking
from interlock.agent.calls import CallSpec
from interlock.agent.children import ChildSpec
from interlock.agent.constants import check_constants
from interlock.agent.decide import DECIDE, DecideSpec
from interlock.agent.declared import check_machine, collect_sources
from interlock.agent.events import Event
from interlock.agent.fields import DecideFields, Delay, InvokeFields, PlanFields, StateFields, Targets
from interlock.agent.interaction_meta import check_interactions
from interlock.agent.keywords import known_keywords
from interlock.agent.outputs import adapter_of
from interlock.agent.plan import PLAN, PlanResult, PlanSpec
from interlock.agent.promises import check_promises
from interlock.agent.prospects import check_prospects
from interlock.agent.reacting import Reactions
from interlock.agent.reading import Unreadable, read_event
from interlock.agent.reasons import short
from interlock.agent.requests import JsonObject
from interlock.agent.shapes import check_machine_shape, check_shape
from interlock.agent.states import States
from interlock.agent.user_input import USER_INPUT, UserInputSpec
from interlock.errors import DefinitionError, InputError
from interlock.statechart import Invoke, Machine, Move, State
from interlock.statechart import invoke as engine_invoke
from interlock.statechart import machine as engine_machine
from interlock.statechart import state as engine_state
from interlock.statechart.context import TypeRefusedError, context_type_of
from interlock.statechart.json_type import JsonType
from interlock.statechart.narrowing import Narrowing

if TYPE_CHECKING:
    from interlock.agent.outputs import TypeOf

__all__ = ["Agent"]

P = ParamSpec("P")
C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output
N = TypeVar("N")
T = TypeVar("T")
X = TypeVar("X")

Migrate = Callable[[dict[str, Any], str], dict[str, Any]]

_MACHINE = ("states", "initial", "context", "kind", "sources", "delays", "version", "migrate")
"""The keywords of a machine besides those of a state."""


class Agent(Reactions[P, C, I, O], States[P, C, I, O], Asking[P, C, I, O]):
    """What :func:`setup_agent` returns. P: the context's fields, C: the context, I and O: input and output."""

    __slots__ = ()

    # -- work ----------------------------------------------------------------------------------------------------------

    def decide(
        self,
        *,
        options: Sequence[Event] | Callable[[C], Sequence[Event]] | None = None,
        on_done: Targets | Move | Callable[[C, Event], Move | None] | None = None,
        **fields: Unpack[DecideFields[C]],
    ) -> Invoke:
        """Let a model pick one of the events that are legal now; the event is sent as if a person had sent it.

        With ``options`` (events that are ready to be sent, or a function of the context that gives them) the choice is
        a closed one: the model picks one of those that are legal now, as it is, and fills no fields itself.

        ``on_done`` sees the event, if its transition has not left the state; ``on_error`` sees the failure, above all
        ``decision-exhausted``: the model has picked nothing legal in all its tries.
        """
        given: dict[str, Any] = dict(fields)
        known_keywords("decide", given, DecideFields, also=("options", "on_done"))
        common = self._invoke_fields("decide", given)
        given = {name: self._adapted(value, f"decide({name}=)", ("context",)) for name, value in given.items()}
        spec = DecideSpec(
            name=given.pop("name", None),
            allowed_events=given.pop("allowed_events", None),
            options=self._adapted(options, "decide(options=)", ("context",)),
            wording=given,
        )
        return engine_invoke(
            DECIDE, logic=spec, on_done=self._slot(on_done, "decide(on_done=)", "event", self._decoded), **common
        )

    def plan(
        self,
        *,
        on_done: Targets | Move | Callable[[C, PlanResult], Move | None] | None = None,
        **fields: Unpack[PlanFields[C]],
    ) -> Invoke:
        """Let a model pick one legal event after the other, each sent before the next is asked for.

        With each step the model may also end the plan (the move ``agent.plan.done``). It ends by itself with an event
        of ``stop_on``, after ``max_steps``, and where nothing is legal any more; ``on_done`` gets a
        :class:`PlanResult`. An event that leaves the state ends the plan without ``on_done``. What was sent stays sent,
        unless the plan is ``atomic``: then its events are tried out first, and sent all together or not at all.
        """
        given: dict[str, Any] = dict(fields)
        known_keywords("plan", given, PlanFields, also=("on_done",))
        common = self._invoke_fields("plan", given)
        given = {name: self._adapted(value, f"plan({name}=)", ("context",)) for name, value in given.items()}
        spec = PlanSpec(
            name=given.pop("name", None),
            allowed_events=given.pop("allowed_events", None),
            stop_on=given.pop("stop_on", ()),
            atomic=given.pop("atomic", False),
            wording=given,
        )
        decode = PlanResult.decoder(self._decoded)
        return engine_invoke(
            PLAN, logic=spec, on_done=self._slot(on_done, "plan(on_done=)", "result", decode), **common
        )

    @overload
    def user_input(
        self,
        prompt: str | Callable[[C], str],
        schema: TypeOf[T],
        /,
        *,
        on_done: Targets | Move | Callable[[C, T], Move | None] | None = None,
        name: str | None = None,
        metadata: JsonObject | None = None,
        **fields: Unpack[InvokeFields[C]],
    ) -> Invoke: ...
    @overload
    def user_input(
        self,
        prompt: str | Callable[[C], str],
        /,
        *,
        on_done: Targets | Move | Callable[[C, str], Move | None] | None = None,
        name: str | None = None,
        metadata: JsonObject | None = None,
        **fields: Unpack[InvokeFields[C]],
    ) -> Invoke: ...
    def user_input(
        self,
        prompt: str | Callable[[C], str],
        schema: Any = str,
        /,
        *,
        on_done: Any = None,
        name: str | None = None,
        metadata: JsonObject | None = None,
        **fields: Any,
    ) -> Invoke:
        """Ask a person something while the state is active.

        A run that has ``user_input=`` asks there and then; another one settles :class:`Idle` with the question among
        its ``pending_inputs``, and goes on with ``replies={request.id: value}``, in this process or another.

        Arguments:
            prompt: the question, or a function of the context that gives it.
            schema: the type of the reply, which is checked; a text, if not given.
            on_done: what happens with the reply.
            name: names the question for whoever shows it.
            metadata: JSON for whoever shows it.
            fields: as for any work that a state starts.
        """
        known_keywords("user_input", fields, InvokeFields, also=("on_done", "name", "metadata"))
        made = adapter_of(schema, "user_input(schema=): ")
        spec = UserInputSpec(
            name=name,
            prompt=self._adapted(prompt, "user_input(prompt=)", ("context",)),
            reply=JsonType(made),
            metadata={} if metadata is None else metadata,
        )
        return engine_invoke(
            USER_INPUT,
            logic=spec,
            on_done=self._slot(on_done, "user_input(on_done=)", "reply", spec.decode),
            **self._invoke_fields("user_input", fields),
        )

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
        if not callable(cast("object", function)):
            raise DefinitionError(f"call({short(function)}): give a function", code="invalid-call")
        own_name: str = getattr(function, "__name__", type(function).__name__)
        spec = CallSpec(function=function, name=own_name if name is None else name)
        known_keywords("call", fields, InvokeFields, also=("input", "on_done", "name"))
        return engine_invoke(
            spec.name,
            logic=spec,
            input=self._given(input, f"call({spec.name}, input=)"),
            on_done=self._slot(on_done, "call(on_done=)", "output", spec.decode),
            **self._invoke_fields("call", fields),
        )

    @overload
    def child(
        self,
        machine: Machine[Any, None, T],
        /,
        *,
        input: None = None,
        on_done: Targets | Move | Callable[[C, T], Move | None] | None = None,
        name: str | None = None,
        **fields: Unpack[InvokeFields[C]],
    ) -> Invoke: ...
    @overload
    def child(
        self,
        machine: Machine[Any, X, T],
        /,
        *,
        input: X | Callable[[C], X],
        on_done: Targets | Move | Callable[[C, T], Move | None] | None = None,
        name: str | None = None,
        **fields: Unpack[InvokeFields[C]],
    ) -> Invoke: ...
    def child(
        self,
        machine: Machine[Any, Any, Any],
        /,
        *,
        input: Any = None,
        on_done: Any = None,
        name: str | None = None,
        **fields: Any,
    ) -> Invoke:
        """Run another machine while the state is active: its steps are part of this machine's own, at any depth.

        Arguments:
            machine: what to run; its output type says what ``on_done`` gets.
            input: its input, or a function of the context that gives one.
            on_done: what happens with its output.
            name: the source under which ``machine.provide`` may put another machine; the machine's id, if not given.
            fields: as for any work that a state starts.
        """
        spec = ChildSpec.of(machine, name)
        known_keywords("child", fields, InvokeFields, also=("input", "on_done", "name"))
        if callable(input):
            check_arguments(input, f"child({spec.name!r}, input=)", ("context",))
            given: object = Adapted(input, narrow=self._narrow, encode=spec.checked)
        else:
            spec.check_input(input)
            given = self._given(input, f"child({spec.name!r}, input=)")
        return engine_invoke(
            spec.name,
            logic=spec,
            input=given,
            on_done=self._slot(on_done, f"child({spec.name!r}, on_done=)", "output", spec.decode),
            **self._invoke_fields("child", fields),
        )

    # -- states that know more about the context -----------------------------------------------------------------------

    def narrow(self, context: type[N], /) -> Agent[P, N, I, O]:
        """Return the same words for states in which the context has a narrower type.

        Their functions get the context as that type; each state made with them is refused any other context. Moves
        still name any field of the whole context, since they may lead elsewhere.
        """
        wide = context_type_of(self._context, None)
        try:
            found = Narrowing(context, wide)
        except TypeRefusedError as error:
            raise DefinitionError(f"narrow({short(context)}): {error}", code=error.code) from error
        made: Agent[P, N, I, O] = Agent(
            context=self._context,
            events=self._events,
            input=self._input,
            output=self._output,
            emits=self._emits,
            models=self._models,
            narrow=found,
            tools=self._tools,
        )
        return made

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
        if self._narrow is not None:
            raise DefinitionError(
                f"a machine's context is the whole one, not {self._narrow.name}: build it with the agent that narrow() "
                "was called on",
                code="invalid-context",
                machine=id,
            )
        known_keywords("machine", fields, StateFields, also=_MACHINE)
        check_machine_shape(
            id, kind=kind, context=context, sources=sources, delays=delays, migrate=migrate, version=version
        )
        check_shape("machine", "initial", initial)
        check_shape("machine", "states", states)
        root: dict[str, Any] = {"kind": kind, "initial": initial, **self._state_fields("machine", fields)}
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
        check_promises(made)
        check_constants(made, self._events, self._emits, self._models)
        check_interactions(made, self._events)
        check_prospects(made, self._events)
        return cast("Machine[C, I, O]", made)

    def _decoded(self, output: object) -> Event:
        read = read_event(self._events, output)
        if isinstance(read, Unreadable):
            raise InputError(f"the decision's output {short(output)} is no event: {read.reason}", code="invalid-event")
        return read
