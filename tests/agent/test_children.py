"""Machines that run machines: typed both ways, part of one snapshot, at any depth."""

from datetime import UTC, datetime
from enum import Enum

import pytest
from pydantic import BaseModel

import interlock.agent as il
import interlock.statechart as sc
from interlock.errors import DefinitionError, HandlerError


class Answer(il.Event):
    text: str


class Talk(BaseModel, frozen=True):
    question: str = ""
    answer: str = ""


class Topic(BaseModel):
    question: str
    asked: datetime | None = None


class Mood(Enum):
    GLAD = "glad"


class Outcome(BaseModel):
    answer: str
    mood: Mood = Mood.GLAD
    at: datetime | None = None


talk = il.setup_agent(context=Talk, events=[Answer], input=Topic, output=Outcome)

interview = talk.machine(
    "interview",
    context=lambda topic: Talk(question=topic.question),
    initial="asking",
    states={
        "asking": talk.state(on=[talk.on(Answer, lambda _, answer: talk.goto("over", answer=answer.text))]),
        "over": talk.final(output=lambda context: Outcome(answer=context.answer, at=datetime(2026, 1, 2, tzinfo=UTC))),
    },
)


def fetch() -> int:
    return 1


class Report(BaseModel, frozen=True):
    topic: str = "cats"
    answer: str = ""
    mood: Mood | None = None


report = il.setup_agent(context=Report, events=[Answer], output=str)


def reporting(child: sc.Invoke, **sources: object) -> sc.Machine[Report, None, str]:
    return report.machine(
        "report",
        context=Report(),
        initial="working",
        sources=sources,
        states={
            "working": report.state(invoke=child),
            "written": report.final(output=lambda context: context.answer),
            "failed": report.final(output="failed"),
        },
    )


def written(_: Report, outcome: Outcome) -> sc.Move:
    assert type(outcome) is Outcome
    return report.goto("written", answer=f"{outcome.answer} {outcome.mood.value} {outcome.at}", mood=outcome.mood)


one = reporting(
    report.child(interview, input=lambda context: Topic(question=context.topic), on_done=written, on_error="failed")
)


def child_of(snapshot: sc.Snapshot[Report]) -> sc.Child:
    (child,) = snapshot.children.values()
    return child


def test_a_child_starts_with_its_typed_input():
    snapshot, _ = sc.initial_transition(one)
    child = child_of(snapshot)
    assert (child.src, child.input) == ("interview", {"question": "cats", "asked": None})
    assert child.snapshot is not None
    assert child.snapshot.context == Talk(question="cats")


@pytest.mark.parametrize("saved", [False, True])
def test_its_output_comes_back_as_its_type(saved: bool):
    snapshot, _ = sc.initial_transition(one)
    if saved:
        snapshot = one.load(snapshot.to_json())
    done, _ = sc.transition(one, snapshot, sc.Input(address=(child_of(snapshot).key,), event=Answer(text="meow")))
    assert (done.status, done.output) == ("done", "meow glad 2026-01-02 00:00:00+00:00")
    assert done.context.mood is Mood.GLAD


def test_a_function_may_stand_in_for_it():
    stand_in = one.provide({"interview": print})
    snapshot, _ = sc.initial_transition(stand_in)
    (owed,) = sc.owed(snapshot).invocations
    assert owed.input == {"question": "cats", "asked": None}
    done, _ = sc.transition(stand_in, snapshot, sc.Input.done(owed.key, {"answer": "purr", "mood": "glad"}))
    assert done.output == "purr glad None"


def test_it_goes_by_its_id_or_by_the_name_given():
    named = reporting(report.child(interview, input=Topic(question="dogs"), name="talk", id="first"))
    assert set(named.sources) == {"talk"}
    assert named.sources["talk"] is interview
    assert list(sc.initial_transition(named)[0].children) == ["first"]


def test_one_machine_may_serve_several_invocations():
    both = report.machine(
        "both",
        initial="a",
        states={
            "a": report.state(
                invoke=[
                    report.child(interview, input=Topic(question="x"), id="x"),
                    report.child(interview, input=Topic(question="y"), id="y"),
                ]
            ),
            "b": report.final(output=""),
        },
    )
    snapshot, _ = sc.initial_transition(both)
    assert {id: child.snapshot and child.snapshot.context for id, child in snapshot.children.items()} == {
        "x": Talk(question="x"),
        "y": Talk(question="y"),
    }


def test_machines_nest_at_any_depth():
    outer = il.setup_agent(context=Report, events=[Answer], output=str)
    machine = outer.machine(
        "outer",
        initial="a",
        states={
            "a": outer.state(
                invoke=outer.child(one, on_done=lambda _, text: outer.goto("b", answer=text.upper()), id="middle")
            ),
            "b": outer.final(output=lambda context: context.answer),
        },
    )
    snapshot, _ = sc.initial_transition(machine)
    middle = snapshot.children["middle"]
    assert middle.snapshot is not None
    inner = next(iter(middle.snapshot.children.values()))
    done, _ = sc.transition(machine, snapshot, sc.Input(address=(middle.key, inner.key), event=Answer(text="hm")))
    assert done.output == "HM GLAD 2026-01-02 00:00:00+00:00"


def test_a_constant_input_is_checked_when_the_state_is_written():
    with pytest.raises(DefinitionError, match=r"child\('interview'\): input=\{'question': 3\}.*question: Input should"):
        report.child(interview, input={"question": 3})
    with pytest.raises(DefinitionError, match="it needs an input, and none is given"):
        report.child(interview)


def test_an_input_that_a_function_makes_is_checked_where_it_is_made():
    wrong = reporting(report.child(interview, input=lambda context: {"question": len(context.topic)}))
    with pytest.raises(HandlerError, match=r"machine 'report', state 'working'.*lambda.*machine 'interview'.*question"):
        sc.initial_transition(wrong)


def test_what_goes_wrong_below_comes_up():
    broken = talk.machine(
        "interview",
        context=lambda topic: Talk(question=topic.question),
        initial="asking",
        states={
            "asking": talk.state(invoke=talk.call(fetch, id="f")),
            "over": talk.final(output=Outcome(answer="")),
        },
    )
    machine = reporting(report.child(broken, input=Topic(question="x"), on_error="failed"))
    snapshot, _ = sc.initial_transition(machine)
    failed, _ = sc.transition(
        machine, snapshot, sc.Input.failed("f", ValueError("lost"), address=(child_of(snapshot).key,))
    )
    assert failed.value == "failed"
