"""The recorded cases, taken step by step: the same records as the engine's, the same log by hand, by advance, by a run.

The cases ask no model; their invocations are plain sources. Where the timers of a case fire in the order in which they
fall due, and nothing is reported that is not owed, a session goes the same way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import interlock as il
import interlock.statechart as sc
from interlock.errors import EndlessLoopError
from interlock.journal import LogEntry, MemoryStore, advance, begin, replay, state_hash
from interlock.run.border import read_event
from interlock.statechart import Input, owed
from tests.conformance.corpus import DATA, cases_in, files_in
from tests.conformance.machines import Form, build
from tests.conformance.records import Record, TimerNames, persisted, record
from tests.conformance.replay import records, to_input

FILES = [file for file in files_in(DATA) if file.stem != "generated"]
QUICK = 6
"""Each so many-th case is taken in the quick tests."""

Case = Mapping[str, Any]


def quick(file: Path) -> list[Case]:
    return cases_in(file)[::QUICK]


# -- by hand, by advance, by replay ----------------------------------------------------------------------------------


def stepped(case: Case, form: Form, logs: list[list[LogEntry]], ends: list[Any]) -> Iterator[Record]:
    """The records of a case by the helpers of the step path; its log, and that of ``advance``, are kept."""
    alphabet, names = case.get("events", ()), TimerNames()
    machine = build(case["machine"], form)
    log, other = logs[0], logs[1]
    try:
        step: il.AgentStep[Any] = il.initial_agent_step(machine, case.get("input"), at=0.0, execution_id="x")
        grown = begin(machine, case.get("input"), at=0.0, execution_id="x")
        for index, taken in enumerate([None, *case.get("steps", ())]):
            if taken is not None and "persist" in taken:
                step = il.AgentStep.from_json(machine, json.dumps(step.to_json()))
                ends[:] = [machine, step.snapshot]
                yield record(step.snapshot, (), alphabet, names) | {"persisted": persisted(step.snapshot, names)}
                continue
            if taken is not None:
                given = to_input(taken, names)
                step = il.transition_agent_step(machine, step, given, at=float(index))
                if not isinstance(given, Input):
                    given = Input(event=read_event(machine, given), by="host")
                grown = advance(grown.head, given, at=float(index))
                assert grown.effects == step.effects
            log.extend(step.entries)
            other.append(grown.entry)
            ends[:] = [machine, step.snapshot]
            yield record(step.snapshot, step.effects, alphabet, names)
    except EndlessLoopError:
        yield {"throws": "infinite-loop"}


def check(case: Case, form: Form) -> None:
    logs: list[list[LogEntry]] = [[], []]
    ends: list[Any] = []
    assert list(stepped(case, form, logs, ends)) == list(records(case, form)), case["id"]
    if not ends:
        return  # it could not even start
    machine, snapshot = ends
    assert logs[0] == logs[1], case["id"]
    found = replay(machine, logs[0], verify="strict")
    assert found.snapshot == snapshot
    assert json.dumps(found.snapshot.dump()) == json.dumps(snapshot.dump())
    assert logs[0][-1].state_hash == state_hash(snapshot) == state_hash(machine.load(snapshot.to_json()))
    assert [LogEntry.from_json(entry.to_text()) for entry in logs[0]] == logs[0]


@pytest.mark.parametrize("form", ["handlers", "static"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_case_by_hand_is_the_case(file: Path, form: Form) -> None:
    for case in quick(file):
        check(case, form)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["handlers", "static"])
@pytest.mark.parametrize("file", files_in(DATA), ids=lambda file: file.stem)
def test_each_case_by_hand_is_the_case(file: Path, form: Form) -> None:
    for case in cases_in(file):
        check(case, form)


# -- by a session ----------------------------------------------------------------------------------------------------


class NotDrivableError(Exception):
    """A case that no running system could come to: what it reports is not owed, or not yet."""


class Sources:
    """The functions of a case: each call waits until the case says what it has come to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[str, anyio.Event, list[object]]] = []

    def of(self, src: str) -> Any:
        async def called(*_: object, **__: object) -> object:
            entry: tuple[str, anyio.Event, list[object]] = (src, anyio.Event(), [])
            self.waiting.append(entry)
            try:
                await entry[1].wait()
            finally:
                self.waiting.remove(entry)
            return entry[2][0]

        return called

    def finish(self, snapshot: il.Snapshot[Any], id: str, output: object) -> None:
        items = owed(snapshot).invocations
        (item,) = [item for item in items if item.id == id]
        number = [other.id for other in items if other.src == item.src].index(id)
        _, event, answer = [entry for entry in self.waiting if entry[0] == item.src][number]
        answer.append(output)
        event.set()


def moves(case: Case, machine: il.Machine[Any, Any, Any]) -> tuple[list[Any], list[LogEntry], il.Snapshot[Any]]:
    """What a session does to go the way of a case, with the log and the end of a host that goes it by hand."""
    names, now, found = TimerNames(), 0.0, list[Any]()
    step: il.AgentStep[Any] = il.initial_agent_step(machine, case.get("input"), at=now, execution_id="x")
    log = list(step.entries)
    record(step.snapshot, step.effects, (), names)
    for taken in case.get("steps", ()):
        if "persist" in taken:
            continue
        if step.done:
            break
        due = [timer for timer in step.owed.timers if timer.due <= now]
        if due and "fire" not in taken:
            raise NotDrivableError
        if "send" in taken:
            found.append(("send", taken["send"]))
            step = il.transition_agent_step(machine, step, taken["send"], at=now)
        elif "fire" in taken:
            own = names.own(taken["fire"])
            timers = step.owed.timers
            if not timers or timers[0].id != own or [timer.due for timer in timers].count(timers[0].due) > 1:
                raise NotDrivableError
            found.append(("wait", max(0.0, timers[0].due - now)))
            now = max(now, timers[0].due)
            step = il.transition_agent_step(machine, step, timers[0], at=now)
        elif "done" in taken:
            items = [item for item in step.owed.invocations if item.id == taken["done"]]
            if len(items) != 1:
                raise NotDrivableError
            found.append(("done", taken["done"], taken.get("output")))
            step = il.resolve_agent_step(machine, step, items[0], taken.get("output"), at=now)
        else:
            raise NotDrivableError  # what a function raises is an error as data, not the plain value of the case
        log += step.entries
        record(step.snapshot, step.effects, (), names)
    if any(timer.due <= now for timer in step.owed.timers) and not step.done:
        raise NotDrivableError
    return found, log, step.snapshot


async def driven(case: Case, form: Form) -> bool:
    """Whether a case could be driven; then it came to the same as by hand."""
    machine, sources = build(case["machine"], form), Sources()
    machine = machine.provide({src: sources.of(src) for src in machine.sources})
    try:
        todo, log, end = moves(case, machine)
    except (NotDrivableError, EndlessLoopError):
        return False
    clock, store = il.FakeClock(0.0), MemoryStore()
    committed: list[object] = []
    async with il.AgentSession(
        machine,
        input=case.get("input"),
        clock=clock,
        timers="return",
        on_event=committed.append,
        execution_id="x",
        store=store,
        thread_id="t",
    ) as session:
        for number, (word, *given) in enumerate(todo, 1):
            await quiet(committed, number)
            snapshot = session.snapshot
            assert snapshot is not None
            if word == "send":
                await session.send(given[0])
            elif word == "wait":
                clock.advance(given[0])
            else:
                sources.finish(snapshot, *given)
        await quiet(committed, len(todo) + 1)
        assert session.snapshot == end, case["id"]
    assert await store.read("t") == tuple(log), case["id"]
    found = replay(machine, log, verify="strict")
    assert json.dumps(found.snapshot.dump()) == json.dumps(end.dump())
    return True


async def quiet(committed: list[object], count: int) -> None:
    """Wait until so many entries are committed, and what they ask for has been started."""
    for _ in range(200):
        if len(committed) >= count:
            break
        await anyio.lowlevel.checkpoint()
    assert len(committed) >= count  # a timer without a delay does not wait for us
    for _ in range(12):
        await anyio.lowlevel.checkpoint()


async def all_driven(cases: list[Case], form: Form) -> int:
    return sum([await driven(case, form) for case in cases])


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_case_by_a_session_is_the_case_by_hand(backend: str) -> None:
    cases = [case for file in FILES for case in quick(file)]
    assert anyio.run(all_driven, cases, "handlers", backend=backend) > len(cases) // 2


@pytest.mark.slow
@pytest.mark.parametrize("form", ["handlers", "static"])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_each_case_by_a_session_is_the_case_by_hand(backend: str, form: Form) -> None:
    cases = [case for file in files_in(DATA) for case in cases_in(file)]
    assert anyio.run(all_driven, cases, form, backend=backend) > len(cases) // 2


def test_a_step_that_never_ends_leaves_the_step_before_it_as_it_was() -> None:
    machine = sc.machine(
        "m",
        initial="a",
        states={"a": sc.state(on={"GO": "b"}), "b": sc.state(always="c"), "c": sc.state(always="b")},
    )
    step: il.AgentStep[Any] = il.initial_agent_step(machine)
    before = json.dumps(step.to_json())
    with pytest.raises(EndlessLoopError):
        il.transition_agent_step(machine, step, "GO")
    assert json.dumps(step.to_json()) == before
