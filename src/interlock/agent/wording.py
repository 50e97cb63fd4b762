"""What is said to a model, as its author writes it: each field a value, or a function asked when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError, model_validator

from interlock.agent.messages import AgentMessage
from interlock.agent.messages_schema import messages_schema
from interlock.agent.plain import plain
from interlock.agent.reasons import reason_of, short
from interlock.errors import HandlerError, InvalidMessagesError, InvalidMoveError
from interlock.statechart import FrozenDict
from interlock.statechart.definition import name_of
from interlock.statechart.detached import is_whole

__all__ = ["Place", "Wording", "check_wording", "worded"]

W = TypeVar("W", bound="Wording")


def _messages(given: object) -> object:
    try:
        return messages_schema.validate(given)
    except InvalidMessagesError as error:
        raise ValueError("; ".join(f"{path}: {reason}" for path, reason in error.problems[:5])) from None


def _naming(model: str) -> str:
    if not model.strip():
        raise ValueError("is blank; name a model, or leave it out")
    return model


class Wording(BaseModel, frozen=True, strict=True, extra="forbid"):
    """What is said to a model in any kind of request, each field at its value."""

    model: Annotated[str, AfterValidator(_naming)] | None = None
    system: str | None = None
    prompt: str | None = None
    messages: Annotated[tuple[AgentMessage, ...], BeforeValidator(_messages)] = ()
    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    max_output_tokens: Annotated[int, Field(gt=0)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(gt=0)] | None = None
    seed: int | None = None
    stop_sequences: Annotated[tuple[str, ...], Field(strict=False)] = ()
    metadata: Annotated[FrozenDict[str, object], BeforeValidator(plain), Field(strict=False)] = FrozenDict()

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if self.prompt and self.messages:
            raise ValueError("prompt and messages say the same thing; give one of them")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something is worded, for errors. Outside any machine the author's own exceptions are passed on."""

    what: str
    """Such as ``the decision``."""
    machine: str | None = None
    state: str | None = None

    def ask(self, function: Callable[..., object], name: str, argument: object) -> object:
        """Return what the author's function gives; raises :class:`HandlerError` where it raises."""
        try:
            return function(argument)
        except Exception as error:
            if self.machine is None:
                raise
            handler = f"{name}= of {self.what}, {name_of(function)},"
            state = self.state or "(root)"
            raise HandlerError(error, machine=self.machine, state=state, event=None, handler=handler) from error

    def refused(self, name: str, function: object, what: str) -> InvalidMoveError:
        """Return the error that says what the author's function returned."""
        return InvalidMoveError(
            f"{name}= of {self.what}, {name_of(function)}, returned {what}",
            code="invalid-handler-result",
            machine=self.machine,
            state=self.state,
        )


def check_wording(kind: type[Wording], given: Mapping[str, object]) -> None:
    """Check what is known before anything runs; raises pydantic's own error, or ValueError."""
    known = {name: value for name, value in given.items() if not callable(value)}
    kind.model_validate(known)
    for name, value in known.items():
        if not is_whole(value):
            raise ValueError(f"{name}: {short(value)} holds a lone surrogate, which nobody can be sent")


def worded(kind: type[W], given: Mapping[str, object], argument: object, place: Place) -> W:
    """Return the fields at their values, the author's functions asked with ``argument``.

    Raises :class:`HandlerError` or :class:`InvalidMoveError` where one of them fails, naming it.
    """
    functions = {name: value for name, value in given.items() if callable(value)}
    asked = {name: place.ask(function, name, argument) for name, function in functions.items()}
    try:
        return kind.model_validate({**given, **asked})
    except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
        found = error.errors() if isinstance(error, ValidationError) else []
        wrong = next((str(item["loc"][0]) for item in found if item["loc"]), "prompt")
        name = wrong if wrong in functions else next(iter(functions))
        raise place.refused(name, functions[name], reason_of(error)) from None
