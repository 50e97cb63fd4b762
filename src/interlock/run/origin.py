"""Where something happens in a running system: which machine, state, request and attempt."""

from __future__ import annotations

from dataclasses import dataclass

from interlock.statechart import OwedInvocation

__all__ = ["Origin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Whose work it is. ``request_id`` names the invocation and no other, before and after a restart.

    ``state`` is None for a child that was spawned. ``attempt`` counts the calls of a request: 1 is the first, 2 the
    first retry of a decision or the second turn of a text.
    """

    machine: str
    state: str | None
    request_id: str
    name: str | None = None
    attempt: int = 1

    @classmethod
    def of(cls, owed: OwedInvocation, *, name: str | None = None, attempt: int = 1) -> Origin:
        """Return where a piece of owed work belongs."""
        return cls(
            machine=owed.snapshot.machine_id,
            state=owed.state,
            request_id=owed.identity,
            name=name,
            attempt=attempt,
        )

    def __str__(self) -> str:
        name = "" if self.name is None else f" ({self.name})"
        state = "spawned" if self.state is None else f"state {self.state!r}"
        return f"machine {self.machine!r}, {state}, request {self.request_id!r}{name}, attempt {self.attempt}"

    def to_json(self) -> dict[str, object]:
        """Return this as JSON data."""
        return {
            "machine": self.machine,
            "state": self.state,
            "request_id": self.request_id,
            "name": self.name,
            "attempt": self.attempt,
        }
