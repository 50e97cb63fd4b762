"""One machine coming to rest: eventless transitions until there are none, then the next raised event, and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.statechart.microstep import enter_root, microstep
from interlock.statechart.selection import select, select_eventless
from interlock.statechart.snapshot import FRESH, Draft
from interlock.statechart.working import Trace, Working

if TYPE_CHECKING:
    from interlock.statechart.budget import Budget
    from interlock.statechart.effects import Effect
    from interlock.statechart.machine import Machine
    from interlock.statechart.selection import Choice

__all__ = ["begin", "macrostep", "run"]


def begin(
    machine: Machine[Any, Any, Any],
    given: Any,
    at: float | None,
    effects: list[Effect],
    budget: Budget,
    address: tuple[str, ...] = (),
    trace: Trace | None = None,
) -> Working:
    """Start a machine with an input and let it come to rest."""
    context, event = machine.first_context(given)
    working = Working(machine, Draft(machine.table.blank, context, FRESH), at, effects, budget, address, trace)
    enter_root(working, event)
    run(working, event)
    return working


def macrostep(working: Working, event: Any, chosen: list[Choice]) -> None:
    """Carry out what an event has selected, and let the machine come to rest."""
    if chosen:
        microstep(working, chosen, event)
    if working.queue or working.configuration.eventless:
        run(working, event)


def run(working: Working, event: Any) -> None:
    """Let the machine come to rest. Eventless transitions see the last event."""
    eventless = True
    while working.status == "active":
        if eventless and working.configuration.eventless:
            chosen = select_eventless(working, event)
            if chosen:
                before = _seen_by_guards(working)
                working.timers_owned = False
                microstep(working, chosen, event)
                # Nothing but effects: asking again would give the same answer for ever. (A state that is left and
                # entered again counts as unchanged too, as in XState, unless that was recorded as history.)
                after = _seen_by_guards(working)
                eventless = any(now is not then for now, then in zip(after, before, strict=True))
                continue
        if not working.queue:
            return
        event = working.queue.pop(0)
        eventless = True
        chosen = select(working, event)
        if chosen:
            microstep(working, chosen, event)
        else:
            working.budget.spend(working, event)


def _seen_by_guards(working: Working) -> tuple[Any, ...]:
    """Return what the answer of an eventless transition can depend on; each is replaced when it changes."""
    return (
        working.configuration,
        working.context,
        working.children,
        working.timers,
        working.inputs,
        working.history,
    )
