# fmt: off
from typing import assert_never

from pydantic import BaseModel
from typing_extensions import assert_type

import interlock as il


class Ping(il.Event):
    count: int


class Count(BaseModel, frozen=True):
    total: int = 0


class Receipt(BaseModel):
    total: int


agent = il.setup_agent(context=Count, events=[Ping], output=Receipt)
machine = agent.machine(
    "m",
    context=Count(),
    initial="a",
    states={
        "a": agent.state(on=[agent.on(Ping, lambda c, ping: agent.goto("b", total=ping.count))]),
        "b": agent.final(output=lambda c: Receipt(total=c.total)),
    },
)


async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
    return il.Choice(Ping(count=len(request.events) + info.attempt))


def plain(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
    return il.Choice({"type": request.events[0].type}, reason="the first")


async def note(snapshot: il.Snapshot[Count], given: object) -> None:
    print(snapshot.context.total, given)


async def main() -> Receipt | None:
    # The result is typed by the machine, and `match` takes it apart whole.
    result = await il.run_agent(machine, event=Ping(count=1), executors=il.Executors(decide=decide), on_transition=note)
    match result:
        case il.Done(output=receipt):
            assert_type(receipt, Receipt)
            return receipt
        case il.Idle(snapshot=waiting):
            assert_type(waiting, il.Snapshot[Count])
        case il.Failed(cause="decision-exhausted", error=error):
            assert_type(error, il.ErrorInfo)
        case il.Failed(snapshot=last):
            assert_type(last, il.Snapshot[Count] | None)
        case _ as nothing:  # pyright: ignore[reportUnnecessaryComparison]
            assert_never(nothing)
    return None


# Resuming takes a snapshot, what it dumps, or its text; observers are typed too.
idle = il.run_agent_sync(machine, on_transition=lambda snapshot, given: snapshot.context.total, clock=il.FakeClock())
assert_type(idle, il.Done[Receipt, Count] | il.Idle[Count] | il.Failed[Count])
if isinstance(idle, il.Idle):
    il.run_agent_sync(machine, snapshot=idle.snapshot, event={"type": "Ping", "count": 2})
    il.run_agent_sync(machine, snapshot=idle.snapshot.dump(), executors=il.Executors(decide=plain))
    il.run_agent_sync(machine, snapshot=idle.snapshot.to_json(), on={Ping: print, "*": lambda event: None})

# Scripted executors are executors.
script: il.Executors = il.ScriptedExecutors(decisions=["Ping", Ping(count=1), lambda request: {"type": request.events[0].type}])
il.run_agent_sync(machine, executors=script)
