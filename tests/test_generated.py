"""Machines made at random in the corpus vocabulary: the generator is steady, and some laws hold on all of them."""

from __future__ import annotations

import json
from functools import cache

import pytest

from interlock.errors import InvalidMoveError
from tests.conformance.generate import case, main
from tests.conformance.records import Record
from tests.conformance.replay import records
from tests.test_persist_everywhere import boundaries

SEEDS = range(120)

# What a random machine may ask for although it is impossible; every other exception is a fault of the engine.
_REFUSED = {"duplicate-child", "invalid-delay"}


@cache
def _records(seed: int, *, static: bool) -> list[Record]:
    made: list[Record] = []
    try:
        made.extend(records(case(seed), "static" if static else "handlers"))
    except InvalidMoveError as error:
        if error.code not in _REFUSED:
            raise
        made.append({"refused": error.code})
    return made


def test_the_same_seed_gives_the_same_cases(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--seed", "7", "--count", "3"])
    first = capsys.readouterr().out
    main(["--seed", "7", "--count", "3"])

    assert capsys.readouterr().out == first
    assert [made["id"] for made in json.loads(first)["cases"]] == ["generated/7", "generated/8", "generated/9"]


def test_handlers_and_static_transitions_say_the_same() -> None:
    for seed in SEEDS:
        assert _records(seed, static=False) == _records(seed, static=True), seed


def test_every_entry_and_exit_is_marked_once() -> None:
    for seed in SEEDS:
        inside: set[str] = set()
        for made in _records(seed, static=False):
            for action in made.get("actions", ()):
                if action[0] != "mark" or action[1][0] not in "+-":
                    continue
                sign, node = action[1][0], action[1][1:]
                assert (node in inside) is (sign == "-"), (seed, action)
                inside.symmetric_difference_update({node})


@pytest.mark.slow
def test_a_round_trip_at_every_boundary_changes_nothing() -> None:
    for seed in SEEDS:
        made = case(seed)
        try:
            straight = list(boundaries(made, persist=False))
        except InvalidMoveError as error:
            if error.code not in _REFUSED:
                raise
            continue

        assert list(boundaries(made, persist=True)) == straight, seed


def test_nothing_happens_after_the_end() -> None:
    for seed in SEEDS:
        ended = False
        for made in _records(seed, static=False):
            if ended:
                assert "actions" not in made, seed
                assert "can" not in made, seed
            ended = ended or "status" in made
