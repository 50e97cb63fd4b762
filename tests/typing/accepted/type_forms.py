# fmt: off
from typing import Literal

from pydantic import BaseModel, TypeAdapter
from typing_extensions import assert_type

import interlock as il


class Go(il.Event):
    text: str


class Work(BaseModel, frozen=True):
    text: str = ""
    count: int = 0


class Letter(BaseModel, frozen=True):
    text: str


class Question(BaseModel, frozen=True):
    topic: str


# An output that may be nothing, by its adapter: both checkers know it.
perhaps = il.setup_agent(context=Work, events=[Go], output=TypeAdapter(Letter | None))
perhaps.final(output=None)
perhaps.final(output=Letter(text=""))
perhaps.final(output=lambda work: Letter(text=work.text) if work.text else None)
letters = perhaps.machine("letters", initial="over", states={"over": perhaps.final(output=None)})
assert_type(letters, il.Machine[Work, None, Letter | None])


def told(result: il.Done[Letter | None, Work]) -> str:
    return result.output.text if result.output is not None else ""


perhaps.child(letters, on_done=lambda work, letter: perhaps.stay(text=letter.text if letter else ""))

# The same as a union: pyright knows it as it stands, mypy wants the adapter.
union = il.setup_agent(context=Work, events=[Go], output=Letter | None)  # type: ignore[arg-type]  # mypy has no TypeForm yet
union.final(output=lambda work: Letter(text=work.text))

# Inputs, and types that are no classes.
asked = il.setup_agent(context=Work, events=[Go], input=TypeAdapter(Question | None), output=tuple[str, ...])
asking = asked.machine(
    "asking", context=lambda question: Work(text=question.topic if question else ""), initial="over",
    states={"over": asked.final(output=lambda work: (work.text,))},
)
assert_type(asking, il.Machine[Work, Question | None, tuple[str, ...]])
perhaps.child(asking, input=lambda work: Question(topic=work.text) if work.text else None, on_done="over")
perhaps.child(asking, input=None, on_done=lambda work, texts: perhaps.stay(count=len(texts)))

# Replies, answers and ends by their adapters.
perhaps.user_input("?", TypeAdapter(int | None), on_done=lambda work, count: perhaps.stay(count=count or 0))
word: TypeAdapter[Literal["yes", "no"]] = TypeAdapter(Literal["yes", "no"])
perhaps.user_input("?", word, on_done=lambda work, said: perhaps.stay(text=said))
perhaps.generate_text(model="q", prompt="?", output=TypeAdapter(Letter | int), on_done=lambda work, given: perhaps.stay(
    text=given.text if isinstance(given, Letter) else str(given)))
perhaps.done(TypeAdapter(Letter | None), lambda work, letter: perhaps.stay(text=letter.text if letter else ""))
drafted = il.text_request("t", input=TypeAdapter(str | None), output=list[Letter], model="q", prompt=lambda given: given or "?")
perhaps.ask(drafted, input=None, on_done=lambda work, found: perhaps.stay(text=found[0].text))

# What a machine asks for is told apart by its kind.
Request = il.DecisionRequest | il.TextRequest | il.ToolRequest | il.UserInputRequest


def shown(request: Request) -> str:
    if request.kind == "input":
        assert_type(request, il.UserInputRequest)
        return request.prompt
    if request.kind == "tool":
        assert_type(request, il.ToolRequest)
        return request.call.name
    if request.kind == "text" or request.kind == "act":
        assert_type(request, il.TextRequest)
        return request.prompt or ""
    if request.kind == "decision" or request.kind == "plan":
        assert_type(request, il.DecisionRequest)
        return ", ".join(event.type for event in request.events)
    return request.id
