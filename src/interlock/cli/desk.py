"""A run in the terminal: the machine works, the screen shows it, and a person answers now or another day."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import time
from typing import Any, Generic, Protocol, TypeVar

import anyio

import interlock as il
from interlock.cli import menu, saves
from interlock.cli.board import Board
from interlock.cli.inputs import open_questions
from interlock.cli.menu import Given, Replied, Wait, Wish
from interlock.cli.options import Keep
from interlock.cli.players import Player
from interlock.cli.screen import Screen
from interlock.cli.stops import CommandError
from interlock.cli.words import json_line, said_in
from interlock.errors import InterlockError, SnapshotError
from interlock.statechart import Input, Machine, Snapshot

__all__ = ["Answers", "Desk", "Scene", "load"]

C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output


class Scene(Protocol):
    """What one command shows of its run."""

    def waiting(self, wait: Wait, /) -> Sequence[str]:
        """Return what a person should know who is to answer."""
        ...

    def ways_on(self, file: Path, wait: Wait, /) -> Sequence[str]:
        """Return the commands that go on with a saved case."""
        ...

    def end(self, output: Any, /) -> str:  # noqa: ANN401  # the machine's own type
        """Return what is shown of how it ended."""
        ...

    def after(self) -> tuple[str, Sequence[str]] | None:
        """Return what there is to try next, with its commands; None for nothing."""
        ...


class Answers(Protocol):
    """What was answered on the command line, for the waits to come."""

    def __bool__(self) -> bool:
        """Whether there is an answer left."""
        ...

    def take(self, wait: Wait, /) -> Given | Replied:
        """Return the next answer; raises :class:`CommandError` where it does not fit."""
        ...

    def left(self) -> str:
        """Return the answers that are left, as they were given."""
        ...


def load(
    machine: Machine[C, Any, Any],
    board: Board,
    keep: Keep,
    file: Path,
    flaw: Callable[[Snapshot[C]], str | None] = lambda _: None,
) -> tuple[Snapshot[C], str]:
    """Return where a saved case stands and who plays the model in it; the board gets its way.

    ``flaw`` says what is wrong with a case that the machine itself would go on from. Raises :class:`CommandError` and
    :class:`SnapshotError`.
    """
    saved = saves.read(file, keep)
    snapshot = machine.load(saved.snapshot)
    if snapshot.status == "active" and (wrong := flaw(snapshot)) is not None:
        raise SnapshotError(f"{file} is no saved case: {wrong}", code="invalid-snapshot")
    board.snapshot = snapshot
    board.path.extend(saved.path)
    return snapshot, saved.model


class Desk(Generic[C, I, O]):
    """One case on its way through its machine: runs it, and asks or saves wherever a person is waited for."""

    def __init__(
        self,
        machine: Machine[C, I, O],
        *,
        board: Board,
        screen: Screen,
        player: Player,
        scene: Scene,
        keep: Keep,
        answers: Answers,
    ) -> None:
        self.machine = machine
        self.board = board
        self.screen = screen
        self.player = player
        self.scene = scene
        self.keep = keep
        self.answers = answers
        self._unkept: CommandError | InterlockError | None = None
        self._replied: dict[str, str] = {}
        """What is replied to: by the ids of questions, what they are called."""

    def work(self, input: I | None = None, snapshot: Snapshot[C] | None = None) -> None:
        """Run until the case has ended, or somebody is waited for who is not here.

        A case out of a file is kept up to date in it with every step, so that no answer is taken twice.
        """
        if snapshot is not None and snapshot.status == "done":
            if self.answers:
                raise CommandError(f"{self.keep.resume} has ended in {self.board.state!r}; nothing is left to answer")
            self.screen.note("this case has ended, and nothing is done again; it ended so:")
        said: Given | Replied | None = None
        while self.screen.output.failure is None:
            if snapshot is not None and self.keep.resume is not None and (said is not None or snapshot.children):
                self._keep(snapshot)  # what cannot be noted down shall not happen
            result: il.Done[O, C] | il.Idle[C] | il.Failed[C] | None
            result = anyio.run(self._run, input if snapshot is None else None, snapshot, said)
            if self._unkept is not None:
                raise self._unkept
            if result is None:
                raise KeyboardInterrupt
            if result.ignored is not None or self._replied:
                self.screen.note("that came too late: the machine had moved on, and did not take it")
                self._replied = {}
            match result:
                case il.Idle(snapshot=snapshot):
                    wish = self._wait(snapshot, result)
                    if wish == "save":
                        return
                    said = None if isinstance(wish, str) else wish
                case il.Done(output=output):
                    self.screen.ended(self.board.state, self.scene.end(output))
                    self.screen.path(self.board.path)
                    if self.answers:
                        self.screen.note(f"it ended before this was waited for: {self.answers.left()}")
                    if (after := self.scene.after()) is not None:
                        self.screen.hint(*after)
                    return
                case il.Failed(cause=cause, error=error, origin=origin):
                    self.screen.path(self.board.path)
                    where = "" if origin is None else f"{origin}: "
                    raise CommandError(f"the run failed ({cause}): {where}{error.message}")

    async def _run(
        self, input: I | None, snapshot: Snapshot[C] | None, said: Given | Replied | None
    ) -> il.Done[O, C] | il.Idle[C] | il.Failed[C] | None:
        """Run the machine until it rests; None where whoever plays the model has had enough."""
        with anyio.CancelScope() as run:
            self.board.leave = self.screen.output.stop = run.cancel
            return await il.run_agent(
                self.machine,
                input=input,
                snapshot=snapshot,
                event=None if isinstance(said, Replied) else said,
                replies=said.values if isinstance(said, Replied) else None,
                executors=self.player.executors,
                timers="return",  # a person is asked meanwhile
                on_transition=self._moved,
                on_chunk=self.player.chunk,
                on={"*": self._emitted},
            )
        return None

    # -- what is seen of a step ----------------------------------------------------------------------------------------

    def _moved(self, snapshot: Snapshot[C], what: Input | None) -> None:
        self.board.snapshot = snapshot
        event: Any = None if what is None else what.event
        self.board.step(None if event is None else str(event.type))
        if snapshot.status != "error":  # what has failed may go better from where it stood before
            try:
                if self.keep.resume is not None:
                    self._keep_or_rescue(snapshot)
            except (CommandError, InterlockError) as error:
                self._unkept = error
                self.board.leave()
        if what is None:
            return
        if event is not None and what.by == "decision":
            self.screen.taken(str(event.type), said_in(event), self.player.reason)
        elif event is not None:
            self.screen.said(str(event.type), said_in(event))
        elif what.invocation is not None and (called := self._replied.pop(_id(what), None)) is not None:
            self.screen.said(called, json_line(what.output))
        elif isinstance(what.error, il.ErrorInfo):
            self.screen.note(" ".join(f"{what.error.code}: {what.error.message}".split()))

    def _emitted(self, event: Any) -> None:  # noqa: ANN401  # of whatever class the machine emits
        self.screen.emitted(str(event.type), said_in(event))

    # -- where somebody has to answer ----------------------------------------------------------------------------------

    def _wait(self, waiting: Snapshot[C], rest: il.Idle[C]) -> Wish:
        """Return what the person says; "save", when it is done, where the person is to be asked another time."""
        self.board.snapshot = waiting
        wait = Wait(
            state=self.board.state,
            snapshot=waiting,
            offered=menu.options(self.machine, waiting),
            questions=open_questions(waiting, rest.pending_inputs),
        )
        due = rest.timers[0].due if rest.timers else None
        if due is not None and not wait:
            self._sleep(due)
            return "wait"
        self.screen.waits(self.board.state, self.scene.waiting(wait))
        try:
            wish = self._said(wait, due)
        except (CommandError, InterlockError):
            if self.keep.resume is None:
                self._save(wait)
            raise
        if wish == "wait" and due is not None:
            self._sleep(due)
        elif wish == "save":
            self._save(wait)
            if due is not None:
                self.screen.note(f"A timer is due in {max(due - time(), 0):.0f} s; it fires when the case goes on.")
        elif isinstance(wish, Replied):
            called = {question.request.id: question.key for question in wait.questions}
            self._replied = {id: called[id] for id in wish.values}
        return wish

    def _said(self, wait: Wait, due: float | None) -> Wish:
        if self.answers:
            return self._given(wait)
        if self.keep.save is None and self.screen.interactive and wait:
            return menu.ask(self.screen, wait, timer=None if due is None else f"{max(due - time(), 0):.0f} s")
        return "save"

    def _given(self, wait: Wait) -> Given | Replied:
        given = self.answers.take(wait)
        if isinstance(given, Replied) or wait.snapshot.can(given):
            return given
        said = said_in(given) or "no fields"
        raise CommandError(f"{menu.type_of(given)} with {said} is not legal in state {wait.state!r} now")

    def _sleep(self, due: float) -> None:
        left = due - time()
        if left > 1:
            self.screen.note(f"waiting for a timer, {left:.0f} s; Ctrl-C stops")
        anyio.run(anyio.sleep, max(left, 0.0))

    def _save(self, wait: Wait) -> None:
        """Save the case and say how to go on with it."""
        try:
            self._keep_or_rescue(wait.snapshot)
        except CommandError:
            if (file := self.screen.kept) is not None and file != self.keep.file:
                self._tell_ways_on(file, wait)
            raise
        self._tell_ways_on(self.keep.file, wait)

    def _tell_ways_on(self, file: Path, wait: Wait) -> None:
        self.screen.path(self.board.path)
        self.screen.hint(f"Saved to {file}. Go on with it, in any process:", self.scene.ways_on(file, wait))

    def _keep(self, snapshot: Snapshot[C]) -> None:
        """Note down where the case stands."""
        saves.keep_up(self.keep, self._case(snapshot))
        self.screen.kept = self.keep.file

    def _keep_or_rescue(self, snapshot: Snapshot[C]) -> None:
        """Note it down, and where that cannot be, put it where it can: models were paid for it."""
        try:
            self._keep(snapshot)
        except CommandError as error:
            case = self._case(snapshot)
            try:
                self.screen.kept = saves.rescue(self.keep, case)
            except OSError:
                self.screen.output.write(case.model_dump_json() + "\n")
                raise CommandError(f"{error}. The case is on standard output instead, as a line to --resume") from error
            raise CommandError(f"{error}. The case is kept instead: --resume {self.screen.kept}") from error

    def _case(self, snapshot: Snapshot[C]) -> saves.SavedCase:
        return saves.SavedCase(
            interlock=self.keep.command,
            model=self.player.model,
            path=tuple(self.board.path),
            snapshot=dict(snapshot.dump()),
        )


def _id(what: Input) -> str:
    """Return the id of the invocation that an input is the outcome of."""
    return "/".join((*what.address, str(what.invocation)))
