"""What an author writes becomes a machine that steps as written."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

import interlock.agent as il
import interlock.statechart as sc
from interlock.errors import ErrorInfo, HandlerError, InputError, InvalidMoveError
from tests.agent.machines import Add, twenty_questions
from tests.guessing import Ask, Game, Guess, Reply, Verdict
from tests.guessing import agent as game


def step(machine: sc.Machine, snapshot: sc.Snapshot, *events: object) -> sc.Snapshot:
    for event in events:
        snapshot, _ = sc.transition(machine, snapshot, event, at=0)
    return snapshot


def start(machine: sc.Machine, given: object = None) -> sc.Snapshot:
    return sc.initial_transition(machine, given, at=0)[0]


def test_the_game_plays():
    snapshot = step(twenty_questions, start(twenty_questions), Ask(question="alive?"), Reply(answer="no"))
    assert snapshot.value == "deciding"
    assert snapshot.context == Game(questions_left=19, transcript=("Q: alive?", "A: no"))
    done = step(twenty_questions, snapshot, Guess(guess="stone"))
    assert (done.status, twenty_questions.checked_output(done.output, None)) == ("done", Verdict(guess="stone"))


def test_a_snapshot_with_events_survives_saving():
    snapshot = step(twenty_questions, start(twenty_questions), Ask(question="alive?"))
    assert twenty_questions.load(snapshot.to_json()) == snapshot


@dataclass(frozen=True)
class Counter:
    count: int = 0
    last: str = ""


class Loose(TypedDict):
    count: int
    last: str


counted = il.setup_agent(context=Counter, events=[Add])
loose = il.setup_agent(context=il.mapping(Loose), events=[Add])
open_ = il.setup_agent(events=[Add])


def test_the_context_may_be_a_dataclass_a_typed_dict_or_any_mapping():
    one = counted.machine(
        "one",
        context=Counter(),
        initial="a",
        states={"a": counted.state(on=[counted.on(Add, lambda c, e: counted.stay(count=c.count + 1, last=e.text))])},
    )
    two = loose.machine(
        "two",
        context={"count": 0, "last": ""},
        initial="a",
        states={"a": loose.state(on=[loose.on(Add, lambda c, e: loose.stay(count=c["count"] + 1))])},
    )
    three = open_.machine(
        "three",
        context={"count": 0},
        initial="a",
        states={"a": open_.state(on=[open_.on(Add, lambda c, e: open_.stay(count=c["count"] + 1, new=e.text))])},
    )
    assert step(one, start(one), Add(text="x")).context == Counter(1, "x")
    assert step(two, start(two), Add(text="x")).context == {"count": 1, "last": ""}
    assert step(three, start(three), Add(text="x")).context == {"count": 1, "new": "x"}


def test_a_field_that_the_context_refuses_is_said_at_the_transition():
    machine = loose.machine(
        "loose",
        context={"count": 0, "last": ""},
        initial="a",
        states={"a": loose.state(on=[loose.on(Add, lambda _, e: loose.stay(count=e.text))])},
    )
    with pytest.raises(InvalidMoveError, match="context field 'count'"):
        step(machine, start(machine), Add(text="x"))


def test_fields_are_given_by_name():
    with pytest.raises(TypeError, match=r"goto\(\) takes context fields by name: .* instead of 3"):
        counted.goto("a", 3)
    with pytest.raises(TypeError, match=r"stay\(\)"):
        counted.stay(3)


def test_the_context_defaults_to_the_defaults_of_its_type():
    machine = counted.machine("plain", initial="a", states={"a": counted.state()})
    assert start(machine).context == Counter()


class Order(BaseModel):
    text: str
    times: int = 2


def test_the_first_context_may_be_made_from_the_input():
    agent = il.setup_agent(context=Counter, events=[Add], input=Order)
    machine = agent.machine(
        "made", context=lambda order: Counter(order.times, order.text), initial="a", states={"a": agent.state()}
    )
    assert start(machine, {"text": "x"}).context == Counter(2, "x")
    with pytest.raises(InputError, match="text: Field required"):
        start(machine, {})


def test_what_happens_may_be_a_target_a_move_or_a_handler():
    agent = counted
    machine = agent.machine(
        "forms",
        initial="a",
        states={
            "a": agent.state(
                on=[
                    agent.on("note.add", "b"),
                ],
                always=[agent.always(agent.goto("c", count=9).log("hi"), guard=lambda c: c.count == 1)],
            ),
            "b": agent.state(
                entry=lambda c: agent.stay(last="entered"),
                exit=agent.stay(count=5),
                after=[agent.after(timedelta(seconds=3), "c"), agent.after(1, lambda c: None)],
                on=[agent.on(Add, agent.goto("c"), guard=lambda c, e: e.text == "go")],
            ),
            "c": agent.state(),
        },
    )
    b = step(machine, start(machine), Add())
    assert (b.value, b.context.last) == ("b", "entered")
    assert sorted(b.timers) == ["after:1:forms.b", "after:3:forms.b"]
    assert not b.can(Add(text="stop"))
    c = step(machine, b, Add(text="go"))
    assert (c.value, c.context) == ("c", Counter(5, "entered"))
    assert step(machine, b, sc.Input.fired("after:3:forms.b")).value == "c"


def test_a_moving_constant_carries_all_that_a_move_can():
    agent = counted
    machine = agent.machine(
        "moving",
        initial="a",
        states={
            "a": agent.state(on=[agent.on(Add, agent.goto("a", count=4).emit(Ask(question="?")).reenter())]),
        },
    )
    snapshot, effects = sc.transition(machine, start(machine), Add())
    assert snapshot.context.count == 4
    assert effects == (sc.Emit(Ask(question="?")),)


def test_a_wide_handler_sees_where_the_machine_stands():
    agent = counted
    machine = agent.machine(
        "wide",
        initial="a",
        states={
            "a": agent.state(on=[agent.on_at(Add, lambda c, e, at: agent.stay(last=f"{at.value} {e.text}"))]),
        },
    )
    assert step(machine, start(machine), Add(text="x")).context.last == "a x"


def test_regions_choices_history_and_ends():
    agent = counted
    machine = agent.machine(
        "whole",
        initial="work",
        states={
            "work": agent.parallel(
                states={
                    "left": agent.state(
                        initial="on",
                        states={"on": agent.state(on=[agent.on(Add, "off")]), "off": agent.end(output={"n": 3})},
                    ),
                    "right": agent.state(initial="only", states={"only": agent.end(output=lambda c: c.count)}),
                },
                on_done=lambda c, output: agent.goto("which", count=output["left"]["n"]),
            ),
            "which": agent.choice(lambda c: agent.goto("paused" if c.count == 0 else "back"), to=["paused", "back"]),
            "paused": agent.state(),
            "back": agent.state(
                initial="one",
                states={"one": agent.state(), "two": agent.state(), "again": agent.history(target="two")},
                on=[agent.on("note.*", ".again")],
            ),
        },
    )
    snapshot = step(machine, start(machine), Add())
    assert (snapshot.value, snapshot.context.count) == ({"back": "one"}, 3)
    assert step(machine, snapshot, Add()).value == {"back": "two"}, "nothing is remembered yet"


def test_handlers_of_patterns_get_the_event():
    seen: list[object] = []
    agent = counted
    machine = agent.machine(
        "patterns",
        initial="a",
        states={
            "a": agent.state(
                on=[
                    agent.on("note.*", lambda c, event: seen.append(event)),
                    agent.on("*", lambda c, event: agent.stay(last=event.type)),
                ]
            )
        },
    )
    snapshot = step(machine, start(machine), Add(text="x"))
    assert snapshot.context.last == "note.add"
    assert Add(text="x") in seen


def test_work_that_fails_or_takes_too_long_has_its_slots():
    agent = counted

    def fetch(url: str) -> int:
        return len(url)

    machine = agent.machine(
        "work",
        initial="a",
        delays={"soon": 5, "later": lambda c: c.count + 1},
        states={
            "a": agent.state(
                invoke=[
                    agent.call(
                        fetch,
                        id="fetch",
                        input=lambda c: {"url": c.last},
                        on_done=lambda c, length: agent.goto("b", count=length),
                        on_error=lambda c, error: agent.goto("b", last=error.code),
                        timeout="soon",
                        on_timeout="b",
                    ),
                    agent.decide(id="pick"),
                ],
                on=[agent.on(Add, "b")],
                on_error="b",
            ),
            "b": agent.state(),
        },
    )
    first = start(machine)
    assert {item.id: (item.src, item.input) for item in sc.owed(first).invocations} == {
        "fetch": ("fetch", {"url": ""}),
        "pick": ("agent.decide", None),
    }
    failed = step(machine, first, sc.Input.failed("fetch", ErrorInfo("lost", "Lost", "it is gone")))
    assert (failed.value, failed.context.last) == ("b", "lost")
    assert step(machine, first, sc.Input.fired("invoke-timeout:fetch")).value == "b"
    assert step(machine, first, sc.Input.failed("pick", ErrorInfo("lost", "Lost", "it is gone"))).value == "b"


def test_an_error_names_the_authors_function_through_the_decoding():
    agent = counted

    def fetch() -> int:
        return 1

    def broken(context: Counter, length: int) -> sc.Move:
        raise KeyError(length)

    machine = agent.machine(
        "broken", initial="a", states={"a": agent.state(invoke=agent.call(fetch, id="f", on_done=broken))}
    )
    with pytest.raises(HandlerError, match=r"broken \(test_authoring.py:\d+\) raised KeyError"):
        step(machine, start(machine), sc.Input.done("f", 1))


def test_targets_are_read_from_handlers_of_output_too():
    def fetch() -> int:
        return 1

    (transition,) = counted.call(fetch, on_done=lambda c, n: counted.goto("there", count=n)).on_done
    assert transition.targets == ("there",)


def test_the_sources_hold_what_states_bring_along():
    def fetch() -> int:
        return 1

    machine = counted.machine(
        "sources",
        initial="a",
        sources={"mine": print},
        states={
            "a": counted.state(invoke=[counted.call(fetch), counted.decide()], on=[counted.on(Add, "b")]),
            "b": counted.state(invoke=counted.call(fetch)),
        },
    )
    assert set(machine.sources) == {"mine", "fetch", "agent.decide"}
    assert machine.sources["fetch"] is fetch
    replaced = machine.provide({"fetch": len})
    assert replaced.sources["fetch"] is len


def test_game_handlers_know_their_targets():
    (ask, guess) = twenty_questions.definition.states["deciding"].on
    assert (ask.targets, guess.targets) == (("answering",), ("revealing",))
    assert (ask.event_class, guess.event_class) == (Ask, Guess)
    assert game.on(Ask, lambda c, e: game.goto("x" + e.question), to=["xa", "xb"]).targets == ("xa", "xb")


def test_a_field_of_the_context_may_have_any_name():
    class Named(BaseModel, frozen=True):
        self: int = 0
        target: int = 0
        args: int = 0

    agent = il.setup_agent(context=Named, events=[Add])
    fields: Any = {"self": 1, "target": 2, "args": 3}
    for move in (agent.stay(**fields), agent.goto("a", **fields)):
        machine = agent.machine("m", initial="a", states={"a": agent.state(on=[agent.on(Add, move)])})
        snapshot, _ = sc.initial_transition(machine)
        assert sc.transition(machine, snapshot, Add(text=""))[0].context == Named(**fields)
