"""What a step asks of the outside, as calls whose results an engine can keep: made, written as JSON, read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast

from pydantic import TypeAdapter

from interlock.agent.contract import Choice, Executors, TextResult
from interlock.agent.messages import ToolResultOutput
from interlock.agent.plain_answers import plain_arguments, plain_text
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

__all__ = ["Answer", "OwedCall", "Returned", "applied", "calls_of", "failure", "read_result", "waits"]

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Returned:
    """What a function returned, as JSON: checked and written by its annotation when it did; once is enough."""

    output: object


Answer: TypeAlias = Choice | TextResult | ToolResultOutput | Returned | ErrorInfo
"""What has come of a call."""


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
            return failure(outcome)
        try:
            return _written(outcome)
        except Exception as error:  # noqa: BLE001  # an answer that JSON cannot carry is a failure of who gave it
            return failure(error)


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


def read_result(result: Recorded) -> Answer:
    """Return what a recorded result says; raises one thing or another where it says nothing."""
    if "error" in result:
        return ErrorInfo.from_json(result["error"])
    if "choice" in result:
        return Choice.from_json(result["choice"])
    if "turn" in result:
        return TextResult.from_json(result["turn"])
    if "answer" in result:
        return _answers().validate_python(result["answer"])
    return Returned(result["output"])


def applied(
    machine: Machine[C, Any, Any], step: AgentStep[C], owed: OwedCall, answer: Answer, at: float
) -> AgentStep[C]:
    """Return the step that the answer to a call leads to."""
    request = owed.request or owed.item
    if isinstance(answer, ErrorInfo):
        return reject_agent_step(machine, step, request, answer, at=at)
    if isinstance(answer, Returned):
        given = Input(address=owed.item.address, invocation=owed.item.key, output=answer.output)
        return transition_agent_step(machine, step, given, at=at)
    return resolve_agent_step(machine, step, request, answer, at=at)


def _key(step: AgentStep[Any], request: AgentRequest) -> str:
    text = request.text if isinstance(request, ToolRequest) else request
    key = (text.call_key or text.id).removeprefix(f"{step.head.execution_id}:")
    return f"{request.kind} {key}"


def _written(outcome: object) -> Recorded:
    if isinstance(outcome, Choice):
        try:
            return {"choice": outcome.to_json()}
        except NotJsonError as error:  # what the model chose is refused, and it is asked again, as in a run
            given: object = outcome.event
            kind = given.get("type") if isinstance(given, Mapping) else getattr(given, "type", None)
            event = {"type": plain_text(kind)} if isinstance(kind, str) else {}
            problem = outcome.problem or f"the payload is no JSON: {error.message}"
            return {"choice": Choice(event, outcome.reason, outcome.usage, None, problem).to_json()}
    if isinstance(outcome, TextResult):
        calls = tuple(replace(call, input=plain_arguments(call.input)) for call in outcome.tool_calls)
        return {"turn": replace(outcome, tool_calls=calls).to_json()}
    return {"answer": _answers().dump_python(cast("ToolResultOutput", outcome), mode="json")}


async def _function(step: AgentStep[Any], item: OwedInvocation) -> Recorded:
    machine = step.head.owner(item)
    function = function_of(machine.sources.get(item.src))
    if function is None:  # spawned at run time, where nothing could be known beforehand
        return failure(
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
        return failure(error)


def failure(error: BaseException) -> Recorded:
    """Return the failure of a call as JSON."""
    return {"error": error_info(error).to_json()}


@cache
def _answers() -> TypeAdapter[ToolResultOutput]:
    return TypeAdapter(ToolResultOutput)
