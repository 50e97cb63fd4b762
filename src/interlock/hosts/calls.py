"""What a step asks of the outside, as calls whose results an engine can keep: made, written as JSON, read back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter

from interlock.agent.contract import Choice, Executors, TextResult
from interlock.agent.messages import ToolResultOutput
from interlock.agent.requests import DecisionRequest
from interlock.agent.tool_requests import ToolRequest
from interlock.errors import BindError, ErrorInfo, NotJsonError
from interlock.hosts.durable import Recorded
from interlock.run.border import error_info
from interlock.run.exits import HOST_MISTAKES
from interlock.run.functions import Threads
from interlock.run.perform import answer_of, function_of
from interlock.run.step_calls import carried_out
from interlock.run.steps import (
    AgentRequest,
    AgentStep,
    reject_agent_step,
    resolve_agent_step,
    transition_agent_step,
)
from interlock.statechart import Input, Machine, OwedInvocation

__all__ = ["OwedCall", "applied", "calls_of", "waits"]

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class OwedCall:
    """One call of outside code that is owed: a request, or (without one) a plain function.

    ``key`` is the same for the same call before and after a crash, and for no other call of this execution.
    """

    key: str
    item: OwedInvocation
    request: AgentRequest | None = None

    @property
    def asks_a_model(self) -> bool:
        """Whether a model is called, not a function of the machine."""
        return self.request is not None and not isinstance(self.request, ToolRequest)

    async def carry_out(self, step: AgentStep[Any], executors: Executors) -> Recorded:
        """Make the call, and return what came of it as JSON; what outside code raises is a result as well."""
        if self.request is None:
            return await _function(step, self.item)
        outcome = await carried_out(self.request, step, executors)
        if isinstance(outcome, Exception):
            return _failure(outcome)
        try:
            return _written(outcome)
        except Exception as error:  # noqa: BLE001  # an answer that JSON cannot carry is a failure of who gave it
            return _failure(error)


def waits(item: OwedInvocation) -> bool:
    """Whether this waits for somebody outside, such as a person who is asked: then it is nobody's work here."""
    return bool(getattr(item.logic, "waits", False))


def calls_of(step: AgentStep[Any]) -> tuple[OwedCall, ...]:
    """Return the calls that a step wants, in the order in which they are owed; of decisions only the first.

    A decision is made one at a time, for it may change what comes after.
    """
    asked = {request.id: request for request in step.requests}
    found: list[OwedCall] = []
    decides = False
    for item in step.owed.invocations:
        if waits(item):
            continue
        request = asked.get(item.identity)
        if request is None:
            found.append(OwedCall(f"call {item.identity}", item))
        elif not isinstance(request, DecisionRequest) or not decides:
            decides = decides or isinstance(request, DecisionRequest)
            found.append(OwedCall(_key(step, request), item, request))
    return tuple(found)


def applied(
    machine: Machine[C, Any, Any], step: AgentStep[C], owed: OwedCall, result: Recorded, at: float
) -> AgentStep[C]:
    """Return the step that a recorded result leads to."""
    request = owed.request or owed.item
    if "error" in result:
        return reject_agent_step(machine, step, request, ErrorInfo.from_json(result["error"]), at=at)
    if "choice" in result:
        return resolve_agent_step(machine, step, request, Choice.from_json(result["choice"]), at=at)
    if "turn" in result:
        return resolve_agent_step(machine, step, request, TextResult.from_json(result["turn"]), at=at)
    if "answer" in result:
        return resolve_agent_step(machine, step, request, _answers().validate_python(result["answer"]), at=at)
    # A function's output was checked and written by its annotation when it returned; once is enough.
    item = owed.item
    return transition_agent_step(
        machine, step, Input(address=item.address, invocation=item.key, output=result["output"]), at=at
    )


def _key(step: AgentStep[Any], request: AgentRequest) -> str:
    text = request.text if isinstance(request, ToolRequest) else request
    key = (text.call_key or text.id).removeprefix(f"{step.head.execution_id}:")
    return f"{request.kind} {key}"


def _written(outcome: object) -> Recorded:
    if isinstance(outcome, Choice):
        try:
            return {"choice": outcome.to_json()}
        except NotJsonError as error:  # what the model chose is refused, and it is asked again, as in a run
            kind = getattr(outcome.event, "type", None)
            event = {"type": kind} if isinstance(kind, str) else {}
            problem = outcome.problem or f"the payload is no JSON: {error.message}"
            return {"choice": Choice(event, outcome.reason, outcome.usage, None, problem).to_json()}
    if isinstance(outcome, TextResult):
        return {"turn": outcome.to_json()}
    return {"answer": _answers().dump_python(cast("ToolResultOutput", outcome), mode="json")}


async def _function(step: AgentStep[Any], item: OwedInvocation) -> Recorded:
    machine = step.head.owner(item)
    function = function_of(machine.sources.get(item.src))
    if function is None:  # spawned at run time, where nothing could be known beforehand
        return _failure(
            BindError(
                f"machine {machine.id!r}: nothing carries out the source {item.src!r} of child {item.id!r}; give it to "
                "the machine with machine.provide(...)",
                code="unregistered-source",
            )
        )
    try:
        return {"output": await answer_of(function, item, threads=Threads())}
    except HOST_MISTAKES:
        raise
    except Exception as error:  # noqa: BLE001  # whatever else it is, it goes to the invocation
        return _failure(error)


def _failure(error: Exception) -> Recorded:
    return {"error": error_info(error).to_json()}


@cache
def _answers() -> TypeAdapter[ToolResultOutput]:
    return TypeAdapter(ToolResultOutput)
