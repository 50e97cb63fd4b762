"""Loading: a saved snapshot is checked field by field against the machine, and nothing of it is executed.

The form is the one that ``saving`` describes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, cast

from pydantic_core import to_json

from interlock.errors import ErrorInfo, NotJsonError, SnapshotError, did_you_mean
from interlock.statechart.frozen import FrozenDict, freeze
from interlock.statechart.kinds import COMPOUND, FINAL, HISTORY, PARALLEL
from interlock.statechart.owing import NO_RECORDS, Child, Timer
from interlock.statechart.reasons import reason_of
from interlock.statechart.saving import FORMAT
from interlock.statechart.snapshot import Rest, Snapshot, snapshot_of
from interlock.statechart.tree import MAX_NESTING

if TYPE_CHECKING:
    from interlock.statechart.chart import Configuration
    from interlock.statechart.machine import Machine
    from interlock.statechart.nodes import Node

__all__ = ["load"]

_INFINITE = float("inf")


def load(machine: Machine[Any, Any, Any], data: Mapping[str, Any] | str | bytes) -> Snapshot[Any]:
    """Return the saved snapshot. Raises :class:`SnapshotError`; the data is not changed and nothing is executed."""
    if isinstance(data, (str, bytes, bytearray)):
        try:
            data = json.loads(data, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise SnapshotError(f"machine {machine.id!r}: the saved snapshot is no JSON: {error}") from error
    return _Loader(machine, "snapshot", 0).load(data)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class _Loader:
    """Loads one machine's part of a saved tree."""

    def __init__(self, machine: Machine[Any, Any, Any], path: str, depth: int) -> None:
        self.machine = machine
        self.table = machine.table
        self.path = path
        self.depth = depth

    def bad(self, field: str, reason: str, code: str = "invalid-snapshot") -> SnapshotError:
        return SnapshotError(f"machine {self.machine.id!r}: {self.path}.{field}: {reason}", code=code)

    def load(self, data: Any) -> Snapshot[Any]:
        machine = self.machine
        if self.depth > MAX_NESTING:
            raise self.bad("children", f"machines are nested more than {MAX_NESTING} deep")
        if not isinstance(data, Mapping):
            raise SnapshotError(
                f"machine {machine.id!r}: {self.path} is {type(data).__name__}, expected what snapshot.dump() returned"
            )
        data = dict(cast("Mapping[str, Any]", data))
        if data.get("format") != FORMAT or isinstance(data.get("format"), bool):
            raise self.bad(
                "format",
                f"is {data.get('format')!r}; this version of the library reads format {FORMAT}",
                "unsupported-format",
            )
        if data.get("machine") != machine.id:
            raise self.bad(
                "machine",
                f"the snapshot was saved by machine {data.get('machine')!r}; load it with that machine",
                "machine-mismatch",
            )
        data = self.migrated(data)
        status = data.get("status")
        if status not in ("active", "done", "error"):
            raise self.bad("status", f"is {status!r}, expected 'active', 'done' or 'error'")
        configuration = self.configuration(data, active=status == "active")
        seq = data.get("seq")
        if not isinstance(seq, int) or isinstance(seq, bool) or seq < 0:
            raise self.bad("seq", f"is {seq!r}, expected a whole number of 0 or more")
        self.seq = seq
        children = self.children(data, configuration)
        timers = self.timers(data, configuration)
        if status != "active" and (children or timers):
            raise self.bad("children" if children else "timers", f"a machine with status {status!r} owes nothing")
        rest = Rest(
            status,
            seq,
            children,
            timers,
            self.history(data),
            self.by_node(data, "inputs"),
            self.by_node(data, "results"),
            self.output(data) if status == "done" else self.error(data) if status == "error" else None,
        )
        return snapshot_of(configuration, self.context(data, configuration), rest)

    def migrated(self, data: dict[str, Any]) -> dict[str, Any]:
        saved = data.get("version")
        machine = self.machine
        if saved == machine.version:
            return data
        if not isinstance(saved, str):
            raise self.bad("version", f"is {saved!r}, expected a text")
        if machine.migrate is None:
            raise self.bad(
                "version",
                f"the snapshot was saved by version {saved!r}, this is version {machine.version!r}; give the machine "
                "migrate=(dump, from_version) -> dump, or the version= that it had if nothing that matters has changed",
                "version-mismatch",
            )
        try:
            # A copy: whatever migrate does with it, the stored data is untouched.
            made = machine.migrate(json.loads(json.dumps(data)), saved)
        except Exception as error:
            raise self.bad("version", f"migrate raised {type(error).__name__}: {error}", "version-mismatch") from error
        if not isinstance(cast("Any", made), Mapping):
            raise self.bad(
                "version", f"migrate returned {type(made).__name__}, expected the changed dump", "version-mismatch"
            )
        return {**made, "machine": machine.id, "version": machine.version}

    def node(self, name: Any, field: str) -> Node:
        found = self.table.by_id.get(name) if isinstance(name, str) else None
        if found is None:
            raise self.bad(
                field, f"there is no state {name!r} in this machine. {did_you_mean(str(name), self.table.by_id)}"
            )
        return found

    def configuration(self, data: dict[str, Any], *, active: bool) -> Configuration:
        saved = data.get("states")
        if not isinstance(saved, list) or not saved:
            raise self.bad("states", f"is {saved!r}, expected the list of the active leaves' ids")
        leaves = [self.node(name, "states") for name in cast("Iterable[Any]", saved)]
        for leaf in leaves:
            if leaf.kind in (COMPOUND, PARALLEL, HISTORY):
                raise self.bad("states", f"{leaf.id!r} is no state without children")
        ordered = tuple(sorted(set(leaves), key=lambda node: node.index))
        if len(ordered) != len(leaves):
            raise self.bad("states", "a state is listed twice")
        if not _legal(ordered, self.table.root):
            raise self.bad("states", f"{[leaf.id for leaf in ordered]!r} cannot be active together in this machine")
        if active and _has_ended(self.table.root, set(ordered)):
            raise self.bad("states", f"a machine that stands in {[leaf.id for leaf in ordered]!r} is done, not active")
        configuration = self.table.configuration(ordered)
        return configuration if active else self.table.inert(configuration)

    def context(self, data: dict[str, Any], configuration: Configuration) -> Any:
        if "context" not in data:
            raise self.bad("context", "is missing")
        name = self.table.context.name
        try:
            context = self.table.context.load(data["context"])
            for node in configuration.nodes if data["status"] == "active" else ():
                if narrow := self.table.narrowing.get(node):
                    name = f"{narrow.name}, as state {node.id!r} takes it"
                    narrow.view(context)
        except Exception as error:  # validators are the author's code
            raise self.bad("context", f"does not fit {name}: {reason_of(error)}") from error
        return context

    def mapping(self, data: dict[str, Any], field: str) -> Mapping[str, Any]:
        value = data.get(field, {})
        if not isinstance(value, Mapping):
            raise self.bad(field, f"is {type(value).__name__}, expected an object")
        return cast("Mapping[str, Any]", value)

    def json(self, value: Any, field: str) -> Any:
        try:
            return freeze(value)
        except NotJsonError as error:
            raise self.bad(field, str(error)) from error

    def by_node(self, data: dict[str, Any], field: str) -> FrozenDict[Any, Any]:
        return FrozenDict(
            {self.node(name, field): self.json(value, field) for name, value in self.mapping(data, field).items()}
        )

    def history(self, data: dict[str, Any]) -> FrozenDict[Any, Any]:
        found: dict[Node, tuple[Node, ...]] = {}
        for name, items in self.mapping(data, "history").items():
            node = self.node(name, "history")
            if node.kind != HISTORY or not isinstance(items, list) or not items:
                raise self.bad("history", f"{name!r} is no history state with a list of state ids")
            record = tuple(self.node(item, "history") for item in cast("Iterable[Any]", items))
            parent = node.parent
            if parent is None or not all(
                parent.contains(item) and item is not parent and item.kind != HISTORY for item in record
            ):
                raise self.bad("history", f"{name!r} remembers states outside its parent")
            found[node] = record
        return FrozenDict(found)

    def output(self, data: dict[str, Any]) -> Any:
        value = self.json(data.get("output"), "output")
        adapter = self.machine.output_type
        if adapter is None:
            return value
        try:
            return adapter.validate_json(to_json(value))
        except Exception as error:  # validators are the author's code
            raise self.bad("output", reason_of(error)) from error

    def error(self, data: dict[str, Any]) -> Any:
        saved = data.get("error")
        if isinstance(saved, Mapping):
            entry = cast("Mapping[str, Any]", saved)
            if "info" in entry:
                try:
                    return ErrorInfo.from_json(self.json(entry["info"], "error"))
                except (TypeError, KeyError, ValueError) as error:
                    raise self.bad("error", f"is no saved error: {error}") from error
            if "value" in entry:
                return self.json(entry["value"], "error")
        raise self.bad("error", "is missing for a machine with status 'error'")

    # -- what is owed ----------------------------------------------------------------------------------------------

    def entries(self, data: dict[str, Any], field: str) -> list[dict[str, Any]]:
        saved = data.get(field, [])
        if not isinstance(saved, list) or not all(isinstance(item, dict) for item in cast("Iterable[Any]", saved)):
            raise self.bad(field, "expected a list of objects")
        seen: set[str] = set()
        for item in cast("list[dict[str, Any]]", saved):
            name, seq = item.get("id"), item.get("seq")
            if not isinstance(name, str) or not name or name in seen:
                raise self.bad(field, f"id {name!r} is missing or stands twice")
            if not isinstance(seq, int) or isinstance(seq, bool) or not 0 < seq <= self.seq:
                raise self.bad(field, f"seq of {name!r} is {seq!r}, expected a number from 1 to {self.seq}")
            seen.add(name)
        return sorted(cast("list[dict[str, Any]]", saved), key=lambda item: item["seq"])

    def children(self, data: dict[str, Any], configuration: Configuration) -> FrozenDict[str, Child]:
        found: dict[str, Child] = {}
        for item in self.entries(data, "children"):
            name, src = item["id"], item.get("src")
            where = f"children[{name!r}]"
            if not isinstance(src, str) or src not in self.machine.sources:
                raise self.bad(
                    where, f"src {src!r} is no source of this machine. {did_you_mean(str(src), self.machine.sources)}"
                )
            invocation = None
            if "state" in item:
                state = self.node(item["state"], where)
                invocation = next((one for one in state.invocations if one.id == name), None)
                if invocation is None or invocation.src != src or not configuration.active(state):
                    raise self.bad(where, f"state {state.id!r} is not active or does not invoke it")
            snapshot = None
            if self.machine.is_machine(src):
                loader = _Loader(self.machine.sources[src], f"{self.path}.{where}.snapshot", self.depth + 1)
                snapshot = loader.load(item.get("snapshot"))
            elif "snapshot" in item:
                raise self.bad(where, f"source {src!r} is no machine, but a machine's snapshot was saved for it")
            records = NO_RECORDS
            saved = item.get("records", [])
            if not isinstance(saved, list):
                raise self.bad(where, "records is no list")
            for record in cast("Iterable[Any]", saved):
                records = records.append(self.json(record, where))
            found[name] = Child(
                name, item["seq"], src, self.json(item.get("input"), where), invocation, records, snapshot
            )
        return FrozenDict(found)

    def timers(self, data: dict[str, Any], configuration: Configuration) -> FrozenDict[str, Timer]:
        own = {timer.id for node in configuration.nodes for timer in node.timers}
        found: dict[str, Timer] = {}
        for item in self.entries(data, "timers"):
            name, delay, due = item["id"], item.get("delay"), item.get("due")
            where = f"timers[{name!r}]"
            if not _number(delay) or not _number(due):
                raise self.bad(where, f"delay {delay!r} and due {due!r} must be numbers")
            event = item.get("event")
            if event is None:
                if name not in own:
                    raise self.bad(where, "no active state declares it")
            else:
                if not isinstance(event, Mapping) or not isinstance(cast("Any", event).get("type"), str):
                    raise self.bad(where, "its event has no type")
                try:
                    event = self.machine.event_from_json(cast("Mapping[str, Any]", event))
                except Exception as error:  # validators are the author's code
                    raise self.bad(where, f"its event is refused: {reason_of(error)}") from error
            to = item.get("to")
            if to is not None and not isinstance(to, str):
                raise self.bad(where, f"to is {to!r}, expected a child's id")
            found[name] = Timer(name, item["seq"], cast("float", delay), cast("float", due), event, to)
        return FrozenDict(found)


def _number(value: Any) -> bool:
    # Neither an infinity nor NaN, which is not between any two numbers.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -_INFINITE < value < _INFINITE


def _has_ended(node: Node, leaves: set[Node]) -> bool:
    """Whether a state is complete: a final child is active, and where it is parallel, in all of its regions."""
    if node.kind == PARALLEL:
        return all(_has_ended(region, leaves) for region in node.children if region.kind != HISTORY)
    return node.kind == FINAL or any(child.kind == FINAL and child in leaves for child in node.children)


def _legal(leaves: tuple[Node, ...], root: Node) -> bool:
    """Whether these leaves are exactly what a configuration of this chart consists of."""
    active: set[Node] = set()
    for leaf in leaves:
        node: Node | None = leaf
        while node is not None and node not in active:
            active.add(node)
            node = node.parent
    if root not in active:
        return False
    for node in active:
        below = [child for child in node.children if child in active]
        if node.kind == COMPOUND and len(below) != 1:
            return False
        if node.kind == PARALLEL and len(below) != sum(child.kind != HISTORY for child in node.children):
            return False
    return True
