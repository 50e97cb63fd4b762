"""Choosing by meaning: the rules of the choice, with a stand-in for the model whose similarities are written down."""

import math

import pytest

import interlock as il
from interlock.adapters.local import local_executors
from interlock.agent import Choice, DecisionAttempt, DecisionRequest, Event, ExecutorInfo
from interlock.agent.descriptors import describe
from interlock.errors import UncertainChoiceError

INFO = ExecutorInfo(run_id="run", request_id="triage", call_key="triage.0")


class Refund(Event):
    """Pay back."""


class Track(Event):
    """Find the parcel."""


class Cancel(Event):
    pass


class Note(Event):
    """Write a note."""

    text: str


class Wait(Event):
    """Wait a little."""

    minutes: int = 5


class Unsure(Event):
    """None of these."""


class Meanings:
    """Similarities by text; what is not listed is alike by half. Remembers what it was asked."""

    def __init__(self, **similar):
        self.similar = {name.replace("_", " "): value for name, value in similar.items()}
        self.asked = []

    def __call__(self, text, others):
        self.asked.append((text, tuple(others)))
        return [self.similar.get(other.rstrip(".").lower(), 0.5) for other in others]


def request(*events, prompt="Where is it?", **more):
    return DecisionRequest(id="triage", events=describe(events), prompt=prompt, **more)


def choose(asked: DecisionRequest, similar: Meanings, **options) -> Choice:
    decide = local_executors(similarity=similar, **options).decide
    assert decide is not None
    answer = decide(asked, INFO)
    assert isinstance(answer, Choice)
    return answer


def test_the_nearest_of_the_offered_events_is_chosen():
    choice = choose(request(Refund, Track, Unsure), Meanings(pay_back=0.84, find_the_parcel=0.9))
    assert choice.event == {"type": "Track"}
    assert choice.reason == "nearest in meaning (0.900), before Refund (0.840)"


def test_the_weights_are_a_distribution_over_what_is_offered():
    choice = choose(request(Refund, Track, Unsure), Meanings(pay_back=0.84, find_the_parcel=0.85), temperature=0.01)
    weights = choice.raw["weights"]
    assert list(weights) == ["Track", "Refund", "Unsure"]
    assert sum(weights.values()) == pytest.approx(1, abs=1e-5)
    assert weights["Track"] / weights["Refund"] == pytest.approx(math.e, rel=1e-3)
    assert choice.raw["scores"] == {"Refund": 0.84, "Track": 0.85}


def test_without_a_description_the_words_of_the_name_count():
    similar = Meanings(cancel=0.95)
    assert choose(request(Track, Cancel), similar).event == {"type": "Cancel"}
    assert similar.asked == [("Where is it?", ("Find the parcel.", "cancel"))]


def test_examples_count_as_much_as_the_description():
    similar = Meanings(pay_back=0.90, find_the_parcel=0.8, where_is_it=1.0, when_does_it_come=1.0)
    choice = choose(request(Refund, Track), similar, examples={"Track": ["Where is it", "When does it come"]})
    assert choice.event == {"type": "Track"}
    assert choice.raw["scores"]["Track"] == pytest.approx(2.8 / 3, abs=1e-6)


@pytest.mark.parametrize(
    ("similar", "why"),
    [
        (Meanings(), "nothing is near enough in meaning"),
        (Meanings(pay_back=0.9, find_the_parcel=0.898), "too close to call between Refund (0.900) and Track (0.898)"),
    ],
)
def test_in_doubt_the_machines_own_way_out_is_taken(similar, why):
    choice = choose(request(Refund, Track, Unsure), similar)
    assert choice.event == {"type": "Unsure"}
    assert choice.reason.startswith(why)


def test_the_way_out_has_any_case_and_may_have_another_name():
    class unsure(Event):  # noqa: N801
        pass

    class Other(Event):
        pass

    assert choose(request(Refund, unsure), Meanings()).event == {"type": "unsure"}
    assert choose(request(Refund, Other), Meanings(), way_out="other").event == {"type": "Other"}


def test_in_doubt_and_without_a_way_out_it_is_an_error_that_carries_the_weights():
    with pytest.raises(UncertainChoiceError) as caught:
        choose(request(Refund, Track, prompt="my secret is CANARY"), Meanings(pay_back=0.6))
    assert caught.value.code == "uncertain-choice"
    assert set(caught.value.weights) == {"Refund", "Track", "(nothing)"}
    assert "Offered: Refund, Track" in str(caught.value)
    assert "'Unsure'" in str(caught.value)
    assert "CANARY" not in str(caught.value), "what a customer says does not belong in a log of errors"


def test_what_is_meant_but_withheld_is_not_replaced_by_the_next_best():
    similar = Meanings(find_the_parcel=0.86, stop_it=0.95)
    asked = request(Track, Unsure, withheld=("Cancel",))
    assert choose(asked, similar).event == {"type": "Track"}, "without examples nothing is known about it"

    choice = choose(asked, similar, examples={"Cancel": ["Stop it"]})
    assert choice.event == {"type": "Unsure"}
    assert choice.reason == "the nearest in meaning is Cancel (0.950), which the machine does not offer now"
    assert "Cancel" not in choice.raw["weights"]
    assert choice.raw["weights"]["Unsure"] > 0.99


def test_events_that_need_words_are_left_alone():
    choice = choose(request(Note, Wait, Unsure), Meanings(write_a_note=1.0, wait_a_little=0.9))
    assert choice.event == {"type": "Wait"}, "a field with a default needs nobody"
    assert choice.raw["unscored"] == {"Note": "needs text, which a chooser cannot write"}


def test_if_all_events_need_words_the_error_says_so():
    with pytest.raises(UncertainChoiceError, match="Note needs text") as caught:
        choose(request(Note), Meanings())
    assert caught.value.code == "nothing-to-choose"


def test_what_was_refused_is_not_named_again():
    refused = DecisionAttempt(failure="rejected-by-guard", reason="no", event={"type": "Refund"})
    moved = DecisionAttempt(failure="moved-on", reason="late", event={"type": "Track"})
    choice = choose(
        request(Refund, Track, Unsure, attempts=(refused, moved)), Meanings(pay_back=0.99, find_the_parcel=0.9)
    )
    assert choice.event == {"type": "Track"}
    assert choice.raw["unscored"] == {"Refund": "was refused in an earlier attempt"}


def test_if_only_the_way_out_is_left_it_is_taken():
    assert choose(request(Unsure), Meanings()).event == {"type": "Unsure"}


@pytest.mark.parametrize(
    ("messages", "read"),
    [
        ([il.user_message("first"), il.user_message("last")], "last"),
        ([il.user_message("mine"), il.assistant_message("yours")], "mine"),
        (
            [il.user_message([il.TextPart(text="a"), il.ImagePart(image=b"b"), il.TextPart(text="c")])],
            "a\nc",
        ),
    ],
)
def test_without_a_prompt_the_last_words_of_the_user_count(messages, read):
    similar = Meanings(find_the_parcel=0.9)
    choose(request(Track, prompt=None, messages=tuple(messages)), similar)
    assert similar.asked[0][0] == read


@pytest.mark.parametrize("prompt", [None, "", " \n"])
def test_no_text_is_a_doubt(prompt):
    choice = choose(request(Track, Unsure, prompt=prompt), Meanings(find_the_parcel=0.9))
    assert choice.event == {"type": "Unsure"}
    assert choice.reason == "the request has no text to go by"


@pytest.mark.parametrize("option", [{"threshold": 2}, {"margin": -0.1}, {"temperature": 0}, {"temperature": math.inf}])
def test_numbers_out_of_range_are_refused_at_once(option):
    with pytest.raises(ValueError, match=next(iter(option))):
        local_executors(similarity=Meanings(), **option)
