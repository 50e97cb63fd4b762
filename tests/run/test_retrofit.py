"""A machine that asks nothing by itself, and a mapping that says what is asked where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import anyio
import pytest
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc
from interlock.journal import replay

pytestmark = pytest.mark.anyio


class Drafted(il.Event):
    """There is a draft."""

    text: str


class Titled(il.Event):
    """There is a title."""

    title: str


class Publish(il.Event):
    """Let it go out."""


class Rework(il.Event):
    """Write it again."""


class Approve(il.Event, actor="human"):
    """Say yes to it."""


class Article(BaseModel, frozen=True):
    text: str = ""
    title: str = ""
    rounds: int = 0


agent = il.setup_agent(context=Article, events=[Drafted, Titled, Publish, Rework, Approve], output=str)

article = agent.machine(
    "article",
    context=Article(),
    initial="writing",
    states={
        "writing": agent.state(
            on=[
                agent.on(Drafted, lambda c, event: agent.stay(text=event.text, rounds=c.rounds + 1)),
                agent.on(Titled, lambda c, event: agent.goto("reviewing", title=event.title) if c.text else None),
            ]
        ),
        "reviewing": agent.state(
            on=[
                agent.on(Publish, "waiting"),
                agent.on(Rework, lambda c, _: agent.goto("writing") if c.rounds < 2 else None),
            ]
        ),
        "waiting": agent.state(on=[agent.on(Approve, "out")]),
        "out": agent.final(output=lambda c: f"{c.title}: {c.text}"),
    },
)


def asks(snapshot: il.Snapshot[Article]) -> Sequence[il.RetrofitRequest]:
    if snapshot.matches("writing"):
        return (
            il.RetrofitRequest(name="draft", model="quick", prompt="Write.", on_done=lambda text: Drafted(text=text)),
            il.RetrofitRequest(
                name="title",
                model="quick",
                system="Be short.",
                prompt="A title?",
                on_done=lambda text: {"type": "Titled", "title": text},
            ),
        )
    if snapshot.matches("reviewing"):
        return [il.RetrofitRequest(name="review", model="clever", prompt="Good?", kind="decision")]
    return []


async def test_it_goes_on_until_there_is_nothing_to_ask():
    script = il.ScriptedExecutors(
        text=["draft 1", "title 1", "draft 2", "title 2"],
        decisions=[il.Choice(Rework(), usage=il.Usage(output_tokens=2)), "Publish"],
    )
    result = await il.run_with_requests(article, asks, executors=script)
    assert isinstance(result, il.Idle)
    assert result.snapshot.value == "waiting"
    assert (result.snapshot.context.text, result.snapshot.context.title) == ("draft 2", "title 2")
    assert (result.usage.model_calls, result.usage.output_tokens) == (6, 2)
    types = [entry.type for entry in result.entries]
    assert types == ["@agent.init", "Drafted", "Titled", "Rework", "Drafted", "Titled", "Publish"]
    first, second = script.decision_requests
    assert [event.type for event in first.events] == ["Publish", "Rework"]
    assert [event.type for event in second.events] == ["Publish"]
    assert (first.model, first.prompt, script.text_requests[1].system) == ("clever", "Good?", "Be short.")
    assert len({info.call_key for info in script.infos}) == 6
    done = await il.run_with_requests(
        article, asks, snapshot=result.snapshot.to_json(), event=Approve(), executors=script
    )
    assert isinstance(done, il.Done)
    assert done.output == "title 2: draft 2"


async def test_the_texts_of_a_pass_are_written_at_once_and_their_events_sent_in_order():
    both = anyio.Event()
    asked: list[str] = []

    async def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        asked.append(request.name or "")
        if len(asked) == 2:
            both.set()
        await both.wait()
        if request.name == "draft":
            for _ in range(10):
                await anyio.lowlevel.checkpoint()
        return il.TextResult(output=request.name, usage=il.Usage(input_tokens=1))

    executors = il.Executors(generate_text=generate_text, decide=il.ScriptedExecutors(decisions=["Publish"]).decide)
    result = await il.run_with_requests(article, asks, executors=executors)
    assert isinstance(result, il.Idle)
    assert [entry.type for entry in result.entries] == ["@agent.init", "Drafted", "Titled", "Publish"]
    assert (result.usage.model_calls, result.usage.input_tokens) == (3, 2)


async def test_a_text_that_leads_nowhere_is_followed_by_a_decision():
    def review(snapshot: il.Snapshot[Article]) -> list[il.RetrofitRequest]:
        if not snapshot.matches("reviewing"):
            return list(asks(snapshot))
        return [il.RetrofitRequest(model="quick", prompt="What is wrong?", allowed_events=[Publish])]

    script = il.ScriptedExecutors(text=["draft", "title", "nothing"], decisions=["Rework", "Publish"])
    result = await il.run_with_requests(article, review, executors=script)
    assert isinstance(result, il.Idle)
    asked = script.decision_requests[-1]
    assert [event.type for event in asked.events] == ["Publish"]
    assert [(message.role, il.get_message_text(message)) for message in asked.messages] == [  # type: ignore[arg-type]
        ("user", "What is wrong?"),
        ("assistant", "nothing"),
    ]
    assert [attempt.failure for attempt in asked.attempts] == ["unknown-event"]
    assert result.usage.model_calls == 5


async def test_a_decision_may_lead_to_another_event():
    def review(snapshot: il.Snapshot[Article]) -> list[il.RetrofitRequest]:
        if not snapshot.matches("reviewing"):
            return list(asks(snapshot))
        return [il.RetrofitRequest(model="quick", prompt="?", kind="decision", on_done=lambda event: "Publish")]

    script = il.ScriptedExecutors(text=["draft", "title"], decisions=["Rework"])
    result = await il.run_with_requests(article, review, executors=script)
    assert result.snapshot is not None
    assert result.snapshot.value == "waiting"


async def test_an_event_that_is_not_accepted_is_a_typed_failure():
    def wrong(snapshot: il.Snapshot[Article]) -> list[il.RetrofitRequest]:
        return [il.RetrofitRequest(name="early", model="quick", prompt="?", on_done=Titled(title="x"))]

    result = await il.run_with_requests(article, wrong, executors=il.ScriptedExecutors(text=["x"]))
    assert isinstance(result, il.Failed)
    assert isinstance(result.exception, il.InputError)
    assert (result.cause, result.error.code) == ("machine", "event-not-accepted")
    assert "'early' leads to the event Titled" in result.error.message
    assert result.snapshot is not None
    assert result.snapshot.value == "writing"


@pytest.mark.parametrize("then", [lambda _: Approve(), Approve(), "Approve"])
async def test_what_only_a_person_may_send_is_sent_by_no_model_whatever_its_answer_is_made_into(then: Any):
    def hurry(snapshot: il.Snapshot[Article]) -> list[il.RetrofitRequest]:
        if not snapshot.matches("waiting"):
            return list(asks(snapshot))
        return [il.RetrofitRequest(model="m", prompt="?", kind="text", on_done=then)]

    script = il.ScriptedExecutors(text=["draft", "title", "yes"], decisions=["Publish"])
    result = await il.run_with_requests(article, hurry, executors=script)
    assert isinstance(result, il.Failed)
    assert result.error.code == "event-not-accepted"
    assert "only a person may send 'Approve'" in result.error.message
    assert result.snapshot is not None
    assert result.snapshot.value == "waiting"


@pytest.mark.parametrize(
    ("request_", "script", "cause", "code"),
    [
        (il.RetrofitRequest(model="m", prompt="?"), {"text": [ValueError("no")]}, "machine", "raised"),
        (
            il.RetrofitRequest(model="m", prompt="?", on_done="Nonsense"),
            {"text": ["x"]},
            "machine",
            "invalid-event",
        ),
        (
            il.RetrofitRequest(model="m", prompt="?", kind="decision"),
            {"decisions": ["Publish"] * 3},
            "decision-exhausted",
            "decision-exhausted",
        ),
        (
            il.RetrofitRequest(model="m", prompt="?", kind="decision", allowed_events=[Publish]),
            {},
            "machine",
            "no-legal-events",
        ),
        (
            il.RetrofitRequest(model="m", prompt="?"),
            {"text": [il.TextResult(output="", finish_reason="length")]},
            "machine",
            "truncated",
        ),
    ],
)
async def test_what_fails_settles_as_failed(
    request_: il.RetrofitRequest, script: dict[str, list[object]], cause: str, code: str
):
    result = await il.run_with_requests(article, lambda _: [request_], executors=il.ScriptedExecutors(**script))  # type: ignore[arg-type]
    assert isinstance(result, il.Failed)
    assert (result.cause, result.error.code) == (cause, code)
    assert result.snapshot is not None


async def test_a_mapping_that_never_has_enough_meets_the_limit():
    def drafts(snapshot: il.Snapshot[Article]) -> list[il.RetrofitRequest]:
        return [il.RetrofitRequest(model="m", prompt="?", on_done=lambda text: Drafted(text=text))]

    script = il.ScriptedExecutors(text=["x"] * 10)
    result = await il.run_with_requests(article, drafts, executors=script, max_model_calls=4)
    assert isinstance(result, il.Failed)
    assert (result.cause, result.usage.model_calls) == ("max-model-calls", 4)
    assert result.snapshot is not None
    assert result.snapshot.context.rounds == 4


async def test_the_first_failure_ends_the_other_texts():
    ended: list[str] = []

    async def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        if request.name == "title":
            raise ValueError("no")
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(request.name or "")

    result = await il.run_with_requests(article, asks, executors=il.Executors(generate_text=generate_text))
    assert isinstance(result, il.Failed)
    assert ended == ["draft"]


async def test_a_missing_executor_is_the_hosts_mistake():
    with pytest.raises(il.BindError, match="asks for a text"):
        await il.run_with_requests(article, asks, executors=il.Executors())
    decision = il.RetrofitRequest(model="m", prompt="?", kind="decision")
    with pytest.raises(il.BindError, match=r"Executors\(decide="):
        await il.run_with_requests(article, lambda _: [decision], executors=il.Executors())


async def test_what_the_mapping_raises_settles_as_failed_and_what_was_paid_is_not_lost():
    def wrong(snapshot: il.Snapshot[Article]) -> Sequence[il.RetrofitRequest]:
        if snapshot.matches("reviewing"):
            raise KeyError("x")
        return asks(snapshot)

    result = await il.run_with_requests(article, wrong, executors=il.ScriptedExecutors(text=["a text", "a title"]))
    assert isinstance(result, il.Failed)
    assert isinstance(result.exception, KeyError)
    assert result.snapshot is not None
    assert result.snapshot.matches("reviewing")
    assert result.usage.model_calls == 2


async def test_with_a_store_the_calls_of_earlier_runs_of_the_thread_count():
    store, made = il.MemoryStore(), list[str]()

    def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        made.append(info.call_key)
        return il.TextResult("x", usage=il.Usage(input_tokens=1))

    for number in range(3):
        asked = list[bool]()

        def once(_: Any, asked: list[bool] = asked) -> Sequence[il.RetrofitRequest]:
            asked.append(True)
            return [il.RetrofitRequest(model="m", prompt="?", on_done=Drafted(text="x"))] if len(asked) == 1 else []

        result = await il.run_with_requests(
            article,
            once,
            store=store,
            thread_id="t",
            executors=il.Executors(generate_text=generate_text),
            budget="thread",
            max_model_calls=2,
        )
        assert result.usage.model_calls == (1 if number < 2 else 0)
    assert isinstance(result, il.Failed)
    assert result.error.code == "max-model-calls"
    assert len(set(made)) == 2


async def _later(_: Any) -> list[il.RetrofitRequest]:
    return []


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        (5, "get_requests=5: give a plain function of the snapshot"),
        (_later, "give a plain function of the snapshot, one that is not async"),
    ],
    ids=["no function", "async"],
)
async def test_a_mapping_that_is_none_is_the_hosts_mistake(mapping: Any, said: str):
    with pytest.raises(il.BindError) as refused:
        await il.run_with_requests(article, mapping, executors=il.Executors())
    assert refused.value.code == "invalid-argument"
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        (lambda _: None, "get_requests returned None; let it return RetrofitRequests in a list, or an empty list"),
        (lambda _: "ask", "get_requests returned 'ask'"),
        (lambda _: [{"kind": "text", "prompt": "?"}], "get_requests returned {'kind': 'text'"),
        (lambda _: [il.RetrofitRequest(model="m", prompt="?", kind=cast("Any", "texts"))], "kind='texts'"),
        (
            lambda _: [il.RetrofitRequest(model=cast("Any", None), prompt="?")],
            "RetrofitRequest(model=None): give a text",
        ),
    ],
    ids=["None", "a text", "a mapping", "kind", "model"],
)
async def test_a_mapping_that_returns_no_requests_settles_as_failed(mapping: Any, said: str):
    result = await il.run_with_requests(article, mapping, executors=il.Executors())
    assert isinstance(result, il.Failed)
    assert result.error.code == "invalid-input"
    assert said in result.error.message


async def test_a_machine_of_the_engines_own_words_needs_no_agent():
    machine = sc.machine("light", initial="red", states={"red": sc.state(on={"GO": "green"}), "green": sc.final()})

    def asks_nothing_of_a_model_twice(snapshot: il.Snapshot[object]) -> list[il.RetrofitRequest]:
        return [il.RetrofitRequest(model="m", prompt="Go?", on_done=lambda text: text)]

    result = await il.run_with_requests(
        machine, asks_nothing_of_a_model_twice, executors=il.ScriptedExecutors(text=["GO"])
    )
    assert isinstance(result, il.Done)


async def test_its_events_are_in_the_log_and_it_goes_on_from_there():
    store = il.MemoryStore()
    script = il.ScriptedExecutors(text=["draft", "title"], decisions=["Publish"])
    await il.run_with_requests(article, asks, executors=script, store=store, thread_id="t")
    result = await il.run_with_requests(
        article, asks, executors=il.ScriptedExecutors(), store=store, thread_id="t", event=Approve()
    )
    assert isinstance(result, il.Done)
    assert result.usage == il.RunUsage()


async def test_a_person_is_not_asked_for_by_a_model():
    waiting = (await il.run_agent(article, snapshot=None, executors=il.Executors())).snapshot
    assert waiting is not None
    for event in (Drafted(text="x"), Titled(title="y"), Publish()):
        waiting, _ = sc.transition(article, waiting, event)
    decision = il.RetrofitRequest(model="m", prompt="?", kind="decision")
    result = await il.run_with_requests(
        article, lambda _: [decision], snapshot=waiting, executors=il.ScriptedExecutors(decisions=["Approve"])
    )
    assert isinstance(result, il.Failed)
    assert result.error.code == "no-legal-events"


async def test_what_was_committed_before_a_call_failed_is_in_the_result():
    script = il.ScriptedExecutors(text=["draft", "title", ValueError("no")], decisions=["Rework"])
    result = await il.run_with_requests(article, asks, executors=script)
    assert isinstance(result, il.Failed)
    assert [entry.type for entry in result.entries][:3] == ["@agent.init", "Drafted", "Titled"]
    assert replay(article, result.entries).snapshot == result.snapshot
