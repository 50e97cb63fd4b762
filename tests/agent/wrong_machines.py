"""More machines that cannot be: their states, functions, children, types and declarations. Each row is one mistake."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic import BaseModel

import interlock.agent as il
import interlock.statechart as sc

Row = tuple[str, Callable[[], object], str, str]


class Ask(il.Event):
    question: str


class Stop(il.Event):
    pass


class Progress(il.Event):
    done: int


class Game(BaseModel, frozen=True):
    left: int = 3
    guess: str | None = None


class Guessed(Game, frozen=True):
    guess: str


class Foreign(BaseModel, frozen=True):
    gues: str


class Thawed(BaseModel):
    guess: str


class Verdict(BaseModel):
    text: str


class Topic(BaseModel):
    question: str


agent = il.setup_agent(context=Game, events=[Ask, Stop], emits=[Progress], models={"quick": "house/tiny"})
judged = il.setup_agent(context=Game, events=[Ask], input=Topic, output=Verdict)
guessed = agent.narrow(Guessed)
child = judged.machine(
    "child", context=lambda topic: Game(guess=topic.question), initial="a", states={"a": judged.state()}
)
twin = judged.machine("child", context=lambda _: Game(), initial="b", states={"b": judged.state()})


def machine(states: dict[str, Any], **fields: Any) -> Callable[[], object]:
    return lambda: agent.machine("m", initial="a", states={"b": agent.state(), **states}, **fields)


def state(**fields: Any) -> Callable[[], object]:
    return lambda: agent.machine("m", initial="a", states={"a": agent.state(**fields), "b": agent.state()})


def on(then: Any, **fields: Any) -> Callable[[], object]:
    def build() -> object:
        return state(on=[agent.on(Ask, then, **fields)])()

    return build


def fetch(url: str, times: int = 1) -> int:
    return len(url) * times


def nested(**fields: Any) -> sc.State:
    return agent.state(initial="x", states={"x": agent.state(), "end": agent.end()}, **fields)


STATES: list[Row] = [
    (
        "no first state",
        lambda: agent.machine("m", states={"a": agent.state()}),
        "missing-initial",
        r"machine 'm': state '\(root\)': .* needs initial=, one of 'a'",
    ),
    (
        "a first state with a typing error",
        lambda: agent.machine("m", initial="aa", states={"a": agent.state(), "b": agent.state()}),
        "unknown-target",
        r"initial='aa' is no child state\. Did you mean 'a'",
    ),
    (
        "a first region",
        lambda: agent.machine("m", initial="a", kind="parallel", states={"a": agent.state()}),
        "invalid-state",
        "leave out initial=",
    ),
    ("no regions", machine({"a": agent.parallel(states={})}), "invalid-state", "state 'a': .* at least one region"),
    ("a key with a dot", machine({"a": agent.state(), "v1.0": agent.state()}), "invalid-key", r"'v1\.0' cannot be"),
    ("something else among the states", machine({"a": agent}), "invalid-state", r"states\['a'\] is Agent, not a state"),
    ("a machine without a name", lambda: agent.machine("", initial="a", states={}), "invalid-key", "is no machine id"),
    (
        "two states of one id",
        machine({"a": agent.state(id="x"), "c": agent.state(id="x")}),
        "duplicate-id",
        "id 'x' is taken by state 'a'",
    ),
    (
        "an unknown id as a target",
        state(on=[agent.on(Ask, "#bb")], id="aa"),
        "unknown-target",
        r"no state '#bb'\. Known: #aa, #m, #m\.b",
    ),
    (
        "a child as a target, without its dot",
        machine({"a": nested(on=[agent.on(Ask, "x")])}),
        "unknown-target",
        r"no state 'x'\. Did you mean '\.x'",
    ),
    (
        "targets that cannot be active together",
        on(["a", "b"]),
        "invalid-target",
        "'m.a' and 'm.b' cannot be active together",
    ),
    ("a list of no targets", on([]), "invalid-target", "an empty list of targets"),
    (
        "a declared target with a typing error",
        on(lambda *_: None, to=["bb"]),
        "unknown-target",
        r"on: there is no state 'bb'",
    ),
    (
        "a choice that leads nowhere",
        machine({"a": agent.choice(lambda _: agent.goto("nowhere"))}),
        "unknown-target",
        "state 'a': choice: there is no state 'nowhere'",
    ),
    (
        "history of nothing",
        machine({"a": agent.state(initial="h", states={"h": agent.history(), "x": agent.state()})}),
        "invalid-state",
        "'h' is a history state without a target",
    ),
    ("always to itself", state(always=[agent.always("a")]), "invalid-transition", "that never ends"),
    ("a time limit without a way out", state(timeout=3), "invalid-state", "timeout= needs on_timeout="),
    ("a way out without a time limit", state(on_timeout="b"), "invalid-state", "on_timeout= needs timeout="),
    ("a time limit by an unknown name", state(timeout="soon", on_timeout="b"), "unknown-delay", "'soon' is not among"),
    ("a delay in the past", lambda: agent.after(-1, "b"), "invalid-delay", "-1 is no delay"),
    (
        "a named delay that is none",
        machine({"a": agent.state()}, delays={"soon": "3 s"}),
        "invalid-delay",
        r"delays\['soon'\]",
    ),
    (
        "two works of one id",
        state(invoke=[agent.decide(id="x"), agent.call(fetch, input="u", id="x")]),
        "duplicate-id",
        "two invocations have the id 'x'",
    ),
    ("an id with a slash", state(invoke=agent.decide(id="a/b")), "invalid-key", "'a/b' cannot be an id"),
    (
        "something else as work",
        state(invoke=[fetch]),
        "invalid-state",
        r"state\(invoke=\[<function fetch.*\]\): give what agent\.decide",
    ),
    (
        "something else as a reaction",
        state(on=["b"]),
        "invalid-transition",
        r"state\(on=\['b'\]\): give a list of agent\.on",
    ),
    (
        "an end that nobody can reach",
        state(initial="x", states={"x": agent.state()}, on_done="b"),
        "invalid-state",
        r"state 'a': on_done= is never taken: none of its child states is an end; give it one with agent\.end",
    ),
    (
        "a region without an end",
        machine({"a": agent.parallel(states={"l": nested(), "r": agent.state()}, on_done="b")}),
        "invalid-state",
        "its region 'r' has no end",
    ),
    ("a plain state that waits for its end", state(on_done="b"), "invalid-state", "without child states is never done"),
    (
        "a machine that waits for its own end",
        machine({"a": agent.state()}, on_done=".b"),
        "invalid-state",
        "root is done",
    ),
]

FUNCTIONS: list[Row] = [
    (
        "a handler that takes too little",
        lambda: agent.on(Ask, lambda game: None),
        "invalid-handler",
        r"on Ask: .*<lambda> \(wrong_machines\.py:\d+\) takes \(game\), but is called with \(context, event\)",
    ),
    (
        "a handler that takes too much",
        lambda: agent.always(lambda game, event: None),
        "invalid-handler",
        r"always: .* takes \(game, event\), but is called with \(context\)",
    ),
    (
        "a handler by name only",
        lambda: agent.on(Ask, lambda *, context, event: None),
        "invalid-handler",
        "by position",
    ),
    ("a wide handler without at", lambda: agent.on_at(Ask, fetch), "invalid-handler", r"\(context, event, at\)"),
    (
        "an entry that wants an event",
        lambda: agent.state(entry=lambda a, b: None),
        "invalid-handler",
        r"state\(entry=\)",
    ),
    (
        "an error handler without the error",
        lambda: agent.decide(on_error=lambda game: None),
        "invalid-handler",
        r"decide\(on_error=\): .* is called with \(context, error\)",
    ),
    (
        "a prompt of two arguments",
        lambda: agent.decide(prompt=lambda game, event: ""),
        "invalid-handler",
        r"decide\(prompt=\)",
    ),
    (
        "a guard of one argument",
        lambda: agent.on(Ask, "b", guard=lambda game: True),
        "invalid-handler",
        "on Ask: guard",
    ),
    (
        "a guard that is a value",
        lambda: agent.on(Ask, "b", guard=True),
        "invalid-transition",
        "guard=True is no function",
    ),
    ("an output of two arguments", lambda: agent.final(output=lambda a, b: 3), "invalid-handler", r"final\(output=\)"),
    (
        "an argument with a typing error",
        state(invoke=agent.call(fetch, input={"ulr": "x"})),
        "invalid-call",
        r"state 'a': call\(fetch\): the function takes \(url: str.* Did you mean 'url'",
    ),
    (
        "an argument that is missing",
        state(invoke=agent.call(fetch)),
        "invalid-call",
        "missing a required argument: 'url'",
    ),
    (
        "a keyword with a typing error",
        lambda: agent.on(Ask, "b", gaurd=print),
        "unknown-keyword",
        r"on\(\) has no keyword 'gaurd'\. Did you mean 'guard'",
    ),
    (
        "a keyword of a state",
        lambda: agent.state(onn=[]),
        "unknown-keyword",
        r"state\(\) has no keyword 'onn'\. Did you mean 'on'",
    ),
    ("a keyword of a final state", lambda: agent.end(tag="x"), "unknown-keyword", r"end\(\) .*'tags'"),
    (
        "a keyword of work",
        lambda: agent.call(fetch, retries=3),
        "unknown-keyword",
        r"call\(\) has no keyword 'retries'",
    ),
]

DECLARED: list[Row] = [
    (
        "an unknown field",
        on(agent.goto("b", lefft=3)),
        "unknown-field",
        r"on 'Ask': the move sets the field 'lefft', but Game has no such field\. Did you mean 'left'",
    ),
    ("an unknown field on entry", state(entry=agent.stay(gess="x")), "unknown-field", "state 'a': entry: .*'gess'"),
    (
        "an undeclared event is emitted",
        on(agent.stay().emit(Stop())),
        "unknown-event",
        r"on 'Ask': the move emits Stop\(\): setup_agent\(emits=\[...\]\) does not declare Stop",
    ),
    (
        "an emitted event with a typing error",
        state(exit=agent.stay().emit("Progres")),
        "unknown-event",
        "exit: .*Did you mean 'Progress'",
    ),
    (
        "an emitted event without its payload",
        on(agent.stay().emit("Progress")),
        "unknown-event",
        "done: Field required",
    ),
    (
        "an undeclared event is raised",
        on(agent.stay().raise_(Progress(done=1))),
        "unknown-event",
        r"the move raises .*setup_agent\(events=",
    ),
    ("an unknown source is spawned", on(agent.stay().spawn("fetsh")), "unknown-source", "spawns the source 'fetsh'"),
    (
        "an event is raised after an unknown delay",
        on(agent.stay().raise_("Stop", delay="soon")),
        "unknown-delay",
        "'soon'",
    ),
    ("an event that is only emitted is awaited", state(on=[agent.on(Progress, "b")]), "unknown-event", "on Progress"),
    (
        "something else is emitted",
        lambda: il.setup_agent(events=[Ask], emits=[Game]),
        "invalid-event-class",
        "emits= holds <class",
    ),
    (
        "a model with a typing error",
        state(invoke=agent.decide(model="quik")),
        "unknown-model",
        "state 'a': model='quik' .* Did you mean 'quick'",
    ),
    *(
        (f"{name}={value!r}", partial(agent.decide, **{name: value}), "invalid-decision", name)
        for name, value in (("model", " "), ("top_p", 7), ("temperature", -1), ("temperature", float("nan")))
    ),
    ("an alias of nothing", lambda: il.setup_agent(events=[Ask], models={"quick": ""}), "invalid-model", "'quick': ''"),
    (
        "an input type that is none",
        lambda: il.setup_agent(events=[Ask], input=threading.Lock),
        "invalid-type",
        "^input=",
    ),
    (
        "an output value for its type",
        lambda: il.setup_agent(events=[Ask], output=print),
        "invalid-type",
        "^output=.* is no type",
    ),
    (
        "a first context of another class",
        lambda: agent.machine("m", context={"left": "x"}, initial="a", states={"a": agent.state()}),
        "invalid-context",
        "machine 'm': the initial context is refused",
    ),
    (
        "an end of another type than the machine's",
        lambda: judged.machine("m", context=lambda _: Game(), initial="a", states={"a": judged.final(output=3)}),
        "invalid-state",
        "machine 'm': state 'a': .* ends the machine with 3, which its output type refuses",
    ),
    (
        "an end of another type than is awaited",
        machine({"a": agent.state(initial="x", states={"x": agent.end(output=3)}, on_done=agent.done(Verdict, "b"))}),
        "invalid-state",
        r"state 'a': its end 'x' ends with 3, which is no Verdict, as on_done=agent\.done\(Verdict, ...\) declares",
    ),
    (
        "an end of nothing where something is awaited",
        machine({"a": nested(on_done=agent.done(Verdict, "b"))}),
        "invalid-state",
        "'end' ends without an output",
    ),
    ("something else is awaited", lambda: agent.done(3, "b"), "invalid-type", r"done\(\): 3 is no type"),
]

CHILDREN: list[Row] = [
    ("a function as a child", lambda: agent.child(fetch), "invalid-child", r"give a machine, .* agent\.call\(...\)"),
    (
        "a state as a child",
        lambda: agent.child(agent.state()),
        "invalid-child",
        r"child\(<atomic state .* give a machine",
    ),
    (
        "a child without its input",
        lambda: agent.child(child),
        "invalid-child",
        "'child': .*|it needs an input, and none is given",
    ),
    (
        "a child with another input",
        lambda: agent.child(child, input={"qestion": "x"}),
        "invalid-child",
        "question: Field required",
    ),
    (
        "a child's input of two arguments",
        lambda: agent.child(child, input=lambda a, b: Topic(question="")),
        "invalid-handler",
        r"child\('child', input=\)",
    ),
    (
        "a child under a name of the library",
        lambda: agent.child(child, input=Topic(question=""), name="agent.decide"),
        "reserved-name",
        r"child\(name='agent\.decide'\)",
    ),
    (
        "two children of one name",
        state(invoke=[agent.child(child, input=Topic(question="")), agent.child(twin, input=Topic(question=""))]),
        "invalid-child",
        r"another source has the name 'child', <machine 'child'.* child\(..., name=...\)",
    ),
    (
        "a source in a child's place",
        lambda: agent.machine(
            "m",
            initial="a",
            sources={"child": print},
            states={"a": agent.state(invoke=agent.child(child, input=Topic(question="")))},
        ),
        "invalid-child",
        "another source has the name 'child', <built-in function print>",
    ),
    (
        "an unknown source is provided",
        lambda: child.provide({"chidl": print}),
        "unknown-source",
        r"machine 'child': provide\(\) names the source 'chidl'",
    ),
    (
        "a source of the library is provided",
        lambda: child.provide({"agent.decide": print}),
        "reserved-name",
        "executors",
    ),
]

NARROW: list[Row] = [
    (
        "narrower by a field that is not there",
        lambda: agent.narrow(Foreign),
        "invalid-context",
        r"narrow\(.*Foreign has the field 'gues', which the machine's context, Game, has not.* Did you mean 'guess'",
    ),
    ("narrower, but to be changed in place", lambda: agent.narrow(Thawed), "mutable-context", "class Thawed"),
    ("narrower by a value", lambda: agent.narrow(Guessed(guess="x")), "invalid-context", "is no class"),
    (
        "a state that is narrower by a value",
        state(context=Guessed(guess="x")),
        "invalid-context",
        "machine 'm': state 'a': context=.* is no class",
    ),
    ("a state that is narrower by nothing", state(context=dict), "invalid-context", "says nothing about any field"),
    (
        "a function that wants more than its state promises",
        state(on=[guessed.on(Ask, lambda game, _: agent.stay(guess=game.guess))]),
        "invalid-context",
        r"state 'a': on 'Ask': this function takes a context of type Guessed, .* agent\.narrow\(Guessed\)",
    ),
    (
        "a prompt that wants more",
        state(invoke=guessed.decide(prompt=lambda game: game.guess)),
        "invalid-context",
        r"invoke agent\.decide: prompt",
    ),
    (
        "a machine with a part of the context",
        lambda: guessed.machine("m", initial="a", states={"a": guessed.state()}),
        "invalid-context",
        "the agent that narrow",
    ),
]

SHAPES: list[Row] = [
    (
        "one reaction for several",
        lambda: agent.state(on=agent.on(Ask, "b")),
        "invalid-transition",
        r"give a list of agent\.on",
    ),
    ("reactions by event", lambda: agent.state(on={"Ask": "b"}), "invalid-transition", r"state\(on=\{'Ask': 'b'\}\)"),
    (
        "an event where only time counts",
        lambda: agent.state(after=[agent.on(Ask, "b")]),
        "invalid-transition",
        r"give a list of agent\.after",
    ),
    (
        "an event where none is",
        state(always=[agent.on(Ask, "b")]),
        "invalid-transition",
        "always: a transition for event 'Ask' does not belong here",
    ),
    (
        "work that was not asked for",
        lambda: agent.state(invoke=agent.decide),
        "invalid-state",
        r"state\(invoke=.*agent\.decide\(\.\.\.\)",
    ),
    (
        "leaving on entry",
        lambda: agent.state(entry=agent.goto("b")),
        "invalid-state",
        r"state\(entry=goto\('b'\)\): nothing can be left on entry",
    ),
    ("a target on exit", lambda: agent.state(exit="b"), "invalid-state", "a state is left already"),
    ("tags that are none", lambda: agent.state(tags=3), "invalid-state", r"state\(tags=3\)"),
    (
        "a list of states",
        lambda: agent.machine("m", initial="a", states=[agent.state()]),
        "invalid-state",
        "give states by key",
    ),
    ("a first state of none", lambda: agent.state(initial="x"), "invalid-state", "has no child states to begin with"),
    (
        "a first state with two inputs",
        lambda: agent.machine("m", initial=("a", 1, 2), states={}),
        "invalid-state",
        r"give the key of a child state, or \(key, input\)",
    ),
    ("a choice by name", lambda: agent.choice("b"), "invalid-state", r"choice\('b'\): give a function"),
    ("one event class for several", lambda: il.setup_agent(events=Ask), "invalid-event-class", r"write events=\[...\]"),
    (
        "a list of models",
        lambda: il.setup_agent(events=[Ask], models=["quick"]),
        "invalid-model",
        "models=\\['quick'\\]: give aliases",
    ),
    ("a machine named by a number", lambda: agent.machine(3, initial="a", states={}), "invalid-key", "name is a text"),
    ("a kind that is none", machine({"a": agent.state()}, kind="paralel"), "invalid-state", "kind='paralel'"),
    (
        "a context made from too much",
        machine({"a": agent.state()}, context=lambda one, two: Game()),
        "invalid-handler",
        r"machine 'm': context=: .* is called with \(input\)",
    ),
    (
        "a delay computed from nothing",
        machine({"a": agent.state()}, delays={"x": lambda: 3}),
        "invalid-handler",
        r"delays\['x'\]",
    ),
    (
        "a migration that is none",
        machine({"a": agent.state()}, migrate=3),
        "invalid-handler",
        r"\(dump, from_version\)",
    ),
    ("a source named by a number", machine({"a": agent.state()}, sources={3: print}), "invalid-key", "sources="),
    ("a value to be called", lambda: agent.call(3), "invalid-call", r"call\(3\): give a function"),
    (
        "an argument that is no JSON",
        lambda: agent.call(fetch, input={"url": {1, 2}}),
        "invalid-type",
        r"call\(fetch, input=\) cannot be written as JSON",
    ),
    (
        "an instance as an event",
        lambda: agent.on(Ask(question=""), "b"),
        "invalid-descriptor",
        "give an event class, its type, or a pattern",
    ),
    ("a reaction to nothing", state(on=[agent.on("", "b")]), "invalid-descriptor", "'' is no event type"),
]

ROWS = [*STATES, *FUNCTIONS, *DECLARED, *CHILDREN, *NARROW, *SHAPES]
