"""The loop over a machine's steps, written once for all durable engines: nothing in it is computed from the outside."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

import anyio
from pydantic_core import to_jsonable_python

from interlock.agent.contract import Executors
from interlock.agent.reasons import reason_of, short
from interlock.errors import (
    ErrorInfo,
    InputError,
    InvalidLogError,
    MachineFailedError,
    ModelCallLimitError,
    ReplayDivergedError,
    StepError,
)
from interlock.hosts.calls import OwedCall, applied, calls_of, failure, read_result, waits
from interlock.hosts.durable import Call, Durable, Recorded, Woken
from interlock.journal.entries import entry_id
from interlock.run.arguments import check_max_model_calls
from interlock.run.border import error_info
from interlock.run.replies import answers
from interlock.run.settle import machine_error
from interlock.run.steps import AgentStep, initial_agent_step, transition_agent_step
from interlock.run.usage import Budget
from interlock.statechart import Input, Machine, Snapshot
from interlock.statechart.events import event_to_json

__all__ = ["Told", "diverged", "machine_failed", "message_of", "reply_of", "run_durably"]

C = TypeVar("C")

Told = Callable[[AgentStep[Any], object], None]
"""Told of each step, and of the event or reply that it ignored, if that is all it did."""


def message_of(event: object, event_id: str | None) -> dict[str, object]:
    """Return what is sent to an execution: an event that its machine knows, and the id by which it counts once."""
    return {"event": event_to_json(event), "id": event_id}


def reply_of(request_id: str, value: object, event_id: str | None) -> dict[str, object]:
    """Return what is sent to an execution as the reply to a question that it asks, known to fit.

    It goes as it was given, and is read by the question's type where it is taken: once, as in a run.
    """
    given = to_jsonable_python(value, by_alias=False, inf_nan_mode="constants")
    return {"reply": given, "request_id": request_id, "id": event_id}


async def run_durably(
    machine: Machine[C, Any, Any],
    given: object,
    executors: Executors,
    engine: Durable,
    *,
    max_model_calls: int = 100,
    told: Told | None = None,
) -> Snapshot[C]:
    """Run a machine to its end.

    Model calls, tools and functions that are owed together are made together, decisions one at a time. A timer or an
    event that comes first is taken first, and calls whose state it leaves are given up. A question to people is no
    call: it stands until a message brings the reply.

    Arguments:
        machine: the machine, with all its sources.
        given: what it starts from.
        executors: who carries out model calls.
        engine: what records all that comes from outside.
        max_model_calls: how many model calls this execution may make; one more is a failure of who wants it.
        told: told of each step, again after a crash.

    Raises :class:`MachineFailedError` for a machine that has failed, :class:`InputError` for an input that it refuses,
    :class:`ReplayDivergedError` where what was recorded was asked for by another state than this one,
    :class:`InvalidLogError` where it is damaged, and
    :class:`BindError` and :class:`ScriptExhaustedError` for mistakes of the host.
    """
    check_max_model_calls(max_model_calls)
    tell = told or _nobody
    budget = Budget(max_model_calls)
    admitted: set[str] = set()
    begun: dict[str, str] = {}  # by key: the state from which a call is made
    at = await engine.now()
    try:
        step = initial_agent_step(machine, given, at=at, execution_id=engine.execution_id)
        tell(step, None)
        seen = {entry.id for entry in step.entries}
        while not step.done:
            wanted = {call.key: call for call in calls_of(step)}
            refused = _over(wanted, admitted, budget)
            if refused is not None:
                step = transition_agent_step(machine, step, refused, at=at)
                tell(step, None)
                continue
            for key in wanted:
                begun.setdefault(key, step.head.state_hash or "")
            timers = step.owed.timers
            due = min((timer.due for timer in timers), default=None)
            listens = _listens(step) or (not wanted and due is None)
            calls: dict[str, Call] = {
                key: partial(_made, call, step, executors, begun[key]) for key, call in wanted.items()
            }
            woken = await engine.wait(calls, until=due, messages=listens)
            at = woken.at
            if woken.key is not None:
                step = _resolved(machine, step, wanted, woken, begun)
                tell(step, None)
            elif woken.message is not None:
                step = _delivered(machine, step, woken, tell, seen)
            else:
                first = min(timers, key=lambda timer: timer.due)
                at = max(at, first.due)
                step = transition_agent_step(machine, step, first, at=at)
                tell(step, None)
            seen.update(entry.id for entry in step.entries)
    except StepError as error:
        raise machine_failed(machine, error_info(error)) from error
    if step.snapshot.status == "error":
        raise machine_failed(machine, machine_error(machine.id, step.snapshot.error))
    return step.snapshot


def _listens(step: AgentStep[Any]) -> bool:
    """Whether a message can mean anything to a step: an event that it accepts, or the reply to a question."""
    return bool(step.snapshot.accepted_events()) or any(waits(item) for item in step.owed.invocations)


async def _made(call: OwedCall, step: AgentStep[Any], executors: Executors, state: str) -> Recorded:
    try:
        result = await call.carry_out(step, executors)
    except (Exception, GeneratorExit, anyio.get_cancelled_exc_class()):
        raise
    except BaseException as error:
        if threading.current_thread() is threading.main_thread():
            raise  # somebody wants this process to end
        result = failure(error)  # only the call has raised it; an event loop that sees it would end, with all its work
    return {**result, "state": state}


def _resolved(
    machine: Machine[C, Any, Any],
    step: AgentStep[C],
    wanted: Mapping[str, OwedCall],
    woken: Woken,
    begun: Mapping[str, str],
) -> AgentStep[C]:
    """Return the step that a recorded result leads to, if it was asked for by the very state that asks for it now."""
    call = wanted.get(woken.key or "")
    if call is None:
        raise diverged(
            machine, step, f"the call {woken.key!r} was recorded as what came first, and nobody wants it now"
        )
    result = cast("Recorded", woken.result if isinstance(woken.result, Mapping) else {})
    asked_by, asks = result.get("state"), begun[call.key]
    if not isinstance(asked_by, str):
        raise _damaged(machine, step, f"the record of the call {call.key!r} is no result: {short(woken.result)}")
    if asked_by != asks:
        reason = f"{call.key!r} was recorded by another state than asks for it now: {asks} instead of {asked_by}"
        raise diverged(machine, step, reason, expected=asked_by, actual=asks)
    try:
        read = read_result(result)
    except Exception as error:
        raise _damaged(
            machine, step, f"the record of the call {call.key!r} cannot be read: {reason_of(error)}"
        ) from error
    return applied(machine, step, call, read, woken.at)


def diverged(
    machine: Machine[Any, Any, Any],
    step: AgentStep[Any],
    reason: str,
    *,
    expected: str | None = None,
    actual: str | None = None,
) -> ReplayDivergedError:
    """Return what is raised where the records are not what this machine asks for."""
    index = step.head.index + 1
    return ReplayDivergedError(
        f"machine {machine.id!r} (version {machine.version}): {reason}. One of its functions or states has changed "
        "since, or depends on more than its arguments; give a changed machine another version=",
        index=index,
        entry_id=entry_id(index),
        expected=expected,
        actual=actual or step.head.state_hash or "",
    )


def _damaged(machine: Machine[Any, Any, Any], step: AgentStep[Any], reason: str) -> InvalidLogError:
    return InvalidLogError(f"machine {machine.id!r}: {reason}", index=step.head.index + 1)


def _delivered(
    machine: Machine[C, Any, Any], step: AgentStep[C], woken: Woken, tell: Told, seen: set[str]
) -> AgentStep[C]:
    """Return the step that a message leads to: the same one, if it is no event of the machine and no reply."""
    message = cast("object", woken.message)
    if not isinstance(message, Mapping):
        return _ignored(step, message, tell)
    sent = cast("Recorded", message)
    event_id: object = sent.get("id")
    if isinstance(event_id, str) and event_id in seen:
        return step  # it counts once
    if "reply" in sent:
        return _replied(machine, step, sent, woken.at, tell)
    given: object = sent.get("event")
    if not isinstance(given, Mapping):
        return _ignored(step, sent, tell)
    event = cast("Mapping[str, Any]", given)
    try:
        after = transition_agent_step(machine, step, event, at=woken.at, event_id=cast("str | None", event_id))
    except InputError:
        return _ignored(step, event, tell)
    waited_for = step.snapshot.can(machine.event_from_json(event))
    tell(after, None if waited_for else event)
    return after


def _ignored(step: AgentStep[C], message: object, tell: Told) -> AgentStep[C]:
    """Tell of what is no message of ours: whoever sent it did not go through the host."""
    tell(replace(step, entries=()), message)
    return step


def _replied(
    machine: Machine[C, Any, Any], step: AgentStep[C], message: Recorded, at: float, tell: Told
) -> AgentStep[C]:
    """Return the step that a reply leads to: the same one, if its question is not open or it does not fit."""
    asked: object = message.get("request_id")
    replies: dict[str, object] = {asked: message.get("reply")} if isinstance(asked, str) else {}
    after = step
    try:
        for given in answers(step.snapshot, replies):
            after = transition_agent_step(machine, step, given, at=at, event_id=message.get("id"))
    except InputError:
        after = step
    if after is step:
        return _ignored(step, message, tell)  # or it comes too late
    tell(after, None)
    return after


def _over(wanted: dict[str, OwedCall], admitted: set[str], budget: Budget) -> Input | None:
    """Return the failure of the first call that is one too many, and count those that are new."""
    for key, call in wanted.items():
        if not call.asks_a_model or key in admitted:
            continue
        try:
            budget.admit(call.item.identity)
        except ModelCallLimitError as error:
            return Input(address=call.item.address, invocation=call.item.key, error=error_info(error))
        admitted.add(key)
    return None


def machine_failed(machine: Machine[Any, Any, Any], info: ErrorInfo) -> MachineFailedError:
    """Return what is raised for a machine that has failed."""
    return MachineFailedError(f"machine {machine.id!r} has failed: {info.type}: {info.message}", info=info)


def _nobody(_step: AgentStep[Any], _ignored: object) -> None: ...
