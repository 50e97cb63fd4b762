"""What the script and the small model know about the world in twenty questions: some things, and some questions.

A model of 135 million parameters writes no sensible question of its own, so here it picks among these: its decoding is
held to the questions that still tell things apart, and to the things that still fit the answers. A larger model asks
whatever it likes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import interlock as il
from interlock.agent.descriptors import EventDescriptor
from interlock.cli.demos.twenty_questions import Answered, Game

__all__ = ["fitting", "script_turn", "telling", "with_knowledge"]

_THINGS: Mapping[str, str] = {
    "a cat": "alive animal home legs soft small",
    "a dog": "alive animal home legs soft",
    "an elephant": "alive animal legs big",
    "a horse": "alive animal legs big ride",
    "an eagle": "alive animal legs flies",
    "a bee": "alive animal legs flies small",
    "a shark": "alive animal water big",
    "a goldfish": "alive animal water home small",
    "a tree": "alive big",
    "a rose": "alive small",
    "an apple": "eat small",
    "bread": "eat home soft small",
    "cheese": "eat home soft small cold",
    "ice cream": "eat soft small cold",
    "a bicycle": "metal ride",
    "a car": "metal ride big",
    "a train": "metal ride big rails",
    "a plane": "metal ride big flies",
    "a ship": "metal ride big water",
    "a key": "metal home small",
    "a spoon": "metal home small eats-with",
    "a telephone": "metal home small electric talk",
    "a television": "home electric",
    "a computer": "metal home electric talk",
    "a fridge": "metal home electric big cold",
    "a lamp": "home electric light",
    "a candle": "home small light",
    "the sun": "big light sky",
    "the moon": "big light sky cold",
    "a book": "home small paper",
    "a newspaper": "home paper",
    "a pillow": "home soft",
    "a chair": "home legs",
    "a table": "home legs big",
    "a house": "big",
    "snow": "cold soft sky",
}

_QUESTIONS: Mapping[str, str] = {
    "Is it alive?": "alive",
    "Is it an animal?": "animal",
    "Is it found in a home?": "home",
    "Is it mostly made of metal?": "metal",
    "Is it bigger than a person?": "big",
    "Can you hold it in one hand?": "small",
    "Can you eat it?": "eat",
    "Does it have legs?": "legs",
    "Is it soft?": "soft",
    "Can it fly?": "flies",
    "Does it live or move in water?": "water",
    "Can you ride in it or on it?": "ride",
    "Does it need electricity?": "electric",
    "Is it cold?": "cold",
    "Does it give light?": "light",
    "Is it made of paper?": "paper",
    "Is it up in the sky?": "sky",
    "Do people talk to each other with it?": "talk",
    "Does it run on rails?": "rails",
    "Do people eat with it?": "eats-with",
}


def fitting(asked: Sequence[Answered]) -> list[str]:
    """Return the things that agree best with the answers: with all of them, or with all but as few as can be."""

    def misses(thing: str) -> int:
        known = _THINGS[thing].split()
        return sum(
            (_QUESTIONS[said.question] in known) != (said.answer == "yes")
            for said in asked
            if said.question in _QUESTIONS and said.answer in ("yes", "no")
        )

    fewest = min(misses(thing) for thing in _THINGS)
    return [thing for thing in _THINGS if misses(thing) == fewest]


def telling(asked: Sequence[Answered]) -> list[str]:
    """Return the questions that tell the things apart that are left, the one that halves them best first."""
    left = fitting(asked)
    done = {said.question for said in asked}

    def of_yes(question: str) -> int:
        return sum(_QUESTIONS[question] in _THINGS[thing].split() for thing in left)

    open_ones = [question for question in _QUESTIONS if question not in done and 0 < of_yes(question) < len(left)]
    return sorted(open_ones, key=lambda question: abs(2 * of_yes(question) - len(left)))


def script_turn(game: Game, request: il.DecisionRequest) -> il.Choice:
    """Halve what is left until one thing is; on the last turn ask all the same, to show what comes of it."""
    questions = telling(game.asked)
    if questions and not request.attempts:
        why = f"it halves the {len(fitting(game.asked))} things that the script knows and that fit"
        return il.Choice(event={"type": "Ask", "question": questions[0]}, reason=why)
    return il.Choice(event={"type": "Guess", "guess": fitting(game.asked)[0]}, reason="it fits all the answers")


def with_knowledge(game: Game, request: il.DecisionRequest) -> il.DecisionRequest:
    """Return a request whose fields can only be filled with what makes sense here, without what was just refused."""
    refused = [(attempt.event or {}).get("type") for attempt in request.attempts if attempt.counts]
    # The five best of each: a longer list only makes the small model slower.
    words = {"Ask": ("question", telling(game.asked)[:5]), "Guess": ("guess", fitting(game.asked)[:5])}
    guessing = not words["Ask"][1] or "Ask" in refused
    wanted = "Guess" if guessing else "Ask"
    events = tuple(_held_to(event, *words[event.type]) for event in request.events if event.type == wanted)
    return replace(request, events=events or request.events, attempts=())


def _held_to(event: EventDescriptor, name: str, values: Sequence[str]) -> EventDescriptor:
    schema = {**event.input_schema, "properties": {name: {"type": "string", "enum": list(values)}}}
    return replace(event, input_schema=schema)
