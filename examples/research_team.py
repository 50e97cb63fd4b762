"""A team of researchers: one machine for each topic, all at once, and a lead who joins what they have found.

    python examples/research_team.py tea coffee cocoa
    python examples/research_team.py tea coffee cocoa --thread drinks    # killed? The same again goes on from there
    python examples/research_team.py tea coffee --model local            # a small model on this computer (extra: local)
    python examples/research_team.py tea coffee --model openai           # OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL

The lead spawns a researcher for each topic, hears of each when it has ended, well or not, and writes the report when
nobody is out any more. All of it is in one log (``--store``, default ``research.db``), the researchers' work beside the
lead's. A run that is killed goes on where its log ends; an answer that stands there is not asked for again.
"""

from __future__ import annotations

import argparse
import os
import sys
import uuid

import anyio
from pydantic import BaseModel, Field

import interlock as il
from interlock.journal.stores import open_store

# -- a researcher: one topic, one note ---------------------------------------------------------------------------------


class Topic(BaseModel, frozen=True):
    name: str


class Note(BaseModel, frozen=True):
    topic: str = ""
    text: str = ""


researchers = il.setup_agent(context=Note, events=[], input=Topic, output=Note)

researcher = researchers.machine(
    "researcher",
    version="1",
    context=lambda topic: Note(topic=topic.name),
    initial="writing",
    states={
        "writing": researchers.state(
            invoke=researchers.generate_text(
                name="note",
                model="writer",
                system="You answer in one plain sentence.",
                prompt=lambda note: f"What is {note.topic}?",
                max_output_tokens=60,
                on_done=lambda note, text: researchers.goto("done", text=text.strip()),
            ),
        ),
        "done": researchers.final(output=lambda note: note),
    },
)

# -- the lead: as many researchers as topics, and a report -------------------------------------------------------------


class Question(BaseModel, frozen=True):
    topics: tuple[str, ...] = Field(min_length=1)


class Report(BaseModel, frozen=True):
    """The lead's context, and in the end what it puts out."""

    topics: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    missing: tuple[str, ...] = ()
    summary: str = ""


lead = il.setup_agent(context=Report, events=[], input=Question, output=Report)


def send_out(report: Report) -> il.Move:
    """Spawn a researcher for each topic, called by its number: an id may not hold every character, a topic may."""
    move = lead.stay()
    for number, topic in enumerate(report.topics):
        move = move.spawn("researcher", id=str(number), input=Topic(name=topic))
    return move


def heard(report: Report, child: il.ChildDone[Note]) -> il.Move:
    """Keep a note; in the order of the topics, whoever was faster."""
    notes = sorted((*report.notes, child.output), key=lambda note: report.topics.index(note.topic))
    return lead.stay(notes=tuple(notes))


def lost(report: Report, child: il.ChildFailed) -> il.Move:
    """Do without a note."""
    return lead.stay(missing=(*report.missing, f"{report.topics[int(child.id)]}: {child.error.message}"))


def all_back(report: Report) -> il.Move | None:
    """Go on when nobody is out any more: to the report, if there is something to report."""
    if len(report.notes) + len(report.missing) < len(report.topics):
        return None
    return lead.goto("reporting" if report.notes else "done")


team = lead.machine(
    "research-team",
    version="1",
    context=lambda question: Report(topics=question.topics),
    sources={"researcher": researcher},
    initial="gathering",
    states={
        "gathering": lead.state(
            entry=send_out,
            on=[lead.on_child_done(researcher, heard), lead.on_child_error(researcher, lost)],
            always=[lead.always(all_back)],
        ),
        "reporting": lead.state(
            invoke=lead.generate_text(
                name="report",
                model="writer",
                system="You sum notes up, in two sentences.",
                prompt=lambda report: "\n".join(f"{note.topic}: {note.text}" for note in report.notes),
                max_output_tokens=120,
                on_done=lambda report, text: lead.goto("done", summary=text.strip()),
                on_error="done",  # the notes alone are worth something
            ),
        ),
        "done": lead.final(output=lambda report: report),
    },
)


def scripted(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
    """Play the model. Each call is told on stderr: who kills this and starts it again sees that none is made twice."""
    print(f"call {info.call_key}", file=sys.stderr)
    if request.name == "note":
        return il.TextResult(
            output=f"{str(request.prompt).removeprefix('What is ').rstrip('?').capitalize()} is a thing."
        )
    return il.TextResult(output=f"There are {len(str(request.prompt).splitlines())} things.")


def executors(model: str) -> il.Executors:
    """Return who writes."""
    if model == "openai":
        from interlock.adapters.openai import openai_executors

        return openai_executors(models={"writer": os.environ.get("OPENAI_MODEL", "gpt-5-mini")})
    if model == "local":
        from interlock.adapters.writing import local_writer

        return local_writer()
    return il.Executors(generate_text=scripted)


async def research(topics: tuple[str, ...], models: il.Executors, store: il.Store, thread: str) -> str:
    """Do the research, or go on with it, and return the report in words."""
    result = await il.run_agent(
        team, input=Question(topics=topics), store=store, thread_id=thread, executors=models, max_model_calls=50
    )
    if isinstance(result, il.Failed):
        return f"failed ({result.error.code}): {result.error.message}"
    report = result.snapshot.context
    lines = [f"- {note.topic}: {note.text}" for note in report.notes]
    return "\n".join([*lines, *(f"- nothing on {topic}" for topic in report.missing), report.summary])


def main() -> None:
    """Read the command line, and do the research."""
    parser = argparse.ArgumentParser(description="One researcher for each topic, and a lead.")
    parser.add_argument("topics", nargs="+")
    parser.add_argument("--store", default="sqlite:research.db", help="where the log is (default: %(default)s)")
    parser.add_argument("--thread", help="under which name; give it again to go on (default: a new one)")
    parser.add_argument("--model", choices=("scripted", "local", "openai"), default="scripted")
    given = parser.parse_args()

    async def carry_out() -> str:
        store = open_store(given.store)
        try:
            # Twice the same topic is once enough.
            topics = tuple(dict.fromkeys(given.topics))
            return await research(topics, executors(given.model), store, given.thread or uuid.uuid4().hex)
        finally:
            await store.aclose()

    try:
        print(anyio.run(carry_out))
    except il.InterlockError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
