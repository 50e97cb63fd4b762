"""The machines that hostile models are let loose on, with what fits their events and the work that they bound.

Each says how many model calls it can lead to at most, whatever is answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

import interlock as il

# -- events ----------------------------------------------------------------------------------------------------------


class Attack(il.Event):
    """Attack with a weapon."""

    weapon: Literal["sword", "bow"]


class Flee(il.Event):
    """Run away."""


class Stay(il.Event, type="wait.here"):
    """Stay where you are."""


class Pay(il.Event, type="money.pay"):
    """Pay, if there is enough."""

    amount: int


class Walk(il.Event):
    """Walk; who walks far needs a person for it."""

    steps: int


class Approve(il.Event, actor="human"):
    """Only people approve."""

    by: str = ""


class Close(il.Event):
    """Close; here only people do so."""


class Colour(Enum):
    RED = "red"
    GREEN = 2


class Address(BaseModel, frozen=True):
    street: Annotated[str, StringConstraints(min_length=1, max_length=20, pattern=r"^[A-Z]")]
    number: Annotated[int, Field(ge=1, le=9999)] | None = None


class Person(BaseModel, frozen=True, extra="forbid"):
    name: str
    born: date
    homes: tuple[Address, ...] = ()


class Cat(BaseModel, frozen=True):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel, frozen=True):
    kind: Literal["dog"]
    name: str | None = None


class Everything(il.Event, type="all.kinds"):
    """Every kind of field."""

    who: Person
    colour: Colour = Colour.RED
    at: datetime | None = None
    long: timedelta = timedelta(0)
    price: Annotated[Decimal, Field(max_digits=12, decimal_places=2)] = Decimal(0)
    either: int | str | bool = 0
    choice: Literal["a", "b", 3] = "a"
    word: Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True, max_length=8)] = ""
    ratio: float = 0.5
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    tags: tuple[str, ...] = ()
    free: Any = None
    named: int = Field(default=0, alias="Name-d")


FITTING: dict[str, list[dict[str, Any]]] = {
    "Attack": [{"weapon": "bow"}],
    "Flee": [{}],
    "wait.here": [{}],
    "money.pay": [{"amount": 3}, {"amount": 11}],
    "Walk": [{"steps": 1}, {"steps": 9}],
    "Approve": [{"by": "the model"}],
    "Close": [{}],
    "all.kinds": [
        {"who": {"name": "Ada", "born": "1815-12-10"}},
        {
            "who": {"name": "Ada", "born": "1815-12-10", "homes": [{"street": "Main", "number": 2}]},
            "colour": 2,
            "at": "2026-01-02T03:04:05.678+01:00",
            "long": "P1DT2S",
            "price": "12.50",
            "either": "7",
            "choice": 3,
            "word": " ABC ",
            "ratio": 1,
            "pet": {"kind": "dog"},
            "tags": ["x"],
            "free": {"a": [1, None]},
            "Name-d": 4,
        },
    ],
}

EVENTS = [Attack, Flee, Stay, Pay, Walk, Approve, Close, Everything]


class Ground(BaseModel, frozen=True):
    rounds: int = 0
    budget: int = 10
    failure: str | None = None
    said: str | None = None
    word: str = ""


agent = il.setup_agent(context=Ground, events=EVENTS, output=str)


# -- tools -----------------------------------------------------------------------------------------------------------


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def look(word: str, at: Person | None = None) -> str:
    """Look a word up."""
    return f"{word}: {at}"


async def echo(value: Any) -> Any:
    """Say it again."""
    return value


def fail(how: Literal["speak", "mute", "half"] = "speak") -> str:
    """Fail."""
    raise {"speak": KeyError("x"), "mute": UnspeakableError(), "half": ValueError("\ud800")}[how]


TOOLS = [look, echo, fail]
TOOL_INPUTS: dict[str, dict[str, Any]] = {
    "look": {"word": "rain"},
    "echo": {"value": [1, "x"]},
    "fail": {"how": "mute"},
}


# -- machines --------------------------------------------------------------------------------------------------------


def _again(context: Ground, state: str) -> Any:
    if context.rounds >= 2:
        return agent.goto("over")
    return agent.goto(state, rounds=context.rounds + 1).reenter()


def _handlers(state: str) -> list[Any]:
    """What a state that works with a model handles: of each kind of event and guard one."""
    return [
        agent.on(Attack, lambda c, event: _again(c, state)),
        agent.on(Everything, lambda c, event: agent.stay(word=event.word)),
        agent.on(Flee, "over"),
        agent.on(Stay, lambda c, _: agent.stay()),
        agent.on(
            Pay,
            lambda c, event: agent.stay(budget=c.budget - event.amount) if 0 <= event.amount <= c.budget else None,
        ),
        agent.on(Walk, "closed", guard=lambda c, event: event.steps > 5, meta={"actor": "human"}),
        agent.on(Walk, lambda c, event: _again(c, state)),
        agent.on(Approve, "closed"),
        agent.on(Close, "closed", meta={"actor": "human"}),
    ]


def _failed(state: str, most: int = 2) -> Any:
    """Try again a few times: so one answer that is none does not end the run."""

    def failed(context: Ground, error: Any) -> Any:
        noted = {"failure": getattr(error, "code", None), "said": str(getattr(error, "message", error))}
        if context.rounds >= most:
            return agent.goto("waiting", **noted)
        return agent.goto(state, rounds=context.rounds + 1, **noted).reenter()

    return failed


def _ends() -> dict[str, Any]:
    return {
        "waiting": agent.state(on=[agent.on(Approve, "closed"), agent.on(Flee, "over")]),
        "over": agent.final(output=lambda c: f"{c.rounds} {c.budget} {c.word}"),
        "closed": agent.final(output="closed by a person"),
    }


def decider(**fields: Any) -> il.Machine[Any, Any, Any]:
    return agent.machine(
        "decider",
        context=Ground(),
        initial="choosing",
        states={
            "choosing": agent.state(
                invoke=agent.decide(
                    model="quick",
                    prompt=lambda c: f"Round {c.rounds}.",
                    **{
                        "max_retries": 3,
                        "on_error": _failed("choosing"),
                        "on_done": lambda c, event: _again(c, "choosing"),
                    }
                    | fields,
                ),
                on=_handlers("choosing"),
            ),
            **_ends(),
        },
    )


def stubborn() -> il.Machine[Any, Any, Any]:
    """A decision whose failure nobody handles: the machine fails with it."""
    return decider(max_retries=1, on_error=None, on_done="waiting")


def planner(*, atomic: bool = False) -> il.Machine[Any, Any, Any]:
    return agent.machine(
        "planner",
        context=Ground(),
        initial="planning",
        states={
            "planning": agent.state(
                invoke=agent.plan(
                    model="quick",
                    prompt="Plan.",
                    max_steps=3,
                    max_retries=2,
                    stop_on=[Stay],
                    atomic=atomic,
                    on_error=_failed("planning"),
                    on_done=lambda c, result: agent.goto("waiting", word=result.stopped),
                ),
                on=_handlers("planning"),
            ),
            **_ends(),
        },
    )


def actor(**fields: Any) -> il.Machine[Any, Any, Any]:
    return agent.machine(
        "actor",
        context=Ground(),
        initial="acting",
        states={
            "acting": agent.state(
                invoke=agent.act(
                    model="quick",
                    prompt="Act.",
                    tools=TOOLS,
                    max_steps=4,
                    on_error=_failed("acting"),
                    on_done=lambda c, text: agent.goto("waiting", word=text),
                    **fields,
                ),
                on=_handlers("acting"),
            ),
            **_ends(),
        },
    )


def writer(mode: str = "generate", output: Any = str) -> il.Machine[Any, Any, Any]:
    word = agent.stream_text if mode == "stream" else agent.generate_text
    return agent.machine(
        "writer",
        context=Ground(),
        initial="writing",
        states={
            "writing": agent.state(
                invoke=word(
                    output=output,
                    model="quick",
                    prompt="Write.",
                    tools=TOOLS,
                    max_steps=4,
                    on_error=_failed("writing"),
                    on_done=lambda c, out: agent.goto("waiting", word=str(out)),
                )
            ),
            **_ends(),
        },
    )


def pair() -> il.Machine[Any, Any, Any]:
    """Two decisions at once, over the same events: what one of them picks can make the other's choice illegal."""

    def region(name: str) -> Any:
        return agent.state(
            initial="asking",
            states={
                "asking": agent.state(
                    invoke=agent.decide(name=name, model="quick", prompt="?", max_retries=2, on_error="failed"),
                    on=[
                        agent.on(Attack, "done"),
                        agent.on(Approve, "done"),
                        agent.on(
                            Pay,
                            lambda c, event: (
                                agent.goto("done", budget=c.budget - event.amount)
                                if 0 <= event.amount <= c.budget
                                else None
                            ),
                        ),
                        agent.on(Flee, "done", guard=lambda c, _: c.budget == 10),
                        agent.on(Everything, "done", guard=lambda c, event: event.ratio < 1),
                    ],
                ),
                "failed": agent.state(on=[agent.on(Stay, "done")]),
                "done": agent.end(),
            },
        )

    return agent.machine(
        "pair",
        context=Ground(),
        initial="both",
        states={
            "both": agent.parallel(states={"left": region("left"), "right": region("right")}, on_done="over"),
            **_ends(),
        },
    )


def parent() -> il.Machine[Any, Any, Any]:
    return agent.machine(
        "parent",
        context=Ground(),
        initial="running",
        states={
            "running": agent.state(
                invoke=agent.child(
                    decider(on_error=None, max_retries=2),
                    on_done=lambda c, out: agent.goto("waiting", word=out),
                    on_error=_failed("running"),
                ),
                on=[agent.on(Flee, "over"), agent.on(Approve, "closed")],
            ),
            **_ends(),
        },
    )


@dataclass(frozen=True)
class Ring:
    """A machine, and the most model calls that it leads to."""

    build: Callable[[], il.Machine[Any, Any, Any]]
    most: int


RINGS = {
    "decide": Ring(decider, 3 * 4),
    "stubborn": Ring(stubborn, 3 * 2),
    "plan": Ring(planner, 3 * 3 * 3),
    "atomic": Ring(lambda: planner(atomic=True), 3 * 3 * 3),
    "act": Ring(actor, 3 * 4),
    "write": Ring(writer, 3 * 4),
    "stream": Ring(lambda: writer("stream"), 3 * 4),
    "form": Ring(lambda: writer(output=Person), 3 * 4),
    "pair": Ring(pair, 2 * (3 + 3)),
    "child": Ring(parent, 3 * 3 * 3),
}
MADE: dict[str, il.Machine[Any, Any, Any]] = {}


def made(name: str) -> il.Machine[Any, Any, Any]:
    if name not in MADE:
        MADE[name] = RINGS[name].build()
    return MADE[name]
