"""A person approves what was drafted, in another process, whenever it suits them; a double click counts once.

    python examples/human_in_the_loop.py start letter-1 "The parcel came too late."
    python examples/human_in_the_loop.py reject letter-1 "Friendlier, please." --click 81c0
    python examples/human_in_the_loop.py approve letter-1 --click 7f3a        # again: it counts once
    python examples/human_in_the_loop.py show letter-1

Each line is a process of its own; between them there is nothing but the log in ``letters.db`` (``--store`` names
another place). ``show`` gives the entries, and so does ``interlock log show sqlite:letters.db letter-1``.

No key is needed: the drafts come from a function that writes them. Give ``executors()`` a model instead, and nothing
else changes.
"""

from __future__ import annotations

import argparse
import sys

import anyio
from pydantic import BaseModel

import interlock as il
from interlock.journal.stores import open_store


class Approve(il.Event, actor="human"):
    """Send the letter as it is."""


class Reject(il.Event, actor="human"):
    """Have it written again."""

    note: str


class Letter(BaseModel, frozen=True):
    complaint: str = ""
    draft: str = ""
    notes: tuple[str, ...] = ()


class Complaint(BaseModel, frozen=True):
    text: str


agent = il.setup_agent(context=Letter, events=[Approve, Reject], input=Complaint, output=str)

letters = agent.machine(
    "letters",
    version="1",
    context=lambda given: Letter(complaint=given.text),
    initial="drafting",
    states={
        "drafting": agent.state(
            invoke=agent.generate_text(
                name="draft",
                model="writer",
                system="Answer the complaint in one sentence.",
                prompt=lambda letter: "\n".join((letter.complaint, *letter.notes)),
                on_done=lambda letter, text: agent.goto("review", draft=text),
            )
        ),
        "review": agent.state(
            on=[
                agent.on(Approve, "sent"),
                agent.on(Reject, lambda letter, no: agent.goto("drafting", notes=(*letter.notes, no.note))),
            ]
        ),
        "sent": agent.final(output=lambda letter: letter.draft),
    },
)


def executors() -> il.Executors:
    """Return who writes: here a function that stands in for a model."""

    def write(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        complaint, *notes = str(request.prompt).splitlines()
        text = f"We are sorry: {complaint[0].lower()}{complaint[1:]}"
        return il.TextResult(output=" ".join([text, *(f"(Now: {note})" for note in notes)]))

    return il.Executors(generate_text=write)


async def start(store: il.Store, thread: str, complaint: str) -> str:
    """Have the draft written; the run settles where a person is waited for."""
    result = await il.run_agent(
        letters, input=Complaint(text=complaint), store=store, thread_id=thread, executors=executors()
    )
    return told(result)


async def answer(store: il.Store, thread: str, event: Approve | Reject, click: str) -> str:
    """Go on with what a person says; ``click`` names it, so that it counts once however often it is sent."""
    if not await store.length(thread):
        return f"there is no letter {thread}"
    result = await il.run_agent(
        letters, store=store, thread_id=thread, event=event, event_id=click, executors=executors()
    )
    if result.duplicate:
        return f"{told(result)} (that click was counted already)"
    if result.ignored is not None:
        return f"{told(result)} (nothing was waiting for that)"
    return told(result)


async def show(store: il.Store, thread: str) -> str:
    """Show the log, and where it leads to."""
    entries = await store.read(thread)
    if not entries:
        return f"there is no letter {thread}"
    lines = [f"{entry.index} {entry.type} -> {entry.status}" for entry in entries]
    return "\n".join([*lines, f"draft: {il.replay(letters, entries).snapshot.context.draft}"])


def told(result: il.Result[str, Letter]) -> str:
    """Say how a run has ended."""
    match result:
        case il.Done(output=draft):
            return f"sent: {draft}"
        case il.Idle(snapshot=snapshot):
            return f"to review: {snapshot.context.draft}"
        case il.Failed(error=error):
            return f"failed ({error.code}): {error.message}"


def main() -> None:
    """Read the command line and carry it out."""
    parser = argparse.ArgumentParser(description="A letter that a person has to approve.")
    parser.add_argument("--store", default="sqlite:letters.db", help="where the logs are (default: %(default)s)")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, words in {"start": "complaint", "show": None, "approve": None, "reject": "note"}.items():
        command = commands.add_parser(name)
        command.add_argument("thread")
        if words is not None:
            command.add_argument(words)
        if name in {"approve", "reject"}:
            command.add_argument("--click", required=True, help="what names this very answer, as a form would send it")
    given = parser.parse_args()

    async def carry_out() -> str:
        store = open_store(given.store)
        try:
            match given.command:
                case "start":
                    return await start(store, given.thread, given.complaint)
                case "approve":
                    return await answer(store, given.thread, Approve(), given.click)
                case "reject":
                    return await answer(store, given.thread, Reject(note=given.note), given.click)
                case _:
                    return await show(store, given.thread)
        finally:
            await store.aclose()

    try:
        print(anyio.run(carry_out))
    except il.InterlockError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
