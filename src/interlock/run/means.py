"""What the workers of one run have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from interlock.agent.contract import Executors
from interlock.agent.user_input import UserInputRequest
from interlock.run.functions import Threads
from interlock.run.observers import Observers
from interlock.run.usage import Budget
from interlock.run.work import Work

__all__ = ["Means", "Wanted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """With what the work of a run is carried out: by whom, in how many calls and threads, and who looks on."""

    executors: Executors
    budget: Budget
    threads: Threads
    observers: Observers
    user_input: Callable[[UserInputRequest], object] | None = None
    """Asks a person; None where nobody does."""
    record_raw: bool = False
    """Whether the log keeps the providers' own answers."""
    one_at_a_time: bool = False
    """Whether a decision is only asked while no other is."""

    @property
    def execution_id(self) -> str:
        """Names this execution over its whole life."""
        return self.observers.run_id


class Wanted:
    """Whether a call is still wanted, as far as an executor may know."""

    __slots__ = ("_work",)

    def __init__(self, work: Work) -> None:
        self._work = work

    @property
    def cancel_called(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self._work.over
