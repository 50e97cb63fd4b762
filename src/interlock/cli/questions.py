"""``interlock demo twenty-questions``: a model asks or guesses, a person answers, at once or another day."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import isawaitable
from pathlib import Path

import interlock as il
from interlock.agent.contract import ExecutorInfo
from interlock.cli import desk, replies, saves
from interlock.cli.board import Board
from interlock.cli.demos.twenty_questions import Game, Start, Verdict, last_turn, machine
from interlock.cli.knowledge import script_turn, with_knowledge
from interlock.cli.menu import Wait
from interlock.cli.minds import Mind, person, script, writer
from interlock.cli.options import Keep, Model
from interlock.cli.players import Player
from interlock.cli.program import program
from interlock.cli.screen import Screen
from interlock.cli.stops import UsageError
from interlock.errors import MissingExtraError, WeightsError
from interlock.statechart import Snapshot

__all__ = ["DEFAULT_FILE", "QuestionOptions", "twenty_questions"]

DEFAULT_FILE = Path("interlock-questions.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOptions:
    """What the caller gave; None where an option was left out."""

    turns: int | None = None
    model: Model | None = None
    answers: Sequence[str] = ()
    save: Path | None = None
    resume: Path | None = None


def twenty_questions(options: QuestionOptions, screen: Screen) -> None:
    """Carry out the command.

    Raises :class:`UsageError` for options that do not fit, :class:`CommandError` for files and runs that cannot go on,
    and :class:`SnapshotError` for a saved game that the machine cannot go on from.
    """
    if options.resume is not None and options.turns is not None:
        raise UsageError("the turns left stand in the saved game; --questions is for a new one")
    keep = Keep(command="demo twenty-questions", default=DEFAULT_FILE, save=options.save, resume=options.resume)
    saves.check_places(keep)
    board = Board(machine, lambda snapshot, event: _obstacle(snapshot.context, event))
    answers = replies.Replies(machine, options.answers, None)
    snapshot: Snapshot[Game] | None = None
    start, model = Start(turns=options.turns or 20), options.model or Model.LOCAL
    turns = start.turns
    if options.resume is not None:
        snapshot, saved_model = desk.load(machine, board, keep, options.resume, _flaw)
        turns, model = snapshot.context.turns_left, options.model or Model.of(saved_model, options.resume)

    def decide(request: il.DecisionRequest) -> il.Choice:
        return script_turn(_game(board), request)

    player = Player(
        model,
        {
            Model.LOCAL: lambda: _local(board, screen),
            Model.SCRIPTED: lambda: script(board, decide=decide),
            Model.HUMAN: lambda: person(board, screen),
        },
        board,
        screen,
    )
    if snapshot is None or options.model is not None:
        player.get_ready()  # whoever cannot ask shall say so before the game begins
    screen.title(
        "interlock demo: twenty questions",
        "Think of something. The model asks, and you answer: yes, no or unsure.",
        [f"{turns} turns left" if snapshot else f"{turns} turns, of which the last is a guess"],
    )
    if options.resume is not None:
        screen.note(f"resumed from {options.resume}")
    elif model in (Model.LOCAL, Model.SCRIPTED):
        screen.note("It knows a few dozen things of every day: animals, food, things at home.")
    desk.Desk(machine, board=board, screen=screen, player=player, scene=_Scene(), keep=keep, answers=answers).work(
        start if snapshot is None else None, snapshot
    )


def _local(board: Board, screen: Screen) -> Mind:
    """Return the small model that writes, held to what makes sense: on its own it would not ask a sensible question.

    Where its weights cannot be had, the script plays.
    """
    found = writer()
    write = found.executors.decide
    assert write is not None  # noqa: S101  # it is what it is for
    missing: list[str] = []

    async def decide(request: il.DecisionRequest, info: ExecutorInfo) -> il.Choice:
        try:
            answer = write(with_knowledge(_game(board), request), info)
            choice = await answer if isawaitable(answer) else answer
        except (MissingExtraError, WeightsError) as error:
            if not missing:
                missing.append(error.code)
                screen.note(f"{error.message}.")
                screen.note("So there is no model, and a script plays.")
            return script_turn(_game(board), request)
        return replace(choice, reason="of what makes a difference now")

    return replace(found, executors=replace(found.executors, decide=decide))


def _command() -> str:
    return f"{program()} demo twenty-questions"


def _flaw(snapshot: Snapshot[Game]) -> str | None:
    """Return what is wrong with a saved game that fits the types, but that this machine would never have left so."""
    game, state = snapshot.context, str(snapshot.value)
    if state == "deciding" and not snapshot.children:
        return f"nobody is waited for in {state!r}, and nothing is at work there"
    if state == "answering" and (not game.asked or game.asked[-1].answer is not None):
        return f"it stands in {state!r}, and nothing is asked"
    return None


def _game(board: Board) -> Game:
    return Game() if board.snapshot is None else board.snapshot.context


def _obstacle(game: Game, event: str) -> str | None:
    return "on the last turn only a guess is legal" if event == "Ask" and last_turn(game) else None


class _Scene:
    def waiting(self, wait: Wait) -> list[str]:
        """Return the question."""
        game: Game = wait.snapshot.context
        left = "the next turn is the last" if last_turn(game) else f"{game.turns_left} turns left"
        return [f"{len(game.asked)}. {game.asked[-1].question}", f"({left})"]

    def ways_on(self, file: Path, wait: Wait) -> list[str]:
        """Return the commands that go on with a saved game."""
        return replies.ways_on(f"{_command()} --resume {shlex.quote(str(file))}", wait.offered)

    def end(self, output: Verdict) -> str:
        """Return the guess."""
        asked = f"{output.questions} question{'' if output.questions == 1 else 's'}"
        if output.guess is None:
            return f"The model has no guess, after {asked}. You win."
        return f"After {asked}, the model says it is: {output.guess}"

    def after(self) -> tuple[str, list[str]]:
        """Return what else there is to try."""
        return "Next: play the model yourself, and try to ask on the last turn.", [
            f"{_command()} --questions 2 --model human"
        ]
