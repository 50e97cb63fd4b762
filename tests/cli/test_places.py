"""Where a case is saved is looked at before models are paid, and what cannot be saved there is not lost."""

import json
import os
from contextlib import contextmanager

import pytest

from interlock.cli import saves
from interlock.cli.stops import CommandError

SCRIPTED = ("charged twice", "--model", "scripted")


def refused(called, status: int) -> str:
    assert called.status == status
    (line,) = called.err.splitlines()
    assert line.startswith("interlock: ")
    return line


@contextmanager
def full():
    """The disk is full: nothing can be saved where it is to be."""

    def keep_up(keep, _):
        raise CommandError(f"{keep.file} cannot be written: no space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saves, "keep_up", keep_up)
        yield patch


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("no/case.json", "no/case.json cannot be written: no does not exist; give another place with --save"),
        ("a-file/case.json", "a-file/case.json cannot be written: a-file is no folder; give another place"),
        ("a-folder", "a-folder cannot be written: it is a folder; give another place with --save"),
        ("a-file", "a-file exists and is no saved case, so it is left alone; give another name with --save"),
        ("x" * 300, "cannot be written: file name too long; give another place with --save"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_runs(call, here, place, told):
    (here / "a-file").write_text("mine", "utf-8")
    (here / "a-folder").mkdir()
    (here / "door.py").write_text(
        "import interlock.statechart as sc\ndoor = sc.machine('door', initial='a', states={'a': sc.state()})\n",
        "utf-8",
    )
    before = sorted(here.rglob("*"))
    for command in (("demo", "support", *SCRIPTED), ("demo", "twenty-questions"), ("run", "door.py")):
        called = call(*command, "--save", place)
        assert told in refused(called, 1)
        assert called.out == ""
    assert [file for file in sorted(here.rglob("*")) if file.suffix != ".pyc" and file.stem != "__pycache__"] == before


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything may be written there")
def test_a_folder_that_may_not_be_written(demo, here):
    (here / "locked").mkdir(mode=0o500)
    assert "permission denied" in refused(demo(*SCRIPTED, "--save", "locked/case.json"), 1)


def test_a_saved_case_in_a_folder_that_may_not_be_written_any_more(demo, here, monkeypatch):
    demo(*SCRIPTED, "--save", "case.json")

    def touch(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.touch", touch)
    called = demo("--resume", "case.json", "--answer", "approve")
    assert "case.json cannot be written: permission denied" in refused(called, 1)
    assert called.out == ""


def test_looking_leaves_nothing_behind_and_an_earlier_case_as_it_is(demo, here):
    demo(*SCRIPTED, "--save", "case.json")
    before = (here / "case.json").read_bytes()
    refused(demo(*SCRIPTED, "--save", "case.json", "--pretend", "\udcff"), 2)
    assert [path.name for path in here.iterdir()] == ["case.json"]
    assert (here / "case.json").read_bytes() == before


def test_what_cannot_be_saved_in_its_place_is_saved_in_another(demo, elsewhere, here):
    with full():
        called = demo(*SCRIPTED, "--save", "case.json")
    (kept,) = elsewhere.rglob("*.json")
    line = refused(called, 1)
    assert line == (
        f"interlock: case.json cannot be written: no space left on device. The case is kept instead: --resume {kept}"
    )
    assert f"interlock demo support --resume {kept} --answer approve" in called.out
    assert list(here.iterdir()) == []
    assert "49.90 goes back" in demo("--resume", str(kept), "--answer", "approve").out


def test_nor_is_a_case_lost_that_was_given_no_place(demo, elsewhere):
    with full():
        line = refused(demo(*SCRIPTED), 1)
    assert "interlock-support.json cannot be written" in line
    assert str(elsewhere) in line


def test_a_case_whose_place_fills_up_goes_on_where_it_is_kept(demo, here, elsewhere, monkeypatch):
    demo(*SCRIPTED, "--save", "case.json")
    keep_up, calls = saves.keep_up, []

    def filling(keep, case):
        calls.append(case)
        if len(calls) == 3:  # before the answer, after it, and after the payment
            raise CommandError("case.json cannot be written: no space left on device")
        keep_up(keep, case)

    with monkeypatch.context() as patch:
        patch.setattr(saves, "keep_up", filling)
        called = demo("--resume", "case.json", "--answer", "approve")
    (kept,) = elsewhere.rglob("*.json")
    assert f"--resume {kept}" in refused(called, 1)
    assert json.loads(kept.read_text("utf-8"))["snapshot"]["states"] == ["support-desk.drafting"]
    assert f"went on in {kept}" in refused(demo("--resume", "case.json"), 1)
    assert "Sent to the customer" in demo("--resume", str(kept), "--answer", "accept").out


def test_where_nothing_can_be_written_the_case_is_printed(demo, here):
    def nowhere(**_):
        raise PermissionError(13, "Permission denied")

    with full() as patch:
        patch.setattr(saves, "mkdtemp", nowhere)
        called = demo(*SCRIPTED, "--save", "case.json")
    assert "The case is on standard output instead, as a line to --resume" in refused(called, 1)
    (here / "mine.json").write_text(called.out.splitlines()[-1], "utf-8")
    assert "49.90 goes back" in demo("--resume", "mine.json", "--answer", "approve").out
