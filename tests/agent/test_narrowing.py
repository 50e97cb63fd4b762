"""States that know more about the context than the machine does."""

from dataclasses import dataclass
from typing import TypedDict

import pytest
from pydantic import BaseModel

import interlock.agent as il
import interlock.statechart as sc
from interlock.errors import DefinitionError, InvalidMoveError, SnapshotError


class Guess(il.Event):
    text: str


class Clear(il.Event):
    pass


class Game(BaseModel, frozen=True):
    left: int = 3
    guess: str | None = None


class Guessed(Game, frozen=True):
    guess: str

    def shown(self) -> str:
        return f"<{self.guess}>"


class OnlyGuess(BaseModel, frozen=True):
    guess: str


agent = il.setup_agent(context=Game, events=[Guess, Clear], output=str)
guessed = agent.narrow(Guessed)


def length(text: str) -> int:
    return len(text)


machine = agent.machine(
    "narrow",
    initial="asking",
    states={
        "asking": agent.state(
            on=[
                agent.on(Guess, lambda _, guess: agent.goto("checking", guess=guess.text)),
                agent.on(Clear, "checking"),
            ]
        ),
        "checking": guessed.state(
            entry=lambda game: guessed.stay(left=len(game.shown())),
            invoke=[
                guessed.call(
                    length,
                    id="length",
                    input=lambda game: {"text": game.guess},
                    on_done=lambda game, count: guessed.goto("over", guess=game.shown() * count),
                ),
                guessed.decide(id="pick", prompt=lambda game: game.shown(), allowed_events=Clear),
            ],
            on=[
                guessed.on_at(
                    Guess, lambda game, guess, at: guessed.stay(guess=f"{game.shown()} {guess.text} {at.value}")
                ),
                guessed.on(Clear, lambda _, __: guessed.stay(guess=None), guard=lambda game, _: game.guess == "bad"),
                guessed.on(Clear, "asking"),
            ],
            after=[guessed.after(3, lambda game: guessed.goto("asking", guess=game.shown()))],
        ),
        "over": guessed.final(output=lambda game: game.shown()),
    },
)


def start() -> sc.Snapshot[Game]:
    return sc.initial_transition(machine, at=0)[0]


def step(snapshot: sc.Snapshot[Game], given: object) -> sc.Snapshot[Game]:
    return sc.transition(machine, snapshot, given, at=0)[0]


def checking(text: str = "cat") -> sc.Snapshot[Game]:
    return step(start(), Guess(text=text))


def test_functions_get_the_narrower_type_and_the_context_stays_what_it_is():
    snapshot = checking()
    assert snapshot.context == Game(left=5, guess="cat")
    assert type(snapshot.context) is Game
    assert snapshot.children["length"].input == {"text": "cat"}
    assert step(snapshot, Guess(text="!")).context.guess == "<cat> ! checking"
    assert step(snapshot, sc.Input.fired("after:3:narrow.checking")).context.guess == "<cat>"
    assert step(snapshot, sc.Input.done("length", 2)).output == "<<cat><cat>>"
    (pick,) = [owed for owed in sc.owed(snapshot).invocations if owed.id == "pick"]
    assert il.decision_request(machine, pick).prompt == "<cat>"


def test_no_other_context_gets_in():
    with pytest.raises(
        InvalidMoveError,
        match=r"machine 'narrow', state 'checking', event 'Clear': the state takes a context of type Guessed, and this "
        r"one is not \(on entry\): guess: Input should be a valid string \(given: None\)",
    ) as caught:
        step(start(), Clear())
    assert caught.value.code == "invalid-context"


def test_nor_does_a_move_make_it_another_while_the_state_is_active():
    with pytest.raises(InvalidMoveError, match="stays active with it") as caught:
        step(checking("bad"), Clear())
    assert caught.value.code == "invalid-context"
    assert step(checking(), Clear()).value == "asking"


def test_saving_changes_nothing():
    snapshot = machine.load(checking().to_json())
    assert snapshot == checking()
    assert step(snapshot, Guess(text="!")).context.guess == "<cat> ! checking"


def test_what_was_saved_is_held_to_it_too():
    dump = checking().dump()
    with pytest.raises(SnapshotError, match=r"context.*Guessed, as state 'narrow\.checking' takes it.*guess"):
        machine.load({**dump, "context": {"left": 5, "guess": None}})


def test_the_first_state_is_checked_too():
    first = agent.machine(
        "first", initial="a", states={"a": agent.state(context=OnlyGuess), "b": agent.final(output="")}
    )
    with pytest.raises(InvalidMoveError, match="takes a context of type OnlyGuess"):
        sc.initial_transition(first)


def test_a_region_may_be_narrow_while_others_move():
    regions = agent.machine(
        "regions",
        context=Game(guess="x"),
        kind="parallel",
        states={
            "narrow": agent.state(context=OnlyGuess),
            "free": agent.state(
                on=[agent.on(Guess, lambda _, e: agent.stay(guess=e.text)), agent.on(Clear, agent.stay(guess=None))]
            ),
        },
    )
    snapshot, _ = sc.initial_transition(regions)
    snapshot, _ = sc.transition(regions, snapshot, Guess(text="y"))
    assert snapshot.context.guess == "y"
    with pytest.raises(InvalidMoveError, match="state 'narrow', event 'Clear'"):
        sc.transition(regions, snapshot, Clear())


def test_what_stands_inside_a_narrow_state_may_count_on_it():
    nested = agent.machine(
        "nested",
        context=Game(guess="x"),
        initial="a",
        states={
            "a": agent.state(
                context=Guessed,
                initial="b",
                states={
                    "b": agent.state(on=[guessed.on(Guess, lambda game, _: guessed.goto("c", guess=game.shown()))]),
                    "c": guessed.choice(lambda game: guessed.goto("d", left=len(game.shown()))),
                    "d": agent.state(),
                },
            ),
            "over": agent.final(output=""),
        },
    )
    snapshot, _ = sc.initial_transition(nested)
    assert sc.transition(nested, snapshot, Guess(text="!"))[0].context == Game(guess="<x>", left=5)


@dataclass(frozen=True)
class Counter:
    count: int = 0
    name: str | None = None


@dataclass(frozen=True)
class Named:
    name: str


class Loose(TypedDict, total=False):
    count: int
    name: str | None


class LooseNamed(TypedDict):
    name: str


def test_dataclasses_and_mappings_narrow_as_well():
    counter = il.setup_agent(context=Counter, events=[Guess])
    named = counter.narrow(Named)
    one = counter.machine(
        "one",
        initial="a",
        states={
            "a": counter.state(on=[counter.on(Guess, lambda _, e: counter.goto("b", name=e.text or None))]),
            "b": named.state(on=[named.on(Guess, lambda c, e: named.stay(name=c.name + e.text))]),
        },
    )
    snapshot, _ = sc.initial_transition(one)
    with pytest.raises(InvalidMoveError, match="Named"):
        sc.transition(one, snapshot, Guess(text=""))
    for text in ("x", "y"):
        snapshot, _ = sc.transition(one, snapshot, Guess(text=text))
    assert snapshot.context == Counter(name="xy")

    loose = il.setup_agent(context=il.mapping(Loose), events=[Guess])
    loose_named = loose.narrow(LooseNamed)
    two = loose.machine(
        "two",
        context={"count": 1},
        initial="a",
        states={
            "a": loose.state(
                on=[loose.on(Guess, lambda _, e: loose.goto("b", name=e.text) if e.text else loose.goto("b"))]
            ),
            "b": loose_named.state(on=[loose_named.on(Guess, lambda c, e: loose.stay(name=c["name"] + e.text))]),
        },
    )
    snapshot, _ = sc.initial_transition(two)
    with pytest.raises(InvalidMoveError, match="LooseNamed requires field 'name'"):
        sc.transition(two, snapshot, Guess(text=""))
    for text in ("x", "y"):
        snapshot, _ = sc.transition(two, snapshot, Guess(text=text))
    assert snapshot.context == {"count": 1, "name": "xy"}


def test_a_machine_is_built_with_the_whole_context():
    with pytest.raises(DefinitionError, match="not Guessed: build it with the agent that narrow"):
        guessed.machine("m", initial="a", states={"a": guessed.state()})


def test_a_narrower_state_is_another_version():
    def version(**fields: object) -> str:
        return sc.machine("m", context=Game(), initial="a", states={"a": sc.state(**fields)}).version

    assert version(context=OnlyGuess) != version()
