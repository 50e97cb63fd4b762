"""A plain executor cannot be stopped: what it costs after nobody waits for it any more is counted all the same."""

import threading

import anyio
import anyio.to_thread
import pytest

import interlock as il
from tests import guessing

pytestmark = pytest.mark.anyio


class Stubborn:
    """A plain executor that answers when it is let."""

    def __init__(self, answer: object) -> None:
        self.began, self.release = threading.Event(), threading.Event()
        self.answer = answer

    def __call__(self, request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        self.began.set()
        self.release.wait(10)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]


LATE = il.Choice(guessing.Guess(guess="a cat"), usage=il.Usage(input_tokens=7, output_tokens=2))


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [(LATE, 7), (ValueError("no"), None), ("no choice", None)],
    ids=["choice", "error", "nonsense"],
)
async def test_the_usage_of_an_answer_that_came_too_late_is_counted(answer: object, tokens: int | None):
    decide, abort = Stubborn(answer), il.Abort()
    results: list[il.Failed[guessing.Game]] = []

    async def run() -> None:
        result = await il.run_agent(guessing.game(), executors=il.Executors(decide=decide), abort=abort)
        assert isinstance(result, il.Failed)
        results.append(result)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await anyio.to_thread.run_sync(decide.began.wait)
        abort.abort("enough")
    (result,) = results
    assert (result.usage.model_calls, result.usage.input_tokens) == (1, None)
    decide.release.set()
    drained = await result.drain()
    assert (drained.model_calls, drained.input_tokens) == (1, tokens)
    assert await result.drain() == drained
    assert len(result.entries) == 1


async def test_a_run_that_leaves_nothing_behind_is_drained_at_once():
    script = il.ScriptedExecutors(decisions=[guessing.Guess(guess="a cat")])
    result = await il.run_agent(guessing.game(), executors=script)
    assert await result.drain() == result.usage


def test_the_answer_may_come_after_the_loop_has_ended():
    decide, abort = Stubborn(LATE), il.Abort()

    async def run() -> il.Failed[guessing.Game]:
        async with anyio.create_task_group() as group:

            async def stop() -> None:
                await anyio.to_thread.run_sync(decide.began.wait)
                abort.abort("enough")

            group.start_soon(stop)
            result = await il.run_agent(guessing.game(), executors=il.Executors(decide=decide), abort=abort)
        threading.Timer(0.05, decide.release.set).start()
        assert isinstance(result, il.Failed)
        return result

    assert anyio.run(run).usage.model_calls == 1
