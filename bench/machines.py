"""The measured machines, in interlock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from measure import REGIONS, RING
from pydantic import BaseModel

import interlock.statechart as sc


@dataclass(frozen=True, slots=True)
class Event:
    """An event without data."""

    type: str


@dataclass(frozen=True)
class CountData:
    """The context of `nested` as a frozen dataclass."""

    n: int = 0


class CountModel(BaseModel, frozen=True):
    """The context of `nested` as a frozen pydantic model."""

    n: int = 0


def toggle() -> sc.Machine[Any, Any, Any]:
    """Two states and one event; no context, no functions."""
    return sc.machine(
        "toggle",
        initial="a",
        states={"a": sc.state(on={"T": "b"}), "b": sc.state(on={"T": "a"})},
    )


def toggle_ctx() -> sc.Machine[Any, Any, Any]:
    """The toggle with a handler that counts."""
    return sc.machine(
        "toggle-ctx",
        initial="a",
        context={"n": 0},
        states={
            "a": sc.state(on={"T": lambda c, _: sc.goto("b", n=c["n"] + 1)}),
            "b": sc.state(on={"T": lambda c, _: sc.goto("a", n=c["n"] + 1)}),
        },
    )


def nested() -> sc.Machine[Any, Any, Any]:
    """Four levels that all declare the event; the leaf's second candidate takes it."""

    def leaf(other: str) -> Any:
        return sc.state(
            on=[
                sc.on("E", lambda c, _: sc.goto(other, n=c["n"] + 1) if c["n"] < 0 else None, to=[other]),
                sc.on("E", lambda c, _: sc.goto(other, n=c["n"] + 1) if c["n"] >= 0 else None, to=[other]),
            ]
        )

    def outer(least: int) -> Any:
        return lambda c, _: sc.stay(n=0) if c["n"] < least else None

    return _nest({"n": 0}, leaf, outer)


def nested_dataclass() -> sc.Machine[Any, Any, Any]:
    """`nested` with a frozen dataclass as context."""
    return _nested_by_attribute(CountData())


def nested_pydantic() -> sc.Machine[Any, Any, Any]:
    """`nested` with a frozen pydantic model as context."""
    return _nested_by_attribute(CountModel())


def _nested_by_attribute(context: CountData | CountModel) -> sc.Machine[Any, Any, Any]:
    def leaf(other: str) -> Any:
        return sc.state(
            on=[
                sc.on("E", lambda c, _: sc.goto(other, n=c.n + 1) if c.n < 0 else None, to=[other]),
                sc.on("E", lambda c, _: sc.goto(other, n=c.n + 1) if c.n >= 0 else None, to=[other]),
            ]
        )

    def outer(least: int) -> Any:
        return lambda c, _: sc.stay(n=0) if c.n < least else None

    return _nest(context, leaf, outer)


def _nest(context: Any, leaf: Callable[[str], Any], outer: Callable[[int], Any]) -> sc.Machine[Any, Any, Any]:
    l2 = sc.state(initial="x", on={"E": outer(0)}, states={"x": leaf("y"), "y": leaf("x")})
    l1 = sc.state(initial="l2", on={"E": outer(-1)}, states={"l2": l2})
    return sc.machine(
        "nested",
        initial="l1",
        context=context,
        on={"E": outer(-2)},
        states={"l1": l1, "other": sc.state()},
    )


def parallel() -> sc.Machine[Any, Any, Any]:
    """Four regions of ten states; one event advances all four."""
    return sc.machine(
        "parallel",
        kind="parallel",
        states={f"r{r}": _ring("NEXT", RING) for r in range(4)},
    )


def parallel_handlers() -> sc.Machine[Any, Any, Any]:
    """`parallel` with a handler function on each transition."""
    return sc.machine(
        "parallel-handlers",
        kind="parallel",
        states={f"r{r}": _ring_of_handlers(RING) for r in range(4)},
    )


def independent() -> sc.Machine[Any, Any, Any]:
    """Six regions of ten states, each with an event of its own: a million configurations."""
    return sc.machine(
        "independent",
        kind="parallel",
        states={f"r{r}": _ring(f"NEXT{r}", RING) for r in range(REGIONS)},
    )


def flat1000() -> sc.Machine[Any, Any, Any]:
    """A ring of a thousand states."""
    return sc.machine(
        "flat1000",
        initial="s0",
        states={f"s{i}": sc.state(on={"NEXT": f"s{(i + 1) % 1000}"}) for i in range(1000)},
    )


async def work() -> None:
    """The source that `busy` invokes; nothing runs it here."""


def busy() -> sc.Machine[Any, Any, Any]:
    """Two states, each with entry, exit, an invocation and a timer."""
    return sc.machine(
        "busy",
        initial="a",
        context={"entered": 0, "left": 0},
        sources={"work": work},
        states={"a": _busy_state("b"), "b": _busy_state("a")},
    )


def _busy_state(other: str) -> Any:
    return sc.state(
        entry=lambda c: sc.stay(entered=c["entered"] + 1),
        exit=lambda c: sc.stay(left=c["left"] + 1),
        invoke=sc.invoke("work"),
        after={30: other},
        on={"T": other},
    )


def _ring(event: str, size: int) -> Any:
    return sc.state(
        initial="s0",
        states={f"s{i}": sc.state(on={event: f"s{(i + 1) % size}"}) for i in range(size)},
    )


def _ring_of_handlers(size: int) -> Any:
    def step(target: str) -> Any:
        return sc.on("NEXT", lambda _context, _event: sc.goto(target), to=[target])

    return sc.state(
        initial="s0",
        states={f"s{i}": sc.state(on=[step(f"s{(i + 1) % size}")]) for i in range(size)},
    )
