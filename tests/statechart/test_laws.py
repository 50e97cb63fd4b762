"""Laws of the step, over random machines and the whole corpus."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlock.statechart as sc
from interlock.errors import StepError
from tests.conformance.corpus import DATA, cases_in, files_in
from tests.conformance.generate import case as generated
from tests.conformance.machines import build
from tests.conformance.records import TimerNames
from tests.conformance.replay import to_input

seeds = st.integers(min_value=0, max_value=10_000_000)


def walk(case: Mapping[str, Any]) -> list[tuple[Any, Any, Any, float, Any]]:
    """Every step of a case: (machine, snapshot before, input, at, result); stops where a step is refused."""
    machine = build(case["machine"], "handlers")
    names = TimerNames()
    found: list[tuple[Any, Any, Any, float, Any]] = []
    try:
        snapshot, _ = sc.initial_transition(machine, case.get("input"), at=0.0)
        for number, step in enumerate(case["steps"], start=1):
            if "persist" in step:
                continue
            given_input = to_input(step, names)
            result = sc.transition(machine, snapshot, given_input, at=float(number))
            found.append((machine, snapshot, given_input, float(number), result))
            snapshot = result[0]
    except StepError:
        pass
    return found


@settings(max_examples=60)
@given(seeds)
def test_a_step_is_pure(seed: int) -> None:
    for machine, before, given_input, at, (after, effects) in walk(generated(seed)):
        text = before.to_json()
        again, effects_again = sc.transition(machine, before, given_input, at=at)
        assert (again.to_json(), effects_again) == (after.to_json(), effects)
        assert before.to_json() == text


@settings(max_examples=60)
@given(seeds)
def test_a_loaded_snapshot_is_the_same_value(seed: int) -> None:
    for machine, before, given_input, at, (after, effects) in walk(generated(seed)):
        text = before.to_json()
        loaded = machine.load(text)
        assert loaded == before
        assert loaded.to_json() == text
        # What is owed is remembered from step to step, and found anew after loading.
        assert sc.owed(loaded) == sc.owed(before)
        again, effects_again = sc.transition(machine, loaded, given_input, at=at)
        assert (again, effects_again) == (after, effects)


@settings(max_examples=60)
@given(seeds)
def test_the_short_step_is_the_long_step(seed: int) -> None:
    """`microsteps` always takes the general step; `transition` takes shortcuts where it can."""
    for machine, before, given_input, at, (after, effects) in walk(generated(seed)):
        trace = sc.microsteps(machine, before, given_input, at=at)
        if not trace:
            assert (after, effects) == (before, ())
            continue
        assert trace[-1][0] == after
        assert tuple(effect for _, some in trace for effect in some) == effects


@pytest.mark.parametrize("file", files_in(DATA), ids=lambda file: file.stem)
def test_the_short_step_is_the_long_step_in_the_corpus(file: Any) -> None:
    for case in cases_in(file):
        for machine, before, given_input, at, (after, effects) in walk(case):
            trace = sc.microsteps(machine, before, given_input, at=at)
            assert (trace[-1][0] if trace else before) == after, case["id"]
            assert tuple(effect for _, some in trace for effect in some) == effects, case["id"]


@settings(max_examples=60)
@given(seeds)
def test_the_configuration_is_always_legal(seed: int) -> None:
    for machine, _, _, _, (after, _) in walk(generated(seed)):
        active = set(after.states)
        by_id = {node.id: node for node in machine.nodes}
        assert after.states == tuple(node.id for node in machine.nodes if node.id in active)
        for name in active:
            node = by_id[name]
            assert node.parent is None or node.parent.id in active
            below = [child for child in node.children if child.id in active]
            if node.definition.kind == "compound":
                assert len(below) == 1
            if node.definition.kind == "parallel":
                assert below == [child for child in node.children if child.definition.kind != "history"]


@settings(max_examples=60)
@given(seeds)
def test_can_is_what_a_step_does(seed: int) -> None:
    case = generated(seed)
    for machine, before, _, _, _ in walk(case):
        for event in case["events"]:
            taken = sc.selected(before, event)
            assert before.can(event) == any(not item.bare for item in taken)
            if not before.can(event) and not before.configuration.eventless:
                try:
                    after, effects = sc.transition(machine, before, event, at=0.0)
                except StepError:
                    continue
                assert (after, effects) == (before, ())


@settings(max_examples=60)
@given(seeds)
def test_nothing_happens_after_the_end(seed: int) -> None:
    case = generated(seed)
    for machine, before, _, _, (after, effects) in walk(case):
        if after.status == "active" or before.status != "active":
            continue
        assert effects
        assert isinstance(effects[-1], sc.Terminate)
        assert not after.children
        assert not after.timers
        assert sc.owed(after) == sc.Owed((), ())
        assert not after.accepted_events()
        for event in case["events"]:
            assert not after.can(event)
            assert sc.transition(machine, after, event) == (after, ())
        break


@settings(max_examples=60)
@given(seeds)
def test_owed_is_what_effects_have_left(seed: int) -> None:
    """A host that follows effects and a driver that reads `owed` know of the same children and timers."""
    case = generated(seed)
    machine = build(case["machine"], "handlers")
    children: set[str] = set()
    timers: set[str] = set()
    names = TimerNames()
    try:
        snapshot, effects = sc.initial_transition(machine, at=0.0)
        for number, step in enumerate([None, *case["steps"]], start=1):
            if step is not None and "persist" not in step:
                given_input = to_input(step, names)
                if isinstance(given_input, sc.Input) and given_input.invocation is not None:
                    children.discard(given_input.invocation)
                if isinstance(given_input, sc.Input) and given_input.timer is not None:
                    timers.discard(given_input.timer)
                snapshot, effects = sc.transition(machine, snapshot, given_input, at=float(number))
            elif step is not None:
                continue
            for effect in effects:
                match effect:
                    case sc.Spawn(id=name):
                        children.add(name)
                    case sc.Stop(id=name):
                        children.discard(name)
                    case sc.Schedule(timer=name):
                        timers.add(name)
                    case sc.Send(timer=name) if name is not None:
                        timers.add(name)
                    case sc.Cancel(timer=name):
                        timers.discard(name)
                    case _:
                        pass
            owed = sc.owed(snapshot)
            assert {item.id for item in owed.invocations} == children
            assert {item.id for item in owed.timers} == timers
    except StepError:
        pass


@settings(max_examples=60)
@given(seeds)
def test_a_dump_is_strict_json(seed: int) -> None:
    for _, _, _, _, (after, _) in walk(generated(seed)):
        assert json.loads(json.dumps(after.dump(), allow_nan=False)) == after.dump()
