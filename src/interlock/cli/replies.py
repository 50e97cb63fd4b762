"""The demos' answers on the command line: ``--answer``, and TEXT where an answer has words."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.agent.reading import AnyMachine, classes_of
from interlock.cli.fields import choices
from interlock.cli.menu import Given, Option, Wait
from interlock.cli.stops import UsageError
from interlock.errors import did_you_mean

__all__ = ["Replies", "ways_on"]


class Replies:
    """Answers by name, each good for one wait; the text goes with the first that takes words.

    Raises :class:`UsageError` for an answer that no state of the machine takes.
    """

    def __init__(self, machine: AnyMachine, answers: Sequence[str], text: str | None) -> None:
        known = [word for word in _words(machine) if word]
        for answer in answers:
            if answer.strip().lower() not in known:
                hint = did_you_mean(answer.strip().lower(), known)
                raise UsageError(f"--answer {answer!r} is none of the answers. {hint}")
        self._answers = [answer.strip().lower() for answer in answers]
        self._text = text

    def __bool__(self) -> bool:
        return bool(self._answers) or self._text is not None

    def left(self) -> str:
        """Return the answers that are left."""
        return ", ".join(f"--answer {answer}" for answer in self._answers) or "TEXT"

    def take(self, wait: Wait) -> Given:
        """Return the next answer as an event."""
        state, offered = wait.state, wait.offered
        text, self._text = self._text, None
        if not self._answers:
            return self._meant(text or "", offered)
        answer = self._answers.pop(0)
        option = next((option for option in offered if option.label.lower() == answer), None)
        if option is None:
            raise UsageError(f"--answer {answer} is no answer to what {state!r} waits for: {_listed(offered)}")
        field = option.words_for
        if text is not None and field is None:
            raise UsageError(f"--answer {answer} takes no text")
        if field is None:
            return option.event({})
        if text is None and option.kind is not None and option.kind.model_fields[field].is_required():
            raise UsageError(f"--answer {answer} needs the words: give TEXT")
        return option.event({} if text is None else {field: text})

    def _meant(self, text: str, offered: Sequence[Option]) -> Given:
        talkative = [option for option in offered if (name := option.words_for) is not None and _needed(option, name)]
        if len(offered) - len(talkative) > 1 or len(talkative) != 1:
            named = " or ".join(f'"--answer {option.label.lower()}"' for option in offered if option.words_for)
            goes = f"; TEXT goes with {named}" if named else ""
            raise UsageError(f"an answer is waited for: {_listed(offered)}{goes}")
        return talkative[0].event({talkative[0].words_for or "": text})


def ways_on(resume: str, offered: Sequence[Option]) -> list[str]:
    """Return a command for each answer."""
    return [
        f"{resume} --answer {option.label.lower()}"
        + (' "..."' if (name := option.words_for) is not None and _needed(option, name) else "")
        for option in offered
    ]


def _needed(option: Option, name: str) -> bool:
    return option.kind is not None and option.kind.model_fields[name].is_required()


def _listed(offered: Sequence[Option]) -> str:
    return ", ".join(option.label.lower() for option in offered)


def _words(machine: AnyMachine) -> list[str]:
    people = [kind for kind in classes_of(machine).values() if kind.actor == "human"]
    values = [value for kind in people for field in kind.model_fields.values() for value in choices(field)]
    return [*(kind.type.lower() for kind in people), *values]
