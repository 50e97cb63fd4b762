"""The structural version of a machine: a hash of what its author declared, never of the code of functions."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from interlock.statechart.moves import UNSET

if TYPE_CHECKING:
    from interlock.statechart.chart import Table
    from interlock.statechart.definition import Transition
    from interlock.statechart.nodes import Node

__all__ = ["structural_version"]

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # of a validator in an annotation: another one in each process


def structural_version(table: Table) -> str:
    """Return 16 hexadecimal digits over states, declared targets, delays, sources and context fields.

    Two machines with the same version accept each other's snapshots; renaming a state, or turning a source from a
    function into a machine, gives another one.
    """
    digest = hashlib.sha256()
    digest.update(json.dumps([_node(node) for node in table.nodes]).encode())
    fields = table.context.fields or {}
    digest.update(
        json.dumps(
            {
                "context": table.context.name,
                "fields": sorted((name, _ADDRESS.sub("", str(kind))) for name, kind in fields.items()) or None,
                "delays": sorted(
                    (name, delay if isinstance(delay, (int, float)) else "?") for name, delay in table.delays.items()
                ),
                "sources": sorted(table.source_versions.items()),
            },
            sort_keys=True,
        ).encode()
    )
    return digest.hexdigest()[:16]


def _node(node: Node) -> list[Any]:
    definition = node.definition
    found: list[Any] = [node.id, definition.kind]
    if definition.initial is not None:
        found.append(["initial", definition.initial])
    if definition.targets is not None or definition.deep:
        found.append(["targets", definition.targets, definition.deep])
    for slot, transitions in (
        ("on", definition.on),
        ("always", definition.always),
        ("done", definition.on_done),
        ("error", definition.on_error),
        ("timeout", definition.on_timeout),
    ):
        if transitions:
            found.append([slot, _transitions(transitions)])
    found.extend(["after", item.delay, _transitions(item.transitions)] for item in definition.after)
    if definition.timeout is not None:
        found.append(["timeout", definition.timeout])
    found.extend(
        ["invoke", item.src, item.id, item.timeout, _transitions(item.on_done), _transitions(item.on_error)]
        for item in definition.invoke
    )
    if definition.output is not UNSET:
        found.append("output")
    if definition.context is not None:
        found.append(["context", definition.context.__name__])
    return found


def _transitions(transitions: Iterable[Transition]) -> list[Any]:
    return [
        [item.event, item.targets, item.reenter, item.handler is not None, item.guard is not None]
        for item in transitions
    ]
