"""What ends a run from inside: exceptions that end the process, and mistakes of the host, come out as themselves."""

import subprocess
import sys
from typing import Any

import anyio
import pytest

import interlock as il
from tests.guessing import game
from tests.run.machines import work
from tests.run.writing import calls, writer

MACHINE = """
import sys
import anyio
import interlock as il

def leave():
    sys.exit("bye")

async def leave_async():
    sys.exit("bye")

def interrupt():
    raise KeyboardInterrupt

def work():
    return 1

agent = il.setup_agent(events=[])

def machine(*functions):
    states = {
        f"s{n}": agent.state(invoke=agent.call(function, name=f"f{n}", on_done=f"s{n + 1}", on_error="end"))
        for n, function in enumerate(functions)
    }
    last = {f"s{len(functions)}": agent.final(), "end": agent.final()}
    return agent.machine("m", initial="s0", states=states | last)
"""
STREAM = """
async def main():
    async with il.stream_agent(machine({})) as stream:
        async for _ in stream:
            pass
anyio.run(main, backend={!r})
"""
SESSION = """
async def main():
    async with il.AgentSession(machine({})) as session:
        await session.settled()
anyio.run(main, backend={!r})
"""
INSIDE = """
async def main():
    il.run_agent_sync(machine({}))
anyio.run(main, backend={!r})
"""
OBSERVED = """
def look(_):
    sys.exit("bye")
anyio.run(lambda: il.run_agent(machine(work, {}), on_trace=look), backend={!r})
"""
WAYS = {
    "sync": "il.run_agent_sync(machine({}))  # {!r}",
    "async": "anyio.run(il.run_agent, machine({}), backend={!r})",
    "stream": STREAM,
    "session": SESSION,
    "inside": INSIDE,
    "observed": OBSERVED,
}


def run_apart(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MACHINE + script], timeout=30, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("way", WAYS)
def test_leaving_ends_the_process(way: str, backend: str):
    # A thread that has worked and now waits for more is what the process would wait for.
    for functions in ("leave",) if way != "async" else ("leave", "work, leave_async"):
        ended = run_apart(WAYS[way].format(functions, backend))
        assert (ended.returncode, ended.stderr.strip().splitlines()[-1]) == (1, "bye"), ended.stderr


def test_an_interrupt_in_a_thread_ends_the_process():
    ended = run_apart("il.run_agent_sync(machine(interrupt))")
    assert ended.returncode != 0
    assert ended.stderr.strip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
async def test_it_comes_out_of_a_run_after_all_work_is_cancelled(kind: type[BaseException]):
    ended: list[str] = []

    async def wait() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("wait")

    def leave() -> None:
        raise kind("bye")

    with pytest.raises(kind, match="bye"):
        await il.run_agent(work({"wait": wait, "leave": leave}, parallel=True))
    assert ended == ["wait"]


async def test_leaving_through_a_tool_an_executor_and_a_stream():
    def leave(*_: Any) -> Any:
        sys.exit("bye")

    def pieces(*_: Any) -> Any:
        yield "a"
        sys.exit("bye")

    def tool() -> None:
        """Leave."""
        leave()

    for run in (
        lambda: il.run_agent(game(), executors=il.Executors(decide=leave)),
        lambda: il.run_agent(writer("stream"), executors=il.Executors(stream_text=pieces)),
        lambda: il.run_agent(
            writer("generate", tools=[tool]), executors=il.ScriptedExecutors(text=[calls("tool"), "done"])
        ),
    ):
        with pytest.raises(SystemExit, match="bye"):
            await run()


async def test_a_mistake_of_the_host_is_no_failure_of_the_machine():
    def nested() -> None:
        raise il.BindError("not like that", code="invalid-argument")

    with pytest.raises(il.BindError, match="not like that") as caught:
        await il.run_agent(work({"nested": nested}))
    assert caught.value.__context__ is None
    with pytest.raises(il.BindError, match="not like that"):
        async with il.stream_agent(work({"nested": nested})) as stream:
            _ = [event async for event in stream]


async def test_a_mistake_of_the_host_ends_a_session():
    async def wait() -> None:
        async with il.AgentSession(game(), executors=il.ScriptedExecutors()) as session:
            await session.settled()
            await anyio.sleep_forever()

    with pytest.raises(il.ScriptExhaustedError):
        await wait()


async def test_several_such_mistakes_come_out_as_the_first():
    def nested() -> None:
        raise il.BindError("not like that", code="invalid-argument")

    with pytest.raises(il.BindError, match="not like that"):
        await il.run_agent(work({f"f{n}": nested for n in range(5)}, parallel=True))
