# fmt: off
from pydantic import BaseModel

import interlock as il


class Draft(BaseModel, frozen=True):
    text: str = ""


agent = il.setup_agent(context=Draft, events=[], output=Draft)
machine = agent.machine("m", context=Draft(), initial="b", states={"b": agent.final(output=Draft())})

il.run_agent_sync(machine, abort=True)  # E:
il.run_agent_sync(machine, on_trace=1)  # E:


def on_chunk(text: int, request: il.TextRequest) -> None:
    print(text, request)


il.run_agent_sync(machine, on_chunk=on_chunk)  # E:


async def bare(request: il.TextRequest, info: il.ExecutorInfo) -> str:
    return "text"


il.Executors(generate_text=bare)  # E:
il.Executors(stream_text=bare)  # E:
il.ScriptedExecutors(text=[object()])  # E:
il.AgentSession(machine, executor=il.Executors())  # E:


async def converse() -> None:
    async with il.AgentSession(machine) as session:
        await session.send(3)  # E:
        result = await session.settled()
        result.output  # E:
        async for event in session.subscribe():
            event.origin  # E:
    async with il.stream_agent(machine) as stream:
        stream.result = None  # E:
        stream.result.output  # E:
    il.stream_agent(machine, timer="wait")  # E:
