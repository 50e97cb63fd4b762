# fmt: off
from datetime import date, timedelta
from enum import Enum
from typing import Annotated, Literal

from pydantic import BaseModel, Field
from typing_extensions import assert_type

import interlock as il
import interlock.statechart as sc


class Next(il.Event):
    """Go on."""


class Set(il.Event, type="count.set"):
    """Set the count."""
    count: Annotated[int, Field(ge=0)]


class Reset(il.Event, type="count.reset", actor="human"):
    """Start again."""


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class State(BaseModel, frozen=True):
    count: int = 0
    level: Level = Level.LOW
    day: date | None = None
    names: frozenset[str] = frozenset()
    notes: il.FrozenDict[str, str] = il.FrozenDict()


class Start(BaseModel):
    count: int = 0


class Report(BaseModel):
    count: int
    level: Level


agent = il.setup_agent(context=State, events=[Next, Set, Reset])

# A machine of one state.
assert_type(agent.machine("one", initial="a", states={"a": agent.state()}), sc.Machine[State, None, object])

# A toggle.
agent.machine("toggle", initial="off", states={
    "off": agent.state(on=[agent.on(Next, "on")]),
    "on": agent.state(on=[agent.on(Next, "off")]),
})

# A counter that checks its fields.
agent.machine("counter", context=State(count=3), initial="a", states={
    "a": agent.state(on=[
        agent.on(Set, lambda state, event: agent.stay(count=event.count, level=Level.HIGH if event.count > 9 else Level.LOW)),
        agent.on(Reset, agent.stay(count=0, names=frozenset({"x"}), notes=il.FrozenDict({"a": "b"}))),
    ]),
})

# A pattern and everything else.
agent.machine("patterns", initial="a", states={
    "a": agent.state(on=[
        agent.on("count.*", lambda state, event: agent.stay(names=state.names | {event.type})),
        agent.on("*", lambda state, event: agent.stay(names=state.names | {event.type})),
    ]),
})

# Regions.
agent.machine("regions", kind="parallel", states={
    "left": agent.state(initial="x", states={"x": agent.state(on=[agent.on(Next, "y")]), "y": agent.end()}),
    "right": agent.state(initial="x", states={"x": agent.state(on=[agent.on(Next, ["y"])]), "y": agent.end(output=3)}),
})

# History and choice.
agent.machine("history", initial="work", states={
    "work": agent.state(initial="a", states={
        "a": agent.state(on=[agent.on(Next, "b")]), "b": agent.state(), "last": agent.history(target="a"),
    }, on=[agent.on(Reset, "paused")]),
    "paused": agent.state(on=[agent.on(Next, "which")]),
    "which": agent.choice(lambda state: agent.goto("#again" if state.count else "work"), to=["#again", "work"]),
    "again": agent.state(id="again", always=[agent.always("work.last")]),
})

# Time.
agent.machine("time", initial="a", delays={"long": timedelta(days=1), "some": lambda state: float(state.count)}, states={
    "a": agent.state(after=[agent.after("long", "b"), agent.after(0.5, lambda state: agent.stay(count=1))]),
    "b": agent.state(timeout="some", on_timeout="a"),
})

# Input and output.
typed = il.setup_agent(context=State, events=[Next], input=Start, output=Report)
whole = typed.machine("typed", context=lambda start: State(count=start.count), initial="a", states={
    "a": typed.final(output=lambda state: Report(count=state.count, level=state.level)),
})
assert_type(whole, sc.Machine[State, Start, Report])
assert_type(il.run_agent_sync(whole, input=Start()), il.Done[Report, State] | il.Idle[State] | il.Failed[State])

# An output that may be missing, and one that is a union.
maybe = il.setup_agent(context=State, events=[Next], output=str)
maybe.machine("maybe", initial="a", states={"a": maybe.final(output="x")})
literal: il.Agent[..., State, None, Literal["a", "b"]] = il.setup_agent(context=State, events=[Next])

# Functions that are methods, and functions defined elsewhere.
class Rules:
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def on_set(self, state: State, event: Set) -> il.Move | None:
        return agent.stay(count=event.count) if event.count < self.limit else None

    def full(self, state: State) -> bool:
        return state.count >= self.limit

rules = Rules(10)
agent.machine("rules", initial="a", states={
    "a": agent.state(on=[agent.on(Set, rules.on_set)], always=[agent.always("b", guard=rules.full)]),
    "b": agent.state(),
})

# A handler for several kinds of event.
def on_any(state: State, event: il.Event) -> il.Move:
    return agent.stay(names=state.names | {event.type})

agent.on(Next, on_any)
agent.on("count.*", on_any)

# States made by functions of the author.
def step(then: str, *, tag: str = "step") -> sc.State:
    return agent.state(on=[agent.on(Next, then)], tags=[tag])

agent.machine("made", initial="a", states={"a": step("b"), "b": step("c"), "c": agent.final()})

# One decision for several states, with what it may pick as a function.
pick = agent.decide(allowed_events=lambda state: [Next, Set] if state.count else Next, on_done=lambda state, event: None)
agent.machine("pick", initial="a", states={
    "a": agent.state(invoke=pick, on=[agent.on(Next, "b")]), "b": agent.state(invoke=[pick], on=[agent.on(Set, "a")]),
})
