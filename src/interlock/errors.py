"""Every public exception of the library.

The tree, and who should catch what::

    InterlockError                     anything that this library raises on purpose
    |- DefinitionError                 a machine that cannot be built: mend the definition
    |- StepError                       a step that could not be computed; the snapshot passed in is unchanged
    |  |- HandlerError                 the author's function raised
    |  |- InvalidMoveError             the author's function returned something that the machine refuses
    |  |- EndlessLoopError             eventless transitions or raised events that never come to rest
    |  `- MissingTimeError             the step schedules a timer and nobody said what time it is
    |- InputError                      what was sent is not an event, or goes to nobody
    |- SnapshotError                   saved data that this machine cannot go on from
    |- NotJsonError                    a value that JSON would drop or change
    |- DecisionExhaustedError          a model that chose nothing legal in all its tries: handle it with on_error
    |- NoLegalEventsError              a decision with nothing to pick, so no model was asked
    |- CallResultError                 a called function returned something else than it is annotated with
    |- InvalidMessagesError            data that is no list of messages: what is wrong, with its place
    |- TextError                       a model's answer to a text request that cannot be used
    |  |- TruncatedError               it was cut off at the token limit
    |  |- RefusedError                 the model, or a filter, will not answer
    |  |- InvalidOutputError           it does not fit what was asked for
    |  `- StepLimitError               the model still calls tools on its last turn
    |- BindError                       a run that cannot start: mend what it was given
    |- ExecutorError                   an executor that answered something else than its contract says
    |- ModelCallLimitError             a model call over the run's limit, which was not made
    |- MissingExtraError               an optional package that is not there: install the extra
    |- ProviderError                   a model's provider that refused, failed or broke off: try again, or elsewhere
    |- UnsupportedRequestError         a request that the model's provider has no form for; it was not sent
    |- WeightsError                    the weights of a local model, which are not there and cannot be fetched
    |- UncertainChoiceError            a chooser that will not guess: give the machine a way out
    `- ScriptExhaustedError            a scripted executor that was asked more often than its script goes

Each class (or, where a class has several, each instance) carries a stable kebab-case ``code``: branch on
that, never on the message. A message names the machine, the state and the event, shows what was given and
says what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol

__all__ = [
    "BindError",
    "CallResultError",
    "DecisionExhaustedError",
    "DefinitionError",
    "EndlessLoopError",
    "ErrorInfo",
    "ExecutorError",
    "HandlerError",
    "InputError",
    "InterlockError",
    "InvalidMessagesError",
    "InvalidMoveError",
    "InvalidOutputError",
    "MissingExtraError",
    "MissingTimeError",
    "ModelCallLimitError",
    "NoLegalEventsError",
    "NotJsonError",
    "ProviderError",
    "RefusedError",
    "ScriptExhaustedError",
    "SnapshotError",
    "StepError",
    "StepLimitError",
    "TextError",
    "TruncatedError",
    "UncertainChoiceError",
    "UnsupportedRequestError",
    "WeightsError",
    "did_you_mean",
]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint that ends an error message: the near misses of ``name``, or what there is to choose from."""
    options = sorted(set(known))
    close = get_close_matches(name, options, n=3, cutoff=0.6)
    if close:
        return "Did you mean " + " or ".join(repr(option) for option in close) + "?"
    if not options:
        return "None is declared."
    shown = ", ".join(options[:12]) + (", ..." if len(options) > 12 else "")
    return f"Known: {shown}."


class InterlockError(Exception):
    """Base of everything that this library raises on purpose; ``code`` is stable across versions."""

    code: str = "interlock-error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """A failure as data: what an ``on_error`` handler sees, and what is saved.

    ``code`` is stable; ``type`` names the exception class; ``data`` holds JSON; ``cause`` is what led to it.
    """

    code: str
    type: str
    message: str
    data: Any = None
    cause: ErrorInfo | None = None

    @classmethod
    def of(cls, error: BaseException, *, data: object = None, depth: int = 8) -> ErrorInfo:
        """Return an exception as data, with its chain of causes."""
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return cls(
            code=error.code if isinstance(error, InterlockError) else "raised",
            type=type(error).__name__,
            message=str(error),
            data=data,
            cause=cls.of(cause, depth=depth - 1) if cause is not None and depth > 0 else None,
        )

    def to_json(self) -> dict[str, Any]:
        """Return this as JSON data."""
        return {
            "code": self.code,
            "type": self.type,
            "message": self.message,
            "data": self.data,
            "cause": None if self.cause is None else self.cause.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ErrorInfo:
        """Return what :meth:`to_json` wrote; raises KeyError, TypeError or ValueError where it did not."""
        cause = data["cause"]
        if not all(isinstance(data[name], str) for name in ("code", "type", "message")):
            raise ValueError("code, type and message must be texts")
        return cls(
            data["code"], data["type"], data["message"], data["data"], None if cause is None else cls.from_json(cause)
        )


class DefinitionError(InterlockError):
    """A machine that cannot be built. Raised by the author's own code at import time, never during a run.

    ``code`` is one of: ``unknown-target``, ``unknown-source``, ``unknown-delay``, ``unknown-event``,
    ``invalid-target``, ``invalid-delay``, ``invalid-descriptor``, ``invalid-key``, ``invalid-state``,
    ``invalid-transition``, ``invalid-handler``, ``unknown-field``, ``unknown-keyword``, ``invalid-type``,
    ``invalid-child``, ``invalid-model``, ``unknown-model``, ``duplicate-id``, ``missing-initial``,
    ``unreachable-transition``, ``reserved-event``, ``reserved-name``, ``mutable-context``, ``invalid-context``,
    ``invalid-event-class``, ``duplicate-event``, ``decide-allows-human-event``, ``invalid-decision``, ``invalid-call``,
    ``invalid-request``, ``invalid-tool``, ``unknown-tool``.
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
    ``invalid-output``, ``invalid-context`` (not as narrow as a state takes it).
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

    ``code`` is one of: ``invalid-event``, ``reserved-event``, ``unknown-address``, ``invalid-input``,
    ``invalid-output`` (of a state, for its ``on_done``).
    """

    code = "invalid-input"


class SnapshotError(InterlockError):
    """Saved data that this machine cannot go on from; the stored data is untouched.

    ``code`` is one of: ``invalid-snapshot``, ``machine-mismatch``, ``version-mismatch``, ``unsupported-format``.
    """

    code = "invalid-snapshot"


class NotJsonError(InterlockError):
    """A value that JSON would drop or change; ``path`` says where it sits."""

    code = "not-json"

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(f"{path or 'value'}: {message}")
        self.path = path


class BindError(InterlockError):
    """A run that cannot start as it was called; nothing has run.

    ``code`` is one of: ``missing-executor``, ``unregistered-source``, ``invalid-argument``, ``run-inside-executor``.
    """

    code = "invalid-argument"


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


class MissingExtraError(InterlockError):
    """An optional package that is not installed (``missing-extra``) or cannot run here (``unsupported-platform``).

    Raised when the part that needs it is made, never later. ``package`` is what is missing, ``extra`` the name under
    which this library lists it; the message holds the command that installs it, or says what to use instead.
    """

    code = "missing-extra"

    def __init__(self, message: str, *, package: str, extra: str, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.package = package
        self.extra = extra


class ProviderError(InterlockError):
    """The provider of a model refused a call, failed, or could not be reached. It goes to the invocation that asked.

    ``code`` is ``provider-error``, or ``incomplete-answer`` where an answer broke off before its end or is none.
    ``status`` is the HTTP status, None where no answer came; ``retry_after`` is the provider's advice in seconds;
    ``provider_request_id`` is what its support asks for; ``tries`` counts what was sent, the client's own retries
    included. ``retryable`` says whether the same call may well succeed later. No message of it holds a key.
    """

    code = "provider-error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        status: int | None = None,
        retry_after: float | None = None,
        provider_request_id: str | None = None,
        tries: int = 1,
        retryable: bool = False,
    ) -> None:
        super().__init__(message, code=code)
        self.status = status
        self.retry_after = retry_after
        self.provider_request_id = provider_request_id
        self.tries = tries
        self.retryable = retryable


class UnsupportedRequestError(InterlockError):
    """A request that the model's provider has no form for, found out before anything was sent.

    ``code`` is one of: ``unsupported-request``, ``too-many-tools``, ``no-model``, ``invalid-transcript``,
    ``invalid-setting``.
    """

    code = "unsupported-request"


class WeightsError(InterlockError):
    """The weights of a local model are not there and cannot be had; the message says how to bring them by hand.

    ``code`` is ``weights-unavailable``, or ``weights-damaged`` where what came is something else than it should be.
    Nothing half fetched is ever kept or loaded.
    """

    code = "weights-unavailable"


class UncertainChoiceError(InterlockError):
    """A chooser that found no event it can stand for; it goes to the decision that asked, as any executor's error.

    ``code`` is ``uncertain-choice`` (nothing near enough, or two too near each other) or ``nothing-to-choose`` (every
    offered event has fields that a chooser cannot write). ``weights`` says how near each offered event was.
    """

    code = "uncertain-choice"

    def __init__(self, message: str, *, weights: Mapping[str, float], code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.weights = dict(weights)


class RefusedChoice(Protocol):
    """What is known of a choice that was refused."""

    @property
    def failure(self) -> str:
        """Which check refused it."""
        ...

    @property
    def reason(self) -> str:
        """Why."""
        ...


class DecisionExhaustedError(InterlockError):
    """A model chose nothing legal in all its tries. It goes to the decision's ``on_error``, else the run fails with it.

    ``attempts`` are the refused choices, oldest first.
    """

    code = "decision-exhausted"

    def __init__(self, request_id: str, attempts: Sequence[RefusedChoice]) -> None:
        listed = "; ".join(f"{number}. {item.failure}: {item.reason}" for number, item in enumerate(attempts, 1))
        count = f"{len(attempts)} attempt{'' if len(attempts) == 1 else 's'}"
        super().__init__(f"decision {request_id!r}: no legal choice in {count}. {listed}")
        self.request_id = request_id
        self.attempts = tuple(attempts)


class NoLegalEventsError(InterlockError):
    """A decision for which there is nothing to pick now; no model was asked.

    ``accepted`` are the event types and patterns that the active states handle, legal or not, for models or not.
    """

    code = "no-legal-events"

    def __init__(self, message: str, *, machine: str, state: str, accepted: Sequence[str]) -> None:
        super().__init__(f"machine {machine!r}, state {state!r}: {message}")
        self.machine = machine
        self.state = state
        self.accepted = tuple(accepted)


class CallResultError(InterlockError):
    """A called function returned something else than it is annotated with. It goes to the invocation's ``on_error``."""

    code = "invalid-call-result"


class InvalidMessagesError(InterlockError):
    """Data that is no list of messages. ``problems`` are pairs of a path (``[1].content[0].toolName``) and a reason."""

    code = "invalid-messages"

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        listed = "; ".join(f"{path}: {reason}" for path, reason in problems[:5])
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
        super().__init__(f"these are no messages: {listed}{more}")
        self.problems = tuple(problems)


class TextError(InterlockError):
    """A model's answer that cannot be used, mostly to a text request; one of the classes below, to ``on_error``.

    ``request`` is the request's name, ``request_id`` names the invocation; ``partial_output`` is what the model did
    say, its first 2000 characters: to be logged, never to be parsed.
    """

    code = "text-failed"

    def __init__(
        self,
        message: str,
        *,
        request: str | None,
        request_id: str | None = None,
        partial_output: str | None = None,
        kind: str = "text request",
    ) -> None:
        named = repr(request or request_id) + (f" ({request_id})" if request and request_id else "")
        super().__init__(f"{kind} {named}: {message}")
        self.request = request
        self.request_id = request_id
        self.partial_output = None if partial_output is None else partial_output[:2000]


class TruncatedError(TextError):
    """An answer cut off at the token limit before it was whole; raise ``max_output_tokens`` or ask for less."""

    code = "truncated"


class RefusedError(TextError):
    """A model that refuses to answer, or a provider's filter that holds the answer back."""

    code = "refused"


class InvalidOutputError(TextError):
    """A structured answer that is no JSON, or does not fit the type that was asked for."""

    code = "invalid-output"


class StepLimitError(TextError):
    """A model that still calls tools on its last turn; raise ``max_steps``, or say in the prompt when to answer."""

    code = "max-steps"
