"""The corpus, replayed whole, and the command that replays any other set of cases."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main
from tests.conformance.corpus import DATA, cases_in, files_in
from tests.conformance.machines import Form
from tests.conformance.overrides import Expectation, same_actions
from tests.conformance.replay import differences

FILES = files_in(DATA)
REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("form", ["handlers", "static"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_recorded_field_of_a_topic_agrees(file: Path, form: Form) -> None:
    found = [difference for case in cases_in(file) for difference in differences(case, form)]

    assert not found, "\n".join(map(str, found[:5]))


def test_the_corpus_is_all_there() -> None:
    assert sum(len(cases_in(file)) for file in FILES if file.stem != "generated") == 1430
    assert len(FILES) >= 13


def test_the_command_counts_and_ends_with_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.conformance", str(DATA / "guards.json")],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.splitlines()[-1] == f"{len(cases_in(DATA / 'guards.json'))} passed, 0 failed", done.stderr
    assert done.returncode == 0


def _first_case() -> Any:
    return copy.deepcopy(dict(cases_in(DATA / "compound.json")[0]))


def _run(capsys: pytest.CaptureFixture[str], tmp_path: Path, *cases: Any) -> tuple[int, list[str]]:
    file = tmp_path / "some.json"
    file.write_text(json.dumps({"cases": cases}))
    status = main([str(tmp_path)])
    return status, capsys.readouterr().out.splitlines()


def test_a_wrong_record_fails_and_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right, wrong = _first_case(), _first_case()
    wrong["id"] = "wrong/one"
    wrong["trace"][-1]["value"] = "elsewhere"

    status, lines = _run(capsys, tmp_path, right, wrong)

    assert status == 1
    assert lines[-1] == "1 passed, 1 failed"
    assert re.match(r"wrong/one step \d+ value", lines[0])
    assert '"elsewhere"' in lines[1]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"machine": {"id": "m", "states": {}, "sorcery": 1}}, "sorcery"),
        ({"machine": {"id": "m", "type": "quantum"}}, "quantum"),
        ({"steps": [{"dance": 1}]}, "dance"),
        ({"machine": {"id": "m", "entry": [{"op": "explode"}]}}, "explode"),
        ({"machine": {"id": "m", "initial": "a", "states": {"a": {"always": [{"guard": {"op": "maybe"}}]}}}}, "maybe"),
        (
            {"machine": {"id": "m", "context": {"n": 1}, "entry": [{"op": "set", "key": "n", "value": {"sin": 1}}]}},
            "sin",
        ),
        ({"machine": None}, "AttributeError"),
        ({"trace": None}, "TypeError"),
    ],
)
def test_what_a_case_cannot_do_fails_that_case_only(
    change: dict[str, Any], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, lines = _run(capsys, tmp_path, _first_case() | change, _first_case())

    assert status == 1
    assert lines[-1] == "1 passed, 1 failed"
    assert named in "\n".join(lines[:-1])


def test_a_trace_that_is_too_short_or_too_long_fails() -> None:
    short, long = _first_case(), _first_case()
    del short["trace"][-1]
    long["trace"].append(long["trace"][-1])

    assert [difference.field for difference in differences(short)] == ["trace"]
    assert [difference.field for difference in differences(long)] == ["trace"]


def test_a_file_that_cannot_be_read_is_one_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.json").write_text("{")

    assert main([str(tmp_path), str(tmp_path / "missing.json")]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 2 failed"


def test_override_accidental_order() -> None:
    one, two = ["cancel", "after:1:m.a"], ["cancel", "after:2:m.a"]

    assert same_actions([one, two, ["mark", "x"]], [two, one, ["mark", "x"]])
    assert not same_actions([one, ["mark", "x"], two], [two, ["mark", "x"], one])
    assert not same_actions([["cancel", "id:a"], ["cancel", "id:b"]], [["cancel", "id:b"], ["cancel", "id:a"]])


def test_override_orphans_after_error() -> None:
    failed = {
        "value": "a",
        "status": "error",
        "error": "x",
        "children": ["c"],
        "timers": ["auto:0"],
        "actions": [["terminate", "error"]],
    }
    expectation = Expectation()

    assert expectation.of(failed) == {
        "value": "a",
        "status": "error",
        "error": "x",
        "actions": [["stop", "c"], ["cancel", "auto:0"], ["terminate", "error"]],
    }
    assert "children" not in expectation.of({**failed, "actions": []})


def test_override_start_of_the_stopped() -> None:
    spawn, stop, start = ["spawn", "c", "svc"], ["stop", "c"], ["start", "c"]

    def expected(*actions: list[str]) -> Any:
        return Expectation().of({"value": "a", "actions": list(actions)}).get("actions")

    assert expected(spawn, stop, start) == [spawn, stop]
    assert expected(spawn, stop, spawn, start, start) == [spawn, stop, spawn, start]
    assert expected(stop, spawn, start) == [stop, spawn, start]
