"""What a run has come to, read off its driver once that has come to rest."""

from __future__ import annotations

from typing import Any

from interlock.errors import AbortedError, ErrorInfo
from interlock.run.border import error_info
from interlock.run.driver import Driver
from interlock.run.results import Cause, Done, Failed, Idle
from interlock.run.usage import RunUsage
from interlock.statechart import Snapshot

__all__ = ["settle"]


def settle(driver: Driver[Any], usage: RunUsage) -> Any:  # noqa: ANN401  # run_agent says of which machine's types
    """Return the result of a run."""
    snapshot, ignored = driver.snapshot, driver.ignored
    failure = driver.failure
    if failure is not None:
        error = error_info(failure)
        return Failed(cause="machine", error=error, snapshot=snapshot, exception=failure, usage=usage, ignored=ignored)
    assert snapshot is not None  # noqa: S101  # a machine that could not start has failed
    if snapshot.status == "done":
        return Done(output=snapshot.output, snapshot=snapshot, usage=usage, ignored=ignored)
    if snapshot.status == "active" and driver.aborted is not None:
        aborted = _aborted(snapshot, driver.aborted)
        return Failed(
            cause="aborted",
            error=error_info(aborted),
            snapshot=snapshot,
            exception=aborted,
            usage=usage,
            ignored=ignored,
        )
    if snapshot.status == "active":
        return Idle(snapshot=snapshot, timers=driver.pending, usage=usage, ignored=ignored)
    error = _as_info(snapshot.machine_id, snapshot.error)
    failed = driver.failed_work(error)
    return Failed(
        cause=_cause(error),
        error=error,
        snapshot=snapshot,
        exception=None if failed is None else failed.exception,
        origin=None if failed is None else failed.origin,
        usage=usage,
        ignored=ignored,
    )


def _aborted(snapshot: Snapshot[Any], reason: str) -> AbortedError:
    states = ", ".join(snapshot.states)
    return AbortedError(
        f"machine {snapshot.machine_id!r} was aborted in {states}: {reason}; a run from result.snapshot does over "
        "again what was cut off"
    )


def _as_info(machine: str, error: object) -> ErrorInfo:
    if isinstance(error, ErrorInfo):
        return error
    return ErrorInfo("machine-error", "MachineError", f"machine {machine!r} has failed with {error!r}", data=error)


def _cause(error: ErrorInfo) -> Cause:
    codes: set[str] = set()
    found: ErrorInfo | None = error
    while found is not None:
        codes.add(found.code)
        found = found.cause
    if "max-model-calls" in codes:
        return "max-model-calls"
    return "decision-exhausted" if "decision-exhausted" in codes else "machine"
