"""A log leads where it led: replayed, cut, forked and compared; and what is no log, or another machine's, is said."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlock as il
import interlock.statechart as sc
from interlock.journal import LogEntry, advance, begin, begin_from, check_log, diff, fork, replay, resume

events = st.lists(st.sampled_from(["UP", "DOWN", "NOTE", "NOBODY"]), max_size=12)


def counter(step: int = 1, version: str | None = None, **more: Any) -> il.Machine[Any, Any, Any]:
    return sc.machine(
        "counter",
        version=version,
        context={"n": 0},
        initial="low",
        states={
            "low": sc.state(
                on=[
                    sc.on(
                        "UP", lambda c, e: sc.goto("high").set({"n": c["n"] + step}).emit({"type": "WENT", "n": c["n"]})
                    ),
                    sc.on("NOTE", lambda c, e: sc.stay().set({"note": "x"})),
                ]
            ),
            "high": sc.state(on=[sc.on("DOWN", lambda c, e: sc.goto("low").set({"n": c["n"] * 2}))]),
        },
        **more,
    )


def log_of(machine: il.Machine[Any, Any, Any], sent: Sequence[str], **options: Any) -> list[LogEntry]:
    grown = begin(machine, execution_id="x", at=0.0, **options)
    log = [grown.entry]
    for number, event in enumerate(sent, 1):
        grown = advance(grown.head, sc.Input(event=event, by="host"), at=float(number))
        log.append(grown.entry)
    return log


@given(sent=events)
def test_replay_leads_where_the_run_stood_after_each_entry(sent: list[str]):
    machine = counter()
    grown = begin(machine, execution_id="x", at=0.0)
    log, heads = [grown.entry], [grown.head]
    for number, event in enumerate(sent, 1):
        grown = advance(grown.head, sc.Input(event=event, by="host"), at=float(number))
        log.append(grown.entry)
        heads.append(grown.head)
    for length, head in enumerate(heads, 1):
        found = replay(counter(), log[:length], verify="strict")
        assert found.snapshot.dump() == head.snapshot.dump()
        assert (found.status, found.execution_id, found.head.causes) == (head.status, "x", head.causes)


@given(sent=events)
def test_a_log_goes_on_from_where_its_replay_stands(sent: list[str]):
    machine = counter()
    log = log_of(machine, sent)
    for length in range(1, len(log) + 1):
        head = replay(machine, log[:length]).head
        again = log[:length]
        for number, event in enumerate(sent[length - 1 :], length):
            grown = advance(head, sc.Input(event=event, by="host"), at=float(number))
            head = grown.head
            again.append(grown.entry)
        assert again == log


def test_what_was_emitted_comes_again_if_asked_for():
    found = replay(counter(), log_of(counter(), ["UP", "DOWN", "UP"]), effects=True)
    assert [(index, event["n"]) for index, event in found.emitted] == [(1, 0), (3, 2)]
    assert replay(counter(), log_of(counter(), ["UP"])).emitted == ()


def test_a_machine_that_does_something_else_now_is_found_out_at_the_entry():
    log = log_of(counter(version="1"), ["UP", "DOWN"])
    with pytest.raises(il.ReplayDivergedError) as raised:
        replay(counter(step=2, version="1"), log)
    error = raised.value
    assert (error.code, error.index, error.entry_id, error.expected) == (
        "replay-diverged",
        1,
        "evt_00000001",
        log[1].state_hash,
    )
    assert "'UP' leads machine 'counter' (version 1) to another state now, in counter, counter.high:" in str(error)
    assert replay(counter(step=2, version="1"), log, verify=False).snapshot.context["n"] == 4


def test_a_strict_replay_wants_a_hash_everywhere():
    log = log_of(counter(), ["UP"], verify=False)
    assert replay(counter(), log).snapshot.matches("high")
    with pytest.raises(il.ReplayDivergedError) as raised:
        replay(counter(), log, verify="strict")
    assert (raised.value.code, raised.value.index) == ("missing-verification", 0)


def test_another_machine_or_version_is_refused_before_anything_runs():
    log = log_of(counter(version="1"), ["UP"])
    with pytest.raises(
        il.LogVersionError, match="was written by version '1' of machine 'counter', this is version '2'"
    ) as raised:
        replay(counter(version="2"), log)
    assert (raised.value.index, raised.value.expected, raised.value.actual) == (0, "2", "1")
    other = sc.machine("other", initial="a", states={"a": sc.state()})
    with pytest.raises(il.LogVersionError, match="was written by machine 'counter', this is 'other'"):
        replay(other, log)
    mixed = [log[0], replace(log[1], machine_version="0")]
    with pytest.raises(il.LogVersionError, match="entry 1"):
        replay(counter(version="1"), mixed)


def wrong_logs() -> dict[str, tuple[list[Any], str]]:
    log = log_of(counter(), ["UP", "DOWN"])
    return {
        "empty": ([], "an empty log leads nowhere"),
        "headless": (log[1:], "entry 0: has index 1"),
        "gap": ([log[0], log[2]], "entry 1: has index 2; a log is contiguous"),
        "twice": ([*log, replace(log[1], index=3)], "entry 3: the id 'evt_00000001' stands twice"),
        "two beginnings": ([*log, replace(log[0], index=3, id="b")], "entry 3: a log has one beginning"),
        "no beginning": ([replace(log[1], index=0)], "a log begins with @agent.init, not with 'UP'"),
        "no execution": ([replace(log[0], metadata=il.FrozenDict())], "entry 0: its metadata hold no execution_id"),
        "no entries": ([{"index": 0}], "entry 0: is dict, no LogEntry"),
    }


@pytest.mark.parametrize("name", list(wrong_logs()))
def test_what_is_no_log_is_refused(name: str):
    log, said = wrong_logs()[name]
    with pytest.raises(il.InvalidLogError) as raised:
        replay(counter(), log)
    assert said in str(raised.value)


class Up(il.Event):
    """Go up."""

    steps: int


class Many(il.Event, type="Up"):
    """Go up."""

    floors: int


def test_an_event_that_the_machine_cannot_read_any_more_is_named():
    def lift(event: type[il.Event]) -> il.Machine[Any, Any, Any]:
        agent = il.setup_agent(context=None, events=[event])
        return agent.machine(
            "lift", version="1", initial="a", states={"a": agent.state(on=[agent.on(event, "b")]), "b": agent.state()}
        )

    head, first, _ = begin(lift(Up), execution_id="x")
    _, second, _ = advance(head, sc.Input(event=Up(steps=2), by="host"))
    with pytest.raises(il.InvalidLogError, match="entry 1: the event 'Up' cannot be read by machine 'lift'"):
        replay(lift(Many), [first, second])


def test_a_function_that_raises_over_a_fact_stops_the_log_and_loses_nothing():
    broken = [True]

    def finish(context: Any, output: Any) -> Any:
        if broken[0]:
            raise ZeroDivisionError("oh")
        return sc.goto("b").set({"out": output})

    machine = sc.machine(
        "m",
        context={"out": None},
        initial="a",
        sources={"work": print},
        states={
            "a": sc.state(
                invoke=sc.invoke("work", id="w", on_done=sc.on("", finish, to=["b"])),
                on=[sc.on("GO", lambda c, e: 1 // 0)],
            ),
            "b": sc.final(),
        },
    )
    head, first, _ = begin(machine, execution_id="x")
    with pytest.raises(il.HandlerError):
        advance(head, sc.Input(event="GO", by="host"))  # what comes from outside is not written
    stuck, second, effects = advance(head, sc.Input(invocation="w#1", output="paid for"))
    assert (second.output, second.status, second.state_hash, effects) == ("paid for", "error", None, ())
    assert stuck.snapshot is head.snapshot
    assert isinstance(stuck.failure, il.HandlerError)
    for moved in (lambda: advance(stuck, sc.Input(event="GO")), lambda: resume(stuck, at=1.0)):
        with pytest.raises(il.HandlerError):
            moved()
    with pytest.raises(il.ReplayFailedError) as raised:
        replay(machine, [first, second])
    assert (raised.value.index, raised.value.entry_id, raised.value.snapshot) == (1, second.id, head.snapshot)
    assert check_log(machine, [first, second]).verdict == "fails"
    broken[0] = False
    assert replay(machine, [first, second]).snapshot.context["out"] == "paid for"


def test_a_log_that_goes_on_from_a_snapshot():
    machine = counter()
    head = replay(machine, log_of(machine, ["UP"])).head
    moved = begin_from(machine, head.snapshot, execution_id="x", index=2, metadata={"migrated_from": {"index": 1}})
    last = advance(moved.head, sc.Input(event="DOWN"))
    old = log_of(counter(version="0"), ["UP"])
    # What was before it was another version's; the rest is enough.
    assert replay(machine, [*old, moved.entry, last.entry]).snapshot == last.head.snapshot
    taken = resume(last.head)
    assert taken.entry.is_resume
    assert taken.head.snapshot is last.head.snapshot
    assert replay(machine, [*old, moved.entry, last.entry, taken.entry], verify="strict").head.index == 4


def test_forks_share_their_beginning_and_differ_in_what_follows():
    machine = counter()
    log = log_of(machine, ["UP", "DOWN", "NOTE"])
    head = replay(machine, fork(log, 2)).head
    other = advance(head, sc.Input(event="NOBODY", by="host"), at=9.0)
    found = diff(machine, log, [*fork(log, 2), other.entry])
    assert (found.common, [e.type for e in found.left], [e.type for e in found.right]) == (
        2,
        ["DOWN", "NOTE"],
        ["NOBODY"],
    )
    changes = {change.path: (change.left, change.right, change.sides) for change in found.changes}
    assert changes == {
        "states[0]": ("counter.low", "counter.high", "both"),
        "context.n": (2, 1, "both"),
        "context.note": ("x", None, "left"),
    }
    same = diff(machine, log, [replace(entry, recorded_at=7.0) for entry in log])
    assert (same.common, same.left, same.right, same.changes) == (4, (), (), ())
    for length in (0, 5, -1):
        with pytest.raises(il.InvalidLogError, match=f"the log has 4 entries, of which {length} cannot be taken"):
            fork(log, length)


@pytest.mark.parametrize("name", ["", "\ud800", 5], ids=repr)
def test_a_fork_is_an_execution_with_a_name(name: Any):
    with pytest.raises(il.InputError, match=r"fork\(execution_id=.*give a text") as raised:
        fork(log_of(counter(), ["UP"]), 1, execution_id=name)
    assert raised.value.code == "invalid-input"


@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: {"in": [{"a": value}]}], ids=["bare", "nested"])
@pytest.mark.parametrize(
    ("left", "right"), [(1, True), (0, False), (1, 1.0), (0.0, -0.0), ("1", 1), ([], {}), (None, False)]
)
def test_logs_that_say_what_json_tells_apart_differ(wrap: Any, left: Any, right: Any):
    machine = sc.machine(
        "m",
        context={"v": None},
        initial="a",
        states={"a": sc.state(on=[sc.on("SET", lambda c, e: sc.stay().set({"v": e["v"]}))])},
    )
    head, first, _ = begin(machine, execution_id="x")
    logs = [
        [first, advance(head, sc.Input(event={"type": "SET", "v": wrap(value)}, by="host")).entry]
        for value in (left, right)
    ]
    assert logs[0][1].state_hash != logs[1][1].state_hash
    found = diff(machine, *logs)
    assert (found.common, len(found.left), len(found.right)) == (1, 1, 1)
    [change] = found.changes
    path = "context.v" if wrap(0) == 0 else "context.v.in[0].a"
    assert (change.path, repr(change.left), repr(change.right)) == (path, repr(left), repr(right))
    for log in logs:
        again = [LogEntry.from_json(entry.to_text()) for entry in log]
        assert (diff(machine, log, again).common, diff(machine, log, again).changes) == (2, ())


def test_a_key_may_stand_anywhere_in_what_an_entry_says():
    said = log_of(counter(), [])[0]
    one, other = ({"type": "@agent.init", "input": value} for value in ({"a": 1, "b": [2]}, {"b": [2], "a": 1}))
    assert LogEntry.from_json({**said.to_json(), "event": one}).happened() == (
        LogEntry.from_json({**said.to_json(), "event": other}).happened()
    )


@pytest.mark.parametrize(
    ("machine", "change", "verdict", "index"),
    [
        (counter(version="1"), {}, "ok", None),
        (counter(version="2"), {}, "other-version", 0),
        (counter(step=3, version="1"), {}, "diverged", 1),
        (counter(version="1"), {"index": 7}, "invalid", 1),
        (counter(version="1"), {"state_hash": "0"}, "diverged", 1),
    ],
    ids=["ok", "version", "function", "gap", "tampered"],
)
def test_a_check_says_from_where_a_log_cannot_be_gone_on_with(
    machine: Any, change: Any, verdict: str, index: int | None
):
    log = log_of(counter(version="1"), ["UP"])
    found = check_log(machine, [log[0], replace(log[1], **change)])
    assert (found.verdict, found.index) == (verdict, index)
    assert bool(found.message) == (verdict != "ok")
