"""Machines that cannot be, by what is written as a value: ids, inputs, words, tools. Each row is one mistake."""

from collections.abc import Callable
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

ROWS = [*ENDS, *IDS, *SPAWNED, *WORDS, *NARROW]
