"""A game of Nim against a model, whose host owns the loop and the log: kill it anywhere, and start it again.

    python examples/game_host.py                         # 21 matches; whoever takes the last one loses
    python examples/game_host.py                         # stopped? The same game goes on from its file, nim.jsonl
    python examples/game_host.py --log evening.jsonl     # another file, another game
    python examples/game_host.py --model local           # a small model on this computer (extra: local)
    python examples/game_host.py --model openai          # OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL

The host takes the steps itself. Each gives the entries that the log grows by; they are on the disk before anything else
happens. So a move that was made is never lost, and dying costs at most the one call of the model that was under way. A
line that was cut off by a crash is thrown away: what it would have said has not happened. One host at a time: a file
does not notice two writers, as a store would.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
from pydantic import BaseModel, Field

import interlock as il


class Take(il.Event):
    """Take one, two or three matches."""

    matches: int = Field(ge=1, le=3)


class Start(BaseModel, frozen=True):
    matches: int = Field(default=21, ge=2)


class Nim(BaseModel, frozen=True):
    left: int = 21
    moves: tuple[str, ...] = ()


agent = il.setup_agent(context=Nim, events=[Take], input=Start, output=str)


def person_takes(nim: Nim, event: Take) -> il.Move | None:
    """Take matches, if there are so many; then it is the model's turn."""
    if event.matches > nim.left:
        return None
    return agent.goto("model", left=nim.left - event.matches, moves=(*nim.moves, f"you take {event.matches}"))


def model_takes(nim: Nim, event: Take) -> il.Move | None:
    """Take matches, if there are so many; then it is the person's turn."""
    if event.matches > nim.left:
        return None
    return agent.goto("person", left=nim.left - event.matches, moves=(*nim.moves, f"the model takes {event.matches}"))


machine = agent.machine(
    "nim",
    version="1",
    context=lambda start: Nim(left=start.matches),
    initial="person",
    states={
        "person": agent.state(
            always=[agent.always("won", guard=lambda nim: nim.left == 0)],
            on=[agent.on(Take, person_takes, meta={"actor": "human"})],
        ),
        "model": agent.state(
            always=[agent.always("lost", guard=lambda nim: nim.left == 0)],
            invoke=agent.decide(
                name="move",
                model="quick",
                system="Nim: each takes one, two or three matches; whoever takes the last one loses.",
                prompt=lambda nim: f"{nim.left} matches are left. How many do you take?",
                on_error="given_up",
            ),
            on=[agent.on(Take, model_takes)],
        ),
        "won": agent.final(output="You win."),
        "lost": agent.final(output="The model wins."),
        "given_up": agent.final(output="The model gives up."),
    },
)


class Log:
    """Entries in a file, one a line."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> list[il.LogEntry]:
        """Return all entries; throws away what a crash has left of a line."""
        if not self._file.exists():
            return []
        text = self._file.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if whole != text:
            os.truncate(self._file, len(whole))
        return [il.LogEntry.from_json(json.loads(line)) for line in whole.splitlines()]

    def append(self, entries: Sequence[il.LogEntry]) -> None:
        """Return when the entries are on the disk."""
        with self._file.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(entry.to_json()) + "\n" for entry in entries)
            file.flush()
            os.fsync(file.fileno())


async def host(log: Log, models: il.Executors, ask: Callable[[Nim], str]) -> str:
    """Play the game to its end, from wherever its log ends."""
    entries = log.read()
    if entries:
        step = il.initial_agent_step(machine, entries=entries, at=time.time())
    else:
        step = il.initial_agent_step(machine, Start(), at=time.time(), execution_id=uuid.uuid4().hex)
    log.append(step.entries)
    while not step.done:
        if step.requests:
            step = await il.resolve_agent_requests(machine, step, models)
        else:
            try:
                event = il.parse_event(machine, {"type": "Take", "matches": ask(step.snapshot.context)})
            except il.InputError as error:
                print(error)
                continue
            if not step.snapshot.can(event):
                print("There are not so many.")
                continue
            step = il.transition_agent_step(machine, step, event, at=time.time())
        log.append(step.entries)
    print("\n".join(step.snapshot.context.moves))
    return str(step.snapshot.output)


def scripted(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
    """Play the model, and play it well: leave one more than a multiple of four."""
    found = re.match(r"\d+", str(request.prompt))
    left = int(found[0]) if found else 1
    return il.Choice(Take(matches=(left - 1) % 4 or 1))


def executors(model: str) -> il.Executors:
    """Return who plays the model."""
    if model == "openai":
        from interlock.adapters.openai import openai_executors

        return openai_executors(models={"quick": os.environ.get("OPENAI_MODEL", "gpt-5-mini")})
    if model == "local":
        from interlock.adapters.writing import local_writer

        return local_writer()
    return il.Executors(decide=scripted)


def ask(nim: Nim) -> str:
    """Ask the person at the keyboard."""
    print(*nim.moves[-1:], f"Matches left: {nim.left}.")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # an event loop's would wait for the answer first
    try:
        return input("How many do you take? ")
    finally:
        signal.signal(signal.SIGINT, before)


def main() -> None:
    """Read the command line, and play."""
    parser = argparse.ArgumentParser(description="Nim against a model; the game outlives its host.")
    parser.add_argument("--log", type=Path, default=Path("nim.jsonl"), help="the game's log (default: %(default)s)")
    parser.add_argument("--model", choices=("scripted", "local", "openai"), default="scripted")
    given = parser.parse_args()
    try:
        print(anyio.run(host, Log(given.log), executors(given.model), ask))
        print(f"The game stands in {given.log}; for another one give --log another name.", file=sys.stderr)
    except il.InterlockError as error:
        sys.exit(str(error))
    except (EOFError, KeyboardInterrupt):
        sys.exit(f"\nNobody has answered; the game goes on from {given.log}.")


if __name__ == "__main__":
    main()
