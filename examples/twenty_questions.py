"""Twenty questions: a model asks, a person answers, and on the last turn only a guess is legal.

    python examples/twenty_questions.py                       # you answer; a script plays the model
    python examples/twenty_questions.py --answers yes,no,no   # a script answers as well
    python examples/twenty_questions.py --model local         # small models on this computer (extra: local)
    python examples/twenty_questions.py --model openai        # OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL

``Ask`` is offered on every turn. That it is refused on the last one is the machine's doing, not the prompt's: the model
is told, and asked again. ``Reply`` can be sent by nobody but a person.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, Field

import interlock as il


class Ask(il.Event):
    """Ask one yes/no question."""

    question: str = Field(max_length=120)


class Guess(il.Event):
    """Guess the secret. Ends the game."""

    guess: str = Field(max_length=60)


class Reply(il.Event, actor="human"):
    """The answer to the last question."""

    answer: Literal["yes", "no", "unsure"]


class Start(BaseModel, frozen=True):
    turns: int = Field(default=4, ge=1, le=20)


class Game(BaseModel, frozen=True):
    turns_left: int = 0
    questions: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    guess: str = ""


agent = il.setup_agent(context=Game, events=[Ask, Guess, Reply], input=Start, output=str)


def transcript(game: Game) -> str:
    """Return what the model goes by."""
    said = [f"Q: {q}\nA: {a}" for q, a in zip(game.questions, game.answers, strict=True)]
    return "\n".join([*said, f"Turns left: {game.turns_left}. {'Ask' if game.turns_left > 1 else 'Guess'} now."])


def ask(game: Game, event: Ask) -> il.Move | None:
    """Put the question to the person; not legal on the last turn, nor twice."""
    if game.turns_left <= 1 or event.question in game.questions:
        return None
    return agent.goto("answering", turns_left=game.turns_left - 1, questions=(*game.questions, event.question))


machine = agent.machine(
    "twenty-questions",
    context=lambda start: Game(turns_left=start.turns),
    initial="deciding",
    states={
        "deciding": agent.state(
            invoke=agent.decide(
                name="turn",
                model="quick",
                system="Find out what the person thinks of. Ask one question that can be answered with yes or no, or "
                "guess. Never ask twice. On the last turn, guess.",
                prompt=transcript,
                max_retries=4,
                on_error="stumped",
            ),
            on=[agent.on(Ask, ask), agent.on(Guess, lambda game, event: agent.goto("over", guess=event.guess))],
        ),
        "answering": agent.state(
            on=[agent.on(Reply, lambda game, event: agent.goto("deciding", answers=(*game.answers, event.answer)))]
        ),
        "over": agent.final(output=lambda game: game.guess),
        "stumped": agent.final(output=""),
    },
)

QUESTIONS = ("Is it alive?", "Is it bigger than you?", "Can you eat it?")
THINGS = {"yes yes": "a tree", "yes no yes": "a carrot", "no yes": "a house", "no no yes": "a loaf of bread"}


def scripted(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
    """Play the model: one question after the other, and a guess where there are no more or asking was refused."""
    answers = [line.removeprefix("A: ") for line in str(request.prompt).splitlines() if line.startswith("A: ")]
    known = THINGS.get(" ".join(answers))
    if known or request.attempts or len(answers) == len(QUESTIONS):
        return il.Choice(Guess(guess=known or "a cat"))
    return il.Choice(Ask(question=QUESTIONS[len(answers)]))


def executors(model: str) -> il.Executors:
    """Return who plays the model."""
    if model == "openai":
        from interlock.adapters.openai import openai_executors

        return openai_executors(models={"quick": os.environ.get("OPENAI_MODEL", "gpt-5-mini")})
    if model == "local":  # one model picks the move, by what is said when it is due; another fills in its fields
        from interlock.adapters.local import local_executors
        from interlock.adapters.writing import local_writer

        said = {"Ask": ["Turns left: 3. Ask now."], "Guess": ["Turns left: 1. Guess now."]}
        return local_executors(examples=said, threshold=-1, margin=0, writer=local_writer())
    return il.Executors(decide=scripted)


def show_refusal(event: il.TraceEvent) -> None:
    """Show what the machine did not let the model do."""
    if isinstance(event, il.ChoiceRefused):
        print(f"  ({event.attempt.event} was refused: {event.failure})")


def play(models: il.Executors, answer: Callable[[str], str], *, turns: int) -> str:
    """Play a game, and return how it ended."""
    result = il.run_agent_sync(machine, input=Start(turns=turns), executors=models, on_trace=show_refusal)
    while isinstance(result, il.Idle):
        here = result.snapshot
        try:
            reply = il.parse_event(machine, {"type": "Reply", "answer": answer(here.context.questions[-1])})
        except il.InputError as error:
            print(error)
            continue
        result = il.run_agent_sync(machine, snapshot=here, event=reply, executors=models, on_trace=show_refusal)
    if isinstance(result, il.Failed):
        return f"failed ({result.error.code}): {result.error.message}"
    return f"It is {result.output}!" if result.output else "No guess: you win."


def main() -> None:
    """Read the command line and play."""
    parser = argparse.ArgumentParser(description="Think of something; the model guesses what it is.")
    parser.add_argument("--turns", type=int, choices=range(1, 21), default=4, metavar="1..20")
    parser.add_argument("--answers", help="yes, no and unsure with commas between them, instead of asking you")
    parser.add_argument("--model", choices=("scripted", "local", "openai"), default="scripted")
    given = parser.parse_args()
    answers = None if given.answers is None else iter(given.answers.split(","))

    def answer(question: str) -> str:
        print(question)
        return input("yes, no or unsure? ").strip().lower() if answers is None else next(answers, "unsure")

    try:
        print(play(executors(given.model), answer, turns=given.turns))
    except il.InterlockError as error:
        sys.exit(str(error))
    except (EOFError, KeyboardInterrupt):
        sys.exit("\nNobody has answered.")


if __name__ == "__main__":
    main()
