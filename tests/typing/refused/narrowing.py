# fmt: off
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


agent = il.setup_agent(context=Game, events=[Guess], output=str)
guessed = agent.narrow(Guessed)
only = agent.narrow(OnlyGuess)


def on_whole(game: Game, guess: Guess) -> il.Move:
    return agent.stay()


def on_narrow(game: Guessed, guess: Guess) -> il.Move:
    return agent.stay()


agent.on(Guess, lambda game, guess: agent.stay(guess=game.guess.upper()))  # E: "upper"
agent.on(Guess, on_narrow)  # E:
only.on(Guess, on_whole)  # E:
only.on(Guess, lambda game, guess: only.stay(left=game.left))  # E: "left"
guessed.on(Guess, lambda game, guess: guessed.stay(left=game.guess))  # E: "left"
guessed.on(Guess, lambda game, guess: guessed.stay(gess=game.guess))  # E: "gess"
only.decide(prompt=lambda game: str(game.left))  # E: "left"
only.state(entry=lambda game: only.stay(left=game.left))  # E: "left"
only.final(output=lambda game: game.left)  # E:
only.always(lambda game: only.goto("a") if game.left else None)  # E: "left"
agent.narrow(Guessed(guess="x"))  # E:
agent.narrow()  # E:
agent.state(context=Guessed(guess="x"))  # E: "context"
