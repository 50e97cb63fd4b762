"""How an execution stands, read off what its engine has recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from interlock.journal import LogEntry
from interlock.statechart import Snapshot

__all__ = ["Standing"]

C_co = TypeVar("C_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing(Generic[C_co]):
    """How far an execution has come.

    ``snapshot`` is where the machine stands (None before its first step), ``entries`` the log that led there, as
    ``run_agent`` would have written it. ``ignored`` are the events, as JSON, that nothing was waiting for when they
    were taken.
    """

    snapshot: Snapshot[C_co] | None
    entries: tuple[LogEntry, ...]
    ignored: tuple[object, ...] = ()
