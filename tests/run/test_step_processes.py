"""Steps that are taken up in other processes, and requests that are carried out there."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import interlock as il
from tests.durable.desk import Accept, Approve, desk
from tests.durable.desk import executors as desk_executors
from tests.run.test_cases import ROOT
from tests.run.writing import calls

MACHINE = desk(delay=5.0)


async def onward(step: il.AgentStep[Any]) -> il.AgentStep[Any]:
    """Take the next step, whatever it is; the same in every process."""
    clock = il.FakeClock(float(step.head.length))
    if step.requests:
        return await il.resolve_agent_requests(MACHINE, step, desk_executors(), clock=clock)
    if step.owed.invocations:
        return il.resolve_agent_step(MACHINE, step, step.owed.invocations[0], 4, at=clock.now())
    if step.owed.timers:
        return il.transition_agent_step(MACHINE, step, step.owed.timers[0], at=clock.now())
    return il.transition_agent_step(MACHINE, step, Approve(by="Ada"), at=clock.now())


def written(step: il.AgentStep[Any]) -> dict[str, Any]:
    entries = [entry.to_text() for entry in step.entries]
    return json.loads(json.dumps({"step": step.to_json(), "entries": entries, "done": step.done}))  # type: ignore[no-any-return]


def elsewhere(program: str, given: Any) -> Any:
    """Run a program in a new process; it has ``given`` and prints ``answer``, both JSON."""
    done = subprocess.run(
        [sys.executable, "-c", f"{HEAD}\n{program}\nprint(json.dumps(answer))"],
        input=json.dumps(given),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}", "PYTHONHASHSEED": "random"},
    )
    return json.loads(done.stdout)


HEAD = """
import json, sys
import anyio
import interlock as il
from tests.run import test_step_processes as here
given = json.load(sys.stdin)
"""

ONE_STEP = """
step = il.AgentStep.from_json(here.MACHINE, given)
same = json.loads(json.dumps(step.to_json())) == given
answer = [here.written(anyio.run(here.onward, step)), same]
"""

EACH_STEP = """
answer = []
for saved in given:
    step = il.AgentStep.from_json(here.MACHINE, saved)
    same = json.loads(json.dumps(step.to_json())) == saved
    answer.append([here.written(anyio.run(here.onward, step)), same])
"""


async def whole() -> list[dict[str, Any]]:
    step: il.AgentStep[Any] = il.initial_agent_step(MACHINE, at=0.0, execution_id="x")
    found = [written(step)]
    while not step.done:
        step = await onward(step)
        found.append(written(step))
    return found


async def test_another_process_takes_each_step_as_this_one_does():
    here = await whole()
    there = elsewhere(EACH_STEP, [step["step"] for step in here[:-1]])
    assert [same for _, same in there] == [True] * len(there)
    assert [step for step, _ in there] == here[1:]
    assert len(here) > 8


@pytest.mark.slow
async def test_a_new_process_for_each_step():
    here = await whole()
    last = here[0]
    for expected in here[1:]:
        last, same = elsewhere(ONE_STEP, last["step"])
        assert same
        assert last == expected
    assert last["done"]
    log = [il.LogEntry.from_json(text) for step in here for text in step["entries"]]
    assert il.initial_agent_step(MACHINE, entries=log).done


# -- requests elsewhere ----------------------------------------------------------------------------------------------

WORKER = """
async def carried_out(data):
    executors = here.desk_executors()
    if data["kind"] == "decision":
        request = il.DecisionRequest.from_json(data)
        choice = await executors.decide(request, il.ExecutorInfo(run_id="", request_id=request.id, call_key=""))
        return {"event": choice.event, "reason": choice.reason}
    if data["kind"] == "text":
        request = il.TextRequest.from_json(data)
        result = await il.execute_agent_request(request, executors, verbose=True)
        calls = [[call.id, call.name, call.input] for call in result.tool_calls]
        return {"output": result.output, "calls": calls}
    request = il.ToolRequest.from_json(data)
    return {"answer": f"{request.call.input['grams']} g, as {request.name} says"}

answer = []
for data in given:
    answer.append(anyio.run(carried_out, data))
"""


def result(data: dict[str, Any]) -> object:
    """What a worker has sent, as the host gives it to the step."""
    if "event" in data:
        return il.Choice(data["event"], reason=data["reason"])
    if "answer" in data:
        return data["answer"]
    return il.TextResult(data["output"], tool_calls=tuple(il.ToolCall(*call) for call in data["calls"]))


def test_requests_are_carried_out_in_another_process_and_fed_back_by_id():
    machine = MACHINE
    decision: il.AgentStep[Any] = il.initial_agent_step(machine, at=0.0, execution_id="x")
    texts = il.resolve_agent_step(machine, decision, decision.requests[0], Accept(topic="rain"))
    tool = il.resolve_agent_step(machine, texts, texts.requests[0], calls("weigh", grams=3))
    # One worker for all of them: starting a process is what takes time here.
    waiting = [*decision.requests, *texts.requests, tool.requests[0]]
    answers = elsewhere(WORKER, [request.to_json() for request in waiting])

    step = il.resolve_agent_step(machine, decision, waiting[0].id, result(answers[0]))
    assert step.entries[0].record["failure"] == "unknown-event"  # its first choice is never legal

    step = texts
    for request, answer in zip(waiting[1:4], answers[1:4], strict=True):
        step = il.resolve_agent_step(machine, step, request.id, result(answer))
    assert [request.kind for request in step.requests] == ["tool", "decision"]
    assert step.snapshot.context.summary == "summary: In short: rain"

    step = il.resolve_agent_step(machine, tool, waiting[4].id, result(answers[4]))
    assert step.entries[0].record["output"] == {"type": "text", "value": "3 g, as weigh says"}


def test_requests_come_back_from_json_as_they_were():
    machine = MACHINE
    step: il.AgentStep[Any] = il.initial_agent_step(machine, at=0.0, execution_id="x")
    (decision,) = step.requests
    assert isinstance(decision, il.DecisionRequest)
    there = il.DecisionRequest.from_json(json.loads(json.dumps(decision.to_json())))
    assert json.dumps(there.to_json()) == json.dumps(decision.to_json())
    assert there.call_key == decision.call_key
    assert there.event_classes() == {}  # names and schemas travel, classes do not
    step = il.resolve_agent_step(machine, step, there, Accept(topic="rain"))
    step = il.resolve_agent_step(machine, step, step.requests[0], calls("weigh", grams=3))
    for request in step.requests:
        assert type(request).from_json(json.loads(json.dumps(request.to_json()))) == request
