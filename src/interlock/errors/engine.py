"""Errors of the engine: definitions, steps, inputs, snapshots."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.errors.base import InterlockError

__all__ = [
    "DefinitionError",
    "EndlessLoopError",
    "HandlerError",
    "InputError",
    "InvalidMoveError",
    "MissingTimeError",
    "NotJsonError",
    "SnapshotError",
    "StepError",
]


class DefinitionError(InterlockError):
    """A machine that cannot be built. Raised by the author's own code at import time, never during a run.

    ``code`` is one of: ``unknown-target``, ``unknown-source``, ``unknown-delay``, ``unknown-event``,
    ``invalid-target``, ``invalid-delay``, ``invalid-descriptor``, ``invalid-key``, ``invalid-state``,
    ``invalid-transition``, ``invalid-handler``, ``unknown-field``, ``unknown-keyword``, ``invalid-type``,
    ``invalid-child``, ``invalid-model``, ``unknown-model``, ``duplicate-id``, ``missing-initial``,
    ``unreachable-transition``, ``reserved-event``, ``reserved-name``, ``mutable-context``, ``invalid-context``,
    ``invalid-event-class``, ``duplicate-event``, ``decide-allows-human-event``, ``invalid-decision``, ``invalid-call``,
    ``invalid-request``, ``invalid-tool``, ``unknown-tool``, ``invalid-interaction``.
    """

    code = "invalid-definition"

    def __init__(self, message: str, *, code: str, machine: str | None = None, state: str | None = None) -> None:
        where = f"machine {machine!r}: " if machine is not None else ""
        if state is not None:
            where += f"state {state!r}: "
        super().__init__(where + message, code=code)
        self.machine = machine
        self.state = state


class StepError(InterlockError):
    """A step that could not be computed. The snapshot that was passed in is unchanged and can be used again."""

    code = "step-error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        machine: str | None = None,
        state: str | None = None,
        event: str | None = None,
    ) -> None:
        where = ", ".join(
            f"{label} {name!r}"
            for label, name in (("machine", machine), ("state", state), ("event", event))
            if name is not None
        )
        super().__init__(f"{where}: {message}" if where else message, code=code)
        self.machine = machine
        self.state = state
        self.event = event


class HandlerError(StepError):
    """A function of the machine's author raised; the exception is the ``__cause__``, ``handler`` names the function."""

    code = "handler-raised"

    def __init__(self, error: BaseException, *, machine: str, state: str, event: str | None, handler: str) -> None:
        super().__init__(f"{handler} raised {type(error).__name__}: {error}", machine=machine, state=state, event=event)
        self.handler = handler


class InvalidMoveError(StepError):
    """A function of the machine's author returned something that the machine refuses.

    ``code`` is one of: ``invalid-handler-result``, ``undeclared-target``, ``unknown-target``, ``invalid-targets``,
    ``unknown-field``, ``invalid-field``, ``unknown-source``, ``invalid-delay``, ``invalid-event``, ``duplicate-child``,
    ``invalid-output``, ``invalid-input`` (of a child machine), ``invalid-name``, ``invalid-context`` (not as narrow as
    a state takes it).
    """

    code = "invalid-move"


class EndlessLoopError(StepError):
    """A machine that never comes to rest: ``cycle`` lists the states that it went round, in order."""

    code = "endless-loop"

    def __init__(self, message: str, *, machine: str, event: str | None, cycle: Sequence[str]) -> None:
        super().__init__(message, machine=machine, event=event)
        self.cycle = tuple(cycle)


class MissingTimeError(StepError):
    """The step schedules a timer, but was called without ``at`` (Unix seconds)."""

    code = "missing-time"


class InputError(InterlockError):
    """What was sent is no event, or is addressed to nobody.

    ``code`` is one of: ``invalid-event``, ``reserved-event``, ``invalid-input``,
    ``invalid-output`` (of a state, for its ``on_done``), ``unknown-request``, ``invalid-reply``, ``no-interaction``,
    ``choice-not-offered``, ``no-free-text``, ``event-not-accepted``.
    """

    code = "invalid-input"


class SnapshotError(InterlockError):
    """Saved data that this machine cannot go on from; the stored data is untouched.

    ``code`` is one of: ``invalid-snapshot``, ``machine-mismatch``, ``version-mismatch``, ``unsupported-format``.
    """

    code = "invalid-snapshot"


class NotJsonError(InterlockError):
    """A value that JSON would drop or change: ``path`` says where it sits, ``reason`` what is wrong with it."""

    code = "not-json"

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(f"{path or 'value'}: {message}")
        self.path = path
        self.reason = message
