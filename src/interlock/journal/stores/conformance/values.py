"""Whatever JSON can say comes back as it was, under whatever name."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from interlock.journal.entries import LogEntry
from interlock.journal.stores.conformance.probe import Call, Check, Probe, entries, entry, snapshot

__all__ = ["VALUES"]

_TEXTS = {
    "NUL": "a\0b",
    "control characters": "".join(map(chr, range(1, 32))) + "\x7f\x80\x9f",
    "quotes": "'\"`\\ '' \"\" \\' $$ $1 %s %(a)s ? :a {} {0} --",
    "line separators": "a\u2028b\u2029c\r\nd\x0be\x0cf\x85",
    "emoji": "🐙 👩‍👩‍👧‍👦 🇨🇭",
    "combining": "e\u0301 \u00e9 \u1e9b\u0323 \u202e abc",
    "non-characters": "\ufffe\uffff\U0010ffff\ufeff",
    "an escape as text": "\\u0000 \\n \\ud800",
    "nothing": "",
}
_NUMBERS: dict[str, Any] = {
    "whole": [0, 1, -1, 2**31, -(2**31), 2**53 + 1, 2**63, -(2**63) - 1, 10**40],
    "float": [0.1, 1 / 3, 1e308, 1.7976931348623157e308, 5e-324, -0.0, 0.0, 1.0, 1e16, 123456789.123456789],
    "as keys": {"1": 1, "1.0": 1.0, "-0": -0.0},
}
_SHAPES: dict[str, Any] = {
    "empty": [{}, [], "", None, [[]], {"": {}}],
    "truth": [True, False, 1, 0, "true", None, "null"],
    "nested": {"a": [{"b": [{"c": [[[["deep"]]]]}]}]},
    "order of keys": {"z": 1, "a": 2, "m": {"y": 1, "b": 2}},
    "keys": {"with space": 1, "ä\u2028": 2, "a\0b": 3, "__proto__": 4, "$ref": 5, "a.b": 6, "{x}": 7},
}

_IDS = (
    "'; DROP TABLE interlock_threads; --",
    '"quoted"',
    "100%",
    "%s%d%(name)s",
    "_",
    "a?b=c&d",
    "../../etc/passwd",
    "a/b\\c",
    "line\nbreak\r\ttab",
    "{braces}",
    "{}",
    "}{",
    "a:b:c",
    "*",
    "[a-z]",
    "ünïcödé 漢字 🐙",
    "e\u0301",
    "\u00e9",
    "trailing ",
    " leading",
    "UPPER",
    "upper",
    "NULL",
    "0",
    "00",
    "x" * 490,
    "漢" * 490,
)


async def every_json_value_comes_back(probe: Probe) -> None:
    """As an event's field, an output and a record; letter by letter."""
    thread = await probe.thread("values")
    log: list[LogEntry] = []
    for name, value in {**_TEXTS, **_NUMBERS, **_SHAPES}.items():
        index = len(log)
        log.append(entry(index, event={"type": "Said", "name": name, "value": value}))
        log.append(entry(index + 1, event=None, invocation="call:load#1", output=value))
        log.append(entry(index + 2, event=None, invocation="call:load#1", record={"value": value}))
    await probe.store.append(thread, 0, log)
    await probe.holds(thread, log, "entries with every kind of JSON value")


async def every_field_comes_back(probe: Probe) -> None:
    """What an entry can have beside its event."""
    thread = await probe.thread("fields")
    info = {"code": "raised", "type": "ValueError", "message": "no\0 'such' thing", "data": None, "cause": None}
    log = [
        entry(0, event={"type": "@agent.init", "input": {"n": 1}}, metadata={"execution_id": "run_1", "no": [1.0]}),
        entry(1, by="decision", to=["worker#2", "inner#1"], causation_id="evt_00000000", status="waiting"),
        entry(2, event=None, timer="@after:0#4", recorded_at=None),
        entry(3, event=None, invocation="call:load#1", error={"info": info}, status="error", recorded_at=12),
        entry(4, event=None, invocation="call:load#1", error={"value": {"why": -0.0}}, verification=None),
        entry(5, event=None, invocation="call:load#1", output=None, recorded_at=0.1, status="done"),
        entry(6, metadata={"ünï\u2028": {"deep": [None, {"a\0": "🐙"}]}}, machine_id="ü 'q'", machine_version="%"),
        entry(7, event={"type": "@agent.resume"}),
    ]
    await probe.store.append(thread, 0, log)
    await probe.holds(thread, log, "entries with every field")


async def a_large_entry_comes_back(probe: Probe) -> None:
    """A megabyte of text in one entry, and a thousand entries."""
    thread = await probe.thread("large")
    log = [entry(0, event={"type": "Said", "text": "ä'\\\u2028🐙\0 plain text " * 50_000}), *entries(1, 1_000)]
    await probe.store.append(thread, 0, log)
    await probe.holds(thread, log, "a megabyte in one entry, followed by a thousand")


async def ids_of_threads_are_any_text(probe: Probe) -> None:
    """Each is another thread, whatever it would mean to a database."""
    store, log = probe.store, entries(0, 1)
    names = [await probe.thread(name) for name in _IDS]
    for number, thread in enumerate(names):
        await store.append(thread, 0, [*log, entry(1, f"of {number} ")])
        await store.save_snapshot(thread, snapshot(1, json.dumps(number)))
    for number, thread in enumerate(names):
        await probe.holds(thread, [*log, entry(1, f"of {number} ")], "a thread with an odd id")
        saved = await store.load_snapshot(thread)
        if saved != snapshot(1, json.dumps(number)):
            raise AssertionError(f"load_snapshot({thread!r}): expected the one of this thread, came {saved!r}")
    listed = {info.thread_id for info in await store.threads()}
    for thread in names:
        if thread not in listed:
            raise AssertionError(f"threads(): expected {thread!r} among them, came {len(listed)} others")
        if not await store.delete(thread):
            raise AssertionError(f"delete({thread!r}): expected True, came False")


async def ids_of_entries_are_any_text(probe: Probe) -> None:
    """They may come from somebody else."""
    thread = await probe.thread("odd ids of entries")
    log = [entry(number, id=name) for number, name in enumerate(_IDS)]
    await probe.store.append(thread, 0, log)
    for given in log:
        found = await probe.store.index_of(thread, given.id)
        if found != given.index:
            raise AssertionError(f"index_of(..., {given.id!r}): expected {given.index}, came {found}")
    await probe.holds(thread, log, "entries with odd ids")


async def what_is_no_id_is_refused(probe: Probe) -> None:
    """By every method that takes one, before anything is done."""
    store, good = probe.store, await probe.thread("ids", 1)
    for bad in ("", "x" * 513, "a\0b", "\ud800"):
        what = f"with {bad[:8]!r} as thread id"
        calls: dict[str, Call] = {
            "append": partial(store.append, bad, 0, entries(0, 1)),
            "append of nothing": partial(store.append, bad, 0, []),
            "read": partial(store.read, bad),
            "length": partial(store.length, bad),
            "index_of": partial(store.index_of, bad, "evt_00000000"),
            "fork": partial(store.fork, good, bad),
            "fork from it": partial(store.fork, bad, good),
            "delete": partial(store.delete, bad),
            "save_snapshot": partial(store.save_snapshot, bad, snapshot(0)),
            "load_snapshot": partial(store.load_snapshot, bad),
        }
        for name, doing in calls.items():
            await probe.refuses(doing, "invalid-append", f"{name} {what}")
    for bad in ("x" * 513, "a\0b", "\ud800"):
        given = entry(1, id=bad)
        doing = partial(store.append, good, 1, [given])
        await probe.refuses(doing, "invalid-append", f"append of an entry with id {bad[:8]!r}")
    await probe.holds(good, entries(0, 1), "after calls with ids that are none")


VALUES: tuple[Check, ...] = (
    every_json_value_comes_back,
    every_field_comes_back,
    a_large_entry_comes_back,
    ids_of_threads_are_any_text,
    ids_of_entries_are_any_text,
    what_is_no_id_is_refused,
)
