"""The refused choices that a log tells of, for those who want to know how well a model chooses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from interlock.agent.requests import DecisionAttempt
from interlock.errors import InputError
from interlock.journal import LogEntry
from interlock.journal.entries import entries_of
from interlock.statechart import UNSET

__all__ = ["get_decision_attempts"]


def get_decision_attempts(entries: Iterable[LogEntry]) -> dict[str, tuple[DecisionAttempt, ...]]:
    """Return the choices of decisions and plans that were refused, oldest first, by the id of their request.

    Arguments:
        entries: a log, or a part of one. What was refused before its first entry it does not tell.
    """
    found: dict[str, list[DecisionAttempt]] = {}
    for entry in entries_of(entries):
        record: object = entry.record
        if entry.invocation is None or record is UNSET or not isinstance(record, Mapping):
            continue
        given = cast("Mapping[str, object]", record)
        if given.get("kind", "attempt") != "attempt":
            continue  # a turn, an answer, a step of a plan
        try:
            attempt = DecisionAttempt.from_json(given)
        except InputError:
            continue  # whatever else a host has recorded
        found.setdefault("/".join((*entry.to, entry.invocation)), []).append(attempt)
    return {identity: tuple(attempts) for identity, attempts in found.items()}
