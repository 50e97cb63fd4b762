"""The demo at a terminal: menus, leaving in the middle, colours."""

import os
import select
import subprocess
import sys
import time

import pytest

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")

ENOUGH = 30.0
"""Seconds after which a conversation that does not end has failed."""


PROGRAM = """
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # it is this process that Ctrl-C means
from interlock.cli import main
main()
"""


@pytest.fixture
def talk(here):
    """Call the demo at a terminal and type each answer when its question is there."""

    def talk(*arguments: str, answers: list[tuple[str, str]], **env: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        started = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "demo", "support", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm-256color", **env},
            start_new_session=True,
        )
        os.close(theirs)
        shown, read_up_to, left = b"", 0, list(answers)
        until = time.monotonic() + ENOUGH
        while time.monotonic() < until:
            if not select.select([ours], [], [], 0.1)[0]:
                continue
            try:
                more = os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            shown += more
            if left and left[0][0].encode() in shown[read_up_to:]:
                read_up_to = len(shown)
                os.write(ours, left.pop(0)[1].encode())
        os.close(ours)
        status = started.wait(ENOUGH)
        assert not left, f"never asked: {left}\n{shown.decode()}"
        return status, shown.decode().replace("\r\n", "\n")

    return talk


MOVE, ANSWER, WORDS = "Which move?", "ave and stop?", "In other words"


def test_a_person_plays_the_model_and_the_reviewer(talk):
    status, shown = talk(
        *("cancel it", "--shipped", "--model", "human"),
        answers=[(MOVE, "3\n"), (MOVE, "99\n"), (MOVE, "2\n"), (ANSWER, "what?\n"), (ANSWER, "a\n")],
        NO_COLOR="1",
    )
    assert status == 0
    assert "CancelOrder\x1b[0m was picked and refused (rejected-by-guard): the order has already shipped" in shown
    assert "picked by you" in shown
    assert "resolved" in shown


def test_change_and_other_words(talk):
    status, shown = talk(
        *("hello", "--model", "human"),
        answers=[
            (MOVE, "Unsure\n"),
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
def test_save_and_stop(talk, here, key):
    status, shown = talk("charged twice", "--model", "scripted", answers=[(ANSWER, key)])
    assert status == 0
    assert "--answer approve" in shown
    assert (here / "interlock-support.json").exists()


def test_save_is_not_asked_for_when_it_was_ordered(talk, here):
    status, _ = talk("charged twice", "--model", "scripted", "--save", "case.json", answers=[])
    assert status == 0
    assert (here / "case.json").exists()


@pytest.mark.parametrize("key", ["\x03", "\x04"], ids=["ctrl-c", "ctrl-d"])
def test_whoever_plays_the_model_may_leave(talk, here, key):
    status, shown = talk("charged twice", "--model", "human", answers=[(MOVE, key)])
    assert status == 130
    assert "interlock: stopped; nothing was saved" in shown
    assert "Traceback" not in shown
    assert "handed_over" not in shown
    assert list(here.iterdir()) == []


def test_ctrl_c_at_the_answer(talk, here):
    status, shown = talk("charged twice", "--model", "scripted", answers=[(ANSWER, "\x03")])
    assert status == 130
    assert "Traceback" not in shown
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(("setting", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_the_terminals_business(talk, setting, coloured):
    _, shown = talk("charged twice", "--model", "scripted", answers=[(ANSWER, "r\n")], **setting)
    assert ("\x1b[32m" in shown) == coloured
