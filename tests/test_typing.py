"""Programs that the type checkers must accept, and programs that they must refuse, line by line.

A line of a refused program that ends in ``# E:`` must be an error for both checkers, strict; a text in quotes behind
it must stand in both messages. No other line may be one. An accepted file holds several programs, each under a comment
that begins with a capital.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent
PROGRAMS = HERE / "typing"
ACCEPTED = sorted((PROGRAMS / "accepted").glob("*.py"))
REFUSED = sorted((PROGRAMS / "refused").glob("*.py"))
EXPECTED = re.compile(r'# E:(?: "(?P<text>[^"]+)")?\s*$')

Found = dict[str, dict[int, list[str]]]
"""Messages by place of the file and line."""


def place(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@cache
def mypy() -> Found:
    # Each program is a module of its own; what it imports is checked elsewhere.
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file=",
        "--strict",
        "--follow-imports=silent",
        "--no-error-summary",
    ]
    files = [str(path) for path in ACCEPTED + REFUSED]
    done = subprocess.run(
        [*command, "--output=json", "--scripts-are-modules", "--cache-dir=.mypy_cache/programs", *files],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: Found = defaultdict(lambda: defaultdict(list))
    for line in done.stdout.splitlines():
        item = json.loads(line)
        if item["severity"] == "error":
            found[place(Path(item["file"]))][item["line"]].append(item["message"])
    return found


@cache
def pyright() -> Found:
    settings = PROGRAMS / "pyrightconfig.json"
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--project", str(settings), "--pythonpath", sys.executable, "--outputjson"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: Found = defaultdict(lambda: defaultdict(list))
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(ACCEPTED + REFUSED), report["summary"]
    for item in report["generalDiagnostics"]:
        if item["severity"] == "error":
            first, last = (item["range"][end]["line"] + 1 for end in ("start", "end"))
            assert first == last or Path(item["file"]).parent.name != "refused", item
            found[place(Path(item["file"]))][first].append(item["message"])
    return found


def environment() -> dict[str, str]:
    import os

    return {**os.environ, "MYPYPATH": str(ROOT / "src"), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}


CHECKERS = {"mypy": mypy, "pyright": pyright}


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: path.stem)
def test_a_right_program_is_accepted(path: Path, checker: str):
    assert dict(CHECKERS[checker]()[place(path)]) == {}


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
def test_each_wrong_line_is_refused_and_no_other(path: Path, checker: str):
    found = CHECKERS[checker]()[place(path)]
    missed: list[str] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        expected = EXPECTED.search(line)
        messages = "\n".join(found.get(number, []))
        if expected is None:
            if messages:
                missed.append(f"line {number} is refused: {line}\n    {messages}")
        elif not messages:
            missed.append(f"line {number} is accepted: {line}")
        elif (expected["text"] or "") not in messages:
            missed.append(f"line {number} is refused without naming {expected['text']!r}: {messages}")
    assert missed == []


def test_there_are_programs_and_wrong_lines_enough():
    wrong = sum(len(re.findall(r"# E:", path.read_text("utf-8"))) for path in REFUSED)
    right = sum(len(re.findall(r"^# [A-Z]", path.read_text("utf-8"), re.MULTILINE)) for path in ACCEPTED)
    assert right >= 30
    assert wrong >= 130


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: path.stem)
def test_a_right_program_runs(path: Path):
    done = subprocess.run(
        [sys.executable, str(path)],
        env=environment() | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
