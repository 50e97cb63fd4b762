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

from interlock.errors import ErrorInfo, NotJsonError
from interlock.statechart.events import event_to_json
from interlock.statechart.frozen import FrozenDict, freeze
from interlock.statechart.owing import Child, Timer
from interlock.statechart.reasons import reason_of
from interlock.statechart.unsaved import unloadable, unwritable

if TYPE_CHECKING:
    from interlock.statechart.context_kind import ContextType
    from interlock.statechart.nodes import Node
    from interlock.statechart.snapshot import Snapshot

__all__ = ["FORMAT", "dump", "thaw", "to_json"]

FORMAT = 1


def to_json(snapshot: Snapshot[Any]) -> str:
    """Return :func:`dump` as text: the same value, the same text."""
    try:
        return json.dumps(dump(snapshot), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as error:  # a whole number of thousands of digits
        raise NotJsonError(str(error), path="snapshot") from error


def dump(snapshot: Snapshot[Any]) -> dict[str, Any]:
    """Return a snapshot as JSON data. Raises :class:`NotJsonError` with the path of what cannot be saved."""
    table = snapshot.table
    rest = snapshot.rest
    context = saved_context(table.context, snapshot.context)
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
        found["output"] = thaw(_output(snapshot))
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


def saved_context(kind: ContextType, context: Any) -> Any:
    """Return a context as JSON, having seen that it comes back as it was: nothing is lost without a word."""
    try:
        data = freeze(kind.dump(context), "context")
    except NotJsonError:
        raise
    except Exception as error:  # serializers are the author's code
        path = unwritable(context, lambda parts: kind.dump(context, include=parts), "context")
        raise NotJsonError(f"cannot be saved: {reason_of(error)}", path=path) from error
    if kind.fields is None:
        return data
    try:
        again = kind.load(data)
    except Exception as error:  # validators are the author's code
        raise NotJsonError(
            f"is saved in a form that cannot be loaded: {reason_of(error)}", path=unloadable(kind, data, error)
        ) from error
    if again != context:
        name = next((name for name in kind.fields if _field(again, name) != _field(context, name)), "")
        raise NotJsonError(
            f"{_field(context, name)!r} would come back as {_field(again, name)!r}; declare a type that survives JSON "
            "(no secrets, subclasses, ambiguous unions or one-way serializers), and validators that change nothing "
            "the second time",
            path=f"context.{name}",
        )
    return data


def _output(snapshot: Snapshot[Any]) -> Any:
    adapter = snapshot.table.output_type
    outcome = snapshot.rest.outcome
    return freeze(outcome if adapter is None else adapter.dump_python(outcome, mode="json", round_trip=True), "output")


def _field(context: Any, name: str) -> Any:
    if isinstance(context, Mapping):
        return cast("Mapping[str, Any]", context).get(name)
    return getattr(context, name, None)


def _in_order(nodes: Mapping[Node, Any]) -> list[Node]:
    return sorted(nodes, key=lambda node: node.index)


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
