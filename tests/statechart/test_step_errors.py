"""A step that cannot be computed raises a typed error, and the snapshot that it began with is untouched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import interlock.statechart as sc
from interlock.errors import (
    EndlessLoopError,
    HandlerError,
    InputError,
    InterlockError,
    InvalidMoveError,
    MissingTimeError,
    SnapshotError,
    StepError,
)

Handler = Callable[[Any, Any], Any]


def machine_with(handler: Any, **keywords: Any) -> sc.Machine[Any, Any, Any]:
    return sc.machine(
        "m",
        initial="a",
        context={"n": 0},
        sources={"f": None},
        states={"a": sc.state(on={"GO": handler}, **keywords), "b": sc.state()},
    )


def raising(_context: Any, _event: Any) -> Any:
    raise ValueError("x")


WRONG: dict[str, tuple[Handler, type[StepError], str, str]] = {
    "raises": (raising, HandlerError, "handler-raised", "raising (test_step_errors.py:"),
    "raises KeyError": (lambda c, _e: c["missing"], HandlerError, "handler-raised", "raised KeyError: 'missing'"),
    "False": (lambda _c, _e: False, InvalidMoveError, "invalid-handler-result", "False does not mean 'not legal'"),
    "a string": (lambda _c, _e: "b", InvalidMoveError, "invalid-handler-result", "goto('b') if that is a target"),
    "a mapping": (lambda _c, _e: {"n": 1}, InvalidMoveError, "invalid-handler-result", "fields go into stay(...)"),
    "unknown target": (lambda _c, _e: sc.goto("B".lower() + "x"), InvalidMoveError, "unknown-target", "leads to 'bx'"),
    "no targets": (lambda _c, _e: sc.goto([]), InvalidMoveError, "invalid-targets", "use stay()"),
    "targets that exclude each other": (
        lambda _c, _e: sc.goto([*"ab"]),
        InvalidMoveError,
        "invalid-targets",
        "cannot be active together",
    ),
    "changes its context": (lambda c, _e: c.update(n=1), HandlerError, "handler-raised", "this mapping is immutable"),
    "sets what cannot be saved": (
        lambda _c, _e: sc.stay(n={1}),
        InvalidMoveError,
        "invalid-field",
        "context field 'n': a set has no order",
    ),
    "sets not-a-number": (
        lambda _c, _e: sc.stay(n=float("nan")),
        InvalidMoveError,
        "invalid-field",
        "nan has no form in JSON",
    ),
    "spawns an unknown source": (lambda _c, _e: sc.stay().spawn("g"), InvalidMoveError, "unknown-source", "Known: f"),
    "spawns an id twice": (
        lambda _c, _e: sc.stay().spawn("f", id="x").spawn("f", id="x"),
        InvalidMoveError,
        "duplicate-child",
        "'x' is running",
    ),
    "unknown delay": (
        lambda _c, _e: sc.stay().raise_("X", delay="soon"),
        InvalidMoveError,
        "invalid-delay",
        "no delay 'soon'",
    ),
    "negative delay": (
        lambda _c, _e: sc.stay().raise_("X", delay=-1),
        InvalidMoveError,
        "invalid-delay",
        "0 or more seconds",
    ),
    "raises what is no event": (
        lambda _c, _e: sc.stay().raise_(5),
        InvalidMoveError,
        "invalid-event",
        "5 (int) is no event",
    ),
    "raises an event of the engine": (
        lambda _c, _e: sc.stay().raise_("@done.state.m"),
        InvalidMoveError,
        "reserved-event",
        "reserved",
    ),
    "a timer without the time": (
        lambda _c, _e: sc.stay().raise_("X", delay=1),
        MissingTimeError,
        "missing-time",
        "at=<Unix seconds>",
    ),
    "spawns no name": (lambda _c, _e: sc.stay().spawn(5), InvalidMoveError, "invalid-name", "spawn(5)"),
    "spawns under no name": (
        lambda _c, _e: sc.stay().spawn("f", id=3),
        InvalidMoveError,
        "invalid-name",
        "spawn(3): ids, children and sources are named by texts",
    ),
    "spawns a machine instead of its name": (
        lambda _c, _e: sc.stay().spawn(sc.machine("o", initial="a", states={"a": sc.state()})),
        InvalidMoveError,
        "invalid-name",
        "a source by its name in sources= of the machine",
    ),
    "stops no name": (lambda _c, _e: sc.stay().stop(["x"]), InvalidMoveError, "invalid-name", "stop(['x'])"),
    "cancels no name": (lambda _c, _e: sc.stay().cancel({}), InvalidMoveError, "invalid-name", "cancel({})"),
    "sends to no name": (lambda _c, _e: sc.stay().send({}, "X"), InvalidMoveError, "invalid-name", "send({})"),
    "raises under no name": (
        lambda _c, _e: sc.stay().raise_("X", delay=1, id=2),
        InvalidMoveError,
        "invalid-name",
        "raise(2)",
    ),
    "endless raising": (lambda _c, _e: sc.stay().raise_("GO"), EndlessLoopError, "endless-loop", "goes round a -> a"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_handler(name: str) -> None:
    handler, kind, code, text = WRONG[name]
    machine = machine_with(handler)
    snapshot, _ = sc.initial_transition(machine)
    saved = snapshot.to_json()
    for _ in range(2):  # the first step works out the short form, the second takes it
        with pytest.raises(kind) as caught:
            sc.transition(machine, snapshot, "GO")
        assert caught.value.code == code
        assert text in str(caught.value)
        assert caught.value.machine == "m"
        assert caught.value.event == "GO"
        assert snapshot.to_json() == saved


def test_the_original_exception_is_the_cause() -> None:
    machine = machine_with(raising)
    snapshot, _ = sc.initial_transition(machine)
    with pytest.raises(HandlerError) as caught:
        sc.transition(machine, snapshot, "GO")
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.state == "a"


def test_an_undeclared_target_is_refused() -> None:
    where = {"to": "b"}
    machine = machine_with(sc.on("", lambda _c, _e: sc.goto(where["to"]), to=["b"]))
    snapshot, _ = sc.initial_transition(machine)
    assert sc.transition(machine, snapshot, "GO")[0].value == "b"
    where["to"] = "a"
    with pytest.raises(InvalidMoveError) as caught:
        sc.transition(machine, snapshot, "GO")
    assert caught.value.code == "undeclared-target"


@pytest.mark.parametrize(
    ("slot", "keywords"),
    [
        ("entry", {"entry": lambda _c: 1 / 0}),
        ("exit", {"exit": lambda _c: 1 / 0}),
        ("always", {"always": lambda _c: 1 / 0}),
        ("invoke input", {"invoke": sc.invoke("f", input=lambda _c: 1 / 0)}),
        ("named delay", {"after": {"soon": "away"}}),
        ("choice", None),
        ("output", None),
    ],
)
def test_every_function_of_the_author_is_named_when_it_raises(slot: str, keywords: dict[str, Any] | None) -> None:
    state = {
        "choice": sc.choice(lambda _c: 1 / 0),
        "output": sc.final(output=lambda _c: 1 / 0),
    }.get(slot) or sc.state(on={"AWAY": "away"}, **(keywords or {}))
    machine = sc.machine(
        "m",
        initial="start",
        context={},
        sources={"f": None},
        delays={"soon": lambda _c: 1 / 0},
        states={"start": sc.state(on={"GO": "s"}), "s": state, "away": sc.state()},
    )
    snapshot, _ = sc.initial_transition(machine)

    def go_and_away() -> None:
        there, _ = sc.transition(machine, snapshot, "GO", at=0.0)
        sc.transition(machine, there, "AWAY", at=0.0)

    with pytest.raises(HandlerError, match="division by zero") as caught:
        go_and_away()
    assert caught.value.state == "s"


@pytest.mark.parametrize("move", [sc.goto("b"), False, "b"])
def test_entry_and_exit_cannot_go_anywhere(move: Any) -> None:
    machine = sc.machine("m", initial="a", context={}, states={"a": sc.state(entry=lambda _c: move), "b": sc.state()})
    with pytest.raises(InvalidMoveError, match=r"returned"):
        sc.initial_transition(machine)


def test_an_endless_eventless_loop_is_bounded_and_names_its_cycle() -> None:
    machine = sc.machine(
        "m",
        initial="a",
        context={},
        states={"a": sc.state(on={"GO": "b"}), "b": sc.state(always="c"), "c": sc.state(always="b")},
    )
    snapshot, _ = sc.initial_transition(machine)
    with pytest.raises(EndlessLoopError) as caught:
        sc.transition(machine, snapshot, "GO")
    assert set(caught.value.cycle) == {"b", "c"}
    assert snapshot.value == "a"


def test_an_endless_start_is_bounded() -> None:
    machine = sc.machine("m", initial="b", context={}, states={"b": sc.state(always="c"), "c": sc.state(always="b")})
    with pytest.raises(EndlessLoopError):
        sc.initial_transition(machine)


def test_a_machine_that_starts_itself_is_bounded() -> None:
    empty = sc.machine("again", context={})
    once = sc.machine("again", context={}, sources={"self": empty}, invoke=sc.invoke("self"))
    for _ in range(100):
        once = once.provide({"self": once})
    with pytest.raises(EndlessLoopError, match="more than 64 deep"):
        sc.initial_transition(once)


class Loud:
    type = "LOUD"

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


LOOP: dict[str, Any] = {"type": "GO"}
LOOP["self"] = LOOP


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (None, "invalid-event"),
        (5, "invalid-event"),
        ("", "invalid-event"),
        ({}, "invalid-event"),
        ({"type": 5}, "invalid-event"),
        ({"type": "GO", "v": {1}}, "invalid-event"),
        ({"type": "GO", "v": float("inf")}, "invalid-event"),
        ({"type": "GO", "v": "\ud800"}, "invalid-event"),
        ({"type": "GO", 5: 1}, "invalid-event"),
        (LOOP, "invalid-event"),
        (object(), "invalid-event"),
        (Loud, "invalid-event"),
        (b"GO", "invalid-event"),
        ("@done.state.m", "reserved-event"),
        ({"type": "@agent.usage"}, "reserved-event"),
        (sc.InternalEvent("GO"), "reserved-event"),
    ],
    ids=[
        "None",
        "number",
        "empty text",
        "empty mapping",
        "number as type",
        "set",
        "infinity",
        "surrogate",
        "number as key",
        "cycle",
        "object",
        "class",
        "bytes",
        "engine's text",
        "engine's mapping",
        "engine's object",
    ],
)
def test_what_is_no_event_is_refused(event: Any, code: str) -> None:
    machine = machine_with("b")
    snapshot, _ = sc.initial_transition(machine)
    with pytest.raises(InputError) as caught:
        sc.transition(machine, snapshot, event)
    assert caught.value.code == code


def test_an_event_to_an_ended_machine_is_ignored_whatever_it_holds() -> None:
    machine = sc.machine("m", initial="a", context={}, states={"a": sc.final()})
    snapshot, _ = sc.initial_transition(machine)
    assert sc.transition(machine, snapshot, Loud()) == (snapshot, ())


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"output": 1},
        {"record": 1},
        {"invocation": "i", "output": 1, "error": 1},
        {"timer": "t", "event": "GO"},
        {"timer": "t", "invocation": "i"},
    ],
)
def test_an_input_says_one_thing(keywords: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        sc.Input(**keywords)


def test_a_snapshot_of_another_machine_is_refused() -> None:
    one, other = machine_with("b"), machine_with("b")
    snapshot, _ = sc.initial_transition(one)
    with pytest.raises(SnapshotError, match=r"machine.load\(snapshot.dump\(\)\)"):
        sc.transition(other, snapshot, "GO")
    assert sc.transition(other, other.load(snapshot.dump()), "GO")[0].value == "b"


def test_all_of_them_are_interlock_errors() -> None:
    assert issubclass(StepError, InterlockError)
