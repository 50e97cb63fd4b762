"""Machines that cannot be: what is said when they are built. Each row is one mistake."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

import interlock.agent as il
from interlock.errors import DefinitionError
from tests.agent import wrong_constants, wrong_machines


class Ask(il.Event):
    question: str


class Reply(il.Event, actor="human"):
    answer: str


class AddTodo(il.Event, type="todo.add"):
    text: str


class Undeclared(il.Event):
    pass


class Game(BaseModel, frozen=True):
    left: int = 3


class Verdict(BaseModel):
    text: str


class Thawed(BaseModel):
    left: int = 3


@dataclass(frozen=True)
class Listed:
    items: list[int]


agent = il.setup_agent(context=Game, events=[Ask, Reply, AddTodo])
judged = il.setup_agent(context=Game, events=[Ask], output=Verdict)


def other_ask() -> type[il.Event]:
    class Ask(il.Event):
        question: str

    return Ask


def state(**fields: Any) -> Callable[[], object]:
    return lambda: agent.machine(
        "m", initial="a", states={"a": agent.state(**fields), "b": agent.state(), "end": agent.final()}
    )


def fetch() -> int:
    return 1


def other_fetch() -> int:
    return 2


def returns_nonsense() -> "Nonsense":  # noqa: F821  # the point of it
    raise NotImplementedError


ROWS: list[tuple[str, Callable[[], object], str, str]] = [
    # events
    (
        "an undeclared event class",
        state(on=[agent.on(Undeclared, "b")]),
        "unknown-event",
        r"machine 'm': state 'a': on Undeclared: setup_agent\(events=\[...\]\) declares no such event\. Known: ",
    ),
    (
        "a type with a typing error",
        state(on=[agent.on("Aks", "b")]),
        "unknown-event",
        r"on 'Aks': .* Did you mean 'Ask'\?",
    ),
    (
        "the name of a class that has another type",
        state(on=[agent.on("AddTodo", "b")]),
        "unknown-event",
        r"the class of this name has the type 'todo\.add'",
    ),
    (
        "another class of the same type",
        state(on=[agent.on(other_ask(), "b")]),
        "unknown-event",
        "another class is declared for the type 'Ask'",
    ),
    (
        "a pattern over nothing",
        state(on=[agent.on("tood.*", "b")]),
        "unknown-event",
        r"no declared event lies below 'tood'\. Did you mean 'todo\.\*'\?",
    ),
    ("a star inside a pattern", state(on=[agent.on("a.*.c", "b")]), "invalid-descriptor", r"'a\.\*\.c'"),
    ("an event of the engine", state(on=[agent.on("@done.state.m", "b")]), "reserved-event", "on_done"),
    (
        "two classes of one type",
        lambda: il.setup_agent(events=[Ask, other_ask()]),
        "duplicate-event",
        "Ask and Ask, both of type 'Ask'",
    ),
    (
        "an event instance among the classes",
        lambda: il.setup_agent(events=[Ask(question="")]),
        "invalid-event-class",
        r"events= holds Ask\(question=''\); give classes",
    ),
    (
        "the base class itself",
        lambda: il.setup_agent(events=[il.Event]),
        "invalid-event-class",
        "give classes derived from Event",
    ),
    # targets and names
    (
        "a target with a typing error",
        state(on=[agent.on(Ask, "bb")]),
        "unknown-target",
        r"on: there is no state 'bb'\. Did you mean",
    ),
    (
        "a target read from a handler",
        state(on=[agent.on(Ask, lambda c, e: agent.goto("bee"))]),
        "unknown-target",
        "no state 'bee'",
    ),
    (
        "a target after a call that goes well",  # and so never down the way of its failure
        state(invoke=agent.call(fetch, on_done="ned", on_error="b")),
        "unknown-target",
        r"state 'a': invoke '0\.m\.a' on_done: there is no state 'ned'\. Did you mean 'end'",
    ),
    (
        "a delay without a name",
        state(after=[agent.after("soon", "b")]),
        "unknown-delay",
        "'soon'",
    ),
    (
        "a target twice",
        lambda: agent.on(Ask, agent.goto("b"), to=["b"]),
        "invalid-transition",
        "names its target twice",
    ),
    # what happens
    (
        "nothing that can happen",
        lambda: agent.on(Ask, 3),
        "invalid-transition",
        r"on 'Ask': 3 is nothing that can happen; give a target",
    ),
    (
        "a class as a handler",
        lambda: agent.on(Ask, Game),
        "invalid-transition",
        "nothing that can happen",
    ),
    (
        "an actor that is nobody",
        lambda: agent.on(Ask, "b", meta={"actor": "humn"}),
        "invalid-transition",
        "'humn'.* the only actor is 'human'",
    ),
    (
        "a transition behind one that is always taken",
        state(on=[agent.on(Ask, "b"), agent.on(Ask, "end")]),
        "unreachable-transition",
        "always taken",
    ),
    # decisions
    (
        "allowed events with a typing error",
        state(on=[agent.on(Ask, "b")], invoke=agent.decide(allowed_events=["Asc"])),
        "unknown-event",
        r"state 'a': allowed_events holds 'Asc': .* Did you mean 'Ask'\?",
    ),
    (
        "an undeclared class is allowed",
        state(invoke=agent.decide(allowed_events=Undeclared)),
        "unknown-event",
        "allowed_events holds Undeclared",
    ),
    (
        "a pattern over nothing is allowed",
        state(invoke=agent.decide(allowed_events="nope.*")),
        "unknown-event",
        "allowed_events holds 'nope",
    ),
    (
        "an event for people is allowed",
        state(on=[agent.on(Ask, "b")], invoke=agent.decide(allowed_events=[Ask, Reply])),
        "decide-allows-human-event",
        r"machine 'm': state 'a': allowed_events holds Reply, which only a person may send",
    ),
    (
        "an event for people is allowed by its type",
        state(invoke=agent.decide(allowed_events="Reply")),
        "decide-allows-human-event",
        "holds 'Reply'",
    ),
    (
        "nothing is allowed",
        lambda: agent.decide(allowed_events=[]),
        "invalid-decision",
        "allowed_events is empty; leave it out",
    ),
    (
        "something else is allowed",
        lambda: agent.decide(allowed_events=[3]),
        "invalid-decision",
        "allowed_events holds 3; give event classes",
    ),
    (
        "a prompt and messages",
        lambda: agent.decide(prompt="x", messages=[{"role": "user", "content": "y"}]),
        "invalid-decision",
        "prompt and messages",
    ),
    (
        "a prompt that is no text",
        lambda: agent.decide(prompt=3),
        "invalid-decision",
        r"decide\(...\): prompt: .* string \(given: 3\)",
    ),
    (
        "a word that decisions do not know",
        lambda: agent.decide(promt="x"),
        "unknown-keyword",
        r"decide\(\) has no keyword 'promt'\. Did you mean 'prompt'\?",
    ),
    (
        "retries below none",
        lambda: agent.decide(max_retries=-1),
        "invalid-decision",
        "max_retries",
    ),
    (
        "messages that are no JSON",
        lambda: agent.decide(messages=[{"role": object()}]),
        "invalid-decision",
        "role",
    ),
    # sources
    (
        "a source under a name of the library",
        lambda: agent.machine("m", sources={"agent.decide": print}, initial="a", states={"a": agent.state()}),
        "reserved-name",
        r"machine 'm': sources= registers 'agent\.decide'.* run_agent other executors",
    ),
    (
        "a call under a name of the library",
        lambda: agent.call(fetch, name="agent.decide"),
        "reserved-name",
        r"call\(name='agent\.decide'\)",
    ),
    (
        "two functions of one name",
        state(invoke=[agent.call(fetch), agent.call(other_fetch, name="fetch")]),
        "invalid-call",
        r"state 'a': call\(fetch\): another source has the name 'fetch'.* call\(\.\.\., name=\.\.\.\)",
    ),
    (
        "a function without a name",
        lambda: agent.call(lambda: 3),
        "invalid-call",
        "'<lambda>' is no name for a source; give name=",
    ),
    (
        "an annotation that cannot be read",
        lambda: agent.call(returns_nonsense),
        "invalid-call",
        "Nonsense",
    ),
    # context and output
    (
        "a context that can change",
        lambda: il.setup_agent(context=Thawed, events=[Ask]).machine("m", initial="a", states={"a": agent.state()}),
        "mutable-context",
        "class Thawed",
    ),
    (
        "a context with a list",
        lambda: il.setup_agent(context=Listed, events=[Ask]).machine("m", initial="a", states={"a": agent.state()}),
        "mutable-context",
        r"Listed\.items .* tuple\[int, \.\.\.\]",
    ),
    (
        "a function in place of the class",
        lambda: il.setup_agent(context=lambda left: Game(left=left), events=[Ask]),
        "invalid-context",
        "is no class",
    ),
    (
        "an end without the promised output",
        lambda: judged.machine("m", initial="a", states={"a": judged.state(), "end": judged.final()}),
        "invalid-state",
        r"machine 'm': state 'end': .* agent\.final\(output=...\)",
    ),
]


ALL_ROWS = [*ROWS, *wrong_machines.ROWS, *wrong_constants.ROWS]


@pytest.mark.parametrize(("build", "code", "message"), [row[1:] for row in ALL_ROWS], ids=[row[0] for row in ALL_ROWS])
def test_a_mistake_is_said_when_the_machine_is_built(build: Callable[[], object], code: str, message: str):
    with pytest.raises(DefinitionError) as caught:
        build()
    assert caught.value.code == code
    assert re.search(message, str(caught.value)), str(caught.value)


def test_no_row_is_written_twice():
    assert len({row[0] for row in ALL_ROWS}) == len(ALL_ROWS) >= 100


def test_the_librarys_own_events_may_be_handled():
    state(on=[agent.on("@error.communication", "b")])()
