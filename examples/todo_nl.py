"""A to-do list that is spoken to: one command becomes several events, each legal when it is sent.

    python examples/todo_nl.py "add milk and eggs, and tick bread off"
    python examples/todo_nl.py "tick eggs, add tea" "clear" --max-steps 3     # one command after the other
    python examples/todo_nl.py                                                # type commands, one a line
    python examples/todo_nl.py "..." --model openai     # OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL

The list begins with bread on it. A plan picks one event after the other, and sees each refusal before it picks the
next: what is not on the list cannot be ticked off. It ends when the model says that it is done (``done``), after a
``Clear`` (``stop-event``), or after ``--max-steps`` (``max-steps``); events that were sent stay sent.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import anyio
from pydantic import BaseModel

import interlock as il


class Add(il.Event):
    """Put a new item on the list."""

    item: str


class Tick(il.Event):
    """Tick an item off: it is done."""

    item: str


class Clear(il.Event):
    """Take everything off the list."""


class Say(il.Event, actor="human"):
    """A command in anyone's words."""

    words: str


class Item(BaseModel, frozen=True):
    name: str
    done: bool = False


class Todo(BaseModel, frozen=True):
    items: tuple[Item, ...] = (Item(name="bread"),)
    words: str = ""
    max_steps: int = 8
    came: str = ""


class Settings(BaseModel, frozen=True):
    max_steps: int = 8


agent = il.setup_agent(context=Todo, events=[Add, Tick, Clear, Say], input=Settings)


def add(todo: Todo, event: Add) -> il.Move | None:
    """Add what is not there yet."""
    if event.item in [item.name for item in todo.items]:
        return None
    return agent.stay(items=(*todo.items, Item(name=event.item)))


def tick(todo: Todo, event: Tick) -> il.Move | None:
    """Tick off what is there and open."""
    if Item(name=event.item) not in todo.items:
        return None
    return agent.stay(items=tuple(Item(name=i.name, done=i.done or i.name == event.item) for i in todo.items))


def planned(todo: Todo, result: il.PlanResult) -> il.Move:
    """Say what a plan has come to, and wait for the next command."""
    steps = [" ".join([step.type, *step.model_dump().values()]) for step in result.steps]
    return agent.goto("listening", came=f"sent: {', '.join(steps) or 'nothing'} ({result.stopped})")


def given_up(todo: Todo, error: il.ErrorInfo) -> il.Move:
    """Say why a plan has failed; what it had sent before stays sent."""
    return agent.goto("listening", came=f"given up ({error.code})")


machine = agent.machine(
    "todo",
    context=lambda settings: Todo(max_steps=settings.max_steps),
    initial="listening",
    states={
        "listening": agent.state(on=[agent.on(Say, lambda todo, event: agent.goto("planning", words=event.words))]),
        "planning": agent.state(
            invoke=agent.plan(
                name="command",
                model="quick",
                system="Carry out a command for a to-do list, one event at a time, in its order.",
                prompt=lambda todo: f"On the list: {', '.join(i.name for i in todo.items)}\nCommand: {todo.words}",
                stop_on=[Clear],
                max_steps=lambda todo: todo.max_steps,
                on_done=planned,
                on_error=given_up,
            ),
            on=[
                agent.on(Add, add),
                agent.on(Tick, tick),
                agent.on(Clear, lambda todo, event: agent.stay(items=()) if todo.items else None),
            ],
        ),
    },
)

VERBS = {"add": "Add", "tick": "Tick"}


def meant(words: str) -> list[Mapping[str, object]]:
    """Return what a command comes to, by rule: a verb holds for all that follows, until there is another."""
    found: list[Mapping[str, object]] = []
    verb = "add"
    for part in re.split(r",|\band\b", words.lower()):
        first, *rest = part.removesuffix(" off").split() or [""]
        verb, name = (first, " ".join(rest)) if first in VERBS else (verb, " ".join([first, *rest]))
        if first == "clear":
            found.append({"type": "Clear"})
        elif name:
            found.append({"type": VERBS[verb], "item": name})
    return found


def scripted(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
    """Play the model: what comes after the last event that was sent, without what was refused since."""
    wanted = meant(str(request.prompt).rpartition("Command: ")[2])
    if isinstance(request, il.PlanRequest) and request.applied:
        wanted = wanted[wanted.index(request.applied[-1]) + 1 :]
    refused = [attempt.event for attempt in request.attempts]
    return il.Choice(next((event for event in wanted if event not in refused), {"type": "agent.plan.done"}))


def executors(model: str) -> il.Executors:
    """Return who plans."""
    if model == "openai":
        from interlock.adapters.openai import openai_executors

        return openai_executors(models={"quick": os.environ.get("OPENAI_MODEL", "gpt-5-mini")})
    return il.Executors(decide=scripted)


def show_refusal(event: il.TraceEvent) -> None:
    """Show what the machine did not let the model do."""
    if isinstance(event, il.ChoiceRefused):
        print(f"  refused: {event.attempt.event}")


def told(todo: Todo) -> str:
    """Return what a command has come to, and the list."""
    items = ", ".join(f"[{'x' if item.done else ' '}] {item.name}" for item in todo.items)
    return f"  {todo.came}\n{items or '(nothing on the list)'}"


def spoken(given: Iterable[str]) -> Iterator[str]:
    """Return the commands that are given, each shown before it is carried out."""
    for words in given:
        print(f"> {words}")
        yield words


def typed() -> Iterator[str]:
    """Return commands as they are typed, until there are no more."""
    while True:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # an event loop's would wait for a line first
        try:
            words = input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return
        finally:
            signal.signal(signal.SIGINT, before)
        if words:
            yield words


async def talk(commands: Iterable[str], models: il.Executors, *, max_steps: int) -> None:
    """Carry out one command after the other."""
    settings = Settings(max_steps=max_steps)
    async with il.AgentSession(machine, input=settings, executors=models, on_trace=show_refusal) as session:
        for words in commands:
            await session.send(Say(words=words))
            result = await session.settled()
            if isinstance(result, il.Failed):
                sys.exit(f"failed ({result.error.code}): {result.error.message}")
            print(told(result.snapshot.context))


def main() -> None:
    """Read the command line, and carry out what is said."""
    parser = argparse.ArgumentParser(description="A to-do list that is spoken to.")
    parser.add_argument("commands", nargs="*", help="what to do; without any, they are read line by line")
    parser.add_argument("--max-steps", type=int, default=8, help="events a command may come to (default: %(default)s)")
    parser.add_argument("--model", choices=("scripted", "openai"), default="scripted")
    given = parser.parse_args()
    interactive = not given.commands and sys.stdin.isatty()
    commands = typed() if interactive else spoken(given.commands or (line.strip() for line in sys.stdin))
    try:
        anyio.run(partial(talk, commands, executors(given.model), max_steps=given.max_steps))
    except il.InterlockError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
