"""What commands have in common: who plays the model, and where a run is kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from interlock.errors import SnapshotError

__all__ = ["Keep", "Model"]


class Model(StrEnum):
    """Who plays the model."""

    LOCAL = "local"
    HUMAN = "human"
    SCRIPTED = "scripted"

    @classmethod
    def of(cls, saved: str, file: Path) -> Model:
        """Return who played in a saved case; raises :class:`SnapshotError` for a name that nobody has."""
        try:
            return cls(saved)
        except ValueError:
            raise SnapshotError(
                f"{file} is no saved case: model: {saved!r} is nobody's name", code="invalid-snapshot"
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Where a run is kept while a person is waited for; ``command`` is the one that goes on with it."""

    command: str
    default: Path
    save: Path | None = None
    resume: Path | None = None

    @property
    def file(self) -> Path:
        """The file to save to."""
        return self.save or self.resume or self.default
