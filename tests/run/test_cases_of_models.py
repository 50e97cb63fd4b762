"""What models are known to do to decisions, plans and acts: wrong shapes, no answer, calls for more than is theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc
from tests import guessing
from tests.run.planning import DONE, Add, Count, Double, act, added, agent, call, machine, picks, plan, told, turns

ROOT = Path(__file__).parents[2]


# -- decisions -------------------------------------------------------------------------------------------------------


class Pack(il.Event):
    """Put these into the parcel."""

    items: tuple[str, ...]


class Parcel(BaseModel, frozen=True):
    items: tuple[str, ...] = ()
    error: str = ""
    tried: tuple[str, ...] = ()


parcels = il.setup_agent(context=Parcel, events=[Pack], output=Parcel)


def packing(**fields: Any) -> il.Machine[Parcel, Any, Any]:
    def given_up(c: Parcel, error: il.ErrorInfo) -> Any:
        return parcels.goto("over", error=error.code, tried=tuple(attempt["reason"] for attempt in error.data))

    return parcels.machine(
        "parcel",
        context=Parcel(),
        initial="packing",
        states={
            "packing": parcels.state(
                invoke=parcels.decide(**{"prompt": "Pack.", "on_error": given_up} | fields),
                on=[parcels.on(Pack, lambda c, e: parcels.goto("over", items=e.items))],
            ),
            "over": parcels.final(output=lambda c: c),
        },
    )


def pack(items: object) -> il.Choice:
    return il.Choice({"type": "Pack", "items": items})


async def test_every_wrong_shape_of_a_field_is_one_try_and_none_is_guessed_at():
    wrong = ["tea", '["tea"]', 5, {"0": "tea"}, None]
    script = il.ScriptedExecutors(decisions=[*map(pack, wrong), pack(["tea"])])
    result = await il.run_agent(packing(max_retries=len(wrong)), executors=script)
    assert isinstance(result, il.Done)
    assert result.output.items == ("tea",)
    attempts = script.decision_requests[-1].attempts
    assert [(attempt.failure, attempt.event) for attempt in attempts] == [
        ("invalid-payload", {"type": "Pack", "items": items}) for items in wrong
    ]


@pytest.mark.parametrize("retries", [0, 1, 10])
async def test_a_model_is_asked_once_more_than_it_may_be_wrong_and_each_try_can_be_read_afterwards(retries: int):
    script = il.ScriptedExecutors(decisions=[pack(number) for number in range(20)])
    result = await il.run_agent(packing(max_retries=retries), executors=script)
    assert isinstance(result, il.Done)
    assert len(script.requests) == result.usage.model_calls == retries + 1
    assert result.output.error == "decision-exhausted"
    assert len(result.output.tried) == retries + 1
    assert all("items" in reason and f"given: {number}" in reason for number, reason in enumerate(result.output.tried))
    failed = await il.run_agent(
        packing(max_retries=retries, on_error=None), executors=il.ScriptedExecutors(decisions=[pack(0)] * 20)
    )
    assert isinstance(failed, il.Failed)
    assert failed.error.message.count("items: ") == retries + 1


async def test_what_a_model_says_instead_of_choosing_is_kept_with_the_try():
    said = il.Choice({}, problem="it has answered with text", reason="I would approve.")
    result = await il.run_agent(packing(on_error=None), executors=il.ScriptedExecutors(decisions=[said] * 3))
    assert isinstance(result, il.Failed)
    assert isinstance(result.exception, il.DecisionExhaustedError)
    assert [attempt.model_reason for attempt in result.exception.attempts] == ["I would approve."] * 3
    assert result.error.message.count("it has answered with text") == 3


async def test_each_decision_of_the_same_state_has_its_own_tries_in_the_log():
    options: dict[str, Any] = {"store": il.MemoryStore(), "thread_id": "t"}
    game = guessing.game()
    first = il.ScriptedExecutors(decisions=["Fly", guessing.Ask(question="?")])
    await il.run_agent(game, executors=first, **options)
    second = il.ScriptedExecutors(decisions=["Swim", "Dive", guessing.Guess(guess="cat")])
    await il.run_agent(game, executors=second, event=guessing.Reply(answer="no"), **options)
    found = il.get_decision_attempts(await options["store"].read("t"))
    assert {identity: [attempt.event for attempt in attempts] for identity, attempts in found.items()} == {
        first.requests[0].id: [{"type": "Fly"}],
        second.requests[0].id: [{"type": "Swim"}, {"type": "Dive"}],
    }
    assert first.requests[0].id != second.requests[0].id
    assert len({info.call_key for info in (*first.infos, *second.infos)}) == 5


# -- what is offered -------------------------------------------------------------------------------------------------


class Paid(il.Event, type="done.payment"):
    """It is paid."""


class Broken(il.Event, type="error.card"):
    """The card does not work."""


class Eaten(il.Event, type="after.lunch"):
    """Lunch is over."""


lunch = il.setup_agent(context=None, events=[Paid, Broken, Eaten], output=str)


@pytest.mark.parametrize("event", [Paid, Broken, Eaten])
async def test_names_like_those_of_an_engine_are_names_like_any_other(event: type[il.Event]):
    def table(*on: sc.Transition) -> il.Machine[Any, Any, str]:
        decide = lunch.decide(prompt="?", allowed_events=[Paid, Broken, Eaten])
        return lunch.machine(
            "table",
            initial="on",
            states={"on": lunch.state(invoke=decide, on=on), "off": lunch.final(output=lambda c: "off")},
        )

    script = il.ScriptedExecutors(decisions=[event()])
    named = await il.run_agent(table(*(lunch.on(each, "off") for each in (Paid, Broken, Eaten))), executors=script)
    assert isinstance(named, il.Done)
    assert [item.type for item in script.decision_requests[0].events] == ["done.payment", "error.card", "after.lunch"]
    quiet = lunch.machine(
        "quiet",
        initial="on",
        states={"on": lunch.state(on=[lunch.on("*", "off")]), "off": lunch.final(output=lambda c: "off")},
    )
    assert isinstance(await il.run_agent(quiet, event=event()), il.Done)


REQUESTS = """
import json
import interlock as il
from tests import guessing
from tests.run.planning import act, agent, machine
from tests.run.test_cases_of_models import packing

for built in (guessing.game(), packing(), machine(agent.decide(prompt="?", allowed_events="*")), machine(act())):
    for request in il.initial_agent_step(built, at=0.0, execution_id="x").requests:
        print(json.dumps(request.to_json()))
"""


def test_in_every_process_a_request_is_the_same_text():
    said = {
        subprocess.run(
            [sys.executable, "-c", REQUESTS],
            check=True,
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        ).stdout
        for seed in ("1", "4711")
    }
    assert len(said) == 1
    assert len(said.pop().splitlines()) == 4


async def test_to_look_whether_an_event_is_legal_does_nothing():
    asked: list[int] = []
    child = sc.machine("child", initial="a", states={"a": sc.state()})

    def go(c: Any, e: Any) -> Any:
        asked.append(len(asked))
        return sc.goto("b").spawn("child", id="kid").emit({"type": "went"})

    states = {"a": sc.state(on=[sc.on("GO", go, to="b")]), "b": sc.state()}
    built = sc.machine("m", sources={"child": child}, initial="a", states=states)
    snapshot, _ = sc.initial_transition(built)
    before = snapshot.to_json()
    assert snapshot.can("GO")
    assert snapshot.can("GO")
    assert (snapshot.to_json(), dict(snapshot.children)) == (before, {})
    looked = len(asked)
    emitted: list[Any] = []
    result = await il.run_agent(built, snapshot=snapshot, event="GO", on={"*": emitted.append})
    assert result.snapshot is not None
    assert list(result.snapshot.children) == ["kid"]
    assert len(emitted) == 1
    assert len(asked) == looked + 1


# -- plans -----------------------------------------------------------------------------------------------------------


async def test_behind_a_step_that_is_refused_nothing_is_sent():
    built = machine(plan(max_retries=0))
    script = il.ScriptedExecutors(decisions=[Add(by=1), {"type": "Add", "by": "x"}, Add(by=2), Double(), DONE])
    result = await il.run_agent(built, executors=script)
    assert isinstance(result, il.Done)
    assert (result.output["n"], result.output["error"]) == (1, "decision-exhausted")
    assert [entry.event["type"] for entry in result.entries if entry.by == "plan" and entry.event] == ["Add"]
    assert script.remaining == 3


async def test_a_plan_that_can_do_nothing_costs_nothing_however_often_it_is_woken():
    """It is over at once each time that its state is entered, and says why."""

    class Poke(il.Event, actor="human"):
        """Try again."""

    poked = il.setup_agent(context=Count, events=[Double, Poke], output=None)
    built = poked.machine(
        "stuck",
        context=Count(),
        initial="on",
        states={
            "on": poked.state(
                invoke=poked.plan(
                    prompt="?",
                    on_done=lambda c, result: poked.stay(stopped=result.stopped, rounds=c.rounds + 1),
                ),
                on=[
                    poked.on(Double, lambda c, e: poked.stay(n=c.n * 2) if c.n else None),
                    poked.on(Poke, lambda c, e: poked.goto("on").reenter()),
                ],
            )
        },
    )
    script = il.ScriptedExecutors()
    result = await il.run_agent(built, executors=script)
    for rounds in range(1, 4):
        assert isinstance(result, il.Idle)
        assert (result.snapshot.context.stopped, result.snapshot.context.rounds) == ("no-legal-events", rounds)
        result = await il.run_agent(built, executors=script, snapshot=result.snapshot.to_json(), event=Poke())
    assert script.requests == []


@pytest.mark.parametrize("atomic", [False, True])
async def test_who_takes_a_plan_up_gets_the_rest_of_its_steps_and_no_more(atomic: bool):
    built = machine(plan(max_steps=3, atomic=atomic))
    saves: list[str] = []
    executors = il.Executors(decide=lambda request, info: picks([Add(by=1)] * 9)(request))
    whole = await il.run_agent(built, executors=executors, on_transition=lambda s, _: saves.append(s.to_json()))
    assert isinstance(whole, il.Done)
    assert (whole.output["stopped"], whole.output["n"]) == ("max-steps", 3)
    for number, saved in enumerate(saves[:3]):
        again = await il.run_agent(built, executors=executors, snapshot=saved)
        assert isinstance(again, il.Done)
        assert (again.output["stopped"], again.output["n"]) == ("max-steps", 3)
        assert again.usage.model_calls == 3 - number


# -- acts ------------------------------------------------------------------------------------------------------------


async def test_a_type_among_the_fields_of_a_call_makes_it_no_other_event():
    seen: list[il.TextRequest] = []

    def write(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        seen.append(request)
        return turns([[call("Add", by=1, type="Leave"), call("Double", type="Leave")], "Done."])(request)

    result = await il.run_agent(machine(act()), executors=il.Executors(generate_text=write))
    assert isinstance(result, il.Done)
    assert result.snapshot.value == "over"
    assert "Leave" not in {entry.event["type"] for entry in result.entries if entry.event}
    assert told(seen[-1]) == [{"changed": {"n": "1"}}, {"changed": {"n": "2"}}]


async def test_who_could_act_again_at_once_is_told_by_the_state_that_he_may_not():
    """The second of two equal calls is judged where the first has led to."""
    once = agent.machine(
        "once",
        context=Count(),
        initial="on",
        states={
            "on": agent.state(
                invoke=act(),
                initial="open",
                states={
                    "open": agent.state(on=[agent.on(Add, lambda c, e: agent.goto("shut", n=c.n + e.by))]),
                    "shut": agent.state(),
                },
            ),
            "over": agent.final(output=lambda c: c.model_dump(mode="json")),
            "failed": agent.final(output={}),
        },
    )
    seen: list[il.TextRequest] = []

    def write(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        seen.append(request)
        return turns([[call("Add", by=1), call("Add", by=1)], "Done."])(request)

    result = await il.run_agent(once, executors=il.Executors(generate_text=write))
    assert isinstance(result, il.Done)
    assert result.output["n"] == 1
    first, second = told(seen[-1])
    assert first == {"state": {"on": "shut"}, "changed": {"n": "1"}}
    assert second.startswith("'Add' is not allowed")
    assert il.check_transcript(il.request_messages(seen[-1])) == ()


class Pay(il.Event):
    """Pay a bill."""

    what: str


class Approve(il.Event, actor="human"):
    """Let it be paid."""


class Deny(il.Event, actor="human"):
    """Do not let it be paid."""


class Bills(BaseModel, frozen=True):
    asked: str = ""
    heard: tuple[str, ...] = ()


bills = il.setup_agent(context=Bills, events=[Pay, Approve, Deny], output=tuple[str, ...])


def paying() -> il.Machine[Bills, Any, Any]:
    def answered(word: str) -> Any:
        return lambda c, e: bills.goto("acting", heard=(*c.heard, f"{c.asked}: {word}"), asked="")

    return bills.machine(
        "bills",
        context=Bills(),
        initial="acting",
        states={
            "acting": bills.state(
                invoke=bills.act(prompt=lambda c: "\n".join(c.heard) or "Nothing yet.", on_done="over"),
                on=[bills.on(Pay, lambda c, e: bills.goto("asking", asked=e.what))],
            ),
            "asking": bills.state(on=[bills.on(Approve, answered("paid")), bills.on(Deny, answered("denied"))]),
            "over": bills.final(output=lambda c: c.heard),
        },
    )


async def test_a_model_goes_on_acting_with_what_a_person_has_said_and_nobody_is_asked_twice():
    seen: list[il.TextRequest] = []
    wanted = ["rent", "boat", "tea"]

    def write(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        seen.append(request)
        heard = [] if request.prompt == "Nothing yet." else str(request.prompt).splitlines()
        left = wanted[len(heard) :]
        return turns([[call("Pay", what=left[0])]] if left else ["Done."])(request)

    built = paying()
    options: dict[str, Any] = {"store": il.MemoryStore(), "thread_id": "t"}
    executors = il.Executors(generate_text=write)
    result = await il.run_agent(built, executors=executors, **options)
    for number, event in enumerate((Approve(), Deny(), Approve())):
        assert isinstance(result, il.Idle)
        assert result.snapshot.context.asked == wanted[number]
        assert len(seen) == number + 1
        result = await il.run_agent(built, executors=executors, event=event, **options)
    assert isinstance(result, il.Done)
    assert result.output == ("rent: paid", "boat: denied", "tea: paid")
    assert [request.prompt for request in seen][1:3] == ["rent: paid", "rent: paid\nboat: denied"]
    log = await options["store"].read("t")
    assert il.replay(built, log, verify="strict").snapshot == result.snapshot
    assert all(il.check_transcript(il.request_messages(request)) == () for request in seen)


class Sum(BaseModel, frozen=True):
    total: int


@pytest.mark.parametrize("on_error", [None, "failed"])
async def test_what_a_tool_has_done_stays_in_the_log_when_the_answer_after_it_is_no_good(on_error: str | None):
    paid: list[str] = []

    def pay(what: str) -> str:
        paid.append(what)
        return f"receipt for {what}"

    payer = il.setup_agent(context=None, events=[], output=None)
    built = payer.machine(
        "payer",
        initial="on",
        states={
            "on": payer.state(
                invoke=payer.generate_text(prompt="?", tools=[pay], output=Sum, on_done="over", on_error=on_error)
            ),
            "over": payer.final(),
            "failed": payer.final(),
        },
    )
    script: list[Any] = [il.TextResult(tool_calls=(il.ToolCall("1", "pay", {"what": "rent"}),)), {"total": "a lot"}]
    store = il.MemoryStore()
    result = await il.run_agent(built, executors=il.ScriptedExecutors(text=script), store=store, thread_id="t")
    if on_error is None:
        assert isinstance(result, il.Failed)
        assert result.error.code == "invalid-output"
    else:
        assert result.snapshot is not None
        assert result.snapshot.value == "failed"
    assert paid == ["rent"]
    log = [entry.to_text() for entry in await store.read("t")]
    assert [('"pay"' in text and '"turn"' in text, "receipt for rent" in text) for text in log] == [
        (False, False),
        (True, False),
        (False, True),
        (False, False),
    ]


# -- all of them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["decide", "plan", "act", "text"])
async def test_what_a_model_is_asked_ends_where_its_state_is_left_by_time(kind: str):
    ended: list[str] = []

    async def waits(request: Any, info: il.ExecutorInfo) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(request.kind)

    slow = il.setup_agent(context=Count, events=[Add], output=None)
    invoke = {
        "decide": slow.decide(prompt="?"),
        "plan": slow.plan(prompt="?"),
        "act": slow.act(prompt="?"),
        "text": slow.generate_text(prompt="?"),
    }[kind]
    built = slow.machine(
        "slow",
        context=Count(),
        initial="on",
        states={
            "on": slow.state(invoke=invoke, on=[slow.on(Add, added)], timeout=60, on_timeout="over"),
            "over": slow.final(),
        },
    )
    executors = il.Executors(decide=waits, generate_text=waits)
    result = await il.run_agent(built, executors=executors, clock=il.FakeClock(autojump=True))
    assert isinstance(result, il.Done)
    assert len(ended) == 1


async def test_nothing_is_asked_of_a_model_to_replay_what_it_has_said():
    """Words and candidates may come from what is not there any more: a log does not ask for them."""
    there = [True]

    def words(c: Any) -> str:
        assert there[0]
        return "?"

    def allowed(c: Any) -> Any:
        assert there[0]
        return "*"

    for invoke, answers in (
        (plan(prompt=words, allowed_events=allowed), {"decisions": [Add(by=1), "Fly", DONE]}),
        (act(prompt=words, tools=[guessing_tool]), {"text": [turns([[call("Add", by=2)], "Done."])] * 2}),
    ):
        there[0] = True
        built = machine(invoke)
        result = await il.run_agent(built, executors=il.ScriptedExecutors(**answers))
        assert isinstance(result, il.Done)
        there[0] = False
        assert il.replay(built, result.entries, verify="strict").snapshot == result.snapshot


def guessing_tool(word: str) -> str:
    """Look a word up."""
    raise AssertionError("no tool is called")
