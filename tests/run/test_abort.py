"""Aborting: orderly, from anywhere, and the run can be gone on from."""

import threading
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest

import interlock as il
from tests.guessing import Guess, game
from tests.run.machines import work
from tests.run.test_cancel import Inside, busy, executors, tasks
from tests.run.writing import writer


async def test_aborted_in_the_middle_of_a_call():
    abort = il.Abort()
    infos: list[il.ExecutorInfo] = []
    ended: list[str] = []

    async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        infos.append(info)
        abort.abort("the user has left")
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(request.name or "")
        raise AssertionError

    machine = writer("generate")
    result = await il.run_agent(machine, executors=il.Executors(generate_text=play), abort=abort)
    assert isinstance(result, il.Failed)
    assert result.cause == result.error.code == "aborted"
    assert isinstance(result.exception, il.AbortedError)
    assert "the user has left" in result.error.message
    assert "writer.writing" in result.error.message
    assert ended == ["draft"]
    assert infos[0].abort is not None
    assert infos[0].abort.cancel_called

    # The cut-off work is done over again.
    again = await il.run_agent(
        machine,
        executors=il.ScriptedExecutors(text=["x"]),
        snapshot=result.snapshot.to_json() if result.snapshot else "",
    )
    assert isinstance(again, il.Done)
    assert again.output == "x"


async def test_aborted_before_it_starts_nothing_is_called():
    abort = il.Abort()
    abort.abort()
    assert abort.aborted
    result = await il.run_agent(game(), executors=il.ScriptedExecutors(), abort=abort)
    assert isinstance(result, il.Failed)
    assert result.cause == "aborted"
    assert result.usage.model_calls == 0
    assert result.snapshot is not None
    assert result.snapshot.value == "deciding"


async def test_aborted_while_it_waits_for_a_timer():
    abort = il.Abort()
    agent = il.setup_agent(events=[])
    machine = agent.machine(
        "m", initial="a", states={"a": agent.state(after=[agent.after(5, "b")]), "b": agent.final()}
    )
    clock = il.FakeClock()
    result: Any = None
    async with anyio.create_task_group() as group:

        async def run() -> None:
            nonlocal result
            result = await il.run_agent(machine, clock=clock, abort=abort)

        group.start_soon(run)
        await clock.next_sleeper()
        await anyio.to_thread.run_sync(abort.abort)
    assert result.cause == "aborted"
    assert [timer.due for timer in result.snapshot.timers.values()] == [5]


async def test_from_another_thread():
    abort = il.Abort()

    async def load() -> None:
        threading.Timer(0.001, abort.abort).start()
        await anyio.sleep_forever()

    result = await il.run_agent(work({"load": load}), abort=abort)
    assert isinstance(result, il.Failed)
    assert result.cause == "aborted"


async def test_one_abort_ends_several_runs_and_a_settled_one_stays_settled():
    abort = il.Abort()
    done = await il.run_agent(game(), executors=il.ScriptedExecutors(decisions=[Guess(guess="x")]), abort=abort)
    results: list[Any] = []

    async def forever() -> None:
        await anyio.sleep_forever()

    async def run() -> None:
        results.append(await il.run_agent(work({"load": forever}), abort=abort))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        group.start_soon(run)
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        abort.abort()
    assert isinstance(done, il.Done)
    assert [result.cause for result in results] == ["aborted"] * 2


async def test_what_came_in_before_is_kept():
    """The answer is there, the abort comes before it is taken: it was paid for, so it counts."""
    abort = il.Abort()

    async def load() -> str:
        abort.abort()
        return "paid"

    async def more() -> str:
        raise AssertionError("not started any more")

    result = await il.run_agent(work({"load": load, "more": more}), abort=abort)
    assert isinstance(result, il.Failed)
    assert result.cause == "aborted"
    assert result.snapshot is not None
    assert result.snapshot.context["load"] == "paid"
    assert result.snapshot.value == "more"


async def test_a_thread_that_is_left_to_itself_can_see_it():
    abort = il.Abort()
    seen = threading.Event()

    def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        assert info.abort is not None
        abort.abort()
        while not info.abort.cancel_called:
            pass
        seen.set()
        return il.TextResult(output="late")

    result = await il.run_agent(writer("generate"), executors=il.Executors(generate_text=play), abort=abort)
    assert isinstance(result, il.Failed)
    assert result.cause == "aborted"
    await anyio.to_thread.run_sync(seen.wait)


@pytest.mark.parametrize("ticks", range(0, 60, 2))
async def test_aborted_at_any_point(ticks: int):
    inside = Inside()
    machine = busy(inside)
    before = tasks()
    abort = il.Abort()
    result: Any = None
    async with anyio.create_task_group() as group:

        async def run() -> None:
            nonlocal result
            result = await il.run_agent(
                machine, executors=executors(inside), clock=il.FakeClock(autojump=True), abort=abort
            )

        group.start_soon(run)
        for _ in range(ticks):
            await anyio.lowlevel.checkpoint()
        abort.abort()
    assert inside.now == 0
    assert tasks() == before
    assert isinstance(result, il.Done) or result.cause == "aborted"
    again = await il.run_agent(
        machine, executors=executors(inside), clock=il.FakeClock(autojump=True), snapshot=result.snapshot.to_json()
    )
    assert isinstance(again, il.Done), again


@pytest.mark.parametrize("end", ["abort", "cancel"])
@pytest.mark.parametrize("ticks", range(0, 90, 3))
@pytest.mark.parametrize("mode", ["generate", "stream"])
async def test_a_text_with_tools_is_ended_at_any_point(mode: str, ticks: int, end: str):
    inside = Inside()
    saves: list[Any] = []
    ran: list[int] = []

    async def note(a: int) -> int:
        """Note it."""
        with inside:
            await anyio.lowlevel.checkpoint()
            ran.append(a)
            return a

    async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        with inside:
            await anyio.lowlevel.checkpoint()
            if info.attempt < 3:
                two = tuple(il.ToolCall("", "note", {"a": info.attempt * 2 + n}) for n in range(2))
                return il.TextResult(tool_calls=two)
            return il.TextResult(output="done")

    async def stream(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
        with inside:
            yield "a"
            await anyio.lowlevel.checkpoint()
            yield await play(request, info)

    async def slow(*_: object) -> None:
        await anyio.lowlevel.checkpoint()

    execute = il.Executors(generate_text=play, stream_text=stream)
    machine = writer(mode, tools=[note])
    before = tasks()
    abort = il.Abort()
    async with anyio.create_task_group() as group:

        async def run() -> None:
            await il.run_agent(
                machine,
                executors=execute,
                abort=abort,
                on_transition=lambda s, _: saves.append(s),
                on_chunk=slow,
                on_trace=slow,
            )

        group.start_soon(run)
        for _ in range(ticks):
            await anyio.lowlevel.checkpoint()
        if end == "abort":
            abort.abort()
        else:
            group.cancel_scope.cancel()
    assert inside.now == 0
    assert tasks() == before
    if not saves or saves[-1].status == "done":
        return
    again = await il.run_agent(machine, executors=execute, snapshot=saves[-1].to_json())
    assert isinstance(again, il.Done)
    assert again.output == "done"
    # Each tool ran once, save the one that was cut off or whose answer was.
    assert sorted(set(ran)) == [2, 3, 4, 5]
    assert len(ran) <= 5


@pytest.mark.parametrize("how", ["raises", "ignores it", "in a thread"])
@pytest.mark.parametrize("end", ["abort", "cancel"])
async def test_aborted_in_a_tool_is_no_answer_of_the_tool(how: str, end: str):
    abort = il.Abort()
    asked = 0
    saves: list[Any] = []
    scope = anyio.CancelScope()
    over = threading.Event()

    def stop() -> None:
        if end == "abort":
            abort.abort()
        else:
            scope.cancel()

    async def cut(how: str) -> str:
        """Be cut off."""
        stop()
        try:
            await anyio.sleep_forever()
        except BaseException:
            if how == "raises":
                raise ValueError("aborted") from None
        return "as if nothing had been"

    def thread(how: str) -> str:
        """Be left to itself."""
        anyio.from_thread.run_sync(stop)
        over.wait(5)
        return how

    async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        nonlocal asked
        asked += 1
        name = "thread" if how == "in a thread" else "cut"
        return il.TextResult(tool_calls=(il.ToolCall("c", name, {"how": how}),))

    result: Any = None
    machine = writer("generate", tools=[cut, thread])
    with scope:
        result = await il.run_agent(
            machine,
            executors=il.Executors(generate_text=play),
            abort=abort,
            on_transition=lambda s, _: saves.append(s),
        )
    over.set()
    assert asked == 1
    assert result is None if end == "cancel" else result.cause == "aborted"
    # What is saved is a transcript that a provider takes: the call is open, and is made again before he is asked.
    ran: list[str] = []

    def again(how: str) -> str:
        """Do it."""
        ran.append(how)
        return "done"

    machine = writer("generate", tools={"cut": again, "thread": again})
    done = await il.run_agent(
        machine,
        snapshot=saves[-1].to_json(),
        executors=il.ScriptedExecutors(text=[lambda r: str(il.check_transcript(il.request_messages(r)))]),
    )
    assert isinstance(done, il.Done), done
    assert done.output == "()"
    assert ran == [how]
