"""The bound on one step: how many microsteps the whole tree of machines may take to come to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.errors import EndlessLoopError

if TYPE_CHECKING:
    from interlock.statechart.working import Working

__all__ = ["MAX_MICROSTEPS", "Budget"]

MAX_MICROSTEPS = 1000
"""Microsteps in one step of the whole tree; more is taken for an endless loop (XState's number)."""

_REMEMBERED = 64


class Budget:
    """Counts the microsteps of one step over the whole tree, and remembers the last ones to name a cycle."""

    __slots__ = ("count", "limit", "recent", "started")

    def __init__(self, limit: int = MAX_MICROSTEPS) -> None:
        self.count = 0
        self.limit = limit
        self.recent: list[str] = []
        self.started = 0
        """Machines that were started."""

    def spend(self, working: Working, event: Any) -> None:
        """Count one microstep; raises :class:`EndlessLoopError` when there were too many."""
        self.count += 1
        if self.count > self.limit - _REMEMBERED:
            where = ", ".join([leaf.path or working.machine.id for leaf in working.configuration.leaves])
            if working.address:
                where = f"{working.machine.id}: {where}"
            self.recent.append(where)
            del self.recent[:-_REMEMBERED]
            if self.count > self.limit:
                cycle = _cycle(self.recent)
                why = (
                    f"it goes round {' -> '.join([*cycle, cycle[0]])}. Give one of these transitions a guard that "
                    "turns false"
                )
                if self.started > self.limit // 2:
                    why = f"it has started {self.started} machines, each at least one of them. Start fewer in one step"
                raise EndlessLoopError(
                    f"the machine did not come to rest within {self.limit} microsteps; {why}",
                    machine=working.machine.id,
                    event=event.type,
                    cycle=cycle,
                )


def _cycle(recent: list[str]) -> list[str]:
    for length in range(1, len(recent) // 2 + 1):
        if recent[-length:] == recent[-2 * length : -length]:
            return recent[-length:]
    return recent[-8:]
