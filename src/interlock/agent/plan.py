"""A plan as its author writes it: a model picks one legal event after the other until there is nothing more to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import Field

from interlock.agent.decide import Allowed, DecideSpec, DecisionWording, Entry, entries
from interlock.agent.events import Event
from interlock.statechart.detached import detached

__all__ = ["PLAN", "PLAN_DONE", "PlanResult", "PlanSpec", "PlanWording", "Stopped"]

PLAN = "agent.plan"
"""The source of every plan."""

PLAN_DONE = "agent.plan.done"
"""The type of the move that ends a plan; it is offered with every step, and never sent to the machine."""

Stopped: TypeAlias = Literal["done", "stop-event", "max-steps", "no-legal-events"]
"""Why a plan has ended: the model said so, sent an event of ``stop_on``, used up its steps, or nothing was legal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult:
    """What a plan has come to: the events that were sent, in order, and why it ended."""

    steps: tuple[Event, ...]
    stopped: Stopped

    @classmethod
    def decoder(cls, decode: Callable[[object], Event]) -> Callable[[object], PlanResult]:
        """Return what reads a result from JSON; ``decode`` reads one event."""

        def read(output: object) -> PlanResult:
            given = cast("Mapping[str, Any]", output)
            return cls(steps=tuple(decode(step) for step in given["steps"]), stopped=given["stopped"])

        return read


class PlanWording(DecisionWording, frozen=True, strict=True, extra="forbid"):
    """What is said to the model about each step of a plan, each field at its value."""

    max_steps: Annotated[int, Field(gt=0)] = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanSpec(DecideSpec):
    """What an author says about a plan: as about a decision, and where it ends.

    ``atomic``: the steps are tried out first, and sent together once the plan has ended, or not at all.
    """

    stop_on: Allowed = ()
    atomic: bool = False

    @property
    def word(self) -> str:
        """The word that its author used."""
        return "plan"

    @property
    def wordings(self) -> type[PlanWording]:
        """What may be said."""
        return PlanWording

    def check(self) -> None:
        """Refuse what means nothing."""
        entries(self.stop_on, "stop_on")
        if self.atomic not in (True, False):
            raise TypeError(f"atomic={self.atomic!r}; give True or False")
        object.__setattr__(self, "stop_on", detached(self.stop_on))

    @property
    def stops(self) -> tuple[Entry, ...]:
        """The events that end the plan once they are sent."""
        return entries(self.stop_on, "stop_on") or ()
