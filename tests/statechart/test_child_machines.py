"""Machines within machines: one value, one step, one order of mail."""

from __future__ import annotations

from typing import Any

import pytest

import interlock.statechart as sc
from interlock.errors import EndlessLoopError, HandlerError

Machine = sc.Machine[Any, Any, Any]


def child(**states: Any) -> Machine:
    return sc.machine("child", initial="work", context={"got": ()}, states=states)


def parent(kid: Machine, **keywords: Any) -> Machine:
    return sc.machine(
        "parent",
        initial="busy",
        context={"result": None, "log": ()},
        sources={"kid": kid},
        states={
            "busy": sc.state(
                invoke=sc.invoke(
                    "kid",
                    id="k",
                    on_done=lambda _c, output: sc.goto("after", result=output),
                    on_error=lambda _c, error: sc.goto("broken", result=error),
                ),
                on={"SKIP": "after", "TELL": lambda _c, _e: sc.stay().send("k", "GO")},
                **keywords,
            ),
            "after": sc.state(),
            "broken": sc.state(),
        },
    )


GOES = child(work=sc.state(on={"GO": "end"}), end=sc.final(output=7))


def start(machine: Machine) -> Any:
    return sc.initial_transition(machine, at=0.0)


def test_a_child_machine_is_part_of_the_snapshot_and_causes_no_effects() -> None:
    snapshot, effects = start(parent(GOES))
    assert effects == ()
    inner = snapshot.children["k"].snapshot
    assert inner is not None
    assert inner.value == "work"
    assert sc.owed(snapshot) == sc.Owed((), ())


def test_mail_reaches_the_child_and_its_completion_the_parent_in_one_step() -> None:
    machine = parent(GOES)
    snapshot, _ = start(machine)
    snapshot, effects = sc.transition(machine, snapshot, "TELL")
    assert snapshot.value == "after"
    assert snapshot.context["result"] == 7
    assert not snapshot.children
    assert effects == (sc.Terminate("done", ("k#1",)),)


def test_an_input_is_addressed_by_the_path_of_child_keys() -> None:
    machine = parent(GOES)
    snapshot, _ = start(machine)
    assert sc.transition(machine, snapshot, sc.Input(address=("k#1",), event="GO"))[0].value == "after"
    for stale in (("k#2",), ("other#1",), ("k#1", "deeper#1")):
        assert sc.transition(machine, snapshot, sc.Input(address=stale, event="GO")) == (snapshot, ())


def test_a_child_that_is_done_at_once_completes_within_the_start() -> None:
    snapshot, _ = start(parent(child(work=sc.final(output="at once"))))
    assert (snapshot.value, snapshot.context["result"]) == ("after", "at once")


def test_an_unhandled_failure_of_a_function_fails_the_child_and_reaches_the_parent() -> None:
    kid = sc.machine(
        "kid", initial="w", context={}, sources={"f": None}, states={"w": sc.state(invoke=sc.invoke("f", id="f"))}
    )
    machine = parent(kid)
    snapshot, effects = start(machine)
    assert [type(effect).__name__ for effect in effects] == ["Spawn", "Start"]
    assert all(effect.address == ("k#1",) for effect in effects)
    (owed,) = sc.owed(snapshot).invocations
    assert owed.identity == "k#1/f#1"
    snapshot, effects = sc.transition(machine, snapshot, sc.Input.failed("f#1", "boom", address=("k#1",)))
    assert (snapshot.value, snapshot.context["result"]) == ("broken", "boom")
    assert effects == (sc.Terminate("error", ("k#1",)),)


def test_a_stopped_child_machine_runs_no_exits_and_leaves_nothing_owed() -> None:
    left: list[str] = []

    def leave(_context: Any) -> None:
        left.append("exit")

    kid = sc.machine(
        "kid",
        initial="w",
        context={},
        sources={"f": None},
        states={"w": sc.state(invoke=sc.invoke("f", id="f"), after={5: "w2"}, exit=leave), "w2": sc.state()},
    )
    machine = parent(kid)
    snapshot, _ = start(machine)
    snapshot, effects = sc.transition(machine, snapshot, "SKIP")
    assert left == []
    assert effects == (sc.Stop("f", 1, ("k#1",)), sc.Cancel("after:5:kid.w", ("k#1",)))
    assert sc.owed(snapshot) == sc.Owed((), ())


def test_a_child_machine_survives_saving_at_any_depth() -> None:
    middle = sc.machine(
        "middle",
        initial="m",
        context={},
        sources={"kid": GOES},
        states={"m": sc.state(invoke=sc.invoke("kid", id="k", on_done="end")), "end": sc.final(output="deep")},
    )
    machine = parent(middle)
    snapshot, _ = start(machine)
    loaded = machine.load(snapshot.to_json())
    assert loaded == snapshot
    loaded, _ = sc.transition(machine, loaded, sc.Input(address=("k#1", "k#1"), event="GO"))
    assert (loaded.value, loaded.context["result"]) == ("after", "deep")


def test_timers_of_children_are_addressed_and_overdue_ones_sort_first() -> None:
    kid = sc.machine(
        "kid", initial="w", context={}, states={"w": sc.state(after={2: "end"}), "end": sc.final(output="late")}
    )
    machine = parent(kid, after={5: "broken"})
    snapshot, _ = start(machine)
    timers = sc.owed(snapshot).timers
    assert [(timer.due, timer.address) for timer in timers] == [(2.0, ("k#1",)), (5.0, ())]
    snapshot, _ = sc.transition(machine, snapshot, sc.Input.fired(timers[0].key, address=timers[0].address), at=2.0)
    assert (snapshot.value, snapshot.context["result"]) == ("after", "late")


def test_siblings_talk_through_the_parent_in_order_of_sending() -> None:
    def says(word: str) -> Machine:
        return sc.machine(
            word,
            initial="s",
            context={},
            states={"s": sc.state(on={"GO": lambda _c, _e: sc.stay().send("@parent", {"type": "SAID", "word": word})})},
        )

    machine = sc.machine(
        "hub",
        initial="on",
        context={"heard": ()},
        sources={"a": says("a"), "b": says("b")},
        states={
            "on": sc.state(
                invoke=[sc.invoke("a", id="a"), sc.invoke("b", id="b")],
                on={
                    "ALL": lambda _c, _e: sc.stay().send("b", "GO").send("a", "GO").send("b", "GO"),
                    "SAID": lambda c, e: sc.stay(heard=(*c["heard"], e["word"])),
                },
            )
        },
    )
    snapshot, _ = start(machine)
    snapshot, _ = sc.transition(machine, snapshot, "ALL")
    assert snapshot.context["heard"] == ("b", "a", "b")


def test_an_event_sent_in_the_step_that_starts_a_child_arrives_once_after_it_has_started() -> None:
    kid = sc.machine(
        "kid",
        initial="w",
        context={"n": 0},
        states={
            "w": sc.state(
                entry=sc.stay(n=10),
                on={"PING": lambda c, _e: sc.stay(n=c["n"] + 1).send("@parent", {"type": "PONG", "n": c["n"] + 1})},
            )
        },
    )
    machine = sc.machine(
        "p",
        initial="idle",
        context={"pongs": ()},
        sources={"kid": kid},
        states={
            "idle": sc.state(on={"START": lambda _c, _e: sc.goto("on")}),
            "on": sc.state(
                invoke=sc.invoke("kid", id="k"),
                entry=sc.stay().send("k", "PING"),
                on={"PONG": lambda c, e: sc.stay(pongs=(*c["pongs"], e["n"]))},
            ),
        },
    )
    snapshot, _ = start(machine)
    snapshot, _ = sc.transition(machine, snapshot, "START")
    assert snapshot.context["pongs"] == (11,)


def test_a_reply_without_end_is_an_endless_loop_over_the_whole_tree() -> None:
    kid = sc.machine(
        "kid",
        initial="w",
        context={},
        states={"w": sc.state(on={"PING": lambda _c, _e: sc.stay().send("@parent", "PONG")})},
    )
    machine = sc.machine(
        "p",
        initial="on",
        context={},
        sources={"kid": kid},
        states={
            "on": sc.state(invoke=sc.invoke("kid", id="k"), on={"PONG": lambda _c, _e: sc.stay().send("k", "PING")})
        },
    )
    snapshot, _ = start(machine)
    text = snapshot.to_json()
    with pytest.raises(EndlessLoopError):
        sc.transition(machine, snapshot, "PONG")
    assert snapshot.to_json() == text


def test_an_error_in_a_child_names_the_child_and_changes_nothing() -> None:
    def bad(_context: Any, _event: Any) -> Any:
        raise ValueError("no")

    machine = parent(child(work=sc.state(on={"GO": bad})))
    snapshot, _ = start(machine)
    text = snapshot.to_json()
    with pytest.raises(HandlerError, match=r"machine 'child', state 'work', event 'GO': .*raised ValueError: no"):
        sc.transition(machine, snapshot, "TELL")
    assert snapshot.to_json() == text


def test_spawned_machines_live_on_and_are_joined() -> None:
    kid = sc.machine(
        "kid",
        initial="w",
        context=lambda n: {"n": n},
        states={"w": sc.state(on={"GO": "e"}), "e": sc.final()},
        output=lambda c: c["n"] * 2,
    )
    machine = sc.machine(
        "fan",
        initial="go",
        context={"sum": 0},
        sources={"kid": kid},
        states={
            "go": sc.state(
                on={"SPLIT": lambda _c, _e: sc.goto("join").spawn("kid", id="a", input=1).spawn("kid", id="b", input=2)}
            ),
            "join": sc.state(on={"@done.invoke.*": lambda c, e: sc.stay(sum=c["sum"] + e.output)}),
        },
    )
    snapshot, _ = start(machine)
    snapshot, _ = sc.transition(machine, snapshot, "SPLIT")
    for name in ("a#1", "b#2"):
        snapshot = machine.load(snapshot.dump())
        snapshot, _ = sc.transition(machine, snapshot, sc.Input(address=(name,), event="GO"))
    assert snapshot.context["sum"] == 6
    assert not snapshot.children
