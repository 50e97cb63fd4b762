"""A plan from its request to the events that are sent: all of it pure, as for decisions.

What a plan has done is in its records: each event that was picked, and each choice that was refused. So a plan that is
taken up elsewhere goes on where it stands. The events of an atomic plan are only picked at first, each judged where the
ones before it would lead; they are sent together, or not at all. They are tried out on the whole tree of machines, for
what one of them sends to a parent may come back before the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from interlock.agent.contract import Choice
from interlock.agent.decisions import is_kept_choice, judge, said
from interlock.agent.descriptors import EventDescriptor, describe, tool_names
from interlock.agent.events import Event, EventClass
from interlock.agent.legality import Offer, matching, offer, refusal
from interlock.agent.plan import PLAN_DONE, PlanResult, PlanSpec, PlanWording, Stopped
from interlock.agent.reading import AnyMachine, Root, classes_of, read_event
from interlock.agent.reasons import short
from interlock.agent.requests import DecisionAttempt, DecisionRequest, JsonObject, PlanRequest
from interlock.errors import InputError
from interlock.statechart import UNSET, Input, OwedInvocation, Snapshot, transition
from interlock.statechart import owed as owed_by
from interlock.statechart.events import event_to_json

__all__ = ["PlanLedger", "Planned", "plan_ledger", "plan_request", "plan_result", "planned", "renewed_plan"]

T = TypeVar("T")

_SCHEMA: Mapping[str, object] = {"additionalProperties": False, "properties": {}, "type": "object"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLedger:
    """What a plan has picked so far, and which choices for the step of now were refused."""

    applied: tuple[JsonObject, ...] = ()
    attempts: tuple[DecisionAttempt, ...] = ()
    retaken: int = 0
    """How often steps that had been picked were taken back, since the machine had moved on."""


def plan_ledger(records: Iterable[object]) -> PlanLedger:
    """Return what the records of a plan come to; raises :class:`InputError` for what is no such record."""
    applied: list[JsonObject] = []
    attempts: list[DecisionAttempt] = []
    retaken = 0
    for number, record in enumerate(cast("Iterable[Mapping[str, Any]]", records)):
        try:
            if is_kept_choice(record):
                continue
            if record["kind"] == "step":
                applied.append(_step(record["event"]))
                attempts.clear()
            else:
                _check_attempt(record["kind"])
                attempts.append(DecisionAttempt.from_json(record))
                retaken += "kept" in record
                # What had been picked after the last step that can still be taken is picked anew.
                del applied[_kept(record.get("kept", len(applied)), len(applied)) :]
        except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"record {number} is no step of a plan: {short(record)}", code="invalid-input") from error
    return PlanLedger(applied=tuple(applied), attempts=tuple(attempts), retaken=retaken)


def _check_attempt(kind: object) -> None:
    if kind != "attempt":
        raise ValueError(f"kind is {kind!r}")


def _step(event: object) -> JsonObject:
    if not isinstance(event, Mapping) or not isinstance(cast("JsonObject", event).get("type"), str):
        raise ValueError("event is no object with a type")  # noqa: TRY004  # bad data, of whatever type
    return cast("JsonObject", event)


def _kept(number: object, most: int) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= most:
        raise ValueError(f"kept is {number!r}, of {most} steps")
    return number


def plan_request(
    machine: AnyMachine, owed: OwedInvocation, root: Root, began: Snapshot[object] | None = None
) -> PlanRequest | Planned:
    """Return what a running plan asks next, or how it ends where there is nothing to ask.

    Arguments:
        machine: the machine that owes it.
        owed: the plan, as it is owed now.
        root: the root machine of the tree, and where that stands now.
        began: where the machine stood when the plan began, which its words are made from; by default as it stands now.
    """
    spec = _spec(owed)
    words = cast("PlanWording", spec.words(owed.snapshot if began is None else began, owed.state or "(root)"))
    empty = PlanRequest(
        id=owed.identity,
        src=owed.src,
        name=spec.name or owed.id,
        events=(),
        steps_remaining=words.max_steps,
        **said(words),
    )
    return _asked(machine, owed, root, empty, words.max_steps)


def renewed_plan(machine: AnyMachine, owed: OwedInvocation, root: Root, request: PlanRequest) -> PlanRequest | Planned:
    """Return ``request`` as it stands now, in its own words."""
    return _asked(machine, owed, root, request, request.steps_remaining + len(request.applied))


def _asked(
    machine: AnyMachine, owed: OwedInvocation, root: Root, request: PlanRequest, max_steps: int
) -> PlanRequest | Planned:
    ledger = plan_ledger(owed.records)
    if len(ledger.applied) >= max_steps:  # taken up elsewhere, where the context gives it fewer
        return _over(machine, owed, root, steps=ledger.applied, stopped="max-steps")
    here = _standing(machine, owed, root, ledger.applied)
    if here is None:  # what was picked would leave the state by now: it is judged once more, and picked anew
        return _over(machine, owed, root, steps=ledger.applied, stopped="done")
    found = offer(machine, here, _spec(owed), state=owed.state or "(root)")
    if not found.events:
        return _over(machine, owed, root, steps=ledger.applied, stopped="no-legal-events")
    return replace(
        request,
        events=_described(machine, found),
        withheld=tuple(event.type for event in found.withheld),
        attempts=ledger.attempts,
        applied=ledger.applied,
        steps_remaining=max_steps - len(ledger.applied),
    )


def _described(machine: AnyMachine, found: Offer) -> tuple[EventDescriptor, ...]:
    classes = classes_of(machine)
    done = EventDescriptor(
        type=PLAN_DONE,
        tool_name=tool_names([*classes, PLAN_DONE])[PLAN_DONE],
        description="Nothing more is to be done: end here.",
        input_schema=_SCHEMA,
    )
    return (*describe(found.events, among=classes.values()), done)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a choice of a plan comes to: inputs that are committed together, or an attempt that was refused.

    ``stopped`` says why the plan has ended, if it has; ``kept`` how many of the picked events stand, if not all.
    """

    event: Event | None = None
    inputs: tuple[Input, ...] = ()
    stopped: Stopped | None = None
    steps: tuple[JsonObject, ...] = ()
    attempt: DecisionAttempt | None = None
    kept: int | None = None


def planned(machine: AnyMachine, owed: OwedInvocation, root: Root, request: DecisionRequest, choice: Choice) -> Planned:
    """Judge a choice of a plan where the machine stands now (an atomic one: where its steps so far would lead)."""
    applied = plan_ledger(owed.records).applied
    here = _standing(machine, owed, root, applied)
    if here is None or (choice.problem is None and _is_done(choice)):
        return _over(machine, owed, root, steps=applied, stopped="done")
    judged = judge(machine, here, request, choice)
    if isinstance(judged, DecisionAttempt):
        return Planned(attempt=judged)
    steps = (*applied, cast("JsonObject", event_to_json(judged)))
    stopped: Stopped | None = None
    if _stops(_spec(owed), judged, classes_of(machine)):
        stopped = "stop-event"
    elif isinstance(request, PlanRequest) and request.steps_remaining <= 1:
        stopped = "max-steps"
    record = {"kind": "step", "event": steps[-1]}
    if _spec(owed).atomic:
        if stopped is not None or _standing(machine, owed, root, steps) is None:
            return _over(machine, owed, root, steps=steps, stopped=stopped or "done", event=judged)
        kept = Input(address=owed.address, invocation=owed.key, record=record)
        return Planned(event=judged, inputs=(kept,), steps=steps)
    output = UNSET if stopped is None else _result(steps, stopped)
    sent = Input(address=owed.address, event=judged, by="plan", invocation=owed.key, record=record, output=output)
    return Planned(event=judged, inputs=(sent,), steps=steps, stopped=stopped)


def _over(
    machine: AnyMachine,
    owed: OwedInvocation,
    root: Root,
    *,
    steps: tuple[JsonObject, ...],
    stopped: Stopped,
    event: Event | None = None,
) -> Planned:
    """Return the end of a plan; of an atomic one: all of its events, if they can still be sent, one after the other."""
    if not (_spec(owed).atomic and steps):
        return Planned(event=event, inputs=(_completed(owed, steps, stopped),), steps=steps, stopped=stopped)
    events = [_read(machine, step) for step in steps]
    for number, (found, here) in enumerate(_tried(owed, root, events)):
        wrong = "the step before it leaves the state" if here is None else refusal(here, found)
        if wrong is not None:
            reason = f"the machine has moved on since step {number + 1} was picked: {wrong}"
            attempt = DecisionAttempt(failure="moved-on", reason=reason, event=steps[number])
            return Planned(attempt=attempt, kept=number if here is not None else number - 1)
    sent = [Input(address=owed.address, event=found, by="plan") for found in events[:-1]]
    last = Input(address=owed.address, event=events[-1], by="plan", invocation=owed.key, output=_result(steps, stopped))
    return Planned(event=event, inputs=(*sent, last), steps=steps, stopped=stopped)


def _completed(owed: OwedInvocation, steps: Sequence[JsonObject], stopped: Stopped) -> Input:
    return Input(address=owed.address, invocation=owed.key, output=_result(steps, stopped))


def _result(steps: Sequence[JsonObject], stopped: Stopped) -> dict[str, object]:
    return {"steps": [dict(step) for step in steps], "stopped": stopped}


def _standing(
    machine: AnyMachine, owed: OwedInvocation, root: Root, applied: Sequence[JsonObject]
) -> Snapshot[Any] | None:
    """Return where a plan's next step is picked; None where the steps so far have left its state.

    That is where the machine stands, and for an atomic plan where its events would lead.
    """
    if not (_spec(owed).atomic and applied):
        return owed.snapshot
    *_, (_, here) = _tried(owed, root, [*(_read(machine, step) for step in applied), None])
    return here


def _tried(owed: OwedInvocation, root: Root, events: Iterable[T]) -> Iterator[tuple[T, Snapshot[Any] | None]]:
    """Return each event with where the machine would stand when it comes; None where its plan would be over by then.

    Nothing that a step would start is started, so the time of a timer does not matter.
    """
    whole, standing = root
    for event in events:
        item = next((item for item in owed_by(standing).invocations if item.identity == owed.identity), None)
        yield event, None if item is None else item.snapshot
        if item is None:
            return
        if event is not None:
            standing, _ = transition(whole, standing, Input(address=owed.address, event=event), at=0.0)


def plan_result(machine: AnyMachine, steps: Sequence[JsonObject], stopped: Stopped) -> object:
    """Return what a plan has come to for those who look on; as JSON, where this machine cannot read its steps."""
    try:
        return PlanResult(steps=tuple(_read(machine, step) for step in steps), stopped=stopped)
    except InputError:
        return _result(steps, stopped)


def _read(machine: AnyMachine, step: JsonObject) -> Event:
    read = read_event(classes_of(machine), step)
    if not isinstance(read, Event):
        raise InputError(f"a step of the plan is no event: {read.reason}", code="invalid-event")
    return read


def _stops(spec: PlanSpec, event: Event, classes: Mapping[str, EventClass]) -> bool:
    return any(event.type in matching(entry, classes) for entry in spec.stops)


def _is_done(choice: Choice) -> bool:
    event: object = choice.event
    try:
        return bool(cast("Mapping[str, object]", event).get("type") == PLAN_DONE)
    except Exception:  # noqa: BLE001  # what it is instead is judged elsewhere
        return False


def _spec(owed: OwedInvocation) -> PlanSpec:
    if not isinstance(owed.logic, PlanSpec):
        raise InputError(f"invocation {owed.identity!r} (source {owed.src!r}) is no plan", code="invalid-input")
    return owed.logic
