"""What a result comes to on the step path: one input, judged as in a run, and what the log keeps beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from interlock.agent.calls import CallSpec
from interlock.agent.contract import Choice, TextResult
from interlock.agent.events import Event
from interlock.agent.plain_answers import plain_choice
from interlock.agent.reasons import is_a, short
from interlock.agent.requests import DecisionRequest
from interlock.agent.turn_outcome import turn_outcome
from interlock.agent.turns import TextTask, answer_record, checked_result
from interlock.errors import InputError
from interlock.journal import Head
from interlock.run.border import error_info, output_json
from interlock.run.noted import noted_choice, noted_turn, spent
from interlock.run.step_requests import judged
from interlock.run.work import Proposal
from interlock.statechart import UNSET, Input, OwedInvocation

__all__ = ["called", "decided", "written"]


def decided(head: Head[Any], item: OwedInvocation, request: DecisionRequest, result: object) -> Proposal:
    """Return what a choice comes to: the event that is sent, or an attempt that is kept."""
    if not is_a(result, Choice):
        if not (is_a(result, Event) or is_a(result, Mapping) or is_a(result, str)):
            raise InputError(
                f"request {request.id!r} is a decision; resolve it with a Choice, or with the event, not with "
                f"{short(result)}",
                code="invalid-input",
            )
        result = Choice({"type": result} if is_a(result, str) else cast("Event | Mapping[str, object]", result))
    try:
        choice = plain_choice(cast("Choice", result))
    except ValueError as error:
        raise InputError(f"request {request.id!r}: the choice has {error}", code="invalid-input") from None
    first, *then = judged(head, item, request, choice, usage=spent(request, choice.usage))
    return Proposal(input=first, then=tuple(then), metadata=noted_choice(choice))


def written(item: OwedInvocation, task: TextTask, result: object) -> Proposal:
    """Return what the turn of a text comes to, or what a tool has answered, where one is waited for."""
    pending = task.ledger.pending
    if pending:
        if is_a(result, TextResult):
            raise InputError(
                f"request {item.identity!r} waits for what its tool {pending[0].name!r} answers, not for a turn of the "
                "model",
                code="invalid-input",
            )
        answer = answer_record(pending[0], task.tools[pending[0].name].answer(result)).to_json()
        return Proposal(input=Input(address=item.address, invocation=item.key, record=answer))
    turn = checked_result(task.request, result) if is_a(result, TextResult) else TextResult(output=result)
    outcome = turn_outcome(task, turn)
    given = Input(
        address=item.address,
        invocation=item.key,
        record=UNSET if outcome.record is None else outcome.record.to_json(),
        output=outcome.output,
        error=UNSET if outcome.error is None else error_info(outcome.error),
    )
    return Proposal(input=given.costing(spent(task.request, turn.usage)), metadata=noted_turn(turn))


def called(item: OwedInvocation, result: object) -> Proposal:
    """Return what a function has come to; an answer that its annotation refuses is its failure, as in a run."""
    spec = item.logic
    try:
        output = spec.encode(result) if isinstance(spec, CallSpec) else output_json(result)
    except Exception as error:  # noqa: BLE001  # it goes to the invocation
        return Proposal(input=Input(address=item.address, invocation=item.key, error=error_info(error)))
    return Proposal(input=Input(address=item.address, invocation=item.key, output=output))
