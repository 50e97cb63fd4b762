"""A shop's support desk as an agent: a model sorts the request, a person approves, and only then something happens.

Read it from the bottom: the machine says which states exist, which model call they make, and what may come next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel

import interlock as il

__all__ = ["EXAMPLES", "MODEL_EVENTS", "Case", "Order", "Outcome", "machine", "obstacle"]

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

    instead: str = ""


class Reject(il.Event, actor="human"):
    """Do nothing and close the case."""


class Rephrase(il.Event, actor="human"):
    """The customer's wish in other words."""

    text: str


MODEL_EVENTS = (RefundDuplicate, TrackParcel, CancelOrder, ChangeAddress, TalkToPerson, Unsure)

Action = Literal["RefundDuplicate", "TrackParcel", "CancelOrder", "ChangeAddress"]


class Order(BaseModel, frozen=True):
    """What the shop knows about the order."""

    number: str = "1042"
    amount: float = 49.9
    charges: int = 2
    shipped: bool = False


class Case(BaseModel, frozen=True):
    """The context: everything that the machine knows about one customer's request."""

    text: str = ""
    order: Order = Order()
    proposal: Action | None = None
    declined: tuple[Action, ...] = ()
    receipt: str | None = None


class Outcome(BaseModel, frozen=True):
    """How a case ended."""

    action: Action | Literal["TalkToPerson"] | None
    message: str


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


agent = il.setup_agent(
    context=Case, events=[*MODEL_EVENTS, Approve, Change, Reject, Rephrase], input=Case, output=Outcome
)


def propose(action: Action) -> Callable[[Case, il.Event], il.Move | None]:
    """Return the handler that goes to review with an action. None means: not legal for this order."""
    return lambda case, _: None if obstacle(case, action) else agent.goto("review", proposal=action)


def change(case: Case, wanted: Change) -> il.Move:
    """Decide again, without what was turned down, and for the other wish if there is one."""
    declined = case.declined if case.proposal is None else (*case.declined, case.proposal)
    return agent.goto("triage", declined=declined, proposal=None, text=wanted.instead or case.text)


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
            on=[agent.on(Approve, "acting"), agent.on(Change, change), agent.on(Reject, "closed")],
        ),
        "acting": agent.state(
            invoke=agent.call(
                perform,
                input=lambda case: {
                    "action": case.proposal,
                    "number": case.order.number,
                    "amount": case.order.amount,
                },
                on_done=lambda _, receipt: agent.goto("resolved", receipt=receipt),
                on_error="handed_over",
            ),
        ),
        "resolved": agent.final(output=lambda case: Outcome(action=case.proposal, message=case.receipt or "")),
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
