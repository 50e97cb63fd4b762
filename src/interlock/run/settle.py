"""What a run has come to, read off its driver once that has come to rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from interlock.errors import AbortedError, ErrorInfo, JournalError, NotJsonError, StepError
from interlock.run.border import error_info
from interlock.run.driver import Driver
from interlock.run.replies import pending_inputs
from interlock.run.results import Cause, Done, Failed, Idle
from interlock.run.usage import RunUsage
from interlock.statechart import Snapshot

__all__ = ["cause_of", "machine_error", "settle"]


def settle(driver: Driver[Any], usage: RunUsage, late: Callable[[], Awaitable[RunUsage]]) -> Any:  # noqa: ANN401  # run_agent says of which machine's types
    """Return the result of a run; ``late`` waits for what it has left behind."""
    snapshot, failure = driver.snapshot, driver.failure
    told: dict[str, Any] = {
        "snapshot": snapshot,
        "usage": usage,
        "ignored": driver.ignored,
        "duplicate": driver.duplicate,
        "entries": tuple(driver.log.entries),
        "late": late,
    }
    if failure is not None:
        cause: Cause = "journal" if isinstance(failure, JournalError | NotJsonError) else "machine"
        return Failed(cause=cause, error=error_info(failure), exception=failure, **told)
    assert snapshot is not None  # noqa: S101  # a machine that could not start has failed
    if snapshot.status == "done":
        return Done(output=snapshot.output, **told)
    if snapshot.status == "active" and driver.aborted is not None:
        aborted = _aborted(snapshot, driver.aborted)
        return Failed(cause="aborted", error=error_info(aborted), exception=aborted, **told)
    if snapshot.status == "active":
        try:
            questions = pending_inputs(snapshot)
        except StepError as raised:  # the words of a question are the machine's as well
            return Failed(cause="machine", error=error_info(raised), exception=raised, **told)
        return Idle(timers=driver.pending, pending_inputs=questions, **told)
    error = machine_error(snapshot.machine_id, snapshot.error)
    failed = driver.failed_work(error)
    return Failed(
        cause=cause_of(error),
        error=error,
        exception=None if failed is None else failed.exception,
        origin=None if failed is None else failed.origin,
        **told,
    )


def _aborted(snapshot: Snapshot[Any], reason: str) -> AbortedError:
    states = ", ".join(snapshot.states)
    return AbortedError(
        f"machine {snapshot.machine_id!r} was aborted in {states}: {reason}; a run from result.snapshot does over "
        "again what was cut off"
    )


def machine_error(machine: str, error: object) -> ErrorInfo:
    """Return what a machine has failed with as data, also where its author gave something that is no exception."""
    if isinstance(error, ErrorInfo):
        return error
    return ErrorInfo("machine-error", "MachineError", f"machine {machine!r} has failed with {error!r}", data=error)


def cause_of(error: ErrorInfo) -> Cause:
    """Return in one word why a run that ended with this error has failed."""
    codes: set[str] = set()
    found: ErrorInfo | None = error
    while found is not None:
        codes.add(found.code)
        found = found.cause
    if "max-model-calls" in codes:
        return "max-model-calls"
    return "decision-exhausted" if "decision-exhausted" in codes else "machine"
