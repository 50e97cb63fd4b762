"""A mail is drafted while you watch, gets a subject, and leaves only when a person says so; else it is written again.

    python examples/email_drafter.py "Tell the landlord that the heating is broken."
    python examples/email_drafter.py "..." --with letter.txt --with bill.txt       # what the mail is about, in parts
    python examples/email_drafter.py "..." --model local     # a small model on this computer (extra: local)
    python examples/email_drafter.py "..." --model openai    # OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL

At "send?" say ``yes`` or ``no``, or what should be different. The transcript that the model goes on with is part of the
machine's context, so each revision sees the drafts before it and what was said of them. After three revisions only
``yes`` and ``no`` are legal.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

import interlock as il

MOST_REVISIONS = 3


class Approve(il.Event, actor="human"):
    """Send it."""


class Revise(il.Event, actor="human"):
    """Write it again."""

    feedback: str = Field(min_length=1)


class Discard(il.Event, actor="human"):
    """Send nothing."""


class Task(BaseModel, frozen=True):
    wish: str
    about: tuple[str, ...] = ()


class Label(BaseModel, frozen=True):
    subject: str = Field(max_length=60)
    tone: Literal["friendly", "formal", "firm"]


class Mail(BaseModel, frozen=True):
    messages: tuple[il.AgentMessage, ...] = ()
    body: str = ""
    label: Label | None = None
    revisions: int = 0
    sent: bool = False


agent = il.setup_agent(context=Mail, events=[Approve, Revise, Discard], input=Task, output=Mail)


def begin(task: Task) -> Mail:
    """Return a mail of which nothing is written yet: one message, with a part for each text."""
    parts = [il.TextPart(text=f"For your information:\n{text}") for text in task.about]
    return Mail(messages=(il.user_message([*parts, il.TextPart(text=f"Write a short mail: {task.wish}")]),))


def drafted(mail: Mail, body: str) -> il.Move:
    """Keep a draft, also as what the model has said."""
    return agent.goto("labelling", body=body, messages=(*mail.messages, il.assistant_message(body)))


def revise(mail: Mail, event: Revise) -> il.Move | None:
    """Have it written again, and say why; three times."""
    if mail.revisions >= MOST_REVISIONS:
        return None
    wish = il.user_message(f"Write the mail again: {event.feedback}")
    return agent.goto("drafting", messages=(*mail.messages, wish), label=None, revisions=mail.revisions + 1)


machine = agent.machine(
    "email-drafter",
    context=begin,
    initial="drafting",
    states={
        "drafting": agent.state(
            invoke=agent.stream_text(
                name="draft",
                model="writer",
                system="You write mails: short, plain, polite. Write the text of the mail and nothing else.",
                messages=lambda mail: mail.messages,
                max_output_tokens=200,
                on_done=drafted,
            ),
        ),
        "labelling": agent.state(
            invoke=agent.generate_text(
                name="label",
                model="writer",
                prompt=lambda mail: f"Give this mail a subject, and say what its tone is.\n\n{mail.body}",
                output=Label,
                on_done=lambda mail, label: agent.goto("review", label=label),
                on_error="review",  # a mail without a subject can still be read
            ),
        ),
        "review": agent.state(
            on=[
                agent.on(Approve, lambda mail, event: agent.goto("closed", sent=True)),
                agent.on(Revise, revise),
                agent.on(Discard, "closed"),
            ]
        ),
        "closed": agent.final(output=lambda mail: mail),
    },
)


def scripted_label(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
    """Play the model: the words that were asked for are the subject."""
    return il.TextResult(output={"subject": str(request.prompt).splitlines()[4][:60], "tone": "friendly"})


async def scripted_draft(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
    """Play the model: what was asked for, in a frame, line by line."""
    wishes = [il.get_message_text(message) for message in request.messages if message.role == "user"]
    lines = ["Hello,", "", *(wish.splitlines()[-1].partition(": ")[2] for wish in wishes), "", "Kind regards"]
    for line in lines:
        yield f"{line}\n"
    yield il.TextResult(output="\n".join(lines))


def executors(model: str) -> il.Executors:
    """Return who writes."""
    if model == "openai":
        from interlock.adapters.openai import openai_executors

        return openai_executors(models={"writer": os.environ.get("OPENAI_MODEL", "gpt-5-mini")})
    if model == "local":
        from interlock.adapters.writing import local_writer

        return local_writer()
    return il.Executors(generate_text=scripted_label, stream_text=scripted_draft)


def draft(task: Task, models: il.Executors, ask: Callable[[Mail], str]) -> Mail:
    """Draft and redraft a mail until a person has decided."""
    result = il.run_agent_sync(machine, input=task, executors=models, on_chunk=show)
    while isinstance(result, il.Idle):
        said = ask(result.snapshot.context).strip()
        event = {"yes": Approve(), "no": Discard()}.get(said) or Revise(feedback=said or "better, please")
        result = il.run_agent_sync(machine, snapshot=result.snapshot, event=event, executors=models, on_chunk=show)
        if result.ignored:
            print("No more revisions: yes or no.")
    if isinstance(result, il.Failed):
        sys.exit(f"failed ({result.error.code}): {result.error.message}")
    return result.output


def show(text: str, request: il.TextRequest) -> None:
    """Show a piece of the draft as it comes."""
    print(text, end="", flush=True)


def ask(mail: Mail) -> str:
    """Ask the person at the keyboard."""
    print("\n---", "(no subject)" if mail.label is None else f"{mail.label.subject} ({mail.label.tone})")
    return input("send? ")


def main() -> None:
    """Read the command line, and have the mail written."""
    parser = argparse.ArgumentParser(description="Draft a mail; nothing is sent before you say so.")
    parser.add_argument("wish", help="what the mail shall say")
    parser.add_argument("--with", dest="about", type=Path, action="append", default=[], help="a text that it is about")
    parser.add_argument("--model", choices=("scripted", "local", "openai"), default="scripted")
    given = parser.parse_args()
    try:
        task = Task(wish=given.wish, about=tuple(path.read_text("utf-8") for path in given.about))
        mail = draft(task, executors(given.model), ask)
    except (il.InterlockError, OSError) as error:
        sys.exit(str(error))
    except (EOFError, KeyboardInterrupt):
        sys.exit("\nNobody has answered; nothing was sent.")
    print("Sent." if mail.sent else "Nothing was sent.")


if __name__ == "__main__":
    main()
