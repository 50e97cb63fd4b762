"""Who decides in the demo: the model in the wheel, the person at the keyboard, or a script."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from signal import SIGINT, default_int_handler, getsignal, signal
from time import perf_counter
from typing import cast

import anyio

import interlock as il
from interlock.adapters.embedding import MODEL, load
from interlock.agent.contract import DecideExecutor, ExecutorInfo
from interlock.cli.demos.support import EXAMPLES
from interlock.cli.options import Model
from interlock.cli.screen import Row, Screen
from interlock.cli.stops import UsageError
from interlock.errors import MissingExtraError

__all__ = ["Player"]

Rows = Callable[[], Sequence[Row]]
"""Every move, legal or not, as the case stands."""

_WORDS = {
    "RefundDuplicate": ("twice", "double", "two times", "duplicate", "refund"),
    "CancelOrder": ("cancel", "do not want", "don't want", "changed my mind"),
    "ChangeAddress": ("address", "moved", "street", "deliver it to"),
    "TalkToPerson": ("human", "person", "somebody", "manager"),
    "TrackParcel": ("where", "when", "track", "arrive", "parcel"),
}
"""By which words the script goes; the first that fits."""


class Player:
    """The executor of the demo: shows the moves, lets somebody decide, and shows what became of it."""

    def __init__(self, model: Model, screen: Screen, rows: Rows, *, pretend: str | None) -> None:
        self.model = model
        self.reason: str | None = None
        """Why the last choice was made, by those who made it."""
        self.leave: Callable[[], None] = lambda: None
        """Gives up the run; called where whoever decides wants to stop."""
        self._screen = screen
        self._rows = rows
        self._pretend = pretend
        self._decide: DecideExecutor | None = None

    def get_ready(self) -> DecideExecutor:
        """Load the model, or find who takes its place.

        Raises :class:`UsageError` where nobody can decide.
        """
        if self._decide is None:
            self._decide = self._found()
        return self._decide

    async def decide(self, request: il.DecisionRequest, info: ExecutorInfo) -> il.Choice:
        """Have one decision made, for all to see."""
        chooser = self.get_ready()
        took: float | None = None
        for attempt in request.attempts[-1:]:
            picked = "nothing" if attempt.event is None else str(attempt.event.get("type"))
            obstacle = next((row.obstacle for row in self._rows() if row.event == picked), None)
            self._screen.refused(picked, attempt.failure, obstacle or attempt.reason)
        if self._pretend is not None:
            choice = il.Choice(event={"type": self._pretend}, reason="pretended, as you asked")
            self._pretend = None
        else:
            started = perf_counter()
            answer = chooser(request, info)
            choice = await answer if inspect.isawaitable(answer) else answer
            took = perf_counter() - started
        self.reason = choice.reason
        if self.model is not Model.HUMAN and (not request.attempts or _weights(choice)):
            self._screen.moves(self._rows(), weights=_weights(choice), chosen=_type(choice))
        if self.model is Model.LOCAL and took is not None:
            self._screen.note(f"by {MODEL}, on this computer, in {took * 1000:.0f} ms")
        return choice

    def _found(self) -> DecideExecutor:
        if self.model is Model.SCRIPTED:
            return _script
        if self.model is Model.LOCAL:
            from interlock.adapters.local import local_executors

            try:
                made = local_executors(examples=EXAMPLES).decide
                assert made is not None  # noqa: S101  # it is what they are for
                # What the events mean is read once and kept; then what a decision takes is what it takes from now on.
                load()(
                    "",
                    [
                        *(row.about for row in self._rows()),
                        *(said for all_said in EXAMPLES.values() for said in all_said),
                    ],
                )
            except MissingExtraError as error:
                if error.code != "unsupported-platform":
                    raise UsageError(f"{error.message}; or decide yourself: --model human") from error
                self._screen.note(f"{error.message}.")
                self._screen.note("So you play the model.")
                self.model = Model.HUMAN
            else:
                return made
        if not self._screen.interactive:
            raise UsageError("--model human needs a terminal to ask you in; without one, take --model scripted")
        return self._ask

    async def _ask(self, request: il.DecisionRequest, _info: ExecutorInfo) -> il.Choice:
        rows = self._rows()
        if not request.attempts:
            self._screen.moves(rows, weights={}, numbered=True)
            self._screen.note("You play the model. Pick a move; pick an illegal one to see it refused.")
        while True:
            try:
                with _interruptible():
                    typed = self._screen.ask(f"Which move? [1-{len(rows)}]").lower()
            except (KeyboardInterrupt, EOFError):
                # No failure of the executor, which the machine would have an answer to: the run itself is given up.
                self.leave()
                await anyio.sleep_forever()
                raise
            for number, row in enumerate(rows, 1):
                if typed in (str(number), row.event.lower()):
                    return il.Choice(event={"type": row.event}, reason="picked by you")


def _script(request: il.DecisionRequest, _info: ExecutorInfo) -> il.Choice:
    """Go by words alone, always the same way, after one illegal move to show what comes of it."""
    if not request.attempts:
        illegal = request.withheld[0] if request.withheld else "DeleteEverything"
        return il.Choice(event={"type": illegal}, reason="the script begins with an illegal move")
    said = (request.prompt or "").lower()
    offered = [event.type for event in request.events]
    meant = next((event for event, words in _WORDS.items() if any(word in said for word in words)), "Unsure")
    return il.Choice(event={"type": meant if meant in offered else "Unsure"}, reason="the script goes by words")


@contextmanager
def _interruptible() -> Generator[None]:
    """Let Ctrl-C end a question: the handler of a running event loop would wait for the answer first."""
    before = getsignal(SIGINT)
    signal(SIGINT, default_int_handler)
    try:
        yield
    finally:
        signal(SIGINT, before)


def _type(choice: il.Choice) -> str:
    return str(choice.event.get("type")) if isinstance(choice.event, Mapping) else choice.event.type


def _weights(choice: il.Choice) -> Mapping[str, float]:
    raw = choice.raw
    return cast("Mapping[str, Mapping[str, float]]", raw).get("weights", {}) if isinstance(raw, Mapping) else {}
