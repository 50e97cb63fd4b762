# fmt: off
from pydantic import BaseModel, TypeAdapter

import interlock as il


class Go(il.Event):
    text: str


class Work(BaseModel, frozen=True):
    text: str = ""
    count: int = 0


class Letter(BaseModel, frozen=True):
    text: str


perhaps = il.setup_agent(context=Work, events=[Go], output=TypeAdapter(Letter | None))
asked = il.setup_agent(context=Work, events=[Go], input=TypeAdapter(Letter | None), output=int)
asking = asked.machine("asking", initial="over", states={"over": asked.final(output=1)})
perhaps.final(output=3)  # E:
perhaps.final(output=lambda work: work.count)  # E:
perhaps.child(asking, input=3)  # E:
perhaps.user_input("?", TypeAdapter(int | None), on_done=lambda work, count: perhaps.stay(count=count))  # E: "count"
perhaps.done(TypeAdapter(Letter | None), lambda work, letter: perhaps.stay(text=letter.text))  # E: "text"
perhaps.generate_text(model="q", prompt="?", output=TypeAdapter(Letter | None), on_done=lambda work, found: perhaps.stay(text=found.text))  # E: "text"
il.setup_agent(context=Work, events=[Go], output=3)  # E: "output"
il.setup_agent(context=Work, events=[Go], output=Letter(text=""))  # E: "output"
il.setup_agent(context=Work, events=[Go], input=print)  # E: "input"
il.UserInputRequest(id="x", prompt="?", input_schema={}, kind="text")  # E: "kind"


def shown(request: il.DecisionRequest | il.UserInputRequest) -> object:
    if request.kind == "input":
        return request.events  # E: "events"
    return request.input_schema  # E: "input_schema"
