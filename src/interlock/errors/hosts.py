"""Errors of durable hosts: what came of a machine, and workflows that are not what they are taken for."""

from __future__ import annotations

from interlock.errors.base import ErrorInfo, InterlockError

__all__ = ["HostError", "MachineFailedError"]


class MachineFailedError(InterlockError):
    """A machine that a durable host ran, and that has failed; ``info`` says why, as data.

    It is raised where the result is asked for. What was recorded is kept by the engine.
    """

    code = "machine-failed"

    def __init__(self, message: str, *, info: ErrorInfo) -> None:
        super().__init__(message)
        self.info = info

    @property
    def data(self) -> dict[str, object]:
        """This as JSON data, which is what an engine keeps of it."""
        return {"message": self.message, "info": self.info.to_json()}


class HostError(InterlockError):
    """A durable host that was asked about what is not there or not so; nothing was changed.

    ``code`` is one of: ``unknown-workflow``, ``workflow-exists``, ``workflow-lost``, ``not-launched``.
    """

    code = "unknown-workflow"
