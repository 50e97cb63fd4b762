"""Running machines: the one driver, ``run_agent``, its results and its clock. See ``driver.py`` first."""

from interlock.run.agent_run import run_agent, run_agent_sync
from interlock.run.clock import Clock, SystemClock
from interlock.run.driver import Driver, Timers
from interlock.run.observers import Committed
from interlock.run.resolve import resolve_decision
from interlock.run.results import Cause, Done, Failed, Idle, Result
from interlock.run.usage import RunUsage

__all__ = [
    "Cause",
    "Clock",
    "Committed",
    "Done",
    "Driver",
    "Failed",
    "Idle",
    "Result",
    "RunUsage",
    "SystemClock",
    "Timers",
    "resolve_decision",
    "run_agent",
    "run_agent_sync",
]
