"""Where a run stands, for all who show it: the snapshot of now, the way to it, and the moves on offer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import interlock as il
from interlock.agent.reading import AnyMachine, classes_of
from interlock.cli.saves import LONGEST_PATH, Step
from interlock.cli.screen import Row
from interlock.cli.words import first_line, state_of
from interlock.statechart import Snapshot

__all__ = ["Board", "Obstacle"]

Obstacle: TypeAlias = Callable[[Snapshot[Any], str], str | None]
"""Says why an event is not legal now, where the machine's author can say more than that a guard refuses it."""


class Board:
    """What is known of a run by those who look on and those who play in it."""

    def __init__(self, machine: AnyMachine, obstacle: Obstacle | None = None) -> None:
        self.machine = machine
        self.snapshot: Snapshot[Any] | None = None
        self.path: list[Step] = []
        self.leave: Callable[[], None] = lambda: None
        """Gives up the run; called where whoever plays in it wants to stop."""
        self._obstacle = obstacle

    @property
    def state(self) -> str:
        """The active states, as people read them."""
        return "" if self.snapshot is None else state_of(self.snapshot.value) or self.machine.id

    def step(self, via: str | None) -> None:
        """Take note of where the machine stands, if an event led there or it is somewhere else than before."""
        if via is not None or not self.path or self.path[-1].state != self.state:
            self.path.append(Step(via=via, state=self.state))
            del self.path[:-LONGEST_PATH]

    def rows(self, request: il.DecisionRequest) -> list[Row]:
        """Return what a decision may pick, and what it could pick if the machine stood otherwise."""
        offered = {event.type: event.description for event in request.events}
        order = [kind for kind in classes_of(self.machine) if kind in offered or kind in request.withheld]
        order += [kind for kind in (*offered, *request.withheld) if kind not in order]
        return [
            Row(
                event=kind,
                about=first_line(offered.get(kind)),
                obstacle=self.obstacle(kind) or (None if kind in offered else "a guard does not let it through now"),
            )
            for kind in order
        ]

    def obstacle(self, event: str) -> str | None:
        """Return what the machine's author says stands against an event; None where that is nothing, or not known."""
        return None if self._obstacle is None or self.snapshot is None else self._obstacle(self.snapshot, event)
