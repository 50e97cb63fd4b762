"""The guessing game, in which a model asks or guesses and a person answers: the machine that most rooms' tests play."""

from typing import Any, Literal

from pydantic import BaseModel

import interlock as il


class Ask(il.Event):
    """Ask one yes/no question."""

    question: str


class Guess(il.Event):
    """Guess the secret. Ends the game."""

    guess: str


class Reply(il.Event, actor="human"):
    """The answer to the last question."""

    answer: Literal["yes", "no", "unsure"]


class Game(BaseModel, frozen=True):
    questions_left: int = 20
    transcript: tuple[str, ...] = ()
    guess: str | None = None


class Verdict(BaseModel, frozen=True):
    guess: str | None


agent = il.setup_agent(context=Game, events=[Ask, Guess, Reply], output=Verdict)


def game(questions: int = 20, *, on_error: Any = "stumped") -> il.Machine[Game, None, Verdict]:
    return agent.machine(
        "twenty-questions",
        context=Game(questions_left=questions),
        initial="deciding",
        states={
            "deciding": agent.state(
                invoke=agent.decide(
                    model="quick",
                    system="Find the secret.",
                    prompt=lambda game: "\n".join(game.transcript) or "Nothing asked yet.",
                    allowed_events=[Ask, Guess],
                    on_error=on_error,
                ),
                on=[
                    agent.on(
                        Ask,
                        lambda game, ask: (
                            agent.goto(
                                "answering",
                                questions_left=game.questions_left - 1,
                                transcript=(*game.transcript, f"Q: {ask.question}"),
                            )
                            if game.questions_left > 1
                            else None
                        ),
                    ),
                    agent.on(Guess, lambda game, g: agent.goto("revealing", guess=g.guess)),
                ],
            ),
            "answering": agent.state(
                on=[
                    agent.on(
                        Reply,
                        lambda game, r: agent.goto("deciding", transcript=(*game.transcript, f"A: {r.answer}")),
                    )
                ]
            ),
            "revealing": agent.final(output=lambda game: Verdict(guess=game.guess)),
            "stumped": agent.final(output=Verdict(guess=None)),
        },
    )
