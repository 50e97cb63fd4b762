"""Observers only observe."""

import asyncio
import logging
from typing import Any

import anyio
import pytest

import interlock as il
import interlock.statechart as sc
from interlock.run import Committed
from tests.guessing import Guess, game


class Shout(il.Event):
    words: str


def talking() -> il.Machine[Any, Any, Any]:
    return sc.machine(
        "m",
        initial="a",
        states={
            "a": sc.state(
                entry=lambda c: sc.stay().emit(Shout(words="hello")),
                on={"GO": lambda c, e: sc.goto("b").emit("BYE").log("left", 1)},
            ),
            "b": sc.final(),
        },
    )


async def test_what_the_machine_emits_reaches_those_who_asked_for_it():
    heard: list[Any] = []
    await il.run_agent(
        talking(),
        event="GO",
        on={
            Shout: lambda e: heard.append(("Shout", e)),
            "*": lambda e: heard.append(("*", e)),
            "BYE": lambda e: heard.append(("BYE", e)),
        },
    )
    assert [(key, event.type) for key, event in heard] == [
        ("Shout", "Shout"),
        ("*", "Shout"),
        ("BYE", "BYE"),
        ("*", "BYE"),
    ]
    assert heard[0][1] == Shout(words="hello")


async def test_a_resume_does_not_repeat_what_was_emitted():
    heard: list[Any] = []
    first = await il.run_agent(talking())
    assert isinstance(first, il.Idle)
    await il.run_agent(talking(), snapshot=first.snapshot.dump(), on={"*": heard.append})
    assert heard == []


async def test_everything_committed_is_told_in_order():
    seen: list[Committed] = []
    states: list[Any] = []
    await il.run_agent(
        game(),
        executors=il.ScriptedExecutors(decisions=["Fly", Guess(guess="x")]),
        clock=il.FakeClock(7),
        on_event=seen.append,
        on_transition=lambda snapshot, given: states.append((snapshot.value, given)),
    )
    assert [(entry.index, entry.at) for entry in seen] == [(0, 7), (1, 7), (2, 7)]
    assert [entry.input for entry in seen] == [given for _, given in states]
    assert [value for value, _ in states] == ["deciding", "deciding", "revealing"]
    assert seen[0].input is None


async def test_what_is_logged_goes_to_logging(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, "interlock.machine"):
        await il.run_agent(talking(), event="GO")
    assert [record.getMessage() for record in caplog.records] == ["left 1"]


async def test_what_is_sent_to_a_function_is_not_lost_without_a_word(caplog: pytest.LogCaptureFixture):
    async def job() -> None: ...

    machine = sc.machine(
        "m",
        sources={"job": job},
        initial="a",
        states={"a": sc.state(invoke=sc.invoke("job", id="j"), on={"GO": lambda c, e: sc.stay().send("j", "PING")})},
    )
    await il.run_agent(machine, event="GO")
    assert ["'PING'" in record.getMessage() for record in caplog.records] == [True]


async def test_an_observer_that_raises_is_reported_once_and_changes_nothing(caplog: pytest.LogCaptureFixture):
    async def late(*_: Any) -> None:
        raise RuntimeError("late")

    machine = game()

    def inputs(**observers: Any) -> Any:
        return il.run_agent(machine, executors=il.ScriptedExecutors(decisions=["Fly", Guess(guess="x")]), **observers)

    alone = await inputs()
    watched = await inputs(on_event=lambda e: 1 / 0, on_transition=late, on={"*": lambda e: 1 / 0})
    assert watched == alone
    assert len(caplog.records) == 2
    assert all(record.name == "interlock.run" and record.exc_info for record in caplog.records)


async def test_async_observers_are_waited_for():
    order: list[Any] = []

    async def slow(snapshot: Any, given: Any) -> None:
        import anyio.lowlevel

        order.append(("in", snapshot.value))
        await anyio.lowlevel.checkpoint()
        order.append(("out", snapshot.value))

    await il.run_agent(talking(), event="GO", on_transition=slow)
    assert order == [("in", "a"), ("out", "a"), ("in", "b"), ("out", "b")]


async def test_an_interrupt_in_an_observer_is_no_observation():
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await il.run_agent(talking(), on_event=stop)


async def test_one_that_is_cancelled_from_inside_changes_nothing(caplog: pytest.LogCaptureFixture):
    async def watch(_: object) -> None:
        raise asyncio.CancelledError

    with caplog.at_level(logging.ERROR, "interlock.run"):
        result = await il.run_agent(talking(), event="GO", on_event=watch)
    assert isinstance(result, il.Done)
    assert "raised; the run goes on as if it had not" in caplog.text


async def test_one_that_runs_another_machine_still_may_not_wait_for_its_own():
    refused: list[str] = []

    async def watch(committed: Committed) -> None:
        if committed.index == 1:
            await il.run_agent(talking(), on_event=lambda _: None)
            try:
                await session.settled()
            except il.BindError as error:
                refused.append(error.message)

    with anyio.fail_after(10):
        async with il.AgentSession(talking(), on_event=watch) as session:
            await session.send("GO")
            await session.settled()
    assert len(refused) == 1
    assert "settled() was awaited by an observer of its own session" in refused[0]
