"""What guards may answer, and what is no answer: above all nothing that is true only because it is an object."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import interlock as il
import interlock.statechart as sc


async def later(*_: Any) -> bool:
    return False


def one_by_one(*_: Any) -> Iterator[bool]:
    yield False


async def stream(*_: Any) -> AsyncIterator[bool]:
    yield False


class Asks:
    async def __call__(self, *_: Any) -> bool:
        return False


ASYNC: dict[str, Callable[..., Any]] = {
    "async": later,
    "generator": one_by_one,
    "async generator": stream,
    "object": Asks(),
    "partial": functools.partial(later, 1),
    "wide": sc.with_at(later),  # type: ignore[dict-item]  # pyright: ignore[reportAssignmentType]  # wrong on purpose
}


class Go(il.Event):
    pass


agent = il.setup_agent(context=None, events=[Go])


def plain(**fields: Any) -> sc.Machine[Any, Any, Any]:
    """One active leaf, which the shortest way serves."""
    return sc.machine(
        id="m", initial="a", states={"a": sc.state(on={"GO": sc.to("b", **fields)}), "b": sc.state(kind="final")}
    )


def parallel(**fields: Any) -> sc.Machine[Any, Any, Any]:
    region = sc.state(initial="a", states={"a": sc.state(on={"GO": sc.to("b", **fields)}), "b": sc.state()})
    return sc.machine(id="m", kind="parallel", states={"x": region, "y": region})


@pytest.mark.parametrize("kind", list(ASYNC))
@pytest.mark.parametrize("build", [plain, parallel])
def test_functions_that_answer_later_are_refused_when_the_machine_is_built(build: Any, kind: str):
    with pytest.raises(il.DefinitionError, match=r"on 'GO': .* is async or a generator") as caught:
        build(guard=ASYNC[kind])
    assert caught.value.code == "invalid-handler"
    with pytest.raises(il.DefinitionError, match="is async or a generator"):
        sc.machine(id="m", initial="a", states={"a": sc.state(on={"GO": ASYNC[kind]})})


@pytest.mark.parametrize("kind", ["async", "generator", "async generator", "object", "partial"])
def test_so_are_those_of_an_agent(kind: str):
    with pytest.raises(il.DefinitionError, match=r"guard: .* is async or a generator"):
        agent.on(Go, "b", guard=ASYNC[kind])
    with pytest.raises(il.DefinitionError, match="is async or a generator"):
        agent.on(Go, ASYNC[kind])
    with pytest.raises(il.DefinitionError, match="is async or a generator"):
        agent.decide(prompt=ASYNC[kind])
    with pytest.raises(il.DefinitionError, match="is async or a generator"):
        agent.state(entry=ASYNC[kind])


@pytest.mark.parametrize("build", [plain, parallel])
@pytest.mark.parametrize("given", [later, one_by_one, stream])
def test_one_that_hides_what_comes_later_lets_nothing_pass(build: Any, given: Any):
    made = given()
    machine = build(guard=lambda c, e: made)
    snapshot, _ = sc.initial_transition(machine)
    for ask in (lambda: snapshot.can({"type": "GO"}), lambda: sc.transition(machine, snapshot, {"type": "GO"})):
        with pytest.raises(il.HandlerError, match="which is no answer; guards are plain functions") as caught:
            ask()
        assert "state" in str(caught.value)
    if given is later:
        made.close()


class Odd:
    def __bool__(self) -> bool:
        raise ValueError("neither")


@pytest.mark.parametrize("build", [plain, parallel])
@pytest.mark.parametrize(
    ("answer", "passes"), [(1, True), ("yes", True), ([0], True), (0, False), ("", False), (None, False), ({}, False)]
)
def test_any_other_answer_is_true_or_false_as_python_says(build: Any, answer: object, passes: bool):
    machine = build(guard=lambda c, e: answer)
    snapshot, _ = sc.initial_transition(machine)
    assert snapshot.can({"type": "GO"}) is passes
    assert (sc.transition(machine, snapshot, {"type": "GO"})[0] is not snapshot) is passes


@pytest.mark.parametrize("build", [plain, parallel])
def test_an_answer_that_cannot_say_is_the_guards_fault(build: Any):
    machine = build(guard=lambda c, e: Odd())
    snapshot, _ = sc.initial_transition(machine)
    with pytest.raises(il.HandlerError, match="neither"):
        sc.transition(machine, snapshot, {"type": "GO"})
