"""One case: built, stepped through, compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import interlock.statechart as sc
from interlock.errors import EndlessLoopError
from tests.conformance.machines import Form, build
from tests.conformance.overrides import Expectation, same_actions
from tests.conformance.records import Record, TimerNames, persisted, record
from tests.conformance.vocabulary import UnknownWordError, same

Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of one record that is not as expected; step 0 is the start."""

    case: str
    step: int
    field: str
    expected: Any
    got: Any

    def __str__(self) -> str:
        return (
            f"{self.case} step {self.step} {self.field}\n"
            f"    expected {_shown(self.expected)}\n"
            f"    got      {_shown(self.got)}"
        )


def differences(case: Case, form: Form = "handlers") -> list[Difference]:
    """Replay a case and compare all recorded fields; an exception is a difference like any other."""
    name = str(case.get("id", "?"))
    found: list[Difference] = []
    step = 0
    try:
        expectation = Expectation()
        trace = case["trace"]
        for step, got in enumerate(records(case, form)):
            if step >= len(trace):
                found.append(Difference(name, step, "trace", "nothing more", got))
                break
            found.extend(_compared(name, step, expectation.of(trace[step]), got))
        else:
            if step + 1 < len(trace):
                found.append(Difference(name, step + 1, "trace", trace[step + 1], "nothing more"))
    except Exception as error:  # a case may fail in any way; the run goes on
        found.append(Difference(name, step, "exception", "none", f"{type(error).__name__}: {error}"))
    return found


def records(case: Case, form: Form = "handlers") -> Iterator[Record]:
    """The records of a case as this engine makes them: after the start and after each step."""
    alphabet = case.get("events", ())
    names = TimerNames()
    try:
        machine = build(case["machine"], form)
        snapshot, effects = sc.initial_transition(machine, case.get("input"), at=0.0)
        yield record(snapshot, effects, alphabet, names)
        for index, step in enumerate(case.get("steps", ())):
            if "persist" in step:
                snapshot = machine.load(json.loads(json.dumps(snapshot.dump())))
                yield record(snapshot, (), alphabet, names) | {"persisted": persisted(snapshot, names)}
            else:
                snapshot, effects = sc.transition(machine, snapshot, to_input(step, names), at=float(index + 1))
                yield record(snapshot, effects, alphabet, names)
    except EndlessLoopError:
        yield {"throws": "infinite-loop"}


def to_input(step: Mapping[str, Any], names: TimerNames) -> Any:
    """A step of a case as an input of the engine."""
    if "send" in step:
        return step["send"]
    if "fire" in step:
        return sc.Input.fired(names.own(step["fire"]))
    if "done" in step:
        return sc.Input.done(step["done"], step.get("output"))
    if "fail" in step:
        return sc.Input.failed(step["fail"], step.get("error"))
    raise UnknownWordError(f"unknown step {dict(step)!r}")


def _compared(name: str, step: int, expected: Record, got: Record) -> Iterator[Difference]:
    for field in sorted({*expected, *got}):
        missing = "(absent)"
        left, right = expected.get(field, missing), got.get(field, missing)
        if field == "actions" and field in expected and field in got and same_actions(left, right):
            continue
        if not equal(left, right):
            yield Difference(name, step, field, left, right)


def equal(left: Any, right: Any) -> bool:
    """Deep equality without coercion and without regard to the order of keys."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return same(left, right)


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 2000 else text[:2000] + " ..."
