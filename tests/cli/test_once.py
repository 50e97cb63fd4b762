"""A saved case is answered once, and no run takes the place of an earlier one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.cli import saves
from interlock.cli.stops import CommandError


@pytest.fixture
def case(demo, here):
    assert demo("charged twice", "--model", "scripted", "--save", "case.json").status == 0
    return here / "case.json"


def states(case: Path) -> list[str]:
    return json.loads(case.read_text("utf-8"))["snapshot"]["states"]


def test_an_answer_is_taken_once(demo, case):
    first = demo("--resume", "case.json", "--answer", "approve", "--answer", "accept")
    assert "49.90 goes back" in first.out
    assert states(case) == ["support-desk.resolved"]
    second = demo("--resume", "case.json", "--answer", "approve", "--answer", "accept")
    assert second.status == 1
    assert second.err == "interlock: case.json has ended in 'resolved'; nothing is left to answer\n"
    assert "goes back" not in second.out
    assert "says Approve" not in second.out


def test_a_case_that_has_ended_shows_how(demo, case):
    demo("--resume", "case.json", "--answer", "reject")
    called = demo("--resume", "case.json")
    assert called.status == 0
    assert "this case has ended, and nothing is done again" in called.out
    assert "Nothing was done; the case is closed." in called.out


def test_half_an_answer_is_not_taken_again_either(demo, case):
    demo("--resume", "case.json", "--answer", "approve")
    assert states(case) == ["support-desk.replying"]
    called = demo("--resume", "case.json", "--answer", "approve")
    assert "no answer to what 'replying' waits for" in called.err


def test_a_case_that_went_on_in_another_file_is_answered_there(demo, case):
    assert demo("--resume", "case.json", "--answer", "approve", "--save", "other.json").status == 0
    called = demo("--resume", "case.json", "--answer", "approve", "--save", "third.json")
    assert called.status == 1
    assert called.err == "interlock: the case of case.json went on in other.json; resume that one\n"
    assert "Sent to the customer" in demo("--resume", "other.json", "--answer", "accept").out


def test_the_file_by_another_name_is_the_same_file(demo, case):
    assert (
        demo("--resume", "case.json", "--answer", "approve", "--save", f"../{case.parent.name}/case.json").status == 0
    )
    assert demo("--resume", "case.json", "--answer", "accept").status == 0


def test_what_cannot_be_noted_down_does_not_happen(demo, case, monkeypatch):
    def full(*_):
        raise CommandError("case.json cannot be written: no space left on device")

    monkeypatch.setattr(saves, "keep_up", full)
    called = demo("--resume", "case.json", "--answer", "approve")
    assert called.status == 1
    assert "cannot be written" in called.err
    assert "goes back" not in called.out
    assert states(case) == ["support-desk.review"]


def test_a_disk_that_fills_up_in_the_middle_stops_the_run(demo, case, monkeypatch):
    keep_up, calls = saves.keep_up, []

    def filling(keep, saved):
        calls.append(saved)
        if len(calls) == 3:  # before the answer, after it, and after the payment
            raise CommandError("case.json cannot be written: no space left on device")
        keep_up(keep, saved)

    monkeypatch.setattr(saves, "keep_up", filling)
    called = demo("--resume", "case.json", "--answer", "approve")
    assert called.status == 1
    assert "cannot be written" in called.err


def test_a_run_that_failed_can_be_tried_again(run, here):
    (here / "shop.py").write_text(
        """
from pathlib import Path
from pydantic import BaseModel
import interlock as il

class Go(il.Event, actor="human"):
    '''Go.'''

class Empty(BaseModel, frozen=True):
    pass

def pay() -> str:
    return Path("till").read_text("utf-8")

agent = il.setup_agent(context=Empty, events=[Go], output=str)
machine = agent.machine("shop", context=Empty(), initial="a", states={
    "a": agent.state(on=[agent.on(Go, "b")]),
    "b": agent.state(invoke=agent.call(pay, on_done="c")),
    "c": agent.final(output=lambda _: "paid"),
})
""",
        "utf-8",
    )
    assert run("shop.py", "--model", "scripted", "--save", "case.json").status == 0
    assert run("shop.py", "--resume", "case.json", "--event", "Go").status == 1
    (here / "till").write_text("open", "utf-8")
    called = run("shop.py", "--resume", "case.json")
    assert called.status == 0
    assert "paid" in called.out


def test_a_case_without_a_name_gets_one_that_is_free(demo, here):
    for _ in range(3):
        demo("charged twice", "--model", "scripted")
    names = ["interlock-support-2.json", "interlock-support-3.json", "interlock-support.json"]
    assert sorted(path.name for path in here.iterdir()) == names
    called = demo("charged twice", "--model", "scripted")
    assert "Saved to interlock-support-4.json." in called.out
    assert "--resume interlock-support-4.json --answer approve" in called.out


@pytest.mark.skipif(os.name == "nt", reason="scripts start in another way there")
@pytest.mark.parametrize("by", ["path", "name", "module"])
def test_the_commands_run_as_they_are_printed(here, by):
    script = here / "some place" / "interlock"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n", "utf-8")
    main = here / "main.py"
    main.write_text("from interlock.cli import main\nimport sys\nsys.argv.pop(0)\nmain()\n", "utf-8")
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{main}" "$0" "$@"\n', "utf-8")
    script.chmod(0o755)
    path = f"{script.parent}:{os.environ['PATH']}" if by == "name" else os.environ["PATH"]
    start = {"path": "'some place/interlock'", "name": "interlock", "module": f"{sys.executable} -m interlock.cli"}[by]

    def shell(line: str) -> str:
        done = subprocess.run(
            line, shell=True, capture_output=True, encoding="utf-8", check=True, env={**os.environ, "PATH": path}
        )
        return done.stdout

    out = shell(f"{start} demo support 'charged twice' --model scripted")
    (line,) = [line.strip() for line in out.splitlines() if line.endswith("--answer approve")]
    assert line == f"{start} demo support --resume interlock-support.json --answer approve"
    assert "49.90 goes back" in shell(line)
