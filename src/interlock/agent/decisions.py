"""A decision from its request to the event that is sent: all of it pure. Who calls the model is the host's business.

- ``decision_request(machine, owed)`` gives the request, which the host's executor answers with a ``Choice``;
- ``judge(machine, snapshot, request, choice)`` gives the event, or a refused attempt for the next request;
- ``delivery(owed, event)`` gives the input that sends the event and completes the decision, in one step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from interlock.agent.contract import Choice
from interlock.agent.decide import DecideSpec, DecisionWording
from interlock.agent.descriptors import EventDescriptor
from interlock.agent.events import Event, EventClass
from interlock.agent.legality import candidates, refusal
from interlock.agent.options import offered, outside
from interlock.agent.plain_answers import plain_choice, plain_text
from interlock.agent.reading import AnyMachine, classes_of, read_event
from interlock.agent.reasons import is_a, short
from interlock.agent.requests import DecisionAttempt, DecisionRequest, Failure, JsonObject
from interlock.errors import ExecutorError, InputError, NoLegalEventsError
from interlock.statechart import Input, OwedInvocation, Snapshot
from interlock.statechart.events import event_to_json
from interlock.statechart.frozen import freeze

__all__ = [
    "DecideSpec",
    "candidates",
    "checked_choice",
    "decision_request",
    "delivery",
    "is_kept_choice",
    "judge",
    "judge_choice",
    "moved_on",
    "renewed_request",
    "said",
]


def decision_request(
    machine: AnyMachine, owed: OwedInvocation, began: Snapshot[object] | None = None
) -> DecisionRequest:
    """Return the request of a running decision.

    Arguments:
        machine: the machine that the invocation belongs to (the child's, for a decision inside a child machine).
        owed: the invocation, as ``owed(snapshot)`` lists it; its records are the attempts so far.
        began: where that machine stood when the decision began: its words are made from there. By default where it
            stands now.

    Raises :class:`NoLegalEventsError` where nothing can be picked, so that no model is asked for nothing.
    """
    spec = _spec(owed)
    words = spec.words(owed.snapshot if began is None else began, owed.state or "(root)")
    empty = DecisionRequest(id=owed.identity, src=owed.src, name=spec.name or owed.id, events=(), **said(words))
    return renewed_request(machine, owed, empty)


def said(words: DecisionWording) -> dict[str, Any]:
    """Return what is said to the model, as fields of a request."""
    return {name: getattr(words, name) for name in _SAID}


_SAID = (
    "model",
    "system",
    "prompt",
    "messages",
    "max_retries",
    "temperature",
    "max_output_tokens",
    "top_p",
    "top_k",
    "seed",
    "stop_sequences",
    "metadata",
)


def renewed_request(machine: AnyMachine, owed: OwedInvocation, request: DecisionRequest) -> DecisionRequest:
    """Return ``request`` with the attempts and the candidates of now, and its words as they were.

    Raises :class:`NoLegalEventsError` where nothing is left to pick.
    """
    events, withheld = _offered(machine, owed, _spec(owed))
    return replace(request, events=events, withheld=withheld, attempts=_attempts(owed))


def judge(
    machine: AnyMachine,
    snapshot: Snapshot[object],
    request: DecisionRequest,
    choice: Choice,
) -> Event | DecisionAttempt:
    """Return the event that was picked, ready to be sent, or the attempt that says why it is refused.

    Three checks, in this order: its type is offered, its payload fits (the validated one, with defaults, is what is
    sent; of a closed choice, it is one of the options), the machine would take it now. So an event that is returned is
    one that ``snapshot.can``.

    Arguments:
        machine: the machine that the decision belongs to.
        snapshot: where that machine stands now.
        request: what was asked.
        choice: what was answered; it is not trusted.
    """
    return judge_choice(request, choice, classes_of(machine), lambda event: refusal(snapshot, event))


def judge_choice(
    request: DecisionRequest,
    choice: Choice,
    classes: Mapping[str, EventClass],
    refuse: Callable[[Event], str | None],
) -> Event | DecisionAttempt:
    """Judge a choice by the request, the event classes, and a function that says why an event may not be sent."""
    known = {event.type: classes[event.type] for event in request.events if event.type in classes}
    if choice.problem is not None:
        return _no_choice(choice, choice.problem, known)
    read = read_event(known, choice.event)
    if isinstance(read, Event):
        options = [event.option for event in request.events if event.option is not None]
        if options and (wrong := outside(options, read)) is not None:
            return _attempt("invalid-payload", wrong, event_to_json(read), choice)
        wrong = refuse(read)
        return read if wrong is None else _attempt("rejected-by-guard", wrong, event_to_json(read), choice)
    kind = None if read.event is None else read.event.get("type")
    if not read.known_type and kind in request.withheld:
        return _attempt("rejected-by-guard", f"{kind!r} is not allowed now", read.event, choice)
    return _attempt("invalid-payload" if read.known_type else "unknown-event", read.reason, read.event, choice)


def moved_on(snapshot: Snapshot[object], event: Event) -> DecisionAttempt | None:
    """Judge a chosen event once more when it is delivered; None where it can still be sent."""
    wrong = refusal(snapshot, event)
    if wrong is None:
        return None
    reason = f"the machine has moved on since the question was asked: {wrong}"
    return DecisionAttempt(failure="moved-on", reason=reason, event=event_to_json(event))


def delivery(owed: OwedInvocation, event: Event) -> Input:
    """Return the one input that sends the chosen event and completes the decision, so that nothing falls between."""
    return Input(address=owed.address, event=event, by="decision", invocation=owed.key, output=event_to_json(event))


def checked_choice(request: DecisionRequest, answer: object) -> Choice:
    """Return what an executor answered if it is a :class:`Choice`; else raise an error that shows how to make one."""
    if is_a(answer, Choice):
        try:
            return plain_choice(cast("Choice", answer))
        except ValueError as error:
            raise ExecutorError(f"request {request.id!r}: the decide executor's Choice has {error}") from None
    raise ExecutorError(
        f"request {request.id!r}: the decide executor returned {short(answer, 200)} ({type(answer).__name__}); "
        f"{_wrapping(answer)}"
    )


def _wrapping(answer: object) -> str:
    if is_a(answer, Event) or is_a(answer, Mapping):
        return "wrap it: return Choice(event=<that>, reason=..., usage=...)"
    return "return Choice(event=...)"


def is_kept_choice(record: object) -> bool:
    """Whether this record is a choice that was paid for and could not be judged yet."""
    return isinstance(record, Mapping) and cast("Mapping[str, object]", record).get("kind") == "choice"


def _attempts(owed: OwedInvocation) -> tuple[DecisionAttempt, ...]:
    found: list[DecisionAttempt] = []
    for number, record in enumerate(owed.records):
        if is_kept_choice(record):
            continue
        try:
            found.append(DecisionAttempt.from_json(record))
        except InputError as error:
            raise InputError(f"record {number} is no refused choice: {short(record)}", code="invalid-input") from error
    return tuple(found)


def _offered(
    machine: AnyMachine, owed: OwedInvocation, spec: DecideSpec
) -> tuple[tuple[EventDescriptor, ...], tuple[str, ...]]:
    events, withheld = offered(machine, owed.snapshot, spec, state=owed.state or "(root)")
    if not events:
        raise NoLegalEventsError(
            _nothing_to_pick(owed.snapshot, withheld),
            machine=owed.snapshot.machine_id,
            state=owed.state or "(root)",
            accepted=owed.snapshot.accepted_events(),
        )
    return events, withheld


def _nothing_to_pick(snapshot: Snapshot[object], withheld: Iterable[str]) -> str:
    accepted = ", ".join(snapshot.accepted_events()) or "nothing"
    listed = ", ".join(withheld)
    because = f" Not legal now: {listed}." if listed else ""
    return (
        f"there is no event to decide on; the active states handle: {accepted}.{because} A decision picks an event "
        "that an active state handles by name, that allowed_events includes and that is not for people only"
    )


def _spec(owed: OwedInvocation) -> DecideSpec:
    if not isinstance(owed.logic, DecideSpec):
        raise InputError(f"invocation {owed.identity!r} (source {owed.src!r}) is no decision", code="invalid-input")
    return owed.logic


def _no_choice(choice: Choice, problem: str, known: Mapping[str, EventClass]) -> DecisionAttempt:
    written: JsonObject | None = None
    kind: object = None
    try:
        given = dict(event_to_json(choice.event) if isinstance(choice.event, Event) else choice.event)
        kind = given.get("type")
        written = freeze(given)
    except Exception:  # noqa: BLE001, S110  # it is refused anyway, and what cannot be written is not kept
        pass
    is_known = type(kind) is str and kind in known
    return _attempt("invalid-payload" if is_known else "unknown-event", problem, written, choice)


def _attempt(failure: Failure, reason: str, event: JsonObject | None, choice: Choice) -> DecisionAttempt:
    return DecisionAttempt(
        failure=failure, reason=_writable(reason) or "", event=event, model_reason=_writable(choice.reason)
    )


def _writable(text: object) -> str | None:
    # Whatever an adapter hands over as the model's words: records are strict JSON, so lone surrogates go.
    return None if text is None else plain_text(cast("str", text) if is_a(text, str) else short(text, 2000))
