"""The demo at a terminal: menus, leaving in the middle, colours."""

from functools import partial

import pytest


@pytest.fixture
def demo_talk(talk):
    return partial(talk, "demo", "support")


MOVE, ANSWER, WORDS = "Which move?", "ave and stop?", "In other words"


def test_a_person_plays_the_model_and_the_reviewer(demo_talk):
    status, shown = demo_talk(
        *("cancel it", "--shipped", "--model", "human"),
        answers=[
            (MOVE, "3\n"),
            (MOVE, "99\n"),
            (MOVE, "2\n"),
            (ANSWER, "what?\n"),
            (ANSWER, "a\n"),
            ("reply:", "Order 1042 comes tomorrow.\n"),
            (ANSWER, "e\n"),
            ("The reply:", "It comes on Monday.\n"),
        ],
        NO_COLOR="1",
    )
    assert status == 0
    assert "CancelOrder\x1b[0m was picked and refused (rejected-by-guard): the order has already shipped" in shown
    assert "picked by you" in shown
    assert "Sent to the customer: It comes on Monday." in shown


def test_whoever_types_words_means_the_answer_that_takes_words(demo_talk):
    status, shown = demo_talk(
        *("hello", "--model", "scripted"),
        answers=[(ANSWER, "it was charged twice\n"), (ANSWER, "approve\n"), (ANSWER, "a\n")],
    )
    assert status == 0
    assert "Sent to the customer: Thank you for telling us. We have refunded 49.90" in shown


def test_change_and_other_words(demo_talk):
    status, shown = demo_talk(
        *("hello", "--model", "human"),
        answers=[
            (MOVE, "Unsure\n"),
            (ANSWER, "r\n"),
            (WORDS, "charged twice\n"),
            (MOVE, "1\n"),
            (ANSWER, "c\n"),
            ("To what?", "\n"),
            (MOVE, "3\n"),
            (ANSWER, "r\n"),
        ],
    )
    assert status == 0
    assert "a person has turned it down" in shown
    assert "Nothing was done" in shown


@pytest.mark.parametrize("key", ["s\n", "\x04"], ids=["s", "ctrl-d"])
def test_save_and_stop(demo_talk, here, key):
    status, shown = demo_talk("charged twice", "--model", "scripted", answers=[(ANSWER, key)])
    assert status == 0
    assert "--answer approve" in shown
    assert (here / "interlock-support.json").exists()


def test_save_is_not_asked_for_when_it_was_ordered(demo_talk, here):
    status, _ = demo_talk("charged twice", "--model", "scripted", "--save", "case.json", answers=[])
    assert status == 0
    assert (here / "case.json").exists()


@pytest.mark.parametrize("key", ["\x03", "\x04"], ids=["ctrl-c", "ctrl-d"])
def test_whoever_plays_the_model_may_leave(demo_talk, here, key):
    status, shown = demo_talk("charged twice", "--model", "human", answers=[(MOVE, key)])
    assert status == 130
    assert "interlock: stopped; nothing was saved" in shown
    assert "Traceback" not in shown
    assert "handed_over" not in shown
    assert list(here.iterdir()) == []


def test_ctrl_c_at_the_answer(demo_talk, here):
    status, shown = demo_talk("charged twice", "--model", "scripted", answers=[(ANSWER, "\x03")])
    assert status == 130
    assert "Traceback" not in shown
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(("setting", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_the_terminals_business(demo_talk, setting, coloured):
    _, shown = demo_talk("charged twice", "--model", "scripted", answers=[(ANSWER, "r\n")], **setting)
    assert ("\x1b[32m" in shown) == coloured
