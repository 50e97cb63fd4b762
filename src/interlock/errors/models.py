"""Errors of adapters: packages, providers, weights, choosers."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.errors.base import InterlockError

__all__ = [
    "MissingExtraError",
    "ProviderError",
    "UncertainChoiceError",
    "UnknownPriceError",
    "UnsupportedRequestError",
    "WeightsError",
]


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
    included. ``retryable`` says whether the same call may well succeed later; ``usage`` is what it has cost all the
    same, if that was said. No message of it holds a key.
    """

    code = "provider-error"
    usage: object = None

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


class UnknownPriceError(InterlockError):
    """Models whose price nobody knows, in ``models``, as the requests name them. No price is guessed for them."""

    code = "unknown-price"

    def __init__(self, message: str, *, models: tuple[str, ...]) -> None:
        super().__init__(message)
        self.models = models


class UncertainChoiceError(InterlockError):
    """A chooser that found no event it can stand for; it goes to the decision that asked, as any executor's error.

    ``code`` is ``uncertain-choice`` (nothing near enough, or two too near each other) or ``nothing-to-choose`` (every
    offered event has fields that a chooser cannot write). ``weights`` says how near each offered event was.
    """

    code = "uncertain-choice"

    def __init__(self, message: str, *, weights: Mapping[str, float], code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.weights = dict(weights)
