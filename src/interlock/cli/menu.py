"""What a person may say where a machine waits: the legal events, as a menu."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import interlock as il
from interlock.agent.reading import AnyMachine, classes_of
from interlock.cli.fields import ask_event, choices, is_text
from interlock.cli.inputs import Question, ask_reply
from interlock.cli.screen import Screen
from interlock.cli.words import first_line
from interlock.errors import StepError
from interlock.statechart import Snapshot

__all__ = ["Given", "Option", "Replied", "Wait", "Wish", "ask", "keyed", "options", "type_of"]

Given: TypeAlias = il.Event | Mapping[str, object]
"""An event as it goes to the machine; a mapping where the machine declares no class for it."""


@dataclass(frozen=True, slots=True)
class Replied:
    """Replies to questions, by their ids."""

    values: Mapping[str, object]


Wish: TypeAlias = Given | Replied | Literal["save", "wait"]

_OURS = {"s": "save", "w": "wait"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One thing to say; ``fixed`` are the fields that come with it."""

    label: str
    event_type: str
    kind: type[il.Event] | None
    about: str = ""
    fixed: Mapping[str, object] | None = None

    @property
    def words_for(self) -> str | None:
        """The field that takes any text, where that is all there is to fill in."""
        if self.kind is None or self.fixed is not None or len(self.kind.model_fields) != 1:
            return None
        return next((name for name, field in self.kind.model_fields.items() if is_text(field)), None)

    def event(self, fields: Mapping[str, object]) -> Given:
        """Return the event with these fields; they must fit."""
        given = {**(self.fixed or {}), **fields}
        return {"type": self.event_type, **given} if self.kind is None else self.kind(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Where somebody is waited for: what may be said, and what is asked."""

    state: str
    snapshot: Snapshot[Any]
    offered: Sequence[Option]
    questions: Sequence[Question] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to say."""
        return bool(self.offered or self.questions)


def options(machine: AnyMachine, snapshot: Snapshot[Any]) -> tuple[Option, ...]:
    """Return what may be said now, events for people first.

    What has no fields, and no guard would let through, is left out; the rest is judged when it is said. One event with
    one field of a few values is that many options.
    """
    classes = classes_of(machine)
    found: dict[str, Option] = {}
    for accepted in snapshot.accepted_events():
        for name in _matching(accepted, classes):
            kind = classes.get(name)
            if (kind is None or not kind.model_fields) and not _may(
                snapshot, {"type": name} if kind is None else kind()
            ):
                continue
            about = "" if kind is None else first_line(kind.__doc__)
            found.setdefault(name, Option(label=name, event_type=name, kind=kind, about=about))
    order = sorted(found.values(), key=lambda option: option.kind is None or option.kind.actor != "human")
    return _spread(order[0]) if len(order) == 1 else tuple(order)


def keyed(labels: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Return a key to press for each label: a letter of it where one is free, else a number."""
    keys: dict[str, str] = {}
    used = set(taken)
    for number, label in enumerate(labels, 1):
        key = next((letter for letter in label.lower() if letter.isalpha() and letter not in used), str(number))
        used.add(key)
        keys[label] = key
    return keys


def ask(screen: Screen, wait: Wait, *, timer: str | None = None) -> Wish:
    """Return what the person at the keyboard says: an event that is legal now, a reply, or what to do instead.

    Arguments:
        screen: where to ask.
        wait: what may be said, and what is asked.
        timer: when the machine goes on by itself, if it does.
    """
    try:
        if len(wait.questions) == 1 and not wait.offered and timer is None:
            screen.note("Ctrl-D saves and stops.")
            return _reply(screen, wait.questions[0])
        return _picked(screen, wait, timer)
    except EOFError:
        screen.console.print()
        return "save"


def _picked(screen: Screen, wait: Wait, timer: str | None) -> Wish:
    ours = _OURS if timer else {"s": "save"}
    questions = _labelled(wait)
    keys = keyed([*(option.label for option in wait.offered), *questions], ours)
    named = [_marked(label, key) for label, key in keys.items()]
    waiting = [f"[w]ait ({timer})"] if timer else []
    line = f"{', '.join([*named, *waiting])}{', ' if named or waiting else ''}or [s]ave and stop?"
    while True:
        typed = screen.ask(line)
        if (wish := ours.get(typed.lower())) or (wish := typed.lower()) in ours.values():
            return "wait" if wish == "wait" else "save"
        for label, question in questions.items():
            if typed.lower() in (keys[label], label.lower()):
                return _reply(screen, question)
        event = _said(screen, typed, wait.offered, keys)
        if event is None:
            continue
        if wait.snapshot.can(event):
            return event
        screen.refused(type_of(event), "rejected-by-guard", "not allowed here with these fields")


def _reply(screen: Screen, question: Question) -> Replied:
    return Replied({question.request.id: ask_reply(screen, question)})


def _labelled(wait: Wait) -> dict[str, Question]:
    """Return the questions by what they are called here, where nothing else is called so."""
    taken = [option.label for option in wait.offered] + [question.label for question in wait.questions]
    return {
        question.label if taken.count(question.label) == 1 else question.request.id: question
        for question in wait.questions
    }


def _said(screen: Screen, typed: str, offered: Sequence[Option], keys: Mapping[str, str]) -> Given | None:
    for option in offered:
        if typed.lower() in (keys[option.label], option.label.lower()):
            if option.kind is None or option.fixed is not None or not option.kind.model_fields:
                return option.event({})
            return ask_event(screen, option.kind)
    # Several words where one event takes words: whoever types them means them.
    talkative = [option for option in offered if option.words_for is not None]
    if " " in typed and len(talkative) == 1 and (name := talkative[0].words_for) is not None:
        return talkative[0].event({name: typed})
    return None


def _spread(option: Option) -> tuple[Option, ...]:
    if option.kind is None or len(option.kind.model_fields) != 1:
        return (option,)
    ((name, field),) = option.kind.model_fields.items()
    values = choices(field)
    return tuple(
        Option(
            label=value,
            event_type=option.event_type,
            kind=option.kind,
            about=option.about,
            fixed={name: value == "yes" if field.annotation is bool else value},
        )
        for value in values
    ) or (option,)


def _may(snapshot: Snapshot[Any], event: Given) -> bool:
    try:
        return snapshot.can(event)
    except StepError:
        return True  # a guard that raises: whoever says it shall see that, and nobody else


def _matching(accepted: str, classes: Mapping[str, object]) -> list[str]:
    if accepted == "*":
        return list(classes)
    if accepted.endswith(".*"):
        return [name for name in classes if name.startswith(accepted[:-1])]
    return [] if accepted.startswith("@") else [accepted]


def _marked(label: str, key: str) -> str:
    shown = label.lower() if label.isidentifier() else label
    place = shown.lower().find(key)
    return f"[{key}] {shown}" if place < 0 else f"{shown[:place]}[{key}]{shown[place + 1 :]}"


def type_of(event: Given) -> str:
    """Return the type of an event."""
    return event.type if isinstance(event, il.Event) else str(event["type"])
