"""Which worker carries out which kind of owed work."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from interlock.agent.calls import CallSpec
from interlock.agent.contract import Executors
from interlock.agent.decide import DECIDE, DecideSpec
from interlock.errors import BindError
from interlock.run.border import output_json
from interlock.run.deciding import Decider
from interlock.run.functions import Threads, call
from interlock.run.usage import Budget
from interlock.run.work import Work
from interlock.statechart import Machine

__all__ = ["Performer", "function_of"]


def function_of(source: object) -> Callable[..., object] | None:
    """Return the function that carries out a source; None where there is none (a machine is not carried out)."""
    if isinstance(source, CallSpec):
        return source.function
    return source if callable(source) and not isinstance(source, Machine) else None


class Performer:
    """Carries out all work of one run: decisions by the host's executor, everything else by the source's function."""

    def __init__(self, executors: Executors, budget: Budget, execution_id: str) -> None:
        self._threads = Threads()
        self._decide = (
            None
            if executors.decide is None
            else Decider(execute=executors.decide, budget=budget, threads=self._threads, execution_id=execution_id)
        )

    async def __call__(self, work: Work) -> None:
        """Carry out one piece of work; what outside code raises is reported to the machine."""
        owed = work.owed
        source = function_of(work.machine.sources.get(owed.src))
        if isinstance(owed.logic, DecideSpec) or owed.src == DECIDE:
            if self._decide is not None:
                await self._decide(work)
                return
        elif source is not None:
            await self._call(work, source)
            return
        # Spawned at run time, where nothing could be known beforehand.
        await work.fail(
            BindError(
                f"machine {work.machine.id!r}: nothing carries out the source {owed.src!r} of child {owed.id!r}; give "
                "run_agent() an executor or actors= for it",
                code="unregistered-source",
            )
        )

    async def _call(self, work: Work, function: Callable[..., object]) -> None:
        positional, named = CallSpec.arguments(work.owed.input)
        spec = work.owed.logic
        try:
            answer = await call(partial(function, *positional, **named), entered=work.entered, threads=self._threads)
            output = spec.encode(answer) if isinstance(spec, CallSpec) else output_json(answer)
        except Exception as error:  # noqa: BLE001  # whatever it is, it goes to the invocation
            await work.fail(error)
            return
        await work.finish(output)
