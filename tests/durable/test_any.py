"""What is declared as ``Any`` is JSON: an input or an output that is none is refused by its place, and not changed."""

from __future__ import annotations

import datetime as dt
import json
import math
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

import interlock as il

pytestmark = pytest.mark.anyio


class Given(BaseModel, frozen=True):
    free: Any = None
    secret: SecretStr | None = None


agent = il.setup_agent(events=[], input=Given, output=Any)


def machine(output: Any = None) -> il.Machine[Any, Given, Any]:
    ends = agent.final(output=lambda _: output)
    return agent.machine("m", context=lambda _: {}, initial="over", states={"over": ends})


NO_JSON: list[tuple[Any, str]] = [
    ({1: 1, "1": 2}, ""),
    ({1: 2}, ""),
    ({"a": [0, {1}]}, ".a[1]"),
    ({1}, ""),
    (b"x", ""),
    (dt.datetime(2026, 1, 1, tzinfo=dt.UTC), ""),
    (math.nan, ""),
    ([1, {"x": math.inf}], "[1].x"),
]


@pytest.mark.parametrize(("value", "place"), NO_JSON, ids=lambda value: ascii(value)[:30])
async def test_what_is_no_json_is_no_input(value: Any, place: str):
    result = await il.run_agent(machine(), input=Given(free=value))
    assert isinstance(result, il.Failed)
    assert result.error.code == "not-json"
    assert result.error.message.startswith(f"input.free{place}: ")
    assert "would come back as" in result.error.message


@pytest.mark.parametrize(("value", "place"), NO_JSON, ids=lambda value: ascii(value)[:30])
async def test_what_is_no_json_is_no_output(value: Any, place: str):
    result = await il.run_agent(machine(value), input=Given())
    assert isinstance(result, il.Failed)
    assert f"output{place}: " in result.error.message
    assert "would come back as" in result.error.message


@pytest.mark.parametrize("value", [None, 1, True, "x", [1, "2", None], (1, 2), {"a": {"b": [(), []]}}], ids=ascii)
async def test_json_is_taken_as_it_is(value: Any):
    result = await il.run_agent(machine(value), input=Given(free=value))
    assert isinstance(result, il.Done), result
    assert json.dumps(result.output) == json.dumps(value)


async def test_a_secret_is_no_input():
    result = await il.run_agent(machine(), input=Given(secret=SecretStr("s3cret")))
    assert isinstance(result, il.Failed)
    assert result.error.message.startswith("input.secret: ")
    assert "s3cret" not in result.error.message
