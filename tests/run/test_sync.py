"""``run_agent_sync``: for scripts, for notebooks, and not from inside a run."""

import asyncio
import subprocess
import sys
import textwrap
import threading
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

import interlock as il
from tests.guessing import Guess, game
from tests.run.machines import work

WHO: ContextVar[str] = ContextVar("WHO")
ROOT = Path(__file__).parents[2]


def scripted() -> il.ScriptedExecutors:
    return il.ScriptedExecutors(decisions=[Guess(guess="x")])


def test_a_script_just_calls_it():
    result = il.run_agent_sync(game(), executors=scripted())
    assert isinstance(result, il.Done)


async def test_under_a_running_loop_it_has_a_thread_of_its_own():
    seen: list[Any] = []

    async def load() -> None:
        seen.append((threading.current_thread() is threading.main_thread(), WHO.get()))

    WHO.set("me")
    result = il.run_agent_sync(work({"load": load}))
    assert isinstance(result, il.Done)
    assert seen == [(False, "me")]


@pytest.mark.parametrize("plain", [True, False])
async def test_inside_a_function_of_a_run_it_is_an_error_at_once(plain: bool):
    def nested() -> None:
        il.run_agent_sync(game(), executors=scripted())

    async def async_nested() -> None:
        nested()

    with pytest.raises(il.BindError, match="await run_agent") as caught:
        await il.run_agent(work({"nested": nested if plain else async_nested}))
    assert caught.value.code == "run-inside-executor"


async def test_more_of_them_than_threads_do_not_hang():
    def nested() -> str:
        try:
            il.run_agent_sync(game(), executors=scripted())
        except il.BindError as error:
            return error.code
        return "ran"

    result = await il.run_agent(work({f"f{n}": nested for n in range(50)}, parallel=True))
    assert isinstance(result, il.Done)
    assert set(result.output.values()) == {"run-inside-executor"}


async def test_an_async_function_may_await_a_run_of_its_own():
    async def nested() -> str:
        result = await il.run_agent(game(), executors=scripted())
        assert isinstance(result, il.Done)
        return str(result.output.guess)

    result = await il.run_agent(work({"nested": nested}))
    assert isinstance(result, il.Done)
    assert result.output == {"nested": "x"}


def test_errors_come_through_unchanged():
    with pytest.raises(il.BindError):
        il.run_agent_sync(game())

    async def under_a_loop() -> None:
        with pytest.raises(il.BindError):
            il.run_agent_sync(game())

    asyncio.run(under_a_loop())


@pytest.mark.parametrize("notebook", [False, True])
def test_an_interrupt_ends_the_run(notebook: bool):
    program = textwrap.dedent("""
        import asyncio, os, signal, sys, threading
        import anyio
        import interlock as il
        from tests.run.machines import work

        ended = []

        async def forever():
            os.kill(os.getpid(), signal.SIGINT)
            try:
                await anyio.sleep_forever()
            finally:
                ended.append(True)

        async def notebook():
            il.run_agent_sync(work({"forever": forever}))

        try:
            if sys.argv[1] == "True":
                asyncio.new_event_loop().run_until_complete(notebook())  # as a notebook's kernel does
            else:
                il.run_agent_sync(work({"forever": forever}))
        except KeyboardInterrupt:
            print("interrupted", ended, threading.active_count())
    """)
    done = subprocess.run(
        [sys.executable, "-c", program, str(notebook)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}"},
    )
    assert done.stdout == "interrupted [True] 1\n"
