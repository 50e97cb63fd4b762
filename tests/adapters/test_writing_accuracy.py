"""What the small writer can and cannot do, on sixteen sentences of our own, written before anything was measured.

Nothing was tuned on them but one thing, which made the difference: a field is not explained in the prompt, or its
explanation is copied into it. Told which event it is, the writer fills 11 of 14 payloads without a mistake. Choosing
among the four events by itself it names the same one each time, and so is right by chance, 4 of 16. Chosen by meaning
and then filled, 11 of 16 are the right event and 9 of them whole, 4 are left undecided, and 1 is wrong.
"""

import platform
import sys

import pytest
from pydantic import Field

import interlock as il
from interlock.adapters.local import local_executors
from interlock.adapters.writing import local_writer
from interlock.agent import DecisionRequest, Event, ExecutorInfo
from interlock.agent.descriptors import describe
from interlock.errors import UncertainChoiceError

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif((sys.platform, platform.machine()) != ("linux", "x86_64"), reason="where it was measured"),
]

INFO = ExecutorInfo(run_id="run", request_id="q", call_key="q.0")


class Refund(Event):
    """The customer wants money back for an order."""

    order: str = Field(max_length=20)
    amount: float


class CallBack(Event):
    """The customer wants to be called on the phone."""

    phone: str = Field(max_length=20)


class ChangeAddress(Event):
    """The customer has moved and wants the parcel sent to another city."""

    city: str = Field(max_length=30)


class Track(Event):
    """The customer asks where the parcel is."""


MEANT: list[tuple[str, Event]] = [
    ("I want my 20 dollars back for order A-1017, the shirt is torn.", Refund(order="A-1017", amount=20)),
    ("Please refund 35.50 for order 88231.", Refund(order="88231", amount=35.5)),
    (
        "Order number is 5512, I paid 12 euros and it never came. I want the money back!",
        Refund(order="5512", amount=12),
    ),
    ("hi, could you pay back 99.99? order Z-7", Refund(order="Z-7", amount=99.99)),
    ("The lamp from order 40-2291 is broken, give me back the 18 pounds.", Refund(order="40-2291", amount=18)),
    ("Refund my money please, it was 7.25 and the order is K9", Refund(order="K9", amount=7.25)),
    ("Please call me at 555-0134 about my broken lamp.", CallBack(phone="555-0134")),
    ("My number is 0171 2233, I would like to talk to somebody on the phone.", CallBack(phone="0171 2233")),
    ("Can someone ring me back? 030-445566", CallBack(phone="030-445566")),
    ("You can reach me under +49 221 9988, please phone me.", CallBack(phone="+49 221 9988")),
    ("I moved to Hamburg, please send the parcel there.", ChangeAddress(city="Hamburg")),
    ("We live in Leeds now, not in York any more. Send it to the new place.", ChangeAddress(city="Leeds")),
    ("New address: 5 Hill Road, Bristol. Please deliver there.", ChangeAddress(city="Bristol")),
    ("My new home is in Porto, can the parcel go there?", ChangeAddress(city="Porto")),
    ("Where is my parcel?", Track()),
    ("It was due on Monday and has not come yet, where is it?", Track()),
]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"  # the numbers are the same on both


@pytest.fixture(scope="module")
def writer() -> il.Executors:
    return local_writer()


async def choice(decide, text: str, *events: type[Event]) -> dict | None:
    try:
        return dict((await decide(DecisionRequest(id="d", events=describe(events), prompt=text), INFO)).event)
    except UncertainChoiceError:
        return None


def whole(event: Event) -> dict:
    return {"type": event.type, **event.model_dump()}


async def test_told_which_event_it_is_the_writer_fills_it(writer):
    filled = [await choice(writer.decide, text, type(event)) for text, event in MEANT if event.model_fields_set]
    assert sum(got == whole(event) for got, (_, event) in zip(filled, MEANT, strict=False)) >= 9


async def test_by_itself_it_cannot_choose(writer):
    """If this fails, the model got better: then say so where it is described."""
    got = [await choice(writer.decide, text, Refund, CallBack, ChangeAddress, Track) for text, _ in MEANT]
    assert sum(event["type"] == meant.type for event, (_, meant) in zip(got, MEANT, strict=True)) <= 8


async def test_chosen_by_meaning_and_then_filled(writer):
    decide = local_executors(writer=writer).decide
    got = [await choice(decide, text, Refund, CallBack, ChangeAddress, Track) for text, _ in MEANT]
    both = list(zip(got, (meant for _, meant in MEANT), strict=True))
    assert sum(event is not None and event["type"] == meant.type for event, meant in both) >= 10
    assert sum(event is not None and event["type"] != meant.type for event, meant in both) <= 2
    assert sum(event == whole(meant) for event, meant in both) >= 7
