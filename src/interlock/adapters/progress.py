"""How far a long fetch has come, for whoever waits at a terminal; one line where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TextIO

__all__ = ["Advance", "progress"]

Advance = Callable[[int], None]
"""Called with the bytes that have come so far."""


@contextmanager
def progress(what: str, total: int) -> Generator[Advance]:
    """Show on stderr how a fetch of ``total`` bytes goes on; the body calls what it is given.

    A terminal gets a bar (rich's, where it is installed), a log gets one line, and a program without stderr nothing.
    """
    out: TextIO | None = sys.stderr  # None under pythonw
    if out is None:
        yield _nothing
    elif not out.isatty():
        print(what, file=out, flush=True)
        yield _nothing
    elif find_spec("rich") is not None:
        with _rich_bar(what, total, out) as advance:
            yield advance
    else:
        with _plain_bar(what, total, out) as advance:
            yield advance


def _nothing(_done: int) -> None:
    """Show nothing."""


@contextmanager
def _rich_bar(what: str, total: int, out: TextIO) -> Generator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=out)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=min(done, total))


@contextmanager
def _plain_bar(what: str, total: int, out: TextIO) -> Generator[Advance]:
    def advance(done: int) -> None:
        out.write(f"\r{what}: {min(done, total) * 100 // total:3d} %")
        out.flush()

    try:
        yield advance
    finally:
        out.write("\n")
        out.flush()
