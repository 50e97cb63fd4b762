"""Choosing by meaning, then having the fields written: with stand-ins for both models."""

import pytest

from interlock.adapters.local import local_executors
from interlock.agent import Choice, DecisionAttempt, DecisionRequest, Event, ExecutorInfo
from interlock.agent.contract import Executors, Usage
from interlock.agent.descriptors import describe
from interlock.errors import BindError, UncertainChoiceError

pytestmark = pytest.mark.anyio

INFO = ExecutorInfo(run_id="run", request_id="triage", call_key="triage.0")


class Refund(Event):
    """Pay back."""

    order: str


class Wait(Event):
    """Wait a little."""

    minutes: int = 5


class Track(Event):
    """Find the parcel."""


class Unsure(Event):
    """None of these."""


def alike(**similar):
    known = {name.replace("_", " "): value for name, value in similar.items()}
    return lambda _text, others: [known.get(other.rstrip(".").lower(), 0.5) for other in others]


class Writer:
    """Fills every event that it is offered in the same way, and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    async def decide(self, request, _info):
        self.asked.append(request)
        (event,) = request.events
        fields = {"Refund": {"order": "A-1"}, "Wait": {"minutes": 9}}[event.type]
        return Choice(event={"type": event.type, **fields}, usage=Usage(output_tokens=7), raw="wrote it")

    def plain(self, request, _info):
        (event,) = request.events
        return Choice(event={"type": event.type, "order": "in a thread"})


def request(*events, **more):
    return DecisionRequest(id="triage", events=describe(events), prompt="Where is it?", **more)


async def choose(asked, similar, writer):
    both = local_executors(similarity=similar, writer=Executors(decide=writer))
    return await both.decide(asked, INFO)


async def test_what_is_chosen_is_filled():
    writer = Writer()
    choice = await choose(request(Refund, Track), alike(pay_back=0.9, find_the_parcel=0.84), writer.decide)
    assert choice.event == {"type": "Refund", "order": "A-1"}
    assert choice.reason == "nearest in meaning (0.900), before Track (0.840)"
    assert choice.usage == Usage(output_tokens=7)
    assert choice.raw["written"] == "wrote it"
    assert choice.raw["scores"] == {"Refund": 0.9, "Track": 0.84}
    (asked,) = writer.asked
    assert [event.type for event in asked.events] == ["Refund"], "the writer has nothing to choose"


async def test_what_has_no_fields_needs_no_writer():
    writer = Writer()
    choice = await choose(request(Refund, Track), alike(pay_back=0.84, find_the_parcel=0.9), writer.decide)
    assert choice.event == {"type": "Track"}
    assert writer.asked == []


async def test_fields_with_a_default_are_filled_too():
    choice = await choose(request(Wait, Track), alike(wait_a_little=0.9), Writer().decide)
    assert choice.event == {"type": "Wait", "minutes": 9}


async def test_a_single_event_is_no_choice():
    assert (await choose(request(Refund), alike(), Writer().decide)).event == {"type": "Refund", "order": "A-1"}


async def test_doubt_stays_doubt():
    choice = await choose(request(Refund, Track, Unsure), alike(), Writer().decide)
    assert choice.event == {"type": "Unsure"}
    with pytest.raises(UncertainChoiceError):
        await choose(request(Refund, Track), alike(), Writer().decide)


async def test_other_fields_may_be_taken_so_an_event_is_out_after_two_refusals():
    writer = Writer()
    bad = DecisionAttempt(failure="rejected-by-guard", reason="no such order", event={"type": "Refund", "order": "A-1"})
    other = DecisionAttempt(failure="rejected-by-guard", reason="no", event={"type": "Track"})
    similar = alike(pay_back=0.9, find_the_parcel=0.84)
    choice = await choose(request(Refund, Track, Unsure, attempts=(bad, other)), similar, writer.decide)
    assert choice.event["type"] == "Refund"
    assert writer.asked[0].attempts == (bad,), "what was wrong with other events is not this one's"
    choice = await choose(request(Refund, Track, Unsure, attempts=(bad, bad)), similar, writer.decide)
    assert choice.event["type"] == "Track"


async def test_a_plain_writer_works_in_a_thread():
    choice = await choose(request(Refund, Track), alike(pay_back=0.9), Writer().plain)
    assert choice.event == {"type": "Refund", "order": "in a thread"}


def test_text_is_the_writers():
    async def generate_text(_request, _info): ...

    both = local_executors(similarity=alike(), writer=Executors(decide=Writer().decide, generate_text=generate_text))
    assert both.generate_text is generate_text
    assert both.stream_text is None


def test_a_writer_that_decides_nothing_is_refused():
    with pytest.raises(BindError, match="no decide"):
        local_executors(similarity=alike(), writer=Executors())
