"""Calls: what a function is given, and what its answer is by its annotation."""

import datetime as dt
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from interlock.agent import CallSpec
from interlock.errors import CallResultError


class Hit(BaseModel):
    url: str
    seen: dt.date


@dataclass
class Pair:
    left: int
    right: tuple[str, ...]


def hit() -> Hit: ...
async def hits() -> list[Hit]: ...
def later() -> Awaitable[int]: ...
def pair() -> Pair: ...
def bounded() -> Annotated[int, Field(le=3)]: ...
def nothing() -> None: ...
def anything(): ...
def whatever() -> Any: ...


class Caller:
    def __call__(self) -> int: ...
    def method(self) -> Hit: ...


def spec(function: Any) -> CallSpec:
    return CallSpec(function=function, name="f")


DAY = dt.date(2026, 1, 2)


@pytest.mark.parametrize(
    ("function", "answer", "json", "decoded"),
    [
        (hit, Hit(url="u", seen=DAY), {"url": "u", "seen": "2026-01-02"}, Hit(url="u", seen=DAY)),
        (hit, {"url": "u", "seen": DAY}, {"url": "u", "seen": "2026-01-02"}, Hit(url="u", seen=DAY)),
        (hits, [Hit(url="u", seen=DAY)], ({"url": "u", "seen": "2026-01-02"},), [Hit(url="u", seen=DAY)]),
        (later, 3, 3, 3),
        (pair, Pair(1, ("a",)), {"left": 1, "right": ("a",)}, Pair(1, ("a",))),
        (nothing, None, None, None),
        (anything, {"a": [1]}, {"a": (1,)}, {"a": [1]}),
        (anything, Hit(url="u", seen=DAY), {"url": "u", "seen": "2026-01-02"}, {"url": "u", "seen": "2026-01-02"}),
        (whatever, [1, None], (1, None), [1, None]),
        (Caller(), 3, 3, 3),
        (Caller().method, Hit(url="u", seen=DAY), {"url": "u", "seen": "2026-01-02"}, Hit(url="u", seen=DAY)),
    ],
)
def test_an_answer_crosses_the_border_by_its_annotation(function: Any, answer: Any, json: Any, decoded: Any):
    call = spec(function)
    assert call.encode(answer) == json
    assert call.decode(json) == decoded


@pytest.mark.parametrize(
    ("function", "answer", "reason"),
    [
        (hit, {"url": "u"}, "seen: Field required"),
        (bounded, 4, "less than or equal to 3"),
        (nothing, 3, "None"),
        (anything, object(), "object"),
        (anything, float("nan"), "nan"),
    ],
)
def test_another_answer_is_refused(function: Any, answer: Any, reason: str):
    with pytest.raises(CallResultError, match=f"f returned .*, which its annotation refuses: .*{reason}") as caught:
        spec(function).encode(answer)
    assert caught.value.code == "invalid-call-result"


def test_input_is_given_by_name_or_as_one_value():
    assert CallSpec.arguments(None) == ((), {})
    assert CallSpec.arguments({"a": 1}) == ((), {"a": 1})
    assert CallSpec.arguments((1, 2)) == (((1, 2),), {})
