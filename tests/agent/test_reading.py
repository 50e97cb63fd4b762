"""Untrusted data becomes an event of a declared class, or an error that says why not."""

import datetime as dt

import pytest

import interlock.agent as il
from interlock.errors import InputError
from tests.agent.machines import Add, Refuse, support_machine, twenty_questions
from tests.guessing import Reply

machine = support_machine()


class Strict(il.Event, strict=True):
    day: dt.date
    tags: tuple[str, ...]


@pytest.mark.parametrize(
    ("given", "event"),
    [
        (Refuse(), Refuse()),
        ("Refuse", Refuse()),
        ({"type": "note.add"}, Add(text="")),
        ({"type": "note.add", "text": "x"}, Add(text="x")),
    ],
)
def test_data_becomes_the_event(given: object, event: il.Event):
    assert il.parse_event(machine, given) == event


def test_a_strict_class_reads_what_json_can_carry():
    agent = il.setup_agent(events=[Strict])
    strict = agent.machine("strict", initial="a", states={"a": agent.state()})
    given = {"type": "Strict", "day": "2026-01-02", "tags": ["a"]}
    assert il.parse_event(strict, given) == Strict(day=dt.date(2026, 1, 2), tags=("a",))


def test_whether_it_is_legal_now_is_another_question():
    assert il.parse_event(twenty_questions, {"type": "Reply", "answer": "no"}) == Reply(answer="no")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("Refus", r"machine 'support': event 'Refus': there is no event 'Refus' here\. Did you mean 'Refuse'\?"),
        ({"type": "Partial", "amount": "x"}, "event 'Partial': amount: "),
        ({"text": "x"}, "'type' must name the event, not None"),
        (3, "3 is no event"),
        ({"type": "@done"}, "there is no event '@done' here"),
    ],
)
def test_other_data_is_refused(given: object, message: str):
    with pytest.raises(InputError, match=message) as caught:
        il.parse_event(machine, given)
    assert caught.value.code == "invalid-event"
