"""Whole programs on the loop: a plan, an act loop with tools, spawned children, a streamed text with a transcript.

Each dies at every record once, and comes to the same end with the same log.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

import interlock as il
from interlock.hosts import run_durably
from interlock.hosts.loop import message_of
from interlock.journal import replay
from tests.examples.loading import load

from .pocket import DiedError, Pocket


class Program(NamedTuple):
    machine: il.Machine
    given: object
    executors: Callable[[], il.Executors]
    mail: Sequence[tuple[float, dict[str, object]]]
    ends_in: str


def program(name: str) -> Program:
    module = load(name)

    def executors() -> il.Executors:
        return module.executors("scripted")

    match name:
        case "todo_nl":
            said = ["add milk and eggs, and tick bread off", "tick tea, add tea", "clear"]
            mail = [
                (1_100.0 * number, message_of(module.Say(words=words), f"mail-{number}"))
                for number, words in enumerate(said, 1)
            ]
            return Program(module.machine, module.Settings(max_steps=8), executors, mail, "listening")
        case "shopping":
            return Program(module.machine, module.Trip(wish="2 tea, 3 cake", budget=1_000), executors, [], "sold")
        case "research_team":
            return Program(module.team, {"topics": ["tea", "coffee", "cocoa"]}, executors, [], "done")
        case _:
            mail = [(1_500.0, message_of(module.Revise(feedback="Shorter."), "mail-1"))]
            mail += [(1_600.0, message_of(module.Approve(), "mail-2"))]
            return Program(module.machine, module.Task(wish="Say hello."), executors, mail, "closed")


async def end_of(given: Program, engine: Pocket) -> tuple[il.Snapshot, list[il.LogEntry]]:
    """Run a program until it has ended, or nothing further can happen to it."""
    entries: list[il.LogEntry] = []
    stood: list[il.Snapshot] = []

    def told(step: il.AgentStep, ignored: object) -> None:
        assert ignored is None
        entries.extend(step.entries)
        stood.append(step.snapshot)

    try:
        await run_durably(given.machine, given.given, given.executors(), engine, told=told)
    except AssertionError as error:
        if "nothing will ever happen" not in str(error):
            raise
    return stood[-1], entries


@pytest.mark.parametrize("name", ["email_drafter", "research_team", "shopping", "todo_nl"])
async def test_whatever_record_a_program_dies_at_it_comes_to_the_same_end(name: str):
    given = program(name)
    whole = Pocket(mail=list(given.mail))
    expected, log = await end_of(given, whole)
    assert expected.value == given.ends_in
    assert replay(given.machine, log, verify="strict").snapshot.dump() == expected.dump()
    for most in range(len(whole.records)):
        first = Pocket(mail=list(given.mail), most=most)
        with pytest.raises(DiedError):
            await end_of(given, first)
        snapshot, entries = await end_of(given, first.again())
        assert snapshot.dump() == expected.dump()
        assert [entry.happened() for entry in entries] == [entry.happened() for entry in log]
