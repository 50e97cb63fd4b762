# fmt: off
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc


class Answer(il.Event):
    text: str


class Topic(BaseModel):
    question: str


class Outcome(BaseModel):
    text: str


class Report(BaseModel, frozen=True):
    topic: str = ""
    result: str = ""


talk = il.setup_agent(context=Report, events=[Answer], input=Topic, output=Outcome)
report = il.setup_agent(context=Report, events=[Answer], output=str)
interview = talk.machine("i", context=lambda topic: Report(), initial="a", states={"a": talk.state()})
plain = report.machine("p", initial="a", states={"a": report.state()})


def on_text(context: Report, text: str) -> il.Move:
    return report.stay(result=text)


def fetch(url: str) -> int:
    return len(url)


report.child(fetch)  # E:
report.child("interview")  # E:
report.child(report.state())  # E:
report.child(interview)  # E:
report.child(interview, input=Outcome(text=""))  # E:
report.child(interview, input={"question": "x"})  # E:
report.child(interview, input=lambda context: context.topic)  # E:
report.child(interview, input=lambda context: Topic(question=context.topc))  # E: "topc"
report.child(interview, input=lambda context, event: Topic(question=""))  # E:
report.child(interview, input=Topic(question=""), on_done=on_text)  # E:
report.child(interview, input=Topic(question=""), on_done=lambda c, outcome: report.stay(result=outcome.txt))  # E: "txt"
report.child(interview, input=Topic(question=""), on_done=lambda c, outcome: report.stay(result=outcome))  # E: "result"
report.child(interview, input=Topic(question=""), on_done=lambda c, outcome: outcome.text)  # E:
report.child(interview, input=Topic(question=""), retries=3)  # E:
report.child(plain, input=Topic(question=""))  # E:
report.child(plain, on_done=lambda c, text: report.stay(result=text.uper()))  # E: "uper"
report.child(plain, on_error=on_text)  # E:
wrong: sc.Machine[Report, None, Outcome] = plain.provide({})  # E:
report.on_child_done(interview, lambda context, child: report.stay(result=child.output.txt))  # E: "txt"
report.on_child_done(plain, lambda context, child: report.stay(result=child.output.uper()))  # E: "uper"
report.on_child_done(interview, lambda context, child: report.stay(result=child.output))  # E: "result"
report.on_child_done(fetch, "b")  # E:
report.on_child_error(interview, lambda context, child: report.stay(result=child.output))  # E: "output"
report.on_child_error(interview, "b", retries=3)  # E:
