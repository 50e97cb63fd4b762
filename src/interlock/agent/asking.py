"""The words for text: what an author writes to have something written by a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, cast, overload

from interlock.agent.act import ACT, ActSpec
from interlock.agent.binding import Bound
from interlock.agent.fields import InvokeFields, Targets
from interlock.agent.keywords import known_keywords
from interlock.agent.reasons import reason_of, short
from interlock.agent.text import TextRequestDefinition, TextSpec, source_of, text_adapter
from interlock.agent.text_fields import InlineTextFields, TextFields
from interlock.agent.text_requests import TextMode
from interlock.errors import DefinitionError
from interlock.statechart import Invoke, Move
from interlock.statechart import invoke as engine_invoke
from interlock.statechart.frozen import freeze

if TYPE_CHECKING:
    from interlock.agent.outputs import TypeOf

__all__ = ["Asking"]

P = ParamSpec("P")
C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output
Given = TypeVar("Given")
Made = TypeVar("Made")


class Asking(Bound[P, C, I, O]):
    """The words for text."""

    __slots__ = ()

    @overload
    def ask(
        self,
        request: TextRequestDefinition[None, Made],
        /,
        *,
        input: None = None,
        on_done: Targets | Move | Callable[[C, Made], Move | None] | None = None,
        **fields: Unpack[InvokeFields[C]],
    ) -> Invoke: ...
    @overload
    def ask(
        self,
        request: TextRequestDefinition[Given, Made],
        /,
        *,
        input: Given | Callable[[C], Given],
        on_done: Targets | Move | Callable[[C, Made], Move | None] | None = None,
        **fields: Unpack[InvokeFields[C]],
    ) -> Invoke: ...
    def ask(
        self,
        request: TextRequestDefinition[Any, Any],
        /,
        *,
        input: Any = None,
        on_done: Any = None,
        **fields: Any,
    ) -> Invoke:
        """Have a text request carried out while the state is active.

        Arguments:
            request: what :func:`text_request` returned; its output type says what ``on_done`` gets.
            input: what the request is made from, or a function of the context that gives it.
            on_done: what happens with the answer.
            fields: as for any work that a state starts; ``on_error`` gets the failure: ``truncated``, ``refused``,
                ``invalid-output``, ``max-steps`` ...
        """
        if not isinstance(cast("object", request), TextRequestDefinition):
            raise DefinitionError(
                f"ask({short(request)}): give what text_request(...) returned; the words themselves go into "
                "agent.generate_text(...)",
                code="invalid-request",
            )
        word = f"ask({request.name!r})"
        known_keywords(word, fields, InvokeFields, also=("input", "on_done"))
        if not callable(input):
            _check_input(request, input)
        return self._text(
            TextSpec(definition=request, known=self._tools),
            word,
            input=self._given(input, f"{word}: input="),
            on_done=on_done,
            fields=fields,
        )

    @overload
    def generate_text(
        self,
        *,
        output: None = None,
        on_done: Targets | Move | Callable[[C, str], Move | None] | None = None,
        **fields: Unpack[InlineTextFields[C]],
    ) -> Invoke: ...
    @overload
    def generate_text(
        self,
        *,
        output: TypeOf[Made],
        on_done: Targets | Move | Callable[[C, Made], Move | None] | None = None,
        **fields: Unpack[InlineTextFields[C]],
    ) -> Invoke: ...
    def generate_text(self, *, output: Any = None, on_done: Any = None, **fields: Any) -> Invoke:
        """Have a model write something while the state is active; all that is said to it stands here.

        Arguments:
            output: the type of the answer; text, if not given. Any other type is asked for as JSON, and checked.
            on_done: what happens with the answer.
            fields: what is said to the model, as values or functions of the context, and as for any work that a state
                starts. Exactly one of ``prompt`` and ``messages``.
        """
        return self._inline("generate", output, on_done, fields)

    @overload
    def stream_text(
        self,
        *,
        output: None = None,
        on_done: Targets | Move | Callable[[C, str], Move | None] | None = None,
        **fields: Unpack[InlineTextFields[C]],
    ) -> Invoke: ...
    @overload
    def stream_text(
        self,
        *,
        output: TypeOf[Made],
        on_done: Targets | Move | Callable[[C, Made], Move | None] | None = None,
        **fields: Unpack[InlineTextFields[C]],
    ) -> Invoke: ...
    def stream_text(self, *, output: Any = None, on_done: Any = None, **fields: Any) -> Invoke:
        """As :meth:`generate_text`, and whoever watches the run sees the text while it is written."""
        return self._inline("stream", output, on_done, fields)

    def act(
        self,
        *,
        on_done: Targets | Move | Callable[[C, str], Move | None] | None = None,
        **fields: Unpack[InlineTextFields[C]],
    ) -> Invoke:
        """Let a model work on the machine while the state is active: its tools are the events that are accepted now.

        Each event that it calls is sent before the next call is looked at, and the model is told what has changed, or
        why nothing has. Plain ``tools`` may stand beside the events. When an event leaves the state, everything stops
        there and nothing is reported; else ``on_done`` gets what the model says last, without calling anything or after
        ``max_steps`` turns.

        Arguments:
            on_done: what happens when the model is done.
            fields: as for :meth:`generate_text`.
        """
        known_keywords("act", fields, InlineTextFields, InvokeFields, TextFields, also=("on_done",))
        return self._inline("generate", None, on_done, dict(fields), kind=ActSpec)

    def _inline(
        self,
        mode: TextMode,
        output: object,
        on_done: object,
        fields: dict[str, Any],
        *,
        kind: type[TextSpec] = TextSpec,
    ) -> Invoke:
        src = ACT if kind is ActSpec else source_of(mode)
        word = src.removeprefix("agent.")
        known_keywords(word, fields, InlineTextFields, InvokeFields, TextFields, also=("output", "on_done"))
        common = {name: fields.pop(name) for name in InvokeFields.__annotations__ if name in fields}
        name = fields.pop("name", None)
        given = {key: self._adapted(value, f"{word}({key}=)", ("context",)) for key, value in fields.items()}
        definition: TextRequestDefinition[Any, Any] = TextRequestDefinition(
            name=src if name is None else name,
            tools=given.pop("tools", ()),
            wording=given,
            mode=mode,
            output=text_adapter(output, f"{word}(output=): "),
            acts=kind is ActSpec,
        )
        spec = kind(definition=definition, known=self._tools, of_context=True)
        return self._text(spec, word, input=None, on_done=on_done, fields=common)

    def _text(self, spec: TextSpec, word: str, *, input: object, on_done: object, fields: dict[str, Any]) -> Invoke:
        return engine_invoke(
            ACT if isinstance(spec, ActSpec) else source_of(spec.definition.mode),
            logic=spec,
            input=input,
            on_done=self._slot(on_done, f"{word}: on_done=", "output", spec.definition.decode),
            **self._invoke_fields(word, fields),
        )


def _check_input(request: TextRequestDefinition[Any, Any], given: object) -> None:
    try:
        request.read_input(freeze(given, "input", models=True))
    except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
        raise DefinitionError(f"ask: {reason_of(error)}", code="invalid-request") from None
