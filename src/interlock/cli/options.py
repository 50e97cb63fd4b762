"""What commands have in common: who plays the model, and where a run is kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import count
from pathlib import Path

from interlock.cli.stops import UsageError
from interlock.errors import SnapshotError

__all__ = ["Keep", "Model", "Status", "check_text"]


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


class Status(StrEnum):
    """How a thread stands: as :class:`interlock.journal.EntryStatus`."""

    WORKING = "working"
    WAITING = "waiting"
    DONE = "done"
    ERROR = "error"


@dataclass(frozen=True, kw_only=True)
class Keep:
    """Where a run is kept while a person is waited for; ``command`` is the one that goes on with it."""

    command: str
    default: Path
    save: Path | None = None
    resume: Path | None = None

    @cached_property
    def file(self) -> Path:
        """The file to save to; where none was named, one that is not there yet: an earlier case stays as it is."""
        return self.save or self.resume or _free(self.default)


def check_text(name: str, text: str | None) -> None:
    """Raise :class:`UsageError` for an argument that is no text: bytes that are not UTF-8 cannot be saved."""
    try:
        (text or "").encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{name} is not UTF-8: character {error.start + 1} cannot be read") from None


def _free(file: Path) -> Path:
    if not file.exists():
        return file
    names = (file.with_stem(f"{file.stem}-{number}") for number in count(2))
    return next(name for name in names if not name.exists())
