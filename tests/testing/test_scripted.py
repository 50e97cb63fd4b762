"""Scripted executors answer in order, and say so when the script is over."""

from typing import Any

import pytest

import interlock as il
from tests.run.machines import Guess, Verdict, game


@pytest.mark.parametrize(
    "answer",
    [
        Guess(guess="x"),
        {"type": "Guess", "guess": "x"},
        il.Choice(Guess(guess="x"), reason="because"),
        lambda request: {"type": "Guess", "guess": "x"},
        lambda request: il.Choice({"type": request.events[1].type, "guess": "x"}),
    ],
    ids=["event", "mapping", "choice", "function", "function of the request"],
)
async def test_an_answer_may_be_written_in_many_ways(answer: Any):
    scripted = il.ScriptedExecutors(decisions=[answer])
    result = await il.run_agent(game(), executors=scripted)
    assert isinstance(result, il.Done)
    assert result.output == Verdict(guess="x")
    assert scripted.remaining == 0


async def test_an_answer_may_be_awaited():
    async def answer(request: il.DecisionRequest) -> Guess:
        return Guess(guess=request.prompt or "")

    result = await il.run_agent(game(), executors=il.ScriptedExecutors(decisions=[answer]))
    assert isinstance(result, il.Done)
    assert result.output == Verdict(guess="Nothing asked yet.")


async def test_a_dry_script_names_the_request():
    scripted = il.ScriptedExecutors(decisions=["Fly"])
    result = await il.run_agent(game(on_error=None), executors=scripted)
    assert isinstance(result, il.Failed)
    assert result.error.code == "script-exhausted"
    assert isinstance(result.exception, il.ScriptExhaustedError)
    assert result.exception.request_id == scripted.requests[0].id
    assert all(part in result.error.message for part in (repr(scripted.requests[0].id), "call 2", "Ask, Guess"))


async def test_what_was_asked_can_be_looked_at():
    scripted = il.ScriptedExecutors(decisions=["Fly", Guess(guess="x")])
    await il.run_agent(game(), executors=scripted)
    assert [len(request.attempts) for request in scripted.requests] == [0, 1]
    assert [info.attempt for info in scripted.infos] == [1, 2]


async def test_an_exception_in_the_script_is_raised():
    result = await il.run_agent(game(on_error=None), executors=il.ScriptedExecutors(decisions=[TimeoutError("slow")]))
    assert isinstance(result, il.Failed)
    assert isinstance(result.exception, TimeoutError)


def test_they_are_executors():
    assert isinstance(il.ScriptedExecutors(), il.Executors)
