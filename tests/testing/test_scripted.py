"""Scripted executors answer in order, and say so when the script is over."""

from typing import Any

import pytest

import interlock as il
from interlock.errors import InputError
from tests.guessing import Guess, Verdict, game
from tests.run.writing import Letter, add, calls, writer


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
    with pytest.raises(il.ScriptExhaustedError) as caught:  # the machine's own on_error does not hear of it
        await il.run_agent(game(), executors=scripted)
    assert caught.value.request_id == scripted.requests[0].id
    assert all(part in str(caught.value) for part in (repr(scripted.requests[0].id), "call 2", "Ask, Guess"))
    assert caught.value.__context__ is None


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


MODES = pytest.mark.parametrize("mode", ["generate", "stream"])


@MODES
@pytest.mark.parametrize(
    "answer",
    ["rain", il.TextResult(output="rain"), lambda request: request.prompt[3:]],
    ids=["text", "result", "function of the request"],
)
async def test_a_text_may_be_written_in_many_ways(mode: str, answer: Any):
    result = await il.run_agent(writer(mode), executors=il.ScriptedExecutors(text=[answer]))
    assert isinstance(result, il.Done)
    assert result.output == "rain"


@MODES
@pytest.mark.parametrize("answer", [Letter(subject="x"), {"subject": "x"}, lambda request: Letter(subject="x")])
async def test_a_value_may_be_written_in_many_ways(mode: str, answer: Any):
    result = await il.run_agent(writer(mode, output=Letter), executors=il.ScriptedExecutors(text=[answer]))
    assert isinstance(result, il.Done)
    assert result.output == {"subject": "x", "lines": ()}


@MODES
async def test_each_turn_takes_one_answer(mode: str):
    scripted = il.ScriptedExecutors(text=[calls("add", a=1), "done", "left"], decisions=["left"])
    result = await il.run_agent(writer(mode, tools=[add]), executors=scripted)
    assert isinstance(result, il.Done)
    assert result.output == "done"
    assert scripted.remaining == 2
    assert [len(request.turns) for request in scripted.text_requests] == [0, 2]
    assert scripted.decision_requests == []


@MODES
async def test_a_dry_text_script_names_the_request(mode: str):
    with pytest.raises(il.ScriptExhaustedError) as caught:
        await il.run_agent(writer(mode), executors=il.ScriptedExecutors(decisions=["Fly"]))
    assert all(part in str(caught.value) for part in ("0.writer.writing#", "ScriptedExecutors(text=[...]), a text"))


@MODES
async def test_an_exception_in_the_text_script_is_raised(mode: str):
    result = await il.run_agent(writer(mode, on_error=False), executors=il.ScriptedExecutors(text=[TimeoutError("x")]))
    assert isinstance(result, il.Failed)
    assert isinstance(result.exception, TimeoutError)


@pytest.mark.parametrize("text", ["", " ", "a", " a  b ", "a\n\nb\n"])
async def test_pieces_are_the_whole_text(text: str):
    seen: list[str] = []
    result = await il.run_agent(
        writer("stream"), executors=il.ScriptedExecutors(text=[text]), on_chunk=lambda piece, _: seen.append(piece)
    )
    assert isinstance(result, il.Done)
    assert result.output == "".join(seen) == text


class Shout(il.Event):
    text: str = ""


@pytest.mark.parametrize("script", [{"decisions": [Shout(), Shout]}, {"text": ["x", Shout]}], ids=["decisions", "text"])
def test_a_class_among_the_answers_is_refused_before_anything_runs(script: Any):
    (word,) = script
    with pytest.raises(
        InputError, match=rf"{word}=\[\.\.\.\]\): answer 1 is the class Shout; give an instance, Shout\("
    ):
        il.ScriptedExecutors(**script)
