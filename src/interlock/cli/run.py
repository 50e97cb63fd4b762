"""``interlock run``: anyone's machine in the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic_core import to_json, to_jsonable_python

from interlock.agent.reading import AnyMachine
from interlock.cli import desk, saves, target
from interlock.cli.board import Board
from interlock.cli.given import SaidBefore, read_json
from interlock.cli.menu import Option, Wait
from interlock.cli.minds import FindMind, endpoint, local, person, script
from interlock.cli.options import Keep, Model, check_text
from interlock.cli.players import Player
from interlock.cli.program import program
from interlock.cli.samples import sample
from interlock.cli.screen import Screen
from interlock.cli.stops import UsageError
from interlock.cli.words import json_line
from interlock.errors import InputError, did_you_mean
from interlock.statechart import Snapshot

__all__ = ["DEFAULT_FILE", "RunOptions", "run_machine"]

DEFAULT_FILE = Path("interlock-run.json")

_FACTS = 12
"""Fields of the context that are shown where a person is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the caller gave; None where an option was left out."""

    target: str
    input: str | None = None
    model: str | None = None
    base_url: str | None = None
    events: Sequence[str] = ()
    replies: Sequence[str] = ()
    save: Path | None = None
    resume: Path | None = None


def run_machine(options: RunOptions, screen: Screen) -> None:
    """Carry out the command.

    Raises :class:`UsageError` for options that do not fit, :class:`CommandError` for modules, files and runs that
    cannot go on, and :class:`SnapshotError` for a saved case that the machine cannot go on from.
    """
    if options.resume is not None and options.input is not None:
        raise UsageError("a run starts from --input or goes on from --resume; give one of them")
    if options.base_url is not None and options.model is not None and not options.model.startswith("openai"):
        raise UsageError("--base-url is for --model openai")
    for name, text in {"--input": options.input, "--model": options.model, "--base-url": options.base_url}.items():
        check_text(name, text)
    for name, texts in {"--event": options.events, "--reply": options.replies}.items():
        for text in texts:
            check_text(name, text)
    machine = target.find(options.target)
    said = SaidBefore(machine, options.events, options.replies)
    keep = Keep(command="run", default=DEFAULT_FILE, save=options.save, resume=options.resume)
    saves.check_places(keep)
    board = Board(machine)
    snapshot: Snapshot[Any] | None = None
    model = options.model or ("openai" if options.base_url else Model.LOCAL)
    given: object = None
    if options.resume is not None:
        snapshot, saved_model = desk.load(machine, board, keep, options.resume)
        model = options.model or (model if options.base_url and not saved_model.startswith("openai") else saved_model)
    else:
        given = _input(machine, options.input)
    player = Player(model, _minds(model, options.base_url, board, screen), board, screen)
    player.get_ready()  # whoever cannot answer shall say so before anything has happened
    screen.title(
        f"interlock run: {machine.id}",
        options.target if given is None else json_line(to_jsonable_python(given, fallback=repr)),
        [] if options.resume is None else [f"resumed from {options.resume}"],
    )
    desk.Desk(machine, board=board, screen=screen, player=player, scene=_Scene(options), keep=keep, answers=said).work(
        given, snapshot
    )


def _minds(model: str, base_url: str | None, board: Board, screen: Screen) -> Mapping[str, FindMind]:
    minds: dict[str, FindMind] = {
        Model.LOCAL: lambda: local(board),
        Model.SCRIPTED: lambda: script(board),
        Model.HUMAN: lambda: person(board, screen),
    }
    kind, _, name = model.partition(":")
    if kind == "openai":
        return {**minds, model: lambda: endpoint(name or None, base_url)}
    if model not in minds:
        hint = did_you_mean(model, [*minds, "openai"])
        raise UsageError(f"--model {model!r} is nobody: local, human, scripted, openai or openai:<model>. {hint}")
    return minds


def _input(machine: AnyMachine, text: str | None) -> object:
    given = None if text is None else read_json(text, "--input")
    try:
        return machine.checked_input(given)
    except InputError as error:
        schema = None if machine.input_type is None else machine.input_type.json_schema()
        example = "" if schema is None else f"; for example --input '{json_line(sample(schema))}'"
        raise UsageError(f"{error.message}{example}") from error


@dataclass(frozen=True, slots=True)
class _Scene:
    options: RunOptions

    def waiting(self, wait: Wait) -> list[str]:
        """Return what the machine knows, what is asked, and what may be said."""
        known = to_jsonable_python(wait.snapshot.context, fallback=repr, inf_nan_mode="strings", bytes_mode="base64")
        facts: list[str] = []
        if isinstance(known, dict):
            fields = list(cast("dict[str, object]", known).items())
            facts = [f"{name}: {json_line(value, 300)}" for name, value in fields[:_FACTS]]
            facts += [f"(and {len(fields) - _FACTS} more)"] if len(fields) > _FACTS else []
        said = [f"{option.event_type}: {option.about}".rstrip(": ") for option in wait.offered]
        asked = [line for question in wait.questions for line in question.lines()]
        said = [*asked, *dict.fromkeys(said)] or [_nothing(wait.snapshot)]
        return [*facts, *([""] if facts else []), *said]

    def ways_on(self, file: Path, wait: Wait) -> list[str]:
        """Return a command that replies to all that is asked, and one for each event."""
        resume = f"{program()} run {shlex.quote(self.options.target)} --resume {shlex.quote(str(file))}"
        if self.options.base_url:
            resume += f" --base-url {shlex.quote(self.options.base_url)}"
        replies = " ".join(f"--reply {shlex.quote(question.option())}" for question in wait.questions)
        ways = [f"{resume} {replies}"] if replies else []
        return [*ways, *(f"{resume} --event {shlex.quote(_example(option))}" for option in wait.offered)] or [resume]

    def end(self, output: Any) -> str:  # noqa: ANN401  # the machine's own type
        """Return the output as JSON."""
        if isinstance(output, str):
            return output
        return to_json(output, indent=2, fallback=repr, inf_nan_mode="strings", bytes_mode="base64").decode()

    def after(self) -> None:
        """Return nothing: what comes next is the author's business."""


def _nothing(snapshot: Snapshot[Any]) -> str:
    """Return why there is nothing that a person could say."""
    inside = [child.snapshot for child in snapshot.children.values() if child.snapshot is not None]
    if any(child.accepted_events() for child in inside):
        return "A machine within this one waits for an event, and only this one can send it: nothing can be said here."
    return "Nothing can be said here: no event is legal in this state, and nothing is asked."


def _example(option: Option) -> str:
    if option.kind is None or (not option.kind.model_fields and not option.fixed):
        return to_json({"type": option.event_type}).decode()
    fields = cast("dict[str, object]", sample(option.kind.model_json_schema()))
    return to_json({"type": option.event_type, **fields, **(option.fixed or {})}).decode()
