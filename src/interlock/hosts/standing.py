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
    ``run_agent`` would have written it. ``ignored`` are the events, as JSON, that nothing was waiting for when they
    were taken, and the replies, with their ``request_id``, to what nobody was asked any more.
    """

    snapshot: Snapshot[C_co] | None
    entries: tuple[LogEntry, ...]
    ignored: tuple[object, ...] = ()

    @property
    def pending_inputs(self) -> tuple[UserInputRequest, ...]:
        """What people are asked, in order; raises :class:`StepError` where the function that words it fails."""
        return () if self.snapshot is None else pending_inputs(self.snapshot)
