"""Twenty questions as an agent: a model asks or guesses, a person answers, and on the last turn only a guess is legal.

``Ask`` is always declared and always offered; that it is refused on the last turn is the machine's doing, not the
prompt's.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

import interlock as il

__all__ = ["Answered", "Ask", "Game", "Guess", "Reply", "Start", "Verdict", "asked_before", "last_turn", "machine"]


class Ask(il.Event):
    """Ask one yes/no question."""

    question: str


class Guess(il.Event):
    """Guess the secret. Ends the game."""

    guess: str


class Reply(il.Event, actor="human"):
    """The answer to the last question."""

    answer: Literal["yes", "no", "unsure"]


class Answered(BaseModel, frozen=True):
    """A question, and what the person said."""

    question: str
    answer: Literal["yes", "no", "unsure"] | None = None


class Start(BaseModel, frozen=True):
    """What a game starts from."""

    turns: int = Field(default=20, ge=1, le=100)


class Game(BaseModel, frozen=True):
    """The context: how many turns are left, and all that was said."""

    turns_left: int = Field(default=20, ge=0)
    asked: tuple[Answered, ...] = ()
    guess: str | None = None


class Verdict(BaseModel, frozen=True):
    """How a game ended; no guess where the model did not come to one."""

    guess: str | None
    questions: int


def last_turn(game: Game) -> bool:
    """Whether only a guess is left."""
    return game.turns_left <= 1


def asked_before(game: Game, question: str) -> bool:
    """Whether the answer to a question is known already."""
    return question.strip().casefold() in [said.question.strip().casefold() for said in game.asked]


def transcript(game: Game) -> str:
    """Return the game so far, for the model."""
    lines = [f"Q: {said.question}\nA: {said.answer}" for said in game.asked]
    left = f"Turns left: {game.turns_left}." + (" Guess now." if last_turn(game) else "")
    return "\n".join([*lines, left])


agent = il.setup_agent(context=Game, events=[Ask, Guess, Reply], input=Start, output=Verdict)


def ask(game: Game, said: Ask) -> il.Move | None:
    """Put a question to the person. None, which is not legal: on the last turn, and what was asked before."""
    if last_turn(game) or asked_before(game, said.question):
        return None
    return agent.goto(
        "answering", turns_left=game.turns_left - 1, asked=(*game.asked, Answered(question=said.question))
    )


def answered(game: Game, reply: Reply) -> il.Move:
    """Note the answer down, and let the model go on."""
    *before, last = game.asked
    return agent.goto("deciding", asked=(*before, last.model_copy(update={"answer": reply.answer})))


machine = agent.machine(
    "twenty-questions",
    context=lambda start: Game(turns_left=start.turns),
    initial="deciding",
    states={
        "deciding": agent.state(
            invoke=agent.decide(
                name="turn",
                model="quick",
                system="We play twenty questions. Find out what I think of: ask one question at a time that can be "
                "answered with yes or no. Never ask twice. On the last turn, guess.",
                prompt=transcript,
                allowed_events=[Ask, Guess],
                max_retries=3,
                max_output_tokens=200,
                on_error="stumped",
            ),
            on=[
                agent.on(Ask, ask),
                agent.on(Guess, lambda _, said: agent.goto("revealing", guess=said.guess)),
            ],
        ),
        "answering": agent.state(on=[agent.on(Reply, answered)]),
        "revealing": agent.final(output=lambda game: Verdict(guess=game.guess, questions=len(game.asked))),
        "stumped": agent.final(output=lambda game: Verdict(guess=None, questions=len(game.asked))),
    },
)
