"""Why a value was refused, in one line: what an error message says of somebody else's validator."""

from __future__ import annotations

from pydantic import ValidationError

__all__ = ["reason_of"]

_SHOWN = 3


def reason_of(error: Exception) -> str:
    """Return what an exception says, in one line; a validation error as place, reason and what was given."""
    if not isinstance(error, ValidationError):
        return f"{type(error).__name__}: {error}"
    shown: list[str] = []
    found = error.errors(include_url=False, include_context=False)
    for item in found[:_SHOWN]:
        where = ".".join(str(part) for part in item["loc"])
        shown.append(f"{where + ': ' if where else ''}{item['msg']} (given: {_short(item['input'])})")
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return "; ".join(shown) + more


def _short(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # a broken repr must not hide the error that is being reported
        return "an object"
    return text if len(text) <= 80 else text[:77] + "..."
