"""Errors of runs: how they are called, and what executors answer."""

from __future__ import annotations

from interlock.errors.base import InterlockError

__all__ = ["AbortedError", "BindError", "ExecutorError", "ModelCallLimitError", "ScriptExhaustedError"]


class BindError(InterlockError):
    """A run that cannot start as it was called; nothing has run.

    ``code`` is one of: ``missing-executor``, ``unregistered-source``, ``invalid-argument``, ``run-inside-executor``,
    ``not-open``, ``not-settled``, ``thread-exists``,
    ``nothing-to-resolve``, ``whole-loop-executor``.
    """

    code = "invalid-argument"


class AbortedError(InterlockError):
    """A run that its host has ended. It is never raised: it stands in the ``Failed`` that such a run settles as."""

    code = "aborted"


class ExecutorError(InterlockError):
    """An executor answered something else than its contract says. It goes to the invocation that asked."""

    code = "invalid-executor-result"


class ModelCallLimitError(InterlockError):
    """A model call over the run's limit. It was not made; the error goes to the invocation that wanted it."""

    code = "max-model-calls"

    def __init__(self, message: str, *, limit: int) -> None:
        super().__init__(message)
        self.limit = limit


class ScriptExhaustedError(InterlockError):
    """A scripted executor was asked more often than its script goes; ``request_id`` names the request too many."""

    code = "script-exhausted"

    def __init__(self, message: str, *, request_id: str) -> None:
        super().__init__(message)
        self.request_id = request_id
