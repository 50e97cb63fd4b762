"""Which worker carries out which kind of owed work."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from interlock.agent.calls import CallSpec
from interlock.agent.decide import DECIDE, DecideSpec
from interlock.agent.user_input import UserInputSpec, user_input_request
from interlock.errors import BindError, StepError
from interlock.run.border import answer_json
from interlock.run.clock import Clock
from interlock.run.deciding import Decider
from interlock.run.exits import HOST_MISTAKES
from interlock.run.functions import Entered, Threads, call, nobody
from interlock.run.means import Means
from interlock.run.texting import Writer, executor_of, is_text
from interlock.run.watching import Watched
from interlock.run.work import Work
from interlock.statechart import Machine, OwedInvocation

__all__ = ["Performer", "answer_of", "function_of"]


def function_of(source: object) -> Callable[..., object] | None:
    """Return the function that carries out a source; None where there is none (a machine is not carried out)."""
    if isinstance(source, CallSpec):
        return source.function
    return source if callable(source) and not isinstance(source, Machine) else None


async def answer_of(
    function: Callable[..., object],
    owed: OwedInvocation,
    *,
    threads: Threads,
    entered: Entered = nobody,
    own_task: bool = False,
) -> object:
    """Call the function that carries out owed work, and return what it answers as JSON; raises whatever it raises.

    For ``threads``, ``entered`` and ``own_task`` see :func:`interlock.run.functions.call`.
    """
    positional, named = CallSpec.arguments(owed.input)
    bound = partial(function, *positional, **named)
    return answer_json(owed.logic, await call(bound, threads=threads, entered=entered, own_task=own_task))


class Performer:
    """Carries out all work of one run: models' by the executors, everything else by the source's function."""

    def __init__(self, means: Means, clock: Clock) -> None:
        decide = means.executors.decide
        self._means = means
        self._decide = None if decide is None else Decider(execute=decide, means=means)
        self._write = Writer(means=means, clock=clock)

    def can(self, owed: OwedInvocation) -> bool:
        """Whether there is anybody to carry this out."""
        return not isinstance(owed.logic, UserInputSpec) or self._means.user_input is not None

    async def __call__(self, work: Work) -> None:
        """Carry out one piece of work; what outside code raises is reported to the machine."""
        owed = work.owed
        if isinstance(owed.logic, DecideSpec) or owed.src == DECIDE:
            if self._decide is not None:
                await self._decide(work)
                return
        elif isinstance(owed.logic, UserInputSpec):
            if self._means.user_input is not None:
                await self._ask(work, owed.logic, self._means.user_input)
                return
        elif is_text(owed.src, owed.logic):
            executor = executor_of(owed.src, owed.logic, self._means.executors)
            if executor is not None:
                await self._write(work, executor)
                return
        elif (source := function_of(work.machine.sources.get(owed.src))) is not None:
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

    async def _ask(self, work: Work, spec: UserInputSpec, ask: Callable[..., object]) -> None:
        """Ask a person, by the function that the host has given for it."""
        try:
            request = user_input_request(work.owed)
        except StepError as error:
            await work.crash(error)
            return
        watched = Watched(self._means.observers, work, "input", None)
        with watched.watching():
            await watched.told()
            watched.called(None)
            try:
                answer = await call(
                    partial(ask, request), threads=self._means.threads, entered=work.entered, own_task=True
                )
                output = spec.encode(answer, f"the question {request.name!r}")
            except HOST_MISTAKES:
                raise
            except Exception as error:  # noqa: BLE001  # whatever else it is, it goes to the invocation
                await work.fail(error, told=watched.failed)
                return
            await work.finish(output, told=partial(watched.ended, output))

    async def _call(self, work: Work, function: Callable[..., object]) -> None:
        watched = Watched(self._means.observers, work, "call", None)
        with watched.watching():
            await watched.told()
            watched.called(None)
            try:
                output = await answer_of(
                    function, work.owed, threads=self._means.threads, entered=work.entered, own_task=True
                )
            except HOST_MISTAKES:
                raise
            except Exception as error:  # noqa: BLE001  # whatever else it is, it goes to the invocation
                await work.fail(error, told=watched.failed)
                return
            await work.finish(output, told=partial(watched.ended, output))
