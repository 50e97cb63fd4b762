"""A shop's support desk as an agent: a model sorts the request, a person approves, and only then something happens.

Then a model drafts the reply, and a person sends it, or other words, or nothing.

Read it from the bottom: the machine says which states exist, which model call they make, and what may come next.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, Field

import interlock as il

__all__ = ["EXAMPLES", "MODEL_EVENTS", "Case", "Order", "Outcome", "flaw", "machine", "obstacle"]

REFUND_LIMIT = 200.0
"""What a refund may cost without someone of the finance team."""


# What the model may pick. The docstring is all that it reads about an event.
class RefundDuplicate(il.Event):
    """Pay back a charge that was taken twice for the same order."""


class TrackParcel(il.Event):
    """Tell the customer where the parcel is and when it arrives."""


class CancelOrder(il.Event):
    """Cancel the order because the customer has changed their mind."""


class ChangeAddress(il.Event):
    """Send the order to another delivery address."""


class TalkToPerson(il.Event):
    """Hand the customer over to a human colleague."""


class Unsure(il.Event):
    """None of these, or not clear: ask the customer to say it differently."""


# What only a person may send; no model is ever offered it.
class Approve(il.Event, actor="human"):
    """Do what is proposed."""


class Change(il.Event, actor="human"):
    """Propose something else: for another wish, if one is given."""

    instead: str = Field("", description="To what? (Enter: whatever else fits the request)")


class Reject(il.Event, actor="human"):
    """Do nothing and close the case."""


class Rephrase(il.Event, actor="human"):
    """The customer's wish in other words."""

    text: str = Field(description="In other words")


class Accept(il.Event, actor="human"):
    """Send the draft."""


class Edit(il.Event, actor="human"):
    """Send other words instead."""

    text: str = Field(description="The reply")


MODEL_EVENTS = (RefundDuplicate, TrackParcel, CancelOrder, ChangeAddress, TalkToPerson, Unsure)

Action = Literal["RefundDuplicate", "TrackParcel", "CancelOrder", "ChangeAddress"]


class Order(BaseModel, frozen=True):
    """What the shop knows about the order."""

    number: str = "1042"
    amount: float = Field(default=49.9, ge=0, allow_inf_nan=False)
    charges: int = Field(default=2, ge=0)
    shipped: bool = False


class Case(BaseModel, frozen=True):
    """The context: everything that the machine knows about one customer's request."""

    text: str = ""
    order: Order = Order()
    proposal: Action | None = None
    declined: tuple[Action, ...] = ()
    receipt: str | None = None
    reply: str | None = None
    drafted_by: Literal["model", "shop"] | None = None
    why_not: str | None = None
    """Why the model's draft is not used."""


class Outcome(BaseModel, frozen=True):
    """How a case ended."""

    action: Action | Literal["TalkToPerson"] | None
    message: str
    reply: str | None = None


def obstacle(case: Case, action: str) -> str | None:
    """Return why an action is not possible for this order; None if it is. The machine's guards ask just this."""
    order = case.order
    if action in case.declined:
        return "a person has turned it down"
    match action:
        case "RefundDuplicate" if order.charges < 2:
            return "the order was charged only once"
        case "RefundDuplicate" if order.amount > REFUND_LIMIT:
            return f"{order.amount:.2f} is over the refund limit of {REFUND_LIMIT:.2f}"
        case "TrackParcel" if not order.shipped:
            return "the order has not shipped yet"
        case "CancelOrder" | "ChangeAddress" if order.shipped:
            return "the order has already shipped"
        case _:
            return None


async def perform(action: Action, number: str, amount: float) -> str:
    """Do what was approved; here, only say so."""
    done = {
        "RefundDuplicate": f"{amount:.2f} goes back to the card that paid twice.",
        "TrackParcel": f"Order {number} is on its way and arrives within two days; the customer has the link.",
        "CancelOrder": f"Order {number} is cancelled, and nothing leaves the warehouse.",
        "ChangeAddress": f"Order {number} stays in the warehouse until the customer has confirmed the new address.",
    }
    return done[action]


def news(case: Case) -> str:
    """Return what the customer must be told; a reply that leaves it out is none."""
    number = case.order.number
    told = {
        "RefundDuplicate": f"We have refunded {case.order.amount:.2f} to your card.",
        "TrackParcel": f"Order {number} is on its way and arrives within two days.",
        "CancelOrder": f"Order {number} is cancelled.",
        "ChangeAddress": f"Order {number} waits here until you have confirmed the new address.",
    }
    return told[case.proposal or "RefundDuplicate"]


def flaw(case: Case, draft: str) -> str | None:
    """Return what is wrong with a draft: the fact is missing, or a number is made up. None where nothing is."""
    numbers = r"\d+(?:[.,]\d+)*"
    facts = re.findall(numbers, news(case))
    for fact in facts:
        if fact not in re.findall(numbers, draft):
            return f"it leaves out {fact}"
    for number in re.findall(numbers, draft):
        if number not in (*facts, *re.findall(numbers, case.text)):
            return f"nobody has said {number}"
    return None


def conversation(case: Case) -> tuple[il.AgentMessage, ...]:
    """Return what the model goes by: earlier letters of the same kind with the shop's replies, and then this one."""
    messages: list[il.AgentMessage] = []
    for letter, told, reply in REPLIES[case.proposal or "RefundDuplicate"]:
        messages += [il.user_message(f"Customer: {letter}\nNews: {told}"), il.assistant_message(f"{reply} {told}")]
    return (*messages, il.user_message(f"Customer: {case.text}\nNews: {news(case)}"))


REPLIES: dict[Action, tuple[tuple[str, str, str], ...]] = {
    "RefundDuplicate": (
        ("My card was charged two times!", "We have refunded 18.50 to your card.",
         "We are sorry that your card was charged two times."),
        ("I paid double.", "We have refunded 7.20 to your card.", "We are sorry that you paid double."),
    ),
    "TrackParcel": (
        ("Has my lamp been sent?", "Order 77 is on its way and arrives within two days.",
         "Thank you for asking about your lamp."),
        ("Where are my shoes?", "Order 81 is on its way and arrives within two days.",
         "Thank you for asking about your shoes."),
    ),
    "CancelOrder": (
        ("I do not need it any more.", "Order 77 is cancelled.",
         "Thank you for telling us that you do not need it any more."),
        ("Please cancel it.", "Order 81 is cancelled.", "Thank you for telling us."),
    ),
    "ChangeAddress": (
        ("I have moved to another town.", "Order 77 waits here until you have confirmed the new address.",
         "Thank you for telling us that you have moved."),
        ("Send it to my office.", "Order 81 waits here until you have confirmed the new address.",
         "Thank you for telling us where to send it."),
    ),
}  # fmt: skip
"""Letters of customers, what became of them, and how the shop began its replies."""


agent = il.setup_agent(
    context=Case,
    events=[*MODEL_EVENTS, Approve, Change, Reject, Rephrase, Accept, Edit],
    input=Case,
    output=Outcome,
)


def propose(action: Action) -> Callable[[Case, il.Event], il.Move | None]:
    """Return the handler that goes to review with an action. None means: not legal for this order."""
    return lambda case, _: None if obstacle(case, action) else agent.goto("review", proposal=action)


def approve(case: Case, _: Approve) -> il.Move | None:
    """Do what is proposed, if it is still possible: between a proposal and its approval, days may pass."""
    if case.proposal is None or obstacle(case, case.proposal):
        return None
    return agent.goto("acting")


def change(case: Case, wanted: Change) -> il.Move:
    """Decide again, without what was turned down, and for the other wish if there is one."""
    declined = case.declined if case.proposal is None else (*case.declined, case.proposal)
    return agent.goto("triage", declined=declined, proposal=None, text=wanted.instead or case.text)


def drafted(case: Case, draft: str) -> il.Move:
    """Have a draft reviewed; where it is no good, the shop's own standard reply."""
    wrong = flaw(case, draft)
    if wrong is not None:
        return standard(case, wrong)
    return agent.goto("replying", reply=draft.strip(), drafted_by="model")


def standard(case: Case, why: str) -> il.Move:
    """Have the standard reply reviewed."""
    reply = f"Thank you for writing to us. {news(case)}"
    return agent.goto("replying", reply=reply, drafted_by="shop", why_not=why)


machine = agent.machine(
    "support-desk",
    context=lambda case: case,
    initial="triage",
    states={
        "triage": agent.state(
            invoke=agent.decide(
                model="support",
                system="Sort the request of a customer of an online shop.",
                prompt=lambda case: case.text,
                allowed_events=MODEL_EVENTS,
                on_error="handed_over",
            ),
            on=[
                agent.on(RefundDuplicate, propose("RefundDuplicate")),
                agent.on(TrackParcel, propose("TrackParcel")),
                agent.on(CancelOrder, propose("CancelOrder")),
                agent.on(ChangeAddress, propose("ChangeAddress")),
                agent.on(TalkToPerson, "handed_over"),
                agent.on(Unsure, "asking"),
            ],
        ),
        "asking": agent.state(
            on=[
                agent.on(Rephrase, lambda _, said: agent.goto("triage", text=said.text, declined=())),
                agent.on(Reject, "closed"),
            ]
        ),
        "review": agent.state(
            on=[agent.on(Approve, approve), agent.on(Change, change), agent.on(Reject, "closed")],
        ),
        "acting": agent.state(
            invoke=agent.call(
                perform,
                input=lambda case: {
                    "action": case.proposal,
                    "number": case.order.number,
                    "amount": case.order.amount,
                },
                on_done=lambda _, receipt: agent.goto("drafting", receipt=receipt),
                on_error="handed_over",
            ),
        ),
        "drafting": agent.state(
            invoke=agent.stream_text(
                name="reply",
                model="support",
                messages=conversation,
                max_output_tokens=80,
                on_done=drafted,
                on_error=lambda case, error: standard(case, f"there is none ({error.code})"),
            ),
        ),
        "replying": agent.state(
            on=[
                agent.on(Accept, "resolved"),
                agent.on(Edit, lambda _, own: agent.goto("resolved", reply=own.text)),
                agent.on(Reject, lambda _, __: agent.goto("resolved", reply=None)),
            ],
        ),
        "resolved": agent.final(
            output=lambda case: Outcome(action=case.proposal, message=case.receipt or "", reply=case.reply)
        ),
        "handed_over": agent.final(
            output=lambda _: Outcome(action="TalkToPerson", message="A colleague takes over and writes back today.")
        ),
        "closed": agent.final(output=lambda _: Outcome(action=None, message="Nothing was done; the case is closed.")),
    },
)

EXAMPLES: dict[str, tuple[str, ...]] = {
    "RefundDuplicate": ("I paid two times and want one payment back.",),
    "TrackParcel": ("Where is my package? It has not come yet.", "What is the status of the delivery?"),
    "CancelOrder": ("I do not want it any more, undo the purchase.",),
    "ChangeAddress": ("The address is wrong, deliver it somewhere else.",),
    "TalkToPerson": ("I want to speak with a real person, not with a machine.",),
}
"""Things that customers say, for a model that compares by meaning."""
