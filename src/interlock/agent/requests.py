"""What is asked of a model, as plain data: it can be printed, stored, and sent to another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal, TypeAlias, cast, get_args

from pydantic import TypeAdapter

from interlock.agent.descriptors import EventDescriptor
from interlock.agent.events import EventClass
from interlock.agent.messages import AgentMessage
from interlock.agent.messages_schema import messages_schema
from interlock.agent.reasons import short
from interlock.agent.received import field_of, object_of, read_object
from interlock.errors import InputError

__all__ = ["DecisionAttempt", "DecisionRequest", "Failure", "JsonObject", "PlanRequest"]

JsonObject: TypeAlias = Mapping[str, object]
"""A JSON object; what is inside is nobody's business here."""

Failure: TypeAlias = Literal["unknown-event", "invalid-payload", "rejected-by-guard", "moved-on"]
"""Why a choice was not taken, in the order in which it is judged.

``moved-on`` is no fault of the model: while it thought, something else made its choice illegal.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionAttempt:
    """A choice that was refused, and why. Stored as a record on its invocation; the next call gets to see it."""

    failure: Failure
    reason: str
    event: JsonObject | None = None
    """What the model picked, as JSON; None where it cannot be written as JSON."""
    model_reason: str | None = None

    @property
    def counts(self) -> bool:
        """Whether this attempt uses up one of the model's retries."""
        return self.failure != "moved-on"

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data."""
        return {
            "failure": self.failure,
            "reason": self.reason,
            "event": None if self.event is None else dict(self.event),
            "model_reason": self.model_reason,
        }

    @classmethod
    def from_json(cls, data: JsonObject) -> DecisionAttempt:
        """Return what :meth:`to_json` wrote; raises :class:`InputError` for other data."""
        given = object_of(data, "refused choice")
        failure, reason, event, said = (
            field_of(given, name, "refused choice") for name in ("failure", "reason", "event", "model_reason")
        )
        for name, value, fits, wanted in (
            ("failure", failure, failure in get_args(Failure), f"one of {', '.join(get_args(Failure))}"),
            ("reason", reason, isinstance(reason, str), "a text"),
            ("event", event, isinstance(event, Mapping | None), "an object or null"),
            ("model_reason", said, isinstance(said, str | None), "a text or null"),
        ):
            if not fits:
                raise InputError(
                    f"this is no refused choice: {name} is {short(value)}, not {wanted}", code="invalid-input"
                )
        return cls(
            failure=cast("Failure", failure),
            reason=cast("str", reason),
            event=cast("JsonObject | None", event),
            model_reason=cast("str | None", said),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRequest:
    """The question which of ``events`` shall happen now. Whoever answers picks exactly one."""

    id: str
    """Names this decision and no other, before and after a restart."""
    events: tuple[EventDescriptor, ...]
    """What may be picked now; never empty, in an order that stays."""
    kind: Literal["decision", "plan"] = "decision"
    src: str = "agent.decide"
    name: str | None = None
    model: str | None = None
    system: str | None = None
    prompt: str | None = None
    messages: tuple[AgentMessage, ...] = ()
    attempts: tuple[DecisionAttempt, ...] = ()
    """The choices refused so far, oldest first."""
    withheld: tuple[str, ...] = ()
    """Types that the decision allows but whose transition is not legal now; for people, not for the model."""
    max_retries: int = 2
    temperature: float | None = None
    max_output_tokens: int | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop_sequences: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict[str, object])
    call_key: str | None = None
    """The key of this very call, the same before and after a crash, where the request is handed out as data; an
    executor that a run calls finds it in its info."""

    def with_attempts(self, attempts: tuple[DecisionAttempt, ...]) -> DecisionRequest:
        """Return this request as it is asked after these refused choices."""
        return replace(self, attempts=attempts)

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data."""
        return {
            "kind": self.kind,
            "id": self.id,
            "src": self.src,
            "name": self.name,
            "model": self.model,
            "system": self.system,
            "prompt": self.prompt,
            "messages": messages_schema.dump(self.messages),
            "events": [event.to_json() for event in self.events],
            "attempts": [attempt.to_json() for attempt in self.attempts],
            "withheld": list(self.withheld),
            "max_retries": self.max_retries,
            "temperature": self.temperature,
            "max_output_tokens": self.max_output_tokens,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "seed": self.seed,
            "stop_sequences": list(self.stop_sequences),
            "metadata": dict(self.metadata),
            "call_key": self.call_key,
        }

    @classmethod
    def from_json(cls, data: JsonObject) -> DecisionRequest:
        """Return what :meth:`to_json` wrote, a decision or a plan; its events know names and schemas, not classes.

        Raises :class:`InvalidMessagesError` for messages that are none, :class:`InputError` for what is no decision.
        """
        given = object_of(data, "decision request")
        messages_schema.validate(given.get("messages", ()))
        return read_object(_reader(plan=given.get("kind") == "plan"), given, "decision request")

    def event_classes(self) -> dict[str, EventClass]:
        """Return the classes of the offered events by type, of those that know theirs."""
        return {event.type: event.event_class for event in self.events if event.event_class is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest(DecisionRequest):
    """The question what shall happen next, in a plan of several events.

    Whoever answers picks one of ``events``, or the move ``agent.plan.done`` among them, which ends the plan.
    ``attempts`` are the refused choices for this step.
    """

    kind: Literal["decision", "plan"] = "plan"
    src: str = "agent.plan"
    applied: tuple[JsonObject, ...] = ()
    """The events that the plan has picked so far, oldest first."""
    steps_remaining: int = 8
    """How many more it may pick, this one included."""

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data."""
        applied = [dict(event) for event in self.applied]
        return {**DecisionRequest.to_json(self), "applied": applied, "steps_remaining": self.steps_remaining}


@cache
def _reader(*, plan: bool) -> TypeAdapter[DecisionRequest]:
    return TypeAdapter(PlanRequest if plan else DecisionRequest)
