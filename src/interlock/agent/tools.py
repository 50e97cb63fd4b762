"""Tools: functions that a model may call while it writes. A model sees a name, a description and a schema.

The docstring is the description, the annotated parameters are the schema. What a tool raises is told to the model,
which may then try something else; it ends nothing.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, cast, get_type_hints

from pydantic import TypeAdapter
from pydantic_core import SchemaValidator, to_json, to_jsonable_python

from interlock.agent.contract import ToolCall
from interlock.agent.descriptors import OF_EVENTS
from interlock.agent.messages import (
    ContentOutput,
    ErrorJsonOutput,
    ErrorTextOutput,
    ImagePart,
    JsonOutput,
    TextOutput,
    TextPart,
    ToolResultOutput,
)
from interlock.agent.plain import plain
from interlock.agent.reasons import reason_of, short, told
from interlock.agent.text_requests import ToolDescriptor
from interlock.errors import DefinitionError, did_you_mean
from interlock.statechart.detached import is_whole
from interlock.statechart.frozen import freeze

__all__ = ["GivenTools", "Tool", "bound_call", "named_tools", "tool", "tool_failure"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_RESERVED = ("auto", "none", "required")
_OUTPUTS = (TextOutput, JsonOutput, ErrorTextOutput, ErrorJsonOutput, ContentOutput)


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool:
    """A function under the name by which a model calls it; made by :func:`tool`."""

    name: str
    function: Callable[..., object]
    description: str = ""

    def __post_init__(self) -> None:
        function: object = self.function
        if not callable(function) or isinstance(function, type):
            raise DefinitionError(f"tool({short(function)}): give a function", code="invalid-tool")
        if not isinstance(cast("object", self.name), str) or not _NAME.fullmatch(self.name):
            raise self._wrong("a tool's name has 1 to 64 letters, digits, '_' or '-'; give another with name=")
        if self.name in _RESERVED:
            raise self._wrong("this word is a tool_choice; give the tool another name with name=")
        if self.name.startswith(OF_EVENTS):
            raise self._wrong(f"names that begin with {OF_EVENTS!r} stand for events; give another with name=")
        if not is_whole(self.description):
            raise self._wrong("its description holds a lone surrogate, which no model can be sent")
        _ = self.descriptor  # a function that no model could call is said now

    @cached_property
    def descriptor(self) -> ToolDescriptor:
        """The tool as a model sees it."""
        schema: dict[str, object] = self._adapter.json_schema()
        return ToolDescriptor(
            name=self.name,
            description=self.description,
            input_schema=freeze({name: value for name, value in schema.items() if name != "title"}),
        )

    def check(self, executors: object, where: str) -> None:
        """Refuse, before a run begins, executors that this tool could not work with; ``where`` says whose it is."""

    def bind(self, given: object) -> Callable[[], object] | ErrorTextOutput:
        """Return the function with its arguments, checked and decoded; or what to answer to arguments that do not fit.

        Arguments:
            given: the arguments as the model gave them: JSON, not trusted.
        """
        try:
            # From JSON text: there a strict type takes an array for a tuple and a text for a date.
            arguments = plain({} if given is None else given)
            if not isinstance(arguments, Mapping):
                return ErrorTextOutput(value=f"{self.name} needs an object of arguments, not {short(given)}")
            positional, named = self._arguments.validate_json(to_json(arguments))
        except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
            return ErrorTextOutput(value=f"{self.name} was not called: {reason_of(error)}")
        return functools.partial(self.function, *positional, **named)

    def answer(self, value: object) -> ToolResultOutput:
        """Return what the function returned as the model is told it: text, texts and images, or JSON."""
        if isinstance(value, _OUTPUTS):
            return value
        if isinstance(value, TextPart | ImagePart):
            return ContentOutput(value=(value,))
        parts = tuple(cast("Sequence[object]", value)) if isinstance(value, list | tuple) else ()
        if parts and all(isinstance(part, TextPart | ImagePart) for part in parts):
            return ContentOutput(value=cast("tuple[TextPart | ImagePart, ...]", parts))
        try:
            if isinstance(value, str):
                return TextOutput(value=value)
            return JsonOutput(value=to_jsonable_python(value, inf_nan_mode="constants"))
        except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
            return ErrorTextOutput(value=f"{self.name} returned what JSON cannot carry: {reason_of(error)}")

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        target = _routine(self.function)
        for parameter in _parameters(target).values():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise self._wrong(f"a model gives arguments by name, which parameter {str(parameter)!r} does not take")
            if parameter.annotation is parameter.empty:
                raise self._wrong(f"parameter {parameter.name!r} has no annotation, so no model knows what to give")
        try:
            return TypeAdapter(cast("Any", _with_types(target)))
        except Exception as error:  # noqa: BLE001  # types say themselves how they are checked
            raise self._wrong(f"its parameters are nothing that JSON can carry: {reason_of(error)}") from None

    @cached_property
    def _arguments(self) -> SchemaValidator:
        # The adapter itself would call the function, and call it here.
        schema: Any = self._adapter.core_schema
        definitions = None
        if schema["type"] == "definitions":
            definitions, schema = schema["definitions"], schema["schema"]
        inner: Any = schema["arguments_schema"]
        if definitions is not None:
            inner = cast("Any", {"type": "definitions", "definitions": definitions, "schema": inner})
        return SchemaValidator(inner)

    def _wrong(self, reason: str) -> DefinitionError:
        return DefinitionError(f"tool {self.name!r} ({short(self.function)}): {reason}", code="invalid-tool")


GivenTools: TypeAlias = "Mapping[str, Callable[..., object] | Tool] | Sequence[Callable[..., object] | Tool | str]"
"""Functions by name, or a list of functions and of names that ``setup_agent(tools=...)`` knows."""


def tool(function: Callable[..., object], /, *, name: str | None = None, description: str | None = None) -> Tool:
    """Return a function as a tool under another name or description than its own.

    Raises :class:`DefinitionError` (``invalid-tool``) for a function whose parameters no model could give.
    """
    own_name: str = getattr(function, "__name__", type(function).__name__)
    own_words = inspect.getdoc(function if inspect.isroutine(function) else type(function)) or ""
    return Tool(
        name=own_name if name is None else name,
        function=function,
        description=own_words if description is None else description,
    )


def named_tools(given: GivenTools, known: Mapping[str, Tool], *, what: str) -> dict[str, Tool]:
    """Return tools by name, in the order given.

    Arguments:
        given: as an author writes them.
        known: the tools that mere names may stand for.
        what: whose tools they are, for errors.

    Raises :class:`DefinitionError`: ``unknown-tool`` for a name that nobody has registered, ``invalid-tool``.
    """
    found: dict[str, Tool] = {}
    for item in _pairs(given, what):
        made = _found(*item, known=known, what=what)
        if made.name in found:
            raise DefinitionError(
                f"{what}: two tools are named {made.name!r}; rename one with tool(..., name=...)", code="invalid-tool"
            )
        found[made.name] = made
    return found


def _pairs(given: object, what: str) -> list[tuple[str | None, object]]:
    if isinstance(given, Mapping):
        return [(str(name), item) for name, item in cast("Mapping[object, object]", given).items()]
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise DefinitionError(
            f"{what}: tools={short(given)}; give a list of functions and names, or a mapping of names to functions",
            code="invalid-tool",
        )
    return [(None, item) for item in cast("Sequence[object]", given)]


def _found(name: str | None, item: object, *, known: Mapping[str, Tool], what: str) -> Tool:
    if isinstance(item, str):
        if item not in known:
            hint = did_you_mean(item, known)
            raise DefinitionError(f"{what}: setup_agent(tools=...) has no tool {item!r}. {hint}", code="unknown-tool")
        return known[item]
    if isinstance(item, Tool):
        return item if name in (None, item.name) else replace(item, name=name)
    if not callable(item) or isinstance(item, type):
        raise DefinitionError(f"{what}: {short(item)} is no function", code="invalid-tool")
    return tool(item, name=name)


def bound_call(
    call: ToolCall, tools: Mapping[str, Tool], *, offered: Iterable[str] = ()
) -> Callable[[], object] | ErrorTextOutput:
    """Return what carries out a call, or what is answered to a call that cannot be carried out.

    ``offered`` are the names of what the model was offered beside these tools, events for example.
    """
    found = tools.get(call.name)
    if found is None:
        known = dict.fromkeys((*offered, *tools))
        return ErrorTextOutput(value=f"there is no tool {short(call.name)}. {did_you_mean(call.name[:80], known)}")
    return found.bind(call.input)


def tool_failure(error: BaseException) -> ErrorTextOutput:
    """Return what a model is told about a tool that raised."""
    return ErrorTextOutput(value=told(error).encode(errors="replace").decode())


def _routine(function: Callable[..., object]) -> Callable[..., object]:
    return function if _is_routine(function) else cast("Callable[..., object]", getattr(function, "__call__"))  # noqa: B004, B009  # an object that is called


def _with_types(target: Callable[..., object]) -> Callable[..., object]:
    """Return a function with its parameters' types in place of their names, where pydantic would not find those.

    It looks names up in the module of a function, but does not know the module of a method or a partial.
    """
    inner: Callable[..., object] = target
    while isinstance(inner, functools.partial):
        inner = cast("functools.partial[object]", inner).func
    inner = cast("Callable[..., object]", getattr(inner, "__func__", inner))
    if inner is target:
        return target
    types = get_type_hints(inner, include_extras=True)
    signature = inspect.signature(target)
    parameters = [
        item.replace(annotation=types.get(name, item.annotation)) for name, item in signature.parameters.items()
    ]

    def shown() -> None: ...

    vars(shown)["__signature__"] = signature.replace(parameters=parameters)
    shown.__annotations__ = {item.name: item.annotation for item in parameters}
    return shown


def _is_routine(function: object) -> bool:
    return inspect.isroutine(function) or isinstance(function, functools.partial)


def _parameters(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters
