"""What goes wrong between us and a provider, as typed errors; no message of them holds a key."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import cast

from interlock.adapters.lowering.arguments import readable
from interlock.errors import ProviderError

__all__ = ["broken_off", "no_answer", "provider_error"]

_CONNECTION = frozenset({"APIConnectionError", "RequestError"})
"""Of the SDK, and of what it sends with."""

_LATER = frozenset({408, 409, 429})
"""Statuses below 500 that say "not now"."""


def provider_error(place: str, error: Exception, *, key: str) -> ProviderError:
    """Return what an SDK raised as the library's own error.

    Arguments:
        place: which request this is.
        error: an exception of the SDK or of what it stands on; known by its attributes, so that no SDK is imported.
        key: what must not be shown.
    """
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) else None
    headers = _headers(getattr(error, "response", None))
    sent = _headers(_request(error))
    tries = 1 + _number(sent.get("x-stainless-retry-count"))
    wait = _retry_after(headers)
    identity = getattr(error, "request_id", None) or headers.get("x-request-id")
    code = getattr(error, "code", None)
    what, malformed = f"the provider answered {status}{f' ({code})' if code else ''}: {_message(error)}", False
    if status is None:
        what, malformed = _without_status(error)
    notes = [
        f"it asks to wait {wait:g} s" if wait is not None else "",
        f"its request id is {identity}" if identity else "",
        f"sent {tries} times" if tries > 1 else "",
    ]
    # Hidden before it is cut: half a key is a clue.
    shown = "; ".join([_hidden(readable(what), key)[:1_000].rstrip("."), *(note for note in notes if note)])
    return ProviderError(
        f"{place}: {shown}",
        code="incomplete-answer" if malformed else None,
        status=status,
        retry_after=wait,
        provider_request_id=None if identity is None else str(identity),
        tries=tries,
        # A spent quota has the status of a full queue, and waiting does not fill it.
        retryable=code != "insufficient_quota" and (status is None or status in _LATER or status >= 500),
    )


def reported(place: str, error: object, *, key: str) -> ProviderError:
    """Return the error for what a provider says in the middle of a stream that it had begun in good order."""
    said = cast("Mapping[str, object]", error).get("message") if isinstance(error, Mapping) else error
    what = f"the provider broke the stream off with an error: {_hidden(readable(str(said)), key)[:500]}"
    return ProviderError(f"{place}: {what}", code="incomplete-answer", retryable=True)


def broken_off(place: str, so_far: object, *, key: str = "") -> ProviderError:
    """Return the error for a stream that ended before the provider said why: nothing of it may be acted on."""
    what = f"the stream ended without a finish reason, so the answer is not whole; so far: {_shown(so_far, key)}"
    return ProviderError(f"{place}: {what}", code="incomplete-answer", retryable=True)


def no_answer(place: str, raw: Mapping[str, object], *, key: str = "") -> ProviderError:
    """Return the error for an answer without a message in it."""
    what = f"the endpoint sent no chat completion but {_shown(dict(raw), key)}; is the base_url right, up to its /v1?"
    return ProviderError(f"{place}: {what}", code="incomplete-answer")


def _shown(value: object, key: str) -> str:
    text = _hidden(repr(value), key)
    return text if len(text) <= 300 else f"{text[:297]}..."


def _hidden(text: str, key: str) -> str:
    return text.replace(key, "***") if key else text


def _without_status(error: Exception) -> tuple[str, bool]:
    """Return what happened, and whether it is that the answer could not be read."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if not kinds.isdisjoint(_CONNECTION):
        causes = [str(cause) or type(cause).__name__ for cause in _chain(error)]
        return f"the provider cannot be reached, or broke off: {', '.join(dict.fromkeys(causes))}", False
    if isinstance(error, ValueError):
        return f"the provider sent what cannot be read ({type(error).__name__}: {error})", True
    return f"the call failed ({type(error).__name__}: {error})", False


def _message(error: Exception) -> str:
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        said = cast("Mapping[str, object]", body).get("message")
        if isinstance(said, str) and said:
            return said
    return str(getattr(error, "message", None) or error)


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and len(found) < 4:
        found.append(at)
        at = at.__cause__
    return found


def _request(error: Exception) -> object:
    try:
        return getattr(error, "request", None)
    except RuntimeError:  # there is none yet
        return None


def _headers(carrier: object) -> Mapping[str, str]:
    headers: object = getattr(carrier, "headers", None)
    return cast("Mapping[str, str]", headers) if isinstance(headers, Mapping) else {}


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds the provider asks to wait; it may say so in milliseconds, seconds, or as a date."""
    for name, unit in (("retry-after-ms", 1_000), ("retry-after", 1)):
        try:
            return max(0.0, float(headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    except (KeyError, ValueError, TypeError):
        return None
