"""A saved case: the snapshot as the machine dumped it, and the way that led there, for people to read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal
from uuid import uuid4

from pydantic import BaseModel, JsonValue, ValidationError

from interlock.errors import SnapshotError

__all__ = ["DEFAULT_FILE", "SavedCase", "Step", "read", "write"]

DEFAULT_FILE = Path("interlock-support.json")
LARGEST = 1_000_000
"""Bytes; a saved case has about two thousand."""


class Step(BaseModel, frozen=True, extra="forbid", strict=True):
    """One step of the way: what happened, and where the machine stood then."""

    via: str | None
    state: str


class SavedCase(BaseModel, frozen=True, extra="forbid"):
    """What the file holds."""

    interlock: Literal["demo support"] = "demo support"
    format: Literal[1] = 1
    model: Literal["local", "human", "scripted"]
    path: tuple[Step, ...]
    snapshot: dict[str, JsonValue]


def write(file: Path, case: SavedCase) -> None:
    """Save a case, whole or not at all. A file that holds something else is not overwritten.

    Raises :class:`SnapshotError` if it stands in the way, or if the file cannot be written.
    """
    if file.exists():
        try:
            read(file)
        except SnapshotError as error:
            raise SnapshotError(
                f"{file} exists and is no saved case, so it is left alone; give another name with --save",
                code="invalid-snapshot",
            ) from error
    beside = file.with_name(f".{file.name}.{uuid4().hex[:8]}")
    try:
        beside.write_text(case.model_dump_json(indent=2) + "\n", "utf-8")
        os.replace(beside, file)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise SnapshotError(f"{file} cannot be written: {_why(error)}", code="invalid-snapshot") from error


def read(file: Path) -> SavedCase:
    """Return the case in a file. Raises :class:`SnapshotError` if it cannot be read or holds something else."""
    try:
        if not file.is_file():
            raise SnapshotError(
                f"{file} is not a file" if file.exists() else f"there is no file {file}", code="invalid-snapshot"
            )
        with file.open("rb") as opened:
            data = opened.read(LARGEST + 1)
    except OSError as error:
        raise SnapshotError(f"{file} cannot be read: {_why(error)}", code="invalid-snapshot") from error
    if len(data) > LARGEST:
        raise SnapshotError(f"{file} is no saved case: it is larger than {LARGEST:,} bytes", code="invalid-snapshot")
    try:
        return SavedCase.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        told = f"{where}: {first['msg']}" if where else first["msg"]
        raise SnapshotError(f"{file} is no saved case of this demo: {told}", code="invalid-snapshot") from error


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
