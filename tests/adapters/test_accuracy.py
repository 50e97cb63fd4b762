"""How often the local model is right, on sentences of our own.

``data/support.json`` holds 114 sentences that customers of a shop may say, written before anything was measured.
Descriptions, examples, threshold, margin and temperature were chosen on the half marked ``tune``. The half marked
``held`` was looked at twice, before and after the wording of one event changed, and decided nothing. On it, 42 of 45
sentences are nearest to the right event; 38 of 45 are chosen right, 5 left undecided and 2 wrong; 12 of 12 off-topic
sentences are left undecided; and 35 of 36 are, when the machine withholds what they ask for. The floors are a little
lower, for processors round differently.
"""

import json
import platform
import sys
from pathlib import Path

import pytest

from interlock.adapters.local import local_executors
from interlock.agent import Choice, DecisionRequest, ExecutorInfo
from interlock.agent.descriptors import describe
from interlock.cli.demos.support import EXAMPLES, MODEL_EVENTS

pytestmark = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="the wheels are for x86-64 Linux"
)

ALL = json.loads((Path(__file__).parent / "data" / "support.json").read_text("utf-8"))
HELD = [(row["text"], row["event"]) for row in ALL if row["half"] == "held"]
MEANT = [(text, event) for text, event in HELD if event != "Unsure"]


@pytest.fixture(scope="module")
def decide():
    chooser = local_executors(examples=EXAMPLES).decide

    def decide(text: str, *, withheld: tuple[str, ...] = ()) -> Choice:
        events = describe([event for event in MODEL_EVENTS if event.type not in withheld])
        request = DecisionRequest(id="triage", events=events, prompt=text, withheld=withheld)
        return chooser(request, ExecutorInfo(run_id="run", request_id="triage", call_key="triage.0"))

    return decide


def test_both_halves_speak_of_every_event():
    for half in ("tune", "held"):
        assert {row["event"] for row in ALL if row["half"] == half} == {event.type for event in MODEL_EVENTS}
    assert len({row["text"] for row in ALL}) == len(ALL)
    assert len(HELD) == 57


def test_it_finds_what_is_meant(decide):
    choices = [(decide(text), event) for text, event in MEANT]
    nearest = [max(choice.raw["scores"], key=choice.raw["scores"].get) == event for choice, event in choices]
    right = [choice.event["type"] == event for choice, event in choices]
    wrong = [choice.event["type"] not in (event, "Unsure") for choice, event in choices]
    assert sum(nearest) >= 40
    assert sum(right) >= 36
    assert sum(wrong) <= 3


def test_it_knows_when_nothing_is_meant(decide):
    undecided = [decide(text).event["type"] == "Unsure" for text, event in HELD if event == "Unsure"]
    assert sum(undecided) >= 11


def test_it_does_not_do_something_else_instead_of_what_is_not_legal(decide):
    actions = [(text, event) for text, event in MEANT if event != "TalkToPerson"]
    undecided = [decide(text, withheld=(event,)).event["type"] in ("Unsure", "TalkToPerson") for text, event in actions]
    assert sum(undecided) >= 33


def test_it_names_only_what_is_offered(decide):
    offered = {"TrackParcel", "TalkToPerson", "Unsure"}
    withheld = tuple(event.type for event in MODEL_EVENTS if event.type not in offered)
    assert {decide(text, withheld=withheld).event["type"] for text, _ in HELD} <= offered


def test_the_same_request_has_the_same_weights(decide):
    assert decide(HELD[0][0]).raw == decide(HELD[0][0]).raw
