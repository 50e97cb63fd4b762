"""Stores that do to a run what a database may do to it."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

import interlock as il


class Failing(il.MemoryStore):
    """A store whose appends fail from the ``number``-th on; ``appended`` counts the entries that got through."""

    def __init__(self, number: int, error: Exception) -> None:
        super().__init__()
        self.left = number - 1
        self.error = error
        self.appended = 0

    async def append(self, thread_id: str, expected_index: int, entries: Sequence[il.LogEntry]) -> None:
        if self.left <= 0:
            raise self.error
        self.left -= 1
        await super().append(thread_id, expected_index, entries)
        self.appended += len(entries)


class Slow(il.MemoryStore):
    """A store whose appends take their time; ``writing`` tells whether one is under way, ``begun`` counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.go = anyio.Event()
        self.began = anyio.Event()
        self.writing = False
        self.begun = self.ended = 0

    async def append(self, thread_id: str, expected_index: int, entries: Sequence[il.LogEntry]) -> None:
        self.writing = True
        self.begun += 1
        self.began.set()
        await self.go.wait()
        await super().append(thread_id, expected_index, entries)
        self.writing = False
        self.ended += 1


class Listening(il.MemoryStore):
    """A store that writes down what it is asked, in order, into ``heard``."""

    def __init__(self, heard: list[str]) -> None:
        super().__init__()
        self.heard = heard

    async def append(self, thread_id: str, expected_index: int, entries: Sequence[il.LogEntry]) -> None:
        await super().append(thread_id, expected_index, entries)
        self.heard += [f"durable {entry.index} {entry.type}" for entry in entries]


async def whole(store: il.Store, thread_id: str) -> tuple[il.LogEntry, ...]:
    """Return a thread's log, having seen that it is one."""
    log = await store.read(thread_id)
    assert [entry.index for entry in log] == list(range(len(log)))
    return log
