"""What is written down of a snapshot and its effects: the record that is compared with the observed one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import interlock.statechart as sc
from tests.conformance.vocabulary import UnknownWordError

Record = dict[str, Any]


def plain(value: Any) -> Any:
    """The same value as ``dict``, ``list`` and scalars."""
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value


class TimerNames:
    """Timers without an id of their own are called ``auto:<n>``, n counting up from 0 in order of scheduling.

    How the engine numbers them is its own affair; this keeps the two ways apart.
    """

    def __init__(self) -> None:
        self._neutral: dict[str, str] = {}

    def neutral(self, timer: str) -> str:
        """The name in a record of a timer of the engine; asked in order of scheduling."""
        if not timer.startswith("auto:"):
            return timer
        return self._neutral.setdefault(timer, f"auto:{len(self._neutral)}")

    def own(self, name: str) -> str:
        """The engine's name of a timer that a case speaks of."""
        return next((own for own, neutral in self._neutral.items() if neutral == name), name)


def record(snapshot: Any, effects: Iterable[Any], alphabet: Sequence[str], names: TimerNames) -> Record:
    """Everything observable after a step. Empty lists, the empty context and the status "active" are left out."""
    taken: Record = {"value": plain(snapshot.value)}
    everything = {
        "context": plain(snapshot.context),
        "tags": sorted(snapshot.tags),
        "actions": [action(effect, names) for effect in effects],
        "children": sorted(snapshot.children),
        "timers": sorted(map(names.neutral, snapshot.timers)),
    }
    if snapshot.status == "active":
        everything["can"] = [event for event in alphabet if snapshot.can({"type": event})]
    else:
        taken["status"] = snapshot.status
    if snapshot.status == "done":
        taken["output"] = plain(snapshot.output)
    if snapshot.status == "error":
        taken["error"] = plain(snapshot.error)
    return taken | {field: seen for field, seen in everything.items() if seen}


def persisted(snapshot: Any, names: TimerNames) -> Record:
    """What a persisted snapshot must have kept."""
    kept: Record = {"value": plain(snapshot.value), "context": plain(snapshot.context), "status": snapshot.status}
    everything = {
        "children": {child.id: child.src for child in snapshot.children.values()},
        "timers": {names.neutral(timer.id): timer.delay for timer in snapshot.timers.values()},
        "history": {node: sorted(nodes) for node, nodes in snapshot.history.items()},
        "inputs": plain(snapshot.inputs),
    }
    return kept | {field: seen for field, seen in everything.items() if seen}


def action(effect: Any, names: TimerNames) -> list[Any]:
    """An effect in the neutral form."""
    match effect:
        case sc.Log():
            return ["mark", *plain(effect.values)]
        case sc.Emit():
            return ["emit", plain(effect.event)]
        case sc.Spawn():
            # For us no input is the input None; `Expectation` reads the observed records the same way.
            given = [] if effect.input is None else [plain(effect.input)]
            return ["spawn", effect.id, effect.src, *given]
        case sc.Start():
            return ["start", effect.id]
        case sc.Stop():
            return ["stop", effect.id]
        case sc.Schedule():
            # Only delayed raises show their event; the timers of nodes and invocations are known by their id.
            shown = [plain(effect.event)] if effect.timer.startswith(("auto:", "id:")) else []
            return ["schedule", names.neutral(effect.timer), effect.delay, *shown]
        case sc.Cancel():
            return ["cancel", names.neutral(effect.timer)]
        case sc.Send():
            late = [] if effect.delay is None else [effect.delay, names.neutral(effect.timer)]
            return ["send", effect.to, plain(effect.event), *late]
        case sc.Terminate():
            return ["terminate", effect.status]
    raise UnknownWordError(f"unknown effect {effect!r}")
