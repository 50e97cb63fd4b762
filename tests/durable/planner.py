"""A process that plans, acts and plans once more, on one thread of a store; and kills itself where it is told to.

    python -m tests.durable.planner STORE THREAD CALLS [--kill append:3 | before:3 | call:3]

Its executors answer by the request alone, so that two processes give the same answers, and each call is in CALLS.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

import interlock as il
from interlock.journal.stores import open_store
from tests.durable.worker import Killer, Killing
from tests.run.planning import DONE, Add, Count, Double, Nudge, added, agent, call, picks, turns


def planner(weigh: Callable[..., object] | None = None, *, child: bool = False) -> il.Machine[Count, Any, Any]:
    """Return the machine: a plan, an act loop with a tool of its own, an atomic plan."""

    def weighed(grams: int) -> str:
        """Say what a letter weighs."""
        if weigh is not None:
            weigh(grams)
        return f"{grams} g"

    handled = [
        agent.on(Add, added),
        agent.on(Double, lambda c, _: agent.stay(n=c.n * 2) if 0 < c.n <= 5 else None),
        agent.on(Nudge, lambda c, e: agent.stay(n=e.to)),
    ]

    def over(c: Count, result: il.PlanResult) -> Any:
        return agent.goto("over", steps=(*c.steps, *(step.type for step in result.steps)))

    def acting(c: Count, result: il.PlanResult) -> Any:
        return agent.goto("acting", steps=tuple(step.type for step in result.steps))

    inner = agent.machine(
        "planner",
        context=Count(),
        initial="planning",
        states={
            "planning": agent.state(
                invoke=agent.plan(name="plan", model="m", prompt="Plan.", on_done=acting), on=handled
            ),
            "acting": agent.state(
                invoke=agent.act(
                    name="act",
                    model="m",
                    prompt="Act.",
                    tools={"weigh": weighed},
                    on_done=lambda c, text: agent.goto("together", said=text),
                ),
                on=handled,
            ),
            "together": agent.state(
                invoke=agent.plan(name="together", model="m", prompt="Plan.", atomic=True, on_done=over), on=handled
            ),
            "over": agent.final(output=lambda c: c.model_dump(mode="json")),
        },
    )
    if not child:
        return inner
    return agent.machine(
        "outer",
        context=Count(),
        initial="on",
        on=[agent.on_usage(lambda c, usage: agent.stay(tokens=c.tokens + usage.tokens))],
        states={
            "on": agent.state(invoke=agent.child(inner, on_done=lambda c, out: agent.goto("over", said=str(out)))),
            "over": agent.final(output=lambda c: c.model_dump(mode="json")),
        },
    )


PLAN = picks([Add(by=2), ["Fly", Double()], [Add(by=40), DONE]])
TOGETHER = picks([["Fly", Add(by=1)], Add(by=1), Add(by=1), DONE])
ACT = turns(
    [
        [call("Add", by=1), ("weigh", {"grams": 5}), call("Add", by=50), call("Add", by="x")],
        [call("Nudge", to=1), ("weigh", {"grams": 6}), call("Add", by=2)],
        "Acted.",
    ]
)


def executors(report: Callable[[str], None]) -> il.Executors:
    """Return the executors; ``report`` is told the key of each call that begins."""

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        report(info.call_key)
        return (PLAN if request.name == "plan" else TOGETHER)(request)

    async def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        report(info.call_key)
        assert il.check_transcript(il.request_messages(request)) == ()
        return ACT(request)

    return il.Executors(decide=decide, generate_text=generate_text)


async def work(url: str, thread: str, killer: Killer) -> dict[str, object]:
    """Work on the thread until it is over."""
    inner = open_store(url)
    store: Any = Killing(inner, killer)
    for name in ("read", "length", "index_of", "fork", "threads", "delete", "save_snapshot", "load_snapshot", "aclose"):
        setattr(store, name, getattr(inner, name))
    result = await il.run_agent(
        planner(lambda grams: killer.call(f"weigh:{grams}")),
        store=store,
        thread_id=thread,
        executors=executors(killer.call),
        execution_id="x",
    )
    await inner.aclose()
    output = result.output if isinstance(result, il.Done) else None
    return {"result": type(result).__name__, "counts": killer.counts, "output": output}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("thread")
    parser.add_argument("calls", type=Path)
    parser.add_argument("--kill")
    given = parser.parse_args()
    print(json.dumps(anyio.run(work, given.store, given.thread, Killer(given.kill, given.calls))))


if __name__ == "__main__":
    main()
