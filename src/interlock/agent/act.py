"""Acting: a model calls tools in turns, and the events that the machine accepts are among its tools. All of it pure.

An event that a model calls is judged where the machine stands at that moment. If it may be sent, sending it and
keeping what the model is told of it are one input: no crash can fall between them, and nothing is sent twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from interlock.agent.contract import ToolCall
from interlock.agent.decide import DecideSpec
from interlock.agent.descriptors import describe, tool_names
from interlock.agent.events import Event, EventClass
from interlock.agent.legality import offer, refusal
from interlock.agent.messages import ErrorTextOutput, JsonOutput, ToolResultOutput
from interlock.agent.reading import AnyMachine, classes_of, read_event
from interlock.agent.reasons import short
from interlock.agent.text import TextSpec
from interlock.agent.text_requests import TextRequest, ToolDescriptor
from interlock.agent.turns import TextTask, answer_record, text_task
from interlock.statechart import Input, OwedInvocation, Snapshot, transition

__all__ = ["ACT", "ACT_STATE_EXITED", "ActSpec", "Acted", "acted", "is_event", "task_of", "task_then"]

ACT = "agent.act"
"""The source of every act loop."""

ACT_STATE_EXITED = "state exited; stopped"
"""What is answered to calls that come when the state that acts has been left."""

_LONGEST = 120
"""Characters of a changed value that a model is shown."""

_ANYTHING = DecideSpec(name=None, allowed_events=None, wording={})


@dataclass(frozen=True, kw_only=True, eq=False)
class ActSpec(TextSpec):
    """A text request whose tools are the events that the machine accepts, beside the tools of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """What a call of an event comes to: one input, and what the model is told."""

    input: Input
    output: ToolResultOutput
    event: Event | None = None
    """What was sent; None where nothing was."""


def task_of(machine: AnyMachine, owed: OwedInvocation, began: Snapshot[Any] | None = None) -> TextTask:
    """Return a running text request, or act loop, as it stands. Raises as :func:`text_task`.

    ``began``: where the machine stood when it began, which its words are made from; by default as it stands now.
    """
    return task_then(machine, owed, text_task(owed if began is None else owed._replace(snapshot=began)))


def task_then(machine: AnyMachine, owed: OwedInvocation, task: TextTask) -> TextTask:
    """Return a task as it stands after the records of now: the same words, and for an act loop the events of now."""
    task = task.after(owed.records)
    if not isinstance(owed.logic, ActSpec):
        return task
    events = offer(machine, owed.snapshot, _ANYTHING, state=owed.state or "(root)").events
    offered = [
        ToolDescriptor(name=event.tool_name, description=event.description, input_schema=event.input_schema)
        for event in describe(events, among=classes_of(machine).values())
    ]
    known = _events(machine)
    plain = tuple(tool for tool in task.request.tools if tool.name not in known)
    request: TextRequest = replace(task.request, kind="act", src=ACT, tools=(*offered, *plain))
    return replace(task, request=request, acts=True)


def is_event(machine: AnyMachine, name: str) -> bool:
    """Whether a tool of this name stands for an event of the machine, offered now or not."""
    return name in _events(machine)


def acted(machine: AnyMachine, owed: OwedInvocation, asked: ToolCall) -> Acted:
    """Return what the call of an event comes to where the machine stands now.

    Raises :class:`StepError` where one of the machine's functions raises.
    """
    event_class = _events(machine)[asked.name]
    given: object = {} if asked.input is None else asked.input
    if not isinstance(given, Mapping):
        return _answered(owed, asked, f"{asked.name} needs an object of fields, not {short(given)}")
    # Its type is the tool's, whatever else the model says.
    fields = {**cast("Mapping[str, object]", given), "type": event_class.type}
    read = read_event({event_class.type: event_class}, fields)
    if not isinstance(read, Event):
        return _answered(owed, asked, f"{event_class.type!r} was not sent: {read.reason}")
    here = owed.snapshot
    if refusal(here, read) is not None:
        return _answered(owed, asked, f"{event_class.type!r} is not allowed in state {_shown(here.value)}")
    after, _ = transition(machine, here, read, at=0.0)  # nothing is started by it, so no timer needs the time
    output = JsonOutput(value=cast("Any", _delta(here, after)))
    given_input = Input(
        address=owed.address,
        event=read,
        by="act",
        invocation=owed.key,
        record=answer_record(asked, output).to_json(),
    )
    return Acted(input=given_input, output=output, event=read)


def _answered(owed: OwedInvocation, asked: ToolCall, reason: str) -> Acted:
    output = ErrorTextOutput(value=reason.encode(errors="replace").decode())
    record = answer_record(asked, output).to_json()
    return Acted(input=Input(address=owed.address, invocation=owed.key, record=record), output=output)


def _events(machine: AnyMachine) -> dict[str, EventClass]:
    """Return all events of a machine by the name of their tool, offered now or not."""
    classes = classes_of(machine)
    names = tool_names(classes)
    return {names[kind]: event for kind, event in classes.items()}


def _delta(before: Snapshot[Any], after: Snapshot[Any]) -> dict[str, object]:
    """Return what an event has changed, as the model is told it."""
    found: dict[str, object] = {}
    if before.value != after.value:
        found["state"] = after.value
    changed = {name: _shown(now) for name, then, now in _fields(before.context, after.context) if then != now}
    if changed:
        found["changed"] = changed
    return found


def _fields(before: object, after: object) -> Iterator[tuple[str, object, object]]:
    then, now = _mapping(before), _mapping(after)
    for name in dict.fromkeys((*then, *now)):
        yield name, then.get(name), now.get(name)


def _mapping(context: object) -> Mapping[str, Any]:
    if isinstance(context, Mapping):
        return cast("Mapping[str, Any]", context)
    dump = getattr(context, "model_dump", None)
    if dump is not None:
        return cast("Mapping[str, Any]", dump(mode="json"))
    return {name: getattr(context, name) for name in getattr(context, "__dataclass_fields__", {})}


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
