"""Sessions: the same driver, kept open while the machine waits."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest

import interlock as il
import interlock.statechart as sc
from tests.guessing import Ask, Guess, Reply, game
from tests.run.machines import work
from tests.run.test_cancel import Inside, busy, executors, tasks

SCRIPT = [Ask(question="Alive?"), Ask(question="Big?"), Guess(guess="cat")]


async def test_it_goes_on_with_what_is_sent():
    async with il.AgentSession(game(), executors=il.ScriptedExecutors(decisions=SCRIPT)) as session:
        first = await session.settled()
        assert isinstance(first, il.Idle)
        assert first.snapshot.value == "answering"
        await session.send(Reply(answer="yes"))
        second = await session.settled()
        assert isinstance(second, il.Idle)
        assert second.snapshot.context.transcript == ("Q: Alive?", "A: yes", "Q: Big?")
        await session.send({"type": "Reply", "answer": "no"})
        result = await session.settled()
        assert isinstance(result, il.Done)
        assert result.output.guess == "cat"
        assert session.usage.model_calls == 3
        await session.send(Reply(answer="no"))  # it is over
        late = await session.settled()
        assert isinstance(late, il.Done)
        assert late.ignored == Reply(answer="no")
    assert session.snapshot is result.snapshot


async def test_the_same_as_one_run_after_another():
    """What is committed does not depend on how the machine is run."""

    def note(seen: list[Any]) -> Any:
        return lambda entry: seen.append(entry.input and repr(entry.input))

    replies = [Reply(answer="yes"), Reply(answer="no")]
    together: list[Any] = []
    script = il.ScriptedExecutors(decisions=SCRIPT)
    async with il.AgentSession(game(), executors=script, on_event=note(together)) as session:
        for reply in replies:
            await session.settled()
            await session.send(reply)
        whole = await session.settled()
    apart: list[Any] = []
    script = il.ScriptedExecutors(decisions=SCRIPT)
    result = await il.run_agent(game(), executors=script, on_event=note(apart))
    for reply in replies:
        assert result.snapshot is not None
        result = await il.run_agent(
            game(), executors=script, snapshot=result.snapshot, event=reply, on_event=note(apart)
        )
    assert together == apart
    assert whole.snapshot is not None
    assert result.snapshot is not None
    assert whole.snapshot.dump() == result.snapshot.dump()


async def test_an_event_while_work_goes_on():
    go = anyio.Event()

    async def load() -> str:
        await go.wait()
        return "x"

    machine = sc.machine(
        "m",
        sources={"load": load},
        context={"n": 0},
        initial="a",
        states={
            "a": sc.state(invoke=sc.invoke("load", on_done="b"), on={"MORE": lambda c, e: sc.stay(n=c["n"] + 1)}),
            "b": sc.final(),
        },
    )
    async with il.AgentSession(machine) as session:
        await session.send("MORE")
        await session.send("MORE")
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert session.snapshot is not None
        assert session.snapshot.context == {"n": 2}
        go.set()
        assert isinstance(await session.settled(), il.Done)


async def test_nothing_waits_for_it_is_no_error():
    async with il.AgentSession(game(), executors=il.ScriptedExecutors(decisions=SCRIPT)) as session:
        await session.settled()
        await session.send(Guess(guess="me"))
        result = await session.settled()
        assert isinstance(result, il.Idle)
        assert result.ignored == Guess(guess="me")
        with pytest.raises(il.InputError, match="Did you mean 'Reply'"):
            await session.send("Repl")


async def test_timers_go_on_while_it_is_open():
    agent = il.setup_agent(events=[])
    machine = agent.machine(
        "m", initial="a", states={"a": agent.state(after=[agent.after(5, "b")]), "b": agent.final()}
    )
    clock = il.FakeClock()
    async with il.AgentSession(machine, clock=clock, timers="return") as session:
        result = await session.settled()
        assert isinstance(result, il.Idle)
        assert result.timers[0].due == 5
        await clock.next_sleeper()
        clock.advance(5)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert isinstance(await session.settled(), il.Done)


async def test_leaving_the_block_ends_the_work_and_it_can_be_gone_on_from():
    before = tasks()
    inside = Inside()
    for ticks in range(0, 60, 5):
        async with il.AgentSession(
            busy(inside), executors=executors(inside), clock=il.FakeClock(autojump=True)
        ) as session:
            for _ in range(ticks):
                await anyio.lowlevel.checkpoint()
        assert inside.now == 0
        assert tasks() == before
        assert session.snapshot is not None
        again = await il.run_agent(
            busy(inside), executors=executors(inside), clock=il.FakeClock(autojump=True), snapshot=session.snapshot
        )
        assert isinstance(again, il.Done)


async def test_an_exception_in_the_block_comes_out_as_itself():
    with pytest.raises(KeyError) as caught:
        async with il.AgentSession(game(), executors=il.ScriptedExecutors(decisions=SCRIPT)):
            raise KeyError("mine")
    assert caught.value.args == ("mine",)


async def test_an_abort_ends_it():
    abort = il.Abort()
    async with il.AgentSession(game(), executors=il.ScriptedExecutors(decisions=SCRIPT), abort=abort) as session:
        await session.settled()
        abort.abort("enough")
        await anyio.sleep(0.001)
        result = await session.settled()
    assert isinstance(result, il.Failed)
    assert result.cause == "aborted"


async def test_a_failed_machine_ends_it():
    def fail() -> None:
        raise ValueError("x")

    async with il.AgentSession(work({"fail": fail})) as session:
        result = await session.settled()
    assert isinstance(result, il.Failed)
    assert isinstance(result.exception, ValueError)


async def test_what_happens_can_be_followed_by_several():
    script = il.ScriptedExecutors(decisions=SCRIPT)
    seen: list[list[str]] = [[], []]
    async with il.AgentSession(game(), executors=script) as session:
        early = session.subscribe()

        async def follow() -> None:
            async for event in early:
                seen[0].append(event.type)

        async with anyio.create_task_group() as group:
            group.start_soon(follow)
            await session.settled()
            late = session.subscribe()
            await session.send(Reply(answer="no"))
            await session.settled()
            await session.send(Reply(answer="no"))
            await session.settled()
            while len(seen[0]) < 5 or seen[0][-1] != "run.end":
                await anyio.lowlevel.checkpoint()
    seen[1] = [event.type async for event in late]
    assert seen[0][-1] == "run.end"
    assert seen[0].count("rest") == 2
    assert seen[0].count("request.start") == 3
    assert seen[0][-len(seen[1]) :] == seen[1]
    assert [event.type async for event in session.subscribe()] == []


async def test_outside_of_its_block_it_says_so():
    session = il.AgentSession(game(), executors=il.ScriptedExecutors(decisions=SCRIPT))
    for use in (session.settled(), session.send(Reply(answer="no"))):
        with pytest.raises(il.BindError, match="async with") as caught:
            await use
        assert caught.value.code == "not-open"
    async with session:
        pass
    with pytest.raises(il.BindError):
        async with session:
            pass


async def test_what_is_wrong_is_said_before_anything_runs():
    with pytest.raises(il.BindError, match="decide"):
        il.AgentSession(game())


async def test_an_observer_does_not_wait_for_its_own_session():
    refused: list[BaseException] = []

    async def ask(*_: object) -> None:
        try:
            await session.settled()
        except il.BindError as error:
            refused.append(error)

    class Go(il.Event):
        """Go."""

    agent = il.setup_agent(events=[Go])
    machine = agent.machine(
        "m", initial="a", context={}, states={"a": agent.state(on=[agent.on(Go, "b")]), "b": agent.state()}
    )
    session = il.AgentSession(machine, on_transition=ask)
    async with session:
        await session.send(Go())
        with anyio.fail_after(10):
            await session.settled()
    assert refused


async def test_one_reader_a_stream():
    class Go(il.Event):
        """Go."""

    agent = il.setup_agent(events=[Go])
    machine = agent.machine("m", initial="a", context={}, states={"a": agent.state(on=[agent.on(Go, "a")])})
    refused: list[BaseException] = []

    async def read(events: Any) -> None:
        try:
            async for _ in events:
                pass
        except il.BindError as error:
            refused.append(error)

    async with il.AgentSession(machine) as session:
        events = session.subscribe()
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(read, events)
                group.start_soon(read, events)
                await anyio.wait_all_tasks_blocked()
                events.end()
    assert len(refused) == 1
