"""Entries of a log as people read them: one a line."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, cast

from interlock.cli.words import json_line, said_in
from interlock.journal import LogEntry
from interlock.run.usage import RunUsage, get_usage
from interlock.statechart import UNSET

__all__ = ["cost", "entry_line", "when"]

_LONGEST = 120


def when(at: float | None) -> str:
    """Return a time in Unix seconds as a date, in UTC; nothing where there is none."""
    if at is None:
        return ""
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(sep=" ", timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return str(at)  # a clock of somebody's own


def cost(entries: Iterable[LogEntry]) -> str:
    """Return what calls of models have cost, as far as entries say."""
    spent: RunUsage = get_usage(entries)
    parts = [_number(spent.model_calls, "model call")] if spent.model_calls else []
    if spent.input_tokens is not None:
        parts.append(f"{_number(spent.input_tokens, 'token')} in")
    if spent.output_tokens is not None:
        parts.append(f"{_number(spent.output_tokens, 'token')} out")
    return ", ".join(parts)


def entry_line(entry: LogEntry, *, changed: bool = False) -> str:
    """Return an entry on one line; with ``changed``, how the run stands afterwards as well."""
    parts = [f"{entry.index:>5}", when(entry.recorded_at) or "-", entry.type]
    if entry.by not in {None, "host"}:
        parts.append(f"by {entry.by}")
    if entry.to:
        parts.append(f"to {'/'.join(entry.to)}")
    if said := _said(entry):
        parts.append(said)
    if spent := cost([entry]):
        parts.append(f"[{spent}]")
    if changed:
        parts.append(f"-> {entry.status}")
    return "  ".join(parts)


def _said(entry: LogEntry) -> str:
    if entry.error is not UNSET:
        error = cast("dict[str, Any]", entry.error)
        info = error.get("info")
        return json_line(f"{info.get('code')}: {info.get('message')}" if info else error.get("value"), _LONGEST)
    if entry.is_init and entry.event is not None:
        if "snapshot" in entry.event:
            return "from a snapshot"
        return "" if "input" not in entry.event else json_line(entry.event["input"], _LONGEST)
    if entry.event is not None:
        return json_line(said_in(entry.event), _LONGEST)
    for value in (entry.output, entry.record):
        if value is not UNSET:
            return json_line(value, _LONGEST)
    return ""


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
