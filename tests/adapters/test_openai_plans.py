"""Plans, closed choices and act loops on the real SDK and a strict server."""

import json

import pytest
from pydantic import BaseModel

import interlock as il
from interlock.agent import Event

from .openai_calls import executors
from .openai_server import Answer


class Add(Event):
    """Add to the number."""

    by: int
    note: str = ""


class Double(Event):
    """Double the number."""


class Leave(Event):
    """Go away."""


class Count(BaseModel, frozen=True):
    n: int = 0
    said: str = ""


agent = il.setup_agent(context=Count, events=[Add, Double, Leave])


def machine(invoke):
    return agent.machine(
        "count",
        context=Count(),
        initial="working",
        states={
            "working": agent.state(
                invoke=invoke,
                on=[
                    agent.on(Add, lambda c, e: agent.stay(n=c.n + e.by) if c.n + e.by <= 10 else None),
                    agent.on(Double, lambda c, _: agent.stay(n=c.n * 2) if c.n else None),
                    agent.on(Leave, "over"),
                ],
            ),
            "over": agent.final(output=lambda c: c.model_dump()),
            "failed": agent.final(output=None),
        },
    )


def plan(**fields):
    def over(c, result):
        return agent.goto("over", said=f"{result.stopped} {len(result.steps)}")

    return agent.plan(
        name="plan",
        model="gpt-test",
        prompt="Count.",
        on_done=over,
        on_error=lambda c, e: agent.goto("failed"),
        **fields,
    )


def act(**fields):
    return agent.act(
        name="act", model="gpt-test", prompt="Count.", on_done=lambda c, text: agent.goto("over", said=text), **fields
    )


def chosen(form, kind, /, **fields):
    if form == "json":
        return Answer(text=json.dumps({"event": {"type": kind, **fields}}))
    return Answer(calls=[("send_event_" + kind.replace(".", "_"), json.dumps(fields))])


@pytest.fixture(params=["tools", "json"])
def by(request):
    return request.param


@pytest.mark.parametrize("atomic", [False, True])
async def test_a_plan_is_asked_step_by_step_with_its_trail(server, by, atomic):
    server.answers(
        chosen(by, "Add", by=2, note=None),
        chosen(by, "Add", by=20, note=None),
        chosen(by, "Double"),
        chosen(by, "agent.plan.done"),
    )
    result = await il.run_agent(machine(plan(atomic=atomic)), executors=executors(server, decide=by))
    assert not server.refusals
    assert isinstance(result, il.Done)
    assert result.output == {"n": 4, "said": "done 2"}
    first, second, third, last = ([message["content"] for message in body["messages"]] for body in server.requests)
    assert first[0] == "Count."
    assert first[1].startswith("Nothing was picked yet.\nYou may pick up to 8 more events")
    assert first[1].endswith("choose agent.plan.done instead.")
    assert '1. {"type": "Add", "by": 2, "note": ""}' in second[1]
    assert (len(second), len(third), len(last)) == (2, 3, 2)
    assert "rejected-by-guard" in third[2]
    if by == "tools":
        names = [tool["function"]["name"] for tool in server.last["tools"]]
        assert names[-1] == "send_event_agent_plan_done"
        assert server.last["tools"][-1]["function"]["description"] == "Nothing more is to be done: end here."


async def test_a_closed_choice_holds_decoding_to_its_options(server, by):
    options = [Add(by=2, note="two"), Add(by=3), Leave()]
    pick = agent.decide(model="gpt-test", prompt="Pick.", options=options, on_done="over")
    if by == "json":
        server.answers(chosen(by, "Add", by=3, note=""))
    else:
        server.answers(Answer(calls=[("send_event_Add_2", '{"by": 3, "note": ""}')]))
    result = await il.run_agent(machine(pick), executors=executors(server, decide=by))
    assert not server.refusals
    assert isinstance(result, il.Done)
    assert result.output["n"] == 3
    if by == "tools":
        tools = [tool["function"] for tool in server.last["tools"]]
        assert [tool["name"] for tool in tools] == ["send_event_Add", "send_event_Add_2", "send_event_Leave"]
        assert all(tool["strict"] for tool in tools)
        assert tools[0]["parameters"]["properties"]["note"]["const"] == "two"
    else:
        wanted = server.last["response_format"]["json_schema"]
        assert wanted["strict"] is True
        assert len(wanted["schema"]["properties"]["event"]["anyOf"]) == 3


def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: a thing"


async def test_an_act_loop_calls_events_and_tools_and_hears_what_has_changed(server):
    server.answers(
        Answer(
            text="Let me see.",
            calls=[
                ("send_event_Add", '{"by": 2, "note": null}', "a"),
                ("look_up", '{"word": "x"}', "b"),
                ("send_event_Add", '{"by": 20, "note": null}', "c"),
                ("send_event_Double", "{}", "d"),
            ],
        ),
        Answer(calls=[("send_event_Add", "{not json", "a")]),
        Answer(text="Four."),
    )
    result = await il.run_agent(machine(act(tools=[look_up])), executors=executors(server))
    assert not server.refusals
    assert isinstance(result, il.Done)
    assert result.output == {"n": 4, "said": "Four."}
    offered = [[tool["function"]["name"] for tool in body["tools"]] for body in server.requests]
    assert offered[0] == ["send_event_Add", "send_event_Leave", "look_up"]
    assert offered[1] == ["send_event_Add", "send_event_Double", "send_event_Leave", "look_up"]
    answers = [message["content"] for message in server.last["messages"] if message["role"] == "tool"]
    assert answers[:4] == [
        '{"changed": {"n": "2"}}',
        "x: a thing",
        "'Add' is not allowed in state working",
        '{"changed": {"n": "4"}}',
    ]
    assert "needs an object of fields" in answers[4]
    assert result.usage.model_calls == 3


async def test_on_its_last_turn_an_act_loop_may_still_call(server):
    server.answers(Answer(text="Adding.", calls=[("send_event_Add", '{"by": 2, "note": null}')]))
    result = await il.run_agent(machine(act(max_steps=1)), executors=executors(server))
    assert isinstance(result, il.Done)
    assert result.output == {"n": 2, "said": "Adding."}
    assert "tool_choice" not in server.last


async def test_an_event_may_be_forced_in_the_first_turn(server):
    server.answers(Answer(calls=[("send_event_Leave", "{}")]))
    result = await il.run_agent(machine(act(tool_choice="send_event_Leave")), executors=executors(server))
    assert isinstance(result, il.Done)
    assert not server.refusals
    assert server.last["tool_choice"] == {"type": "function", "function": {"name": "send_event_Leave"}}


async def test_an_event_that_is_left_open_ends_the_loop_and_is_asked_no_more(server):
    server.answers(Answer(calls=[("send_event_Leave", "{}"), ("send_event_Add", '{"by": 1, "note": null}')]))
    result = await il.run_agent(machine(act()), executors=executors(server))
    assert isinstance(result, il.Done)
    assert result.output == {"n": 0, "said": ""}
    assert len(server.requests) == 1
