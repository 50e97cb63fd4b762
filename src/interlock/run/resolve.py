"""A decision outside any run: ask, judge, ask again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from interlock.agent.contract import DecideExecutor, ExecutorInfo
from interlock.agent.decisions import checked_choice, judge_choice
from interlock.agent.events import Event, EventClass
from interlock.agent.requests import DecisionRequest
from interlock.errors import DecisionExhaustedError, InputError
from interlock.run.arguments import check_executor
from interlock.run.functions import Threads, call

__all__ = ["resolve_decision"]


async def resolve_decision(
    request: DecisionRequest,
    decide: DecideExecutor,
    *,
    can_take: Callable[[Event], bool] | None = None,
    max_retries: int | None = None,
    events: Iterable[EventClass] = (),
    run_id: str = "",
) -> Event:
    """Ask ``decide`` until it picks an event that stands all checks, and return that event.

    Arguments:
        request: what is asked; choices that are refused are added to its attempts for the next call.
        decide: the executor, async or plain (called in a thread). What it raises is passed on; it is not an attempt.
        can_take: whether the event may be sent now (``snapshot.can``); anything goes, if not given.
        max_retries: how many more tries after the first; the request's own number, if not given.
        events: the classes of the offered events, for a request that has come as JSON and knows only their names.
        run_id: handed to the executor.

    Raises :class:`DecisionExhaustedError` when all tries are used up, :class:`BindError` for what is no executor.
    """
    check_executor(decide, "resolve_decision(decide=...)")
    if request.kind == "plan":
        raise InputError(
            f"request {request.id!r} is a plan, whose steps a machine has to take; resolve it in a run, or with "
            "resolve_agent_step",
            code="invalid-input",
        )
    classes = {**request.event_classes(), **{event.type: event for event in events}}
    unknown = [event.type for event in request.events if event.type not in classes]
    if unknown:
        raise InputError(
            f"request {request.id!r}: the classes of {', '.join(unknown)} are not known; give events=[...]",
            code="invalid-input",
        )

    def refuse(event: Event) -> str | None:
        return None if can_take is None or can_take(event) else f"{event.type!r} with this payload is not allowed now"

    threads = Threads()
    retries = request.max_retries if max_retries is None else max_retries
    for _ in range(retries + 1):
        number = len(request.attempts) + 1
        info = ExecutorInfo(run_id=run_id, request_id=request.id, call_key=f"{request.id}.{number - 1}", attempt=number)
        answer = await call(partial(decide, request, info), threads=threads)
        judged = judge_choice(request, checked_choice(request, answer), classes, refuse)
        if isinstance(judged, Event):
            return judged
        request = request.with_attempts((*request.attempts, judged))
    raise DecisionExhaustedError(request.id, request.attempts)
