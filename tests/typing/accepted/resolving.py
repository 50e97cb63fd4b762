# fmt: off
from typing_extensions import assert_type

import interlock as il
import interlock.statechart as sc


class Ping(il.Event):
    count: int


def plain(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
    return il.Choice({"type": request.events[0].type, "count": info.attempt}, reason="first", usage=il.Usage(input_tokens=3))


async def waiting(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
    return il.Choice(Ping(count=1))


executors = [il.Executors(decide=plain), il.Executors(decide=waiting), il.Executors()]


async def main(request: il.DecisionRequest, snapshot: sc.Snapshot[object]) -> None:
    assert_type(await il.resolve_decision(request, plain, can_take=snapshot.can), il.Event)
    await il.resolve_decision(request, waiting, max_retries=1, events=[Ping])
