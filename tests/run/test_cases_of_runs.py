"""What event loops, signals and hosts are known to do to runs: cut them off early, late, twice, and go away."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import interlock as il
import interlock.statechart as sc
from tests import guessing
from tests.durable.stores import Slow
from tests.run.machines import work
from tests.run.planning import Add, Count
from tests.run.test_cancel import tasks

ROOT = Path(__file__).parents[2]
GAME = guessing.game()
ASK = guessing.Ask(question="Is it alive?")


# -- cut off ---------------------------------------------------------------------------------------------------------


def forever(begun: list[str]) -> il.Machine[Any, Any, Any]:
    async def waits() -> None:
        begun.append("waits")
        await anyio.sleep_forever()

    return work({"waits": waits})


def test_asyncios_own_ways_to_cut_a_task_off_mean_for_a_run_what_they_mean_for_any_other():
    begun: list[str] = []

    async def over_in_time() -> None:
        async with asyncio.timeout(0.05):
            await il.run_agent(forever(begun))

    async def waited_for() -> None:
        await asyncio.wait_for(il.run_agent(forever(begun)), 0.05)

    async def a_sibling_fails() -> None:
        async def fails() -> None:
            await asyncio.sleep(0.05)
            raise KeyError("mine")

        async with asyncio.TaskGroup() as group:
            group.create_task(il.run_agent(forever(begun)))
            group.create_task(fails())

    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        with pytest.raises(TimeoutError):
            await over_in_time()
        with pytest.raises(TimeoutError):
            await waited_for()
        assert task.cancelling() == 0
        with pytest.raises(ExceptionGroup) as caught:
            await a_sibling_fails()
        assert [type(error) for error in caught.value.exceptions] == [KeyError]
        assert asyncio.all_tasks() == {task}
        assert isinstance(await il.run_agent(work({"f": lambda: 1})), il.Done)

    asyncio.run(main())
    assert 0 < len(begun) <= 3  # nothing was begun again


def test_cut_off_before_its_first_turn_nothing_has_begun():
    begun: list[str] = []

    async def main() -> None:
        task = asyncio.create_task(il.run_agent(forever(begun)))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await il.run_agent(forever(begun))
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert begun == []


@pytest.mark.parametrize("how", ["time", "cancelled"])
async def test_a_stream_with_tasks_of_its_own_is_closed_where_it_was_opened(how: str):
    """Its task group may only be left by the task that has entered it."""
    opened: list[object] = []
    closed: list[object] = []
    seen = anyio.Event()

    async def stream(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str]:
        opened.append(anyio.get_current_task().id)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.sleep_forever)
                while True:
                    yield "a"
                    await anyio.lowlevel.checkpoint()
        finally:
            closed.append(anyio.get_current_task().id)

    agent = il.setup_agent(context=None, events=[])
    machine = agent.machine(
        "m",
        initial="a",
        states={
            "a": agent.state(invoke=agent.stream_text(prompt="?"), timeout=5, on_timeout="b"),
            "b": agent.final(),
        },
    )
    clock = il.FakeClock()
    before = tasks()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        async with anyio.create_task_group() as group:

            async def run() -> None:
                result = await il.run_agent(
                    machine,
                    executors=il.Executors(stream_text=stream),
                    clock=clock,
                    on_chunk=lambda text, request: seen.set(),
                )
                assert isinstance(result, il.Done)

            group.start_soon(run)
            await seen.wait()
            if how == "time":
                clock.advance(5)
            else:
                group.cancel_scope.cancel()
        gc.collect()
    assert opened == closed
    assert len(closed) == 1
    assert tasks() == before


INTERRUPTED = """
import os, signal, sys, time
import interlock as il
from tests import guessing

def decide(request, info):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
    return il.Choice(guessing.Guess(guess="too late"))

async def decide_async(request, info):
    os.kill(os.getpid(), signal.SIGINT)
    import anyio
    await anyio.sleep_forever()

store = il.SQLiteStore(sys.argv[1])
answer = decide_async if sys.argv[2] == "async" else decide
options = {"store": store, "thread_id": "t"}
il.run_agent_sync(guessing.game(), executors=il.ScriptedExecutors(decisions=[guessing.Ask(question="?")]), **options)
event = guessing.Reply(answer="no")
il.run_agent_sync(guessing.game(), executors=il.Executors(decide=answer), event=event, **options)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("kind", ["async", "thread"])
def test_an_interrupted_program_is_gone_on_with_where_its_log_ends(kind: str, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore::ResourceWarning", "-c", INTERRUPTED, str(tmp_path / "t.db"), kind],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    assert done.returncode in (-signal.SIGINT, 130), done.stderr
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")
    assert "never" not in done.stderr
    assert "destroyed" not in done.stderr
    store = il.SQLiteStore(tmp_path / "t.db")

    async def go_on() -> None:
        log = await store.read("t")
        assert [entry.type for entry in log] == ["@agent.init", "Ask", "Reply"]
        executors = il.ScriptedExecutors(decisions=[guessing.Guess(guess="a cat")])
        result = await il.run_agent(GAME, store=store, thread_id="t", executors=executors)
        assert isinstance(result, il.Done)
        assert result.output.guess == "a cat"
        await store.aclose()

    anyio.run(go_on)


async def test_an_observer_has_returned_or_been_cut_off_when_a_run_that_is_cancelled_has_ended():
    told: list[str] = []
    began = anyio.Event()

    async def slow(*_: object) -> None:
        began.set()
        for _turn in range(5):
            await anyio.lowlevel.checkpoint()
        told.append("observer")

    async with anyio.create_task_group() as group:

        async def run() -> None:
            try:
                await il.run_agent(work({"f": lambda: 1}), on_transition=slow)
            finally:
                told.append("over")

        group.start_soon(run)
        await began.wait()
        group.cancel_scope.cancel()
    for _ in range(20):
        await anyio.lowlevel.checkpoint()
    assert told[-1] == "over"


# -- followed --------------------------------------------------------------------------------------------------------


async def test_a_stream_that_nobody_opens_begins_nothing():
    script = il.ScriptedExecutors(decisions=[ASK])
    before = tasks()
    il.stream_agent(GAME, executors=script)
    gc.collect()
    for _ in range(10):
        await anyio.lowlevel.checkpoint()
    assert script.requests == []
    assert tasks() == before


async def test_who_reads_one_event_and_leaves_still_has_all_of_it_written_when_the_block_ends():
    store = Slow()
    async with il.stream_agent(
        GAME, executors=il.ScriptedExecutors(decisions=[ASK]), store=store, thread_id="t"
    ) as stream:
        async for _ in stream:
            break
        assert store.ended == 0
        store.go.set()
    assert isinstance(stream.result, il.Idle)
    assert [entry.type for entry in await store.read("t")] == ["@agent.init", "Ask"]
    assert stream.result.entries == await store.read("t")


async def test_a_session_that_has_ended_says_so_to_everybody_who_asks():
    results: list[Any] = []
    async with il.AgentSession(work({"f": lambda: 1})) as session:
        first = await session.settled()
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:

                async def ask() -> None:
                    results.append(await session.settled())

                for _ in range(3):
                    group.start_soon(ask)
    assert isinstance(first, il.Done)
    assert [type(result) for result in results] == [il.Done] * 3


async def test_who_gives_up_waiting_for_a_session_leaves_it_as_it_was():
    go, loading = anyio.Event(), anyio.Event()

    async def load() -> None:
        loading.set()
        await go.wait()

    async with il.AgentSession(work({"load": load})) as session:
        await loading.wait()
        before = tasks()
        for _ in range(3):
            with anyio.move_on_after(0) as scope:
                await session.settled()
            assert scope.cancelled_caught
        assert tasks() == before
        go.set()
        assert isinstance(await session.settled(), il.Done)


# -- one step after the other ----------------------------------------------------------------------------------------


async def test_what_follows_from_an_event_comes_before_the_event_that_came_after_it():
    def noted(name: str, move: Any = None) -> Any:
        return lambda c, e: (move or sc.stay()).set({"seen": (*c["seen"], name)})

    machine = sc.machine(
        "m",
        context={"seen": ()},
        initial="a",
        states={
            "a": sc.state(
                on={
                    "GO": noted("GO", sc.stay().raise_("NEXT")),
                    "NEXT": noted("NEXT", sc.stay().raise_("LAST")),
                    "LAST": noted("LAST"),
                    "OTHER": noted("OTHER"),
                }
            )
        },
    )
    async with il.AgentSession(machine) as session:
        session.send_nowait("GO")
        session.send_nowait("OTHER")
        session.send_nowait("GO")
        result = await session.settled()
    assert result.snapshot is not None
    assert result.snapshot.context["seen"] == ("GO", "NEXT", "LAST", "OTHER", "GO", "NEXT", "LAST")
    assert [entry.type for entry in result.entries] == ["@agent.init", "GO", "OTHER", "GO"]


async def test_whoever_looks_while_a_step_is_told_of_sees_a_state_that_can_be_gone_on_from():
    saved: list[str] = []
    session: il.AgentSession[Any, Any, Any]

    def look(*_: object) -> None:
        assert session.snapshot is not None
        saved.append(session.snapshot.to_json())

    machine = sc.machine(
        "m",
        initial="a",
        states={
            "a": sc.state(
                on={"GO": lambda c, e: sc.goto("b").emit({"type": "left"})},
                exit=lambda c: sc.stay().emit({"type": "x"}),
            ),
            "b": sc.state(always="c"),
            "c": sc.state(on={"ON": "d"}),
            "d": sc.final(),
        },
    )
    session = il.AgentSession(machine, on={"*": look}, on_event=look, on_transition=look)
    async with session:
        await session.send("GO")
        await session.settled()
    assert {machine.load(text).value for text in saved} <= {"a", "c"}
    assert len(saved) >= 4
    result = await il.run_agent(machine, snapshot=saved[-1], event="ON")
    assert isinstance(result, il.Done)


@pytest.mark.parametrize("kind", ["decide", "plan", "act", "generate_text"])
async def test_a_model_is_told_what_its_state_has_done_on_entry_whoever_asks(kind: str):
    agent = il.setup_agent(context=Count, events=[Add], output=int)
    machine = agent.machine(
        "m",
        context=Count(),
        initial="a",
        states={
            "a": agent.state(
                entry=lambda c: agent.stay(n=c.n + 1),
                invoke=getattr(agent, kind)(prompt=lambda c: f"{c.n} so far"),
                on=[agent.on(Add, "b")],
                after=[agent.after(1, "b")],
            ),
            "b": agent.final(output=lambda c: c.n),
        },
    )
    asked: list[str] = []

    async def hears(request: Any, info: il.ExecutorInfo) -> Any:
        asked.append(request.prompt)
        await anyio.sleep_forever()

    executors = il.Executors(decide=hears, generate_text=hears)
    step = il.initial_agent_step(machine, at=0.0)
    asked += [str(request.prompt) for request in step.requests]
    for options in ({}, {"snapshot": step.snapshot.to_json()}):
        clock = il.FakeClock(autojump=True)
        result = await il.run_agent(machine, executors=executors, clock=clock, **options)
        assert isinstance(result, il.Done)
        assert result.output == 1
    assert asked == ["1 so far"] * 3
