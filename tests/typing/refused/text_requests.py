"""Mistakes with text requests, messages, tools and executors that both checkers must find."""

from pydantic import BaseModel

import interlock as il


class Letter(BaseModel, frozen=True):
    text: str


class Reply(BaseModel, frozen=True):
    subject: str


class Case(BaseModel, frozen=True):
    letter: str = ""


agent = il.setup_agent(context=Case, events=[])

draft = il.text_request("draft", input=Letter, model="quick", prompt="x")
sort = il.text_request("sort", input=Letter, output=Reply, model="quick", prompt="x")
greet = il.text_request("greet", model="quick", prompt="x")

il.text_request("t", prompt="x")  # E:
il.text_request("t", model="m", promt="x")  # E:
il.text_request("t", model="m", prompt=3)  # E:
il.text_request("t", model="m", prompt="x", mode="sing")  # E:
il.text_request("t", model="m", prompt="x", tools=[3])  # E:
il.text_request("t", input=Letter, model="m", prompt=lambda letter: letter.txt)  # E:

agent.ask(draft)  # E:
agent.ask(draft, input="x")  # E:
agent.ask(draft, input=lambda case: case.letter)  # E:
agent.ask(greet, input=3)  # E:
agent.ask("draft")  # E:
agent.ask(draft, input=Letter(text="x"), on_done=lambda case, text: agent.stay(letter=text.subject))  # E:
agent.ask(sort, input=Letter(text="x"), on_done=lambda case, reply: agent.stay(letter=reply.text))  # E:

agent.generate_text(model="m", prompt=lambda case: case.lettr)  # E:
agent.generate_text(model="m", prompt="x", temperature="hot")  # E:
agent.generate_text(model="m", prompt="x", on_done=lambda case, text: agent.stay(letter=text + 1))  # E:
agent.stream_text(model="m", prompt="x", output=Reply, on_done=lambda case, reply: agent.stay(letter=reply))  # E:

il.user_message([il.ToolCallPart(tool_call_id="1", tool_name="t", input={})])  # E:
il.TextPart(txt="x")  # E:
il.user_message("x").content = "y"  # E:
il.TextResult("x", finish_reason="done")  # E:


def bare(request: il.TextRequest, info: il.ExecutorInfo) -> str:
    return "x"


il.Executors(generate_text=bare)  # E:
