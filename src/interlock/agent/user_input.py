"""What a person is asked while a state is active: a question as data, and the reply checked by its type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, cast

from pydantic import TypeAdapter

from interlock.agent.keywords import checked_name
from interlock.agent.plain import plain
from interlock.agent.reasons import reason_of, short
from interlock.agent.received import object_of, read_object
from interlock.agent.requests import JsonObject
from interlock.agent.wording import Place
from interlock.errors import DefinitionError, InputError, NotJsonError
from interlock.statechart import OwedInvocation
from interlock.statechart.detached import is_whole
from interlock.statechart.frozen import freeze
from interlock.statechart.json_type import JsonType

__all__ = ["USER_INPUT", "UserInputRequest", "UserInputSpec", "user_input_request"]

USER_INPUT = "agent.user_input"
"""The source of everything that a person is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInputRequest:
    """What a person is asked: a question, and the JSON schema of the reply."""

    id: str
    """Names this question and no other, before and after a restart."""
    prompt: str
    input_schema: JsonObject
    kind: Literal["input"] = "input"
    name: str | None = None
    metadata: JsonObject = field(default_factory=dict[str, object])

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data."""
        return {
            "kind": self.kind,
            "id": self.id,
            "name": self.name,
            "prompt": self.prompt,
            "input_schema": dict(self.input_schema),
            "metadata": dict(self.metadata),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> UserInputRequest:
        """Return what :meth:`to_json` wrote; raises :class:`InputError` for other data."""
        return read_object(_reader, object_of(data, "request for input"), "request for input")


_reader: TypeAdapter[UserInputRequest] = TypeAdapter(UserInputRequest)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UserInputSpec:
    """What an author says about a question: its words, and the type of the reply."""

    name: str | None
    prompt: str | Callable[..., object]
    reply: JsonType[Any]
    metadata: Mapping[str, object]
    waits: ClassVar[bool] = True
    """Nobody in this process works on it: a run with nothing else to do has settled."""

    def __post_init__(self) -> None:
        if not callable(self.prompt) and (not isinstance(cast("object", self.prompt), str) or not self.prompt.strip()):
            raise DefinitionError(f"user_input(prompt={short(self.prompt)}): give the question", code="invalid-request")
        checked_name("user_input", self.name, "invalid-request")
        for word, given in (("prompt", self.prompt), ("metadata", self.metadata)):
            if not is_whole(given):
                raise DefinitionError(
                    f"user_input({word}={short(given)}): holds a lone surrogate, which nobody can be shown",
                    code="invalid-request",
                )
        try:
            object.__setattr__(self, "metadata", freeze(dict(self.metadata), "metadata"))
        except (NotJsonError, TypeError, ValueError) as error:
            raise DefinitionError(f"user_input(metadata=): {reason_of(error)}", code="invalid-request") from None
        _ = self.schema

    @property
    def schema(self) -> JsonObject:
        """The JSON schema of the reply."""
        try:
            found: JsonObject = freeze(self.reply.json_schema())
        except Exception as error:  # noqa: BLE001  # a type says itself what its schema is
            raise DefinitionError(
                f"user_input(schema=): the type has no JSON schema: {reason_of(error)}", code="invalid-type"
            ) from None
        return found

    def encode(self, reply: object, what: str) -> object:
        """Return a reply as strict JSON; raises :class:`InputError` naming ``what`` it answers."""
        try:
            output = plain(self.reply.keep(self.reply.accept(reply)))
        except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
            raise InputError(
                f"the reply {short(reply)} to {what} does not fit: {reason_of(error)}", code="invalid-reply"
            ) from None
        return output

    def decode(self, output: object) -> object:
        """Return what :meth:`encode` made as the type that ``on_done`` gets."""
        return self.reply.read(output)


def user_input_request(owed: OwedInvocation) -> UserInputRequest:
    """Return what a person is asked, in the words of the context of now.

    Raises :class:`StepError` where the author's function fails.
    """
    spec = owed.logic
    if not isinstance(spec, UserInputSpec):
        raise InputError(f"invocation {owed.identity!r} (source {owed.src!r}) asks no person", code="invalid-input")
    prompt = spec.prompt
    if not isinstance(prompt, str):
        place = Place(what="the user input", machine=owed.snapshot.machine_id, state=owed.state or "(root)")
        said = place.ask(prompt, "prompt", owed.snapshot.context)
        if not isinstance(said, str) or not said.strip():
            raise place.refused("prompt", prompt, f"{short(said)}; a question is a text")
        prompt = said
    return UserInputRequest(
        id=owed.identity,
        name=spec.name or owed.id,
        prompt=prompt,
        input_schema=spec.schema,
        metadata=spec.metadata,
    )
