"""Targets are read from the code of a handler where they are constant, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from interlock.statechart import goto
from interlock.statechart.inference import infer_targets

agent = SimpleNamespace(goto=goto)
PLACE = "z"


def branches(context: Any, _event: Any) -> Any:
    if context["n"] > 1:
        return agent.goto("a", n=context["n"] - 1, text="x" if context["n"] else "y")
    for _ in range(3):
        if context["n"]:
            return agent.goto("b").emit("SEEN")
    return goto(".c")


def nested(context: Any, _event: Any) -> Any:
    return agent.goto("a", value=max(len("b".upper()), 1 if context else 2), more=[*"xyz"])


CASES: list[tuple[Callable[..., Any], tuple[str, ...] | None]] = [
    (lambda _c, _e: agent.goto("a"), ("a",)),
    (lambda c, _e: agent.goto("a", n=1) if c else None, ("a",)),
    (lambda c, _e: agent.goto("a", n=c["n"] + 1) if c else agent.goto("b"), ("a", "b")),
    (branches, ("a", "b", ".c")),
    (nested, ("a",)),
    (lambda c, _e: agent.goto("a", x=c.a and c.b, y=c.d or c.e), ("a",)),
    (lambda _c, _e: agent.goto("A".lower()), None),
    (lambda c, _e: agent.goto("a" + c), None),
    (lambda c, _e: agent.goto(f"a{c}"), None),
    (lambda c, _e: agent.goto(f"a{c}"), None),
    (lambda c, _e: agent.goto("ab"[c]), None),
    (lambda c, _e: agent.goto("a" if c else "b"), None),
    (lambda _c, _e: agent.goto(PLACE), None),
    (lambda _c, _e: agent.goto(["a", "b"]), None),
    (lambda c, _e: agent.goto("a") if c else agent.goto(PLACE), None),
    (lambda _c, _e: None, None),
    (print, None),
]


@pytest.mark.parametrize(("function", "targets"), CASES, ids=[str(number) for number in range(len(CASES))])
def test_targets_of(function: Callable[..., Any], targets: tuple[str, ...] | None) -> None:
    assert infer_targets(function) == targets
