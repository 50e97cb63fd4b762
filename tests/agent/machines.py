"""Machines that the tests of this room speak about."""

from pydantic import BaseModel

import interlock.agent as il
import interlock.statechart as sc
from tests.guessing import game

twenty_questions = game()


class Approve(il.Event):
    """Refund in full."""


class Refuse(il.Event):
    """Refuse the refund."""


class Partial(il.Event):
    """Refund a part."""

    amount: int


class Escalate(il.Event, actor="human"):
    """Hand the case to a colleague."""


class Add(il.Event, type="note.add"):
    """Add a note."""

    text: str = ""


class Clear(il.Event, type="note.clear"):
    """Forget all notes."""


class Case(BaseModel, frozen=True):
    amount: int = 50
    limit: int = 100
    notes: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()


ORDINARY = Case()

SUPPORT_EVENTS = [Approve, Refuse, Partial, Escalate, Add, Clear]

support = il.setup_agent(context=Case, events=SUPPORT_EVENTS)


def support_machine(decide: sc.Invoke | None = None, context: Case = ORDINARY) -> sc.Machine[Case, None, object]:
    """A state that handles every event, some of them under conditions, with the decision under test."""
    return support.machine(
        "support",
        context=context,
        initial="open",
        states={
            "open": support.state(
                invoke=support.decide() if decide is None else decide,
                on=[
                    support.on(Approve, lambda case, _: support.goto("closed") if case.amount <= case.limit else None),
                    support.on(Refuse, "closed"),
                    support.on(
                        Partial,
                        lambda case, partial: support.goto("closed") if partial.amount < case.amount else None,
                    ),
                    support.on(Escalate, "closed"),
                    support.on(Add, lambda case, add: support.stay(notes=(*case.notes, add.text))),
                    support.on(Clear, lambda case, _: support.stay(notes=()) if case.notes else None),
                ],
            ),
            "closed": support.final(),
        },
    )


def started(machine: sc.Machine[Case, None, object]) -> sc.Snapshot[Case]:
    """The machine's first snapshot."""
    return sc.initial_transition(machine)[0]


def types(events: tuple[type[il.Event], ...]) -> list[str]:
    return [event.type for event in events]
