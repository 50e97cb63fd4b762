"""``interlock demo support``: from a sentence to a proposal, to a person's answers, in one process or in several."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import interlock as il
from interlock.cli import desk, replies, saves
from interlock.cli.board import Board
from interlock.cli.demos.support import EXAMPLES, MODEL_EVENTS, Case, Order, Outcome, machine, obstacle
from interlock.cli.menu import Wait
from interlock.cli.minds import local, person, script
from interlock.cli.options import Keep, Model, check_text
from interlock.cli.players import Player
from interlock.cli.program import program
from interlock.cli.screen import Screen
from interlock.cli.stops import UsageError
from interlock.cli.words import first_line
from interlock.statechart import Snapshot

__all__ = ["DEFAULT_FILE", "SupportOptions", "support"]

DEFAULT_FILE = Path("interlock-support.json")

STANDARD_TEXT = "I was charged twice for my order"
LONGEST_TEXT = 2_000

_WORDS = {
    "RefundDuplicate": ("twice", "double", "two times", "duplicate", "refund"),
    "CancelOrder": ("cancel", "do not want", "don't want", "changed my mind"),
    "ChangeAddress": ("address", "moved", "street", "deliver it to"),
    "TalkToPerson": ("human", "person", "somebody", "manager"),
    "TrackParcel": ("where", "when", "track", "arrive", "parcel"),
}
"""By which words the script goes; the first that fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportOptions:
    """What the caller gave; None where an option was left out."""

    text: str | None = None
    model: Model | None = None
    order_amount: float | None = None
    charges: int | None = None
    shipped: bool | None = None
    pretend: str | None = None
    answers: Sequence[str] = ()
    save: Path | None = None
    resume: Path | None = None


def support(options: SupportOptions, screen: Screen) -> None:
    """Carry out the command.

    Raises :class:`UsageError` for options that do not fit, :class:`CommandError` for files and runs that cannot go on,
    and :class:`SnapshotError` for a saved case that the machine cannot go on from.
    """
    _check(options)
    keep = Keep(command="demo support", default=DEFAULT_FILE, save=options.save, resume=options.resume)
    saves.check_places(keep)
    board = Board(machine, lambda snapshot, event: obstacle(snapshot.context, event))
    snapshot: Snapshot[Case] | None = None
    case, model = _new_case(options), options.model or Model.LOCAL
    if options.resume is not None:
        snapshot, saved_model = desk.load(machine, board, keep, options.resume, _flaw)
        case, model = snapshot.context, options.model or Model.of(saved_model, options.resume)
    player = Player(
        model,
        {
            Model.LOCAL: lambda: local(board, examples=EXAMPLES),
            Model.SCRIPTED: lambda: script(board, decide=_decide, write=_write),
            Model.HUMAN: lambda: person(board, screen),
        },
        board,
        screen,
        pretend=options.pretend,
    )
    # With a new case, the text is what the customer said first.
    answers = replies.Replies(machine, options.answers, options.text if options.resume else None)
    if snapshot is None or options.model is not None:
        player.get_ready()  # whoever cannot decide shall say so before anything has happened
    _show_title(screen, case)
    if options.resume is not None:
        screen.note(f"resumed from {options.resume}")
    elif options.text is None:
        screen.note("no request was given, so this is the customer's")
    desk.Desk(
        machine,
        board=board,
        screen=screen,
        player=player,
        scene=_Scene(case.order),
        keep=keep,
        answers=answers,
    ).work(case if snapshot is None else None, snapshot)


@dataclass(frozen=True, slots=True)
class _Scene:
    order: Order

    def waiting(self, wait: Wait) -> list[str]:
        """Return what is proposed."""
        case: Case = wait.snapshot.context
        if wait.snapshot.value == "asking":
            return ["The request is not clear, or not possible for this order.", "Say it in other words."]
        if wait.snapshot.value == "replying":
            drafted = ["The model's draft of the reply:"]
            if case.drafted_by == "shop":
                drafted = [f"The model's draft is not used: {case.why_not}.", "The shop's standard reply:"]
            return [f"Done: {case.receipt}", "", *drafted, case.reply or ""]
        about = {event.type: first_line(event.__doc__) for event in MODEL_EVENTS}
        wrong = None if case.proposal is None else obstacle(case, case.proposal)
        told = [] if wrong is None else [f"It cannot be approved any more: {wrong}."]
        return [f"Proposed: {case.proposal}", about.get(str(case.proposal), ""), *told]

    def ways_on(self, file: Path, wait: Wait) -> list[str]:
        """Return the commands that go on with a saved case."""
        resume = f"{_command()} --resume {shlex.quote(str(file))}"
        ways = replies.ways_on(resume, wait.offered)
        return [way.replace('--answer rephrase "..."', '"I want to speak to a person"') for way in ways]

    def end(self, output: Outcome) -> str:
        """Return what was done and what was sent."""
        if output.action in (None, "TalkToPerson"):
            return output.message
        sent = "No reply was sent." if output.reply is None else f"Sent to the customer: {output.reply}"
        return f"{output.message}\n{sent}"

    def after(self) -> tuple[str, list[str]]:
        """Return what else there is to try."""
        if self.order.shipped:
            return "Next, play the model yourself, and try to break the rules:", [
                f'{_command()} "Cancel it, or else" --shipped --model human',
            ]
        return "Next: an order on its way is not cancelled, whatever a model says.", [
            f'{_command()} "Please cancel my order" --shipped',
            f'{_command()} "Please cancel my order" --shipped --pretend CancelOrder',
        ]


def _command() -> str:
    return f"{program()} demo support"


def _flaw(snapshot: Snapshot[Case]) -> str | None:
    """Return what is wrong with a saved case that fits the types, but that this machine would never have left so."""
    case, state = snapshot.context, str(snapshot.value)
    if state in ("triage", "acting", "drafting") and not snapshot.children:
        return f"nobody is waited for in {state!r}, and nothing is at work there"
    if state in ("review", "acting", "drafting", "replying") and case.proposal is None:
        return f"it stands in {state!r}, and nothing is proposed"
    if state in ("drafting", "replying") and case.receipt is None:
        return f"it stands in {state!r}, and nothing was done"
    return f"it stands in {state!r}, and there is no reply" if state == "replying" and not case.reply else None


def _decide(request: il.DecisionRequest) -> il.Choice:
    """Go by words alone, always the same way, after one illegal move to show what comes of it."""
    if not request.attempts:
        illegal = request.withheld[0] if request.withheld else "DeleteEverything"
        return il.Choice(event={"type": illegal}, reason="the script begins with an illegal move")
    said = (request.prompt or "").lower()
    offered = [event.type for event in request.events]
    meant = next((event for event, words in _WORDS.items() if any(word in said for word in words)), "Unsure")
    return il.Choice(event={"type": meant if meant in offered else "Unsure"}, reason="the script goes by words")


def _write(request: il.TextRequest) -> str:
    told = il.get_message_text(request.messages[-1]).rpartition("News: ")[2]
    return f"Thank you for telling us. {told} Have a good day!"


def _show_title(screen: Screen, case: Case) -> None:
    order = case.order
    charged = {1: "charged once", 2: "charged twice"}.get(order.charges, f"charged {order.charges} times")
    screen.title(
        "interlock demo: support desk",
        f'"{case.text}"',
        [f"order {order.number}", f"{order.amount:.2f}", charged, "shipped" if order.shipped else "not shipped"],
    )


def _new_case(options: SupportOptions) -> Case:
    order = Order()
    given: dict[str, Any] = {
        "amount": options.order_amount,
        "charges": options.charges,
        "shipped": options.shipped,
    }
    text = STANDARD_TEXT if options.text is None else options.text.strip()
    return Case(
        text=text, order=order.model_copy(update={name: value for name, value in given.items() if value is not None})
    )


def _check(options: SupportOptions) -> None:
    check_text("the request", options.text)
    check_text("--pretend", options.pretend)
    if options.text is not None and not options.text.strip():
        raise UsageError(f'the request is empty; say what the customer wants: {_command()} "{STANDARD_TEXT}"')
    if options.text is not None and len(options.text) > LONGEST_TEXT:
        raise UsageError(f"the request has {len(options.text):,} characters; {LONGEST_TEXT:,} are enough for the demo")
    if options.order_amount is not None and not isfinite(options.order_amount):
        raise UsageError(f"--order-amount is an amount of money, not {options.order_amount}")
    if options.resume is not None:
        new = {"--order-amount": options.order_amount, "--charges": options.charges, "--shipped": options.shipped}
        for name, value in new.items():
            if value is not None:
                raise UsageError(f"the order stands in the saved case; {name} is for a new one")
