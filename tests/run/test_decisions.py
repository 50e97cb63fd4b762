"""A model picks, the driver delivers: retries, refusals, moving on, and who gets which error."""

from typing import Any

import anyio
import pytest

import interlock as il
import interlock.statechart as sc
from tests.guessing import Ask, Game, Guess, Reply, Verdict, agent, game
from tests.run.machines import Left, Right, deciding_pair, pair_agent

ASK = {"type": "Ask", "question": "Is it alive?"}


async def test_the_example_plays_to_its_end():
    machine = game()
    scripted = il.ScriptedExecutors(decisions=[ASK, Guess(guess="a cat")])
    result = await il.run_agent(machine, executors=scripted)
    assert isinstance(result, il.Idle)
    assert result.snapshot.value == "answering"
    assert result.usage.model_calls == 1

    match await il.run_agent(machine, executors=scripted, snapshot=result.snapshot, event=Reply(answer="yes")):
        case il.Done(output=verdict, snapshot=snapshot):
            assert verdict == Verdict(guess="a cat")
            assert snapshot.context.transcript == ("Q: Is it alive?", "A: yes")
        case other:
            pytest.fail(repr(other))
    first, second = scripted.requests
    assert (first.prompt, second.prompt) == ("Nothing asked yet.", "Q: Is it alive?\nA: yes")
    assert [event.type for event in first.events] == ["Ask", "Guess"]


async def test_a_refused_choice_is_a_record_and_the_next_call_sees_it():
    seen: list[Any] = []
    scripted = il.ScriptedExecutors(decisions=[ASK, {"type": "Guess"}, "Fly", Guess(guess="x")])
    result = await il.run_agent(game(1), executors=scripted, on_transition=lambda s, i: seen.append((i, s)))
    # Ask needs a question left; then a payload that does not fit; then an event that there is not: three tries.
    assert isinstance(result, il.Done)
    assert result.output == Verdict(guess=None)
    assert [len(request.attempts) for request in scripted.requests] == [0, 1, 2]
    assert [attempt.failure for attempt in scripted.requests[2].attempts] == ["rejected-by-guard", "invalid-payload"]
    inputs = [i for i, _ in seen if i is not None]
    assert [(i.record is not sc.UNSET, i.error is not sc.UNSET) for i in inputs] == [
        (True, False),
        (True, False),
        (True, True),
    ]
    assert [info.call_key.rpartition(".")[2] for info in scripted.infos] == ["0", "1", "2"]
    assert [info.attempt for info in scripted.infos] == [1, 2, 3]


async def test_exhausted_without_on_error_fails_the_run_with_all_attempts():
    scripted = il.ScriptedExecutors(decisions=["Fly", "Fly", "Fly"])
    result = await il.run_agent(game(on_error=None), executors=scripted)
    assert isinstance(result, il.Failed)
    assert result.cause == "decision-exhausted"
    assert result.error.code == "decision-exhausted"
    assert len(result.error.data) == 3
    assert isinstance(result.exception, il.DecisionExhaustedError)
    assert result.error.message.count("unknown-event") == 3
    assert result.snapshot is not None
    again = await il.run_agent(
        game(on_error=None), executors=il.ScriptedExecutors(), snapshot=result.snapshot.to_json()
    )
    assert isinstance(again, il.Failed)
    assert again.cause == "decision-exhausted"


async def test_a_bare_event_is_refused_with_the_fix():
    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> Any:
        return {"type": "Guess", "guess": "x"}

    result = await il.run_agent(game(on_error=None), executors=il.Executors(decide=decide))
    assert isinstance(result, il.Failed)
    assert result.cause == "machine"
    assert "Choice(event=" in result.error.message


async def test_an_executor_that_raises_is_no_attempt():
    scripted = il.ScriptedExecutors(decisions=[RuntimeError("no network")])
    result = await il.run_agent(game(on_error=None), executors=scripted)
    assert isinstance(result, il.Failed)
    assert result.cause == "machine"
    assert (result.error.code, result.error.message) == ("raised", "no network")
    assert isinstance(result.exception, RuntimeError)
    assert result.usage.model_calls == 1


async def test_a_model_never_sends_what_only_a_person_may():
    machine = agent.machine(
        "m",
        context=Game(),
        initial="a",
        states={
            "a": agent.state(
                invoke=agent.decide(prompt="?", max_retries=0, on_error="b"),
                on=[agent.on(Ask, "c"), agent.on(Reply, "c")],
            ),
            "b": agent.final(output=Verdict(guess="refused")),
            "c": agent.final(output=Verdict(guess="taken")),
        },
    )
    scripted = il.ScriptedExecutors(decisions=[Reply(answer="yes")])
    result = await il.run_agent(machine, executors=scripted)
    assert isinstance(result, il.Done)
    assert result.output == Verdict(guess="refused")
    assert [event.type for event in scripted.requests[0].events] == ["Ask"]


async def test_an_event_that_stays_completes_the_decision():
    done: list[Any] = []
    machine = agent.machine(
        "m",
        context=Game(),
        initial="a",
        states={
            "a": agent.state(
                invoke=agent.decide(prompt="?", on_done=lambda c, event: agent.goto("b", guess=event.question)),
                on=[agent.on(Ask, lambda c, ask: agent.stay(questions_left=7))],
            ),
            "b": agent.final(output=lambda c: Verdict(guess=f"{c.guess} {c.questions_left}")),
        },
    )
    result = await il.run_agent(
        machine, executors=il.ScriptedExecutors(decisions=[ASK]), on_event=lambda c: done.append(c.input)
    )
    assert isinstance(result, il.Done)
    assert result.output == Verdict(guess="Is it alive? 7")
    # Event and completion are one input: nothing can fall between them.
    assert len([i for i in done if i is not None]) == 1


async def test_nothing_legal_fails_without_a_model_call():
    machine = agent.machine(
        "m",
        context=Game(),
        initial="a",
        states={
            "a": agent.state(
                invoke=agent.decide(prompt="?", on_error=lambda c, error: agent.goto("b", guess=error.code)),
                initial="waiting",
                states={
                    "waiting": agent.state(on=[agent.on(Reply, "asking")]),
                    "asking": agent.state(on=[agent.on(Ask, "waiting")]),
                },
            ),
            "b": agent.final(output=lambda c: Verdict(guess=c.guess)),
        },
    )
    result = await il.run_agent(machine, executors=il.ScriptedExecutors())
    assert isinstance(result, il.Done)
    assert result.output == Verdict(guess="no-legal-events")
    assert result.usage.model_calls == 0


async def test_the_call_over_the_budget_is_not_made():
    scripted = il.ScriptedExecutors(decisions=["Fly", "Fly"])
    result = await il.run_agent(game(on_error=None), executors=scripted, max_model_calls=1)
    assert isinstance(result, il.Failed)
    assert result.cause == "max-model-calls"
    assert isinstance(result.exception, il.ModelCallLimitError)
    assert len(scripted.requests) == result.usage.model_calls == 1

    degraded = await il.run_agent(game(), executors=il.ScriptedExecutors(), max_model_calls=0)
    assert isinstance(degraded, il.Done)  # on_error may branch on the code and go on without a model


class DearError(Exception):
    """What an executor raises whose call was paid for."""

    usage = il.Usage(input_tokens=7, output_tokens=2)


class OddError(Exception):
    @property
    def usage(self) -> object:
        raise KeyError("nothing")


@pytest.mark.parametrize(
    ("error", "usage"),
    [
        (DearError(), il.RunUsage(model_calls=1, input_tokens=7, output_tokens=2)),
        (OddError(), il.RunUsage(model_calls=1)),
        (ValueError(), il.RunUsage(model_calls=1)),
    ],
)
async def test_a_call_that_fails_may_say_what_it_has_cost(error: Exception, usage: il.RunUsage):
    scripted = il.ScriptedExecutors(decisions=[error])
    result = await il.run_agent(game(on_error=None), executors=scripted)
    assert isinstance(result, il.Failed)
    assert result.usage == il.get_usage(result.entries) == usage


async def test_tokens_are_summed_over_the_calls_that_report_them():
    usage = il.Usage(input_tokens=3, output_tokens=1)
    scripted = il.ScriptedExecutors(
        decisions=[il.Choice({"type": "Fly"}, usage=usage), il.Choice(Guess(guess="x"), usage=usage)]
    )
    result = await il.run_agent(game(), executors=scripted)
    assert result.usage == il.RunUsage(model_calls=2, input_tokens=6, output_tokens=2)


async def test_parallel_decisions_are_asked_in_order_and_run_together():
    order: list[str] = []
    gate = anyio.Event()

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        order.append(str(request.name))
        if len(order) == 2:
            gate.set()
        await gate.wait()
        return il.Choice({"type": request.name or ""})

    delivered: list[Any] = []
    result = await il.run_agent(
        deciding_pair(),
        executors=il.Executors(decide=decide),
        on_event=lambda c: c.input and delivered.append(c.input.event.type),
    )
    assert isinstance(result, il.Done)
    assert order == delivered == ["Left", "Right"]


async def test_retries_of_several_decisions_are_asked_in_order_too():
    script = il.ScriptedExecutors(decisions=["Fly", "Fly", "Fly", "Fly", "Left", "Right"])
    result = await il.run_agent(deciding_pair(), executors=script)
    assert isinstance(result, il.Done)
    assert [request.name for request in script.requests] == ["Left", "Right"] * 3


class Bid(il.Event):
    """Bid, by what is known of the price."""

    at: int


bid = il.setup_agent(context=None, events=[Bid])


async def auction(changes: int) -> tuple[Any, list[Any]]:
    """Run a decision about a price that changes while the model thinks, the first ``changes`` times it is asked."""
    wanted = [anyio.Event() for _ in range(changes)]
    happened = [anyio.Event() for _ in range(changes)]
    requests: list[il.DecisionRequest] = []

    async def change(price: int) -> None:
        await wanted[price].wait()

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        price = len(requests)
        requests.append(request)
        if price < changes:
            wanted[price].set()
            await happened[price].wait()
        return il.Choice(Bid(at=price))

    def look(snapshot: Any, _: Any) -> None:
        for price in range(snapshot.context["price"]):
            happened[price].set()

    ask = bid.state(
        invoke=bid.decide(prompt=lambda c: str(c["price"]), allowed_events=Bid, max_retries=0, on_error="lost"),
        on=[bid.on(Bid, lambda c, e: bid.goto("won") if e.at == c["price"] else None)],
    )
    changing = bid.state(
        invoke=bid.call(
            change,
            input=lambda c: {"price": c["price"]},
            on_done=lambda c, _: bid.goto("more", price=c["price"] + 1),
        )
    )
    more = bid.choice(lambda c: bid.goto("on") if c["price"] < changes else bid.goto("off"))
    machine = bid.machine(
        "auction",
        context={"price": 0},
        kind="parallel",
        states={
            "bidder": bid.state(initial="ask", states={"ask": ask, "won": bid.end(), "lost": bid.end()}),
            "market": bid.state(initial="more", states={"on": changing, "more": more, "off": bid.end()}),
        },
    )
    states: list[Any] = []

    def watch(snapshot: Any, given: Any) -> None:
        states.append(snapshot.value)
        look(snapshot, given)

    result = await il.run_agent(machine, executors=il.Executors(decide=decide), on_transition=watch)
    assert isinstance(result, il.Done)
    return states[-1], requests


async def test_a_choice_that_the_machine_has_moved_on_from_costs_no_retry():
    _, requests = await auction(1)
    assert [attempt.failure for attempt in requests[-1].attempts] == ["moved-on"]
    assert [request.prompt for request in requests] == ["0", "0"]  # worded once, asked with fresh candidates


@pytest.mark.parametrize(("changes", "outcome"), [(0, "won"), (1, "won"), (3, "won"), (4, "lost")])
async def test_moving_on_is_bounded(changes: int, outcome: str):
    value, requests = await auction(changes)
    assert value["bidder"] == outcome
    assert len(requests) == (changes + 1 if outcome == "won" else changes)


async def test_a_decision_that_is_left_is_cancelled_and_its_answer_changes_nothing():
    ended: list[str] = []

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        if request.name == "Right":
            return il.Choice({"type": "Right"})
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")
        raise AssertionError

    a = pair_agent
    left = a.state(
        initial="ask",
        states={"ask": a.state(invoke=a.decide(name="Left", prompt="?"), on=[a.on(Left, "x")]), "x": a.end()},
    )
    right = a.state(invoke=a.decide(name="Right", prompt="?", allowed_events="Right"), on=[a.on(Right, "#over")])
    machine = a.machine(
        "m",
        initial="both",
        states={"both": a.parallel(states={"left": left, "right": right}), "over": a.state(id="over")},
    )
    result = await il.run_agent(machine, executors=il.Executors(decide=decide))
    assert isinstance(result, il.Idle)
    assert result.snapshot.value == "over"
    assert ended == ["cancelled"]


async def test_a_child_machine_decides_with_its_own_events():
    child = game(1)
    parent = sc.machine(
        "parent",
        sources={"play": child},
        initial="playing",
        states={
            "playing": sc.state(invoke=sc.invoke("play", id="g", on_done=lambda c, out: sc.goto("won", out=out.guess))),
            "won": sc.final(output=lambda c: c["out"]),
        },
        context={"out": None},
    )
    scripted = il.ScriptedExecutors(decisions=[ASK, Guess(guess="x")])
    result = await il.run_agent(parent, executors=scripted)
    assert isinstance(result, il.Done)
    assert result.output == "x"
    assert [request.id for request in scripted.requests] == [scripted.requests[0].id] * 2
    assert scripted.requests[0].id.startswith("g#1/")


async def test_a_guard_that_raises_on_a_choice_fails_the_run_with_the_snapshot_before():
    def broken(c: Any, e: Any) -> Any:
        raise ValueError("x")

    machine = bid.machine(
        "m",
        initial="a",
        states={
            "a": bid.state(invoke=bid.decide(prompt="?", on_error="b"), on=[bid.on(Bid, broken, to="b")]),
            "b": bid.final(),
        },
    )
    result = await il.run_agent(machine, executors=il.ScriptedExecutors(decisions=[Bid(at=1)]))
    assert isinstance(result, il.Failed)
    assert result.cause == "machine"
    assert isinstance(result.exception, il.HandlerError)
    assert isinstance(result.exception.__cause__, ValueError)
    assert result.snapshot is not None
    assert result.snapshot.value == "a"
