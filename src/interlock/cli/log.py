"""``interlock log``: what is kept of runs, shown, compared, and held against today's machine. It is only read."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from rich.text import Text

from interlock.agent.reading import AnyMachine
from interlock.cli import target
from interlock.cli.entries import cost, entry_line, when
from interlock.cli.options import check_text
from interlock.cli.screen import Screen
from interlock.cli.stops import CommandError, UsageError
from interlock.cli.stored import Found, Logs, open_logs
from interlock.cli.words import clean, json_line, one_line
from interlock.errors import InterlockError, InvalidLogError, did_you_mean
from interlock.journal import LogCheck, LogEntry, check_log, diff
from interlock.run.opening import Start, open_log

__all__ = ["check_logs", "diff_logs", "list_logs", "show_log"]

_CHANGES = 40
"""Places of the state that are shown; ``--json`` gives all of them."""


@dataclass(frozen=True, slots=True)
class _Checked:
    thread_id: str
    entries: int | None
    verdict: str
    index: int | None
    message: str

    @property
    def fine(self) -> bool:
        return self.verdict in {"ok", "migrates"}


def check_logs(
    machine_name: str, place: str, threads: Sequence[str], statuses: Sequence[str], screen: Screen, *, as_json: bool
) -> bool:
    """Hold logs against a machine, and return whether it can go on from all of them."""
    machine = target.find(machine_name)
    with _logs(place, *threads) as logs:
        if threads:
            wanted = [_named(logs, name) for name in dict.fromkeys(threads)]
            others = 0
        else:
            found = [log for log in logs.found() if log.info is None or _has(log, statuses)]
            wanted = [log for log in found if log.info is None or log.info.machine_id == machine.id]
            others = len(found) - len(wanted)
        checked: list[_Checked] = []
        width = max((len(log.thread_id) for log in wanted), default=0)
        for number, log in enumerate(wanted, 1):
            with _progress(f"checking {number} of {len(wanted)}: {log.thread_id}"):
                result = _check(machine, logs, log)
            checked.append(result)
            if not as_json:
                _say(screen, _verdict(result, min(width, 40)))
    fine = sum(result.fine for result in checked)
    if as_json:
        logs_json = [{name: getattr(result, name) for name in _Checked.__slots__} for result in checked]
        summary = {"machine": machine.id, "version": machine.version, "ok": fine == len(checked)}
        _put(screen, _dumped(screen, {**summary, "logs": logs_json, "of_other_machines": others}))
    else:
        left = f"; {others} of other machines left out" if others else ""
        _say(screen, f"{fine} of {len(checked)} logs can be gone on with by {machine.id} {machine.version}{left}")
    return fine == len(checked)


def _check(machine: AnyMachine, logs: Logs, log: Found) -> _Checked:
    if log.problem is not None:
        return _Checked(log.thread_id, None, "invalid", log.problem.index, log.problem.message)
    try:
        entries = logs.read(log.thread_id)
    except InvalidLogError as error:
        return _Checked(log.thread_id, None, "invalid", error.index, error.message)
    try:
        verdict: LogCheck = check_log(machine, entries)
    except InterlockError as error:  # a machine that needs more than itself, such as children that its host gives
        return _Checked(log.thread_id, len(entries), "fails", None, error.message)
    given = _Checked(log.thread_id, len(entries), verdict.verdict, verdict.index, verdict.message)
    if verdict.verdict != "other-version" or machine.migrate is None or entries[-1].machine_id != machine.id:
        return given
    if logs.store is None:
        return _Checked(
            log.thread_id,
            len(entries),
            verdict.verdict,
            verdict.index,
            f"{verdict.message}; what migrate= works on is the snapshot that a store keeps, and this is a file",
        )
    start: Start[Any] = Start(input=None, snapshot=None, store=logs.store, thread_id=log.thread_id, execution_id=None)
    # As a run would take it up; what it would write is dropped.
    try:
        opened = anyio.run(partial(open_log, machine, start, at=0.0))
    except InterlockError as error:
        return _Checked(log.thread_id, len(entries), verdict.verdict, len(entries) - 1, error.message)
    failure = opened.journal.failure
    if failure is not None:
        return _Checked(log.thread_id, len(entries), "fails", len(entries) - 1, failure.message)
    return _Checked(log.thread_id, len(entries), "migrates", None, f"from version {entries[-1].machine_version}")


def _verdict(result: _Checked, width: int) -> Text:
    style = "green" if result.fine else "bold red"
    length = "" if result.entries is None else f" ({result.entries} entries)"
    told = f": {' '.join(result.message.split())}" if result.message else ""
    return Text.assemble(
        f"{one_line(result.thread_id):{width}}  ", (result.verdict, style), one_line(f"{length}{told}")
    )


def list_logs(place: str, statuses: Sequence[str], screen: Screen, *, as_json: bool) -> None:
    """Show which logs there are."""
    with _logs(place) as logs:
        found = [log for log in logs.found() if _has(log, statuses)]
    if as_json:
        _put(screen, _dumped(screen, [_listed(log) for log in found]))
        return
    rows = [("THREAD", "STATUS", "ENTRIES", "MACHINE", "VERSION", "LAST WRITTEN")]
    for log in found:
        info = log.info
        if info is None:
            rows.append((log.thread_id, "invalid", "", "", "", log.problem.message if log.problem else ""))
        else:
            last = when(info.updated_at)
            rows.append((log.thread_id, info.status, str(info.length), info.machine_id, info.machine_version, last))
    if not found:
        _say(screen, "no logs" + (f" that are {' or '.join(statuses)}" if statuses else ""))
        return
    widths = [max(len(one_line(row[column])) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [one_line(cell) for cell in row]
        lined = [
            cell.rjust(width) if column == 2 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=False))
        ]
        _say(screen, "  ".join([*lined, cells[-1]]).rstrip())


def _listed(log: Found) -> dict[str, object]:
    if log.info is None:
        return {"thread_id": log.thread_id, "status": "invalid", "message": log.problem.message if log.problem else ""}
    info = log.info
    return {
        "thread_id": info.thread_id,
        "status": info.status,
        "entries": info.length,
        "machine_id": info.machine_id,
        "machine_version": info.machine_version,
        "updated_at": info.updated_at,
    }


def show_log(place: str, thread: str, screen: Screen, *, as_json: bool) -> None:
    """Show the entries of a log; as JSON, in the lines that a file of entries has."""
    with _logs(place, thread) as logs:
        entries = _entries(logs, thread)
    if as_json:
        for entry in entries:
            _put(screen, _dumped(screen, entry.to_json()))
        return
    last = entries[-1]
    _say(screen, f"{thread}: {last.machine_id} {last.machine_version}, {len(entries)} entries, {last.status}")
    for before, entry in zip((None, *entries), entries, strict=False):
        _say(screen, entry_line(entry, changed=before is None or entry.status != before.status))
    spent = cost(entries)
    if spent:
        _say(screen, f"in all: {spent}")


def diff_logs(machine_name: str, place: str, thread: str, other: str, screen: Screen, *, as_json: bool) -> None:
    """Show how far two logs are the same, what follows in each, and in which places their states differ."""
    machine = target.find(machine_name)
    with _logs(place, thread, other) as logs:
        left, right = _entries(logs, thread), _entries(logs, other)
    with _progress("comparing"):
        found = diff(machine, left, right)
    if as_json:
        changes = [
            {"path": change.path, "sides": change.sides, "left": change.left, "right": change.right}
            for change in found.changes
        ]
        tails = {"left": [e.to_json() for e in found.left], "right": [e.to_json() for e in found.right]}
        _put(screen, _dumped(screen, {"common": found.common, **tails, "changes": changes}))
        return
    _say(screen, f"{found.common} entries in common")
    for name, tail in ((thread, found.left), (other, found.right)):
        _say(screen, f"{name}: {len(tail)} more")
        for entry in tail:
            _say(screen, entry_line(entry))
    if not found.changes:
        _say(screen, "the states are the same")
        return
    _say(screen, f"the states differ in {len(found.changes)} places ({thread} | {other})")
    for change in found.changes[:_CHANGES]:
        sides = [
            "nothing" if change.sides == absent else json_line(json.dumps(value, ensure_ascii=False), 100)
            for value, absent in ((change.left, "right"), (change.right, "left"))
        ]
        _say(screen, f"  {change.path}: {sides[0]} | {sides[1]}")
    if len(found.changes) > _CHANGES:
        _say(screen, f"  and {len(found.changes) - _CHANGES} more; --json gives all")


# -- parts -----------------------------------------------------------------------------------------------------------


@contextmanager
def _logs(place: str, *threads: str) -> Generator[Logs]:
    check_text("STORE", place)
    for thread in threads:
        check_text("THREAD", thread)
    logs = open_logs(place)
    try:
        yield logs
    finally:
        logs.close()


def _has(log: Found, statuses: Sequence[str]) -> bool:
    return not statuses or (log.info is not None and log.info.status in statuses)


def _named(logs: Logs, thread: str) -> Found:
    try:
        if not logs.read(thread):
            raise _missing(logs, thread)
    except InvalidLogError as error:
        return Found(thread, None, error)
    return Found(thread, None)


def _entries(logs: Logs, thread: str) -> tuple[LogEntry, ...]:
    entries = logs.read(thread)
    if not entries:
        raise _missing(logs, thread)
    return entries


def _missing(logs: Logs, thread: str) -> CommandError:
    hint = did_you_mean(thread, [one_line(log.thread_id) for log in logs.found()][:1000])
    return UsageError(f"there is no thread {thread!r}. {hint}")


@contextmanager
def _progress(words: str) -> Generator[None]:
    """Say at a terminal what is being done, for as long as that takes."""
    if not sys.stderr.isatty():
        yield
        return
    print(f"\r\x1b[K{clean(words)[:78]}", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _dumped(screen: Screen, value: object) -> str:
    # What cannot be shown is escaped and not replaced: this is read again.
    wide = screen.console.encoding.lower().startswith("utf")
    return json.dumps(value, ensure_ascii=not wide, allow_nan=False)


def _put(screen: Screen, line: str) -> None:
    screen.output.write(f"{line}\n")


def _say(screen: Screen, line: str | Text) -> None:
    screen.console.print(Text(one_line(line)) if isinstance(line, str) else line, soft_wrap=True)
