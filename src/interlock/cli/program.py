"""How the program was started, for the commands that it prints: they have to run as they stand there."""

from __future__ import annotations

import shlex
import shutil
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["program"]

_NAME = "interlock"


def program() -> str:
    """Return the words that start this program: its name, where that is enough, or else what was typed."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py":  # python -m interlock.cli
        return shlex.join(sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1])
    if started.stem != _NAME or not started.is_file():
        return _NAME
    found = shutil.which(_NAME)
    with suppress(OSError):
        if found is not None and started.samefile(found):
            return _NAME
    return shlex.quote(sys.argv[0])
