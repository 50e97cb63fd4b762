"""The machine that durability is tried on: decisions, parallel texts, a child machine, a function, a timer, a person.

Its executors answer by the request alone, so that two processes give the same answers, and report each call.
"""

from __future__ import annotations

from collections.abc import Callable

from pydantic import BaseModel

import interlock as il


class Accept(il.Event):
    """Take the case."""

    topic: str


class Refuse(il.Event):
    """Send the case away."""


class Approve(il.Event, actor="human"):
    """Let it go out."""

    by: str


class Again(il.Event, actor="human"):
    """Have it written once more."""


class Case(BaseModel, frozen=True):
    topic: str = ""
    letter: str = ""
    summary: str = ""
    verdict: str = ""
    number: int = 0
    rounds: int = 0
    waited: bool = False
    by: str = ""


class Check(BaseModel, frozen=True):
    looked: str = ""


class Fine(il.Event):
    """Nothing is wrong."""


class Wrong(il.Event):
    """Something is wrong."""


checker_agent = il.setup_agent(context=Check, events=[Fine, Wrong], output=str)

checker = checker_agent.machine(
    "checker",
    context=Check(),
    initial="looking",
    states={
        "looking": checker_agent.state(
            invoke=checker_agent.generate_text(
                name="look",
                model="quick",
                prompt="Look.",
                on_done=lambda c, out: checker_agent.goto("judging", looked=out),
            )
        ),
        "judging": checker_agent.state(
            invoke=checker_agent.decide(name="judge", model="quick", prompt=lambda c: c.looked),
            on=[checker_agent.on(Fine, "fine"), checker_agent.on(Wrong, "wrong")],
        ),
        "fine": checker_agent.final(output=lambda c: f"fine: {c.looked}"),
        "wrong": checker_agent.final(output=lambda c: f"wrong: {c.looked}"),
    },
)


def weigh(grams: int) -> str:
    """Say what a letter weighs."""
    return f"{grams} g"


agent = il.setup_agent(context=Case, events=[Accept, Refuse, Approve, Again], output=dict[str, object])


def desk(
    stamp: Callable[[str], int] | None = None, *, version: str | None = None, delay: float = 0.05
) -> il.Machine[Case, None, dict[str, object]]:
    """Return the machine; ``stamp`` is the function that it calls."""

    def stamped(topic: str) -> int:
        return len(topic)

    return agent.machine(
        "desk",
        context=Case(),
        version=version,
        initial="taking",
        states={
            "taking": agent.state(
                invoke=agent.decide(name="take", model="quick", prompt="Take it?"),
                on=[
                    agent.on(Accept, lambda c, event: agent.goto("writing", topic=event.topic)),
                    agent.on(Refuse, "refused"),
                ],
            ),
            "writing": agent.parallel(
                states={
                    "letter": agent.state(
                        initial="draft",
                        states={
                            "draft": agent.state(
                                invoke=agent.generate_text(
                                    name="letter",
                                    model="quick",
                                    prompt=lambda c: f"On {c.topic}",
                                    tools=[weigh],
                                    on_done=lambda c, out: agent.goto("written", letter=out),
                                )
                            ),
                            "written": agent.end(),
                        },
                    ),
                    "summary": agent.state(
                        initial="draft",
                        states={
                            "draft": agent.state(
                                invoke=agent.generate_text(
                                    name="summary",
                                    model="quick",
                                    prompt=lambda c: f"In short: {c.topic}",
                                    on_done=lambda c, out: agent.goto("written", summary=out),
                                )
                            ),
                            "written": agent.end(),
                        },
                    ),
                    "check": agent.state(
                        initial="running",
                        states={
                            "running": agent.state(
                                invoke=agent.child(checker, on_done=lambda c, out: agent.goto("over", verdict=out))
                            ),
                            "over": agent.end(),
                        },
                    ),
                },
                on_done="numbering",
            ),
            "numbering": agent.state(
                invoke=agent.call(
                    stamp or stamped,
                    name="stamp",
                    input=lambda c: c.topic,
                    on_done=lambda c, out: agent.goto("cooling", number=out),
                )
            ),
            "cooling": agent.state(after=[agent.after(delay, lambda c: agent.goto("approving", waited=True))]),
            "approving": agent.state(
                on=[
                    agent.on(Approve, lambda c, event: agent.goto("sending", by=event.by)),
                    agent.on(Again, lambda c, event: agent.goto("taking", rounds=c.rounds + 1)),
                ]
            ),
            "sending": agent.state(
                invoke=agent.generate_text(
                    name="farewell",
                    model="quick",
                    prompt=lambda c: c.by,
                    on_done=lambda c, out: agent.goto("sent", by=out),
                )
            ),
            "sent": agent.final(output=lambda c: c.model_dump(mode="json")),
            "refused": agent.final(output=lambda c: {}),
        },
    )


def executors(report: Callable[[str], None] = lambda key: None) -> il.Executors:
    """Return executors that answer by the request alone; ``report`` is told the key of each call that begins."""

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        report(info.call_key)
        if request.name == "take" and not request.attempts:
            return il.Choice({"type": "Approve", "by": "the model"}, usage=il.Usage(output_tokens=1))
        event: dict[str, object] = {"type": "Accept", "topic": "rain"} if request.name == "take" else {"type": "Fine"}
        return il.Choice(event, reason="so it seems", usage=il.Usage(output_tokens=2))

    async def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        report(info.call_key)
        if request.name == "letter" and not request.turns:
            return il.TextResult(
                tool_calls=(il.ToolCall("1", "weigh", {"grams": 20}),), usage=il.Usage(output_tokens=3)
            )
        return il.TextResult(
            output=f"{request.name}: {request.prompt}", usage=il.Usage(output_tokens=4), finish_reason="stop"
        )

    return il.Executors(decide=decide, generate_text=generate_text)
