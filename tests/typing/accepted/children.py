# fmt: off
from pydantic import BaseModel
from typing_extensions import assert_type

import interlock as il
import interlock.statechart as sc


class Answer(il.Event):
    text: str


class Topic(BaseModel):
    question: str


class Outcome(BaseModel):
    text: str


class Talk(BaseModel, frozen=True):
    text: str = ""


class Report(BaseModel, frozen=True):
    topic: str = ""
    result: str = ""


talk = il.setup_agent(context=Talk, events=[Answer], input=Topic, output=Outcome)
report = il.setup_agent(context=Report, events=[Answer], output=str)

interview = talk.machine(
    "interview",
    context=lambda topic: Talk(text=topic.question),
    initial="a",
    states={
        "a": talk.state(on=[talk.on(Answer, lambda context, answer: talk.goto("b", text=answer.text))]),
        "b": talk.final(output=lambda context: Outcome(text=context.text)),
    },
)
assert_type(interview, sc.Machine[Talk, Topic, Outcome])

plain = report.machine("plain", initial="a", states={"a": report.final(output="done")})


def on_outcome(context: Report, outcome: Outcome) -> il.Move | None:
    return report.goto("b", result=outcome.text) if outcome.text else None


# With an input: a value, or a function of the context. Its output is what the handler gets.
report.child(interview, input=Topic(question="x"), on_done="b")
report.child(interview, input=lambda context: Topic(question=context.topic), on_done=on_outcome, name="talk", id="t")
report.child(
    interview,
    input=lambda context: Topic(question=context.topic),
    on_done=lambda context, outcome: report.goto("b", result=outcome.text.upper()),
    on_error=lambda context, error: report.stay(result=error.message),
    timeout=60,
    on_timeout="b",
)
# Without one.
report.child(plain, on_done=lambda context, text: report.stay(result=text.upper()))
report.child(plain, meta={"label": "x"})
# An untyped machine takes and gives anything.
def kept(given: dict[str, int]) -> dict[str, int]:
    return given


raw = sc.machine("raw", initial="a", context=kept, states={"a": sc.final()})
report.child(raw, input={"x": 1}, on_done=lambda context, output: report.stay(result=str(output)))

# Several at once, at any depth.
machine = report.machine(
    "report",
    context=Report(topic="cats"),
    initial="a",
    states={
        "a": report.state(
            invoke=[
                report.child(interview, input=lambda context: Topic(question=context.topic), id="one"),
                report.child(interview, input=Topic(question="dogs"), id="two", on_done=on_outcome),
                report.decide(id="three"),
            ],
            on=[report.on(Answer, "b")],
        ),
        "b": report.final(output=lambda context: context.result),
    },
)
outer = report.machine(
    "outer", initial="a", states={"a": report.state(invoke=report.child(machine)), "b": report.final(output="")}
)
assert_type(machine.provide({"interview": print}), sc.Machine[Report, None, str])
# Spawned children report by their source: the machine says of which type the output is.
report.on_child_done(interview, lambda context, child: report.stay(result=child.output.text + child.id))
report.on_child_done(interview, "b", name="talk", guard=lambda context, child: child.output.text == context.topic)
report.on_child_done(plain, lambda context, child: report.goto("b", result=child.output.upper()))
report.on_child_done("fetch", lambda context, child: report.stay(result=str(child.output)))
report.on_child_error(interview, lambda context, child: report.stay(result=child.error.message + child.id))
report.on_child_error("fetch", lambda context, child: report.goto("b"), to="b")
