"""The loop over a machine's steps, written once for all durable engines: nothing in it is computed from the outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

from interlock.agent.contract import Executors
from interlock.errors import (
    ErrorInfo,
    InputError,
    MachineFailedError,
    ModelCallLimitError,
    ReplayDivergedError,
    StepError,
)
from interlock.hosts.durable import Call, Durable, JsonObject, Woken
from interlock.hosts.work import Work, applied, work_of
from interlock.journal.entries import entry_id
from interlock.run.border import error_info
from interlock.run.steps import AgentStep, initial_agent_step, transition_agent_step
from interlock.run.usage import Budget
from interlock.statechart import Input, Machine, Snapshot
from interlock.statechart.events import event_to_json

__all__ = ["Told", "message_of", "run_durably"]

C = TypeVar("C")

Told = Callable[[AgentStep[Any], object], None]
"""Told of each step, and of the event that it ignored, if that is all it did."""


def message_of(event: object, event_id: str | None) -> dict[str, object]:
    """Return what is sent to an execution: an event that its machine knows, and the id by which it counts once."""
    return {"event": event_to_json(event), "id": event_id}


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
    event that comes first is taken first, and calls whose state it leaves are given up.

    Arguments:
        machine: the machine, with all its sources.
        given: what it starts from.
        executors: who carries out model calls.
        engine: what records all that comes from outside.
        max_model_calls: how many model calls this execution may make; one more is a failure of who wants it.
        told: told of each step, again after a crash.

    Raises :class:`MachineFailedError` for a machine that has failed, :class:`InputError` for an input that it refuses,
    :class:`ReplayDivergedError` where what was recorded was asked for by another state than this one, and
    :class:`BindError` and :class:`ScriptExhaustedError` for mistakes of the host.
    """
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
            wanted = {work.key: work for work in work_of(step)}
            refused = _over(wanted, admitted, budget)
            if refused is not None:
                step = transition_agent_step(machine, step, refused, at=at)
                tell(step, None)
                continue
            for key in wanted:
                begun.setdefault(key, step.head.state_hash or "")
            timers = step.owed.timers
            due = min((timer.due for timer in timers), default=None)
            listens = bool(step.snapshot.accepted_events()) or (not wanted and due is None)
            calls: dict[str, Call] = {
                key: partial(_made, work, step, executors, begun[key]) for key, work in wanted.items()
            }
            woken = await engine.wait(calls, until=due, messages=listens)
            at = woken.at
            if woken.key is not None:
                step = applied(machine, step, wanted[woken.key], _verified(step, woken, begun), at)
                tell(step, None)
            elif woken.message is not None:
                event_id = woken.message.get("id")
                if event_id is None or event_id not in seen:  # it counts once
                    step = _delivered(machine, step, woken, tell)
            else:
                first = min(timers, key=lambda timer: timer.due)
                at = max(at, first.due)
                step = transition_agent_step(machine, step, first, at=at)
                tell(step, None)
            seen.update(entry.id for entry in step.entries)
    except StepError as error:
        raise _failed(machine, error_info(error)) from error
    if step.snapshot.status == "error":
        why: object = step.snapshot.error
        info = why if isinstance(why, ErrorInfo) else ErrorInfo("machine-error", "MachineError", repr(why), why)
        raise _failed(machine, info)
    return step.snapshot


async def _made(work: Work, step: AgentStep[Any], executors: Executors, state: str) -> JsonObject:
    return {**await work.carry_out(step, executors), "state": state}


def _verified(step: AgentStep[Any], woken: Woken, begun: dict[str, str]) -> JsonObject:
    """Return a recorded result, if it was asked for by the very state that asks for it now."""
    result = woken.result or {}
    asked_by, asks = result["state"], begun[woken.key or ""]
    if asked_by != asks:
        machine = step.head.machine
        raise ReplayDivergedError(
            f"{woken.key!r} was recorded by another state of machine {machine.id!r} (version {machine.version}) than "
            f"asks for it now: {asks} instead of {asked_by}. One of its functions has changed since, or depends on "
            "more than its arguments; give a changed machine another version=",
            index=step.head.index + 1,
            entry_id=entry_id(step.head.index + 1),
            expected=asked_by,
            actual=asks,
        )
    return result


def _delivered(machine: Machine[C, Any, Any], step: AgentStep[C], woken: Woken, tell: Told) -> AgentStep[C]:
    """Return the step that a message leads to: the same one, if it is no event of the machine."""
    message = woken.message or {}
    given: object = message.get("event")
    if not isinstance(given, Mapping):
        tell(replace(step, entries=()), message)  # whoever sent it did not go through the host
        return step
    event = cast("Mapping[str, Any]", given)
    try:
        after = transition_agent_step(machine, step, event, at=woken.at, event_id=message.get("id"))
    except InputError:
        tell(replace(step, entries=()), event)  # whoever sent it did not go through the host
        return step
    ignored = not step.snapshot.can(machine.event_from_json(event))
    tell(after, event if ignored else None)
    return after


def _over(wanted: dict[str, Work], admitted: set[str], budget: Budget) -> Input | None:
    """Return the failure of the first call that is one too many, and count those that are new."""
    for key, work in wanted.items():
        if not work.asks_a_model or key in admitted:
            continue
        try:
            budget.admit(work.item.identity)
        except ModelCallLimitError as error:
            return Input(address=work.item.address, invocation=work.item.key, error=error_info(error))
        admitted.add(key)
    return None


def _failed(machine: Machine[Any, Any, Any], info: ErrorInfo) -> MachineFailedError:
    return MachineFailedError(f"machine {machine.id!r} has failed: {info.type}: {info.message}", info=info)


def _nobody(_step: AgentStep[Any], _ignored: object) -> None: ...
