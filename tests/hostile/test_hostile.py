"""No model, however hostile, makes an illegal move, a log that does not replay, or an error that nobody has named.

Plain ``pytest`` tries a part; ``pytest -m hostile``, and so each CI run, tries all of it: 10,000 answers at least,
which are counted. Answers that are as they should be, there to move the machine on, do not count.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import interlock as il

from . import playing
from .laws import check_error, names_of
from .machines import RINGS, made
from .outputs import Said, decisions, grown, meddling, scripts, writings
from .thorns import EXCEPTIONS, LEAVING

TEXTS = ("act", "write", "stream", "form")
WAYS: dict[str, Callable[..., Any]] = {
    "asyncio": playing.live,
    "trio": lambda name, script: playing.live(name, script, backend="trio"),
    "session": playing.session,
    "steps": playing.steps,
    "saved steps": lambda name, script: playing.steps(name, script, saved=True),
}
SHARE = 200
"""Hostile answers that each machine is given on each way, at least."""


def meddled(script: list[Said], others: list[Any]) -> list[Said]:
    """Return a script in whose course somebody else sends events."""
    return [dataclasses.replace(said, meddles=others[number % len(others)]) for number, said in enumerate(script)]


def tried(name: str, way: str, *, examples: int, number: int = 0) -> int:
    """Try a machine with so many scripts, the same each time, and return how many hostile answers that were."""

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(script=scripts(writings if name in TEXTS else decisions), others=st.lists(meddling, min_size=1, max_size=3))
    def holds(script: list[Said], others: list[Any]) -> None:
        WAYS[way](name, meddled(script, others) if way == "session" else script)

    before = playing.COUNTED["answers"]
    holds()
    return playing.COUNTED["answers"] - before


@pytest.mark.parametrize("name", RINGS)
@pytest.mark.parametrize("way", ["trio", "session", "steps"])
def test_a_few_hostile_answers(name: str, way: str):
    assert tried(name, way, examples=3) > 0


@pytest.mark.hostile
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RINGS)
def test_many_hostile_answers(name: str, way: str):
    answers, number = 0, 0
    while answers < SHARE:
        number += 1
        assert number <= 40, f"{answers} answers are too few"
        answers += tried(name, way, examples=20, number=number)


@pytest.mark.hostile
def test_they_are_ten_thousand():
    assert len(RINGS) * len(WAYS) * SHARE >= 10_000


@pytest.mark.parametrize("name", ["decide", "plan", "act", "pair", "child"])
@pytest.mark.parametrize("limit", [0, 1, 3])
def test_no_more_calls_than_the_run_allows(name: str, limit: int):
    playing.live(
        name,
        [
            Said(
                "choice" if name != "act" else "text",
                {"event": {"type": "Fly"}} if name != "act" else {"tool_calls": [("a", "nothing", {})]},
            )
        ],
        limit=limit,
    )


@pytest.mark.parametrize("name", ["decide", "plan"])
def test_plain_executors_are_judged_alike(name: str):
    wrong = [Said("bare", None), Said("choice", {"event": {"type": "Fly"}}), Said("raise", "mute")]
    results = [playing.live(name, wrong, plain=plain) for plain in (False, True)]
    assert results[0].snapshot == results[1].snapshot


@pytest.mark.parametrize("name", EXCEPTIONS)
@pytest.mark.parametrize("machine", ["decide", "plan", "act", "stream"])
def test_whatever_is_raised_is_an_error_as_data(name: str, machine: str):
    playing.live(machine, [Said("raise", name)])
    playing.steps(machine, [Said("raise", name)])


@pytest.mark.parametrize("name", LEAVING)
@pytest.mark.parametrize("machine", ["decide", "act"])
@pytest.mark.parametrize("plain", [False, True])
async def test_what_ends_the_process_passes_through(name: str, machine: str, plain: bool):
    def leaves(request: Any, info: Any) -> Any:
        error = LEAVING[name]()
        raise error

    async def leaves_later(request: Any, info: Any) -> Any:
        leaves(request, info)

    execute: Any = leaves if plain else leaves_later
    with pytest.raises(BaseException) as caught, anyio.fail_after(10):  # noqa: PT011  # whatever was raised
        await il.run_agent(made(machine), executors=il.Executors(decide=execute, generate_text=execute))
    assert type(LEAVING[name]()).__name__ in set(names_of(caught.value))


@settings(max_examples=150, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(script=scripts(decisions))
def test_a_decision_by_itself_ends_with_an_event_or_a_typed_error(script: list[Said]):
    machine, model = made("decide"), playing.Model(script)
    (request,) = il.initial_agent_step(machine, at=0.0).requests

    async def go() -> Any:
        return await il.resolve_decision(request, model.decide)

    try:
        event = anyio.run(go)
    except il.InterlockError as error:
        check_error(il.ErrorInfo.of(error), model.raised)
    except Exception as error:
        if type(error).__name__ not in model.raised:
            raise
    else:
        assert event.type in {offered.type for offered in request.events}
        assert type(event).model_validate_json(event.model_dump_json()) == event
    model.check(request.max_retries + 1)


@settings(max_examples=150, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(said=decisions | writings)
def test_answers_as_json_are_read_or_refused(said: Said):
    parts = grown(said.parts, None)
    for read in (il.Choice, il.TextResult):
        try:
            made_of = read.from_json(parts)
        except il.InterlockError:
            continue
        assert read.from_json(json.loads(json.dumps(made_of.to_json()))) == made_of
