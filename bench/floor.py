"""The floor: the toggle as somebody writes it by hand, a dict and nothing else.

It has no context, no guards, no effects, no snapshot, no timers and no errors
worth the name.  No engine can be faster; the distance says what ours asks for.
"""

from __future__ import annotations

from dataclasses import dataclass

from measure import Run, expect


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened."""

    type: str


TABLE = {"a": {"T": "b"}, "b": {"T": "a"}}


def transition(state: str, event: Event) -> str:
    """The next state; an event without an entry changes nothing."""
    return TABLE[state].get(event.type, state)


def toggle() -> Run:
    """Toggles, as the measured machine does."""
    state = "a"
    total = 0
    event = Event("T")

    def run(count: int) -> None:
        nonlocal state, total
        s = state
        for _ in range(count):
            s = transition(s, event)
        state = s
        total += count
        expect(state, "ab"[total % 2])

    return run
