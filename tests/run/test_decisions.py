"""A model picks, the driver delivers: retries, refusals, moving on, and who gets which error."""

from typing import Any

import anyio
import pytest

import interlock as il
import interlock.statechart as sc
from tests.run.machines import Ask, Game, Guess, Left, Reply, Verdict, agent, deciding_pair, game, pair_agent

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
    assert [(i.record is not sc.UNSET, i.error is not sc.UNSET) for i in inputs] == [(True, False), (True, False), (True, True)]
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
    again = await il.run_agent(game(on_error=None), executors=il.ScriptedExecutors(), snapshot=result.snapshot.to_json())
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
                on=[agent.on(Reply, "b")],
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


async def test_tokens_are_summed_over_the_calls_that_report_them():
    usage = il.Usage(input_tokens=3, output_tokens=1)
    scripted = il.ScriptedExecutors(decisions=[il.Choice({"type": "Fly"}, usage=usage), il.Choice(Guess(guess="x"), usage=usage)])
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
        deciding_pair(), executors=il.Executors(decide=decide), on_event=lambda c: c.input and delivered.append(c.input.event.type)
    )
    assert isinstance(result, il.Done)
    assert order == delivered == ["Left", "Right"]


async def test_retries_of_several_decisions_are_asked_in_order_too():
    script = il.ScriptedExecutors(decisions=["Fly", "Fly", "Fly", "Fly", "Left", "Right"])
    result = await il.run_agent(deciding_pair(), executors=script)
    assert isinstance(result, il.Done)
    assert [request.name for request in script.requests] == ["Left", "Right"] * 3


def moving(*, retries: int = 0) -> il.Machine[Any, None, Any]:
    """While the decision is being made, a function elsewhere makes what it chooses illegal, ``n`` times."""
    a = pair_agent

    async def nudge() -> None: ...

    return a.machine(
        "moving",
        context={"n": 0, "open": 0},
        kind="parallel",
        states={
            "ask": a.state(
                initial="ask",
                states={
                    "ask": a.state(
                        invoke=a.decide(prompt="?", allowed_events="Bid", max_retries=retries, on_error="lost"),
                        on=[bid.on("Bid", lambda c, e: bid.goto("won") if e.at == c["n"] else None)],
                    ),
                    "won": a.end(),
                    "lost": a.end(),
                },
            ),
            "other": a.state(),
        },
    )


class Bid(il.Event):
    """Bid, by what is known of the price."""

    at: int


class Change(il.Event):
    """The price has changed."""


bid = il.setup_agent(context=None, events=[Bid, Change])


def auction(changes: int, *, retries: int = 0) -> il.Machine[Any, None, Any]:
    """A decision about a price, and a region in which the price changes each time somebody calls ``change``."""

    async def change() -> None:
        await prices.pop(0).wait()

    prices = [anyio.Event() for _ in range(changes)]
    machine = bid.machine(
        "auction",
        context={"price": 0},
        kind="parallel",
        states={
            "bidder": bid.state(
                initial="ask",
                states={
                    "ask": bid.state(
                        invoke=bid.decide(
                            prompt=lambda c: str(c["price"]), allowed_events=Bid, max_retries=retries, on_error="lost"
                        ),
                        on=[bid.on(Bid, lambda c, e: bid.goto("won") if e.at == c["price"] else None)],
                    ),
                    "won": bid.end(),
                    "lost": bid.end(),
                },
            ),
            "market": bid.state(
                initial="on",
                states={
                    "on": bid.state(
                        invoke=bid.call(
                            change,
                            on_done=lambda c, _: (
                                bid.goto("on", price=c["price"] + 1).reenter() if c["price"] + 1 < changes else bid.goto("off", price=changes)
                            ),
                        )
                        if changes
                        else [],
                    ),
                    "off": bid.end(),
                },
            ),
        },
    )
    return machine.provide({}) if not changes else _with_prices(machine, prices)


def _with_prices(machine: Any, prices: list[anyio.Event]) -> Any:
    PRICES[id(machine)] = prices
    return machine


PRICES: dict[int, list[anyio.Event]] = {}
