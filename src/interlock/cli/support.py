"""``interlock demo support``: from a sentence to a proposal, to a person's answer, in one process or in two."""

from __future__ import annotations

from math import isfinite
from typing import Any, TypeAlias

import anyio

import interlock as il
from interlock.cli import answers, saves
from interlock.cli.demos.support import MODEL_EVENTS, Case, Change, Order, Outcome, Rephrase, machine, obstacle
from interlock.cli.options import Model, Options
from interlock.cli.players import Player
from interlock.cli.screen import Row, Screen
from interlock.cli.stops import CommandError, UsageError
from interlock.statechart import Input, Snapshot

__all__ = ["support"]

_Result: TypeAlias = il.Done[Outcome, Case] | il.Idle[Case] | il.Failed[Case]

STANDARD_TEXT = "I was charged twice for my order"
LONGEST_TEXT = 2_000


def support(options: Options, screen: Screen) -> None:
    """Carry out the command.

    Raises :class:`UsageError` for options that do not fit, :class:`CommandError` for files and runs that cannot go on,
    and :class:`SnapshotError` for a saved case that the machine cannot go on from.
    """
    _check(options)
    if options.resume is None:
        case = _new_case(options)
        desk = _Desk(options, screen, case, options.model or Model.LOCAL)
        desk.player.get_ready()
        _show_title(screen, case)
        if options.text is None:
            screen.note("no request was given, so this is the customer's")
        desk.work()
    else:
        saved = saves.read(options.resume)
        snapshot = machine.load(saved.snapshot)
        _show_title(screen, snapshot.context)
        screen.note(f"resumed from {options.resume}")
        desk = _Desk(options, screen, snapshot.context, options.model or saved.model)
        desk.path.extend(saved.path)
        desk.work(snapshot)


class _Desk:
    """One case on its way through the machine: runs it, and asks or saves wherever a person is waited for."""

    def __init__(self, options: Options, screen: Screen, case: Case, model: Model) -> None:
        self.options = options
        self.screen = screen
        self.case = case
        self.path: list[saves.Step] = []
        self.player = Player(model, screen, self.rows, pretend=options.pretend)
        self.given = answers.Given(options)

    def work(self, snapshot: Snapshot[Case] | None = None) -> None:
        """Run until the case has ended, or somebody is waited for who is not here."""
        event: il.Event | None = None
        while True:
            if isinstance(event, Change | Rephrase):
                self.player.get_ready()  # whoever cannot decide shall say so before anything has happened
            result: _Result | None = anyio.run(self.run, snapshot, event)
            if result is None:
                raise KeyboardInterrupt
            match result:
                case il.Idle(snapshot=waiting):
                    event = self.wait(waiting)
                    if event is None:
                        return
                    snapshot = waiting
                case il.Done(output=outcome):
                    self.end(str(result.snapshot.value), outcome)
                    return
                case il.Failed(cause=cause, error=error):
                    self.screen.path(self.path)
                    raise CommandError(f"the run failed ({cause}): {error.message}")

    async def run(self, snapshot: Snapshot[Case] | None, event: il.Event | None) -> _Result | None:
        """Run the machine until it rests; None where whoever plays the model has had enough."""
        with anyio.CancelScope() as run:
            self.player.leave = run.cancel
            return await il.run_agent(
                machine,
                input=self.case if snapshot is None else None,
                snapshot=snapshot,
                event=event,
                executors=il.Executors(decide=self.player.decide),
                on_transition=self.moved,
            )
        return None

    def moved(self, snapshot: Snapshot[Case], what: Input | None) -> None:
        """Take note of a step of the machine."""
        self.case = snapshot.context
        event: Any = None if what is None else what.event
        state = str(snapshot.value)
        if event is not None or not self.path or self.path[-1].state != state:
            self.path.append(saves.Step(via=None if event is None else str(event.type), state=state))
        if event is not None and what is not None and what.by == "decision":
            self.screen.taken(str(event.type), self.player.reason)
        elif isinstance(event, il.Event):
            self.screen.said(event.type, event.text if isinstance(event, Rephrase) else getattr(event, "instead", ""))
        elif what is not None and isinstance(what.error, il.ErrorInfo):
            self.screen.note(f"{what.error.code}: {what.error.message}")

    def wait(self, waiting: Snapshot[Case]) -> il.Event | None:
        """Return what the person says; None, after saving the case, where the person is to be asked another time."""
        state = str(waiting.value)
        self.screen.waits(state, _proposal(state, waiting.context))
        if self.given:
            try:
                return self.given.take(state)
            except CommandError:
                if self.options.resume is None:
                    self.save(waiting)
                raise
        if self.options.save is None and self.screen.interactive:
            event = answers.ask(self.screen, state)
            if event is not None:
                return event
        self.save(waiting)
        return None

    def save(self, waiting: Snapshot[Case]) -> None:
        """Save the case and say how to go on with it."""
        file = self.options.save or self.options.resume or saves.DEFAULT_FILE
        saves.write(
            file, saves.SavedCase(model=self.player.model, path=tuple(self.path), snapshot=dict(waiting.dump()))
        )
        self.screen.path(self.path)
        self.screen.hint(f"Saved to {file}. Go on with it, in any process:", answers.ways_on(file, str(waiting.value)))

    def end(self, state: str, outcome: Outcome) -> None:
        """Show how the case ended, and what else there is to try."""
        self.screen.ended(state, outcome.message)
        self.screen.path(self.path)
        if self.case.order.shipped:
            self.screen.hint("Next, play the model yourself, and try to break the rules:", [
                f'{answers.COMMAND} "Cancel it, or else" --shipped --model human',
            ])  # fmt: skip
        else:
            self.screen.hint("Next: an order on its way is not cancelled, whatever a model says.", [
                f'{answers.COMMAND} "Please cancel my order" --shipped',
                f'{answers.COMMAND} "Please cancel my order" --shipped --pretend CancelOrder',
            ])  # fmt: skip

    def rows(self) -> list[Row]:
        """Return all that the model may pick in general, and what stands against it in this case."""
        return [
            Row(
                event=event.type,
                about=" ".join((event.__doc__ or "").split()),
                obstacle=obstacle(self.case, event.type),
            )
            for event in MODEL_EVENTS
        ]


def _proposal(state: str, case: Case) -> list[str]:
    if state == "asking":
        return ["The request is not clear, or not possible for this order.", "Say it in other words."]
    about = {event.type: " ".join((event.__doc__ or "").split()) for event in MODEL_EVENTS}
    return [f"Proposed: {case.proposal}", about.get(str(case.proposal), "")]


def _show_title(screen: Screen, case: Case) -> None:
    order = case.order
    charged = {1: "charged once", 2: "charged twice"}.get(order.charges, f"charged {order.charges} times")
    screen.title(
        case.text,
        [f"order {order.number}", f"{order.amount:.2f}", charged, "shipped" if order.shipped else "not shipped"],
    )


def _new_case(options: Options) -> Case:
    order = Order()
    given = {"amount": options.order_amount, "charges": options.charges, "shipped": options.shipped}
    text = STANDARD_TEXT if options.text is None else options.text.strip()
    return Case(
        text=text, order=order.model_copy(update={name: value for name, value in given.items() if value is not None})
    )


def _check(options: Options) -> None:
    if options.text is not None and not options.text.strip():
        raise UsageError(f'the request is empty; say what the customer wants: {answers.COMMAND} "{STANDARD_TEXT}"')
    if options.text is not None and len(options.text) > LONGEST_TEXT:
        raise UsageError(f"the request has {len(options.text):,} characters; {LONGEST_TEXT:,} are enough for the demo")
    if options.order_amount is not None and not isfinite(options.order_amount):
        raise UsageError(f"--order-amount is an amount of money, not {options.order_amount}")
    if options.resume is not None:
        new = {"--order-amount": options.order_amount, "--charges": options.charges, "--shipped": options.shipped}
        for name, value in new.items():
            if value is not None:
                raise UsageError(f"the order stands in the saved case; {name} is for a new one")
