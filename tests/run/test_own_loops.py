"""Executors that take their turns by themselves: ``info.call_tool`` is the same path, with the same records."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest

import interlock as il
from tests.run.writing import add, calls, executors, look_up, writer

MODES = pytest.mark.parametrize("mode", ["generate", "stream"])


@MODES
async def test_a_tool_is_called_and_its_answer_kept(mode: str):
    kept: list[Any] = []

    async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        assert info.call_tool is not None
        answers = [
            await info.call_tool("look_up", {"word": "rain"}),
            await info.call_tool("look_up", {"word": "missing"}),
            await info.call_tool("lookup", {}),
            await info.call_tool("add", {"a": object()}),
        ]
        return il.TextResult(output=" | ".join(str(answer.value)[:25] for answer in answers))

    result = await il.run_agent(
        writer(mode, tools=[look_up, add]),
        executors=executors(mode, play),
        on_event=lambda e: kept.append(e.input.record["kind"]) if e.input and e.input.invocation else None,
    )
    assert isinstance(result, il.Done)
    assert (
        result.output == "rain: a thing | KeyError: 'missing' | there is no tool 'lookup' | add needs an object of ar"
    )
    assert kept == ["answer"] * 4 + ["turn"]


@MODES
async def test_tools_may_be_called_at_once(mode: str):
    both = anyio.Event()
    inside = 0

    async def meet(n: int) -> int:
        """Wait for the other."""
        nonlocal inside
        inside += 1
        if inside == 2:
            both.set()
        await both.wait()
        return n

    async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        assert info.call_tool is not None
        found: list[Any] = []

        async def one(n: int) -> None:
            assert info.call_tool is not None
            found.append((await info.call_tool("meet", {"n": n})).value)

        async with anyio.create_task_group() as group:
            group.start_soon(one, 1)
            group.start_soon(one, 2)
        return il.TextResult(output=str(sorted(found)))

    result = await il.run_agent(writer(mode, tools=[meet]), executors=executors(mode, play))
    assert isinstance(result, il.Done)
    assert result.output == "[1, 2]"


@MODES
async def test_made_again_the_call_has_its_key_and_the_answers_that_were_kept(mode: str):
    ran: list[int] = []
    keys: list[str] = []

    def note(a: int) -> int:
        """Note it."""
        ran.append(a)
        return a

    async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        assert info.call_tool is not None
        keys.append(info.call_key)
        if info.attempt == 1:
            await info.call_tool("note", {"a": 1})
            await info.call_tool("note", {"a": 1})
            return calls("note", a=2)
        await info.call_tool("note", {"a": 3})
        return il.TextResult(output="x")

    saves: list[str] = []
    machine, execute = writer(mode, tools=[note]), executors(mode, play)
    await il.run_agent(
        machine, executors=execute, execution_id="e", on_transition=lambda s, _: saves.append(s.to_json())
    )
    whole, all_keys = list(ran), list(keys)
    assert whole == [1, 1, 2, 3]
    for number, saved in enumerate(saves[:-1]):
        ran.clear()
        keys.clear()
        result = await il.run_agent(machine, executors=execute, execution_id="e", snapshot=saved)
        assert isinstance(result, il.Done)
        assert ran == whole[{0: 0, 1: 1, 2: 2, 3: 2, 4: 3, 5: 4}[number] :]
        assert keys == all_keys[0 if number < 3 else 1 :]


async def test_a_plain_executor_calls_tools_from_its_thread():
    def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        assert info.call_tool is not None
        return il.TextResult(output=str(anyio.from_thread.run(info.call_tool, "add", {"a": 1}).value))

    result = await il.run_agent(writer("generate", tools=[add]), executors=il.Executors(generate_text=play))
    assert isinstance(result, il.Done)
    assert result.output == "2"


async def test_after_the_answer_no_tool_is_run():
    kept: list[Any] = []

    async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        kept.append(info.call_tool)
        return il.TextResult(output="x")

    await il.run_agent(writer("generate", tools=[add]), executors=il.Executors(generate_text=play))
    with pytest.raises(il.ExecutorError, match="after the executor has answered"):
        await kept[0]("add", {"a": 1})


@pytest.mark.parametrize("turns", range(6))
async def test_a_tool_that_is_left_behind_is_the_executors_mistake_and_hangs_nobody(turns: int):
    async def slow(word: str) -> str:
        """Take some turns of the loop."""
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        return word

    left: list[str] = []

    async with anyio.create_task_group() as group:

        async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
            async def behind() -> None:
                assert info.call_tool is not None
                try:
                    await info.call_tool("slow", {"word": "x"})
                except il.ExecutorError as error:
                    left.append(error.message)

            group.start_soon(behind)
            await anyio.lowlevel.checkpoint()
            return il.TextResult(output="done")

        with anyio.fail_after(10):
            result = await il.run_agent(
                writer("generate", tools=[slow], on_error=False), executors=il.Executors(generate_text=play)
            )
    assert isinstance(result, il.Done | il.Failed)
    if isinstance(result, il.Failed):
        assert "while a tool that it called with info.call_tool still runs" in result.error.message
    else:
        assert left == ["x"] or "after the executor has answered" in left[0], left


async def test_a_tool_is_a_part_of_the_run_for_nested_runs():
    def nested() -> str:
        """Run another machine."""
        il.run_agent_sync(writer("generate"), executors=il.ScriptedExecutors(text=["x"]))
        return "ran"

    # No model can do anything about it, so none is told.
    with pytest.raises(il.BindError) as caught:
        await il.run_agent(
            writer("generate", tools=[nested]), executors=il.ScriptedExecutors(text=[calls("nested"), "done"])
        )
    assert caught.value.code == "run-inside-executor"


@pytest.mark.parametrize("fails", [True, False])
async def test_a_tool_that_is_left_behind_keeps_nobody(fails: bool):
    async with anyio.create_task_group() as group:

        async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
            group.start_soon(info.call_tool, "look_up", {"word": "rain"})
            for _ in range(8):
                await anyio.lowlevel.checkpoint()
            if fails:
                raise ValueError("x")
            return il.TextResult(output="x")

        machine = writer("generate", tools=[look_up])
        with anyio.fail_after(5):
            result = await il.run_agent(machine, executors=il.Executors(generate_text=play))
        assert isinstance(result, il.Done)
