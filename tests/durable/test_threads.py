"""Runs that keep their log in a store: what is durable when, how a thread is gone on with, and who may not."""

import asyncio
import functools
import gc
import logging
from dataclasses import replace
from typing import Any

import anyio
import pytest
from pydantic import BaseModel, SecretStr, field_validator

import interlock as il
import interlock.statechart as sc
from interlock.journal import SavedSnapshot, replay
from tests import guessing
from tests.durable.desk import Again, Approve, desk, executors
from tests.durable.stores import Failing, Listening, Slow, whole

pytestmark = pytest.mark.anyio


def script(*decisions: Any) -> il.ScriptedExecutors:
    return il.ScriptedExecutors(decisions=decisions)


ASK = guessing.Ask(question="Is it alive?")
GUESS = guessing.Guess(guess="a cat")
YES = guessing.Reply(answer="yes")
GAME = guessing.game()
DESK = desk(delay=0)


async def test_a_thread_is_gone_on_with_by_its_name():
    store = il.MemoryStore()
    first = await il.run_agent(GAME, store=store, thread_id="t", executors=script(ASK))
    assert isinstance(first, il.Idle)
    last = await il.run_agent(GAME, store=store, thread_id="t", event=YES, executors=script(GUESS))
    assert isinstance(last, il.Done)
    assert last.output == guessing.Verdict(guess="a cat")
    log = await whole(store, "t")
    assert log == first.entries + last.entries
    assert [entry.type for entry in log] == ["@agent.init", "Ask", "Reply", "Guess"]
    assert replay(GAME, log, verify="strict").snapshot == last.snapshot
    again = await il.run_agent(GAME, store=store, thread_id="t", executors=script())
    assert isinstance(again, il.Done)
    assert (again.output, again.entries, again.usage.model_calls) == (last.output, (), 0)


async def test_without_a_store_a_run_has_its_log_all_the_same():
    result = await il.run_agent(GAME, executors=script(ASK))
    assert [entry.type for entry in result.entries] == ["@agent.init", "Ask"]
    assert result.snapshot is not None
    assert replay(GAME, result.entries).snapshot == result.snapshot
    later = await il.run_agent(GAME, snapshot=result.snapshot, event=YES, executors=script(GUESS))
    assert [entry.type for entry in later.entries] == ["@agent.init", "Reply", "Guess"]
    assert later.entries[0].event is not None
    assert "snapshot" in later.entries[0].event
    assert replay(GAME, later.entries).snapshot == later.snapshot


async def test_nothing_is_called_or_told_before_the_entries_that_led_to_it_are_durable():
    heard: list[str] = []
    machine = DESK

    result = await il.run_agent(
        machine,
        store=Listening(heard),
        thread_id="t",
        executors=executors(lambda key: heard.append(f"call {key.partition(':')[2]}")),
        on_event=lambda committed: heard.append(f"told {committed.index}"),
        execution_id="x",
    )
    assert isinstance(result, il.Idle)
    durable = -1
    for line in heard:
        word, number = line.split()[:2]
        if word == "durable":
            durable = int(number)
        elif word == "told":
            assert int(number) <= durable
    starts = {entry.causation_id: entry.index for entry in result.entries}
    assert starts
    calls = [line for line in heard if line.startswith("call")]
    assert len(calls) == 7
    assert heard.index("call 0.desk.taking#1.1") > heard.index("durable 1 @record.0.desk.taking")
    assert heard.index("call 0.desk.writing.summary.draft#3.0") > heard.index("durable 2 Accept")


@pytest.mark.parametrize("number", range(1, 9))
async def test_a_failed_write_ends_the_run_where_it_durably_stands(number: int):
    store = Failing(number, il.StoreError("the disk is full"))
    calls: list[str] = []
    told: list[int] = []
    result = await il.run_agent(
        DESK,
        store=store,
        thread_id="t",
        executors=executors(calls.append),
        on_event=lambda committed: told.append(committed.index),
    )
    assert isinstance(result, il.Failed)
    assert (result.cause, result.error.code, result.error.message) == ("journal", "store-failed", "the disk is full")
    assert len(result.entries) == store.appended == len(told)
    log = await whole(store, "t")
    assert log == result.entries
    if log:
        assert result.snapshot is not None
        assert result.snapshot == replay(DESK, log).snapshot
    else:
        assert result.snapshot is None
        assert not calls


async def test_a_store_that_raises_anything_at_all_is_a_typed_failure():
    result = await il.run_agent(GAME, store=Failing(1, KeyError("oh")), thread_id="t", executors=script(ASK))
    assert isinstance(result, il.Failed)
    assert (result.cause, result.error.code) == ("journal", "store-failed")
    assert "thread 't': the store raised KeyError" in result.error.message


async def test_a_worker_that_was_overtaken_stops_before_its_next_call():
    store = il.MemoryStore()
    taken: list[Any] = []

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        if not taken:
            taken.append(None)
            taken.append(await il.run_agent(GAME, store=store, thread_id="t", executors=script(ASK)))
        return il.Choice(GUESS)

    slow = await il.run_agent(GAME, store=store, thread_id="t", executors=il.Executors(decide=decide))
    assert isinstance(slow, il.Failed)
    assert (slow.cause, slow.error.code) == ("journal", "log-conflict")
    assert isinstance(slow.exception, il.LogConflictError)
    assert (slow.exception.thread_id, slow.exception.expected_index, slow.exception.actual_index) == ("t", 1, 3)
    assert isinstance(taken[1], il.Idle)
    assert [entry.type for entry in await whole(store, "t")] == ["@agent.init", "@agent.resume", "Ask"]


async def test_an_event_with_an_id_counts_once():
    store = il.MemoryStore()
    await il.run_agent(GAME, store=store, thread_id="t", executors=script(ASK))
    options: Any = {"store": store, "thread_id": "t", "event": YES, "event_id": "click-1"}
    first = await il.run_agent(GAME, executors=script(ASK), **options)
    assert (first.ignored, first.duplicate, first.entries[0].id) == (None, False, "click-1")
    second = await il.run_agent(GAME, executors=script(), **options)
    assert isinstance(second, il.Idle)
    assert (second.ignored, second.duplicate, second.entries) == (YES, True, ())
    assert second.snapshot == first.snapshot


async def test_an_event_with_an_id_counts_once_in_a_session():
    async with il.AgentSession(GAME, executors=script(ASK, ASK)) as session:
        await session.settled()
        await session.send(YES, event_id="a")
        await session.settled()
        await session.send(YES, event_id="a")
        result = await session.settled()
    assert (result.ignored, result.duplicate) == (YES, True)
    assert [entry.id for entry in result.entries] == ["evt_00000000", "evt_00000001", "a", "evt_00000003"]


async def test_an_event_that_nothing_waits_for_is_in_the_log_and_in_the_result():
    store = il.MemoryStore()
    await il.run_agent(GAME, store=store, thread_id="t", executors=script(GUESS))
    waiting = il.MemoryStore()
    first = await il.run_agent(GAME, store=waiting, thread_id="t", executors=script(ASK))
    second = await il.run_agent(GAME, store=waiting, thread_id="t", event=ASK, executors=script())
    assert isinstance(second, il.Idle)
    assert (second.ignored, second.duplicate) == (ASK, False)
    assert [entry.type for entry in second.entries] == ["Ask"]
    assert second.snapshot == first.snapshot
    assert replay(GAME, await whole(waiting, "t"), verify="strict").snapshot == first.snapshot


async def test_starting_a_thread_again_goes_on_with_it_or_says_why_not():
    store = il.MemoryStore()
    agent = il.setup_agent(context=guessing.Game, events=[guessing.Reply], input=int)
    machine = agent.machine(
        "m",
        context=lambda given: guessing.Game(questions_left=given),
        initial="a",
        states={"a": agent.state(on=[agent.on(guessing.Reply, lambda c, e: agent.stay(guess=e.answer))])},
    )
    first = await il.run_agent(machine, input=3, store=store, thread_id="t", execution_id="mine")
    again = await il.run_agent(machine, input=3, store=store, thread_id="t", event=YES)
    assert again.snapshot is not None
    assert (again.snapshot.context.questions_left, again.snapshot.context.guess) == (3, "yes")
    for options, said in (
        ({"input": 4}, "was started with another input"),
        ({"execution_id": "other"}, "belongs to execution 'mine', not to execution_id='other'"),
    ):
        with pytest.raises(il.BindError, match=said) as raised:
            await il.run_agent(machine, store=store, thread_id="t", **options)  # type: ignore[arg-type]
        assert raised.value.code == "thread-exists"
    with pytest.raises(il.SnapshotDivergedError, match="is not the one that the thread's 2 entries lead to"):
        await il.run_agent(machine, snapshot=first.snapshot, store=store, thread_id="t")
    same = await il.run_agent(machine, snapshot=again.snapshot, store=store, thread_id="t")
    assert same.entries == ()
    forked = await il.run_agent(machine, snapshot=first.snapshot, store=store, thread_id="u")
    assert forked.entries[0].type == "@agent.init"


@pytest.mark.parametrize(
    "options",
    [
        {"thread_id": "t"},
        {"store": il.MemoryStore()},
        {"store": il.MemoryStore(), "thread_id": ""},
        {"store": {}, "thread_id": "t"},
        {"event_id": "a"},
        {"event": YES, "event_id": ""},
        {"event": YES, "event_id": "evt_00000004"},
    ],
    ids=["no-store", "no-thread", "empty-thread", "no-such-store", "no-event", "empty-id", "own-id"],
)
async def test_a_store_and_its_thread_belong_together(options: Any):
    with pytest.raises(il.BindError):
        await il.run_agent(GAME, executors=script(), **options)


class Forged(il.MemoryStore):
    """A store whose kept snapshot is what ``forge`` makes of it."""

    def __init__(self, forge: Any) -> None:
        super().__init__()
        self.forge = forge
        self.reads: list[int] = []

    async def load_snapshot(self, thread_id: str) -> SavedSnapshot | None:
        saved = await super().load_snapshot(thread_id)
        return None if saved is None else self.forge(saved)

    async def read(self, thread_id: str, *, start: int = 0, limit: int | None = None) -> tuple[il.LogEntry, ...]:
        found = await super().read(thread_id, start=start, limit=limit)
        self.reads.append(len(found))
        return found


@pytest.mark.parametrize(
    ("forge", "reads"),
    [
        (lambda saved: saved, 2),
        (lambda saved: None, 5),
        (lambda saved: replace(saved, execution_id="other"), 5),
        (lambda saved: replace(saved, state_hash="0"), 6),
        (lambda saved: replace(saved, machine_id="other"), 5),
        (lambda saved: replace(saved, index=99), 5),
        (lambda saved: replace(saved, index=1), 8),
        (lambda saved: replace(saved, text="{"), 6),
        (lambda saved: replace(saved, text=saved.text.replace("alive", "ALIVE")), 6),
    ],
    ids=["true", "none", "execution", "hash", "machine", "ahead", "behind", "damaged", "tampered"],
)
async def test_a_kept_snapshot_is_believed_only_where_it_is_what_it_says(forge: Any, reads: int):
    store = Forged(forge)
    await il.run_agent(GAME, store=store, thread_id="t", executors=script(ASK))
    first = await il.run_agent(GAME, store=store, thread_id="t", event=YES, executors=script(ASK))
    store.reads.clear()
    last = await il.run_agent(GAME, store=store, thread_id="t", executors=script())
    assert last.snapshot == first.snapshot
    assert sum(store.reads) == reads


async def test_how_much_is_read_to_go_on_does_not_depend_on_how_long_the_log_is():
    store = Forged(lambda saved: saved)
    machine = sc.machine("m", initial="a", states={"a": sc.state(on={"GO": "b"}), "b": sc.state(on={"GO": "a"})})
    async with il.AgentSession(machine, store=store, thread_id="t") as session:
        for _ in range(300):
            session.send_nowait("GO")
        await session.settled()
    store.reads.clear()
    await il.run_agent(machine, store=store, thread_id="t", event="GO")
    assert store.reads == [1, 1]


async def test_a_snapshot_that_cannot_be_kept_is_only_a_warning(caplog: pytest.LogCaptureFixture):
    class Full(il.MemoryStore):
        async def save_snapshot(self, thread_id: str, saved: SavedSnapshot) -> None:
            raise il.StoreError("full")

    with caplog.at_level(logging.WARNING, "interlock.run"):
        result = await il.run_agent(GAME, store=Full(), thread_id="t", executors=script(ASK))
    assert isinstance(result, il.Idle)
    assert "thread 't': its snapshot could not be kept" in caplog.text


async def test_another_version_of_the_machine_migrates_a_thread_at_rest_or_says_why_not():
    store = il.MemoryStore()

    def game(version: str, **more: Any) -> Any:
        return sc.machine(
            "m",
            version=version,
            context={"n": 0},
            initial="a",
            states={"a": sc.state(on=[sc.on("GO", lambda c, e: sc.stay().set({"n": c["n"] + 1}))])},
            **more,
        )

    first = await il.run_agent(game("1"), store=store, thread_id="t", event="GO")
    with pytest.raises(il.LogVersionError, match="was written by version '1' of machine 'm', this is version '2'"):
        await il.run_agent(game("2"), store=store, thread_id="t")
    assert await whole(store, "t") == first.entries

    def migrate(dump: dict[str, Any], version: str) -> dict[str, Any]:
        assert version == "1"
        return {**dump, "context": {"n": dump["context"]["n"] + 100}}

    moved = await il.run_agent(game("2", migrate=migrate), store=store, thread_id="t", event="GO")
    assert moved.snapshot is not None
    assert moved.snapshot.context["n"] == 102
    init = moved.entries[0]
    assert (init.type, init.index) == ("@agent.init", 2)
    assert init.metadata["migrated_from"] == {"machine_version": "1", "index": 1}
    assert init.metadata["execution_id"] == first.entries[0].metadata["execution_id"]
    log = await whole(store, "t")
    assert replay(game("2"), log, verify="strict").snapshot.dump() == moved.snapshot.dump()
    again = await il.run_agent(game("2"), store=store, thread_id="t", event="GO")
    assert again.snapshot is not None
    assert again.snapshot.context["n"] == 103
    with pytest.raises(il.LogVersionError):
        await il.run_agent(game("1"), store=store, thread_id="t")


async def test_a_thread_that_was_cut_off_is_not_migrated_in_the_middle():
    store = Forged(lambda saved: None)
    await il.run_agent(desk(version="1", delay=0), store=store, thread_id="t", executors=executors())
    new = sc.machine("desk", version="2", initial="a", states={"a": sc.state()}, migrate=lambda dump, version: dump)
    with pytest.raises(il.LogVersionError, match="the run was cut off"):
        await il.run_agent(new, store=store, thread_id="t")


async def test_a_paid_answer_whose_handler_raises_is_kept_and_the_repaired_machine_goes_on_from_it():
    store = il.MemoryStore()
    broken = [True]

    agent = il.setup_agent(context=guessing.Game, events=[])

    def written(game: guessing.Game, text: str) -> Any:
        if broken[0]:
            raise ZeroDivisionError("not yet")
        return agent.goto("over", guess=text)

    def game() -> il.Machine[Any, Any, Any]:
        return agent.machine(
            "m",
            context=guessing.Game(),
            initial="a",
            states={
                "a": agent.state(invoke=agent.generate_text(name="t", prompt="?", on_done=written)),
                "over": agent.final(),
            },
        )

    first = await il.run_agent(game(), store=store, thread_id="t", executors=il.ScriptedExecutors(text=["paid for"]))
    assert isinstance(first, il.Failed)
    assert (first.cause, first.error.code) == ("machine", "handler-raised")
    assert [(entry.status, entry.output) for entry in first.entries[1:]] == [("error", "paid for")]
    assert [info.status for info in await store.threads()] == ["error"]
    still = await il.run_agent(game(), store=store, thread_id="t", executors=il.ScriptedExecutors())
    assert isinstance(still, il.Failed)
    assert (still.cause, still.error.code, still.entries) == ("machine", "handler-raised", ())
    assert still.snapshot is not None
    assert first.snapshot is not None
    assert still.snapshot.dump() == first.snapshot.dump()
    broken[0] = False
    last = await il.run_agent(game(), store=store, thread_id="t", executors=il.ScriptedExecutors())
    assert isinstance(last, il.Done)
    assert last.snapshot.context.guess == "paid for"


async def test_an_event_whose_handler_raises_is_not_written():
    store = il.MemoryStore()
    machine = sc.machine("m", initial="a", states={"a": sc.state(on=[sc.on("GO", lambda c, e: 1 // 0)])})
    first = await il.run_agent(machine, store=store, thread_id="t")
    result = await il.run_agent(machine, store=store, thread_id="t", event="GO")
    assert isinstance(result, il.Failed)
    assert (result.cause, result.entries, result.snapshot) == ("machine", (), first.snapshot)


class Rates(guessing.BaseModel, frozen=True):
    rates: tuple[float, ...] = ()


class Set(il.Event):
    """Set the rates."""


@pytest.mark.parametrize("stored", [True, False])
async def test_a_state_that_could_not_be_saved_ends_the_run_with_its_path(stored: bool):
    agent = il.setup_agent(context=Rates, events=[Set])
    machine = agent.machine(
        "m",
        context=Rates(),
        initial="a",
        states={"a": agent.state(on=[agent.on(Set, lambda c, e: agent.stay(rates=(float("nan"),)))])},
    )
    options: Any = {"store": il.MemoryStore(), "thread_id": "t"} if stored else {}
    result = await il.run_agent(machine, event=Set(), **options)
    assert isinstance(result, il.Failed)
    assert (result.cause, result.error.code) == ("journal", "not-json")
    assert result.error.message.startswith("context.rates[0]: nan has no form in JSON")
    assert "machine 'm'" in result.error.message
    assert result.snapshot is not None
    assert result.snapshot.context == Rates()


async def test_the_log_says_what_each_call_cost_and_why():
    result = await il.run_agent(DESK, executors=executors(), record_raw=True)
    assert isinstance(result, il.Idle)
    assert il.get_usage(result.entries) == result.usage
    assert result.usage.model_calls == 7
    chosen = next(entry for entry in result.entries if entry.type == "Accept")
    assert chosen.metadata["reason"] == "so it seems"
    done = [entry for entry in result.entries if entry.metadata.get("finish_reason") == "stop"]
    assert len(done) >= 2


async def test_the_providers_own_answer_is_kept_if_it_is_wanted():
    class Answer:
        def __init__(self) -> None:
            self.id = "resp-1"

    for raw, kept in (({"id": 1}, {"id": 1}), ({"x": float("nan")}, {"x": "NaN"}), (None, None)):
        choice = il.Choice(GUESS, raw=raw)
        result = await il.run_agent(GAME, executors=script(choice), record_raw=True)
        assert result.entries[1].metadata.get("raw") == kept
        without = await il.run_agent(GAME, executors=script(choice))
        assert "raw" not in without.entries[1].metadata


async def test_a_thread_tells_how_it_stands():
    store = il.MemoryStore()
    clock = il.FakeClock(50.0)
    await il.run_agent(GAME, store=store, thread_id="a", executors=script(ASK), clock=clock)
    await il.run_agent(GAME, store=store, thread_id="b", executors=script(GUESS), clock=clock)
    cut = Failing(3, il.StoreError("gone"))
    await il.run_agent(GAME, store=cut, thread_id="c", executors=script("Reply", "Reply", ASK))
    assert [(info.thread_id, info.status, info.length, info.updated_at) for info in await store.threads()] == [
        ("b", "done", 2, 50.0),
        ("a", "waiting", 2, 50.0),
    ]
    assert [info.status for info in await cut.threads()] == ["working"]
    assert [info.thread_id for info in await store.threads(status="waiting")] == ["a"]


async def test_what_was_refused_is_not_asked_again_after_a_crash():
    store = Failing(3, il.StoreError("gone"))
    first = script("Reply", "Reply")
    await il.run_agent(GAME, store=store, thread_id="t", executors=first)
    assert [entry.type for entry in await whole(store, "t")] == ["@agent.init", "@record.0.twenty-questions.deciding"]
    store.left = 99
    then = script(ASK)
    result = await il.run_agent(GAME, store=store, thread_id="t", executors=then)
    assert isinstance(result, il.Idle)
    assert [attempt.failure for attempt in then.decision_requests[0].attempts] == ["unknown-event"]
    assert then.infos[0].call_key == first.infos[1].call_key  # which was in flight


async def test_timers_go_on_where_they_were():
    store = il.MemoryStore()
    clock = il.FakeClock(100.0)
    machine = sc.machine(
        "m",
        initial="a",
        states={"a": sc.state(after=[sc.after(60, "b")]), "b": sc.state(after=[sc.after(5, "c")]), "c": sc.final()},
    )
    first = await il.run_agent(machine, store=store, thread_id="t", clock=clock, timers="return")
    assert isinstance(first, il.Idle)
    clock.advance(61)
    second = await il.run_agent(machine, store=store, thread_id="t", clock=clock, timers="return")
    assert isinstance(second, il.Idle)
    assert [(entry.type, entry.recorded_at) for entry in second.entries] == [("@timer.after:60:m.a", 161.0)]
    assert [timer.due for timer in second.timers] == [166.0]


async def test_a_cancelled_run_ends_its_write_first():
    store = Slow()
    ended: list[str] = []

    async def run() -> None:
        try:
            await il.run_agent(GAME, store=store, thread_id="t", executors=script(ASK))
        finally:
            ended.append("run")

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await store.began.wait()
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await anyio.wait_all_tasks_blocked()
            assert (store.writing, ended) == (True, [])
            store.go.set()
    assert (store.begun, store.ended, ended) == (1, 1, ["run"])
    assert len(await whole(store, "t")) == 1


async def test_a_session_writes_while_it_is_open_and_keeps_its_end():
    heard: list[str] = []
    store = Listening(heard)
    async with il.AgentSession(DESK, store=store, thread_id="t", executors=executors()) as session:
        result = await session.settled()
        assert isinstance(result, il.Idle)
        assert len(heard) == len(result.entries)
        await session.send(Again())
        await session.settled()
        await session.send(Approve(by="me"))
        result = await session.settled()
        assert isinstance(result, il.Done)
    saved = await store.load_snapshot("t")
    assert saved is not None
    assert saved.index == len(await whole(store, "t")) - 1
    gc.collect()


async def test_a_state_whose_snapshot_cannot_be_kept_is_gone_on_with_from_its_log(caplog):
    class Locked(BaseModel, frozen=True):
        key: SecretStr = SecretStr("")

    class Set(il.Event):
        """Set the key."""

        key: str

    agent = il.setup_agent(context=Locked, events=[Set])
    states = {"a": agent.state(on=[agent.on(Set, lambda c, event: agent.stay(key=SecretStr(event.key)))])}
    machine = agent.machine("locked", context=Locked(), initial="a", states=states)
    store = il.MemoryStore()
    for _ in range(2):
        result = await il.run_agent(machine, store=store, thread_id="t", event=Set(key="k"), event_id="once")
        assert isinstance(result, il.Idle)
        assert result.snapshot.context.key.get_secret_value() == "k"
    assert "its snapshot could not be kept; the log is whole" in caplog.text
    assert (await store.length("t"), await store.load_snapshot("t")) == (2, None)


async def test_of_events_that_are_sent_twice_at_once_one_counts():
    store = il.MemoryStore()
    async with il.AgentSession(GAME, store=store, thread_id="t", executors=script(ASK, ASK, ASK)) as session:
        await session.settled()
        await session.send(YES, event_id="click")
        await session.send(YES, event_id="click")
        result = await session.settled()
        assert isinstance(result, il.Idle)
        assert result.duplicate
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(functools.partial(session.send, YES, event_id="again"))
        result = await session.settled()
    names = [entry.id for entry in await whole(store, "t")]
    assert names == ["evt_00000000", "evt_00000001", "click", "evt_00000003", "again", "evt_00000005"]
    assert isinstance(result, il.Idle)


class Torn(il.MemoryStore):
    """A store whose appends are cancelled from inside from the ``number``-th on."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.left = number

    async def append(self, thread_id: str, expected_index: int, entries: Any) -> None:
        self.left -= 1
        if self.left < 1:
            raise asyncio.CancelledError
        await super().append(thread_id, expected_index, entries)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("number", [1, 2, 3])
async def test_a_store_that_cancels_itself_has_not_written(number: int):
    store = Torn(number)
    result = await il.run_agent(DESK, store=store, thread_id="t", executors=executors())
    assert isinstance(result, il.Failed)
    assert (result.cause, result.error.code) == ("journal", "store-failed")
    assert result.entries == await whole(store, "t")


class Unreadable(il.MemoryStore):
    """A store whose snapshots cannot be read."""

    async def load_snapshot(self, thread_id: str) -> SavedSnapshot | None:
        raise RecursionError("nested too deeply")


async def test_a_kept_snapshot_that_cannot_be_read_stops_nobody(caplog: pytest.LogCaptureFixture):
    store = Unreadable()
    first = await il.run_agent(GAME, store=store, thread_id="t", executors=script(ASK))
    again = await il.run_agent(GAME, store=store, thread_id="t", executors=script())
    assert again.snapshot == first.snapshot
    assert "its log is replayed" in caplog.text


async def test_what_was_sent_to_a_session_is_written_before_its_block_is_left():
    machine = sc.machine("m", initial="a", states={"a": sc.state(on={"GO": "b"}), "b": sc.state(on={"GO": "a"})})
    for store in (il.MemoryStore(), Slow()):
        if isinstance(store, Slow):
            store.go.set()
        async with il.AgentSession(machine, store=store, thread_id="t") as session:
            for _ in range(20):
                await session.send("GO")
        assert len(await whole(store, "t")) == 21


async def test_a_fork_that_goes_another_way_calls_under_keys_of_its_own():
    store = il.MemoryStore()
    await il.run_agent(GAME, store=store, thread_id="t", executors=script(ASK), execution_id="one")
    other = il.fork(await whole(store, "t"), 1, execution_id="two")
    await store.append("u", 0, other)
    asked = script(GUESS)
    result = await il.run_agent(GAME, store=store, thread_id="u", executors=asked)
    assert isinstance(result, il.Done)
    assert asked.infos[0].call_key.startswith("two:")
    assert other[0].metadata["forked_from"] == {"execution_id": "one", "length": 1}
    assert replay(GAME, await whole(store, "u"), verify="strict").snapshot == result.snapshot


async def test_a_budget_may_be_that_of_the_whole_thread():
    store = il.MemoryStore()
    options: Any = {"store": store, "thread_id": "t", "budget": "thread", "max_model_calls": 2}
    await il.run_agent(GAME, executors=script(ASK), **options)
    second = await il.run_agent(GAME, executors=script(ASK), event=YES, **options)
    assert (second.usage.model_calls, il.get_usage(await whole(store, "t")).model_calls) == (1, 2)
    over = await il.run_agent(GAME, executors=script(), event=YES, **options)
    assert isinstance(over, il.Done)  # "stumped", by on_error
    assert over.usage.model_calls == 0
    assert over.snapshot.matches("stumped")
    for wrong in ({"budget": "thread"}, {"budget": "mine"}):
        with pytest.raises(il.BindError, match="budget="):
            await il.run_agent(GAME, executors=script(), **wrong)  # type: ignore[arg-type]


class Scan(BaseModel, frozen=True):
    data: bytes = b""
    title: str = ""


class Page(BaseModel, frozen=True):
    scan: Scan = Scan()


def scanning(*, sets: Any = None, starts: Any = None, **more: Any) -> il.Machine[Any, Any, Any]:
    agent = il.setup_agent(context=Page, events=[Set])
    return agent.machine(
        "scanning",
        context=(lambda given: Page(scan=starts)) if starts else Page(),
        initial="a",
        states={"a": agent.state(on=[agent.on(Set, lambda c, e: agent.stay(scan=sets or Scan()))])},
        **{"version": "1", **more},
    )


@pytest.mark.parametrize("lost", [Scan(data=b"\xff"), Scan(title="\ud800")], ids=["bytes", "surrogate"])
@pytest.mark.parametrize("at_once", [True, False], ids=["beginning", "later"])
async def test_a_log_that_leads_to_what_cannot_be_saved_now_is_one_that_cannot_be_folded(lost: Scan, at_once: bool):
    store = Forged(lambda saved: None)
    await il.run_agent(scanning(starts=Scan(), sets=Scan()), store=store, thread_id="t", event=Set())
    log = await whole(store, "t")
    machine = scanning(starts=lost, sets=Scan()) if at_once else scanning(starts=Scan(), sets=lost)
    index = 0 if at_once else 1
    with pytest.raises(il.ReplayFailedError, match=rf"entry {index} .*context\.scan") as raised:
        replay(machine, log)
    assert isinstance(raised.value.__cause__, il.NotJsonError)
    assert (raised.value.index, raised.value.snapshot is None) == (index, at_once)
    verdict = il.check_log(machine, log)
    assert (verdict.verdict, verdict.index) == ("fails", index)
    result = await il.run_agent(machine, store=store, thread_id="t")
    assert isinstance(result, il.Failed)
    assert (result.cause, result.error.code, result.entries) == ("journal", "not-json", ())
    assert (result.snapshot is None) == at_once
    assert await whole(store, "t") == log


class Odd(BaseModel, frozen=True):
    data: bytes = b""

    @field_validator("data")
    @classmethod
    def changed(cls, data: bytes) -> bytes:
        return b"\xff" if data == b"old" else data


async def test_a_migration_that_leads_to_what_cannot_be_saved_is_a_typed_failure():
    class Kept(BaseModel, frozen=True):
        odd: Odd = Odd()

    store = il.MemoryStore()
    agent = il.setup_agent(context=Kept, events=[Set])

    def machine(version: str, **more: Any) -> il.Machine[Any, Any, Any]:
        states = {"a": agent.state(on=[agent.on(Set, "a")])}
        return agent.machine("odd", version=version, context=Kept(), initial="a", states=states, **more)

    first = await il.run_agent(machine("1"), store=store, thread_id="t")
    newer = machine("2", migrate=lambda dump, _: {**dump, "context": {"odd": {"data": "old"}}})
    result = await il.run_agent(newer, store=store, thread_id="t", event=Set())
    assert isinstance(result, il.Failed)
    assert (result.cause, result.error.code, result.entries) == ("journal", "not-json", ())
    assert await whole(store, "t") == first.entries


async def test_a_thread_that_cannot_be_replayed_is_traced_as_resumed():
    store = Forged(lambda saved: None)
    await il.run_agent(scanning(sets=Scan()), store=store, thread_id="t", event=Set())
    seen: list[il.TraceEvent] = []
    await il.run_agent(scanning(sets=Scan(data=b"\xff")), store=store, thread_id="t", on_trace=seen.append)
    assert [event.resumed for event in seen if isinstance(event, il.RunStarted)] == [True]
    assert isinstance(seen[-1], il.RunEnded)
    seen.clear()
    await il.run_agent(scanning(starts=Scan(data=b"\xff")), store=store, thread_id="u", on_trace=seen.append)
    assert [event.resumed for event in seen if isinstance(event, il.RunStarted)] == [False]


async def test_of_two_workers_who_would_ask_the_same_person_one_asks():
    agent = il.setup_agent(context=guessing.Game, events=[])
    machine = agent.machine(
        "asking",
        context=guessing.Game(),
        initial="a",
        states={
            "a": agent.state(
                invoke=agent.user_input("Who?", str, on_done=lambda c, said: agent.goto("b", guess=said)),
            ),
            "b": agent.final(output=lambda c: c.guess),
        },
    )
    store = il.MemoryStore()
    first = await il.run_agent(machine, store=store, thread_id="t")
    assert isinstance(first, il.Idle)
    asked: list[str] = []
    results: list[Any] = []
    both = anyio.Event()

    async def ask(request: il.UserInputRequest) -> str:
        asked.append(request.prompt)
        await both.wait()
        return "me"

    async def work() -> None:
        results.append(await il.run_agent(machine, store=store, thread_id="t", user_input=ask))

    async with anyio.create_task_group() as group:
        group.start_soon(work)
        group.start_soon(work)
        await anyio.wait_all_tasks_blocked()
        assert asked == ["Who?"]
        both.set()
    lost, won = results
    assert isinstance(lost, il.Failed)
    assert (lost.cause, lost.error.code) == ("journal", "log-conflict")
    assert isinstance(won, il.Done)
    assert [entry.type for entry in await whole(store, "t")][1:-1] == ["@agent.resume"]


async def test_who_asks_nobody_takes_no_question_up():
    agent = il.setup_agent(context=guessing.Game, events=[])
    states = {"a": agent.state(invoke=agent.user_input("Who?", str, on_done=lambda c, said: agent.stay()))}
    machine = agent.machine("asking", context=guessing.Game(), initial="a", states=states)
    store = il.MemoryStore()
    for _ in range(2):
        await il.run_agent(machine, store=store, thread_id="t")
    assert await store.length("t") == 1
