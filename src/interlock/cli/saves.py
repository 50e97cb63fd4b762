"""A saved case: the snapshot as its machine dumped it, and the way that led there, for people to read."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Literal
from uuid import uuid4

from pydantic import BaseModel, JsonValue, ValidationError

from interlock.cli.options import Keep
from interlock.cli.stops import CommandError
from interlock.errors import SnapshotError

__all__ = ["LARGEST", "LONGEST_PATH", "SavedCase", "Step", "check_places", "keep_up", "read", "rescue"]

LARGEST = 32_000_000
"""Bytes; a case of the demos has about two thousand."""

LONGEST_PATH = 500
"""Steps; of a longer way the last ones are kept."""


class Step(BaseModel, frozen=True, extra="forbid", strict=True):
    """One step of the way: what happened, and where the machine stood then."""

    via: str | None
    state: str


class SavedCase(BaseModel, frozen=True, extra="forbid"):
    """What the file holds."""

    interlock: str
    """The command whose case it is."""
    format: Literal[1] = 1
    model: str
    path: tuple[Step, ...]
    snapshot: dict[str, JsonValue]
    moved_to: str | None = None
    """The file in which the case went on; then this one is answered no more."""


def keep_up(keep: Keep, case: SavedCase) -> None:
    """Save a case. Where it came out of another file, that one says so from then on: a case is answered once.

    Raises :class:`CommandError` if a file of somebody else stands in the way, or if a place cannot be written.
    """
    _write(keep.file, case)
    if keep.resume is not None and keep.resume.resolve() != keep.file.resolve():
        name = str(keep.file).encode("utf-8", "replace").decode()
        _write(keep.resume, case.model_copy(update={"moved_to": name}))


def check_places(keep: Keep) -> None:
    """Raise :class:`CommandError` if a case could not be saved where it is to be: before models are paid for it."""
    if keep.save is not None:
        _check_place(keep.save)
    if keep.resume is not None and keep.resume.is_file():  # if it is none, whoever reads it says so
        _try(keep.resume)


def _check_place(file: Path) -> None:
    try:
        if file.is_dir():
            raise _refused(file, "it is a folder")
        if not file.parent.is_dir():
            there = "is no folder" if file.parent.exists() else "does not exist"
            raise _refused(file, f"{file.parent} {there}")
        _check_ours(file)
    except OSError as error:
        raise _refused(file, _why(error)) from error
    _try(file)


def _try(file: Path) -> None:
    """Raise :class:`CommandError` if nothing can be put beside a file, as it is where it is saved."""
    beside = _beside(file)
    try:
        beside.touch(exist_ok=False)
        beside.unlink()
    except OSError as error:
        raise _refused(file, _why(error)) from error


def rescue(keep: Keep, case: SavedCase) -> Path:
    """Save a case that could not be saved where it was to be, and return where it is; raises :class:`OSError`."""
    file = Path(mkdtemp(prefix="interlock-")) / keep.default.name
    file.write_text(case.model_dump_json(indent=2) + "\n", "utf-8")
    if keep.resume is not None:
        with suppress(CommandError):  # the disk may be full that it is on
            _write(keep.resume, case.model_copy(update={"moved_to": str(file)}))
    return file


def _write(file: Path, case: SavedCase) -> None:
    """Save a case, whole or not at all. A file that holds something else is not overwritten.

    Raises :class:`CommandError` if such a file stands in the way, or if the place cannot be written.
    """
    beside = _beside(file)
    try:
        _check_ours(file)
        try:
            beside.write_text(case.model_dump_json(indent=2) + "\n", "utf-8")
            beside.replace(file)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise _refused(file, _why(error)) from error


def _beside(file: Path) -> Path:
    """Return a name in the same folder: a file is there whole, or not at all."""
    return file.with_name(f".{file.name}.{uuid4().hex[:8]}")


def _check_ours(file: Path) -> None:
    if file.exists() and not _ours(file):
        raise CommandError(f"{file} exists and is no saved case, so it is left alone; give another name with --save")


def _refused(file: Path, why: str) -> CommandError:
    return CommandError(f"{file} cannot be written: {why}; give another place with --save")


def read(file: Path, keep: Keep) -> SavedCase:
    """Return the case in a file, which must be one of the command that ``keep`` names.

    Raises :class:`CommandError` if it cannot be read, :class:`SnapshotError` if it holds something else.
    """
    case = _read(file)
    if case.interlock != keep.command:
        raise SnapshotError(
            f"{file} is a case of `interlock {case.interlock}`, not of `interlock {keep.command}`",
            code="invalid-snapshot",
        )
    if case.moved_to is not None:
        raise CommandError(f"the case of {file} went on in {case.moved_to}; resume that one")
    return case


def _read(file: Path) -> SavedCase:
    try:
        if not file.is_file():
            raise CommandError(f"{file} is not a file" if file.exists() else f"there is no file {file}")
        with file.open("rb") as opened:
            data = opened.read(LARGEST + 1)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {_why(error)}") from error
    if len(data) > LARGEST:
        raise SnapshotError(f"{file} is no saved case: it is larger than {LARGEST:,} bytes", code="invalid-snapshot")
    try:
        return SavedCase.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        told = f"{where}: {first['msg']}" if where else first["msg"]
        raise SnapshotError(f"{file} is no saved case: {told}", code="invalid-snapshot") from error


def _ours(file: Path) -> bool:
    try:
        _read(file)
    except (CommandError, SnapshotError):
        return False
    return True


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
