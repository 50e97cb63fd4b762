"""Output that ends early, terminals without a width, text that is none, and Ctrl-C before anything has begun."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

posix = pytest.mark.skipif(os.name == "nt", reason="pipes and devices are others there")
PROGRAM = f'"{sys.executable}" -c "from interlock.cli import main; main()"'
SUPPORT = f"{PROGRAM} demo support 'charged twice' --model scripted"


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/sh", "-c", line], capture_output=True, encoding="utf-8", check=False)


@posix
@pytest.mark.parametrize("options", ["", "--answer approve --answer accept"])
def test_a_reader_that_goes_away_ends_the_program_quietly(here, options):
    done = shell(f"( {SUPPORT} {options}; echo $? > status ) | head -1")
    assert done.stdout.startswith("╭─ interlock demo")
    assert done.stderr == ""
    assert (here / "status").read_text("utf-8").strip() in ("141", "0")  # 0: it was done before head was


@pytest.mark.slow
@posix
def test_a_reader_that_is_gone_already(here):
    done = shell(f"( sleep 2; {SUPPORT}; echo $? > status ) | true")
    assert (done.stdout, done.stderr) == ("", "")
    assert (here / "status").read_text("utf-8").strip() == "141"
    assert not (here / "interlock-support.json").exists()  # nothing was done that nobody could see


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("arguments", ["--help", "--version", "demo support 'charged twice' --model scripted"])
def test_a_full_disk_is_one_line(here, arguments):
    done = shell(f"{PROGRAM} {arguments} > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "interlock: stopped: no space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_an_error_that_cannot_be_told(here):
    done = shell(f"{PROGRAM} demo support ' ' 2> /dev/full")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


@posix
def test_closed_streams_are_none_of_its_business(here):
    done = shell(f"{SUPPORT} >&- <&-")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("columns", ["0", "00"])
def test_no_columns_are_no_width(process, columns):
    called = process("demo", "support", "charged twice", "--model", "scripted", env={"COLUMNS": columns})
    assert "triage ─RefundDuplicate─→ review" in called.out
    assert {len(line) for line in called.out.splitlines() if line.startswith("╭")} == {80}


def test_text_that_is_not_utf8_is_refused_before_anything_runs(demo, run, here):
    called = demo("\udcff abc", "--model", "scripted")
    assert (called.status, called.out) == (2, "")
    assert called.err == "interlock: the request is not UTF-8: character 1 cannot be read\n"
    assert "--pretend is not UTF-8" in demo("abc", "--pretend", "\udcff").err
    for option in ("--input", "--model", "--base-url", "--event"):
        called = run("nowhere.py", option, "a\udcff")
        assert (called.status, called.out) == (2, "")
        assert f"{option} is not UTF-8: character 2" in called.err
    assert list(here.iterdir()) == []


def test_ctrl_c_while_it_loads(process):
    before = """
import sys

class Slow:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Slow())
"""
    called = process("--version", before=before)
    assert (called.status, called.out) == (130, "")
    assert called.err == "interlock: stopped; nothing was saved\n"
