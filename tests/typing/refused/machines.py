# fmt: off
from pydantic import BaseModel

import interlock.agent as il
import interlock.statechart as sc
from interlock.errors import ErrorInfo


class Ask(il.Event):
    question: str


class Game(BaseModel, frozen=True):
    left: int = 20


class Other(BaseModel, frozen=True):
    left: int = 20


class Order(BaseModel):
    text: str


class Verdict(BaseModel):
    guess: str | None


agent = il.setup_agent(context=Game, events=[Ask], input=Order, output=Verdict)


async def fetch(url: str) -> Order:
    return Order(text=url)


def on_int(game: Game, number: int) -> sc.Move:
    return agent.stay(left=number)


def on_text(game: Game, error: str) -> sc.Move:
    return agent.stay()


agent.final(output=lambda game: game.left)  # E:
agent.final(output=3)  # E:
agent.final(output=lambda game: Verdict(guess=game.left))  # E: "guess"
agent.final(output=Verdict(guess=None), tag="x")  # E:
agent.machine("m", context=Other(), initial="a", states={})  # E: "context"
agent.machine("m", context=lambda order: Other(left=len(order.text)), initial="a", states={})  # E:
agent.machine("m", context=lambda order: Game(left=order.txt), initial="a", states={})  # E: "txt"
agent.machine("m", context=Game(), initial="a", states={"a": agent})  # E:
agent.machine("m", context=Game(), intial="a", states={})  # E: "intial"
agent.state(onn=[])  # E: "onn"
agent.state(on={"Ask": "a"})  # E: "on"
agent.state(entry=lambda game: 3)  # E: "entry"
agent.state(entry=lambda game: agent.stay(left=game.lefft))  # E: "lefft"
agent.state(invoke="fetch")  # E: "invoke"
agent.state(on_error=on_text)  # E: "on_error"
agent.call(fetch, on_done=on_int)  # E:
agent.call(fetch, on_done=lambda game, order: agent.stay(left=order.txt))  # E: "txt"
agent.call(3)  # E:
agent.call(fetch, retries=3)  # E:
agent.decide(promt="x")  # E: "promt"
agent.decide(prompt=3)  # E: "prompt"
agent.decide(prompt=lambda game: game.left)  # E: "prompt"
agent.decide(prompt=lambda game: game.lefft)  # E: "lefft"
agent.decide(allowed_events=[Aks])  # E: "Aks"
agent.decide(allowed_events=[3])  # E:
agent.decide(allowed_events=Game)  # E: "allowed_events"
agent.decide(max_retries="two")  # E: "max_retries"
agent.decide(on_error=on_int)  # E: "on_error"
agent.decide(on_done=lambda game, event: agent.stay(left=event.question))  # E: "question"
agent.choice(lambda game: None)  # E:
made: sc.Machine[Game, Order, Order] = agent.machine("m", context=Game(), initial="a", states={})  # E:
ErrorInfo("x")  # E:
