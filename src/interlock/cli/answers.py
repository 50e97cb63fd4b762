"""What a person may say where the machine waits: given on the command line, or asked for."""

from __future__ import annotations

import shlex
from pathlib import Path

import interlock as il
from interlock.cli.demos.support import Approve, Change, Reject, Rephrase
from interlock.cli.options import Options
from interlock.cli.screen import Screen
from interlock.cli.stops import UsageError
from interlock.errors import did_you_mean

__all__ = ["COMMAND", "Given", "ask", "ways_on"]

COMMAND = "interlock demo support"

ANSWERS = ("approve", "change", "reject")


class Given:
    """The answer that stands on the command line: good for the first wait, and true until it is taken."""

    def __init__(self, options: Options) -> None:
        self._answer = None if options.answer is None else _known(options.answer)
        # With a new case, the text is what the customer said first.
        self._words = options.text if options.resume is not None else None

    def __bool__(self) -> bool:
        return self._answer is not None or self._words is not None

    def take(self, state: str) -> il.Event:
        """Return the answer as an event for ``state``. Raises :class:`UsageError` if it does not fit there."""
        answer, words = self._answer, self._words
        self._answer = self._words = None
        if answer == "reject":
            return Reject()
        if state == "asking":
            if words is None:
                raise UsageError(
                    f"--answer {answer}: nothing is proposed yet, the case waits for other words: give TEXT"
                )
            return Rephrase(text=words)
        if answer == "approve":
            return Approve()
        if answer is None:
            raise UsageError(
                'a proposal waits for an answer: approve, change or reject; TEXT goes with "--answer change"'
            )
        return Change(instead=words or "")


def ask(screen: Screen, state: str) -> il.Event | None:
    """Return what the person at the keyboard answers; None to save the case and stop."""
    try:
        if state == "asking":
            words = screen.ask("In other words (Enter: save and stop):")
            return Rephrase(text=words) if words else None
        while True:
            match screen.ask("[a]pprove, [c]hange, [r]eject, or [s]ave and stop?").lower():
                case "a" | "approve":
                    return Approve()
                case "c" | "change":
                    return Change(instead=screen.ask("To what? (Enter: whatever else fits the request)"))
                case "r" | "reject":
                    return Reject()
                case "s" | "save":
                    return None
                case _:
                    continue
    except EOFError:
        screen.console.print()
        return None


def ways_on(file: Path, state: str) -> list[str]:
    """Return the commands that go on with a saved case."""
    resume = f"{COMMAND} --resume {shlex.quote(str(file))}"
    if state == "asking":
        return [f'{resume} "I want to speak to a person"', f"{resume} --answer reject"]
    return [f"{resume} --answer {answer}" for answer in ANSWERS]


def _known(answer: str) -> str:
    cleaned = answer.strip().lower()
    if cleaned not in ANSWERS:
        raise UsageError(f"--answer {answer!r} is none of the answers. {did_you_mean(cleaned, ANSWERS)}")
    return cleaned
