"""The engine: statecharts as data, one immutable snapshot, one pure step. See ``transition.py`` first.

>>> import interlock.statechart as sc
>>> light = sc.machine(
...     "light", initial="off", states={"off": sc.state(on={"TOGGLE": "on"}), "on": sc.state(on={"TOGGLE": "off"})}
... )
>>> snapshot, effects = sc.initial_transition(light)
>>> snapshot, effects = sc.transition(light, snapshot, "TOGGLE")
>>> snapshot.value
'on'
"""

from interlock.statechart.builders import (
    after,
    always,
    choice,
    final,
    history,
    invoke,
    on,
    parallel,
    state,
    to,
)
from interlock.statechart.definition import After, Invoke, State, Transition, with_at
from interlock.statechart.effects import Cancel, Effect, Emit, Log, Schedule, Send, Spawn, Start, Stop, Terminate
from interlock.statechart.events import Event, Input, InternalEvent
from interlock.statechart.frozen import FrozenDict
from interlock.statechart.machine import Machine, machine
from interlock.statechart.matching import At
from interlock.statechart.moves import UNSET, Move, Operation, goto, stay
from interlock.statechart.owing import Child, Records, Timer
from interlock.statechart.queries import Owed, OwedInvocation, OwedTimer, Taken, owed, selected
from interlock.statechart.snapshot import Snapshot
from interlock.statechart.transition import initial_transition, microsteps, transition

__all__ = [
    "UNSET",
    "After",
    "At",
    "Cancel",
    "Child",
    "Effect",
    "Emit",
    "Event",
    "FrozenDict",
    "Input",
    "InternalEvent",
    "Invoke",
    "Log",
    "Machine",
    "Move",
    "Operation",
    "Owed",
    "OwedInvocation",
    "OwedTimer",
    "Records",
    "Schedule",
    "Send",
    "Snapshot",
    "Spawn",
    "Start",
    "State",
    "Stop",
    "Taken",
    "Terminate",
    "Timer",
    "Transition",
    "after",
    "always",
    "choice",
    "final",
    "goto",
    "history",
    "initial_transition",
    "invoke",
    "machine",
    "microsteps",
    "on",
    "owed",
    "parallel",
    "selected",
    "state",
    "stay",
    "to",
    "transition",
    "with_at",
]
