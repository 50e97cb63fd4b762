"""Plain data: what is strict JSON, cannot be changed, and is not nested deeper than parsers can follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias, cast

from pydantic import BeforeValidator

from interlock.agent.reasons import reason_of
from interlock.statechart.frozen import MAX_DEPTH, freeze

__all__ = ["DEEPEST", "PlainJson", "plain", "within"]

DEEPEST = MAX_DEPTH
"""Levels of nesting. Real data has a handful; parsers of hostile data run out of stack."""


def plain(given: object) -> object:
    """Return data as frozen JSON; raises ValueError saying where it is none, as schemas expect of a validator."""
    try:
        frozen: object = freeze(given)
    except Exception as error:  # noqa: BLE001  # mappings are other people's code
        raise ValueError(reason_of(error)) from None
    if not within(frozen, DEEPEST):
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    return frozen


PlainJson: TypeAlias = Annotated[object, BeforeValidator(plain)]
"""Any JSON, as the field of a model: lists come as tuples and objects as :class:`FrozenDict`."""


def within(value: object, levels: int) -> bool:
    """Whether frozen JSON is nested at most this deep."""
    # Level by level: the depth of foreign data must not be the depth of our stack.
    here: list[object] = [value]
    for _ in range(levels):
        below: list[object] = []
        for item in here:
            if isinstance(item, Mapping):
                below.extend(cast("Mapping[str, object]", item).values())
            elif isinstance(item, tuple):
                below.extend(cast("tuple[object, ...]", item))
        if not below:
            return True
        here = below
    return False
