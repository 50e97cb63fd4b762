# fmt: off
from typing import Annotated

from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import assert_type

import interlock as il
import interlock.statechart as sc


class Approve(il.Event, actor="human"):
    """Send it."""


class Revise(il.Event):
    text: str


class Draft(BaseModel, frozen=True):
    text: str = ""
    count: int = 0
    tokens: int = 0
    agreed: bool = False


class Address(BaseModel):
    street: str


agent = il.setup_agent(context=Draft, events=[Approve, Revise], output=str)


def on_address(draft: Draft, address: Address) -> il.Move | None:
    return agent.goto("over", text=address.street)


def on_plan(draft: Draft, result: il.PlanResult) -> il.Move:
    return agent.goto("over", count=len(result.steps))


def on_call(draft: Draft, usage: il.CallUsage) -> il.Move:
    return agent.stay(tokens=draft.tokens + usage.tokens)


# Replies have the type that is declared, a text where none is.
agent.user_input("Name?", on_done=lambda draft, name: agent.goto("over", text=name.strip()))
agent.user_input("How many?", int, on_done=lambda draft, count: agent.goto("over", count=count + draft.count))
agent.user_input("Where?", Address, on_done=lambda draft, address: agent.goto("over", text=address.street))
agent.user_input("Where?", Address, on_done=on_address, on_error=lambda draft, error: agent.goto("over", text=error.code))
agent.user_input("Sure?", bool, on_done=lambda draft, sure: agent.stay(agreed=sure) if draft.text else None)
small: TypeAdapter[int] = TypeAdapter(Annotated[int, Field(lt=5)])
agent.user_input("Few?", small, on_done=lambda draft, count: agent.goto("over", count=count))
agent.user_input(lambda draft: f"About {draft.text}?", on_done="over", name="about", metadata={"x": [1]}, timeout=3, on_timeout="over")

# What plans, acting and calls come to.
agent.plan(prompt="?", on_done=lambda draft, result: agent.goto("over", count=len(result.steps), text=result.stopped))
agent.plan(prompt=lambda draft: draft.text, on_done=on_plan, stop_on=[Revise], max_steps=3, atomic=True)
agent.act(prompt="?", on_done=lambda draft, said: agent.goto("over", text=said.upper()))
agent.act(prompt=lambda draft: draft.text, on_done="over", max_steps=3)
agent.on_usage(lambda draft, usage: agent.stay(tokens=draft.tokens + usage.tokens))
agent.on_usage(on_call, guard=lambda draft, usage: usage.kind == "plan" and (usage.input_tokens or 0) > 3)
agent.on_usage("over", reenter=True)

# Interactions. What stands in meta is anybody's, so a function there says itself what it takes.
def worded(draft: Draft) -> str:
    return draft.text


machine = agent.machine(
    "letters", initial="review",
    states={
        "review": agent.state(
            meta={"interaction": {"label": worded, "events": {Approve: "Yes", "Revise": {"style": "x"}}}},
            on=[agent.on(Approve, "over"), agent.on(Revise, lambda draft, revise: agent.stay(text=revise.text))],
        ),
        "over": agent.final(output="x"),
    },
)
agent.state(meta={"interaction": {"label": "x {text}", "events": {"Revise": "y"}, "text_event": Revise}})
agent.state(meta={"mine": 3, "interaction": {"label": "x"}})
snapshot, _ = sc.initial_transition(machine)
shown = il.get_interaction(machine, snapshot, preserve_whitespace=True)
assert_type(shown, il.Interaction | None)
assert shown is not None
assert_type(shown.label, str)
assert_type(shown.events, tuple[il.InteractionChoice, ...])
assert_type(shown.text_event, str | None)
assert_type(shown.to_json(), dict[str, object])
assert_type([(choice.type, choice.style) for choice in shown.events], list[tuple[str, str | None]])
event = il.event_from_interaction(machine, snapshot, {"type": "Revise", "text": "x"})
assert_type(event, il.Event)
after, _ = sc.transition(machine, snapshot, event)

# Who asks, and who replies.
def ask(request: il.UserInputRequest) -> str:
    return request.prompt


async def ask_later(request: il.UserInputRequest) -> int:
    return len(request.input_schema)


async def run() -> None:
    await il.run_agent(machine, user_input=ask)
    await il.run_agent(machine, user_input=ask_later, replies={"name": "Ada"}, event=event)
    result = await il.run_agent(machine)
    if isinstance(result, il.Idle):
        assert_type(result.pending_inputs, tuple[il.UserInputRequest, ...])
    async with il.AgentSession(machine, user_input=ask) as session:
        await session.reply("name", 3)
    step = il.initial_agent_step(machine)
    for request in step.pending_inputs:
        step = il.resolve_agent_step(machine, step, request, "x")
        step = il.resolve_agent_step(machine, step, request.id, "x")
        il.UserInputRequest.from_json(request.to_json())
