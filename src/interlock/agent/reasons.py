"""How values and refusals are put into words, for people and for models alike."""

from __future__ import annotations

from pydantic import ValidationError

from interlock.errors import InterlockError

__all__ = ["is_a", "reason_of", "reasons", "short", "told"]

_MOST = 5


def reasons(error: ValidationError) -> str:
    """Return what a schema refused, field by field, with what was given."""
    found = error.errors(include_url=False, include_context=False)
    shown: list[str] = []
    for item in found[:_MOST]:
        where = ".".join(str(part) for part in item["loc"])
        given = "" if item["type"] in ("missing", "value_error") else f" (given: {short(item['input'])})"
        shown.append(f"{where + ': ' if where else ''}{item['msg'].removeprefix('Value error, ')}{given}")
    if len(found) > _MOST:
        shown.append(f"and {len(found) - _MOST} more")
    return "; ".join(shown)


def reason_of(error: Exception) -> str:
    """Return why other people's code (a validator, a serializer, a mapping) refuses a value, whatever it raised."""
    if isinstance(error, ValidationError):
        text = reasons(error)
    elif isinstance(error, InterlockError) and error.args:
        text = f"{error.args[0]}"
    else:
        text = told(error)
    return text.encode("utf-8", "backslashreplace").decode()  # kept as JSON, which carries no half of a surrogate pair


def is_a(given: object, kind: type[object]) -> bool:
    """Whether something is of a kind, whatever it says about that itself: ``isinstance`` would run its code."""
    return issubclass(type(given), kind)


def told(error: BaseException) -> str:
    """Return the kind of an exception and what it says, if that can be had."""
    try:
        said = f"{error}"
    except Exception:  # noqa: BLE001  # a broken text must not hide what is being reported
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def short(value: object, longest: int = 80) -> str:
    """Return a value as it may stand in a message: cut, and never failing."""
    try:
        text = str.__str__(repr(value))  # exactly a text, whatever subclass of one it is given as
    except Exception:  # noqa: BLE001  # a broken repr must not hide what is being reported
        text = f"a {type(value).__name__}"
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
