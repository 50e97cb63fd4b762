"""A machine as a tool: a model that writes calls it with its input, and is told what has come of it.

The tool runs the machine as far as it goes. A machine that waits is no failure: the model is told what for, and, where
there is a store, by which other tool and thread it can be gone on with. The thread is named by the call's key, so a
call that is made again after a crash takes the same thread up, and pays for nothing twice.
"""

from __future__ import annotations

import hashlib
import inspect
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, cast

from pydantic import JsonValue
from pydantic_core import to_json

from interlock.agent.contract import Executors
from interlock.agent.decide import DecideSpec
from interlock.agent.descriptors import describe
from interlock.agent.legality import offer, refusal
from interlock.agent.messages import ErrorTextOutput, JsonOutput, ToolResultOutput
from interlock.agent.plain import plain
from interlock.agent.reading import checked_machine, classes_of, parse_event
from interlock.agent.reasons import reason_of, short
from interlock.agent.text_requests import ToolDescriptor
from interlock.agent.tools import Tool, tool
from interlock.errors import BindError, DefinitionError, InputError
from interlock.journal import Store
from interlock.run import bind
from interlock.run.arguments import check_actors, check_run, checked_executors
from interlock.run.border import AnyMachine
from interlock.run.clock import Clock, SystemClock
from interlock.run.driver import Timers
from interlock.run.options import OnTrace, UserInput
from interlock.run.results import Done, Failed, Idle
from interlock.run.running import alone, open_run
from interlock.run.tool_scope import ToolScope, tool_scope
from interlock.statechart import Snapshot
from interlock.statechart.frozen import freeze

__all__ = ["MachineTool", "machine_tool"]

Settled = Done[Any, Any] | Idle[Any] | Failed[Any]

_ANYTHING = DecideSpec(name=None, allowed_events=None, wording={})


@dataclass(frozen=True, kw_only=True, eq=False)
class MachineTool(Tool):
    """A machine under the name by which a model calls it; made by :func:`machine_tool`."""

    machine: AnyMachine
    store: Store | None = None
    executors: Executors | None = field(default=None, repr=False)
    user_input: UserInput | None = None
    max_model_calls: int = 100
    timers: Timers = "wait"
    on_trace: OnTrace | None = None

    @cached_property
    def descriptor(self) -> ToolDescriptor:
        """The tool as a model sees it: its parameters are the fields of the machine's input."""
        kind = self.machine.input_type
        schema: dict[str, Any] = {"type": "object", "properties": {}} if kind is None else kind.json_schema()
        if schema.get("type") != "object":
            raise DefinitionError(
                f"tool {self.name!r}: the input of machine {self.machine.id!r} has no fields that could be a tool's "
                "parameters; declare a model or a dataclass: setup_agent(input=...)",
                code="invalid-tool",
                machine=self.machine.id,
            )
        shown = {name: value for name, value in schema.items() if name not in ("title", "description")}
        return ToolDescriptor(name=self.name, description=self.description, input_schema=freeze(shown))

    def check(self, executors: object, where: str) -> None:
        """Refuse executors that the machine could not run with: before its caller has paid for anything."""
        if self.executors is None:
            bind.check(self.machine, cast("Executors", executors), of=f"{where}, tool {self.name!r}: ")

    def bind(self, given: object) -> Callable[[], object] | ErrorTextOutput:
        """Return the run with its input, checked; or what to answer to arguments that do not fit."""
        try:
            arguments = plain({} if given is None else given)
            if not isinstance(arguments, Mapping):
                return ErrorTextOutput(value=f"{self.name} needs an object of arguments, not {short(given)}")
            kind = self.machine.input_type
            read: object = None if kind is None else kind.validate_json(to_json(arguments))
        except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
            return ErrorTextOutput(value=f"{self.name} was not called: {reason_of(error)}")
        words = "" if kind is None else f".{hashlib.sha256(to_json(arguments)).hexdigest()[:8]}"
        return partial(self._start, read, words)

    @cached_property
    def resume(self) -> Tool:
        """A second tool, which goes on with a thread that the first has left waiting. It needs a store."""
        if self.store is None:
            raise DefinitionError(
                f"tool {self.name!r}: what waits can only be gone on with from a store; give machine_tool(store=...)",
                code="invalid-tool",
                machine=self.machine.id,
            )
        words = (
            f"Go on with what {self.name} has left waiting: give its thread_id, and one of the events that it waits "
            "for, as an object with its type beside its fields. Without an event: ask how it stands by now."
        )
        return tool(self._resume, name=self.resume_name, description=words)

    @property
    def resume_name(self) -> str:
        """The name of the second tool."""
        return f"resume_{self.name}"[:64]

    # -- running it --------------------------------------------------------------------------------------------------

    async def _start(self, given: object, words: str) -> ToolResultOutput:
        scope = tool_scope()
        # With its words: in a fork of the outer log the same call may be made with others.
        thread_id = f"{self.name}:{uuid.uuid4().hex}" if scope is None else f"{scope.key}{words}"
        try:
            return self._told(await self._run(thread_id, scope, input=given, execution_id=thread_id), thread_id)
        except BindError as error:  # a tool that was named by a function: nobody could know before
            return ErrorTextOutput(value=f"{self.name} cannot be run: {error.message}")

    async def _resume(self, thread_id: str, event: dict[str, JsonValue] | None = None) -> ToolResultOutput:
        scope, store = tool_scope(), cast("Store", self.store)
        ours = scope is None or thread_id.startswith(f"{scope.run_id}:")
        if not ours or not await store.read(thread_id, limit=1):
            return ErrorTextOutput(value=f"there is no thread {short(thread_id)} that {self.name} has begun here")
        # First as far as it goes by itself: it may have been cut off, and the event is for where it comes to rest.
        result = await self._run(thread_id, scope)
        entry_id = None if scope is None else scope.key
        sent = entry_id is not None and await store.index_of(thread_id, entry_id) is not None
        if event is None or sent or not isinstance(result, Idle):
            return self._told(result, thread_id)
        try:
            read = parse_event(self.machine, event)
        except InputError as error:
            return ErrorTextOutput(value=f"the event was not sent: {error.message}")
        refused = refusal(result.snapshot, read)
        if refused is not None:
            return ErrorTextOutput(value=f"the event was not sent: {refused}")
        return self._told(await self._run(thread_id, scope, event=read, event_id=entry_id), thread_id)

    async def _run(self, thread_id: str, scope: ToolScope | None, **more: Any) -> Settled:  # noqa: ANN401  # how it begins
        executors, clock = self.executors, cast("Clock", SystemClock())
        if scope is not None:
            executors, clock = scope.executors if executors is None else executors, scope.clock
        run = open_run(
            self.machine,
            executors=executors,
            store=self.store,
            thread_id=None if self.store is None else thread_id,
            user_input=self.user_input,
            max_model_calls=self.max_model_calls,
            clock=clock,
            timers=self.timers,
            on_trace=self.on_trace,
            above=scope,
            **more,
        )
        await run.begin()
        await alone(run.go)
        return run.result()

    # -- what the model is told --------------------------------------------------------------------------------------

    def _told(self, result: Settled, thread_id: str) -> ToolResultOutput:
        if isinstance(result, Done):
            return self.answer(self.machine.output_json(result.output))
        if isinstance(result, Failed):
            error = result.error
            said = f"{self.name} has failed ({error.code}): {error.message}"
            return ErrorTextOutput(value=said.encode(errors="replace").decode())
        told: dict[str, Any] = {"status": "waiting", **self._waits(result.snapshot)}
        if result.pending_inputs:
            told["asks_a_person"] = [request.prompt for request in result.pending_inputs]
        if result.timers:
            told["goes_on_by_itself_at"] = [timer.due for timer in result.timers]
        if self.store is not None:
            told |= {"thread_id": thread_id, "go_on_with": self.resume_name}
        return JsonOutput(value=told)

    def _waits(self, snapshot: Snapshot[Any]) -> dict[str, object]:
        """Return the events that the model may send now, and the types of those that only a person may."""
        classes = classes_of(self.machine)
        offered = describe(offer(self.machine, snapshot, _ANYTHING).events)
        found: dict[str, object] = {
            "waits_for": [
                {"type": event.type, "description": event.description, "fields": event.input_schema}
                for event in offered
            ]
        }
        people = [kind for kind in snapshot.accepted_events() if kind in classes and classes[kind].actor == "human"]
        if people:
            found["waits_for_a_person"] = people
        return found


def machine_tool(
    machine: AnyMachine,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    executors: Executors | None = None,
    actors: Mapping[str, object] | None = None,
    store: Store | None = None,
    user_input: UserInput | None = None,
    max_model_calls: int = 100,
    timers: Timers = "wait",
    on_trace: OnTrace | None = None,
) -> MachineTool:
    """Return a machine as a tool for text requests and act loops.

    Its parameters are the fields of the machine's input. It answers with the machine's output; with what the machine
    waits for, where it has come to rest before its end; or with an error for the model, where it has failed. Its model
    calls count against the run that calls it as well, and the cancellation of that call cancels it.

    Arguments:
        machine: what is run.
        name: the tool's name; the machine's id, if not given.
        description: what the model is told that it is for; the description of the machine's input, or of the machine,
            if not given.
        executors: who carries out its model calls; those of the run that calls the tool, if not given.
        actors: functions or machines for sources that the machine declares.
        store: where its log is kept, under the key of the call; needed to go on with what waits, see ``resume``.
        user_input: asks a person, as for ``run_agent``.
        max_model_calls: how many calls one call of the tool may make.
        timers: as for ``run_agent``; ``"return"`` answers instead of waiting for the clock.
        on_trace: called with what happens in it.

    Raises :class:`DefinitionError` (``invalid-tool``) for a machine whose input has no fields, and :class:`BindError`
    for arguments that mean nothing, and where the executors that were given do not suffice. Whether those of the run
    do is said when that run begins (for tools that a function names: when the tool is called, to the model).
    """
    checked_machine(machine)
    check_actors(actors)
    check_run(store=store, max_model_calls=max_model_calls, timers=timers, user_input=user_input, on_trace=on_trace)
    checked_executors(executors)
    provided = machine.provide(actors) if actors else machine
    if executors is not None:
        bind.check(provided, executors)
    return MachineTool(
        name=machine.id if name is None else name,
        function=_never,
        description=_words(provided) if description is None else description,
        machine=provided,
        store=store,
        executors=executors,
        user_input=user_input,
        max_model_calls=max_model_calls,
        timers=timers,
        on_trace=on_trace,
    )


def _words(machine: AnyMachine) -> str:
    said = machine.definition.description
    if said:
        return said
    kind: Any = None if machine.input_type is None else machine.input_type.json_schema()
    return "" if kind is None else inspect.cleandoc(str(kind.get("description") or ""))


def _never() -> None:
    raise AssertionError  # a machine's tool binds its own run
