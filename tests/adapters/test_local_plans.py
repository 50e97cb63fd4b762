"""Models on this computer and plans: a chooser that sees no more than the request comes to an end all the same."""

import json

import interlock as il
from interlock.adapters.constraint import choice_schema, grammar
from interlock.adapters.local import local_executors

from .test_openai_plans import Add, Double, Leave, agent, machine, plan


class Meanings:
    def __init__(self, **similar):
        self.similar = {name.replace("_", " "): value for name, value in similar.items()}

    def __call__(self, text, others):
        return [self.similar.get(other.rstrip(".").lower(), 0.5) for other in others]


async def test_a_plan_takes_each_event_once_and_ends_where_nothing_is_near():
    chooser = local_executors(similarity=Meanings(double_the_number=0.95))
    chosen = []

    def decide(request, info):
        choice = chooser.decide(request, info)
        chosen.append(choice.event["type"])
        return choice

    def started(request, info):
        return il.Choice(Add(by=2)) if not request.applied else decide(request, info)

    result = await il.run_agent(machine(plan()), executors=il.Executors(decide=started))
    assert isinstance(result, il.Done)
    assert chosen == ["Double", "agent.plan.done"]
    assert result.output == {"n": 4, "said": "done 2"}


async def test_the_end_may_be_what_is_nearest():
    chooser = local_executors(similarity=Meanings(go_away=0.8))
    result = await il.run_agent(machine(plan()), executors=chooser)
    assert isinstance(result, il.Done)
    assert result.output == {"n": 0, "said": "done 0"}


async def test_with_a_writer_fields_are_filled_and_the_end_needs_none():
    written = []

    async def write(request, info):
        written.append([event.type for event in request.events])
        return il.Choice({"type": "Add", "by": 2}, raw={})

    chooser = local_executors(similarity=Meanings(add_to_the_number=0.95), writer=il.Executors(decide=write))
    result = await il.run_agent(machine(plan()), executors=chooser)
    assert isinstance(result, il.Done)
    assert result.output == {"n": 2, "said": "done 1"}
    assert written == [["Add"]]


async def test_options_need_no_writer_even_where_there_is_one():
    async def write(request, info):
        raise AssertionError("there is nothing to write")

    options = [Add(by=2), Add(by=3, note="x"), Leave()]
    pick = agent.decide(model="m", prompt="Pick.", options=options, on_done="over")
    meanings = Meanings(**{'with_{"by":_3,_"note":_"x"}:_add_to_the_number': 0.95})
    chooser = local_executors(similarity=meanings, writer=il.Executors(decide=write))
    result = await il.run_agent(machine(pick), executors=chooser)
    assert isinstance(result, il.Done)
    assert result.output["n"] == 3


def test_a_writer_can_be_held_to_the_moves_of_a_plan_and_to_options():
    built = machine(plan())
    (request,) = il.initial_agent_step(built, at=0.0).requests
    schema = choice_schema(request.events)
    assert [member["properties"]["type"]["const"] for member in schema["anyOf"]] == [
        *("Add", "Leave", "agent.plan.done"),
    ]
    assert "agent.plan.done" in grammar(schema)
    closed = machine(agent.decide(model="m", prompt="?", options=[Add(by=2), Leave()], on_done="over"))
    (request,) = il.initial_agent_step(closed, at=0.0).requests
    assert json.loads(json.dumps(choice_schema(request.events)))["anyOf"][0]["properties"]["by"] == {"const": 2}
    assert Double.type == "Double"
