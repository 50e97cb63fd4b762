# fmt: off
from dataclasses import dataclass
from typing import TypedDict

from pydantic import BaseModel

import interlock.agent as il


class Ask(il.Event):
    question: str


class Game(BaseModel, frozen=True):
    left: int = 20
    guess: str | None = None


@dataclass(frozen=True)
class Counter:
    count: int = 0


class Loose(TypedDict):
    count: int


agent = il.setup_agent(context=Game, events=[Ask])
counter = il.setup_agent(context=Counter, events=[Ask])
loose = il.setup_agent(context=il.mapping(Loose), events=[Ask])

agent.goto("a", lefft=3)  # E: "lefft"
agent.stay(lefft=3)  # E: "lefft"
agent.goto("a", left="three")  # E: "left"
agent.stay(left=None)  # E: "left"
agent.stay(guess=3)  # E: "guess"
agent.goto(3)  # E: "goto"
agent.goto()  # E:
counter.stay(counts=3)  # E: "counts"
counter.goto("a", count="3")  # E: "count"
loose.on(Ask, lambda c, e: loose.stay(count=c["counts"]))  # E: "counts"
agent.on(Ask, lambda game, ask: agent.goto("a", left=ask.question))  # E: "left"
agent.on(Ask, lambda game, ask: agent.goto("a", left=game.guess))  # E: "left"
agent.on(Ask, lambda game, ask: agent.stay(gess="x"))  # E: "gess"
agent.on(Ask, lambda game, ask: agent.stay(left=game.lefft))  # E: "lefft"
