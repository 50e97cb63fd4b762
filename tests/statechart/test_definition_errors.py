"""What can be known to be wrong is said when the machine is built, with the place and what to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

import interlock.statechart as sc
from interlock.errors import DefinitionError


def one(**keywords: Any) -> Any:
    return sc.machine("m", initial="a", context={}, states={"a": sc.state(**keywords), "b": sc.state()})


class Loose(BaseModel):
    n: int = 0


class WithList(BaseModel, frozen=True):
    items: list[str] = []


class Inner(BaseModel):
    n: int = 0


class WithInner(BaseModel, frozen=True):
    inner: tuple[Inner, ...] = ()


class WithDict(BaseModel, frozen=True):
    counts: dict[str, int] | None = None


@dataclasses.dataclass
class LooseData:
    n: int = 0


CHILD = sc.machine("child", context={})

WRONG: dict[str, tuple[Callable[[], Any], str, str]] = {
    "unknown sibling": (
        lambda: one(on={"GO": "bb"}),
        "unknown-target",
        "state 'a': on: there is no state 'bb'. Did you mean 'b'",
    ),
    "unknown child": (lambda: one(on={"GO": ".b"}), "unknown-target", "there is no state '.b'"),
    "unknown id": (lambda: one(on={"GO": "#m.bb"}), "unknown-target", "Did you mean '#m.b'"),
    "target of a handler": (
        lambda: one(on={"GO": lambda _c, _e: sc.goto("c")}),
        "unknown-target",
        "there is no state 'c'",
    ),
    "declared target": (
        lambda: one(on=[sc.on("GO", lambda _c, _e: None, to=["x"])]),
        "unknown-target",
        "there is no state 'x'",
    ),
    "target in on_done": (
        lambda: sc.machine(
            "m",
            initial="a",
            context={},
            sources={"f": None},
            states={"a": sc.state(invoke=sc.invoke("f", on_done="sucess")), "success": sc.state()},
        ),
        "unknown-target",
        "on_done: there is no state 'sucess'. Did you mean 'success'",
    ),
    "root without a dot": (
        lambda: sc.machine("m", initial="a", context={}, on={"GO": "a"}, states={"a": sc.state()}),
        "unknown-target",
        "Did you mean '.a'",
    ),
    "not a target": (lambda: one(on={"GO": sc.to(["b", 5])}), "invalid-target", "5 is no target"),
    "no targets": (lambda: one(on={"GO": sc.to([])}), "invalid-target", "empty list of targets"),
    "targets that exclude each other": (
        lambda: one(on={"GO": sc.to(["a", "b"])}),
        "invalid-target",
        "cannot be active together",
    ),
    "unknown source": (lambda: one(invoke=sc.invoke("fetch")), "unknown-source", "names the source 'fetch'"),
    "source with a near miss": (
        lambda: sc.machine(
            "m", initial="a", context={}, sources={"fetch": None}, states={"a": sc.state(invoke=sc.invoke("fecth"))}
        ),
        "unknown-source",
        "Did you mean 'fetch'",
    ),
    "unknown delay": (lambda: one(after={"soon": "b"}), "unknown-delay", "the delay 'soon' is not among"),
    "negative delay": (lambda: one(after={-1: "b"}), "invalid-delay", "-1 is no delay"),
    "delay that is a bool": (lambda: one(after={True: "b"}), "invalid-delay", "True is no delay"),
    "nonsense among the delays": (
        lambda: sc.machine("m", context={}, delays={"soon": "5s"}),
        "invalid-delay",
        "delays['soon'] is '5s'",
    ),
    "wildcard in the middle": (lambda: one(on={"a.*.c": "b"}), "invalid-descriptor", "'a.*.c'"),
    "wildcard without a dot": (lambda: one(on={"go*": "b"}), "invalid-descriptor", "'go*'"),
    "no event type": (lambda: one(on={5: "b"}), "invalid-descriptor", "5 is no event type"),
    "event of the engine": (
        lambda: one(on={"@after.x": "b"}),
        "reserved-event",
        "use on_done, on_error, after or on_timeout",
    ),
    "duplicate id": (
        lambda: sc.machine("m", initial="a", context={}, states={"a": sc.state(id="x"), "b": sc.state(id="x")}),
        "duplicate-id",
        "id 'x' is taken by state 'a'",
    ),
    "duplicate invocation": (
        lambda: sc.machine(
            "m",
            initial="a",
            context={},
            sources={"f": None},
            states={"a": sc.state(invoke=[sc.invoke("f", id="i"), sc.invoke("f", id="i")])},
        ),
        "duplicate-id",
        "two invocations have the id 'i'",
    ),
    "missing initial": (lambda: sc.machine("m", context={}, states={"a": sc.state()}), "missing-initial", "one of 'a'"),
    "wrong initial": (
        lambda: sc.machine("m", initial="x", context={}, states={"a": sc.state()}),
        "unknown-target",
        "initial='x' is no child state",
    ),
    "initial of a parallel": (
        lambda: sc.machine("m", kind="parallel", initial="a", context={}, states={"a": sc.state()}),
        "invalid-state",
        "leave out initial=",
    ),
    "parallel without regions": (
        lambda: sc.machine("m", kind="parallel", context={}),
        "invalid-state",
        "needs at least one region",
    ),
    "behind a catch-all": (
        lambda: one(on={"GO": ["b", lambda _c, _e: None]}),
        "unreachable-transition",
        "stands behind one that is always taken",
    ),
    "always behind a catch-all": (
        lambda: one(always=["b", sc.to("a", guard=lambda _c: True)]),
        "unreachable-transition",
        "put it first",
    ),
    "always to itself": (lambda: one(always="a"), "invalid-transition", "never ends"),
    "event in always": (lambda: one(always=[sc.on("GO", "b")]), "invalid-transition", "does not belong here"),
    "two targets": (lambda: sc.on("GO", "a", to="b"), "invalid-transition", "names its target twice"),
    "nonsense as transition": (lambda: one(on={"GO": 5}), "invalid-transition", "is no transition"),
    "key with a dot": (
        lambda: sc.machine("m", initial="v1.0", context={}, states={"v1.0": sc.state()}),
        "invalid-key",
        "'v1.0' cannot be a state's key",
    ),
    "key with a hash": (
        lambda: sc.machine("m", initial="a#", context={}, states={"a#": sc.state()}),
        "invalid-key",
        "'a#'",
    ),
    "empty key": (
        lambda: sc.machine("m", initial="a", context={}, states={"a": sc.state(), "": sc.state()}),
        "invalid-key",
        "''",
    ),
    "machine id with a slash": (lambda: sc.machine("a/b", context={}), "invalid-key", "no machine id"),
    "invocation id with a slash": (
        lambda: sc.machine("m", context={}, sources={"f": None}, invoke=sc.invoke("f", id="a/b")),
        "invalid-key",
        "cannot be an id",
    ),
    "state that is none": (
        lambda: sc.machine("m", initial="a", context={}, states={"a": {}}),
        "invalid-state",
        "write 'a': state(...)",
    ),
    "final with children": (
        lambda: sc.machine("m", kind="final", context={}, states={"a": sc.state()}),
        "invalid-state",
        "cannot have child states",
    ),
    "history as its own start": (
        lambda: sc.machine("m", initial="h", context={}, states={"a": sc.state(), "h": sc.history()}),
        "invalid-state",
        "without a target to start from",
    ),
    "timeout without on_timeout": (lambda: one(timeout=5), "invalid-state", "needs on_timeout"),
    "on_timeout without timeout": (lambda: one(on_timeout="b"), "invalid-state", "needs timeout"),
    "model that can be changed": (
        lambda: sc.machine("m", context=Loose()),
        "mutable-context",
        "class Loose(BaseModel, frozen=True)",
    ),
    "dataclass that can be changed": (
        lambda: sc.machine("m", context=LooseData()),
        "mutable-context",
        "@dataclass(frozen=True)",
    ),
    "list in a model": (
        lambda: sc.machine("m", context=WithList()),
        "mutable-context",
        "declare it as tuple[str, ...]",
    ),
    "dict in a model": (lambda: sc.machine("m", context=WithDict()), "mutable-context", "FrozenDict[str, int]"),
    "loose model inside": (lambda: sc.machine("m", context=WithInner()), "mutable-context", "make Inner frozen"),
    "context of a wrong kind": (
        lambda: sc.machine("m", context=5),
        "invalid-context",
        "a context of type int is not supported",
    ),
    "context that is no JSON": (
        lambda: sc.machine("m", context={"when": object()}),
        "invalid-context",
        "when: a value of type object",
    ),
    "a machine in the place of an invocation": (
        lambda: one(invoke=CHILD),
        "invalid-state",
        "name a source: invoke('name', ...)",
    ),
    "a machine in the place of a source's name": (
        lambda: sc.invoke(CHILD),
        "unknown-source",
        "names no source",
    ),
    "half an initial": (
        lambda: sc.machine("m", initial=("a",), context={}, states={"a": sc.state()}),
        "invalid-state",
        "give a key, or (key, input)",
    ),
    "provide an unknown name": (lambda: one().provide({"x": None}), "unknown-source", "names the source 'x'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_machine_is_refused_when_it_is_built(name: str) -> None:
    build, code, text = WRONG[name]
    with pytest.raises(DefinitionError) as caught:
        build()
    assert caught.value.code == code
    assert text in str(caught.value)


def test_the_error_names_machine_and_state() -> None:
    with pytest.raises(DefinitionError) as caught:
        one(on={"GO": "bb"})
    assert (caught.value.machine, caught.value.state) == ("m", "a")
    assert str(caught.value).startswith("machine 'm': state 'a': ")


@pytest.mark.parametrize("key", ["emoji 🚀", "with space", "a-b", "a_b", "ä", "$x", "0"])
def test_unusual_keys_work_through_saving(key: str) -> None:
    machine = sc.machine(
        "m",
        initial="a",
        context={},
        states={"a": sc.state(on={"GO": key}), key: sc.state(initial="x", states={"x": sc.state()})},
    )
    snapshot, _ = sc.initial_transition(machine)
    snapshot, _ = sc.transition(machine, snapshot, "GO")
    assert snapshot.value == {key: "x"}
    assert machine.load(snapshot.to_json()) == snapshot
