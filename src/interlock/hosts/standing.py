"""How an execution stands, read off what its engine has recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from interlock.agent.user_input import UserInputRequest
from interlock.journal import LogEntry
from interlock.run.replies import pending_inputs
from interlock.statechart import Snapshot

__all__ = ["Standing"]

C_co = TypeVar("C_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing(Generic[C_co]):
    """How far an execution has come.

    ``snapshot`` is where the machine stands (None before its first step), ``entries`` the log that led there, as
    ``run_agent`` would have written it. ``ignored`` is what was taken from the mail and changed nothing, in order, as
    frozen JSON: events that nothing was waiting for (``{"type": ...}`` with their fields), replies to what was not
    asked any more (``{"reply": ..., "request_id": ..., "id": ...}``), and mail that is neither, which no host has sent.
    What came twice under one id is not listed, nor is what comes after the end, for nobody takes it.
    """

    snapshot: Snapshot[C_co] | None
    entries: tuple[LogEntry, ...]
    ignored: tuple[object, ...] = ()

    @property
    def pending_inputs(self) -> tuple[UserInputRequest, ...]:
        """What people are asked, in order; raises :class:`StepError` where the function that words it fails."""
        return () if self.snapshot is None else pending_inputs(self.snapshot)
