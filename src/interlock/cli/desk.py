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
from interlock.cli.menu import Given, Option, Wish
from interlock.cli.options import Keep
from interlock.cli.players import Player
from interlock.cli.screen import Screen
from interlock.cli.stops import CommandError
from interlock.cli.words import said_in
from interlock.errors import InterlockError, SnapshotError
from interlock.statechart import Input, Machine, Snapshot

__all__ = ["Answers", "Desk", "Scene", "load"]

C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output


class Scene(Protocol):
    """What one command shows of its run."""

    def waiting(self, snapshot: Snapshot[Any], offered: Sequence[Option], /) -> Sequence[str]:
        """Return what a person should know who is to answer."""
        ...

    def ways_on(self, keep: Keep, offered: Sequence[Option], /) -> Sequence[str]:
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

    def take(self, state: str, offered: Sequence[Option]) -> Given:
        """Return the next answer; raises :class:`CommandError` where it does not fit."""
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

    def work(self, input: I | None = None, snapshot: Snapshot[C] | None = None) -> None:
        """Run until the case has ended, or somebody is waited for who is not here.

        A case out of a file is kept up to date in it with every step, so that no answer is taken twice.
        """
        if snapshot is not None and snapshot.status == "done":
            if self.answers:
                raise CommandError(f"{self.keep.resume} has ended in {self.board.state!r}; nothing is left to answer")
            self.screen.note("this case has ended, and nothing is done again; it ended so:")
        event: Given | None = None
        while self.screen.output.failure is None:
            if snapshot is not None and (event is not None or snapshot.children):
                self._keep_up(snapshot)  # what cannot be noted down shall not happen
            result: il.Done[O, C] | il.Idle[C] | il.Failed[C] | None
            result = anyio.run(self._run, input if snapshot is None else None, snapshot, event)
            if self._unkept is not None:
                raise self._unkept
            if result is None:
                raise KeyboardInterrupt
            if result.ignored is not None:
                self.screen.note("that came too late: the machine had moved on, and did not take it")
            match result:
                case il.Idle(snapshot=snapshot):
                    wish = self._wait(snapshot, result)
                    if wish == "save":
                        return
                    event = None if isinstance(wish, str) else wish
                case il.Done(output=output):
                    self.screen.ended(self.board.state, self.scene.end(output))
                    self.screen.path(self.board.path)
                    if (after := self.scene.after()) is not None:
                        self.screen.hint(*after)
                    return
                case il.Failed(cause=cause, error=error, origin=origin):
                    self.screen.path(self.board.path)
                    where = "" if origin is None else f"{origin}: "
                    raise CommandError(f"the run failed ({cause}): {where}{error.message}")

    async def _run(
        self, input: I | None, snapshot: Snapshot[C] | None, event: Given | None
    ) -> il.Done[O, C] | il.Idle[C] | il.Failed[C] | None:
        """Run the machine until it rests; None where whoever plays the model has had enough."""
        with anyio.CancelScope() as run:
            self.board.leave = self.screen.output.stop = run.cancel
            return await il.run_agent(
                self.machine,
                input=input,
                snapshot=snapshot,
                event=event,
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
                self._keep_up(snapshot)
            except (CommandError, InterlockError) as error:
                self._unkept = error
                self.board.leave()
        if what is None:
            return
        if event is not None and what.by == "decision":
            self.screen.taken(str(event.type), said_in(event), self.player.reason)
        elif event is not None:
            self.screen.said(str(event.type), said_in(event))
        elif isinstance(what.error, il.ErrorInfo):
            self.screen.note(" ".join(f"{what.error.code}: {what.error.message}".split()))

    def _emitted(self, event: Any) -> None:  # noqa: ANN401  # of whatever class the machine emits
        self.screen.emitted(str(event.type), said_in(event))

    # -- where somebody has to answer ----------------------------------------------------------------------------------

    def _wait(self, waiting: Snapshot[C], rest: il.Idle[C]) -> Wish:
        """Return what the person says; "save", when it is done, where the person is to be asked another time."""
        self.board.snapshot = waiting
        offered = menu.options(self.machine, waiting)
        due = rest.timers[0].due if rest.timers else None
        if due is not None and not offered:
            self._sleep(due)
            return "wait"
        self.screen.waits(self.board.state, self.scene.waiting(waiting, offered))
        try:
            wish = self._said(waiting, offered, due)
        except (CommandError, InterlockError):
            if self.keep.resume is None:
                self._save(waiting, offered)
            raise
        if wish == "wait" and due is not None:
            self._sleep(due)
        elif wish == "save":
            self._save(waiting, offered)
            if due is not None:
                self.screen.note(f"A timer is due in {max(due - time(), 0):.0f} s; it fires when the case goes on.")
        return wish

    def _said(self, waiting: Snapshot[C], offered: Sequence[Option], due: float | None) -> Wish:
        if self.answers:
            return self._given(waiting, offered)
        if self.keep.save is None and self.screen.interactive and offered:
            timer = None if due is None else f"{max(due - time(), 0):.0f} s"
            return menu.ask(self.screen, offered, waiting, timer=timer)
        return "save"

    def _given(self, waiting: Snapshot[C], offered: Sequence[Option]) -> Given:
        event, state = self.answers.take(self.board.state, offered), self.board.state
        if waiting.can(event):
            return event
        said = said_in(event) or "no fields"
        raise CommandError(f"{menu.type_of(event)} with {said} is not legal in state {state!r} now")

    def _sleep(self, due: float) -> None:
        left = due - time()
        if left > 1:
            self.screen.note(f"waiting for a timer, {left:.0f} s; Ctrl-C stops")
        anyio.run(anyio.sleep, max(left, 0.0))

    def _save(self, waiting: Snapshot[C], offered: Sequence[Option]) -> None:
        """Save the case and say how to go on with it."""
        self._write(waiting)
        self.screen.path(self.board.path)
        self.screen.hint(
            f"Saved to {self.keep.file}. Go on with it, in any process:", self.scene.ways_on(self.keep, offered)
        )

    def _keep_up(self, snapshot: Snapshot[C]) -> None:
        """Note down where the case stands, if it came out of a file."""
        if self.keep.resume is not None:
            self._write(snapshot)

    def _write(self, snapshot: Snapshot[C]) -> None:
        saves.keep_up(
            self.keep,
            saves.SavedCase(
                interlock=self.keep.command,
                model=self.player.model,
                path=tuple(self.board.path),
                snapshot=dict(snapshot.dump()),
            ),
        )
        self.screen.kept = self.keep.file
