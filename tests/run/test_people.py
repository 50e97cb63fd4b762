"""What people are asked, and what becomes of replies: in one run, in sessions, step by step, in other processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest
from pydantic import BaseModel, Field, TypeAdapter

import interlock as il
import interlock.statechart as sc
from interlock.journal import replay
from interlock.journal.stores import SQLiteStore
from tests.run.test_cases import ROOT


class Text(BaseModel, frozen=True):
    text: str = ""


class Leave(il.Event, actor="human"):
    """Never mind."""


class Again(il.Event, actor="human"):
    """Ask once more."""


class Note(il.Event, actor="human"):
    text: str


class Address(BaseModel):
    street: str
    number: Annotated[int, Field(gt=0)]
    zip_code: str = Field(default="-", validation_alias="zip", serialization_alias="plz")


class Order(BaseModel, frozen=True):
    name: str = ""
    street: str = ""
    zip_code: str = ""
    agreed: bool | None = None
    log: tuple[str, ...] = ()


agent = il.setup_agent(context=Order, events=[Leave, Again, Note], output=Order)
CODES = ("unknown-request", "invalid-reply")


def one(**fields: Any) -> il.Machine[Order, None, Order]:
    """Ask for a name; it may be left, or asked again."""
    ask = agent.user_input(
        lambda order: f"Who are you? ({len(order.log)} notes)",
        on_done=lambda order, name: agent.goto("over", name=name),
        name="name",
        metadata={"widget": {"kind": "text"}},
        **{"on_error": lambda order, error: agent.goto("over", name=error.code), **fields},
    )
    return agent.machine(
        "one",
        initial="asking",
        states={
            "asking": agent.state(
                invoke=ask,
                on=[
                    agent.on(Leave, "left"),
                    agent.on(Again, "asking", reenter=True),
                    agent.on(Note, lambda order, note: agent.stay(log=(*order.log, note.text))),
                ],
            ),
            "left": agent.state(on=[agent.on(Again, "asking")]),
            "late": agent.final(output=Order(name="late")),
            "over": agent.final(output=lambda order: order),
        },
    )


ONE = one()


def asks(prompt: str, schema: Any, set_: Any, *, id: str) -> sc.State:
    return agent.state(
        initial="ask",
        states={
            "ask": agent.state(invoke=agent.user_input(prompt, schema, id=id, on_done=set_)),
            "end": agent.end(),
        },
    )


def several() -> il.Machine[Order, None, Any]:
    """Three questions at once: two in regions, one in a child machine in a third."""
    inner = il.setup_agent(context=Order, events=[Leave], output=bool)
    child = inner.machine(
        "terms",
        initial="ask",
        states={
            "ask": inner.state(
                invoke=inner.user_input(
                    "Agreed?", bool, name="terms", on_done=lambda _, yes: inner.goto("end", agreed=yes)
                )
            ),
            "end": inner.final(output=lambda order: bool(order.agreed)),
        },
    )

    def named(order: Order, name: str) -> il.Move:
        return agent.goto("end", name=name, log=(*order.log, "name"))

    def housed(order: Order, address: Address) -> il.Move:
        return agent.goto(
            "end", street=f"{address.street} {address.number}", zip_code=address.zip_code, log=(*order.log, "address")
        )

    regions = {
        "left": asks("Your name?", str, named, id="name"),
        "right": asks("Your address?", Address, housed, id="address"),
        "terms": agent.state(
            initial="read",
            states={
                "read": agent.state(
                    invoke=agent.child(
                        child,
                        on_done=lambda order, yes: agent.goto("end", agreed=yes, log=(*order.log, "terms")),
                    )
                ),
                "end": agent.end(),
            },
        ),
    }
    return agent.machine("several", initial="all", states=together(regions))


def together(regions: dict[str, sc.State]) -> dict[str, sc.State]:
    return {
        "all": agent.parallel(states=regions, on_done="over"),
        "over": agent.final(output=lambda order: order),
    }


SEVERAL = several()
REPLIES: dict[str, Any] = {
    "name": "Ada",
    "address": {"street": "Elm", "number": 3, "zip": "12"},
    "terms": True,
}
ORDERS = [["name", "address", "terms"], ["terms", "name", "address"], ["address", "terms", "name"]]


def idle(result: Any) -> il.Idle[Any]:
    assert isinstance(result, il.Idle), result
    return result


def done(result: Any) -> Any:
    assert isinstance(result, il.Done), result
    return result.output


def waits(result: Any) -> list[str | None]:
    return [request.name for request in idle(result).pending_inputs]


# -- asked by the run ------------------------------------------------------------------------------------------------


async def test_a_question_is_data():
    first = idle(await il.run_agent(ONE))
    (request,) = first.pending_inputs
    assert request == il.UserInputRequest(
        id=request.id,
        name="name",
        prompt="Who are you? (0 notes)",
        input_schema={"type": "string"},
        metadata={"widget": {"kind": "text"}},
    )
    assert il.UserInputRequest.from_json(json.loads(json.dumps(request.to_json()))) == request
    with pytest.raises(il.InputError, match="no request for input") as caught:
        il.UserInputRequest.from_json({"id": "x"})
    assert caught.value.code == "invalid-input"
    noted = idle(await il.run_agent(ONE, snapshot=first.snapshot, event=Note(text="x")))
    assert [(item.id, item.prompt) for item in noted.pending_inputs] == [(request.id, "Who are you? (1 notes)")]


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_run_may_ask_there_and_then(is_async: bool):
    asked: list[il.UserInputRequest] = []

    def ask(request: il.UserInputRequest) -> object:
        asked.append(request)
        return {"Your name?": "Ada", "Agreed?": True}.get(request.prompt, Address(street="Elm", number=3, zip="12"))

    async def ask_later(request: il.UserInputRequest) -> object:
        await anyio.lowlevel.checkpoint()
        return ask(request)

    order = done(await il.run_agent(SEVERAL, user_input=ask_later if is_async else ask))
    assert sorted(request.prompt for request in asked) == ["Agreed?", "Your address?", "Your name?"]
    assert (order.name, order.street, order.zip_code, order.agreed) == ("Ada", "Elm 3", "12", True)


async def test_who_cannot_be_asked_or_answers_nonsense_is_a_failure_of_the_question():
    def gone(request: il.UserInputRequest) -> object:
        raise OSError("closed")

    for ask, code in ((gone, "raised"), (lambda _: 3, "invalid-reply"), (lambda _: object(), "invalid-reply")):
        assert done(await il.run_agent(ONE, user_input=ask)).name == code
    failed = await il.run_agent(one(on_error=None), user_input=gone)
    assert isinstance(failed, il.Failed)
    assert failed.error.message == "closed"
    assert isinstance(failed.exception, OSError)


async def test_the_machine_may_ask_again():
    asked: list[str] = []

    def ask(request: il.UserInputRequest) -> object:
        asked.append(request.id)
        return "Ada" if len(asked) == 3 else None

    again = one(on_error=lambda order, error: agent.goto("asking", log=(*order.log, error.code)).reenter())
    order = done(await il.run_agent(again, user_input=ask))
    assert (order.name, order.log) == ("Ada", ("invalid-reply", "invalid-reply"))
    assert len(set(asked)) == 3


async def test_a_question_is_cut_off_when_its_state_is_left():
    asked, cut = anyio.Event(), list[str]()

    async def ask(request: il.UserInputRequest) -> object:
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            cut.append(request.id)

    async with il.AgentSession(ONE, user_input=ask) as session:
        await asked.wait()
        await session.send(Leave())
        assert idle(await session.settled()).snapshot.value == "left"
        assert len(cut) == 1


async def test_a_reply_comes_before_whoever_is_being_asked():
    async def ask(request: il.UserInputRequest) -> object:
        await anyio.sleep_forever()

    async with il.AgentSession(ONE, user_input=ask) as session:
        await session.reply("name", "Ada")
        assert done(await session.settled()).name == "Ada"


# -- answered later --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
async def test_each_reply_goes_to_its_own_question(order: list[str]):
    result: Any = await il.run_agent(SEVERAL)
    names = {request.prompt: request.id for request in idle(result).pending_inputs}
    assert [*names] == ["Your name?", "Your address?", "Agreed?"]
    ids = dict(zip(("name", "address", "terms"), names.values(), strict=True))
    assert ids["terms"].count("/") == 1  # in a child
    for number, name in enumerate(order):
        assert len(idle(result).pending_inputs) == 3 - number
        result = await il.run_agent(SEVERAL, snapshot=result.snapshot.to_json(), replies={ids[name]: REPLIES[name]})
    assert done(result) == Order(name="Ada", street="Elm 3", zip_code="12", agreed=True, log=tuple(order))


@pytest.mark.parametrize("order", ORDERS)
async def test_several_replies_count_in_the_order_given(order: list[str]):
    result = await il.run_agent(SEVERAL, replies={name: REPLIES[name] for name in order})  # also of a fresh run
    assert done(result).log == tuple(order)


async def test_two_replies_to_one_question_are_refused_as_one_would_be_lost():
    asked = idle(await il.run_agent(SEVERAL))
    replies = {asked.pending_inputs[0].id: "Ada", "name": "Bob"}
    with pytest.raises(il.InputError, match="are the same question") as caught:
        await il.run_agent(SEVERAL, snapshot=asked.snapshot, replies=replies)
    assert caught.value.code == "unknown-request"


@pytest.mark.parametrize(
    ("replies", "code", "message"),
    [
        ({"nmae": "Ada"}, "unknown-request", "nobody is asked 'nmae' now"),
        ({"name": 3}, "invalid-reply", r"the reply 3 to the question 'name' \(.*\) does not fit: "),
        ({"name": object()}, "invalid-reply", "does not fit"),
        ({"name": "Ada", "address": {"street": "Elm", "number": 0}}, "invalid-reply", "number: .* greater than 0"),
        ({"name": "Ada", "address": {"street": "Elm"}}, "invalid-reply", "number: Field required"),
        ({"terms": "perhaps"}, "invalid-reply", "valid boolean"),
        ({"name": "Ada", "name#9": "Bob"}, "unknown-request", "nobody is asked 'name#9'"),
        ({5: "Ada"}, "unknown-request", "the key 5; give the id of a question"),
        ({None: "Ada"}, "unknown-request", "the key None"),
    ],
)
async def test_a_wrong_reply_changes_nothing(replies: dict[str, Any], code: str, message: str):
    first = idle(await il.run_agent(SEVERAL))
    before = first.snapshot.to_json()
    with pytest.raises(il.InputError, match=message) as caught:
        await il.run_agent(SEVERAL, snapshot=first.snapshot, replies=replies)
    assert caught.value.code == code
    assert first.snapshot.to_json() == before
    store = il.MemoryStore()
    with pytest.raises(il.InputError):
        await il.run_agent(SEVERAL, store=store, thread_id="t", replies=replies)
    assert len(await store.threads()) == 0
    await il.run_agent(SEVERAL, store=store, thread_id="t")
    length = len(await store.read("t"))
    with pytest.raises(il.InputError):
        await il.run_agent(SEVERAL, store=store, thread_id="t", replies=replies)
    assert len(await store.read("t")) == length
    again = idle(await il.run_agent(SEVERAL, store=store, thread_id="t"))
    assert [item.prompt for item in again.pending_inputs] == ["Your name?", "Your address?", "Agreed?"]


async def test_a_name_that_two_questions_have_is_no_address():
    def log(order: Order, text: str) -> il.Move:
        return agent.goto("end", log=(*order.log, text))

    regions = {
        key: agent.state(
            initial="ask",
            states={
                "ask": agent.state(invoke=agent.user_input(key, name="q", on_done=log)),
                "end": agent.end(),
            },
        )
        for key in ("a", "b")
    }
    twice = agent.machine("twice", initial="all", states=together(regions))
    first = idle(await il.run_agent(twice))
    a, b = first.pending_inputs
    with pytest.raises(il.InputError, match="several questions have the name 'q'") as caught:
        await il.run_agent(twice, snapshot=first.snapshot, replies={"q": "x"})
    assert caught.value.code == "unknown-request"
    assert a.id in str(caught.value)
    assert b.id in str(caught.value)
    second = idle(await il.run_agent(twice, snapshot=first.snapshot, replies={b.id: "b"}))
    assert done(await il.run_agent(twice, snapshot=second.snapshot, replies={"q": "a"})).log == ("b", "a")


async def test_a_reply_to_what_was_asked_before_is_refused():
    first = idle(await il.run_agent(ONE))
    old = first.pending_inputs[0].id
    left = idle(await il.run_agent(ONE, snapshot=first.snapshot, event=Leave()))
    assert left.pending_inputs == ()
    with pytest.raises(il.InputError, match="nobody is asked") as caught:
        await il.run_agent(ONE, snapshot=left.snapshot, replies={old: "Ada"})
    assert caught.value.code == "unknown-request"
    for snapshot in (left.snapshot, first.snapshot):  # another question in the same words
        again = idle(await il.run_agent(ONE, snapshot=snapshot, event=Again()))
        assert again.pending_inputs[0].id != old
        with pytest.raises(il.InputError, match="nobody is asked"):
            await il.run_agent(ONE, snapshot=again.snapshot, replies={old: "Ada"})
        assert done(await il.run_agent(ONE, snapshot=again.snapshot, replies={"name": "Ada"})).name == "Ada"


async def test_a_reply_and_an_event_together():
    """The reply comes first; the event finds the machine where the reply has led."""
    first = idle(await il.run_agent(SEVERAL))
    name = first.pending_inputs[0].id
    result = idle(await il.run_agent(SEVERAL, snapshot=first.snapshot, replies={name: "Ada"}, event=Leave()))
    assert (result.snapshot.context.name, result.ignored) == ("Ada", Leave())
    alone = idle(await il.run_agent(ONE))
    both = await il.run_agent(ONE, snapshot=alone.snapshot, replies={"name": "Ada"}, event=Note(text="x"))
    assert isinstance(both, il.Done)
    assert (both.output.name, both.output.log, both.ignored) == ("Ada", (), Note(text="x"))
    with pytest.raises(il.InputError):
        await il.run_agent(ONE, snapshot=alone.snapshot, replies={"name": 3}, event=Leave())


@pytest.mark.parametrize(
    ("schema", "reply", "expected"),
    [
        (int, 3, 3),
        (int, "4", 4),  # as a form sends it
        (float, 1, 1.0),
        (tuple[int, ...], [1, 2], (1, 2)),
        (TypeAdapter(Annotated[int, Field(lt=5)]), 4, 4),
        (Address, Address(street="Elm", number=3, zip="12"), Address(street="Elm", number=3, zip="12")),
        (Address, {"street": "Elm", "number": 3, "zip": "12"}, Address(street="Elm", number=3, zip="12")),
    ],
)
async def test_a_reply_has_the_type_that_was_declared(schema: Any, reply: Any, expected: Any):
    seen: list[Any] = []

    def take(order: Order, given: Any) -> il.Move:
        seen.append(given)
        return agent.goto("over")

    machine = agent.machine(
        "typed",
        initial="a",
        states={
            "a": agent.state(invoke=agent.user_input("?", schema, id="q", on_done=take)),
            "over": agent.final(output=lambda order: order),
        },
    )
    first = idle(await il.run_agent(machine))
    result = await il.run_agent(machine, snapshot=first.snapshot, replies={"q": reply})
    assert isinstance(result, il.Done)
    await il.run_agent(machine, user_input=lambda _: reply)
    assert seen == [expected, expected]
    assert replay(machine, [*first.entries, *result.entries[1:]]).snapshot == result.snapshot


# -- time ------------------------------------------------------------------------------------------------------------


LATE = one(timeout=60, on_timeout="late")


async def test_nobody_answers_in_time():
    clock = il.FakeClock(100)
    first = idle(await il.run_agent(LATE, clock=clock, timers="return"))
    assert [timer.due for timer in first.timers] == [160]
    assert waits(first) == ["name"]
    clock.advance(59)
    in_time = await il.run_agent(LATE, snapshot=first.snapshot, clock=clock, timers="return", replies={"name": "Ada"})
    assert done(in_time).name == "Ada"
    clock.advance(1)
    assert done(await il.run_agent(LATE, snapshot=first.snapshot, clock=clock, timers="return")).name == "late"
    # A reply that comes when time is up comes too late, also where nobody has noticed yet.
    for replies in ({"name": "Ada"}, {first.pending_inputs[0].id: "Ada"}):
        assert done(await il.run_agent(LATE, snapshot=first.snapshot, clock=clock, replies=replies)).name == "late"


async def test_time_runs_out_while_somebody_is_asked():
    async def ask(request: il.UserInputRequest) -> object:
        await anyio.sleep_forever()

    clock = il.FakeClock(0)
    async with il.AgentSession(LATE, clock=clock, user_input=ask) as session:
        assert await clock.next_sleeper() == 60
        clock.advance(60)
        assert done(await session.settled()).name == "late"


# -- sessions --------------------------------------------------------------------------------------------------------


async def test_a_session_takes_replies():
    async with il.AgentSession(SEVERAL) as session:
        first = idle(await session.settled())
        for code, request, value in zip(CODES, ("nobody", "name"), ("x", 3), strict=True):
            with pytest.raises(il.InputError) as caught:
                await session.reply(request, value)
            assert caught.value.code == code
        assert session.snapshot == first.snapshot
        await session.reply("address", REPLIES["address"])
        assert len(idle(await session.settled()).pending_inputs) == 2
        with pytest.raises(il.InputError, match="nobody is asked 'address'"):
            await session.reply("address", REPLIES["address"])
        await session.reply(first.pending_inputs[2].id, False)
        await session.reply(first.pending_inputs[0].id, "Ada")
        order = done(await session.settled())
        assert (order.agreed, order.log) == (False, ("address", "terms", "name"))
        with pytest.raises(il.InputError, match="nobody is asked"):
            await session.reply("name", "late")


async def test_of_two_replies_at_once_the_first_counts():
    async with il.AgentSession(ONE) as session:
        await session.settled()
        async with anyio.create_task_group() as group:
            group.start_soon(session.reply, "name", "Ada")
            group.start_soon(session.reply, "name", "Bob")
        order = done(await session.settled())
        assert order.name in ("Ada", "Bob")


# -- the step path ---------------------------------------------------------------------------------------------------


def through_json(request: il.UserInputRequest) -> il.UserInputRequest:
    return il.UserInputRequest.from_json(json.loads(json.dumps(request.to_json())))


@pytest.mark.parametrize("named", ["request", "id", "json", "invocation"])
@pytest.mark.parametrize("order", ORDERS)
def test_step_by_step(named: str, order: list[str]):
    step: Any = il.initial_agent_step(SEVERAL, execution_id="x")
    requests = dict(zip(("name", "address", "terms"), step.pending_inputs, strict=True))
    for name in order:
        request = requests[name]
        by: Any = {
            "request": request,
            "id": request.id,
            "json": through_json(request),
            "invocation": next(item for item in step.owed.invocations if item.identity == request.id),
        }[named]
        for wrong in (object(), {1: 2}):
            with pytest.raises(il.InputError) as caught:
                il.resolve_agent_step(SEVERAL, step, by, wrong)
            assert caught.value.code == "invalid-reply"
        before = step
        step = il.resolve_agent_step(SEVERAL, step, by, REPLIES[name])
        assert il.resolve_agent_step(SEVERAL, before, by, REPLIES[name]).snapshot == step.snapshot  # pure
        assert len(step.entries) == 1
        late = il.resolve_agent_step(SEVERAL, step, request, REPLIES[name])
        assert (late.snapshot, late.entries) == (step.snapshot, ())
        step = il.AgentStep.from_json(SEVERAL, json.dumps(step.to_json()))
    assert step.done
    assert step.snapshot.output == Order(name="Ada", street="Elm 3", zip_code="12", agreed=True, log=tuple(order))


def test_a_step_refuses_a_question_in_the_machines_own_way():
    step = il.initial_agent_step(ONE)
    (request,) = step.pending_inputs
    failed = il.reject_agent_step(ONE, step, request, TimeoutError("nobody there"))
    assert failed.snapshot.output.name == "raised"
    with pytest.raises(il.InputError, match="owes no 'nobody'"):
        il.resolve_agent_step(ONE, step, "nobody", "x")
    again = il.transition_agent_step(ONE, step, Again())
    assert again.pending_inputs[0].id != request.id
    assert il.resolve_agent_step(ONE, again, request, "Ada").entries == ()


async def test_a_question_is_nothing_for_a_model():
    step = il.initial_agent_step(ONE)
    assert step.requests == ()
    with pytest.raises(il.BindError) as caught:
        await il.resolve_agent_requests(ONE, step, il.ScriptedExecutors())
    assert caught.value.code == "nothing-to-resolve"


async def test_both_ways_write_the_same_log():
    step: Any = il.initial_agent_step(SEVERAL, execution_id="x", at=0.0)
    entries = [*step.entries]
    for name in ("terms", "address", "name"):
        asked = next(item for item in step.pending_inputs if item.name == name)
        step = il.resolve_agent_step(SEVERAL, step, asked, REPLIES[name], at=0.0)
        entries += step.entries
    replies = {name: REPLIES[name] for name in ("terms", "address", "name")}
    result = await il.run_agent(SEVERAL, execution_id="x", clock=il.FakeClock(0), replies=replies)
    assert [entry.to_text() for entry in result.entries] == [entry.to_text() for entry in entries]


# -- kept in a store -------------------------------------------------------------------------------------------------


HEAD = """
import json, sys
import anyio
import interlock as il
from interlock.journal.stores import SQLiteStore
from tests.run import test_people as here
path, name, value = json.load(sys.stdin)

async def main():
    store = SQLiteStore(path)
    result = await il.run_agent(here.SEVERAL, store=store, thread_id="t", replies={name: value} if name else None)
    await store.aclose()
    print(json.dumps([[item.id for item in getattr(result, "pending_inputs", ())], len(result.entries)]))

anyio.run(main)
"""


def elsewhere(path: Path, name: str | None = None, value: Any = None) -> Any:
    made = subprocess.run(
        [sys.executable, "-c", HEAD],
        input=json.dumps([str(path), name, value]),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}", "PYTHONHASHSEED": "random"},
    )
    return json.loads(made.stdout)


@pytest.mark.slow
async def test_each_reply_in_a_process_of_its_own(tmp_path: Path):
    path = tmp_path / "log.db"
    ids, added = elsewhere(path)
    assert (len(ids), added) == (3, 1)
    store = SQLiteStore(path)
    assert [thread.status for thread in await store.threads()] == ["waiting"]
    assert elsewhere(path) == [ids, 0]  # looking is no step: no entry says that somebody has come and gone
    assert elsewhere(path, ids[2], True) == [ids[:2], 1]
    assert [thread.status for thread in await store.threads()] == ["waiting"]
    assert elsewhere(path, ids[0], "Ada") == [[ids[1]], 1]
    assert elsewhere(path, ids[1], REPLIES["address"]) == [[], 1]
    (thread,) = await store.threads()
    assert (thread.status, thread.length) == ("done", 4)
    entries = await store.read("t")
    await store.aclose()
    assert replay(SEVERAL, entries).snapshot.output.log == ("terms", "name", "address")


async def test_of_two_who_answer_at_once_one_wins():
    store = il.MemoryStore()
    await il.run_agent(ONE, store=store, thread_id="t")
    results: list[Any] = []

    async def answer(name: str) -> None:
        try:
            results.append(await il.run_agent(ONE, store=store, thread_id="t", replies={"name": name}))
        except il.InputError as error:  # the other one was done before this one had looked
            results.append(error)

    async with anyio.create_task_group() as group:
        for name in ("Ada", "Bob"):
            group.start_soon(answer, name)
    won = [result for result in results if isinstance(result, il.Done)]
    lost = [result for result in results if not isinstance(result, il.Done)]
    assert (len(won), len(lost)) == (1, 1)
    for result in lost:
        if isinstance(result, il.Failed):
            assert (result.cause, result.error.code) == ("journal", "log-conflict")
        else:
            assert result.code == "unknown-request"
    entries = await store.read("t")
    assert len(entries) == 2
    assert replay(ONE, entries).snapshot.output == won[0].output


async def test_of_two_sessions_that_both_stand_at_the_question_one_wins():
    store = il.MemoryStore()
    await il.run_agent(ONE, store=store, thread_id="t")
    options: Any = {"store": store, "thread_id": "t"}
    async with il.AgentSession(ONE, **options) as first, il.AgentSession(ONE, **options) as second:
        for session in (first, second):
            assert waits(await session.settled()) == ["name"]
        await first.reply("name", "Ada")
        assert done(await first.settled()).name == "Ada"
        await second.reply("name", "Bob")
        lost = await second.settled()
    assert isinstance(lost, il.Failed)
    assert (lost.cause, lost.error.code) == ("journal", "log-conflict")
    assert lost.snapshot is not None
    assert lost.snapshot.value == "asking"
    assert replay(ONE, await store.read("t")).snapshot.output.name == "Ada"


async def test_a_question_that_cannot_be_worded_fails_the_run_and_keeps_what_was_paid():
    words = il.setup_agent(context=Text, events=[], output=str)
    machine = words.machine(
        "m",
        context=Text(),
        initial="writing",
        states={
            "writing": words.state(
                invoke=words.generate_text(
                    model="m", prompt="?", on_done=lambda c, text: words.goto("asking", text=text)
                )
            ),
            "asking": words.state(invoke=words.user_input(lambda c: f"Send {c.txet}?", on_done="over")),  # type: ignore[attr-defined]  # wrong
            "over": words.final(output="over"),
        },
    )
    result = await il.run_agent(machine, executors=il.ScriptedExecutors(text=["dear"]))
    assert isinstance(result, il.Failed)
    assert (result.cause, result.error.code) == ("machine", "handler-raised")
    assert result.snapshot is not None
    assert result.snapshot.context == Text(text="dear")
    assert result.usage.model_calls == 1
    async with il.AgentSession(machine, executors=il.ScriptedExecutors(text=["dear"])) as session:
        assert isinstance(await session.settled(), il.Failed)
