"""Saving. The saved form is strict JSON, complete, stable and versioned, and read again by ``loading``.

It looks like this::

    {"format": 1, "machine": id, "version": text, "status": "active" | "done" | "error",
     "states": [ids of the active leaves], "context": ..., "seq": number,
     "output": ..., "error": {"value": ...} | {"info": ...},         # where there is one
     "history": {history state id: [state ids]},                      # the rest only where not empty
     "inputs": {state id: ...}, "results": {final state id: ...},
     "children": [{"id", "seq", "src", "input", "state"?, "records"?, "snapshot"?}],
     "timers": [{"id", "seq", "delay", "due", "event"?, "to"?}]}

Equal snapshots give equal bytes: lists and keys stand in document order or in order of ``seq``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from interlock.errors import ErrorInfo, NotJsonError
from interlock.statechart.events import event_to_json
from interlock.statechart.frozen import FrozenDict, freeze
from interlock.statechart.owing import Child, Timer

if TYPE_CHECKING:
    from interlock.statechart.nodes import Node
    from interlock.statechart.snapshot import Snapshot

__all__ = ["FORMAT", "dump", "thaw", "to_json"]

FORMAT = 1


def to_json(snapshot: Snapshot[Any]) -> str:
    """Return :func:`dump` as text: the same value, the same text."""
    return json.dumps(dump(snapshot), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def dump(snapshot: Snapshot[Any]) -> dict[str, Any]:
    """Return a snapshot as JSON data. Raises :class:`NotJsonError` with the path of what cannot be saved."""
    table = snapshot.table
    rest = snapshot.rest
    try:
        context = freeze(table.context.dump(snapshot.context), "context")
    except PydanticSerializationError as error:
        raise NotJsonError(f"cannot be saved: {error}", path="context") from error
    found: dict[str, Any] = {
        "format": FORMAT,
        "machine": table.id,
        "version": table.version,
        "status": rest.status,
        "states": [leaf.id for leaf in snapshot.configuration.leaves],
        "context": thaw(context),
        "seq": rest.seq,
    }
    if rest.status == "done":
        found["output"] = thaw(_plain(rest.outcome, "output"))
    if rest.status == "error":
        failure = rest.outcome
        found["error"] = (
            {"info": thaw(freeze(failure.to_json()))} if isinstance(failure, ErrorInfo) else {"value": thaw(failure)}
        )
    if rest.history:
        found["history"] = {node.id: [item.id for item in rest.history[node]] for node in _in_order(rest.history)}
    if rest.inputs:
        found["inputs"] = {node.id: thaw(rest.inputs[node]) for node in _in_order(rest.inputs)}
    if rest.results:
        found["results"] = {node.id: thaw(rest.results[node]) for node in _in_order(rest.results)}
    if rest.children:
        found["children"] = [_dump_child(child) for child in sorted(rest.children.values(), key=lambda item: item.seq)]
    if rest.timers:
        found["timers"] = [_dump_timer(timer) for timer in sorted(rest.timers.values(), key=lambda item: item.seq)]
    return found


def _in_order(nodes: Mapping[Node, Any]) -> list[Node]:
    return sorted(nodes, key=lambda node: node.index)


def _plain(value: Any, path: str) -> Any:
    model_dump = getattr(value, "model_dump", None)
    if model_dump is not None:
        value = model_dump(mode="json")
    elif hasattr(value, "__dataclass_fields__"):
        value = to_jsonable_python(value)
    return freeze(value, path)


def _dump_child(child: Child) -> dict[str, Any]:
    found: dict[str, Any] = {"id": child.id, "seq": child.seq, "src": child.src, "input": thaw(child.input)}
    if child.state is not None:
        found["state"] = child.state.id
    if len(child.records):
        found["records"] = [thaw(record) for record in child.records]
    if child.snapshot is not None:
        found["snapshot"] = dump(child.snapshot)
    return found


def _dump_timer(timer: Timer) -> dict[str, Any]:
    found: dict[str, Any] = {"id": timer.id, "seq": timer.seq, "delay": timer.delay, "due": timer.due}
    if timer.event is not None:
        found["event"] = thaw(freeze(event_to_json(timer.event), f"timers.{timer.id}.event"))
    if timer.to is not None:
        found["to"] = timer.to
    return found


def thaw(value: Any) -> Any:
    """Return frozen JSON data as plain lists and dicts that belong to the caller."""
    if isinstance(value, tuple):
        return [thaw(item) for item in cast("Iterable[Any]", value)]
    if isinstance(value, FrozenDict):
        return {key: thaw(item) for key, item in cast("dict[str, Any]", value).items()}
    return value
