"""What all errors have in common, and a failure as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

__all__ = ["ErrorInfo", "InterlockError", "did_you_mean"]


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

    def __reduce__(self) -> tuple[object, ...]:
        # Engines and pools carry exceptions between processes, and a class's own arguments are not those of its base.
        return _restored, (type(self), self.args), dict(vars(self))


def _restored(kind: type[InterlockError], arguments: tuple[object, ...]) -> InterlockError:
    return kind.__new__(kind, *arguments)


def _said(error: BaseException) -> str:
    try:
        return str.__str__(str(error))  # exactly a text, whatever subclass of one it is given as
    except Exception:  # noqa: BLE001  # a broken text must not hide what is being reported
        return f"({type(error).__name__}, whose text cannot be made)"


def _code(error: InterlockError) -> str:
    code: object = getattr(error, "code", None)  # subclasses are other people's code
    return str.__str__(code) if isinstance(code, str) and code else InterlockError.code


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
            code=_code(error) if isinstance(error, InterlockError) else "raised",
            type=type(error).__name__,
            message=_said(error),
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
