# fmt: off
from dataclasses import dataclass

from pydantic import BaseModel

import interlock as il


class Guess(il.Event):
    text: str


class Game(BaseModel, frozen=True):
    left: int = 3
    guess: str | None = None


class Guessed(Game, frozen=True):
    guess: str = ""


class OnlyGuess(BaseModel, frozen=True):
    guess: str


@dataclass(frozen=True)
class Counter:
    name: str | None = None


@dataclass(frozen=True)
class Named:
    name: str


def length(text: str) -> int:
    return len(text)


agent = il.setup_agent(context=Game, events=[Guess], output=str)
guessed = agent.narrow(Guessed)
only = agent.narrow(OnlyGuess)

# The narrower type is what functions see; moves name any field of the whole context.
checking = guessed.state(
    entry=lambda game: guessed.stay(left=len(game.guess)),
    exit=lambda game: guessed.stay(guess=None),
    invoke=[
        guessed.call(length, input=lambda game: {"text": game.guess.upper()}),
        guessed.decide(prompt=lambda game: game.guess.upper()),
    ],
    on=[
        guessed.on(Guess, lambda game, guess: guessed.goto("over", guess=game.guess + guess.text)),
        guessed.on_at(Guess, lambda game, guess, at: guessed.stay(left=len(game.guess)) if at.matches("x") else None),
        guessed.on(Guess, "over", guard=lambda game, guess: game.guess.upper() == guess.text),
    ],
    after=[guessed.after(3, lambda game: guessed.goto("over", guess=game.guess.upper()))],
    always=[guessed.always(lambda game: guessed.goto("over") if game.guess.isalpha() else None)],
)
agent.machine(
    "narrow",
    initial="asking",
    states={
        "asking": agent.state(on=[agent.on(Guess, lambda game, guess: agent.goto("checking", guess=guess.text))]),
        "checking": checking,
        "plain": agent.state(context=OnlyGuess, on=[only.on(Guess, lambda game, _: only.stay(guess=game.guess.upper()))]),
        "both": agent.parallel(context=Guessed, states={"a": agent.state(), "b": agent.state()}),
        "over": only.final(output=lambda game: game.guess.upper()),
    },
)

counter = il.setup_agent(context=Counter, events=[Guess])
named = counter.narrow(Named)
named.state(on=[named.on(Guess, lambda c, e: counter.stay(name=c.name + e.text))])
