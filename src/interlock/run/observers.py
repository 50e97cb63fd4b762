"""Those who look on: told after each step, in order, and unable to change anything, even by raising."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from interlock.errors import BindError
from interlock.statechart import Effect, Emit, Input, Log, Send, Snapshot

__all__ = ["Committed", "Observer", "Observers"]

Observer: TypeAlias = Callable[..., object]
"""A plain or async function; what it gives back is not looked at, what it raises is logged."""

_log = logging.getLogger("interlock.run")
_machine_log = logging.getLogger("interlock.machine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """One thing that has happened to the running system: what it was told, when, and as the how-manieth thing.

    Number 0 is the start, with ``input`` None; resuming starts a new count.
    """

    index: int
    at: float
    input: Input | None


class Observers:
    """The observers of one run. An error of one is logged once (logger ``interlock.run``) and changes nothing."""

    def __init__(
        self,
        *,
        on_transition: Observer | None = None,
        on_event: Observer | None = None,
        on: Mapping[Any, Observer] | None = None,
    ) -> None:
        self._on_transition = on_transition
        self._on_event = on_event
        self._on = {_type_of(key): function for key, function in (on or {}).items()}
        self._reported: set[int] = set()

    async def publish(self, committed: Committed, snapshot: Snapshot[Any] | None, effects: Sequence[Effect]) -> None:
        """Tell of one input, of the snapshot it led to (None: unchanged) and of what was emitted and logged."""
        if self._on_event is not None:
            await self._tell(self._on_event, committed)
        if self._on_transition is not None and snapshot is not None:
            await self._tell(self._on_transition, snapshot, committed.input)
        for effect in effects:
            if isinstance(effect, Emit):
                for key in (effect.event.type, "*"):
                    if key in self._on:
                        await self._tell(self._on[key], effect.event)
            elif isinstance(effect, Log):
                _machine_log.info("%s", " ".join(str(value) for value in effect.values))
            elif isinstance(effect, Send) and effect.delay is None:
                _log.warning(
                    "event %r was sent to child %r, a function, which hears nothing", effect.event.type, effect.to
                )

    async def _tell(self, observer: Observer, *values: object) -> None:
        try:
            answer = observer(*values)
            if inspect.isawaitable(answer):
                await answer
        except Exception:  # noqa: BLE001  # observers only observe
            if id(observer) not in self._reported:
                self._reported.add(id(observer))
                _log.exception(
                    "observer %r raised; the run goes on as if it had not. Further errors of it are not reported",
                    getattr(observer, "__qualname__", observer),
                )


def _type_of(key: object) -> str:
    kind = key if isinstance(key, str) else getattr(key, "type", None)
    if not isinstance(kind, str) or not kind:
        raise BindError(
            f"on={{{key!r}: ...}} names no event; use an event class, its type, or '*' for all", code="invalid-argument"
        )
    return kind
