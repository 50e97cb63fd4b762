"""A plain executor cannot be stopped: what it costs after nobody waits for it any more is counted all the same."""

import threading
from collections.abc import Iterator
from typing import Any

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


async def test_all_who_wait_for_what_was_left_are_told():
    decide, abort = Stubborn(LATE), il.Abort()
    results: list[Any] = []
    found: list[il.RunUsage] = []

    async def run() -> None:
        results.append(await il.run_agent(guessing.game(), executors=il.Executors(decide=decide), abort=abort))

    async def wait() -> None:
        found.append(await results[0].drain())

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await anyio.to_thread.run_sync(decide.began.wait)
        abort.abort("enough")
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            decide.release.set()
    assert [usage.input_tokens for usage in found] == [7, 7, 7]


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


class Book:
    """Plain executors for texts, one released after the other; what each answers costs one more token."""

    def __init__(self, number: int) -> None:
        self.began = [threading.Event() for _ in range(number)]
        self.release = threading.Event()
        self._lock = threading.Lock()
        self._begun = 0

    def __call__(self, request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        with self._lock:
            self._begun += 1
            number = self._begun
        self.began[number - 1].set()
        self.release.wait(10)
        return il.TextResult(output="late", usage=il.Usage(output_tokens=number))

    async def all_began(self) -> None:
        for event in self.began:
            await anyio.to_thread.run_sync(event.wait)


class Leave(il.Event):
    """Go on without the texts."""


leaving = il.setup_agent(events=[Leave], output=str)


def texts(number: int) -> il.Machine[Any, None, str]:
    """A machine whose child has several texts written at once, and which can be told to go on without them."""
    child = leaving.machine(
        "texts",
        kind="parallel",
        states={
            f"text-{place}": leaving.state(
                initial="on",
                states={
                    "on": leaving.state(invoke=leaving.generate_text(model="quick", prompt="?", on_done="off")),
                    "off": leaving.state(),
                },
            )
            for place in range(number)
        },
    )
    return leaving.machine(
        "leaving",
        context={},
        initial="with",
        states={
            "with": leaving.state(invoke=leaving.child(child), on=[leaving.on(Leave, "without")]),
            "without": leaving.final(output="gone"),
        },
    )


async def test_what_a_left_child_has_under_way_is_counted_and_not_delivered():
    book = Book(3)
    async with il.AgentSession(texts(3), executors=il.Executors(generate_text=book)) as session:
        await book.all_began()
        await session.send(Leave())
        result = await session.settled()
        assert isinstance(result, il.Done)
        assert (result.usage.model_calls, result.usage.output_tokens) == (3, None)
        log = result.entries
        book.release.set()
        drained = await result.drain()
        assert (drained.model_calls, drained.output_tokens) == (3, 1 + 2 + 3)
        assert session.usage == drained
        again = await session.settled()
        assert isinstance(again, il.Done)
        assert (again.output, again.entries) == ("gone", log)


async def test_a_stream_that_was_left_in_the_middle_is_waited_for():
    began, release, shown = threading.Event(), threading.Event(), list[str]()

    def stream_text(request: il.TextRequest, info: il.ExecutorInfo) -> Iterator[str | il.TextResult]:
        began.set()
        release.wait(10)
        yield il.TextResult(output="late", usage=il.Usage(output_tokens=5))

    machine = leaving.machine(
        "m",
        context={},
        initial="with",
        states={
            "with": leaving.state(
                invoke=leaving.stream_text(model="quick", prompt="?", on_done="without"),
                on=[leaving.on(Leave, "without")],
            ),
            "without": leaving.final(output="gone"),
        },
    )
    executors = il.Executors(stream_text=stream_text)  # type: ignore[arg-type]  # a plain generator will do
    async with il.AgentSession(machine, executors=executors, on_chunk=lambda text, _: shown.append(text)) as session:
        await anyio.to_thread.run_sync(began.wait)
        await session.send(Leave())
        result = await session.settled()
        release.set()
        drained = await result.drain()
    assert (drained.output_tokens, shown) == (5, [])


async def test_a_functions_late_answer_costs_nothing():
    began, release = threading.Event(), threading.Event()

    def work() -> str:
        began.set()
        release.wait(10)
        return "late"

    machine = leaving.machine(
        "m",
        context={},
        initial="with",
        states={
            "with": leaving.state(invoke=leaving.call(work, on_done="without"), on=[leaving.on(Leave, "without")]),
            "without": leaving.final(output="gone"),
        },
    )
    async with il.AgentSession(machine) as session:
        await anyio.to_thread.run_sync(began.wait)
        await session.send(Leave())
        result = await session.settled()
        release.set()
        assert await result.drain() == il.RunUsage()
