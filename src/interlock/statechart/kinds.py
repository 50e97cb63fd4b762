"""The kinds of states as small numbers, which a step compares faster than words."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ATOMIC", "CHOICE", "COMPOUND", "FINAL", "HISTORY", "KINDS", "PARALLEL"]

ATOMIC, COMPOUND, PARALLEL, FINAL, HISTORY, CHOICE = range(6)
KINDS: Mapping[str, int] = {
    "atomic": ATOMIC,
    "compound": COMPOUND,
    "parallel": PARALLEL,
    "final": FINAL,
    "history": HISTORY,
    "choice": CHOICE,
}
