"""What a turn of a text request comes to: it goes on, it is done, or it has failed. Pure, so all hosts agree."""

from __future__ import annotations

from dataclasses import dataclass

from interlock.agent.contract import TextResult
from interlock.agent.turns import TextTask, TurnRecord, final_output, step_limit, turn_record
from interlock.statechart import UNSET

__all__ = ["TurnOutcome", "turn_outcome"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """One turn, judged.

    ``record`` is what is kept of it (None for a turn that was cut off or held back), ``output`` the answer as JSON and
    ``shown`` as its type, ``error`` why there is none. Neither of them: tools are called, and the model is asked again.
    """

    record: TurnRecord | None = None
    output: object = UNSET
    shown: object = None
    error: Exception | None = None

    @property
    def goes_on(self) -> bool:
        """Whether the request is not over."""
        return self.output is UNSET and self.error is None


def turn_outcome(task: TextTask, result: TextResult) -> TurnOutcome:
    """Say what the answer of an executor, which is not trusted, comes to."""
    request = task.request
    try:
        record = turn_record(request, result)
    except Exception as error:  # noqa: BLE001  # whatever else it is, it goes to the invocation
        return TurnOutcome(error=error)
    if record.calls:
        if task.acts or request.steps_remaining > 1:
            return TurnOutcome(record=record)
        return TurnOutcome(record=record, error=step_limit(request, record.calls))
    try:
        if task.acts and result.output is None:
            return TurnOutcome(record=record, output="", shown="")
        output = final_output(task.definition, request, result)
        return TurnOutcome(record=record, output=output, shown=task.definition.decode(output))
    except Exception as error:  # noqa: BLE001  # validators and serializers are other people's code
        return TurnOutcome(record=record, error=error)
