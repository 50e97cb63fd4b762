"""Standard output, which may end before the command does: a pipe that nobody reads any more, a disk that is full."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

__all__ = ["BROKEN_PIPE", "Output", "end", "open_streams"]

BROKEN_PIPE = 141
"""The exit status where nobody reads any more, as shells tell it of other programs: 128 and the signal's number."""


class Output:
    """A stream to print to. What goes wrong with it is kept, and does not reach whoever prints.

    Within a run, an error of the terminal would look like one of the model, and the machine would take another way.
    """

    def __init__(self, stream: IO[str]) -> None:
        self.failure: OSError | None = None
        """Why nothing can be written any more."""
        self.stop: Callable[[], None] = lambda: None
        """Called once, when nothing can be written any more."""
        self._stream = stream

    @property
    def file(self) -> IO[str]:
        """This, as what it stands for."""
        return cast("IO[str]", self)

    def write(self, text: str) -> int:
        """Write a text, or drop it where nothing can be written any more."""
        if self.failure is None:
            try:
                self._stream.write(text)
            except OSError as error:
                self._lose(error)
        return len(text)

    def flush(self) -> None:
        """Write what is held back."""
        if self.failure is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._lose(error)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the stream has
        return getattr(self._stream, name)

    def _lose(self, error: OSError) -> None:
        self.failure = error
        _silence(self._stream)
        self.stop()


def open_streams() -> None:
    """Make the standard streams safe to use: closed ones lead nowhere, and no letter ends the program."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # until the end
        if (reconfigure := getattr(getattr(sys, name), "reconfigure", None)) is not None:
            reconfigure(errors="replace")  # an old terminal may show a mark as '?'


def end(error: OSError) -> int:
    """Return the exit status where the output is lost, and say why, unless that is what the reader wanted."""
    _silence(sys.stdout)
    if error.errno == errno.EPIPE:
        _silence(sys.stderr)
        return BROKEN_PIPE
    try:
        print(f"interlock: stopped: {(error.strerror or str(error)).lower()}", file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)
    return 1


def _silence(stream: IO[str]) -> None:
    """Lead a stream nowhere, with what it still holds: Python writes that when it ends, and would complain."""
    with suppress(OSError, ValueError):  # a stream that is no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
