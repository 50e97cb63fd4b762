"""A text request as its author writes it: once, by name, to be asked for in any state of any machine.

>>> draft = text_request(
...     "draft", input=str, model="quick", system="You answer customers.", prompt=lambda letter: f"Answer: {letter}"
... )
>>> draft.request("Where is my parcel?").prompt
'Answer: Where is my parcel?'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, Unpack, cast

from pydantic import Field, TypeAdapter, ValidationError

from interlock.agent.adapting import check_arguments
from interlock.agent.contract import StreamExecutor, TextExecutor
from interlock.agent.descriptors import OF_EVENTS
from interlock.agent.keywords import checked_name, known_keywords
from interlock.agent.outputs import adapter_of
from interlock.agent.plain import plain
from interlock.agent.reasons import reason_of, reasons, short
from interlock.agent.requests import JsonObject
from interlock.agent.text_fields import TextFields
from interlock.agent.text_requests import TextMode, TextRequest
from interlock.agent.tools import GivenTools, Tool, named_tools
from interlock.agent.transitions import is_function
from interlock.agent.wording import Place, Wording, check_wording, worded
from interlock.errors import DefinitionError, InputError, did_you_mean
from interlock.statechart import UNSET
from interlock.statechart.detached import detached
from interlock.statechart.frozen import freeze
from interlock.statechart.json_type import JsonType
from interlock.statechart.moves import Unset

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultedTypeVar  # as Python 3.13 has them

    from interlock.agent.outputs import TypeOf

    Given = DefaultedTypeVar("Given", default=None)
    Made = DefaultedTypeVar("Made", default=str)

__all__ = [
    "GENERATE_TEXT",
    "STREAM_TEXT",
    "TextRequestDefinition",
    "TextSpec",
    "TextWording",
    "source_of",
    "text_adapter",
    "text_request",
]

GENERATE_TEXT = "agent.generate_text"
STREAM_TEXT = "agent.stream_text"

I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output


def source_of(mode: TextMode) -> str:
    """Return the source of all requests of a mode."""
    return STREAM_TEXT if mode == "stream" else GENERATE_TEXT


class TextWording(Wording, frozen=True, strict=True, extra="forbid"):
    """What is said to the model that writes, each field at its value."""

    tool_choice: str | None = None
    max_steps: Annotated[int, Field(gt=0)] = 8
    include_reasoning: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class TextRequestDefinition(Generic[I, O]):
    """What :func:`text_request` returns. I: what the request is made from, O: what comes of it.

    ``wording`` holds the fields of :class:`TextWording`, each a value or a function of the input; so is ``tools``.
    ``input`` and ``output`` are None where the request takes nothing, and gives text. ``executor`` carries it out
    whatever the run's executors are.
    """

    name: str
    wording: Mapping[str, object]
    mode: TextMode = "generate"
    tools: GivenTools | Callable[[I], GivenTools] = ()
    input: TypeAdapter[I] | None = None
    output: TypeAdapter[O] | None = None
    executor: TextExecutor | StreamExecutor | None = None
    acts: bool = False
    """Whether events of the machine are among its tools as well; which, is known when it is asked."""

    def __post_init__(self) -> None:
        given = [name for name in ("prompt", "messages") if self.wording.get(name)]
        if len(given) != 1:
            wrong = "prompt and messages say the same thing" if given else "neither prompt nor messages is given"
            raise self.wrong(f"{wrong}; give one of them")
        if self.mode not in ("generate", "stream"):
            raise self.wrong(f"mode={self.mode!r}; give 'generate' or 'stream'")
        try:
            check_wording(TextWording, self.wording)
        except ValueError as error:
            raise self.wrong(reasons(error) if isinstance(error, ValidationError) else str(error)) from None
        _ = self.output_schema
        checked_name("text request", self.name, "invalid-request")
        for field in ("wording", "tools"):
            object.__setattr__(self, field, detached(getattr(self, field)))

    @cached_property
    def output_schema(self) -> JsonObject | None:
        """The JSON schema of what comes of it; None for text."""
        if self.output is None:
            return None
        try:
            schema: JsonObject = freeze(self.output.json_schema())
        except Exception as error:  # noqa: BLE001  # a type says itself what its schema is
            raise self.wrong(f"output: the type has no JSON schema: {reason_of(error)}") from None
        return schema

    @cached_property
    def _answer(self) -> JsonType[O]:
        return JsonType(self.output)

    def with_executor(self, executor: TextExecutor | StreamExecutor, /) -> TextRequestDefinition[I, O]:
        """Return this request as one that ``executor`` carries out, whatever the executors of the run are."""
        if not callable(cast("object", executor)):
            raise self.wrong(f"with_executor({short(executor)}): give a function of (request, info)")
        return replace(self, executor=executor)

    def request(self, input: I | None = None, /, *, id: str | None = None) -> TextRequest:
        """Return the request for an input, outside any run: to look at, to test, to send by hand.

        What the author's functions raise is passed on.
        """
        given = self.read_input(None if input is None else _written(input))
        return self.worded(given, self.all_tools({}, given, self.place()), self.place(), id=id or self.name)

    # -- for those who carry it out ------------------------------------------------------------------------------------

    def place(self, machine: str | None = None, state: str | None = None) -> Place:
        """Return where this request is worded, for errors."""
        return Place(what=f"the request {self.name!r}", machine=machine, state=state)

    def read_input(self, given: object) -> object:
        """Return an input, which is JSON, as its type; raises :class:`InputError`."""
        if self.input is None:
            if given is None:
                return None
            raise InputError(
                f"the request {self.name!r} takes no input, and was given {short(given)}; declare it: "
                "text_request(..., input=<type>)",
                code="invalid-input",
            )
        try:
            return JsonType[I](self.input).read(given)
        except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
            needs = (
                "it needs an input, and none is given" if given is None else f"the input {short(given)} does not fit"
            )
            raise InputError(f"the request {self.name!r}: {needs}: {reason_of(error)}", code="invalid-input") from None

    def write_output(self, output: object) -> object:
        """Return what was answered as strict JSON, defaults filled in; raises ValueError saying what does not fit."""
        if self.output is None:
            if isinstance(output, str):
                return output.encode(errors="replace").decode()
            raise ValueError(f"the answer is no text: {short(output)}")
        try:
            return plain(self._answer.keep(self._answer.accept(output)))
        except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
            raise ValueError(reason_of(error)) from None

    def decode(self, output: object) -> object:
        """Return what :meth:`write_output` made as the type that ``on_done`` gets."""
        return output if self.output is None else self._answer.read(output)

    def all_tools(self, known: Mapping[str, Tool], argument: object, place: Place) -> dict[str, Tool]:
        """Return the tools of a request by name; ``known`` are those that names may stand for."""
        if not callable(self.tools):
            return named_tools(self.tools, known, what=place.what)
        found = place.ask(cast("Callable[[object], object]", self.tools), "tools", argument)
        try:
            return named_tools(cast("GivenTools", found), known, what=place.what)
        except DefinitionError as error:
            raise place.refused("tools", self.tools, str(error)) from None

    def worded(
        self, argument: object, tools: Mapping[str, Tool], place: Place, *, id: str, name: str | None = None
    ) -> TextRequest:
        """Return the request that is asked first, with the author's functions asked with ``argument``."""
        words = worded(TextWording, self.wording, argument, place)
        if not words.prompt and not words.messages:
            asked = "prompt" if self.wording.get("prompt") else "messages"
            raise place.refused(asked, self.wording[asked], "nothing; a request without a question has no answer")
        if (reason := self.wrong_choice(words.tool_choice, tools)) is not None:
            asked = "tool_choice" if callable(self.wording.get("tool_choice")) else "tools"
            raise place.refused(asked, self.wording.get(asked, self.tools), reason)
        return TextRequest(
            id=id,
            src=source_of(self.mode),
            name=name or self.name,
            mode=self.mode,
            model=words.model,
            system=words.system or None,
            prompt=words.prompt or None,
            messages=words.messages,
            tools=tuple(tool.descriptor for tool in tools.values()),
            tool_choice=words.tool_choice,
            max_steps=words.max_steps,
            steps_remaining=words.max_steps,
            output_schema=self.output_schema,
            include_reasoning=words.include_reasoning and self.output is not None,
            temperature=words.temperature,
            max_output_tokens=words.max_output_tokens,
            top_p=words.top_p,
            top_k=words.top_k,
            seed=words.seed,
            stop_sequences=words.stop_sequences,
            metadata=words.metadata,
        )

    def wrong_choice(self, choice: str | None, tools: Mapping[str, Tool]) -> str | None:
        """Return why a tool choice means nothing among these tools; None where it does."""
        if choice in (None, "auto", "none") or choice in tools or (choice == "required" and (tools or self.acts)):
            return None
        if choice == "required":
            return "tool_choice 'required', but the request has no tools"
        if self.acts and choice.startswith(OF_EVENTS):
            return None
        return f"tool_choice {choice!r}, but no tool of the request has that name. {did_you_mean(choice, tools)}"

    def wrong(self, reason: str, code: str = "invalid-request") -> DefinitionError:
        """Return the error that says what is wrong with the definition."""
        return DefinitionError(f"text request {self.name!r}: {reason}", code=code)


@dataclass(frozen=True, kw_only=True, eq=False)
class TextSpec:
    """A text request where a state makes it.

    ``known`` are the agent's tools. The functions that shape the request take the context where it was written inline
    (``of_context``), and the invocation's input elsewhere.
    """

    definition: TextRequestDefinition[Any, Any]
    known: Mapping[str, Tool]
    of_context: bool = False

    def __post_init__(self) -> None:
        definition = self.definition
        if callable(definition.tools):
            return
        tools = definition.all_tools(self.known, None, definition.place())
        choice = definition.wording.get("tool_choice")
        if isinstance(choice, str) and (reason := definition.wrong_choice(choice, tools)) is not None:
            raise definition.wrong(reason, "unknown-tool")


def text_request(
    name: str,
    /,
    *,
    input: TypeOf[Given] | Unset | None = UNSET,
    output: TypeOf[Made] | Unset | None = UNSET,
    model: str | Callable[[Given], str],
    mode: TextMode = "generate",
    **fields: Unpack[TextFields[Given]],
) -> TextRequestDefinition[Given, Made]:
    """Say what a model is asked to write. It is asked where a state has ``invoke=agent.ask(request, input=...)``.

    Arguments:
        name: names the request in errors, traces and scripts.
        input: the type of what it is made from; it is checked before any function sees it. Nothing, if not given.
        output: the type of the answer; text, if not given. Any other type is asked for as JSON, and checked.
        model: which model: a reference that the host understands.
        mode: ``"stream"`` shows the answer while it is written; what comes of it is the same.
        fields: what is said to the model: exactly one of ``prompt`` and ``messages``, and how. See :class:`TextFields`.

    Raises :class:`DefinitionError` (``invalid-request``) naming the request.
    """
    if not isinstance(cast("object", name), str) or not name:
        raise DefinitionError(f"text_request({short(name)}): give it a name, a non-empty text", code="invalid-request")
    wording: dict[str, object] = dict(cast("Mapping[str, object]", fields), model=model)
    known_keywords("text_request", fields, TextFields, also=("input", "output", "model", "mode"))
    for key, value in wording.items():
        if is_function(value):
            check_arguments(cast("Callable[..., object]", value), f"text request {name!r}: {key}=", ("input",))
    tools = cast("GivenTools | Callable[[Given], GivenTools]", wording.pop("tools", ()))
    return TextRequestDefinition(
        name=name,
        wording=wording,
        mode=mode,
        tools=tools,
        input=_adapter(input, f"text request {name!r}: input="),
        output=text_adapter(output, f"text request {name!r}: output="),
    )


def text_adapter(output: Any, place: str) -> TypeAdapter[Any] | None:  # noqa: ANN401  # a type, of whatever kind
    """Return what checks an answer of a type; None for text. Raises :class:`DefinitionError` for what is no type."""
    return None if output is str else _adapter(output, place)


def _adapter(kind: Any, place: str) -> TypeAdapter[Any] | None:  # noqa: ANN401  # the same
    if kind is None or kind is UNSET:
        return None
    return adapter_of(kind, place)


def _written(value: object) -> object:
    try:
        return freeze(value, "input", models=True)
    except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
        raise InputError(f"input: {reason_of(error)}", code="invalid-input") from None
