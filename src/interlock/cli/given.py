"""What was said on the command line of ``interlock run``, for the waits to come: ``--event`` and ``--reply``."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic_core import from_json

from interlock.agent.reading import AnyMachine, classes_of, parse_event
from interlock.cli.inputs import Kind, Question, kinds
from interlock.cli.menu import Given, Replied, Wait, type_of
from interlock.cli.stops import CommandError, UsageError
from interlock.errors import InputError, did_you_mean

__all__ = ["SaidBefore", "read_json"]


def read_json(text: str, option: str) -> Any:  # noqa: ANN401  # whatever was given
    """Return what an option holds; raises :class:`UsageError`."""
    try:
        return from_json(text)
    except ValueError as error:
        raise UsageError(f"{option} is no JSON: {error}; given was {text[:80]!r}") from error


class SaidBefore:
    """Events, each good for one wait, and replies, each good for one question: the first of its name that is open.

    Raises :class:`UsageError` for what the machine never takes.
    """

    def __init__(self, machine: AnyMachine, events: Sequence[str], replies: Sequence[str]) -> None:
        self._events: deque[Given] = deque()
        for text in events:
            event = read_json(text, "--event") if text.lstrip().startswith(("{", '"', "[")) else text.strip()
            self._events.append(_read(machine, event))
        known = kinds(machine)
        for text in replies:
            _check(text, known)
        self._replies = list(replies)

    def __bool__(self) -> bool:
        return bool(self._events) or bool(self._replies)

    def left(self) -> str:
        """Return what has not been said yet."""
        return ", ".join(
            [*(f"--event {type_of(event)}" for event in self._events), *map("--reply {}".format, self._replies)]
        )

    def take(self, wait: Wait) -> Given | Replied:
        """Return the replies to what is asked, or else the next event; the machine says whether it is legal."""
        if replies := self._replies_to(wait.questions):
            return Replied(replies)
        if self._events:
            event = self._events.popleft()
            kind = type_of(event)
            known = [option.event_type for option in wait.offered]
            if kind not in known:
                raise CommandError(f"--event {kind}: {_illegal(kind, known, wait)}")
            return event
        key = self._replies[0].partition("=")[0]
        asked = [question.key for question in wait.questions]
        hint = did_you_mean(key, asked) if asked else "No question is open."
        raise UsageError(f"--reply {key}: nobody is asked this in state {wait.state!r} now. {hint}")

    def _replies_to(self, questions: Sequence[Question]) -> dict[str, object]:
        found: dict[str, object] = {}
        for text in list(self._replies):
            meant = [(question, name) for question in questions if (name := _named(text, question)) is not None]
            exact = [question for question, name in meant if name == question.request.id]
            alike = exact or [question for question, _ in meant]
            if not alike:
                continue
            name = meant[0][1] if not exact else exact[0].request.id
            if len(alike) > 1:
                ids = ", ".join(question.request.id for question in alike)
                raise UsageError(f"--reply {name}: several questions are called so; give the id of one: {ids}")
            if alike[0].request.id in found:
                continue  # for the next time that it is asked
            try:
                found[alike[0].request.id] = alike[0].read(text[len(name) + 1 :])
            except InputError as error:
                raise UsageError(f"--reply {name}: {error.message}") from error
            self._replies.remove(text)
        return found


def _illegal(kind: str, known: Sequence[str], wait: Wait) -> str:
    if known or not wait.questions:
        return f"not legal in state {wait.state!r} now. {did_you_mean(kind, known)}"
    asked = ", ".join(question.key for question in wait.questions)
    return f"not legal in state {wait.state!r} now, where a reply is waited for: --reply {asked}"


def _named(text: str, question: Question) -> str | None:
    """Return what a reply calls a question, if it may mean this one: names may have a '=' in them."""
    names = (question.request.id, *question.names)
    return next((name for name in names if text.startswith(f"{name}=")), None)


def _check(text: str, known: Sequence[Kind]) -> None:
    """Raise :class:`UsageError` for a reply that no question of the machine takes."""
    key, equals, _ = text.partition("=")
    names = sorted({name for kind in known for name in kind.names}, key=len)
    if not equals or not key:
        raise UsageError(f"--reply {text!r} does not say to which question; give NAME=VALUE")
    name = next((name for name in names if text.startswith(f"{name}=")), None)
    if name is None:
        if "#" in key:  # an id, which is known when the question is open
            return
        hint = did_you_mean(key, names) if names else "It asks none."
        raise UsageError(f"--reply {key}: no question of the machine is called so. {hint}")
    wrong: InputError | None = None
    for kind in (kind for kind in known if name in kind.names):
        try:
            kind.read(text[len(name) + 1 :])
        except InputError as error:
            wrong = wrong or error
        else:
            return
    assert wrong is not None  # noqa: S101  # a name is somebody's
    raise UsageError(f"--reply {name}: {wrong.message}") from wrong


def _read(machine: AnyMachine, event: object) -> Given:
    data = event
    if not classes_of(machine):  # a machine without declared events takes any
        given = cast("Mapping[str, object]", event if isinstance(event, Mapping) else {"type": event})
        if isinstance(given.get("type"), str):
            return given
    try:
        return parse_event(machine, data)
    except InputError as error:
        raise UsageError(f"--event: {error.message}") from error
