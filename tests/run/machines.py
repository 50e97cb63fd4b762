"""Machines that several tests run: a guessing game, and parallel work with a wait, a timer and a child machine."""

from itertools import pairwise
from typing import Any, Literal

from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc


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


class Left(il.Event):
    """Finish the left side."""


class Right(il.Event):
    """Finish the right side."""


class Go(il.Event, actor="human"):
    """Go on."""


pair_agent = il.setup_agent(context=None, events=[Left, Right, Go])


def deciding_pair(**left: Any) -> il.Machine[Any, None, Any]:
    """Two regions that each ask for a decision."""

    def region(event: type[il.Event], **more: Any) -> sc.State:
        return pair_agent.state(
            initial="ask",
            states={
                "ask": pair_agent.state(
                    invoke=pair_agent.decide(name=event.type, prompt="?", allowed_events=[event]),
                    on=[pair_agent.on(event, "done")],
                    **more,
                ),
                "done": pair_agent.end(),
            },
        )

    return pair_agent.machine("pair", kind="parallel", states={"left": region(Left, **left), "right": region(Right)})


def work(functions: dict[str, Any], *, parallel: bool = False) -> il.Machine[Any, Any, Any]:
    """One state per function, or one region each; the results are collected under the functions' names."""

    def step(name: str, after: str) -> sc.State:
        return sc.state(
            invoke=sc.invoke(
                name, id=name, on_done=sc.on("", lambda c, out, name=name: sc.goto(after).set({name: out}), to=[after])
            )
        )

    context = dict.fromkeys(functions)
    if parallel:
        regions = {
            name: sc.state(initial="busy", states={"busy": step(name, "over"), "over": sc.final()})
            for name in functions
        }
        return sc.machine("work", context=context, sources=functions, kind="parallel", states=regions, output=dict)
    names = [*functions, "over"]
    states = {name: step(name, after) for name, after in pairwise(names)}
    return sc.machine(
        "work", context=context, sources=functions, initial=names[0], states={**states, "over": sc.final()}, output=dict
    )
