"""A machine: a compiled chart together with its sources, ready to be stepped."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from pydantic_core import to_json

from interlock.errors import (
    DefinitionError,
    HandlerError,
    InputError,
    InvalidMoveError,
    NotJsonError,
    StepError,
    did_you_mean,
)
from interlock.statechart.builders import state
from interlock.statechart.compile import compile_table
from interlock.statechart.context import TypeRefusedError, context_type_of
from interlock.statechart.context_kind import FieldError
from interlock.statechart.definition import State, name_of
from interlock.statechart.effects import Effect
from interlock.statechart.events import INIT, Event, InternalEvent, event_to_json
from interlock.statechart.frozen import FrozenDict, freeze
from interlock.statechart.json_type import JsonType
from interlock.statechart.loading import load
from interlock.statechart.reasons import reason_of
from interlock.statechart.saving import saved_context
from interlock.statechart.settling import start
from interlock.statechart.snapshot import Snapshot

if TYPE_CHECKING:
    from interlock.statechart.chart import Table
    from interlock.statechart.nodes import Node

__all__ = ["Machine", "machine"]

C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output

Migrate = Callable[[dict[str, Any], str], dict[str, Any]]


class Machine(Generic[C, I, O]):
    """A statechart that can run: made by :func:`machine`, never changed. C, I, O: context, input, output."""

    __slots__ = (
        "_initial_context",
        "_machines",
        "_started",
        "alone",
        "definition",
        "event_types",
        "id",
        "input_type",
        "migrate",
        "output_type",
        "sources",
        "table",
    )

    def __init__(
        self,
        table: Table,
        sources: Mapping[str, Any],
        *,
        context: Any,
        migrate: Migrate | None,
        event_types: Mapping[str, Any],
        input_type: Any,
        output_type: Any,
    ) -> None:
        self.table = table
        table.output_type = output_type
        self.id = table.id
        self.definition = table.definition
        self.sources: Mapping[str, Any] = sources
        self.migrate = migrate
        self.event_types: Mapping[str, Any] = event_types
        self.input_type: JsonType[Any] | None = input_type
        self.output_type: JsonType[Any] | None = output_type
        self._initial_context = context
        self._machines = frozenset(name for name, source in sources.items() if isinstance(source, Machine))
        # Whether no child of it can be a machine, so that a step is this machine's alone.
        self.alone = not self._machines
        self._started: Any = _UNKNOWN

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All states in document order."""
        return tuple(self.table.nodes)

    @property
    def version(self) -> str:
        """The version that its author gave it, else a hash of its structure."""
        return self.table.version

    def is_machine(self, src: str) -> bool:
        """Whether a source is a machine, whose steps are part of this machine's own."""
        return src in self._machines

    def provide(self, actors: Mapping[str, object]) -> Machine[C, I, O]:
        """Return this machine with other functions or machines behind some of its sources, by name.

        Only names that it declares can be given.

        Raises :class:`DefinitionError` (``unknown-source``, ``reserved-name``).
        """
        given = cast("object", actors)
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in cast("Any", given)):
            raise DefinitionError(
                f"provide({actors!s:.80}): give functions and machines by name, as in {{'name': function}}",
                code="unknown-source",
                machine=self.id,
            )
        for name in actors:
            if name.startswith("agent."):
                raise DefinitionError(
                    f"provide() names the source {name!r}, which is the library's own: what asks a model is carried "
                    "out by the executors that a run is given",
                    code="reserved-name",
                    machine=self.id,
                )
            if name not in self.sources:
                raise DefinitionError(
                    f"provide() names the source {name!r}. {did_you_mean(name, self.sources)}",
                    code="unknown-source",
                    machine=self.id,
                )
        merged = {**self.sources, **actors}
        table = self.table
        if _versions(merged) != table.source_versions:
            # A function has become a machine, or a machine another one: what is saved is not the same any more.
            table = compile_table(
                table.id,
                table.definition,
                context=table.context,
                delays=table.delays,
                sources=_versions(merged),
                version=table.given_version,
            )
        return Machine(
            table,
            merged,
            context=self._initial_context,
            migrate=self.migrate,
            event_types=self.event_types,
            input_type=self.input_type,
            output_type=self.output_type,
        )

    def load(self, data: Mapping[str, Any] | str | bytes) -> Snapshot[C]:
        """Return the snapshot that ``snapshot.dump()`` or ``to_json()`` wrote, in this or in another process.

        Raises :class:`SnapshotError` naming the field that does not fit; nothing is executed.
        """
        return load(self, data)

    @property
    def started(self) -> tuple[Snapshot[C], tuple[Effect, ...]] | None:
        """The start, where it depends on neither input nor time: the same value for every run."""
        if self._started is _UNKNOWN:
            self._started = self._start_once()
        started: tuple[Snapshot[C], tuple[Effect, ...]] | None = self._started
        return started

    def _start_once(self) -> Any:
        if callable(self._initial_context) or self.input_type is not None or self._machines:
            return None
        try:
            return start(self, None, None, None)
        except StepError:
            return None  # it needs the time, or fails in a way that belongs to whoever starts it

    def first_context(self, given: Any) -> tuple[Any, InternalEvent]:
        """Return the context to start from, and the event that the initial states see."""
        value = self.checked_input(given)
        make = self._initial_context
        event = INIT if value is None else InternalEvent("@init", output=value)
        if not callable(make):
            return make, event
        try:
            made = make(value) if _takes_one(make) else make()
        except Exception as error:
            raise HandlerError(error, machine=self.id, state="(root)", event="@init", handler=name_of(make)) from error
        try:
            return self.table.context.check(made), event
        except Exception as error:  # validators are the author's code
            raise InvalidMoveError(
                f"the initial context made by {name_of(make)} is refused: {reason_of(error)}",
                code="invalid-field",
                machine=self.id,
                state="(root)",
                event="@init",
            ) from error

    def checked_input(self, given: Any) -> Any:
        """Return the input, decoded by its declared type (defaults applied)."""
        if self.input_type is None:
            if given is not None and not (callable(self._initial_context) and _takes_one(self._initial_context)):
                raise InputError(
                    f"machine {self.id!r} takes no input, but was given one; its context is not made from any. "
                    "Make it of the input: context=lambda given: ...",
                    code="invalid-input",
                )
            return given
        try:
            if isinstance(given, FrozenDict):  # from a parent machine, as JSON: read as such, for strict types
                return self.input_type.read(cast("object", given))
            if given is None and not self._takes_none():
                given = {}  # the defaults of its fields, if all have some
            return self.input_type.validate_python(given)
        except Exception as error:  # validators are the author's code
            raise InputError(
                f"machine {self.id!r}: the input is refused: {reason_of(error)}", code="invalid-input"
            ) from error

    def _takes_none(self) -> bool:
        assert self.input_type is not None  # noqa: S101  # asked only where there is one
        try:
            self.input_type.validate_python(None)
        except Exception:  # noqa: BLE001  # the same
            return False
        return True

    def input_json(self, given: Any) -> Any:
        """Return an input, checked and with defaults applied, as frozen JSON; None where there is none.

        Raises :class:`InputError` for what the machine refuses, :class:`NotJsonError` for what JSON cannot carry.
        """
        checked = self.checked_input(given)
        if self.input_type is None:
            return freeze(checked, "input", models=True)
        try:
            return self.input_type.back(checked, "input")[0]
        except NotJsonError:
            raise
        except Exception as error:  # validators and serializers are the author's code
            raise InputError(
                f"machine {self.id!r}: the input cannot be kept as JSON: {reason_of(error)}", code="invalid-input"
            ) from error

    def input_from_json(self, data: Any) -> Any:
        """Return the input that :meth:`input_json` wrote, of its declared type."""
        if self.input_type is None:
            return data
        try:
            return self.input_type.read(data)
        except Exception as error:  # validators are the author's code
            raise InputError(
                f"machine {self.id!r}: the input does not come back from JSON: {reason_of(error)}", code="invalid-input"
            ) from error

    def checked_output(self, given: Any, event: Any) -> Any:
        """Return the output, written as JSON and read again by its declared type: as it would come back from saving."""
        adapter = self.output_type
        if adapter is None:
            return given
        try:
            return adapter.back(adapter.validate_python(given), "output")[1]
        except Exception as error:  # validators and serializers are the author's code
            raise InvalidMoveError(
                f"the machine's output is refused: {reason_of(error)}",
                code="invalid-output",
                machine=self.id,
                event=getattr(event, "type", None),
            ) from error

    def output_json(self, output: Any) -> Any:
        """Return an output that :meth:`checked_output` has passed as frozen JSON."""
        adapter = self.output_type
        return output if adapter is None else adapter.write(output, "output")

    def border_event(self, event: Any) -> Any:
        """Return an event in the form in which it would come back from a saved snapshot."""
        if isinstance(event, Event) or type(event) is self.event_types.get(event.type):
            return event
        return self.event_from_json(event_to_json(event))

    def event_from_json(self, data: Mapping[str, Any]) -> Any:
        """Return the event that :func:`event_to_json` wrote: of its declared class, else a mapping."""
        kind = self.event_types.get(data["type"])
        if kind is None:
            return Event(freeze(dict(data)))
        fields = {name: value for name, value in data.items() if name != "type"}
        # As JSON, for strict classes; by name, as events are written.
        return kind.model_validate_json(to_json(fields), by_alias=True, by_name=True)

    def __repr__(self) -> str:
        return f"<machine {self.id!r}, version {self.version}, {len(self.table.nodes)} states>"


_UNKNOWN: Any = object()


def machine(
    id: str,
    *,
    states: Mapping[str, State] | None = None,
    context: Any = None,
    context_type: Any = None,
    sources: Mapping[str, Any] | None = None,
    delays: Mapping[str, Any] | None = None,
    version: str | None = None,
    migrate: Migrate | None = None,
    event_types: Mapping[str, Any] | None = None,
    input_type: Any = None,
    output_type: Any = None,
    **root: Any,
) -> Machine[Any, Any, Any]:
    """Build a machine; whatever can be known to be wrong with it is said now.

    Arguments:
        id: its name.
        states: the states at the top.
        context: the initial context (frozen model, frozen dataclass or mapping), or a function that makes it from the
            input.
        context_type: what the function makes (a mapping, if not given).
        sources: what ``invoke`` and ``spawn`` may start, by name: machines (stepped as part of this one), or anything
            else (carried out by the host).
        delays: named delays in seconds, or functions of the context.
        version: names this version of the machine; otherwise a hash of its structure does.
        migrate: ``(dump, from_version) -> dump``, called when a snapshot of another version is loaded.
        event_types: classes by event type, which carry events over the JSON border.
        input_type: the type by which the input is checked and saved, or pydantic's ``TypeAdapter`` of it.
        output_type: the same for the output.
        **root: every other keyword of :func:`state`, for the root state.

    Raises :class:`DefinitionError`.
    """
    definition = state(states=states, **root)
    declared = dict(sources or {})
    try:
        context_type_found = context_type_of(context_type, None if callable(context) else context)
        initial = context
        if not callable(context):
            # A declared type without a value starts from its defaults.
            initial = context_type_found.check({} if context is None and context_type is not None else context)
            saved_context(context_type_found, initial)
    except TypeRefusedError as error:
        raise DefinitionError(str(error), code=error.code, machine=id) from error
    except Exception as error:  # validators and serializers are the author's code
        reason = f"field {error.field!r}: {error.reason}" if isinstance(error, FieldError) else reason_of(error)
        raise DefinitionError(
            f"the initial context is refused: {reason}", code="invalid-context", machine=id
        ) from error
    table = compile_table(
        id,
        definition,
        context=context_type_found,
        delays=dict(delays or {}),
        sources=_versions(declared),
        version=version,
    )
    return Machine(
        table,
        declared,
        context=initial,
        migrate=migrate,
        event_types=dict(event_types or {}),
        input_type=None if input_type is None else JsonType(input_type),
        output_type=None if output_type is None else JsonType(output_type),
    )


def _versions(sources: Mapping[str, Any]) -> dict[str, str]:
    return {name: source.version if isinstance(source, Machine) else "" for name, source in sources.items()}


def _takes_one(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False  # a builtin that does not say, such as dict
    return any(
        item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD, item.VAR_POSITIONAL) for item in parameters
    )
