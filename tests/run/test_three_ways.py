"""The law of the one path: by hand, by the driver and by its log a machine comes to the same end, by the same entries.

What is called settles in the order in which it is owed: a gate lets the first go when all have come, then again the
first of what is owed after that step. A host that steps by hand always resolves the first of what is owed.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc
from interlock.journal import diff, replay, state_hash
from tests.durable.desk import Again, Approve, desk
from tests.guessing import Reply, game
from tests.run import test_determinism as determinism
from tests.run.machines import deciding_pair, work
from tests.run.ways import Example, Gate, Way, by_hand, by_runs, by_session, said
from tests.run.writing import Letter, add, calls, look_up, writer

# -- machines with answers -------------------------------------------------------------------------------------------


def at_the_desk() -> Example:
    async def stamp_(gate: Gate, topic: str) -> int:
        await gate("call:stamp")
        return len(topic)

    def build(gate: Gate) -> Any:
        async def stamp(topic: str) -> int:
            return await stamp_(gate, topic)

        return desk(stamp, delay=5.0)

    def decide(request: il.DecisionRequest) -> il.Choice:
        if request.name == "take" and not request.attempts:
            return il.Choice({"type": "Approve", "by": "the model"}, usage=il.Usage(output_tokens=1))
        event = {"type": "Accept", "topic": "rain"} if request.name == "take" else {"type": "Fine"}
        return il.Choice(event, reason="so it seems", usage=il.Usage(input_tokens=2))

    def write(request: il.TextRequest) -> il.TextResult:
        if request.name == "letter" and not request.turns:
            return il.TextResult(tool_calls=(il.ToolCall("1", "weigh", {"grams": 20}),))
        return il.TextResult(output=f"{request.name}: {request.prompt}", finish_reason="stop")

    return Example(build=build, decide=decide, write=write, events=(Again(), Approve(by="Ada")), gated=False)


def guessing() -> Example:
    def decide(request: il.DecisionRequest) -> il.Choice:
        if request.prompt and request.prompt.count("A: ") == 2:
            return il.Choice({"type": "Guess", "guess": "a cat"}, reason="what else")
        if len(request.attempts) < 2:
            return il.Choice({"type": "Ask"} if request.attempts else {"type": "Reply", "answer": "yes"})
        return il.Choice({"type": "Ask", "question": f"Is it {len(request.prompt or '')}?"})

    events = (Reply(answer="yes"), Reply(answer="no"))
    return Example(build=lambda gate: game(), decide=decide, events=events)


def out_of_questions() -> Example:
    def decide(request: il.DecisionRequest) -> il.Choice:
        return il.Choice({"type": "Ask", "question": "Is it?"})

    return Example(build=lambda gate: game(2), decide=decide, events=(Reply(answer="yes"), Reply(answer="no")))


def always_wrong(on_error: Any) -> Example:
    return Example(
        build=lambda gate: game(on_error=on_error), decide=lambda request: il.Choice({"type": "Fly"}, usage=il.Usage())
    )


def decider_fails() -> Example:
    def decide(request: il.DecisionRequest) -> il.Choice:
        raise OSError("no line")

    return Example(build=lambda gate: game(), decide=decide)


def pair() -> Example:
    def decide(request: il.DecisionRequest) -> il.Choice:
        return il.Choice({"type": "Fly" if len(request.attempts) < 1 else request.name or ""})

    return Example(build=lambda gate: deciding_pair(), decide=decide)


def working(*, parallel: bool, fails: bool) -> Example:
    def build(gate: Gate) -> Any:
        def function(name: str) -> Callable[[], Awaitable[object]]:
            async def called() -> object:
                await gate(f"call:{name}")
                if fails and name == "b":
                    raise ValueError(name)
                return {"name": name, "all": [1, 2.5, None]}

            return called

        return work({name: function(name) for name in "abc"}, parallel=parallel)

    return Example(build=build)


def determined() -> Example:
    def build(gate: Gate) -> Any:
        async def meet() -> None:
            await gate("call:gate")

        return determinism.machine(meet)  # type: ignore[arg-type]

    def decide(request: il.DecisionRequest) -> il.Choice:
        return il.Choice({"type": "Fly" if not request.attempts else request.name or ""})

    return Example(build=build, decide=decide)


def written_with_tools() -> Example:
    def build(gate: Gate) -> Any:
        async def meet() -> None:
            await gate("tool:meet")

        return determinism.writing(meet)  # type: ignore[arg-type]

    def write(request: il.TextRequest) -> il.TextResult:
        two = tuple(il.ToolCall("", "meet", {"n": n}) for n in range(2))
        return (
            il.TextResult(tool_calls=two) if request.max_steps - request.steps_remaining < 2 else il.TextResult("over")
        )

    # Both texts call a tool of the same name with the same arguments: which is which, only the order of calls tells.
    return Example(build=build, write=write, gated=False)


def turns(*answers: Any, mode: str = "generate", gated: bool = True, **fields: Any) -> Example:
    """One text whose turns these are."""

    def write(request: il.TextRequest) -> il.TextResult:
        answer = answers[request.max_steps - request.steps_remaining]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Example(build=lambda gate: writer(mode, **fields), write=write, gated=gated)


class Stop(il.Event, actor="human"):
    """Stop everything."""


class Pick(il.Event):
    """Pick a number."""

    number: int


class Note(il.Event, actor="human"):
    """Say something in between."""

    word: str


class Never(il.Event):
    """What is never legal."""


class All(BaseModel, frozen=True):
    number: int = 0
    words: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


class Given(BaseModel, frozen=True):
    words: tuple[str, ...] = ("x",)


def planning(*, atomic: bool) -> Example:
    """A plan beside a text: picks that are sent one by one, or tried out first and sent together."""
    agent = il.setup_agent(context=All, events=[Pick], output=dict[str, object])

    def build(gate: Gate) -> Any:
        def over(c: All, result: Any) -> Any:
            return agent.goto("off", words=(*c.words, result.stopped, str(len(result.steps))))

        plan = agent.plan(name="plan", model="m", prompt=lambda c: str(c.number), atomic=atomic, on_done=over)
        text = agent.generate_text(
            name="text", model="m", prompt="?", on_done=lambda c, out: agent.goto("off", words=(*c.words, out))
        )
        return agent.machine(
            "planning",
            context=All(),
            initial="busy",
            states={
                "busy": agent.parallel(
                    states={
                        "plan": agent.state(
                            initial="on",
                            states={
                                "on": agent.state(
                                    invoke=plan,
                                    on=[
                                        agent.on(
                                            Pick,
                                            lambda c, e: agent.stay(number=c.number + e.number),
                                            guard=lambda c, e: c.number + e.number < 9,
                                        )
                                    ],
                                ),
                                "off": agent.end(),
                            },
                        ),
                        "text": agent.state(initial="on", states={"on": agent.state(invoke=text), "off": agent.end()}),
                    },
                    on_done="over",
                ),
                "over": agent.final(output=lambda c: c.model_dump(mode="json")),
            },
        )

    def decide(request: il.DecisionRequest) -> il.Choice:
        tries = [{"type": "Pick", "number": 4}, {"type": "Pick", "number": 2}, {"type": "agent.plan.done"}]
        return il.Choice(tries[min(len(request.attempts), 2)], usage=il.Usage(input_tokens=1))

    return Example(build=build, decide=decide, write=lambda request: il.TextResult("a text"))


def all_at_once() -> Example:
    """Everything side by side: a decision, texts with tools, a function that fails, a child, nothing legal, a timer."""
    agent = il.setup_agent(context=All, events=[Pick, Never, Stop, Note], input=Given, output=dict[str, object])
    child_agent = il.setup_agent(context=Given, events=[Pick], output=str)

    def build(gate: Gate) -> Any:
        def look(name: str) -> il.Tool:
            async def found(word: str) -> dict[str, object]:
                await gate(f"tool:look_{name}")
                if word == "y":
                    raise KeyError(word)
                return {"word": word}

            return il.tool(found, name=f"look_{name}", description="Look a word up.")

        async def fail(number: int) -> int:
            await gate("call:fail")
            raise ValueError("no number")

        async def count(number: int) -> int:
            await gate("call:count")
            return number + 1

        def heard(c: All, error: Any) -> Any:
            return agent.goto("off", errors=(*c.errors, error.code))

        def said_(c: All, out: str) -> Any:
            return agent.goto("off", words=(*c.words, out))

        def region(invoke: Any, **more: Any) -> sc.State:
            return agent.state(initial="on", states={"on": agent.state(invoke=invoke, **more), "off": agent.end()})

        sides = {
            name: child_agent.state(
                initial="ask",
                states={
                    "ask": child_agent.state(
                        invoke=child_agent.decide(name=name, model="m", prompt=name),
                        on=[child_agent.on(Pick, "write", guard=lambda c, e: e.number > 1)],
                    ),
                    "write": child_agent.state(
                        invoke=child_agent.generate_text(name=name, model="m", prompt=name, on_done="over")
                    ),
                    "over": child_agent.end(),
                },
            )
            for name in ("left", "right")
        }
        child = child_agent.machine(
            "child",
            context=Given(),
            initial="both",
            states={
                "both": child_agent.parallel(states=sides, on_done="end"),
                "end": child_agent.final(output=lambda c: " ".join(c.words)),
            },
        )
        text = agent.generate_text
        return agent.machine(
            "all",
            context=lambda given: All(words=given.words),
            initial="busy",
            states={
                "busy": agent.parallel(
                    states={
                        "pick": region(
                            agent.decide(name="pick", model="m", prompt=lambda c: " ".join(c.words) or "?"),
                            on=[agent.on(Pick, lambda c, e: agent.goto("off", number=e.number))],
                        ),
                        "never": region(
                            agent.decide(name="never", model="m", prompt="?", allowed_events=[Never], on_error=heard),
                            on=[agent.on(Never, "off", guard=lambda c, e: c.number < 0)],
                        ),
                        "one": region(
                            text(
                                name="one", model="m", prompt=lambda c: str(c.words), tools=[look("one")], on_done=said_
                            )
                        ),
                        "two": region(
                            agent.stream_text(
                                name="two", model="m", prompt=lambda c: str(c.words), tools=[look("two")], on_done=said_
                            )
                        ),
                        "fail": region(agent.call(fail, name="fail", input=lambda c: c.number, on_error=heard)),
                        "child": region(agent.child(child, on_done=said_)),
                        "late": agent.state(
                            initial="on",
                            states={
                                "on": agent.state(
                                    invoke=agent.call(count, name="count", input=lambda c: c.number, on_done="wait")
                                ),
                                "wait": agent.state(after=[agent.after(2.5, "off")]),
                                "off": agent.end(),
                            },
                        ),
                    },
                    on=[
                        agent.on(Stop, "over"),
                        agent.on(Note, lambda c, e: agent.stay(words=(*c.words, e.word))),
                    ],
                    on_done="resting",
                ),
                "resting": agent.state(on=[agent.on(Stop, "over")]),
                "over": agent.final(output=lambda c: c.model_dump(mode="json")),
            },
        )

    def decide(request: il.DecisionRequest) -> il.Choice:
        if request.name == "left" and not request.attempts:
            return il.Choice({"type": "Pick", "number": 1}, reason="too small")
        number = {"pick": 7, "left": 2, "right": 3}[request.name or ""]
        return il.Choice({"type": "Pick", "number": number}, usage=il.Usage(total_tokens=number))

    def write(request: il.TextRequest) -> il.TextResult:
        turn = request.max_steps - request.steps_remaining
        if request.tools and turn == 0:
            look = f"look_{request.name}"
            asked = [(look, {"word": "x"}), ("lock", {}), (look, {"word": "y"}), (look, {"world": 1})]
            named = [il.ToolCall("", name, given) for name, given in asked]
            return il.TextResult(output="let me see", tool_calls=tuple(named), finish_reason="tool-calls")
        if request.tools and turn == 1:
            return il.TextResult(
                tool_calls=(il.ToolCall("", f"look_{request.name}", {"word": "z"}),), usage=il.Usage(input_tokens=1)
            )
        return il.TextResult(output=f"{request.name} of {len(request.turns)}")

    return Example(build=build, decide=decide, write=write, input=Given(words=("a", "b")), events=(Stop(),))


EXAMPLES: dict[str, Callable[[], Example]] = {
    "desk": at_the_desk,
    "game": guessing,
    "out-of-questions": out_of_questions,
    "always-wrong": lambda: always_wrong("stumped"),
    "always-wrong-unheard": lambda: always_wrong(None),
    "decider-fails": decider_fails,
    "pair": pair,
    "work": lambda: working(parallel=False, fails=False),
    "parallel-work": lambda: working(parallel=True, fails=False),
    "work-that-fails": lambda: working(parallel=False, fails=True),
    "parallel-work-that-fails": lambda: working(parallel=True, fails=True),
    "determined": determined,
    "tools": written_with_tools,
    "all-at-once": all_at_once,
    "plan": lambda: planning(atomic=False),
    "atomic-plan": lambda: planning(atomic=True),
    "text": lambda: turns(il.TextResult("a text", usage=il.Usage(input_tokens=1), finish_reason="stop")),
    "text-in-pieces": lambda: turns(il.TextResult("a text"), mode="stream"),
    "letter": lambda: turns(il.TextResult({"subject": "rain"}), output=Letter),
    "no-letter": lambda: turns(il.TextResult({"object": "rain"}), output=Letter),
    "nothing": lambda: turns(il.TextResult()),
    "cut-off": lambda: turns(il.TextResult({"subject": "ra"}, finish_reason="length"), output=Letter),
    "held-back": lambda: turns(il.TextResult("I will", finish_reason="content-filter")),
    "own-messages": lambda: turns(il.TextResult("a text", messages=(il.assistant_message("thinking"),))),
    "writer-fails": lambda: turns(OSError("no line")),
    "writer-fails-unheard": lambda: turns(OSError("no line"), on_error=False),
    "uses-tools": lambda: turns(
        calls("look_up", "look_up", word="rain"),
        calls("add", a=1, b="x"),
        calls("nothing"),
        calls("look_up", word="missing"),
        il.TextResult("at last"),
        tools=[look_up, add],
        gated=False,
    ),
    "too-many-steps": lambda: turns(calls("add", a=1), calls("add", a=2), tools=[add], max_steps=2, gated=False),
}

WAYS = {"session": by_session, "runs": by_runs}


def assert_same(one: Way, other: Way) -> None:
    for mine, its in zip(said(one.log), said(other.log), strict=False):
        assert mine == its
    assert len(said(one.log)) == len(said(other.log))
    assert one.snapshot == other.snapshot
    assert json.dumps(one.snapshot.dump()) == json.dumps(other.snapshot.dump())


def assert_replays(machine: il.Machine[Any, Any, Any], way: Way) -> None:
    found = replay(machine, way.log, verify="strict")
    assert found.snapshot == way.snapshot
    assert json.dumps(found.snapshot.dump()) == json.dumps(way.snapshot.dump())
    assert found.head.state_hash == state_hash(way.snapshot) == way.log[-1].state_hash
    # Also as text, as stores keep it, and from there the same is owed.
    texts = [entry.to_text() for entry in way.log]
    assert [il.LogEntry.from_json(text).to_text() for text in texts] == texts
    assert tuple(map(il.LogEntry.from_json, texts)) == way.log
    gone_on = il.initial_agent_step(machine, entries=way.log)
    assert (gone_on.snapshot, gone_on.entries) == (way.snapshot, ())
    assert gone_on.head.causes == found.head.causes


@pytest.mark.parametrize("name", EXAMPLES)
async def test_by_hand_by_the_driver_and_by_the_log_it_is_the_same(name: str):
    example = EXAMPLES[name]()
    hand = await by_hand(example)
    assert_replays(example.machine, hand)
    for go in WAYS.values():
        way = await go(example)
        assert_same(hand, way)
        assert_replays(example.machine, way)
    assert_same(hand, await by_hand(example, restarted=True))


@pytest.mark.parametrize("name", EXAMPLES)
async def test_it_ends_as_it_should(name: str):
    example = EXAMPLES[name]()
    hand = await by_hand(example)
    ends = {
        "always-wrong-unheard": "error",
        "work-that-fails": "error",
        "parallel-work-that-fails": "error",
        "writer-fails-unheard": "error",
    }
    assert hand.snapshot.status == ends.get(name, "done")
    assert hand.log[-1].status == hand.snapshot.status


class Drawn:
    """Draws whose turn it is."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def __call__(self, most: int) -> int:
        return self.random.randrange(most)


CONCURRENT = [
    "desk",
    "pair",
    "parallel-work",
    "parallel-work-that-fails",
    "determined",
    "tools",
    "all-at-once",
    "plan",
    "atomic-plan",
]


async def check_order(name: str, seed: int) -> None:
    example = EXAMPLES[name]()
    hand = await by_hand(example, Drawn(seed))
    assert_replays(example.machine, hand)
    for go in WAYS.values():
        way = await go(example, Drawn(seed))
        assert_replays(example.machine, way)
        if example.gated:
            assert_same(hand, way)
    compared = diff(example.machine, hand.log, (await by_hand(example)).log)
    assert (compared.left == ()) == (compared.right == ())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CONCURRENT)
async def test_in_whatever_order_a_log_leads_to_its_own_end(name: str, seed: int):
    await check_order(name, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
@pytest.mark.parametrize("name", CONCURRENT)
async def test_in_many_more_orders_too(name: str, seed: int):
    await check_order(name, seed)


@pytest.mark.parametrize("name", EXAMPLES)
async def test_any_part_of_a_log_can_be_gone_on_from(name: str):
    example = EXAMPLES[name]()
    hand = await by_hand(example)
    for length in range(1, len(hand.log) + 1):
        part = hand.log[:length]
        step = il.initial_agent_step(example.machine, entries=part, at=part[-1].recorded_at)
        # What would have followed without anybody being asked follows now.
        whole = hand.log[length : length + len(step.entries)]
        assert [entry.happened() for entry in step.entries] == [entry.happened() for entry in whole]
        assert step.head.state_hash == hand.log[length - 1 + len(step.entries)].state_hash


async def check_interrupted(turn: int, event: il.Event, seed: int) -> None:
    example = all_at_once()
    hand = await by_hand(example, Drawn(seed), interrupt=(turn, event))
    assert_replays(example.machine, hand)
    way = await by_session(example, Drawn(seed), interrupt=(turn, event))
    assert_same(hand, way)
    assert_same(hand, await by_hand(example, Drawn(seed), interrupt=(turn, event), restarted=True))
    assert [entry.type for entry in hand.log].count(event.type) == 1


INTERRUPTS = pytest.mark.parametrize("event", [Stop(), Note(word="ah")], ids=["stop", "note"])


@INTERRUPTS
@pytest.mark.parametrize("turn", [0, 1, 4, 9])
async def test_an_event_in_the_middle_changes_both_alike(turn: int, event: il.Event):
    await check_interrupted(turn, event, turn)


@pytest.mark.slow
@INTERRUPTS
@pytest.mark.parametrize("seed", range(20, 26))
@pytest.mark.parametrize("turn", range(18))
async def test_an_event_at_any_moment_changes_both_alike(turn: int, event: il.Event, seed: int):
    await check_interrupted(turn, event, seed)
