"""A handler of everything listens; it does not make everything legal: a model sends only what is named."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

import interlock as il

pytestmark = pytest.mark.anyio


class Look(il.Event):
    """Look around."""


class Nuke(il.Event):
    """Not for this state."""


class Turn(il.Event, actor="human"):
    """A person turns the page."""


class Log(BaseModel, frozen=True):
    heard: tuple[str, ...] = ()
    page: int = 0


agent = il.setup_agent(context=Log, events=[Look, Nuke, Turn], output=Log)
WORK: dict[str, Any] = {
    "decide": lambda: agent.decide(prompt="?", on_done="over", on_error="over"),
    "plan": lambda: agent.plan(prompt="?", on_done="over", on_error="over"),
    "atomic": lambda: agent.plan(prompt="?", atomic=True, on_done="over", on_error="over"),
    "act": lambda: agent.act(prompt="?", on_done="over"),
}


def listening(kind: str) -> il.Machine[Log, Any, Log]:
    return agent.machine(
        "listening",
        context=Log(),
        initial="asking",
        on=[agent.on("*", lambda c, e: agent.stay(heard=(*c.heard, e.type)))],
        states={
            "asking": agent.state(
                invoke=WORK[kind](),
                on=[
                    agent.on(Turn, lambda c, e: agent.stay(page=c.page + 1)),
                    agent.on(Look, lambda c, e: agent.stay(), guard=lambda c, e: c.page == 0),
                ],
            ),
            "other": agent.state(on=[agent.on(Nuke, "over")]),
            "over": agent.final(output=lambda c: c),
        },
    )


def say(request: Any, event: Any) -> Any:
    if request.kind == "act":
        return il.TextResult(tool_calls=(il.ToolCall("1", f"send_event_{event.type}", {}),))
    return il.Choice(event)


@pytest.mark.parametrize("kind", list(WORK))
@pytest.mark.parametrize("event", [Nuke(), Look()], ids=["of no state", "moved on"])
async def test_what_only_a_handler_of_everything_would_take_is_no_models_to_send(kind: str, event: il.Event):
    offered: list[set[str]] = []

    async def ask(request: Any, info: il.ExecutorInfo) -> Any:
        if len(offered) >= 4:
            return il.TextResult(output="done") if request.kind == "act" else il.Choice({"type": il.PLAN_DONE})
        named = {tool.name for tool in request.tools} if request.kind == "act" else {e.type for e in request.events}
        offered.append(named)
        if isinstance(event, Look) and len(offered) == 1:
            await session.send(Turn())  # and now its own guard says no
            await anyio.lowlevel.checkpoint()
        return say(request, event)

    with anyio.fail_after(10):
        async with il.AgentSession(listening(kind), executors=il.Executors(decide=ask, generate_text=ask)) as session:
            result = await session.settled()
    assert isinstance(result, il.Done), result
    assert result.output.heard == ()
    assert not any("Nuke" in name for names in offered for name in names)


async def test_people_and_hosts_are_heard_as_ever():
    async with il.AgentSession(listening("act"), executors=il.ScriptedExecutors(text=["done"])) as session:
        await session.send(Nuke())
        result = await session.settled()
    assert result.snapshot is not None
    assert result.snapshot.context.heard == ("Nuke",)
