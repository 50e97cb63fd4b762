"""A counter that models work on: by a plan, by acting, by a closed choice. Answers depend on the request alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel

import interlock as il

DONE = {"type": "agent.plan.done"}


class Add(il.Event):
    """Add to the number."""

    by: int
    note: str = ""


class Double(il.Event):
    """Double the number."""


class Leave(il.Event):
    """Go away."""


class Again(il.Event):
    """Begin anew."""


class Boom(il.Event):
    """Break: its handler raises, when it is sent."""

    why: str = ""


class Nudge(il.Event, actor="human"):
    """Set the number."""

    to: int


class Count(BaseModel, frozen=True):
    n: int = 0
    notes: tuple[str, ...] = ()
    stopped: str = ""
    steps: tuple[str, ...] = ()
    said: str = ""
    error: str = ""
    tokens: int = 0
    rounds: int = 0


EVENTS = [Add, Double, Leave, Again, Boom, Nudge]
agent = il.setup_agent(context=Count, events=EVENTS, output=dict[str, object])


def added(c: Count, event: Add) -> Any:
    if c.n + event.by > 10:
        return None
    return agent.stay(n=c.n + event.by, notes=(*c.notes, event.note) if event.note else c.notes)


def broken(c: Count, event: Boom) -> Any:
    raise ZeroDivisionError("boom")


def again(c: Count, event: Again) -> Any:
    return agent.stay(rounds=c.rounds + 1).reenter() if c.rounds < 2 else None


def failed(c: Count, error: Any) -> Any:
    return agent.goto("failed", error=error.code)


def planned(c: Count, result: il.PlanResult) -> Any:
    return agent.goto("over", stopped=result.stopped, steps=tuple(step.type for step in result.steps))


def on_usage(limit: int | None) -> list[Any]:
    """Add up tokens; with a limit, leave when they are more."""
    counted = agent.on_usage(lambda c, usage: agent.stay(tokens=c.tokens + usage.tokens))
    if limit is None:
        return [counted]
    return [agent.on_usage(".broke", guard=lambda c, usage: c.tokens + usage.tokens > limit), counted]


def machine(invoke: Any, *, id: str = "counter", limit: int | None = None) -> il.Machine[Count, Any, Any]:
    """The counter, with the work under test in its first state."""
    return agent.machine(
        id,
        context=Count(),
        initial="working",
        on=on_usage(limit),
        states={
            "working": agent.state(
                invoke=invoke,
                on=[
                    agent.on(Add, added),
                    agent.on(Double, lambda c, _: agent.stay(n=c.n * 2) if 0 < c.n <= 5 else None),
                    agent.on(Leave, "left"),
                    agent.on(Again, again),
                    agent.on(Boom, broken),
                    agent.on(Nudge, lambda c, e: agent.stay(n=e.to)),
                ],
            ),
            "over": agent.final(output=lambda c: c.model_dump(mode="json")),
            "left": agent.final(output=lambda c: c.model_dump(mode="json")),
            "broke": agent.final(output=lambda c: c.model_dump(mode="json")),
            "failed": agent.final(output=lambda c: c.model_dump(mode="json")),
        },
    )


def plan(**fields: Any) -> Any:
    return agent.plan(
        **{"name": "plan", "model": "quick", "prompt": "Count.", "on_done": planned, "on_error": failed} | fields
    )


def act(**fields: Any) -> Any:
    def acted(c: Count, text: str) -> Any:
        return agent.goto("over", said=text)

    return agent.act(
        **{"name": "act", "model": "quick", "prompt": "Count.", "on_done": acted, "on_error": failed} | fields
    )


def within(inner: il.Machine[Any, Any, Any], *, limit: int | None = None) -> il.Machine[Count, Any, Any]:
    """A machine whose child is the one under test."""
    return agent.machine(
        "outer",
        context=Count(),
        initial="on",
        on=on_usage(limit),
        states={
            "on": agent.state(invoke=agent.child(inner, on_done=lambda c, out: agent.goto("over", said=str(out)))),
            "over": agent.final(output=lambda c: c.model_dump(mode="json")),
            "broke": agent.final(output=lambda c: c.model_dump(mode="json")),
        },
    )


USAGE = il.Usage(input_tokens=3, output_tokens=2)


def picks(steps: Sequence[Any]) -> Callable[[il.DecisionRequest], il.Choice]:
    """Answer by how far the plan is: each step an answer, or a list of answers of which each next one is a retry."""

    def decide(request: il.DecisionRequest) -> il.Choice:
        answer = steps[len(request.applied) if isinstance(request, il.PlanRequest) else 0]
        if isinstance(answer, list):
            answer = answer[min(len(request.attempts), len(answer) - 1)]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, il.Choice) else il.Choice(answer, usage=USAGE)

    return decide


def call(name: str, **given: Any) -> tuple[str, Any]:
    return (f"send_event_{name}", given)


def turns(answers: Sequence[Any]) -> Callable[[il.TextRequest], il.TextResult]:
    """Answer by the number of the turn: a text, or a list of calls as (name, arguments)."""

    def write(request: il.TextRequest) -> il.TextResult:
        answer = answers[request.max_steps - request.steps_remaining]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, il.TextResult):
            return answer
        if isinstance(answer, str):
            return il.TextResult(answer, usage=USAGE, finish_reason="stop")
        calls = tuple(il.ToolCall("", name, given) for name, given in answer)
        return il.TextResult(tool_calls=calls, usage=USAGE, finish_reason="tool-calls")

    return write


def told(request: il.TextRequest) -> list[Any]:
    """Return what tools and events have answered so far."""
    return [part.output.value for message in request.turns if message.role == "tool" for part in message.content]
