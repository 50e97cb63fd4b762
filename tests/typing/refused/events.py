# fmt: off
from pydantic import BaseModel

import interlock.agent as il
import interlock.statechart as sc


class Ask(il.Event):
    question: str


class Guess(il.Event):
    guess: str


class Game(BaseModel, frozen=True):
    left: int = 20


class Other(BaseModel, frozen=True):
    left: int = 20


agent = il.setup_agent(context=Game, events=[Ask, Guess])


def on_guess(game: Game, guess: Guess) -> sc.Move | None:
    return agent.stay(left=len(guess.guess))


def on_other(other: Other, ask: Ask) -> sc.Move | None:
    return agent.stay(left=other.left)


def on_bool(game: Game, ask: Ask) -> bool:
    return game.left > 0


agent.on(Aks, "a")  # E: "Aks"
agent.on(Ask, lambda game, ask: agent.stay(left=len(ask.questoin)))  # E: "questoin"
agent.on(Ask, on_guess)  # E:
agent.on(Ask, on_other)  # E:
agent.on(Ask, on_bool)  # E:
agent.on(Ask, lambda game: agent.stay(left=1))  # E:
agent.on(Ask, lambda game, ask: game.left > 1)  # E:
agent.on(Ask)  # E:
agent.on(Ask, 3)  # E:
agent.on(Game, "a")  # E:
agent.on(Ask, "a", gaurd=lambda game, ask: True)  # E:
agent.on("Ask", lambda game, event: agent.stay(left=event.question))  # E: "question"
agent.on_at(Ask, lambda game, ask: agent.stay())  # E:
agent.always(lambda game, event: agent.stay())  # E:
agent.always(lambda game: agent.stay() if game.lefft else None)  # E: "lefft"
agent.after(None, "a")  # E:
agent.after(3, lambda game, event: agent.stay())  # E:
Ask(question=3)  # E: "question"
Ask(qestion="x")  # E: "qestion"
Ask("x")  # E:
il.setup_agent(context=Game, events=[Game])  # E:
il.setup_agent(context=Game)  # E: "events"
il.setup_agent(context=Game, events=[Ask], outptu=Game)  # E: "outptu"
