"""Text requests, messages, tools and executors, as their authors and hosts write them."""

from collections.abc import AsyncIterator
from typing import assert_type

from pydantic import BaseModel

import interlock as il


class Letter(BaseModel, frozen=True):
    text: str


class Reply(BaseModel, frozen=True):
    subject: str


class Case(BaseModel, frozen=True):
    letter: str = ""
    reply: str = ""
    history: tuple[il.AgentMessage, ...] = ()


async def search(query: str) -> str:
    """Look something up."""
    return query


draft = il.text_request("draft", input=Letter, model="quick", prompt=lambda letter: letter.text)
assert_type(draft, il.TextRequestDefinition[Letter, str])

sort = il.text_request("sort", input=Letter, output=Reply, model="quick", prompt=lambda letter: letter.text)
assert_type(sort, il.TextRequestDefinition[Letter, Reply])

greet = il.text_request(
    "greet", model="quick", messages=[il.user_message("Hello"), {"role": "assistant", "content": "Hi"}], tools=[search]
)
assert_type(greet, il.TextRequestDefinition[None, str])

agent = il.setup_agent(context=Case, events=[], tools={"search": search})

machine = agent.machine(
    "mail",
    context=Case(),
    initial="drafting",
    states={
        "drafting": agent.state(
            invoke=agent.ask(
                draft,
                input=lambda case: Letter(text=case.letter),
                on_done=lambda case, text: agent.goto("sorting", reply=case.reply + text.upper()),
                on_error=lambda case, error: agent.goto("greeting", reply=error.code),
            )
        ),
        "sorting": agent.state(
            invoke=agent.ask(
                sort, input=Letter(text="x"), on_done=lambda case, reply: agent.goto("greeting", reply=reply.subject)
            )
        ),
        "greeting": agent.state(invoke=agent.ask(greet, on_done="inline")),
        "inline": agent.state(
            invoke=[
                agent.generate_text(
                    model="quick",
                    messages=lambda case: case.history,
                    tools=["search", il.tool(search, name="look")],
                    on_done=lambda case, text: agent.goto("done", reply=text.upper()),
                ),
                agent.stream_text(
                    model=lambda case: case.letter,
                    prompt=lambda case: case.letter.upper(),
                    output=Reply,
                    on_done=lambda case, reply: agent.goto("done", reply=reply.subject),
                ),
            ]
        ),
        "done": agent.final(),
    },
)


def generate(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
    for message in il.request_messages(request):
        if message.role == "assistant" and not isinstance(message.content, str):
            for part in message.content:
                if part.type == "tool-call":
                    assert_type(part.tool_name, str)
    return il.TextResult(output="x", tool_calls=(il.ToolCall("1", "search", {"query": "x"}),), finish_reason="stop")


async def stream(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
    yield "x"
    if info.call_tool is not None:
        answer = await info.call_tool("search", {"query": "x"})
        yield answer.type
    yield il.TextResult(output="x")


executors = il.Executors(generate_text=generate, stream_text=stream)
bound = draft.with_executor(generate)
part = il.TextPart(text="x", provider_options={"openai": {"detail": "low"}})
history: tuple[il.AgentMessage, ...] = il.messages_schema.validate([{"role": "user", "content": "x"}])
text: str = il.get_message_text(history[0])
