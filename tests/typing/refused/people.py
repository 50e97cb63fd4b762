# fmt: off
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc


class Approve(il.Event, actor="human"):
    """Send it."""


class Draft(BaseModel, frozen=True):
    text: str = ""
    count: int = 0


class Address(BaseModel):
    street: str


agent = il.setup_agent(context=Draft, events=[Approve], output=str)


def on_text(draft: Draft, text: str) -> il.Move:
    return agent.stay(text=text)


def on_count(draft: Draft, count: int) -> il.Move:
    return agent.stay(count=count)


agent.user_input("?", on_done=on_count)  # E:
agent.user_input("?", int, on_done=on_text)  # E:
agent.user_input("?", Address, on_done=on_text)  # E:
agent.user_input("?", int, on_done=lambda draft, count: agent.stay(text=count))  # E:
agent.user_input("?", Address, on_done=lambda draft, address: agent.stay(text=address.stret))  # E: "stret"
agent.user_input("?", on_done=lambda draft, text: agent.stay(text=text.uper()))  # E: "uper"
agent.user_input("?", on_done=lambda draft: agent.stay())  # E:
agent.user_input("?", on_done=lambda draft, text: text)  # E:
agent.user_input(3)  # E:
agent.user_input(lambda draft: draft.txt)  # E: "txt"
agent.user_input(lambda draft: draft.count)  # E:
agent.user_input("?", 3)  # E:
agent.user_input("?", name=3)  # E:
agent.user_input("?", metadata="x")  # E:
agent.plan(prompt="?", on_done=on_text)  # E: "on_done"
agent.plan(prompt="?", on_done=lambda draft, result: agent.stay(count=result.steps))  # E: "count"
agent.plan(prompt="?", on_done=lambda draft, result: agent.stay(count=len(result.events)))  # E: "events"
agent.plan(prompt="?", stop_on=3)  # E: "stop_on"
agent.plan(prompt="?", atomic="yes")  # E: "atomic"
agent.act(prompt="?", on_done=on_count)  # E: "on_done"
agent.act(prompt="?", on_done=lambda draft, said: agent.stay(count=said))  # E: "count"
agent.act(prompt="?", on_done=lambda draft, said: agent.stay(text=said.output))  # E: "output"
agent.on_usage(on_count)  # E: "on_usage"
agent.on_usage(lambda draft, usage: agent.stay(count=usage.toknes))  # E: "toknes"
agent.on_usage(lambda draft, usage: agent.stay(count=usage.input_tokens))  # E: "count"
agent.on_usage("over", guard=lambda draft, usage: usage.cost > 3)  # E: "cost"


agent.state(meta={3: "x"})  # E:


machine = agent.machine("m", initial="a", states={"a": agent.state(), "over": agent.final(output="x")})
snapshot, _ = sc.initial_transition(machine)
il.get_interaction(machine)  # E: "snapshot"
il.get_interaction(snapshot)  # E:
il.get_interaction(machine, snapshot, whitespace=True)  # E: "whitespace"
il.get_interaction(machine, snapshot).label  # E: "label"
il.event_from_interaction(machine, snapshot, "Approve")  # E:
il.event_from_interaction(machine, {"type": "Approve"})  # E:


def ask(request: str) -> str:
    return request


async def run() -> None:
    await il.run_agent(machine, user_input=ask)  # E: "user_input"
    await il.run_agent(machine, user_input="x")  # E: "user_input"
    await il.run_agent(machine, replies=["x"])  # E: "replies"
    async with il.AgentSession(machine) as session:
        await session.reply(3, "x")  # E: "reply"
