# fmt: off
from datetime import timedelta

from pydantic import BaseModel

import interlock.agent as il
import interlock.statechart as sc
from interlock.errors import ErrorInfo


class Ping(il.Event):
    count: int


class Add(il.Event, type="note.add"):
    text: str


class Note(BaseModel, frozen=True):
    count: int = 0
    text: str = ""


class Page(BaseModel):
    title: str


agent = il.setup_agent(context=Note, events=[Ping, Add], output=int)


async def fetch(url: str) -> Page:
    return Page(title=url)


def measure(text: str) -> int:
    return len(text)


def on_ping(note: Note, ping: Ping) -> sc.Move | None:
    return agent.stay(count=note.count + ping.count) if ping.count else None


def on_failure(note: Note, error: ErrorInfo) -> sc.Move:
    return agent.goto("failed", text=f"{note.text}: {error.code}")


# Transitions: a handler, a lambda, a target, a move, a pattern, a wide handler.
agent.on(Ping, on_ping, meta={"actor": "human"})
agent.on(Ping, lambda note, ping: agent.stay(count=note.count + ping.count), guard=lambda note, ping: ping.count > 0)
agent.on(Ping, "there", reenter=True)
agent.on(Ping, ["left", "right"])
agent.on(Ping, agent.goto("there", count=3).emit(Add(text="x")), description="off it goes")
agent.on("Ping", lambda note, event: agent.stay(text=event.type))
agent.on("note.*", lambda note, event: agent.goto("there") if note.count else None, to=["there"])
agent.on("*", lambda note, event: agent.stay(text=event.type))
agent.on_at(Ping, lambda note, ping, at: agent.stay(count=ping.count) if at.matches("there") else None)

# Time and conditions.
agent.after(3, "there")
agent.after(timedelta(minutes=1), lambda note: agent.goto("there", count=note.count))
agent.after("soon", agent.goto("there"), guard=lambda note: note.count > 0)
agent.always(lambda note: agent.goto("there") if note.count > 3 else None)
agent.always("there", guard=lambda note: note.count > 3)

# Work.
agent.call(fetch, input=lambda note: {"url": note.text}, on_done=lambda note, page: agent.stay(text=page.title))
agent.call(measure, input={"text": "x"}, on_done=lambda note, length: agent.goto("there", count=length))
agent.call(measure, input=lambda note: note.text, on_error=on_failure, timeout=3, on_timeout="failed", id="m")
agent.decide(
    id="pick",
    model=lambda note: "big" if note.count else "small",
    messages=lambda note: [{"role": "user", "content": note.text}],
    allowed_events=lambda note: [Ping, "note.*"] if note.count else "*",
    max_retries=lambda note: note.count,
    temperature=0.5,
    on_done=lambda note, event: agent.stay(text=event.type),
    on_error=lambda note, error: agent.stay(text=error.message),
)
agent.decide(allowed_events=Ping)
agent.decide(allowed_events="note.*", prompt=lambda note: None)

# States.
agent.state(
    initial="a",
    states={"a": agent.state(), "end": agent.end(output=lambda note: note.text), "back": agent.history(deep=True)},
    entry=lambda note: agent.stay(count=0),
    exit=agent.stay(text=""),
    invoke=[agent.decide(), agent.call(measure)],
    on_done=lambda note, output: agent.goto("there", text=str(output)),
    on_error=on_failure,
    timeout="soon",
    on_timeout=lambda note: agent.goto("there"),
    tags=["busy"],
    meta={"label": "x"},
)
agent.choice(lambda note: agent.goto("a" if note.count else "b"), to=["a", "b"])
agent.parallel(states={"a": agent.state(), "b": agent.state()}, on_done="there")
agent.final(output=lambda note: note.count)
agent.final(output=3, tags="over")
agent.end(output="text")
