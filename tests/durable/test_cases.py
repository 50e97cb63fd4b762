"""Faults that people have met with logs, stores and resumed runs elsewhere; none of them here."""

import gc
import random
import subprocess
import sys
import threading
import uuid
from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc
from interlock.journal import SavedSnapshot, fork, replay
from tests import guessing
from tests.durable.desk import Approve, desk, executors
from tests.durable.stores import whole
from tests.durable.sweep import ROOT

pytestmark = pytest.mark.anyio

GAME = guessing.game()
DESK = desk(delay=0)
ASK = guessing.Ask(question="Is it alive?")
GUESS = guessing.Guess(guess="a cat")


def script(*decisions: Any) -> il.ScriptedExecutors:
    return il.ScriptedExecutors(decisions=decisions)


def toggle(handler: Any) -> il.Machine[Any, Any, Any]:
    return sc.machine(
        "m", version="1", context={"x": None}, initial="a", states={"a": sc.state(on=[sc.on("GO", handler)])}
    )


@pytest.mark.parametrize(
    "impure",
    [lambda: uuid.uuid4().hex, random.random],
    ids=["uuid", "random"],
)
async def test_chance_in_a_handler_is_found_out_at_its_entry(impure: Any):
    result = await il.run_agent(toggle(lambda c, e: sc.stay().set({"x": impure()})), event="GO")
    with pytest.raises(il.ReplayDivergedError, match=r"entry 1 .*depends on more than its arguments") as raised:
        replay(toggle(lambda c, e: sc.stay().set({"x": impure()})), result.entries)
    assert raised.value.index == 1


def test_neither_the_hash_seed_nor_the_process_changes_a_replay():
    program = (
        "import sys, interlock as il\n"
        "from tests.durable.desk import desk\n"
        "log = [il.LogEntry.from_json(line) for line in sys.stdin]\n"
        "print(il.replay(desk(delay=0), log, verify='strict').snapshot.to_json())"
    )

    async def run() -> il.Idle[Any]:
        result = await il.run_agent(DESK, executors=executors())
        assert isinstance(result, il.Idle)
        return result

    result = anyio.run(run)
    text = "\n".join(entry.to_text() for entry in result.entries)
    for seed in ("1", "77"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        )
        assert done.stdout.strip() == result.snapshot.to_json()


async def test_a_replay_waits_for_no_timer_and_only_what_has_not_fired_is_pending():
    hour = 3600.0
    machine = sc.machine(
        "m",
        initial="a",
        states={
            "a": sc.state(after=[sc.after(hour, "b")]),
            "b": sc.state(after=[sc.after(hour, "c")]),
            "c": sc.state(after=[sc.after(hour, "d")]),
            "d": sc.state(after=[sc.after(hour, "e")]),
            "e": sc.final(),
        },
    )
    clock = il.FakeClock(0.0)
    store = il.MemoryStore()
    for _ in range(4):
        await il.run_agent(machine, store=store, thread_id="t", clock=clock, timers="return")
        clock.advance(hour)
    found = replay(machine, await whole(store, "t"), verify="strict")
    assert found.snapshot.matches("d")
    assert [timer.due for timer in sc.owed(found.snapshot).timers] == [4 * hour]


class Unhurried(il.MemoryStore):
    """A store that keeps snapshots late, or not at all."""

    def __init__(self, turns: int | None) -> None:
        super().__init__()
        self.turns = turns

    async def save_snapshot(self, thread_id: str, saved: SavedSnapshot) -> None:
        length = await self.length(thread_id)
        assert saved.index < length  # never before the entries that it stands for
        for _ in range(self.turns or 0):
            await anyio.lowlevel.checkpoint()
        if self.turns is not None:
            await super().save_snapshot(thread_id, saved)


@pytest.mark.parametrize("turns", [None, 0, 20])
async def test_when_a_snapshot_is_kept_changes_neither_the_calls_nor_the_end(turns: int | None):
    calls: list[str] = []
    store = Unhurried(turns)
    await il.run_agent(DESK, store=store, thread_id="t", executors=executors(calls.append))
    result = await il.run_agent(
        DESK, store=store, thread_id="t", executors=executors(calls.append), event=Approve(by="me")
    )
    assert isinstance(result, il.Done)
    assert len(calls) == len(set(calls)) == 8


class Said(BaseModel, frozen=True):
    text: str = ""


@pytest.mark.slow
async def test_the_log_of_a_long_tool_loop_grows_with_its_turns_and_not_with_their_square():
    agent = il.setup_agent(context=Said, events=[])

    def look(number: int) -> str:
        return "x" * 5000

    machine = agent.machine(
        "m",
        context=Said(),
        initial="a",
        states={
            "a": agent.state(
                invoke=agent.generate_text(
                    name="t", prompt="?", tools=[look], max_steps=101, on_done=lambda c, out: agent.goto("b", text=out)
                )
            ),
            "b": agent.final(),
        },
    )
    turns: list[Any] = [il.TextResult(tool_calls=(il.ToolCall(str(n), "look", {"number": n}),)) for n in range(100)]
    result = await il.run_agent(machine, executors=il.ScriptedExecutors(text=[*turns, "done"]), max_model_calls=200)
    assert isinstance(result, il.Done)
    sizes = [len(entry.to_text()) for entry in result.entries]
    assert len(sizes) == 202
    assert sum(sizes) < 100 * 6500
    assert max(sizes) < 6500


async def test_an_event_that_nothing_waits_for_is_the_same_on_every_way():
    first = await il.run_agent(GAME, executors=script(ASK), execution_id="x")
    assert isinstance(first, il.Idle)
    store = il.MemoryStore()
    await il.run_agent(GAME, store=store, thread_id="t", executors=script(ASK), execution_id="x")
    resumed = await il.run_agent(GAME, store=store, thread_id="t", event=ASK, executors=script())
    async with il.AgentSession(GAME, executors=script(ASK), execution_id="x") as session:
        await session.settled()
        await session.send(ASK)
        live = await session.settled()
    step = il.initial_agent_step(GAME, entries=first.entries)
    after = il.transition_agent_step(GAME, step, ASK)
    told = {entry.happened() for entry in (resumed.entries[-1], live.entries[-1], after.entries[-1])}
    assert len(told) == 1
    assert {entry.state_hash for entry in (resumed.entries[-1], live.entries[-1], after.entries[-1])} == {
        first.entries[-1].state_hash
    }
    assert resumed.ignored == live.ignored == ASK
    assert replay(GAME, [*first.entries, *after.entries], verify="strict").snapshot == first.snapshot


@pytest.mark.slow
async def test_runs_at_rest_leave_nothing_in_memory():
    async def one(number: int) -> None:
        result = await il.run_agent(GAME, store=store, thread_id=f"t{number}", executors=script(ASK))
        assert isinstance(result, il.Idle)

    store = il.MemoryStore()
    await one(0)
    gc.collect()
    before = sum(isinstance(item, sc.Snapshot) for item in gc.get_objects())
    for number in range(1, 200):
        await one(number)
    gc.collect()
    after = sum(isinstance(item, sc.Snapshot) for item in gc.get_objects())
    assert after - before < 5
    assert threading.active_count() < 20


async def test_what_a_thread_waits_for_can_be_read_off_its_log_without_anybody_who_could_do_it():
    store = il.MemoryStore()
    waiting = await il.run_agent(DESK, store=store, thread_id="t", executors=executors())
    assert isinstance(waiting, il.Idle)
    found = replay(DESK, await whole(store, "t"))
    assert found.snapshot.accepted_events() == ("Approve", "Again")
    assert il.get_agent_requests(DESK, found.snapshot) == ()
    cut = replay(DESK, (await whole(store, "t"))[:3])
    assert cut.status == "working"
    assert [request.name for request in il.get_agent_requests(DESK, cut.snapshot)] == ["letter", "summary", "look"]


def test_the_same_objects_serve_one_event_loop_after_the_other_and_several_at_once(tmp_path: Any):
    store = il.SQLiteStore(tmp_path / "t.db")
    given = executors()

    def turn(thread: str, event: il.Event | None = None) -> Any:
        return il.run_agent_sync(DESK, store=store, thread_id=thread, executors=given, event=event)

    turn("a")
    assert isinstance(turn("a", Approve(by="me")), il.Done)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda n=n: results.append(turn(f"b{n}"))) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(result) for result in results] == [il.Idle] * 4
    anyio.run(store.aclose)


async def test_one_thread_is_one_runs_and_two_threads_do_not_know_each_other():
    store = il.MemoryStore()
    for thread in ("a", "b"):
        await il.run_agent(GAME, store=store, thread_id=thread, executors=script(ASK))
    results: list[Any] = []

    async def reply(thread: str, answer: Any) -> None:
        result = await il.run_agent(
            GAME, store=store, thread_id=thread, event=guessing.Reply(answer=answer), executors=script(GUESS)
        )
        results.append((thread, result))

    async with anyio.create_task_group() as group:
        group.start_soon(reply, "a", "yes")
        group.start_soon(reply, "a", "no")
        group.start_soon(reply, "b", "unsure")
    ends = sorted((thread, type(result).__name__) for thread, result in results)
    assert ends in (
        [("a", "Done"), ("a", "Failed"), ("b", "Done")],
        [("a", "Done"), ("a", "Done"), ("b", "Done")],  # the second came when the first was over
    )
    for _, result in results:
        if isinstance(result, il.Failed):
            assert (result.cause, result.error.code) == ("journal", "log-conflict")
    assert len(await whole(store, "a")) == 4


async def test_a_fork_before_an_answer_has_not_been_answered():
    store = il.MemoryStore()
    await il.run_agent(GAME, store=store, thread_id="t", executors=script(ASK))
    await il.run_agent(GAME, store=store, thread_id="t", event=guessing.Reply(answer="yes"), executors=script(GUESS))
    log = await whole(store, "t")
    before = replay(GAME, fork(log, 2)).snapshot
    assert before.matches("answering")
    assert before.context.transcript == ("Q: Is it alive?",)
    await store.fork("t", "u", length=2)
    other = await il.run_agent(
        GAME, store=store, thread_id="u", event=guessing.Reply(answer="no"), executors=script(ASK)
    )
    assert isinstance(other, il.Idle)
    assert other.snapshot.context.transcript == ("Q: Is it alive?", "A: no", "Q: Is it alive?")
    assert await whole(store, "t") == log  # the original goes on as if nothing had been copied
    found = il.diff(GAME, log, await whole(store, "u"))
    assert (found.common, len(found.left), len(found.right)) == (2, 2, 2)


async def test_one_saved_point_gone_on_with_twice_is_two_runs():
    first = await il.run_agent(GAME, executors=script(ASK))
    assert isinstance(first, il.Idle)
    saved = first.snapshot.to_json()
    ends = []
    for answer in ("yes", "no"):
        result = await il.run_agent(
            GAME, snapshot=saved, event=guessing.Reply.model_validate({"answer": answer}), executors=script(ASK)
        )
        assert isinstance(result, il.Idle)
        ends.append(result.snapshot.context.transcript[1])
    assert ends == ["A: yes", "A: no"]
    assert first.snapshot.to_json() == saved


async def test_what_was_done_before_a_wait_is_not_done_again():
    sent: list[str] = []

    def send_mail() -> str:
        sent.append("mail")
        return "sent"

    machine = sc.machine(
        "m",
        initial="mailing",
        sources={"mail": send_mail},
        states={
            "mailing": sc.state(invoke=sc.invoke("mail", id="mail", on_done=sc.on("", "waiting"))),
            "waiting": sc.state(on={"OK": "over"}),
            "over": sc.final(),
        },
    )
    store = il.MemoryStore()
    first = await il.run_agent(machine, store=store, thread_id="t")
    assert first.snapshot is not None
    await il.run_agent(machine, snapshot=first.snapshot.to_json(), event="OK")
    await il.run_agent(machine, store=store, thread_id="t", event="OK")
    replay(machine, await whole(store, "t"))
    assert sent == ["mail"]


async def test_a_branch_that_fails_ends_the_others_and_nothing_is_written_afterwards():
    ended: list[str] = []

    async def fails() -> None:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        raise ValueError("no")

    async def costs() -> str:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("costs")
        return "never"

    def region(name: str) -> sc.State:
        return sc.state(
            initial="busy",
            states={"busy": sc.state(invoke=sc.invoke(name, id=name, on_done=sc.on("", "over"))), "over": sc.final()},
        )

    machine = sc.machine(
        "m",
        sources={"fails": fails, "costs": costs},
        kind="parallel",
        states={"a": region("fails"), "b": region("costs")},
    )
    store = il.MemoryStore()
    result = await il.run_agent(machine, store=store, thread_id="t")
    assert isinstance(result, il.Failed)
    assert ended == ["costs"]
    log = await whole(store, "t")
    assert [entry.type for entry in log] == ["@agent.init", "@error.invoke.fails"]
    for _ in range(10):
        await anyio.lowlevel.checkpoint()
    assert await whole(store, "t") == log


async def test_events_that_a_run_does_not_come_to_are_reported_one_by_one():
    ignored: list[object] = []

    def note(event: il.TraceEvent) -> None:
        if isinstance(event, il.EventIgnored):
            ignored.append(event.event)

    machine = sc.machine("m", initial="a", states={"a": sc.state(on={"GO": "b"}), "b": sc.final()})
    async with il.AgentSession(machine, on_trace=note) as session:
        await session.settled()
        for _ in range(3):
            session.send_nowait("GO")
        await session.settled()
        result = await session.settled()
    assert isinstance(result, il.Done)
    assert [entry.type for entry in result.entries] == ["@agent.init", "GO"]
    assert len(ignored) == 2
    assert result.ignored is not None


async def test_a_long_conversation_needs_its_name_and_the_next_event_only():
    store = il.MemoryStore()
    questions = [guessing.Ask(question=f"Question {n}?") for n in range(40)]
    game = guessing.game(questions=100)
    await il.run_agent(game, store=store, thread_id="t", executors=script(questions[0]))
    for question in questions[1:]:
        await il.run_agent(
            game, store=store, thread_id="t", event=guessing.Reply(answer="no"), executors=script(question)
        )
    log = await whole(store, "t")
    assert len(log) == 80
    assert len(replay(game, log, verify="strict").snapshot.context.transcript) == 79


def test_the_names_of_entries_are_unlike_each_other(tmp_path: Any):
    """An id that a host gives cannot be one that the log will want for itself."""
    taken: Sequence[str] = ["evt_00000000", "evt_00000002", "evt_123456789"]
    for name in taken:
        with pytest.raises(il.BindError, match="the log's own"):
            il.run_agent_sync(GAME, executors=script(), event=ASK, event_id=name)
