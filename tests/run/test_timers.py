"""Time passes when the clock says so; nothing here waits for it."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest

import interlock as il
import interlock.statechart as sc
from interlock.run import SystemClock
from tests import guessing


def waiting(seconds: float = 60) -> il.Machine[Any, Any, Any]:
    return sc.machine(
        "m",
        initial="wait",
        states={"wait": sc.state(after={seconds: "late"}, on={"OK": "fine"}), "late": sc.final(), "fine": sc.final()},
        output=lambda c: None,
    )


async def test_a_run_waits_for_its_timers():
    clock = il.FakeClock(1000)
    results: list[Any] = []

    async def run() -> None:
        results.append(await il.run_agent(waiting(), clock=clock))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        assert await clock.next_sleeper() == 1060
        clock.advance(59.9)
        assert not results
        clock.advance(0.1)
    assert [result.snapshot.value for result in results] == ["late"]


async def test_a_run_may_return_instead_and_say_what_is_due():
    clock = il.FakeClock(1000)
    idle = await il.run_agent(waiting(), clock=clock, timers="return")
    assert isinstance(idle, il.Idle)
    assert [(timer.id, timer.due) for timer in idle.timers] == [("after:60:m.wait", 1060)]
    again = await il.run_agent(waiting(), clock=clock, timers="return", snapshot=idle.snapshot.to_json())
    assert isinstance(again, il.Idle)
    clock.advance(60)
    done = await il.run_agent(waiting(), clock=clock, timers="return", snapshot=idle.snapshot.to_json())
    assert done.snapshot is not None
    assert done.snapshot.value == "late"


async def test_an_overdue_timer_comes_before_the_event():
    clock = il.FakeClock(1000)
    idle = await il.run_agent(waiting(), clock=clock, timers="return")
    clock.advance(30)
    in_time = await il.run_agent(waiting(), clock=clock, snapshot=idle.snapshot, event="OK")
    assert in_time.snapshot is not None
    assert in_time.snapshot.value == "fine"
    clock.advance(30)
    too_late = await il.run_agent(waiting(), clock=clock, snapshot=idle.snapshot, event={"type": "OK"})
    assert too_late.snapshot is not None
    assert too_late.snapshot.value == "late"
    assert too_late.ignored == {"type": "OK"}


async def test_overdue_timers_fire_in_the_order_in_which_they_were_due():
    timers = {
        name: sc.state(initial="on", states={"on": sc.state(after={delay: "off"}), "off": sc.state()})
        for name, delay in [("a", 30), ("b", 10), ("c", 20), ("d", 10)]
    }
    machine = sc.machine("m", kind="parallel", states=timers)
    clock = il.FakeClock()
    idle = await il.run_agent(machine, clock=clock, timers="return")
    clock.advance(3600)
    fired: list[Any] = []
    await il.run_agent(
        machine,
        clock=clock,
        snapshot=idle.snapshot.dump(),
        on_event=lambda c: fired.append(c.input.timer.partition("#")[0]),
    )
    assert fired == ["after:10:m.b.on", "after:10:m.d.on", "after:20:m.c.on", "after:30:m.a.on"]


@pytest.mark.parametrize(("seconds", "value"), [(29, "answered"), (30, "late"), (31, "late")])
async def test_what_had_run_out_before_an_answer_came_goes_first_and_no_other(seconds: float, value: str):
    clock = il.FakeClock()
    results: list[Any] = []

    async def slow() -> None:
        await clock.sleep_until(seconds)

    machine = sc.machine(
        "m",
        sources={"slow": slow},
        initial="a",
        states={
            "a": sc.state(invoke=sc.invoke("slow", on_done="answered"), timeout=30, on_timeout="late"),
            "answered": sc.state(),
            "late": sc.state(),
        },
    )

    async def run() -> None:
        results.append(await il.run_agent(machine, clock=clock))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        while await clock.next_sleeper() != min(seconds, 30):
            await anyio.lowlevel.checkpoint()
        clock.advance(min(seconds, 30))
    assert results[0].snapshot.value == value


async def test_all_that_is_overdue_and_the_event_come_before_any_work():
    started: list[str] = []

    async def job() -> None:
        started.append("job")

    def region(delay: float) -> sc.State:
        return sc.state(initial="on", states={"on": sc.state(after={delay: "off"}), "off": sc.state()})

    machine = sc.machine(
        "m",
        sources={"job": job},
        initial="a",
        states={
            "a": sc.parallel(
                states={"x": region(1), "y": region(2), "z": region(3), "w": sc.state(invoke=sc.invoke("job"))},
                on={"OUT": "b"},
            ),
            "b": sc.state(),
        },
    )
    snapshot, _ = sc.initial_transition(machine, at=0)
    seen: list[Any] = []
    result = await il.run_agent(
        machine, snapshot=snapshot, event="OUT", clock=il.FakeClock(60), on_event=lambda c: seen.append(c.input)
    )
    assert isinstance(result, il.Idle)
    assert result.snapshot.value == "b"
    assert [given.timer is not None for given in seen] == [True, True, True, False]
    assert started == []


async def test_a_machine_that_ticks_can_be_cancelled():
    machine = sc.machine("m", initial="a", states={"a": sc.state(after={0: sc.to("a", reenter=True)})})
    ticks: list[Any] = []
    with anyio.CancelScope() as scope:

        def tick(snapshot: Any, given: Any) -> None:
            ticks.append(given)
            if len(ticks) == 100:
                scope.cancel()

        await il.run_agent(machine, clock=il.FakeClock(autojump=True), on_transition=tick)
    assert scope.cancelled_caught
    assert 100 <= len(ticks) < 110


async def test_the_system_clock_is_the_default_and_wakes():
    result = await il.run_agent(waiting(0.001))
    assert result.snapshot is not None
    assert result.snapshot.value == "late"
    await SystemClock().sleep_until(0)


@pytest.mark.parametrize("seconds", [-1, -0.001])
def test_time_does_not_go_back(seconds: float):
    with pytest.raises(ValueError, match="does not go back"):
        il.FakeClock().advance(seconds)


agent = il.setup_agent(context=guessing.Game, events=[guessing.Ask, guessing.Guess], output=str)


@pytest.mark.parametrize("autojump", [False, True])
async def test_a_timer_of_no_time_between_two_who_are_ready_together_keeps_nobody_waiting(autojump: bool):
    async def one() -> int:
        return 1

    machine = agent.machine(
        "m",
        context=guessing.Game(),
        initial="p",
        states={
            "p": agent.parallel(
                states={
                    "x": agent.state(
                        initial="a",
                        states={
                            "a": agent.state(invoke=agent.call(one, on_done="w")),
                            "w": agent.state(after=[agent.after(0, "z")]),
                            "z": agent.final(),
                        },
                    ),
                    "y": agent.state(
                        initial="a",
                        states={"a": agent.state(invoke=agent.call(one, on_done="z")), "z": agent.final()},
                    ),
                },
                on_done="over",
            ),
            "over": agent.final(output="over"),
        },
    )
    with anyio.fail_after(10):
        result = await il.run_agent(machine, clock=il.FakeClock(5.0, autojump=autojump))
    assert isinstance(result, il.Done)


async def test_what_is_sent_together_is_taken_although_a_timer_of_no_time_comes_between():
    machine = sc.machine(
        id="m",
        context={"n": 0, "m": 0},
        initial="s",
        states={
            "s": sc.state(on={"A": "t", "B": lambda c, e: sc.stay(m=c["m"] + 1)}),
            "t": sc.state(
                after={0: lambda c: sc.goto("s", n=c["n"] + 1)}, on={"B": lambda c, e: sc.stay(m=c["m"] + 1)}
            ),
        },
    )
    with anyio.fail_after(10):
        async with il.AgentSession(machine, clock=il.FakeClock(5.0)) as session:
            for event in ("A", "A", "B", "B"):
                session.send_nowait(event)
            result = await session.settled()
    assert result.snapshot is not None
    assert result.snapshot.value == "s"
    assert result.snapshot.context["m"] == 2
