"""What a step asks of models and their tools, as plain data; and what follows from it without anybody being asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from interlock.agent.act import acted, is_event, task_of, task_then
from interlock.agent.contract import Choice
from interlock.agent.decide import DecideSpec
from interlock.agent.requests import DecisionRequest
from interlock.agent.text import TextSpec
from interlock.agent.text_requests import TextRequest
from interlock.agent.tool_requests import ToolRequest
from interlock.agent.tools import Tool, bound_call
from interlock.agent.turns import Ledger, TextTask, answer_record, answered, read_ledger, step_limit
from interlock.agent.weighing import asked, kept_choice, weigh
from interlock.errors import StepError
from interlock.journal import Head
from interlock.run.border import AnyMachine, error_info
from interlock.statechart import Input, OwedInvocation, owed

__all__ = ["AgentRequest", "decision_of", "judged", "request_from_json", "same_call", "text_of", "tools_of", "wanted"]

AgentRequest: TypeAlias = DecisionRequest | TextRequest | ToolRequest
"""Work for a model, or for one of its tools, as plain data; ``kind`` tells which."""


def wanted(head: Head[Any], before: Sequence[AgentRequest]) -> Iterator[AgentRequest | tuple[Input, ...]]:
    """Return, one by one, what is asked for now; inputs in place of a request that ends without anybody being asked.

    That is: a decision or plan with nothing to pick, a request whose input is refused, turns that are used up, and a
    tool that is not there or does not take what it was given. What comes after such inputs is to be asked for anew.
    """
    worded = {request.id: request.text if isinstance(request, ToolRequest) else request for request in before}
    for item in owed(head.snapshot).invocations:
        try:
            found = _wanted(head, item, worded.get(item.identity))
        except StepError:
            raise
        except Exception as error:  # noqa: BLE001  # as in a run: it goes to the invocation
            found = (Input(address=item.address, invocation=item.key, error=error_info(error)),)
        if found is not None:
            yield found


def _wanted(head: Head[Any], item: OwedInvocation, known: object) -> AgentRequest | tuple[Input, ...] | None:
    key = f"{head.execution_id}:{item.identity}"
    if isinstance(item.logic, DecideSpec):
        machine = head.owner(item)
        decision = asked(
            machine,
            item,
            known if isinstance(known, DecisionRequest) else None,
            root=(head.machine, head.snapshot),
            began=head.began[item.identity],
        )
        if not isinstance(decision, DecisionRequest):
            return decision.inputs(item)
        kept = kept_choice(item)
        if kept is not None:
            return judged(head, item, decision, kept)
        return replace(decision, call_key=f"{key}.{len(item.records)}")
    if not isinstance(item.logic, TextSpec):
        return None
    machine = head.owner(item)
    task = _task(head, machine, item, known)
    text = replace(task.request, call_key=f"{key}.{answered(task.ledger)}")
    pending = task.ledger.pending
    if task.acts and pending and is_event(machine, pending[0].name):
        return (acted(machine, item, pending[0]).input,)
    if task.acts and not pending and text.steps_remaining <= 0:
        return (Input(address=item.address, invocation=item.key, output=task.ledger.last_text),)
    if text.steps_remaining <= 0 and not task.acts:
        raise step_limit(text, pending)
    if not pending:
        return text
    answer = bound_call(pending[0], task.tools, offered=[tool.name for tool in task.request.tools])
    if callable(answer):
        return ToolRequest(text=text, call=pending[0])
    record = answer_record(pending[0], answer).to_json()
    return (Input(address=item.address, invocation=item.key, record=record),)


def judged(
    head: Head[Any], item: OwedInvocation, request: DecisionRequest, choice: Choice, *, usage: object = None
) -> tuple[Input, ...]:
    """Return the inputs that a choice comes to where the machine stands now, to be committed together."""
    root = (head.machine, head.snapshot)
    weighed = weigh(head.owner(item), item, request, choice, root=root, usage=usage)
    info = None
    if weighed.exhausted is not None:
        info = error_info(weighed.exhausted, data=weighed.exhausted_data())
    return weighed.inputs(item, info)


def _task(head: Head[Any], machine: AnyMachine, item: OwedInvocation, known: object) -> TextTask:
    """Return a text request, in the words that it was first put in."""
    if not isinstance(known, TextRequest):
        return task_of(machine, item, head.began[item.identity])
    # Its words have come with it; only the tools, which are functions, have not.
    tools: Mapping[str, Tool] = tools_of(head, item) if read_ledger(item.records).pending else {}
    definition = cast("TextSpec", item.logic).definition
    task = TextTask(definition=definition, request=known, tools=tools, ledger=Ledger())
    return task_then(machine, item, task)


def tools_of(head: Head[Any], item: OwedInvocation) -> Mapping[str, Tool]:
    """Return the tools of a text request, as its author's functions named them when it began."""
    spec = cast("TextSpec", item.logic)
    definition = spec.definition
    began = head.began[item.identity]
    argument = began.context if spec.of_context else definition.read_input(item.input)
    return definition.all_tools(spec.known, argument, definition.place(began.machine_id, item.state or "(root)"))


def same_call(request: AgentRequest, now: AgentRequest | None) -> bool:
    """Whether a request stands for the very call that is asked for now under its id, and not for an earlier one."""
    if isinstance(request, DecisionRequest):
        # By the number of the call: who has asked without the log does not know the execution that keys begin with.
        numbers = [(item.call_key or "").rpartition(".")[2] for item in (request, now) if item is not None]
        return isinstance(now, DecisionRequest) and numbers[0] in ("", numbers[-1])
    if isinstance(request, ToolRequest):
        return isinstance(now, ToolRequest) and request.call.id == now.call.id
    return isinstance(now, TextRequest) and request.steps_remaining == now.steps_remaining


def decision_of(head: Head[Any], before: Sequence[AgentRequest], item: OwedInvocation) -> DecisionRequest:
    """Return a decision in the words that it was first put in."""
    for request in before:
        if isinstance(request, DecisionRequest) and request.id == item.identity:
            return request
    found = asked(head.owner(item), item, None, root=(head.machine, head.snapshot), began=head.began[item.identity])
    assert isinstance(found, DecisionRequest)  # noqa: S101  # a plan with nothing to ask is over by now
    return found


def text_of(head: Head[Any], before: Sequence[AgentRequest], item: OwedInvocation) -> TextTask:
    """Return a text request in the words that it was first put in, as far as it has come."""
    known: TextRequest | None = None
    for request in before:
        if request.id == item.identity and isinstance(request, TextRequest | ToolRequest):
            known = request.text if isinstance(request, ToolRequest) else request
    return _task(head, head.owner(item), item, known)


def request_from_json(data: Mapping[str, Any]) -> AgentRequest:
    """Return a request of whatever kind, as its ``to_json`` wrote it."""
    kind = data.get("kind")
    if kind in ("decision", "plan"):
        return DecisionRequest.from_json(data)
    return ToolRequest.from_json(data) if kind == "tool" else TextRequest.from_json(data)
