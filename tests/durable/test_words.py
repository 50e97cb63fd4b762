"""What a model is told does not change because somebody else asks: requests are worded where they began."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc
from interlock.agent.plan import PLAN_DONE

pytestmark = pytest.mark.anyio


class Desk(BaseModel, frozen=True):
    topic: str = "cats"
    n: int = 0


class Add(il.Event):
    by: int


class Turn(il.Event, actor="human"):
    to: str


agent = il.setup_agent(context=Desk, events=[Add, Turn], output=int)


def look_up(word: str) -> str:
    """Look a word up."""
    return word.upper()


def about(context: Desk) -> str:
    return f"About {context.topic}."


WORK = {
    "decide": lambda: agent.decide(prompt=about, on_error="over"),
    "plan": lambda: agent.plan(prompt=about, max_steps=lambda c: 3 if c.topic == "cats" else 1, on_done="over"),
    "act": lambda: agent.act(prompt=about, max_steps=4, tools=lambda c: [look_up] if c.topic == "cats" else []),
    "text": lambda: agent.generate_text(
        prompt=about, max_steps=4, tools=lambda c: [look_up] if c.topic == "cats" else [], on_done="over"
    ),
}


def desk(kind: str) -> il.Machine[Desk, Any, int]:
    return agent.machine(
        "desk",
        context=Desk(),
        kind="parallel",
        states={
            "model": agent.state(
                initial="at_work",
                on=[agent.on(Add, lambda c, e: agent.stay(n=c.n + e.by))],
                states={"at_work": agent.state(invoke=WORK[kind]()), "over": agent.state()},
            ),
            "house": agent.state(on=[agent.on(Turn, lambda c, e: agent.stay(topic=e.to))]),
        },
    )


ANSWERS: dict[str, list[Any]] = {
    "decide": [il.Choice(event={"type": "Add", "by": "x"}), il.Choice(event=Add(by=1))],
    "plan": [il.Choice(event=Add(by=1)), il.Choice(event=Add(by=2)), il.Choice(event={"type": PLAN_DONE})],
    "act": [
        il.TextResult(tool_calls=(il.ToolCall("1", "send_event_Add", {"by": 1}),)),
        il.TextResult(tool_calls=(il.ToolCall("2", "look_up", {"word": "w"}),)),
        il.TextResult(output="Done."),
    ],
    "text": [il.TextResult(tool_calls=(il.ToolCall("1", "look_up", {"word": "w"}),)), il.TextResult(output="Done.")],
}


class Models:
    """Says what the script says; waits for ever with the call of number ``stop``."""

    def __init__(self, kind: str, *, start: int = 0, stop: int | None = None) -> None:
        self.answers = ANSWERS[kind]
        self.next = start
        self.stop = stop
        self.stopped = anyio.Event()
        self.asked: list[tuple[str | None, object]] = []

    async def __call__(self, request: Any, info: il.ExecutorInfo) -> Any:
        said = {**request.to_json(), "call_key": None}  # steps by hand have it there, too
        self.asked.append((info.call_key, said))
        if len(self.asked) - 1 + self.next == self.stop:
            self.stopped.set()
            await anyio.sleep_forever()
        return self.answers[self.next + len(self.asked) - 1]

    @property
    def executors(self) -> il.Executors:
        return il.Executors(decide=self, generate_text=self)


CUTS = [(kind, stop) for kind, answers in ANSWERS.items() for stop in range(len(answers))]


@pytest.mark.parametrize(("kind", "stop"), CUTS)
async def test_whoever_takes_a_run_up_says_what_was_said_before_word_for_word(kind: str, stop: int):
    machine, store = desk(kind), il.MemoryStore()
    first = Models(kind, stop=stop)
    async with il.AgentSession(machine, store=store, thread_id="t", executors=first.executors) as session:
        with anyio.fail_after(20):
            await first.stopped.wait()
        await session.send(Turn(to="dogs"))
    assert [entry.type for entry in await store.read("t")][-1] == "Turn"

    then = Models(kind, start=stop)
    result = await il.run_agent(machine, store=store, thread_id="t", executors=then.executors)
    assert isinstance(result, il.Idle), result
    assert result.snapshot.context.topic == "dogs"
    assert then.asked[0] == first.asked[-1], "the same call, key and all"
    assert len(then.asked) == len(ANSWERS[kind]) - stop
    assert all("About cats." in json.dumps(said) for _, said in then.asked)


@pytest.mark.parametrize("kind", list(ANSWERS))
@pytest.mark.parametrize("carried", ["in memory", "as json", "by its log"])
async def test_steps_by_hand_say_the_same(kind: str, carried: str):
    machine = desk(kind)
    models = Models(kind)
    step = il.initial_agent_step(machine, at=0.0, execution_id="x")
    log = [*step.entries]
    alone: list[object] = [step.requests[0].to_json()]
    step = il.transition_agent_step(machine, step, Turn(to="dogs"), at=1.0)
    log += step.entries
    assert [item.to_json() for item in step.requests] == alone
    while step.requests:
        if carried == "as json":
            step = il.AgentStep.from_json(machine, json.dumps(step.to_json()))
        elif carried == "by its log":
            step = il.initial_agent_step(machine, entries=log)
        assert "About cats." in json.dumps(step.requests[0].to_json())
        step = await il.resolve_agent_requests(machine, step, models.executors)
        log += step.entries
    live = Models(kind)
    async with il.AgentSession(machine, executors=live.executors, clock=il.FakeClock(0.0)) as session:
        await session.settled()
    assert [said for _, said in models.asked] == [said for _, said in live.asked]


async def test_an_act_loop_by_hand_keeps_its_plain_tools_after_its_first_turn():
    machine = desk("act")
    step = il.initial_agent_step(machine, at=0.0)
    names: list[list[str]] = []

    async def write(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        del info
        names.append([tool.name for tool in request.tools])
        return ANSWERS["act"][len(names) - 1]

    while step.requests:
        step = await il.resolve_agent_requests(machine, step, il.Executors(generate_text=write))
    assert names == [["send_event_Add", "look_up"]] * 3


async def test_a_bare_snapshot_is_worded_where_it_stands():
    machine = desk("decide")
    snapshot, _ = sc.initial_transition(machine, None)
    snapshot, _ = sc.transition(machine, snapshot, Turn(to="dogs"))
    models = Models("decide", start=1)
    await il.run_agent(machine, snapshot=snapshot, executors=models.executors)
    assert "About dogs." in json.dumps(models.asked[0][1])
