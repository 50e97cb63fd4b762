"""Where a tool is called from: under which key, and with what means. A tool that wants to know asks for it.

A context variable and not a parameter: the parameters of a tool are what a model fills in, and most tools want none of
this.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field

from interlock.agent.contract import Executors
from interlock.run.clock import Clock, SystemClock
from interlock.run.functions import Threads
from interlock.run.usage import Budget

__all__ = ["SCOPE", "ToolScope", "tool_scope"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolScope:
    """The call of a tool, as the tool may see it.

    ``key`` is the same for the same call before and after a crash, and for no other: hand it on where something must
    not be done twice. ``run_id`` names the execution. The rest are the means of the run that calls; a host that takes
    the steps itself has neither budget nor threads.
    """

    key: str
    run_id: str
    executors: Executors = field(repr=False)
    budget: Budget | None = field(default=None, repr=False)
    threads: Threads | None = field(default=None, repr=False)
    clock: Clock = field(default_factory=SystemClock, repr=False)


SCOPE: ContextVar[ToolScope | None] = ContextVar("interlock_tool_scope", default=None)


def tool_scope() -> ToolScope | None:
    """Return the call that this code is carrying out as a tool, or as a part of one; None outside of any.

    To be called in the tool itself, async or plain.
    """
    return SCOPE.get()
