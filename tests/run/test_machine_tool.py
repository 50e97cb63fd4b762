"""A machine as a tool: its input are the parameters, its end is the answer; what waits is gone on with."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
import pytest
from pydantic import BaseModel

import interlock as il
from interlock.errors import DefinitionError
from tests.durable.stores import Failing

pytestmark = pytest.mark.anyio


class Question(BaseModel, frozen=True):
    """Look something up in the archive."""

    topic: str
    depth: int = 1


class Finding(BaseModel, frozen=True):
    topic: str
    text: str


class Deeper(il.Event):
    """Look further."""

    why: str


class Enough(il.Event):
    """That will do."""


class Release(il.Event, actor="human"):
    """Hand out what is under lock."""


class Search(BaseModel, frozen=True):
    topic: str = ""
    text: str = ""


archive_agent = il.setup_agent(context=Search, events=[Deeper, Enough, Release], input=Question, output=Finding)


def archive(*, asks: bool = False) -> il.Machine[Search, Question, Finding]:
    """A machine that has something looked up, and waits afterwards, if it ``asks``, for somebody to be content."""
    return archive_agent.machine(
        "archive",
        context=lambda question: Search(topic=question.topic),
        initial="looking",
        states={
            "looking": archive_agent.state(
                invoke=archive_agent.generate_text(
                    name="look",
                    model="quick",
                    prompt=lambda c: f"{c.topic}{c.text}",
                    on_done=lambda c, text: archive_agent.goto("shown" if asks else "over", text=text),
                ),
            ),
            "shown": archive_agent.state(
                on=[
                    archive_agent.on(Deeper, lambda c, event: archive_agent.goto("looking", text=f" ({event.why})")),
                    archive_agent.on(Enough, "over"),
                    archive_agent.on(Release, "over"),
                ]
            ),
            "over": archive_agent.final(output=lambda c: Finding(topic=c.topic, text=c.text)),
        },
    )


agent = il.setup_agent(events=[], output=str)


def writing(*tools: Any, name: str = "draft") -> il.Machine[Any, None, str]:
    """A machine that has a text written by a model with these tools."""
    return agent.machine(
        "writing",
        context={},
        initial="writing",
        states={
            "writing": agent.state(
                invoke=agent.generate_text(
                    name=name,
                    model="quick",
                    prompt="Write.",
                    tools=list(tools),
                    on_done=lambda c, text: agent.goto("over", text=text),
                )
            ),
            "over": agent.final(output=lambda c: c["text"]),
        },
    )


@dataclass
class Models:
    """Both models: the outer one makes ``calls``, one a turn, and writes down what it is told; the inner one finds."""

    calls: tuple[tuple[str, Any], ...]
    wrong: Exception | None = None

    def __post_init__(self) -> None:
        self.inner = Counter[str]()
        self.outer = Counter[str]()
        self.told: list[Any] = []

    async def generate_text(self, request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        usage = il.Usage(output_tokens=1)
        if request.name == "look":
            self.inner[info.call_key] += 1
            if self.wrong is not None:
                raise self.wrong
            return il.TextResult(output=f"[{request.prompt}]", usage=usage)
        self.outer[info.call_key] += 1
        turn = len(request.turns) // 2
        self.told = [part.output for message in request.turns if message.role == "tool" for part in message.content]
        if turn == len(self.calls):
            return il.TextResult(output="written", usage=usage)
        name, given = self.calls[turn]
        arguments = given(self.told) if callable(given) else given
        return il.TextResult(tool_calls=(il.ToolCall(f"c{turn}", name, arguments),), usage=usage)

    @property
    def executors(self) -> il.Executors:
        return il.Executors(generate_text=self.generate_text)


RAIN = {"topic": "rain"}
FOUND = {"topic": "rain", "text": "[rain]"}


def test_its_parameters_are_the_fields_of_the_machines_input():
    made = il.machine_tool(archive())
    assert made.descriptor.to_json() == {
        "name": "archive",
        "description": "Look something up in the archive.",
        "input_schema": {
            "type": "object",
            "properties": {
                "topic": {"type": "string", "title": "Topic"},
                "depth": {"type": "integer", "title": "Depth", "default": 1},
            },
            "required": ("topic",),
        },
    }
    other = il.machine_tool(writing(), name="write", description="Write something.")
    assert other.descriptor.to_json() == {
        "name": "write",
        "description": "Write something.",
        "input_schema": {"type": "object", "properties": {}},
    }


def test_what_can_be_no_tool_is_said_at_once():
    worded = il.setup_agent(events=[], input=str, output=str)
    machine = worded.machine(
        "worded", context=lambda text: {"text": text}, initial="a", states={"a": worded.final(output="x")}
    )
    with pytest.raises(DefinitionError, match="no fields") as caught:
        il.machine_tool(machine)
    assert caught.value.code == "invalid-tool"
    with pytest.raises(il.BindError, match="no executor"):
        il.machine_tool(archive(), executors=il.Executors())
    with pytest.raises(DefinitionError, match="store"):
        _ = il.machine_tool(archive()).resume


async def test_the_model_is_told_the_output_and_both_models_count():
    models = Models((("archive", RAIN),))
    result = await il.run_agent(writing(il.machine_tool(archive())), executors=models.executors)
    assert isinstance(result, il.Done)
    assert result.output == "written"
    assert models.told == [il.JsonOutput(value=FOUND)]
    assert (result.usage.model_calls, result.usage.output_tokens) == (3, 3)


async def test_it_may_have_executors_of_its_own():
    script = il.ScriptedExecutors(text=["by its own"])
    models = Models((("archive", RAIN),))
    machine = writing(il.machine_tool(archive(), executors=script))
    result = await il.run_agent(machine, executors=models.executors)
    assert isinstance(result, il.Done)
    assert models.told == [il.JsonOutput(value={"topic": "rain", "text": "by its own"})]
    assert result.usage.model_calls == 3


async def test_another_name_in_the_mapping_is_its_name():
    machine = agent.machine(
        "m",
        context={},
        initial="a",
        states={
            "a": agent.state(
                invoke=agent.generate_text(
                    name="draft", model="quick", prompt="?", tools={"seek": il.machine_tool(archive())}, on_done="over"
                )
            ),
            "over": agent.final(output=""),
        },
    )
    models = Models((("seek", RAIN),))
    await il.run_agent(machine, executors=models.executors)
    assert models.told == [il.JsonOutput(value=FOUND)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"topic": 3}, "archive was not called: topic: Input should be a valid string"),
        (None, "archive was not called: topic: Field required"),
        ([1], "archive needs an object of arguments, not"),
    ],
)
async def test_arguments_that_do_not_fit_are_answered(given: object, said: str):
    models = Models((("archive", given),))
    await il.run_agent(writing(il.machine_tool(archive())), executors=models.executors)
    (answer,) = models.told
    assert isinstance(answer, il.ErrorTextOutput)
    assert answer.value.startswith(said)
    assert not models.inner


async def test_a_machine_that_has_failed_is_an_answer():
    models = Models((("archive", RAIN),), wrong=ValueError("all lost"))
    result = await il.run_agent(writing(il.machine_tool(archive())), executors=models.executors)
    assert isinstance(result, il.Done)
    assert models.told == [il.ErrorTextOutput(value="archive has failed (raised): all lost")]


async def test_a_host_that_cannot_carry_it_out_is_told_so():
    models = Models((("game", {}),))
    decides = il.setup_agent(events=[Enough], output=str)
    game = decides.machine(
        "game",
        context={},
        initial="a",
        states={
            "a": decides.state(invoke=decides.decide(prompt="?"), on=[decides.on(Enough, "b")]),
            "b": decides.final(output=""),
        },
    )
    tool = il.machine_tool(game)
    with pytest.raises(il.BindError, match="tool 'game': machine 'game', state 'a' asks a model to decide") as caught:
        await il.run_agent(writing(tool), executors=models.executors)
    assert caught.value.code == "missing-executor"
    assert not models.told, "nothing was paid before"
    # A tool that only a function names is not known before.
    named = writing()
    words = il.setup_agent(events=[], output=str)
    named = words.machine(
        "named",
        context={},
        initial="a",
        states={
            "a": words.state(
                invoke=words.generate_text(
                    name="draft",
                    model="quick",
                    prompt="?",
                    tools=lambda c: [tool],
                    on_done=lambda c, text: words.goto("b"),
                )
            ),
            "b": words.final(output="x"),
        },
    )
    result = await il.run_agent(named, executors=models.executors)
    assert isinstance(result, il.Done), result
    assert models.told[0].value.startswith("game cannot be run: machine 'game', state 'a' asks a model to decide")


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_model_calls": -1},
        {"max_model_calls": "x"},
        {"store": 5},
        {"store": "sqlite:runs.db"},
        {"timers": "x"},
        {"user_input": 5},
        {"on_trace": 5},
        {"executors": 5},
        {"actors": 5},
    ],
)
def test_arguments_that_mean_nothing_are_said_when_it_is_made(wrong: dict[str, Any]):
    with pytest.raises(il.BindError, match=next(iter(wrong))):
        il.machine_tool(archive(), **wrong)
    with pytest.raises(il.BindError, match="give a machine"):
        il.machine_tool(5)  # type: ignore[arg-type]  # wrong on purpose


async def test_the_budget_of_the_run_that_calls_it_is_its_budget():
    models = Models((("archive", RAIN),))
    machine = writing(il.machine_tool(archive()))
    result = await il.run_agent(machine, executors=models.executors, max_model_calls=1)
    assert isinstance(result, il.Failed)
    assert result.cause == "max-model-calls"
    assert not models.inner
    own = Models((("archive", RAIN),))
    await il.run_agent(writing(il.machine_tool(archive(), max_model_calls=0)), executors=own.executors)
    assert "max-model-calls" in own.told[0].value


# -- waiting ---------------------------------------------------------------------------------------------------------


def thread_of(told: list[Any]) -> Any:
    return told[0].value["thread_id"]


async def test_a_machine_that_waits_says_what_for():
    models = Models((("archive", RAIN),))
    await il.run_agent(writing(il.machine_tool(archive(asks=True))), executors=models.executors)
    (answer,) = models.told
    assert answer.value["status"] == "waiting"
    assert [event["type"] for event in answer.value["waits_for"]] == ["Deeper", "Enough"]
    assert answer.value["waits_for"][0]["description"] == "Look further."
    assert answer.value["waits_for_a_person"] == ["Release"] or answer.value["waits_for_a_person"] == ("Release",)
    assert "thread_id" not in answer.value


def going_on(store: il.Store) -> il.Machine[Any, None, str]:
    seek = il.machine_tool(archive(asks=True), store=store)
    return writing(seek, seek.resume)


async def test_a_second_call_goes_on_with_it():
    store = il.MemoryStore()
    models = Models(
        (
            ("archive", RAIN),
            ("resume_archive", lambda told: {"thread_id": thread_of(told)}),
            (
                "resume_archive",
                lambda told: {"thread_id": thread_of(told), "event": {"type": "Deeper", "why": "more"}},
            ),
            ("resume_archive", lambda told: {"thread_id": thread_of(told), "event": {"type": "Enough"}}),
            ("resume_archive", lambda told: {"thread_id": thread_of(told), "event": {"type": "Enough"}}),
        )
    )
    result = await il.run_agent(going_on(store), executors=models.executors, execution_id="outer")
    assert isinstance(result, il.Done)
    first, again, deeper, enough, too_late = models.told
    assert first.value == again.value
    assert first.value["go_on_with"] == "resume_archive"
    assert deeper.value["status"] == "waiting"
    assert enough == too_late == il.JsonOutput(value={"topic": "rain", "text": "[rain (more)]"})
    assert list(models.inner.values()) == [1, 1]
    (thread,) = await store.threads()
    assert thread.thread_id == thread_of(models.told)
    assert thread.thread_id.startswith("outer:")
    types = [entry.type for entry in await store.read(thread.thread_id) if entry.event is not None]
    assert types == ["@agent.init", "Deeper", "Enough"]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"type": "Release"}, "the event was not sent: only a person may send 'Release'"),
        ({"type": "Nonsense"}, "the event was not sent: machine 'archive'"),
        ({"type": "Deeper"}, "the event was not sent: machine 'archive': event 'Deeper': why: Field required"),
    ],
)
async def test_what_the_model_may_not_send_is_not_sent(event: object, said: str):
    store = il.MemoryStore()
    models = Models(
        (("archive", RAIN), ("resume_archive", lambda told: {"thread_id": thread_of(told), "event": event}))
    )
    await il.run_agent(going_on(store), executors=models.executors)
    assert models.told[1].value.startswith(said)
    (thread,) = await store.threads()
    assert thread.status == "waiting"


async def test_only_threads_of_this_execution_can_be_gone_on_with():
    store = il.MemoryStore()
    await il.run_agent(
        archive(asks=True),
        input=Question(topic="secret"),
        store=store,
        thread_id="secret",
        executors=il.ScriptedExecutors(text=["x"]),
    )
    for thread in ("secret", "nobody:1", ""):
        models = Models((("resume_archive", {"thread_id": thread, "event": {"type": "Enough"}}),))
        await il.run_agent(going_on(store), executors=models.executors)
        assert models.told[0].value == f"there is no thread {thread!r} that archive has begun here"
    assert [info.status for info in await store.threads()] == ["waiting"]


async def test_a_person_may_go_on_with_the_thread_and_the_model_then_sees_it():
    store = il.MemoryStore()

    async def released(told: list[Any]) -> None:
        await il.run_agent(
            archive(asks=True), store=store, thread_id=thread_of(told), event=Release(), executors=models.executors
        )

    models = Models((("archive", RAIN), ("wait", {}), ("resume_archive", lambda told: {"thread_id": thread_of(told)})))

    async def wait() -> str:
        await released(models.told)
        return "somebody was here"

    seek = il.machine_tool(archive(asks=True), store=store)
    await il.run_agent(writing(seek, seek.resume, wait), executors=models.executors)
    assert models.told[2] == il.JsonOutput(value=FOUND)


async def test_questions_to_people_and_timers_are_told_too():
    asking = il.setup_agent(events=[], output=str)
    machine = asking.machine(
        "asking",
        context={},
        initial="a",
        states={
            "a": asking.state(
                invoke=asking.user_input("How old?", int, on_done=lambda c, age: asking.goto("b", age=age)),
                after=[asking.after(60, "b")],
            ),
            "b": asking.final(output="over"),
        },
    )
    models = Models((("asking", {}),))
    result = await il.run_agent(
        writing(il.machine_tool(machine, timers="return")), executors=models.executors, clock=il.FakeClock(100.0)
    )
    assert isinstance(result, il.Done)
    value = models.told[0].value
    assert (list(value["asks_a_person"]), list(value["goes_on_by_itself_at"])) == (["How old?"], [160.0])
    asked = Models((("asking", {}),))
    await il.run_agent(writing(il.machine_tool(machine, user_input=lambda request: 7)), executors=asked.executors)
    assert asked.told == [il.TextOutput(value="over")]


# -- crashes and ends ------------------------------------------------------------------------------------------------

GOING_ON = (
    ("archive", RAIN),
    ("resume_archive", lambda told: {"thread_id": thread_of(told), "event": {"type": "Deeper", "why": "more"}}),
    ("resume_archive", lambda told: {"thread_id": thread_of(told), "event": {"type": "Enough"}}),
)


@pytest.mark.parametrize("number", range(1, 14))
async def test_cut_off_after_any_append_nothing_recorded_is_paid_again(number: int):
    """Both logs are in the store that fails, the outer machine's and the inner one's."""
    store = Failing(number, il.StoreError("gone"))
    first = Models(GOING_ON)
    cut = await il.run_agent(going_on(store), store=store, thread_id="t", executors=first.executors)
    assert not isinstance(cut, il.Done)
    logs = [await store.read(info.thread_id) for info in await store.threads()]
    paid = sum(il.get_usage(log).model_calls for log in logs)
    store.left = 1000
    then = Models(GOING_ON)
    result = await il.run_agent(going_on(store), store=store, thread_id="t", executors=then.executors)
    assert isinstance(result, il.Done)
    calls = first.inner + first.outer + then.inner + then.outer
    assert len(calls) == 6
    assert set(calls.values()) <= {1, 2}
    assert sum((then.inner + then.outer).values()) == 6 - paid
    assert then.told[-1] == il.JsonOutput(value={"topic": "rain", "text": "[rain (more)]"})
    (inner,) = [info.thread_id for info in await store.threads() if info.thread_id != "t"]
    sent = [entry.type for entry in await store.read(inner) if entry.event is not None and not entry.is_resume]
    assert sent == ["@agent.init", "Deeper", "Enough"]
    assert il.check_log(going_on(store), await store.read("t")).verdict == "ok"


async def test_an_event_that_was_sent_before_the_crash_is_not_refused_after_it():
    steps = archive_agent.machine(
        "archive",
        context=lambda question: Search(topic=question.topic),
        initial="a",
        states={
            "a": archive_agent.state(on=[archive_agent.on(Enough, "b")]),
            "b": archive_agent.state(on=[archive_agent.on(Deeper, "over")]),
            "over": archive_agent.final(output=Finding(topic="", text="")),
        },
    )
    calls = (
        ("archive", RAIN),
        ("resume_archive", lambda told: {"thread_id": thread_of(told), "event": {"type": "Enough"}}),
    )
    inner, outer = il.MemoryStore(), Failing(5, il.StoreError("gone"))  # before the answer to the second call is kept
    seek = il.machine_tool(steps, store=inner)
    machine = writing(seek, seek.resume)
    await il.run_agent(machine, store=outer, thread_id="t", executors=Models(calls).executors)
    outer.left = 1000
    models = Models(calls)
    await il.run_agent(machine, store=outer, thread_id="t", executors=models.executors)
    assert [event["type"] for event in models.told[1].value["waits_for"]] == ["Deeper"]


async def test_a_fork_may_call_it_with_other_words():
    store = il.MemoryStore()
    machine = going_on(store)
    result = await il.run_agent(machine, executors=Models((("archive", RAIN),)).executors)
    await store.append("fork", 0, il.fork(result.entries, 1))
    models = Models((("archive", {"topic": "snow"}),))
    await il.run_agent(machine, store=store, thread_id="fork", executors=models.executors)
    assert models.told[0].value["status"] == "waiting"
    assert len(await store.threads()) == 3


async def test_it_can_be_called_outside_any_run():
    store = il.MemoryStore()
    seek = il.machine_tool(archive(asks=True), store=store, executors=il.ScriptedExecutors(text=["x"]))
    bound = seek.bind(RAIN)
    assert callable(bound)
    answer: Any = await bound()  # type: ignore[misc]
    goes_on = seek.resume.bind({"thread_id": answer.value["thread_id"], "event": {"type": "Enough"}})
    assert callable(goes_on)
    assert await goes_on() == il.JsonOutput(value={"topic": "rain", "text": "x"})  # type: ignore[misc]


async def test_replaying_runs_no_tool():
    models = Models((("archive", RAIN),))
    machine = writing(il.machine_tool(archive()))
    result = await il.run_agent(machine, executors=models.executors)
    assert il.replay(machine, result.entries).snapshot == result.snapshot
    assert sum(models.inner.values()) == 1


async def test_the_end_of_the_call_is_the_end_of_the_machine():
    began, ended, abort = anyio.Event(), anyio.Event(), il.Abort()

    async def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        if request.name != "look":
            return il.TextResult(tool_calls=(il.ToolCall("1", "archive", RAIN),))
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with anyio.create_task_group() as group:

        async def stop() -> None:
            await began.wait()
            abort.abort("enough")

        group.start_soon(stop)
        result = await il.run_agent(
            writing(il.machine_tool(archive())), executors=il.Executors(generate_text=generate_text), abort=abort
        )
    assert isinstance(result, il.Failed)
    assert result.cause == "aborted"
    assert ended.is_set()


async def test_what_comes_too_late_in_it_is_counted_where_it_is_called():
    began, release, abort = threading.Event(), threading.Event(), il.Abort()

    def look(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        began.set()
        release.wait(10)
        return il.TextResult(output="late", usage=il.Usage(input_tokens=7))

    models = Models((("archive", RAIN),))
    machine = writing(il.machine_tool(archive(), executors=il.Executors(generate_text=look)))
    results: list[Any] = []

    async def run() -> None:
        results.append(await il.run_agent(machine, executors=models.executors, abort=abort))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await anyio.to_thread.run_sync(began.wait)
        abort.abort("enough")
    assert (results[0].usage.model_calls, results[0].usage.input_tokens) == (2, None)
    release.set()
    assert (await results[0].drain()).input_tokens == 7


async def test_the_step_path_calls_it_as_well():
    models, store = Models((("archive", RAIN),)), il.MemoryStore()
    machine = writing(il.machine_tool(archive(), store=store))
    step = il.initial_agent_step(machine, execution_id="outer")
    while not step.done:
        step = await il.resolve_agent_requests(machine, step, models.executors)
    assert models.told == [il.JsonOutput(value=FOUND)]
    (thread,) = await store.threads()
    assert thread.thread_id.startswith("outer:0.writing.writing#1.1")


async def test_an_act_loop_calls_it_as_well():
    acting = il.setup_agent(events=[Enough], output=str)
    machine = acting.machine(
        "acting",
        context={},
        initial="a",
        states={
            "a": acting.state(
                invoke=acting.act(name="act", model="quick", prompt="?", tools=[il.machine_tool(archive())]),
                on=[acting.on(Enough, "b")],
            ),
            "b": acting.final(output="over"),
        },
    )
    models = Models((("archive", RAIN), ("send_event_Enough", {})))
    result = await il.run_agent(machine, executors=models.executors)
    assert isinstance(result, il.Done)
    assert sum(models.inner.values()) == 1


# -- the key of a call -----------------------------------------------------------------------------------------------


def keeping(keys: list[str]) -> Callable[[str], str]:
    def look(topic: str) -> str:
        """Look something up."""
        scope = il.tool_scope()
        assert scope is not None
        keys.append(scope.key)
        return topic

    return look


async def test_every_call_has_a_key_of_its_own_the_same_on_the_step_path():
    turn = il.TextResult(
        tool_calls=(il.ToolCall("a", "look", RAIN), il.ToolCall("b", "look", RAIN)), usage=il.Usage(input_tokens=1)
    )
    in_run, in_steps = list[str](), list[str]()
    await il.run_agent(
        writing(keeping(in_run)), executors=il.ScriptedExecutors(text=[turn, turn, "over"]), execution_id="e"
    )
    machine, script = writing(keeping(in_steps)), il.ScriptedExecutors(text=[turn, turn, "over"])
    step = il.initial_agent_step(machine, execution_id="e")
    while not step.done:
        step = await il.resolve_agent_requests(machine, step, script)
    assert in_run == in_steps
    assert in_run == [f"e:0.writing.writing#1.{number}" for number in (1, 2, 4, 5)]
    assert il.tool_scope() is None


async def test_an_executor_with_a_loop_of_its_own_gives_keys_that_stay_whatever_comes_first():
    keys: list[str] = []

    async def look(topic: str) -> str:
        """Look something up."""
        scope = il.tool_scope()
        assert scope is not None
        keys.append(scope.key)
        if topic == "rain" and len(keys) < 3:
            await anyio.sleep_forever()
        return topic

    async def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        assert info.call_tool is not None
        async with anyio.create_task_group() as group:
            for topic in ("rain", "snow"):
                group.start_soon(info.call_tool, "look", {"topic": topic})
        return il.TextResult(output="over")

    store = Failing(3, il.StoreError("gone"))  # the beginning, snow, and then the end
    machine, executors, abort = writing(look), il.Executors(generate_text=generate_text), il.Abort()

    async with anyio.create_task_group() as group:

        async def stop() -> None:
            while len(keys) < 2 or store.appended < 2:
                await anyio.lowlevel.checkpoint()
            abort.abort("enough")

        group.start_soon(stop)
        await il.run_agent(machine, store=store, thread_id="t", executors=executors, abort=abort)
    store.left = 1000
    result = await il.run_agent(machine, store=store, thread_id="t", executors=executors)
    assert isinstance(result, il.Done)
    rain, snow, rain_again = keys if keys[0] != keys[1] else keys[::-1]
    assert {rain, snow} >= {rain_again}
    assert len(set(keys)) == 2
