"""Machines that cannot be, by what is written as a value: ids, inputs, words, tools. Each row is one mistake."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from pydantic import BaseModel

import interlock.agent as il
import interlock.statechart as sc

Row = tuple[str, Callable[[], object], str, str]


class Ask(il.Event):
    question: str


class Reply(il.Event, actor="human"):
    pass


class Game(BaseModel, frozen=True):
    left: int = 3
    guess: str | None = None


class Guessed(Game, frozen=True):
    guess: str


class Topic(BaseModel):
    question: str


agent = il.setup_agent(context=Game, events=[Ask, Reply])
judged = il.setup_agent(context=Game, events=[Ask], output=str)
guessed = agent.narrow(Guessed)
asked = il.setup_agent(context=Game, events=[Ask], input=Topic, output=str)
child = asked.machine(
    "child", context=lambda topic: Game(guess=topic.question), initial="a", states={"a": asked.final(output="x")}
)


def fetch(url: str = "") -> int:
    return len(url)


async def late(given: object) -> str:
    return "x"


def no_argument() -> list[Any]:
    return []


def state(**fields: Any) -> Callable[[], object]:
    return lambda: agent.machine(
        "m", initial="a", sources={"child": child}, states={"a": agent.state(**fields), "b": agent.state()}
    )


def work(make: Callable[[], sc.Invoke], **fields: Any) -> Callable[[], object]:
    def build() -> object:
        return state(invoke=make(), on=[agent.on(Ask, "b")], **fields)()

    return build


def regions(left: sc.State, right: sc.State, **fields: Any) -> Callable[[], object]:
    return lambda: agent.machine(
        "m", initial="a", states={"a": agent.parallel(states={"left": left, "right": right}, **fields)}
    )


def busy(**fields: Any) -> sc.State:
    return agent.state(invoke=agent.call(fetch, id="w"), **fields)


def spawning(**fields: Any) -> Callable[[], object]:
    return state(entry=agent.stay().spawn("child", **fields))


def words(**fields: Any) -> Callable[[], object]:
    return lambda: il.text_request("t", input=str, **{"model": "q", "prompt": "x", **fields})


ENDS: list[Row] = [
    (
        "regions that end a machine without its output",
        lambda: judged.machine("m", kind="parallel", states={"a": judged.end(), "b": judged.end(output="x")}),
        "invalid-state",
        r"machine 'm': state '\(root\)': kind='parallel': .* ends without an output, .* agent\.final\(output=\.\.\.\)",
    ),
]

IDS: list[Row] = [
    (
        "one id in two regions",
        regions(busy(), busy()),
        "duplicate-id",
        r"machine 'm': state 'a\.right': state 'a\.left', which may be active with it, .* the id 'w' as well",
    ),
    (
        "one id in states of two regions",
        regions(
            agent.state(initial="x", states={"x": agent.state(), "y": busy()}),
            agent.state(initial="x", states={"x": agent.state(), "y": busy()}),
        ),
        "duplicate-id",
        r"state 'a\.right\.y': state 'a\.left\.y'",
    ),
    (
        "one id in a state and the first state inside it",
        lambda: agent.machine("m", initial="a", states={"a": busy(initial="x", states={"x": busy()})}),
        "duplicate-id",
        r"state 'a\.x': state 'a'",
    ),
    (
        "one id in a state and a region inside it",
        regions(busy(), agent.state(), invoke=agent.call(fetch, id="w")),
        "duplicate-id",
        r"state 'a\.left': state 'a'",
    ),
]

SPAWNED: list[Row] = [
    ("a child is spawned without its input", spawning(id="x"), "invalid-child", r"spawns 'child' without an input: "),
    (
        "a child is spawned with another input",
        spawning(id="x", input={"qestion": "x"}),
        "invalid-child",
        r"machine 'm': state 'a': entry: the move spawns 'child' with input=.*question: Field required",
    ),
    (
        "a child is spawned with what JSON cannot carry",
        spawning(id="x", input={"question": object()}),
        "invalid-child",
        "a value of type object cannot be kept",
    ),
    (
        "a child is spawned under a path",
        spawning(id="x/y", input=Topic(question="")),
        "invalid-key",
        r"spawn\('child', id='x/y'\): 'x/y', which cannot be a child's id",
    ),
    (
        "a child is spawned under the name of a source that is none for it",
        lambda: agent.machine(
            "m",
            initial="a",
            sources={"team/fetch": fetch},
            states={"a": agent.state(entry=agent.stay().spawn("team/fetch"))},
        ),
        "invalid-key",
        r"without an id= is called 'team/fetch'",
    ),
]

SPAWNED += [
    (
        "a function is spawned with an argument that it does not take",
        lambda: agent.machine(
            "m",
            initial="a",
            sources={"fetch": fetch},
            states={"a": agent.state(entry=agent.stay().spawn("fetch", input={"ulr": "x"}))},
        ),
        "invalid-call",
        r"the move spawns 'fetch': the function takes \(url: str.* Did you mean 'url'",
    ),
    (
        "a decision is spawned",
        work(lambda: agent.decide(prompt="x"), entry=agent.stay().spawn("agent.decide")),
        "reserved-name",
        r"state 'a': entry: the move spawns 'agent\.decide', which is the library's own",
    ),
    *(
        (
            f"an event is raised after {delay!r}",
            state(entry=agent.stay().raise_(Ask(question=""), delay=delay)),
            "invalid-delay",
            "entry: the delay .* is none; give seconds",
        )
        for delay in (-1, float("nan"), True, timedelta(seconds=-1))
    ),
]

WORDS: list[Row] = [
    (
        "a prompt of a request that is async",
        words(prompt=late),
        "invalid-handler",
        r"text request 't': prompt=: .*late",
    ),
    (
        "a prompt of a request that takes nothing",
        words(prompt=lambda: "x"),
        "invalid-handler",
        r"text request 't': prompt=: .* takes \(\), but is called with \(input\)",
    ),
    ("a model of a request that takes two", words(model=lambda a, b: "x"), "invalid-handler", r"'t': model=: "),
    ("tools of a request that take nothing", words(tools=no_argument), "invalid-handler", r"'t': tools=: "),
    (
        "messages of a request that take nothing",
        words(prompt=None, messages=no_argument),
        "invalid-handler",
        r"'t': messages=: ",
    ),
    (
        "a prompt and a function of messages",
        lambda: agent.decide(prompt="x", messages=lambda game: []),
        "invalid-decision",
        r"decide\(\.\.\.\): prompt and messages say the same thing",
    ),
    (
        "a plan with two prompts",
        lambda: agent.plan(prompt=lambda game: "x", messages=lambda game: []),
        "invalid-decision",
        r"plan\(\.\.\.\): prompt and messages say the same thing",
    ),
    (
        "the tool of an event with a typing error",
        work(lambda: agent.act(prompt="x", tool_choice="send_event_Asc")),
        "unknown-tool",
        r"machine 'm': state 'a': act\(tool_choice='send_event_Asc'\): .* Did you mean 'send_event_Ask'",
    ),
    (
        "the tool of an event for people",
        work(lambda: agent.act(prompt="x", tool_choice="send_event_Reply")),
        "unknown-tool",
        r"only a person may send 'Reply'",
    ),
    (
        "a tool that is not there",
        lambda: agent.act(prompt="x", tools=[fetch], tool_choice="fech"),
        "unknown-tool",
        "no tool of the request has that name. Did you mean 'fetch'",
    ),
]

NARROW: list[Row] = [
    (
        f"a narrow {name}",
        work(make),
        "invalid-context",
        rf"state 'a': {slot}: this function takes a context of type Guessed",
    )
    for name, make, slot in (
        (
            "choice of events",
            lambda: guessed.decide(prompt="x", allowed_events=lambda game: [Ask]),
            "invoke agent.decide: allowed_events",
        ),
        (
            "list of options",
            lambda: guessed.decide(prompt="x", options=lambda game: [Ask(question=game.guess)]),
            "invoke agent.decide: options",
        ),
        (
            "list of tools",
            lambda: guessed.generate_text(prompt="x", tools=lambda game: []),
            "invoke agent.generate_text: tools",
        ),
        (
            "question to a person",
            lambda: guessed.user_input(lambda game: game.guess),
            "invoke agent.user_input: prompt",
        ),
        (
            "label of work",
            lambda: guessed.decide(prompt="x", meta={"interaction": {"label": lambda game: game.guess}}),
            "invoke agent.decide: meta",
        ),
    )
]
NARROW += [
    (
        "a narrow guard of what a child reports",
        state(on=[guessed.on_child_done(child, "b", guard=lambda game, done: game.guess == done.output)]),
        "invalid-context",
        "guard: this function takes a context of type Guessed",
    ),
    (
        "a narrow guard that sees where the machine stands",
        state(on=[guessed.on(Ask, "b", guard=sc.with_at(lambda game, ask, at: bool(game.guess)))]),
        "invalid-context",
        "guard: this function takes a context of type Guessed",
    ),
    (
        "a guard that sees where the machine stands, of too few arguments",
        lambda: agent.on(Ask, "b", guard=sc.with_at(lambda game, ask: True)),
        "invalid-handler",
        r"is called with \(context, event, at\)",
    ),
]

KEYWORDS: list[Row] = [
    (
        f"{word}({name}=)",
        lambda make=make, name=name: make(**{name: "x"}),
        "unknown-keyword",
        rf"^{word}\(\) has no keyword '{name}'{hint}",
    )
    for word, name, make, hint in (
        ("machine", "type", partial(agent.machine, "m"), r": .*\(\.\.\., kind='parallel'\), .* agent\.parallel\("),
        ("machine", "intial", partial(agent.machine, "m"), r"\. Did you mean 'initial'"),
        ("machine", "output", partial(agent.machine, "m"), r": .* agent\.final\(output="),
        ("state", "type", agent.state, r": .* agent\.parallel\(states=\.\.\.\), agent\.final"),
        ("state", "intial", agent.state, r"\. Did you mean 'initial'"),
        ("plan", "stopon", agent.plan, r"\. Did you mean 'stop_on'"),
        ("decide", "option", agent.decide, r"\. Did you mean 'options'"),
        ("call", "inputs", partial(agent.call, fetch), r"\. Did you mean 'input'"),
        ("child", "inputs", partial(agent.child, child), r"\. Did you mean 'input'"),
        ("user_input", "metdata", partial(agent.user_input, "?"), r"\. Did you mean 'metadata'"),
        ("generate_text", "outputs", agent.generate_text, r"\. Did you mean 'output'"),
        ("end", "ouput", agent.end, r"\. Did you mean 'output'"),
        ("text_request", "promt", partial(il.text_request, "t", model="q"), r"\. Did you mean 'prompt'"),
    )
]

HALF = "a\ud800"
"""A text that nothing outside this process can carry."""

ONE: dict[str, Any] = {"initial": "a", "states": {"a": agent.state()}}

HALVES: list[Row] = [
    (f"half a character in {name}", build, code, message)
    for name, build, code, message in (
        (
            "a machine's name",
            lambda: agent.machine(HALF, initial="a", states={"a": agent.state()}),
            "invalid-key",
            "id",
        ),
        ("a state's key", lambda: agent.machine("m", initial=HALF, states={HALF: agent.state()}), "invalid-key", "key"),
        ("a state's id", state(id=HALF), "invalid-key", "state 'a': the id 'a.ud800' holds a lone surrogate"),
        ("an id of work", state(invoke=agent.call(fetch, id=HALF)), "invalid-key", "cannot be an id: it holds a lone"),
        (
            "a name of a source",
            lambda: agent.machine("m", sources={HALF: fetch}, initial="a", states={"a": agent.state()}),
            "invalid-key",
            "sources holds ",
        ),
        (
            "a name of a delay",
            lambda: agent.machine("m", delays={HALF: 3}, initial="a", states={"a": agent.state()}),
            "invalid-key",
            "delays holds ",
        ),
        ("a prompt", lambda: agent.decide(prompt=HALF), "invalid-decision", r"decide\(\.\.\.\): prompt: .* surrogate"),
        ("a system text", lambda: agent.plan(system=HALF), "invalid-decision", "system: .* surrogate"),
        ("a model", lambda: agent.generate_text(prompt="x", model=HALF), "invalid-request", "model: .* surrogate"),
        (
            "a message",
            lambda: agent.decide(messages=[{"role": "user", "content": HALF}]),
            "invalid-decision",
            "messages: .* surrogate",
        ),
        ("metadata", lambda: agent.decide(metadata={"x": [HALF]}), "invalid-decision", "metadata: .*surrogate"),
        (
            "a stop sequence",
            lambda: agent.decide(stop_sequences=[HALF]),
            "invalid-decision",
            "stop_sequences: .*lone",
        ),
        (
            "a decision's name",
            lambda: agent.decide(name=HALF),
            "invalid-decision",
            "a name is",
        ),
        (
            "a request's name",
            lambda: il.text_request(HALF, model="q", prompt="x"),
            "invalid-request",
            "a name is",
        ),
        ("a question", lambda: agent.user_input(HALF), "invalid-request", r"user_input\(prompt='a.ud800'\): holds"),
        ("a question's metadata", lambda: agent.user_input("x", metadata={"x": HALF}), "invalid-request", "metadata="),
        ("a tool's description", lambda: il.tool(no_argument, description=HALF), "invalid-tool", "its description"),
        ("an argument", lambda: agent.call(fetch, input={"url": HALF}), "invalid-type", "surrogate"),
        (
            "an event's type",
            lambda: il.setup_agent(events=[type("Odd", (il.Event,), {}, type=HALF)]),
            "invalid-event-class",
            "whose type 'a.ud800' holds",
        ),
    )
]
HALVES += [
    (
        "a name of work that is no text",
        lambda: agent.decide(name=3),
        "invalid-decision",
        r"decide\(name=3\): ",
    ),
    ("no name of a question", lambda: agent.user_input("x", name=""), "invalid-request", r"user_input\(name=''\)"),
    (
        "metadata that is no JSON",
        lambda: agent.user_input("x", metadata={"x": object()}),
        "invalid-request",
        r"user_input\(metadata=\): ",
    ),
]

WORDS += [
    (
        "an executor that is none",
        lambda: il.text_request("t", model="q", prompt="x").with_executor(ODD),
        "invalid-request",
        r"text request 't': with_executor\(3\): give a function",
    ),
]

ODD: Any = 3
"""What is no text, where a text is a name."""

NAMES: list[Row] = [
    (f"a number as {name}", build, code, message)
    for name, build, code, message in (
        ("the id of work", state(invoke=agent.call(fetch, id=ODD)), "invalid-key", "3 cannot be an id"),
        ("the id of a state", state(id=ODD), "invalid-key", "state 'a': id=3 is no text"),
        ("the name of a call", lambda: agent.call(fetch, name=ODD), "invalid-call", r"call\(name=3\): a name is"),
        ("the name of a child", lambda: agent.child(child, name=ODD), "invalid-child", r"child\(name=3\): a name is"),
        (
            "the name of whose end is awaited",
            lambda: agent.on_child_done(child, "b", name=ODD),
            "invalid-child",
            r"child\(name=3\): a name is",
        ),
        ("the id of a spawned child", spawning(id=ODD, input=Topic(question="")), "invalid-key", "id=3"),
        ("a name of what is provided", lambda: child.provide({ODD: fetch}), "unknown-source", r"provide\(\{3: "),
        ("a version", partial(agent.machine, "m", version=ODD, **ONE), "invalid-key", "version=3: a version is a text"),
        (
            "all events",
            lambda: il.setup_agent(events=ODD),
            "invalid-event-class",
            r"events=3 is no list; write events=",
        ),
        ("a target of history", lambda: agent.history(target=ODD), "invalid-target", "3 is no target"),
        ("metadata", lambda: agent.user_input("x", metadata=ODD), "invalid-request", r"user_input\(metadata=\): "),
    )
]

ROWS = [*KEYWORDS, *HALVES, *NAMES, *ENDS, *IDS, *SPAWNED, *WORDS, *NARROW]
