"""The demo's command as it was called."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

__all__ = ["Model", "Options"]


class Model(StrEnum):
    """Who decides."""

    LOCAL = "local"
    HUMAN = "human"
    SCRIPTED = "scripted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the caller gave; None where an option was left out."""

    text: str | None = None
    model: Model | None = None
    order_amount: float | None = None
    charges: int | None = None
    shipped: bool | None = None
    pretend: str | None = None
    answer: str | None = None
    save: Path | None = None
    resume: Path | None = None
