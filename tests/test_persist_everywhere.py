"""Saved and loaded at every step boundary of every corpus case, a machine goes on as if nothing had happened."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import interlock.statechart as sc
from interlock.errors import EndlessLoopError
from tests.conformance.corpus import DATA, cases_in, files_in
from tests.conformance.machines import build
from tests.conformance.records import Record, TimerNames, record
from tests.conformance.replay import to_input

FILES = [
    pytest.param(file, marks=pytest.mark.slow if file.stem == "generated" else ())
    for file in [*files_in(DATA), DATA.parent / "faults.json"]
]


def boundaries(case: Mapping[str, Any], *, persist: bool) -> Iterator[tuple[Record, str]]:
    """The record and the dump after the start and after each step, with or without a round trip in between."""
    alphabet = case["events"]
    names = TimerNames()
    machine = build(case["machine"])
    try:
        snapshot, effects = sc.initial_transition(machine, case.get("input"), at=0.0)
        yield record(snapshot, effects, alphabet, names), snapshot.to_json()
        for index, step in enumerate(case["steps"]):
            if persist:
                # Another machine, built from the same definition, as another process would have it.
                machine = build(case["machine"])
                snapshot = machine.load(snapshot.to_json())
            if "persist" in step:
                effects = ()
            else:
                snapshot, effects = sc.transition(machine, snapshot, to_input(step, names), at=float(index + 1))
            yield record(snapshot, effects, alphabet, names), snapshot.to_json()
    except EndlessLoopError as error:
        yield {"throws": list(error.cycle)}, ""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_round_trip_at_every_boundary_changes_nothing(file: Path) -> None:
    for case in cases_in(file):
        straight = list(boundaries(case, persist=False))
        broken = list(boundaries(case, persist=True))

        assert broken == straight, case["id"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_dump_is_stable_strict_json(file: Path) -> None:
    for case in cases_in(file):
        machine = build(case["machine"])
        for _, text in boundaries(case, persist=False):
            if not text:
                continue
            loaded = machine.load(text)
            assert loaded.to_json() == text, case["id"]
            assert machine.load(json.loads(text)) == loaded, case["id"]
            assert json.loads(text) == json.loads(json.dumps(loaded.dump(), allow_nan=False)), case["id"]
