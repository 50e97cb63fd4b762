"""Server-sent events as Chat Completions uses them: one line of JSON each, and a word for the end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

from interlock.adapters.lowering.arguments import cleaned

__all__ = ["EventLines", "parsed_event"]


class EventLines:
    """Takes a stream apart as its bytes come.

    ``ended`` says whether the word for the end has come; ``stray`` is the beginning of what was no event, such as the
    page of a proxy. Lines end where bytes say so: a text inside the JSON may hold what Unicode calls a line's end.
    """

    def __init__(self) -> None:
        self._rest = b""
        self.ended = False
        self.stray = ""

    def feed(self, data: bytes) -> Iterator[str]:
        """Return what the events say that are whole by now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            yield from self._read(line)

    def finish(self) -> Iterator[str]:
        """Return what was left without the end of its line."""
        rest, self._rest = self._rest, b""
        yield from self._read(rest)

    def _read(self, line: bytes) -> Iterator[str]:
        text = line.decode("utf-8", "replace").strip("\r\n \ufeff")
        if not text.startswith("data:"):
            if text and not text.startswith((":", "event:", "id:", "retry:")):
                self.stray = f"{self.stray}{text}"[:300]
            return
        said = text.removeprefix("data:").strip()
        if said.startswith("[DONE]"):
            self.ended = True
        elif said and not self.ended:
            yield said


def parsed_event(said: str) -> Mapping[str, object]:
    """Return what an event says as JSON; raises ValueError where it says something else."""
    event: object = json.loads(said)
    if not isinstance(event, Mapping):
        raise ValueError(f"an event is no object: {said[:80]}")  # noqa: TRY004  # as where it is no JSON
    return cast("Mapping[str, object]", cleaned(cast("object", event)))
