"""Files of cases: one ``{"cases": [...]}`` (or a bare list) each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "data" / "corpus"


class UnreadableFileError(Exception):
    """A file of cases that is missing, is no JSON, or holds no cases."""


def files_in(path: Path) -> list[Path]:
    """The file itself, or all JSON files below a folder in the order of their names."""
    if path.is_dir():
        return sorted(path.rglob("*.json"))
    if path.is_file():
        return [path]
    raise UnreadableFileError(f"there is no file or folder {path}")


def cases_in(file: Path) -> list[Mapping[str, Any]]:
    """The cases of a file, in order."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableFileError(f"{type(error).__name__}: {error}") from error
    cases = document.get("cases") if isinstance(document, dict) else document
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise UnreadableFileError('expected {"cases": [...]} or a list of cases')
    return cases
