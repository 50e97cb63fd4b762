# fmt: off
from collections.abc import AsyncIterator

from pydantic import BaseModel
from typing_extensions import assert_type

import interlock as il


class Go(il.Event):
    pass


class Draft(BaseModel, frozen=True):
    text: str = ""


agent = il.setup_agent(context=Draft, events=[Go], output=Draft)
machine = agent.machine(
    "m",
    context=Draft(),
    initial="a",
    states={
        "a": agent.state(
            invoke=agent.stream_text(model="quick", prompt="?", on_done=lambda c, text: agent.goto("b", text=text))
        ),
        "b": agent.final(output=lambda c: c),
    },
)


# Executors of text, whole and in pieces.
async def generate(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
    if info.call_tool is not None and request.tools:
        answer = await info.call_tool("look_up", {"word": "x"})
        return il.TextResult(output=str(answer.value))
    return il.TextResult(output=request.prompt, usage=il.Usage(input_tokens=1))


async def stream(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
    yield "a"
    yield il.TextResult(output="a", finish_reason="stop")


executors = il.Executors(generate_text=generate, stream_text=stream)
abort = il.Abort()


# Observers are typed.
def on_chunk(text: str, request: il.TextRequest) -> None:
    print(text.upper(), request.name)


async def on_result(request: il.DecisionRequest | il.TextRequest, output: object, raw: object) -> None:
    print(request.id, output, raw)


def on_trace(event: il.TraceEvent) -> None:
    if isinstance(event, il.RequestFailed):
        print(event.origin.state, event.error.message, event.seq)
    print(event.to_json(bodies=True))


il.run_agent_sync(machine, executors=executors, abort=abort, on_chunk=on_chunk, on_result=on_result, on_trace=on_trace)


# A session keeps the types of its machine.
async def converse() -> Draft | None:
    async with il.AgentSession(machine, executors=executors, max_model_calls=3) as session:
        events = session.subscribe()
        result = await session.settled()
        assert_type(result, il.Done[Draft, Draft] | il.Idle[Draft] | il.Failed[Draft])
        await session.send(Go())
        await session.send({"type": "Go"})
        async for event in events:
            assert_type(event, il.TraceEvent)
        assert_type(session.snapshot, il.Snapshot[Draft] | None)
    return result.output if isinstance(result, il.Done) else None


# So does a stream.
async def watch() -> None:
    async with il.stream_agent(machine, executors=executors, abort=abort) as stream:
        async for event in stream:
            if isinstance(event, il.Chunk):
                print(event.text)
    assert_type(stream.result, il.Done[Draft, Draft] | il.Idle[Draft] | il.Failed[Draft])


# Scripts of text.
script = il.ScriptedExecutors(text=["a", il.TextResult(output="b"), Draft(), lambda request: request.prompt, TimeoutError()])
assert_type(script.text_requests, list[il.TextRequest])
