"""What is declared is kept: types of ends, inputs of states, emitted events, names of models."""

from dataclasses import dataclass
from typing import Any, cast

import pytest
from pydantic import BaseModel

import interlock.agent as il
import interlock.statechart as sc
from interlock.errors import HandlerError, InputError


class Go(il.Event):
    text: str = "x"


class Progress(il.Event):
    done: int


class Hint(il.Event, type="ui.hint"):
    pass


class Work(BaseModel, frozen=True):
    text: str = ""
    count: int = 0


class Summary(BaseModel):
    words: tuple[str, ...]


class Sides(BaseModel):
    left: Summary
    right: int


agent = il.setup_agent(context=Work, events=[Go], emits=[Progress, Hint])


def length(text: str) -> int:
    return len(text)


def run(machine: sc.Machine, *events: object) -> tuple[sc.Snapshot, tuple[sc.Effect, ...]]:
    snapshot, effects = sc.initial_transition(machine, at=0)
    for event in events:
        snapshot, effects = sc.transition(machine, snapshot, event, at=0)
    return snapshot, effects


# -- outputs of states -------------------------------------------------------------------------------------------------


def summed(output: object, done: sc.Transition) -> sc.Machine:
    return agent.machine(
        "summed",
        initial="a",
        states={
            "a": agent.state(
                initial="b",
                states={"b": agent.state(on=[agent.on(Go, "c")]), "c": agent.end(output=lambda _: output)},
                on_done=done,
            ),
            "over": agent.final(),
            "other": agent.final(),
        },
    )


def to_over(_: Work, summary: Summary) -> sc.Move:
    assert type(summary) is Summary
    return agent.goto("over", text=" ".join(summary.words))


def test_the_handler_of_a_state_that_is_done_gets_the_declared_type():
    machine = summed(Summary(words=("x", "y")), agent.done(Summary, to_over))
    snapshot, _ = run(machine, Go())
    assert (snapshot.value, snapshot.context.text) == ("over", "x y")


def test_its_guard_does_too():
    guarded = agent.done(Summary, "over", guard=lambda _, summary: len(summary.words) > 1)
    assert run(summed(Summary(words=("x", "y")), guarded), Go())[0].value == "over"
    assert run(summed(Summary(words=("x",)), guarded), Go())[0].value == {"a": "c"}


def test_an_output_of_another_type_is_named():
    with pytest.raises(
        HandlerError,
        match=r"state 'a', event '@done.state.summed.a': to_over .* the state's output .* is no Summary, which "
        r"agent.done\(Summary, ...\) declares: words: Input should",
    ):
        run(summed({"words": 3}, agent.done(Summary, to_over)), Go())


def test_targets_of_such_a_handler_are_known():
    assert agent.done(Summary, to_over).targets == ("over",)


def test_regions_are_done_together():
    machine = agent.machine(
        "sides",
        initial="both",
        states={
            "both": agent.parallel(
                states={
                    "left": agent.state(
                        initial="on",
                        states={
                            "on": agent.state(on=[agent.on(Go, "off")]),
                            "off": agent.end(output=Summary(words=())),
                        },
                    ),
                    "right": agent.state(initial="off", states={"off": agent.end(output=3)}),
                },
                on_done=agent.done(
                    Sides, lambda _, sides: agent.goto("over", count=len(sides.left.words) + sides.right)
                ),
            ),
            "over": agent.final(),
        },
    )
    assert run(machine, Go())[0].context.count == 3


# -- inputs of states --------------------------------------------------------------------------------------------------


def test_a_state_sees_the_input_that_it_was_given():
    machine = agent.machine(
        "inputs",
        initial=("a", "first"),
        states={
            "a": agent.state(
                on=[
                    agent.on_at(
                        Go, lambda _, go, at: agent.goto("a", text=f"{at.input} {go.text}").with_input("second")
                    ),
                ]
            )
        },
    )
    assert run(machine, Go())[0].context.text == "first x"
    assert run(machine, Go(), Go())[0].context.text == "second x"


def test_a_state_may_do_several_things_at_once():
    machine = agent.machine(
        "several",
        context=Work(text="four"),
        initial="a",
        states={
            "a": agent.state(
                entry=agent.stay(count=1),
                invoke=[
                    agent.call(
                        length, id="one", input={"text": "x"}, on_done=lambda c, n: agent.stay(count=c.count + n)
                    ),
                    agent.call(
                        length, id="two", input=lambda c: {"text": c.text}, on_done=lambda c, n: agent.stay(count=n)
                    ),
                ],
                exit=lambda c: agent.stay(text="left"),
                on=[agent.on(Go, "b")],
            ),
            "b": agent.state(),
        },
    )
    snapshot, _ = run(machine, sc.Input.done("one", 4))
    assert snapshot.context.count == 5
    assert [owed.id for owed in sc.owed(snapshot).invocations] == ["two"]
    assert run(machine, Go())[0].context == Work(text="left", count=1)


# -- emitted events ----------------------------------------------------------------------------------------------------


def emitting(then: object) -> sc.Machine:
    return agent.machine("emitting", initial="a", states={"a": agent.state(on=[agent.on(Go, then)])})


def test_declared_events_may_be_emitted():
    move = agent.stay(count=1).emit(Progress(done=1)).emit("ui.hint").emit({"type": "Progress", "done": 2})
    for then in (move, lambda *_: move):
        _, effects = run(emitting(then), Go())
        assert [effect.event.type for effect in effects if isinstance(effect, sc.Emit)] == [
            "Progress",
            "ui.hint",
            "Progress",
        ]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Go(), r"does not declare Go\."),
        ("Progres", r"there is no event 'Progres' here\. Did you mean 'Progress'"),
        ({"type": "Progress", "done": "all"}, "done: Input should be a valid integer"),
    ],
)
def test_no_other_event_may_be(event: object, message: str):
    with pytest.raises(HandlerError, match=rf"state 'a', event 'Go'.*the move emits .*: .*{message}"):
        run(emitting(lambda *_: agent.stay().emit(event)), Go())


def test_where_nothing_is_declared_anything_may_be_emitted():
    free = il.setup_agent(context=Work, events=[Go])
    machine = free.machine(
        "free", initial="a", states={"a": free.state(on=[free.on(Go, free.stay().emit("whatever"))])}
    )
    assert len(run(machine, Go())[1]) == 1


# -- models ------------------------------------------------------------------------------------------------------------


def test_models_have_aliases_and_other_references_stay_what_they_are():
    models = {"quick": "small-house/tiny-1", "deep": "big-house/family/huge-2"}
    speaking = il.setup_agent(context=Work, events=[Go], models=models)
    assert speaking.models == models
    for model in ("quick", "small-house/tiny-1", "anything/else", "unlike-them-all"):
        speaking.machine(
            "m",
            initial="a",
            states={"a": speaking.state(invoke=speaking.decide(model=model), on=[speaking.on(Go, "a")])},
        )


@pytest.mark.parametrize(
    ("ref", "provider", "id"),
    [
        ("a/b", "a", "b"),
        ("a/b/c", "a", "b/c"),
        ("quick", None, "quick"),
        ("/x", None, "/x"),
        ("x/", None, "x/"),
        ("", None, ""),
    ],
)
def test_a_reference_is_split_at_its_first_slash(ref: str, provider: str | None, id: str):
    assert il.parse_model_ref(ref) == (provider, id)


def test_a_request_that_names_no_model_has_no_reference():
    with pytest.raises(InputError, match=r"parse_model_ref\(None\): give the name of a model"):
        il.parse_model_ref(cast("Any", None))


# -- functions ---------------------------------------------------------------------------------------------------------


@dataclass
class Handler:
    move: sc.Move

    def __call__(self, context: Work, go: Go) -> sc.Move:
        return self.move

    def method(self, context: Work, go: Go, *, often: int = 1) -> sc.Move:
        return self.move


def test_whatever_can_be_called_is_a_handler():
    handler = Handler(agent.goto("b"))

    def optional(context: Work, go: Go, more: int = 3) -> sc.Move:
        return agent.goto("b")

    for then in (handler, handler.method, optional, lambda *given: agent.goto("b")):
        machine = agent.machine(
            "callable", initial="a", states={"a": agent.state(on=[agent.on(Go, then)]), "b": agent.state()}
        )
        assert run(machine, Go())[0].value == "b"
