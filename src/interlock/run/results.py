"""How a run ends: with an output, waiting for somebody, or failed. Exactly one of these three, as frozen data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, Literal, NoReturn, Self, TypeAlias, TypeVar

from interlock.agent.user_input import UserInputRequest
from interlock.errors import ErrorInfo
from interlock.journal import LogEntry
from interlock.run.origin import Origin
from interlock.run.usage import RunUsage
from interlock.statechart import OwedTimer, Snapshot

__all__ = ["Cause", "Done", "Failed", "Idle", "Result"]

O_co = TypeVar("O_co", covariant=True)
C_co = TypeVar("C_co", covariant=True)

Cause: TypeAlias = Literal["aborted", "max-model-calls", "decision-exhausted", "machine", "stopped", "journal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settled:
    """What all results have in common."""

    usage: RunUsage = field(default_factory=RunUsage)
    ignored: object = None
    duplicate: bool = False
    entries: tuple[LogEntry, ...] = field(default=(), repr=False, compare=False)
    late: Callable[[], Awaitable[RunUsage]] | None = field(default=None, repr=False, compare=False)

    def __deepcopy__(self, memo: object) -> Self:
        return self  # frozen, all of it

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a result holds its machine's functions; keep result.snapshot.dump(), and entry.to_json() of its entries, "
            "instead of a pickle"
        )

    async def drain(self) -> RunUsage:
        """Wait for plain functions that the run has left to their threads, and return its usage with theirs.

        A thread cannot be stopped: where a state was left, or the run aborted, a model's answer that was paid for may
        still be on its way. To be awaited on the event loop that the run was on.
        """
        return self.usage if self.late is None else await self.late()


@dataclass(frozen=True, slots=True, kw_only=True)
class Done(_Settled, Generic[O_co, C_co]):
    """The machine has ended and put out ``output``.

    ``ignored`` is the event that was given to the run and that nothing was waiting for; None if it was taken.
    ``duplicate``: it was ignored because its ``event_id`` was in the log already.
    ``entries`` are what this run has added to the log; a thread's whole log is in its store.
    """

    output: O_co
    snapshot: Snapshot[C_co]


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle(_Settled, Generic[C_co]):
    """Nothing is left that the run could do by itself: somebody has to send an event, or time has to pass.

    Keep ``snapshot.to_json()``; ``run_agent(machine, snapshot=..., event=...)`` goes on from it in any process.
    ``snapshot.accepted_events()`` names what is waited for, ``timers`` what becomes due, earliest first (only with
    ``timers="return"``: a run that waits for its timers does not settle before them).
    ``pending_inputs`` are the questions of ``agent.user_input`` that nobody has answered.
    ``ignored`` is the event that was given to the run and that nothing was waiting for; None if it was taken.
    ``duplicate`` and ``entries`` are as for :class:`Done`.
    """

    snapshot: Snapshot[C_co]
    timers: tuple[OwedTimer, ...] = ()
    pending_inputs: tuple[UserInputRequest, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(_Settled, Generic[C_co]):
    """The run could not go on.

    ``cause`` says why in one word; ``error`` is the failure as data, and ``exception`` the exception that it was made
    from, if that was raised in this run. ``snapshot`` is the last good one: where the machine itself has failed its
    status is ``"error"``; where one of its functions raised it is the snapshot before that step, and a run of the
    repaired machine goes on from it. It is None only where the machine could not even start, or where not even the
    first entry of its log could be written.
    ``origin`` says whose failure it is, machine, state, request and attempt, where a request of this run failed.
    With the cause ``journal`` an entry could not be written, and ``snapshot`` is the last that is durable: what was
    committed after it has not happened. ``entries`` are as for :class:`Done`.
    """

    cause: Cause
    error: ErrorInfo
    snapshot: Snapshot[C_co] | None
    exception: BaseException | None = field(default=None, compare=False)
    origin: Origin | None = None


Result: TypeAlias = "Done[O_co, C_co] | Idle[C_co] | Failed[C_co]"
"""What ``run_agent`` returns; take it apart with ``match``."""
