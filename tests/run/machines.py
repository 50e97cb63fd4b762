"""Machines that several tests run: the guessing game, and parallel work with a wait, a timer and a child machine."""

from itertools import pairwise
from typing import Any

import interlock as il
import interlock.statechart as sc


class Left(il.Event):
    """Finish the left side."""


class Right(il.Event):
    """Finish the right side."""


class Go(il.Event, actor="human"):
    """Go on."""


pair_agent = il.setup_agent(context=None, events=[Left, Right, Go])


def deciding_pair(**left: Any) -> il.Machine[Any, None, Any]:
    """Two regions that each ask for a decision."""

    def region(event: type[il.Event], **more: Any) -> sc.State:
        return pair_agent.state(
            initial="ask",
            states={
                "ask": pair_agent.state(
                    invoke=pair_agent.decide(name=event.type, prompt="?", allowed_events=[event]),
                    on=[pair_agent.on(event, "done")],
                    **more,
                ),
                "done": pair_agent.end(),
            },
        )

    return pair_agent.machine("pair", kind="parallel", states={"left": region(Left, **left), "right": region(Right)})


def work(functions: dict[str, Any], *, parallel: bool = False) -> il.Machine[Any, Any, Any]:
    """One state per function, or one region each; the results are collected under the functions' names."""

    def step(name: str, after: str) -> sc.State:
        return sc.state(
            invoke=sc.invoke(
                name, id=name, on_done=sc.on("", lambda c, out, name=name: sc.goto(after).set({name: out}), to=[after])
            )
        )

    context = dict.fromkeys(functions)
    if parallel:
        regions = {
            name: sc.state(initial="busy", states={"busy": step(name, "over"), "over": sc.final()})
            for name in functions
        }
        return sc.machine("work", context=context, sources=functions, kind="parallel", states=regions, output=dict)
    names = [*functions, "over"]
    states = {name: step(name, after) for name, after in pairwise(names)}
    return sc.machine(
        "work", context=context, sources=functions, initial=names[0], states={**states, "over": sc.final()}, output=dict
    )
