# fmt: off
from typing import Literal

from pydantic import BaseModel
from typing_extensions import assert_type

import interlock as il
import interlock.statechart as sc


class Ask(il.Event):                         # the docstring is what the model reads
    """Ask one yes/no question."""
    question: str

class Guess(il.Event):
    """Guess the secret. Ends the game."""
    guess: str

class Reply(il.Event, actor="human"):        # a person sends this; no model is ever offered it
    """The answer to the last question."""
    answer: Literal["yes", "no", "unsure"]

class Game(BaseModel, frozen=True):
    questions_left: int = 20
    transcript: tuple[str, ...] = ()
    guess: str | None = None

class Verdict(BaseModel):
    guess: str | None

agent = il.setup_agent(context=Game, events=[Ask, Guess, Reply], output=Verdict)

machine = agent.machine(
    "twenty-questions",
    context=Game(),
    initial="deciding",
    states={
        "deciding": agent.state(
            invoke=agent.decide(
                model="quick",
                system="Find the secret. Ask one yes/no question at a time; on the last turn, guess.",
                prompt=lambda game: "\n".join(game.transcript) or "Nothing asked yet.",
                allowed_events=[Ask, Guess],
                on_error="stumped",                          # retries exhausted
            ),
            on=[
                agent.on(Ask, lambda game, ask: agent.goto(
                    "answering",
                    questions_left=game.questions_left - 1,  # checked: name and type
                    transcript=(*game.transcript, f"Q: {ask.question}"),
                ) if game.questions_left > 1 else None),     # None: not legal now
                agent.on(Guess, lambda game, g: agent.goto("revealing", guess=g.guess)),
            ],
        ),
        "answering": agent.state(on=[
            agent.on(Reply, lambda game, r: agent.goto(
                "deciding", transcript=(*game.transcript, f"A: {r.answer}"))),
        ]),
        "revealing": agent.final(output=lambda game: Verdict(guess=game.guess)),
        "stumped": agent.final(output=lambda game: Verdict(guess=None)),
    },
)

assert_type(machine, sc.Machine[Game, None, Verdict])
