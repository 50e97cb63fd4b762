"""What the engine asks of a kind of context, and how a kind refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

__all__ = ["ContextType", "FieldError", "TypeRefusedError"]


class FieldError(Exception):
    """A patch that the context refuses; the engine turns it into an error that names the place."""

    def __init__(self, code: str, field: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.field = field
        self.reason = reason


class TypeRefusedError(Exception):
    """A type that cannot be a context."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class ContextType(Protocol):
    """What the engine asks of a kind of context."""

    @property
    def name(self) -> str:
        """What it is called in messages and in the structural version."""
        ...

    @property
    def fields(self) -> Mapping[str, Any] | None:
        """Field name to annotation; None where any name may be set."""
        ...

    def check(self, value: Any) -> Any:
        """Return ``value`` as this kind of context; raises FieldError, NotJsonError or TypeError."""
        ...

    def patch(self, context: Any, fields: Mapping[str, Any]) -> Any:
        """Return a new context with ``fields`` changed; raises FieldError."""
        ...

    def dump(self, context: Any, include: Any = None) -> Any:
        """Return strict JSON data; ``include`` (as pydantic has it) says of which parts only."""
        ...

    def load(self, data: Any) -> Any:
        """Return the context that :meth:`dump` wrote; raises ValueError or TypeError."""
        ...
