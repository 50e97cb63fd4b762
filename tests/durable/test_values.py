"""What docs/durability.md says of values: what a context and an event hold comes back from the log as it was."""

import datetime as dt
import enum
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, create_model

import interlock as il
from interlock.journal import LogEntry, replay

BASE64 = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Inner(BaseModel, frozen=True):
    n: int = 0
    of: tuple[Colour, ...] = ()


@dataclass(frozen=True)
class Point:
    x: int
    on: dt.date


EAST = dt.timezone(dt.timedelta(hours=2))

VALUES: list[tuple[Any, Any]] = [
    (str, 'é\0 "\u2028 \U0001f600'),
    (int, -(10**60)),
    (float, -0.0),
    (bool, True),
    (int | None, None),
    (tuple[int, ...], (1, 2)),
    (il.FrozenDict[str, int], il.FrozenDict({"b": 1, "a": 2})),
    (Inner, Inner(n=3, of=(Colour.RED,))),
    (Point, Point(1, dt.date(2026, 1, 1))),
    (Colour, Colour.RED),
    (Level, Level.HIGH),
    (dt.datetime, dt.datetime(2026, 1, 1, 1, 1, 1, 5)),  # noqa: DTZ001  # a naive one has to come back naive
    (dt.datetime, dt.datetime(2026, 1, 1, tzinfo=EAST)),
    (dt.date, dt.date(2026, 1, 1)),
    (dt.time, dt.time(3, 4, 5)),
    (dt.timedelta, dt.timedelta(days=1, seconds=1.5)),
    (Decimal, Decimal("1.10")),
    (UUID, UUID(int=3)),
    (Path, Path("a/b")),
    (frozenset[str], frozenset("abcdefghijklmnop")),  # written in another order each time
    (bytes, b"abc"),
    (bytes, b"\xff\x00"),
    (int | str, "1"),
]


def shown(value: Any) -> str:
    """A value as text, of which 1 and 1.0 have different ones."""
    return str(sorted(value) if isinstance(value, frozenset) else value)


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=lambda value: ascii(value)[:40])
def test_it_comes_back_from_a_context_and_an_event(kind: Any, value: Any):
    config = BASE64 if value == b"\xff\x00" else ConfigDict()
    context = create_model("Holder", __config__={**config, "frozen": True}, v=(kind | None, None))
    base = type("Base", (il.Event,), {"model_config": config, "__module__": __name__, "__doc__": "Set it."})
    event = type("Set", (base,), {"__annotations__": {"v": kind}, "__module__": __name__, "__doc__": "Set it."})
    agent = il.setup_agent(context=context, events=[event])
    machine = agent.machine(
        "m",
        context=context(),
        initial="a",
        states={"a": agent.state(on=[agent.on(event, lambda _, given: agent.stay(v=given.v))])},
    )
    store = il.MemoryStore()
    result = il.run_agent_sync(machine, store=store, thread_id="t", event=event(v=value))
    assert isinstance(result, il.Idle)
    assert shown(result.snapshot.context.v) == shown(value)
    assert machine.load(result.snapshot.to_json()) == result.snapshot
    log = [LogEntry.from_json(entry.to_text()) for entry in result.entries]
    again = replay(machine, log, verify="strict").snapshot
    assert again == result.snapshot
    assert shown(again.context.v) == shown(value)
    assert il.run_agent_sync(machine, store=store, thread_id="t").snapshot == result.snapshot
