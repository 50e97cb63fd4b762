"""More of what logs and stores have had to bear elsewhere: too much, odd characters, hands that go on writing."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc
from interlock.journal import replay
from interlock.journal.stores.conformance.probe import entry
from tests import guessing
from tests.durable.stores import Slow, whole

pytestmark = pytest.mark.anyio

GAME = guessing.game()
ASK = guessing.Ask(question="Is it alive?")


class Heard(BaseModel, frozen=True):
    text: str = ""


agent = il.setup_agent(context=Heard, events=[], output=str)


def asking(tool: Any, **fields: Any) -> il.Machine[Heard, Any, str]:
    return agent.machine(
        "m",
        context=Heard(),
        initial="a",
        states={
            "a": agent.state(
                invoke=agent.generate_text(
                    name="t",
                    prompt="?",
                    tools=[tool],
                    on_done=lambda c, out: agent.goto("b", text=out),
                    **fields,
                )
            ),
            "b": agent.final(output=lambda c: c.text),
        },
    )


def calls(name: str, number: int = 1, **given: Any) -> il.TextResult:
    return il.TextResult(tool_calls=(il.ToolCall(str(number), name, given),))


async def test_an_answer_that_is_too_large_ends_the_run_and_says_what_how_large_and_where(tmp_path: Path):
    called: list[int] = []

    def load() -> str:
        called.append(1)
        return "x" * 20_000

    machine = asking(load)
    script: list[Any] = [calls("load"), "never asked for"]
    store = il.SQLiteStore(tmp_path / "t.db", max_entry_bytes=10_000)
    executors = il.ScriptedExecutors(text=script)
    result = await il.run_agent(machine, store=store, thread_id="t", executors=executors)
    assert isinstance(result, il.Failed)
    assert (result.cause, result.error.code) == ("journal", "entry-too-large")
    assert all(word in result.error.message for word in ("10000", "entry 2", "'t'"))
    assert len(called) == 1
    assert executors.remaining == 1
    log = await whole(store, "t")
    assert [item.type for item in log] == ["@agent.init", "@record.0.m.a"]
    await store.aclose()
    # Whoever raises the limit goes on from there: the turn is not asked for again.
    larger = il.SQLiteStore(tmp_path / "t.db", max_entry_bytes=30_000)
    again = await il.run_agent(
        machine, store=larger, thread_id="t", executors=il.ScriptedExecutors(text=["It is long."])
    )
    assert isinstance(again, il.Done)
    assert (again.output, len(called), again.usage.model_calls) == ("It is long.", 2, 1)
    await larger.aclose()


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("a\0b", "a\0b"),
        (r"a\u0000b", r"a\u0000b"),
        ("\U0001f378", "\U0001f378"),
        ("\\ud83d", "\\ud83d"),
        ("a\ud83db", "a?b"),
        ("\udcb2", "?"),
        ("\u2028\r\n\x85\x1b[2J", "\u2028\r\n\x85\x1b[2J"),
    ],
    ids=["nul", "the-text-of-nul", "pair", "the-text-of-half", "half", "other-half", "lines"],
)
async def test_a_text_with_any_characters_is_kept_and_read_again(said: str, kept: str, tmp_path: Path):
    answers: list[Any] = []

    def echo(text: str) -> str:
        raise ValueError(text)

    def write(request: il.TextRequest) -> Any:
        answers.extend(part.output.value for message in request.turns[1:] for part in message.content)
        return said

    machine = asking(echo)
    store = il.SQLiteStore(tmp_path / "t.db")
    script: list[Any] = [calls("echo", text=kept), write]
    result = await il.run_agent(machine, store=store, thread_id="t", executors=il.ScriptedExecutors(text=script))
    assert isinstance(result, il.Done)
    assert result.output == kept
    assert answers == [f"ValueError: {kept}"]
    await store.aclose()
    again = il.SQLiteStore(tmp_path / "t.db")
    log = await whole(again, "t")
    assert log == result.entries
    assert replay(machine, log, verify="strict").snapshot == result.snapshot
    assert [il.LogEntry.from_json(item.to_text().encode().decode()) for item in log] == list(log)
    await again.aclose()


class Lingering(list[il.LogEntry]):
    """Entries that let others go first, between any two of them."""

    def __iter__(self) -> Iterator[il.LogEntry]:
        for item in super().__iter__():
            time.sleep(0.0001)
            yield item


def test_a_store_in_memory_loses_nothing_to_threads():
    store = il.MemoryStore()
    ready = threading.Barrier(8)
    won: list[int] = []

    async def race(number: int) -> None:
        for own in range(20):
            await store.append(f"own-{number}", own, Lingering([entry(own)]))
        index = await store.length("shared")
        while index < 60:
            try:
                await store.append("shared", index, Lingering([entry(index, f"{number}-")]))
            except il.LogConflictError as error:
                index = error.actual_index
            else:
                won.append(index)
                index += 1

    def run(number: int) -> None:
        ready.wait()
        anyio.run(race, number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def read() -> dict[str, int]:
        return {info.thread_id: len(await whole(store, info.thread_id)) for info in await store.threads()}

    assert anyio.run(read) == {"shared": 60} | {f"own-{number}": 20 for number in range(8)}
    assert sorted(won) == list(range(60))


async def test_what_is_written_is_what_was_sent_whatever_its_sender_does_to_it_afterwards():
    def add(c: Any, e: Any) -> Any:
        return sc.stay(items=(*c["items"], *e["items"]))

    machine = sc.machine("m", context={"items": ()}, initial="a", states={"a": sc.state(on={"ADD": add})})
    store = Slow()
    given: dict[str, Any] = {"type": "ADD", "items": [1, 2]}
    async with il.AgentSession(machine, store=store, thread_id="t") as session:
        session.send_nowait(given)
        given["items"].append(3)
        await store.began.wait()
        given["items"].append(4)
        store.go.set()
        result = await session.settled()
    assert result.snapshot is not None
    assert result.snapshot.context["items"] == (1, 2)
    log = await whole(store, "t")
    assert log[1].event is not None
    assert log[1].event["items"] == (1, 2)
    assert replay(machine, log, verify="strict").snapshot == result.snapshot


async def test_a_loop_that_has_met_the_limit_of_its_calls_is_gone_on_with_from_before_it():
    """A failure stays one; the fork is the run without it, with all that was paid for."""
    called: list[str] = []

    def query(text: str) -> str:
        called.append(text)
        raise LookupError("no such table")

    machine = asking(query, max_steps=50)
    store = il.MemoryStore()
    script: list[Any] = [calls("query", number, text="x") for number in range(20)]
    result = await il.run_agent(
        machine, store=store, thread_id="t", executors=il.ScriptedExecutors(text=script), max_model_calls=5
    )
    assert isinstance(result, il.Failed)
    assert (result.cause, result.usage.model_calls, len(called)) == ("max-model-calls", 5, 5)
    log = await whole(store, "t")
    assert len(log) == 1 + 2 * 5 + 1
    still = await il.run_agent(machine, store=store, thread_id="t", executors=il.ScriptedExecutors())
    assert isinstance(still, il.Failed)
    assert still.cause == "max-model-calls"
    await store.fork("t", "u", length=len(log) - 1)
    seen: list[il.TextRequest] = []

    def write(request: il.TextRequest) -> str:
        seen.append(request)
        return "There is no such table."

    last = await il.run_agent(machine, store=store, thread_id="u", executors=il.ScriptedExecutors(text=[write]))
    assert isinstance(last, il.Done)
    assert len(called) == 5
    assert [message.role for message in seen[0].turns] == ["assistant", "tool"] * 5
    assert il.check_transcript(il.request_messages(seen[0])) == ()


async def test_a_loop_that_has_met_the_limit_of_its_turns_has_not_answered():
    def query(text: str) -> str:
        raise LookupError("no such table")

    script: list[Any] = [calls("query", number, text="x") for number in range(5)]
    result = await il.run_agent(asking(query, max_steps=5), executors=il.ScriptedExecutors(text=script))
    assert isinstance(result, il.Failed)
    assert result.error.code == "max-steps"
    assert isinstance(result.exception, il.StepLimitError)
    assert result.snapshot is not None
    assert result.snapshot.context.text == ""
    assert "no such table" in result.entries[2].to_text()
    # With words on the last turn it has answered, and that is no failure.
    script[-1] = "There is none."
    answered = await il.run_agent(asking(query, max_steps=5), executors=il.ScriptedExecutors(text=script))
    assert isinstance(answered, il.Done)
    assert answered.output == "There is none."


async def test_what_the_library_logs_holds_nothing_of_what_a_run_is_about(caplog: pytest.LogCaptureFixture):
    secret = "CANARY"

    def look(text: str) -> str:
        raise ValueError(f"{text} {secret}")

    def broken(*_: object) -> None:
        raise RuntimeError("an observer")

    machine = asking(look)
    script: list[Any] = [calls("look", text=secret), f"{secret} it is"]
    store = il.MemoryStore()
    with caplog.at_level(logging.DEBUG):
        for _ in range(2):
            result = await il.run_agent(
                machine,
                store=store,
                thread_id="t",
                executors=il.ScriptedExecutors(text=script),
                on_transition=broken,
            )
    assert isinstance(result, il.Done)
    assert "an observer" in caplog.text
    assert secret not in caplog.text


@pytest.mark.parametrize("delay", [0, 3, 7, 20])
async def test_a_click_that_several_hosts_are_handed_counts_once_whenever_they_are_handed_it(delay: int):
    store = il.MemoryStore()

    def pay() -> str:
        return "receipt"

    class Approve(il.Event, actor="human"):
        """Pay it."""

    payer = il.setup_agent(context=None, events=[Approve], output=None)
    machine = payer.machine(
        "payer",
        initial="waiting",
        states={
            "waiting": payer.state(on=[payer.on(Approve, "paying")]),
            "paying": payer.state(invoke=payer.call(pay, on_done="over")),
            "over": payer.final(),
        },
    )
    await il.run_agent(machine, store=store, thread_id="t")
    results: list[Any] = []

    async def click(wait: int) -> None:
        for _ in range(wait):
            await anyio.lowlevel.checkpoint()
        results.append(await il.run_agent(machine, store=store, thread_id="t", event=Approve(), event_id="click-1"))

    async with anyio.create_task_group() as group:
        group.start_soon(click, 0)
        group.start_soon(click, delay)
    await click(0)
    assert isinstance(results[-1], il.Done)
    assert results[-1].duplicate
    log = await whole(store, "t")
    assert [item.type.partition(".")[0] for item in log if not item.is_resume] == ["@agent", "Approve", "@done"]
    assert log[1].id == "click-1"
    for result in results:
        if isinstance(result, il.Failed):
            assert (result.cause, result.error.code) == ("journal", "log-conflict")
