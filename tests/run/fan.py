"""Machines that composition is tried on: a parent that spawns one writer for each topic, and joins them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
from pydantic import BaseModel

import interlock as il
from interlock.agent import ChildDone, ChildFailed


class Topic(BaseModel, frozen=True):
    """What one writer is to write about."""

    name: str


class Good(il.Event):
    """The text can stay as it is."""


class Poor(il.Event):
    """The text has to be written again."""


class Writing(BaseModel, frozen=True):
    topic: str = ""
    text: str = ""
    rounds: int = 0


writer_agent = il.setup_agent(context=Writing, events=[Good, Poor], input=Topic, output=Writing)

writer = writer_agent.machine(
    "writer",
    context=lambda topic: Writing(topic=topic.name),
    initial="writing",
    states={
        "writing": writer_agent.state(
            invoke=writer_agent.generate_text(
                name="write",
                model="quick",
                prompt=lambda c: f"On {c.topic}, {c.rounds}",
                on_done=lambda c, text: writer_agent.goto("judging", text=text, rounds=c.rounds + 1),
            )
        ),
        "judging": writer_agent.state(
            invoke=writer_agent.decide(name="judge", model="quick", prompt=lambda c: c.text),
            on=[writer_agent.on(Good, "over"), writer_agent.on(Poor, "writing")],
        ),
        "over": writer_agent.final(output=lambda c: c),
    },
)


class Paper(BaseModel, frozen=True):
    topics: tuple[str, ...] = ()
    texts: il.FrozenDict[str, str] = il.FrozenDict({})
    failed: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        return len(self.texts) + len(self.failed) == len(self.topics)


paper_agent = il.setup_agent(context=Paper, events=[], input=tuple[str, ...], output=dict[str, str])


def _spawned(paper: Paper) -> Any:
    move = paper_agent.stay()
    for topic in paper.topics:
        move = move.spawn("writer", id=topic, input=Topic(name=topic))
    return move


def _done(paper: Paper, child: ChildDone[Writing]) -> Any:
    return paper_agent.stay(texts=il.FrozenDict({**paper.texts, child.id: child.output.text}))


def _failed(paper: Paper, child: ChildFailed) -> Any:
    return paper_agent.stay(failed=(*paper.failed, f"{child.id}: {child.error.code}"))


def paper(*, keeps_going: bool = False) -> il.Machine[Paper, tuple[str, ...], dict[str, str]]:
    """Return the parent: as many writers as topics at once; ``keeps_going`` without those that have failed."""
    failing = [paper_agent.on_child_error(writer, _failed)] if keeps_going else []
    return paper_agent.machine(
        "paper",
        context=lambda topics: Paper(topics=topics),
        initial="gathering",
        sources={"writer": writer},
        states={
            "gathering": paper_agent.state(
                entry=_spawned,
                on=[paper_agent.on_child_done(writer, _done), *failing],
                always=[paper_agent.always(lambda paper: paper_agent.goto("whole") if paper.whole else None)],
                on_error=lambda paper, error: paper_agent.goto("given_up", failed=(error.message,)),
            ),
            "whole": paper_agent.final(output=lambda paper: {t: paper.texts.get(t, "") for t in paper.topics}),
            "given_up": paper_agent.final(output=lambda paper: {"failed": paper.failed[0]}),
        },
    )


def executors(report: Callable[[str], None] = lambda key: None, *, apart: int = 0) -> il.Executors:
    """Return executors that answer by the request alone; the first text of each writer is judged poor.

    ``report`` is told the key of each call that begins; each takes ``apart`` turns of the loop longer than the one
    before it, so that no two are ready together.
    """
    begun = 0

    async def wait() -> None:
        nonlocal begun
        begun += 1
        for _ in range(apart * begun):
            await anyio.lowlevel.checkpoint()

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        report(info.call_key)
        await wait()
        chosen: il.Event = Poor() if (request.prompt or "").endswith(", 0!") else Good()
        return il.Choice(chosen, usage=il.Usage(output_tokens=1))

    async def generate_text(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        report(info.call_key)
        await wait()
        return il.TextResult(output=f"{request.prompt}!", usage=il.Usage(output_tokens=10))

    return il.Executors(decide=decide, generate_text=generate_text)


CALLS_OF_A_WRITER = 4
