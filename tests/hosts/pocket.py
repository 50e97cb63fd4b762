"""The smallest durable engine: a mapping of what was recorded. It says of each record when the process dies."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import anyio

from interlock.hosts import Call, Recorded, Woken


class DiedError(Exception):
    """The process is gone; what was recorded is kept."""


@dataclass
class Pocket:
    """One execution. ``mail`` are messages and when they come; ``most`` is how many records are made before it dies."""

    records: dict[str, object] = field(default_factory=dict)
    mail: list[tuple[float, Recorded]] = field(default_factory=list)
    most: int = 1_000
    time: float = 1_000.0
    made: list[str] = field(default_factory=list)
    lasts: Mapping[str, float] = field(default_factory=dict)
    """Seconds that calls take, by key; the others take one."""
    ends: dict[str, float] = field(default_factory=dict)
    waits: int = 0
    read: int = 0
    execution_id: str = "pocket"

    def again(self, most: int = 1_000) -> "Pocket":
        """Another process, with what this one has recorded."""
        return Pocket(dict(self.records), self.mail, most, self.time, lasts=self.lasts)

    async def now(self) -> float:
        return await self._record("begin", self.time)

    async def wait(self, calls: Mapping[str, Call], *, until: float | None, messages: bool) -> Woken:
        for key in self.ends.keys() - calls.keys():
            del self.ends[key]
        for key in calls:
            self.ends.setdefault(key, self.time + self.lasts.get(key, 1.0))
        self.waits += 1
        name = f"wait {self.waits}"
        if name not in self.records:
            comes = [(self.ends[key], "call", key) for key in calls]
            comes += [] if until is None else [(until, "time", None)]
            comes += [(at, "mail", None) for at, _ in self.mail[self.read : self.read + 1] if messages]
            assert comes, "nothing will ever happen"
            at, kind, key = min(comes, key=lambda come: come[0])
            self.time = max(self.time, at)
            if key is not None and key not in self.records:
                self.made.append(key)
                await self._record(key, await calls[key]())
            await self._record(name, (self.time, kind, key))
        self.time, kind, key = self.records[name]
        if key is not None:
            del self.ends[key]
            return Woken(at=self.time, key=key, result=self.records[key])
        if kind == "time":
            return Woken(at=self.time)
        self.read += 1
        return Woken(at=self.time, message=self.mail[self.read - 1][1])

    async def _record(self, name: str, value):
        await anyio.lowlevel.checkpoint()
        if name not in self.records:
            if len(self.records) >= self.most:
                raise DiedError
            self.records[name] = value
        return self.records[name]
