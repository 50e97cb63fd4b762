"""Events of every shape, and decisions about them."""

import json
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

import interlock as il
from interlock.agent import DecisionAttempt, DecisionRequest, Event
from interlock.agent.decisions import judge_choice
from interlock.agent.descriptors import describe

from .openai_server import Answer


class Approve(Event):
    """Approve the order."""


class Refund(Event):
    """Pay back."""

    amount: int
    note: str | None = None
    days: int = 14


class Cat(BaseModel, frozen=True):
    """A cat."""

    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel, frozen=True):
    kind: Literal["dog"]
    name: str = Field(min_length=1, description="What it answers to")


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Node(BaseModel, frozen=True):
    label: str
    below: tuple["Node", ...] = ()


class Adopt(Event, type="adopt.pets"):
    """Take pets in."""

    pets: tuple[Pet, ...]
    favourite: Cat | None = None
    main: Dog = Field(description="The one to call")


class Grow(Event):
    """A tree of nodes."""

    root: Node


class Count(Event):
    """Free keys."""

    counts: il.FrozenDict[str, int]


class Formats(Event):
    """All that a schema may say of texts and numbers."""

    at: datetime
    key: UUID
    code: str = Field(pattern=r"^[A-Z]{3}$", max_length=3)
    odd: str = Field(default="x", pattern=r"^x(y|z)*$")
    share: float = Field(ge=0, le=1, multiple_of=0.25)
    level: Literal["low", "high"] | None = None
    pair: tuple[int, ...] = Field(default=(1, 2), min_length=1, max_length=3)


class Pay(Event, type="pay now"):
    """Pay."""


class Delete(Event, type="löschen"):
    """Remove."""


LONG = tuple(type("Long", (Event,), {"__module__": __name__}, type="x" * 74 + end) for end in ("abcdef", "bbcdef"))


def request(*events: type[Event], **more) -> DecisionRequest:
    more = {"prompt": "The customer wants 20 back.", **more}
    return DecisionRequest(id="triage", name="triage", model="gpt-test", events=describe(events), **more)


def judged(asked: DecisionRequest, choice) -> Event | DecisionAttempt:
    return judge_choice(asked, choice, asked.event_classes(), lambda event: None)


def answering(asked: DecisionRequest, by: str, kind: str, fields: dict) -> Answer:
    """Return an answer that chooses an event, in either form."""
    if by == "json":
        return Answer(text=json.dumps({"event": {"type": kind, **fields}}))
    name = next(event.tool_name for event in asked.events if event.type == kind)
    return Answer(calls=[(name, json.dumps(fields))])
