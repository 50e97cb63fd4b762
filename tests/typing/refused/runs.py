# fmt: off
from pydantic import BaseModel

import interlock as il


class Count(BaseModel, frozen=True):
    total: int = 0


class Receipt(BaseModel):
    total: int


agent = il.setup_agent(context=Count, events=[], output=Receipt)
machine = agent.machine("m", context=Count(), initial="b", states={"b": agent.final(output=Receipt(total=1))})

il.run_agent_sync(machine, event=3)  # E:
il.run_agent_sync(machine, timers="sometimes")  # E:
il.run_agent_sync(machine, execution=il.Executors())  # E:
il.run_agent_sync(machine, executors={"decide": None})  # E:
il.run_agent_sync(machine, clock=1.0)  # E:

result = il.run_agent_sync(machine)
result.output  # E:
match result:
    case il.Done(output=receipt, snapshot=snapshot):
        receipt.sum  # E: "sum"
        snapshot.context.sum  # E: "sum"
    case il.Idle() as idle:
        idle.snapshot = None  # E:
    case il.Failed(cause=cause):
        cause == "broken"  # E:


async def bare(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Event:
    return il.Event()


il.Executors(decide=bare)  # E:
il.nothing_of_that_name  # E:
