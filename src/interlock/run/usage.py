"""What a run has spent: model calls, counted before they are made, and tokens, as far as they are reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

from interlock.agent.contract import Choice, TextResult, Usage
from interlock.errors import ModelCallLimitError
from interlock.journal import LogEntry
from interlock.journal.entries import entries_of

__all__ = ["Budget", "RunUsage", "get_usage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUsage:
    """What the model calls of one run consumed. A field stays None until some call reports it.

    ``model_calls`` counts every call that was made, retries included, whatever came of it.
    """

    model_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None

    def plus(self, usage: Usage) -> RunUsage:
        """Return this with what one call reports added."""
        sums = {
            field.name: (getattr(self, field.name) or 0) + reported
            for field in fields(usage)
            if (reported := getattr(usage, field.name)) is not None
        }
        return replace(self, **sums)


def get_usage(entries: Iterable[LogEntry]) -> RunUsage:
    """Return what the model calls that a log tells of have consumed: its own, or a part's, or a whole thread's."""
    total = RunUsage()
    for entry in entries_of(entries):
        given: Mapping[str, object] = entry.usage or {}
        known = {field.name: value for field in fields(RunUsage) if isinstance(value := given.get(field.name), int)}
        if known:
            total = replace(total, **{name: (getattr(total, name) or 0) + value for name, value in known.items()})
    return total


class Budget:
    """Admits model calls up to a limit and keeps the account; one for a run, shared by all machines of its tree.

    ``above`` is the budget of the run whose tool this run is: what is spent here is spent there as well.
    """

    __slots__ = ("above", "before", "limit", "spent")

    def __init__(self, limit: int, above: Budget | None = None) -> None:
        self.limit = limit
        self.above = above
        self.before = 0
        """Calls that count and were made before this run: those of its thread, where the budget is the thread's."""
        self.spent = RunUsage()

    def admit(self, request_id: str) -> None:
        """Count a call that is about to be made; raises :class:`ModelCallLimitError` where it is one too many."""
        if self.before + self.spent.model_calls >= self.limit:
            whose = f"this run has made the {self.limit}"
            if self.before:
                whose = f"its thread has made {self.before + self.spent.model_calls} of the {self.limit}"
            raise ModelCallLimitError(
                f"request {request_id!r} wants a model call, but {whose} that max_model_calls allows; raise the limit, "
                "or handle the code 'max-model-calls' in on_error",
                limit=self.limit,
            )
        if self.above is not None:
            self.above.admit(request_id)
        self.spent = replace(self.spent, model_calls=self.spent.model_calls + 1)

    def book_late(self, answer: object) -> None:
        """Add what an answer reports that came when nobody waited for it any more."""
        if isinstance(answer, Choice | TextResult) and isinstance(answer.usage, Usage):
            self.book(answer.usage)

    def book(self, usage: Usage | None) -> None:
        """Add what a call reports."""
        if usage is not None:
            self.spent = self.spent.plus(usage)
            if self.above is not None:
                self.above.book(usage)
