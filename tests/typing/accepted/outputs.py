# fmt: off
from datetime import timedelta

from pydantic import BaseModel
from typing_extensions import assert_type

import interlock as il
import interlock.statechart as sc


class Go(il.Event):
    text: str


class Progress(il.Event):
    done: int


class Work(BaseModel, frozen=True):
    text: str = ""
    count: int = 0


class Summary(BaseModel):
    words: tuple[str, ...]


class Sides(BaseModel):
    left: Summary
    right: int


models = {"quick": "house/tiny", "deep": "house/huge"}
agent = il.setup_agent(context=Work, events=[Go], output=int, emits=[Progress], models=models)
assert_type(il.parse_model_ref(agent.models["quick"]).provider, str | None)
provider, name = il.parse_model_ref("house/tiny")


def on_summary(work: Work, summary: Summary) -> il.Move | None:
    return agent.goto("over", text=" ".join(summary.words))


# The output of a state's end, as its declared type.
agent.state(
    initial="a",
    states={"a": agent.state(), "end": agent.end(output=lambda work: Summary(words=(work.text,)))},
    on_done=agent.done(Summary, lambda work, summary: agent.goto("over", count=len(summary.words))),
)
agent.parallel(
    states={"left": agent.end(output=Summary(words=())), "right": agent.end(output=3)},
    on_done=agent.done(Sides, lambda work, sides: agent.goto("over", count=sides.right + len(sides.left.words))),
)
agent.done(Summary, on_summary, to=["over"])
agent.done(Summary, "over", guard=lambda work, summary: len(summary.words) > work.count)
agent.done(int, lambda work, count: agent.stay(count=count + work.count))
agent.state(on_done=lambda work, output: agent.stay(text=repr(output)))
agent.state(on_done="over", on_error=["left", "right"])
agent.state(on_done=agent.goto("over").emit(Progress(done=1)))

# Inputs of states.
agent.state(initial=("a", {"first": True}), states={"a": agent.state()})
agent.on(Go, lambda work, go: agent.goto("a").with_input(go.text).reenter())
agent.on_at(Go, lambda work, go, at: agent.stay(text=f"{at.input} {at.value} {dict(at.children)}"))
agent.on_at("*", lambda work, event, at: agent.stay(text=event.type))

# Moves carry effects.
move: il.Move = (
    agent.stay(count=1).emit(Progress(done=1)).raise_(Go(text="x"), delay=timedelta(seconds=3), id="later")
    .send("child", Go(text="x")).spawn("work", id="w", input={"x": 1}).stop("w").cancel("later").log("text", 3)
    .set({"text": "x"})
)

# Everything that a state may hold.
agent.state(
    id="whole", entry=move, exit=lambda work: agent.stay(count=0), tags="busy", meta={"label": "x"}, description="x",
    timeout=timedelta(minutes=5), on_timeout=lambda work: agent.goto("over") if work.count else None,
    on=[agent.on("Go", "over", reenter=True, description="off", meta={"actor": "human"})],
    states={"a": agent.state(), "h": agent.history(deep=True, target=["a"]), "c": agent.choice(lambda work: agent.goto("a"))},
    initial="a",
)
machine = agent.machine(
    "whole", initial="a", context=Work(), version="1", migrate=lambda dump, version: dump,
    delays={"soon": lambda work: work.count + 1.5, "late": timedelta(hours=1), "now": 0}, sources={"work": print},
    states={"a": agent.state(after=[agent.after("soon", "b"), agent.after("late", agent.goto("b"))]), "b": agent.final(output=3)},
    on=[agent.on(Go, ".b")], tags=["x"], meta={"x": 1},
)
assert_type(machine, sc.Machine[Work, None, int])
