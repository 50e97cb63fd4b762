"""Logs side by side: forks, what differs between two, and whether today's machine can still read one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

from interlock.errors import (
    InputError,
    InvalidLogError,
    JournalError,
    LogVersionError,
    ReplayDivergedError,
    ReplayFailedError,
)
from interlock.journal.entries import LogEntry, is_name
from interlock.journal.replaying import Verify, checked_log, replay
from interlock.statechart import FrozenDict, Machine, Snapshot

__all__ = ["Change", "LogCheck", "LogDiff", "check_log", "diff", "fork"]

C = TypeVar("C")

_ABSENT: Any = object()


def fork(entries: Iterable[LogEntry], length: int, *, execution_id: str | None = None) -> tuple[LogEntry, ...]:
    """Return the first ``length`` entries of a log, as the beginning of another one.

    Arguments:
        entries: the log.
        length: how many of its entries.
        execution_id: names the new execution. Calls are made under keys that begin with it, so give one where the fork
            is to go another way than the original did: under the same key a provider may hand out the answer that it
            gave there. Without one the fork is the same execution, as if it had been cut off.

    Raises :class:`InvalidLogError`, and :class:`InputError` for an ``execution_id`` that can name none.
    """
    log = checked_log(entries)
    if type(length) is not int or not 1 <= length <= len(log):
        raise InvalidLogError(
            f"the log has {len(log)} entries, of which {length!r} cannot be taken; give 1 to {len(log)}"
        )
    if execution_id is None:
        return log[:length]
    if not is_name(execution_id):
        raise InputError(
            f"fork(execution_id={execution_id!r}): give a text that is not empty, and without lone surrogates",
            code="invalid-input",
        )
    return tuple(
        replace(entry, metadata=entry.metadata | {"execution_id": execution_id, "forked_from": _origin(entry, length)})
        if entry.is_init
        else entry
        for entry in log[:length]
    )


def _origin(entry: LogEntry, length: int) -> FrozenDict[str, Any]:
    return FrozenDict({"execution_id": entry.metadata.get("execution_id"), "length": length})


@dataclass(frozen=True, slots=True)
class Change:
    """One place in which two states differ; what is not there on one side is None and not in ``sides``."""

    path: str
    left: Any
    right: Any
    sides: Literal["both", "left", "right"] = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDiff(Generic[C]):
    """Two logs of one machine: how far they are the same, what follows in each, and how their last states differ."""

    common: int
    """How many entries they have in common."""
    left: tuple[LogEntry, ...]
    right: tuple[LogEntry, ...]
    left_snapshot: Snapshot[C]
    right_snapshot: Snapshot[C]
    changes: tuple[Change, ...]


def diff(
    machine: Machine[C, Any, Any], left: Iterable[LogEntry], right: Iterable[LogEntry], *, verify: Verify = True
) -> LogDiff[C]:
    """Compare two logs. Entries are the same if they say the same, whenever that was; who took a run up says nothing.

    Raises as :func:`replay`.
    """
    one, other = checked_log(left), checked_log(right)
    common = next(
        (number for number, (a, b) in enumerate(zip(one, other, strict=False)) if a.happened() != b.happened()),
        min(len(one), len(other)),
    )
    ends = [replay(machine, log, verify=verify).snapshot for log in (one, other)]
    return LogDiff(
        common=common,
        left=one[common:],
        right=other[common:],
        left_snapshot=ends[0],
        right_snapshot=ends[1],
        changes=tuple(_changes("", ends[0].dump(), ends[1].dump())),
    )


def _changes(path: str, left: Any, right: Any) -> list[Change]:
    pairs: list[tuple[str, Any, Any]] = []
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        one, other = cast("Mapping[str, Any]", left), cast("Mapping[str, Any]", right)
        for key in dict.fromkeys((*one, *other)):
            where = f"{path}.{key}" if path else key
            pairs.append((where, one.get(key, _ABSENT), other.get(key, _ABSENT)))
    elif isinstance(left, list) and isinstance(right, list):
        first, second = cast("Iterable[Any]", left), cast("Iterable[Any]", right)
        pairs.extend(
            (f"{path}[{number}]", one, other)
            for number, (one, other) in enumerate(zip_longest(first, second, fillvalue=_ABSENT))
        )
    elif left is _ABSENT:
        return [Change(path, None, right, "right")]
    elif right is _ABSENT:
        return [Change(path, left, None, "left")]
    elif _alike(left, right):
        return []
    else:
        return [Change(path, left, right)]
    return [change for where, one, other in pairs for change in _changes(where, one, other)]


def _alike(left: Any, right: Any) -> bool:
    return type(left) is type(right) and repr(left) == repr(right)  # 1 equals True, and 0.0 equals -0.0


LogVerdict: TypeAlias = Literal["ok", "other-version", "diverged", "fails", "invalid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCheck:
    """Whether a machine can go on from a log: ``ok``, or why not, from which entry on, and in which words."""

    verdict: LogVerdict
    index: int | None = None
    message: str = ""


def check_log(machine: Machine[Any, Any, Any], entries: Iterable[LogEntry]) -> LogCheck:
    """Say whether ``machine`` could go on from a log, without executing anything but its own pure functions.

    ``other-version``: another version has written it; ``diverged``: it leads somewhere else now; ``fails``: a function
    of the machine raises; ``invalid``: it is no log.
    """
    try:
        replay(machine, entries)
    except LogVersionError as error:
        return LogCheck(verdict="other-version", index=error.index, message=error.message)
    except ReplayDivergedError as error:
        return LogCheck(verdict="diverged", index=error.index, message=error.message)
    except ReplayFailedError as error:
        return LogCheck(verdict="fails", index=error.index, message=error.message)
    except InvalidLogError as error:
        return LogCheck(verdict="invalid", index=error.index, message=error.message)
    except JournalError as error:
        return LogCheck(verdict="invalid", message=error.message)
    return LogCheck(verdict="ok")
