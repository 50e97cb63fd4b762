"""A machine that asks nothing by itself, run with models all the same: a pure mapping says what each state asks.

    get_requests(snapshot) -> requests -> texts, all at once -> events, in the order of the requests -> again

For machines that were there before there were models: nothing in them has to be changed. What is asked is not in the
machine's log, its events are; so what a crash cuts off is asked again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar, Unpack, cast

import anyio

from interlock.agent.contract import Choice, ExecutorInfo, Executors, TextResult
from interlock.agent.decide import Allowed, DecideSpec
from interlock.agent.descriptors import describe
from interlock.agent.events import Event
from interlock.agent.legality import forbidden, offer, refusal
from interlock.agent.message_helpers import assistant_message, user_message
from interlock.agent.reading import AnyMachine, classes_of
from interlock.agent.reasons import short
from interlock.agent.requests import DecisionRequest
from interlock.agent.text import text_request
from interlock.agent.turn_outcome import turn_outcome
from interlock.agent.turns import Ledger, TextTask
from interlock.errors import BindError, InputError, NoLegalEventsError
from interlock.run.arguments import checked_executors
from interlock.run.border import error_info, read_event
from interlock.run.exits import HOST_MISTAKES
from interlock.run.functions import call, together
from interlock.run.noted import cost_of
from interlock.run.options import GivenEvent, RunOptions, Saved
from interlock.run.resolve import resolve_decision
from interlock.run.results import Done, Failed, Idle
from interlock.run.running import Run, beside, open_run
from interlock.run.settle import cause_of
from interlock.run.step_calls import execute_agent_request
from interlock.statechart import Machine, Snapshot
from interlock.statechart.definition import is_deferred

__all__ = ["RetrofitRequest", "run_with_requests"]

C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrofitRequest:
    """What is asked where a machine stands.

    A ``text`` leads to the event ``on_done``, or to the one that this makes of the text; without it, to a decision
    among the events that are legal then, for a model that is shown the text. A ``decision`` leads to the event that is
    picked, or to what ``on_done`` makes of that. ``allowed_events`` narrows what a decision may pick.
    """

    model: str
    prompt: str
    system: str | None = None
    kind: Literal["text", "decision"] = "text"
    allowed_events: Allowed | None = None
    on_done: GivenEvent | Callable[[Any], GivenEvent] | None = None
    name: str = "request"

    def __post_init__(self) -> None:
        for name in ("model", "prompt", "name"):
            if not isinstance(getattr(self, name), str):
                raise InputError(
                    f"RetrofitRequest({name}={short(getattr(self, name))}): give a text", code="invalid-input"
                )
        if self.kind not in ("text", "decision"):
            raise InputError(
                f"RetrofitRequest(kind={short(self.kind)}): give 'text' or 'decision'", code="invalid-input"
            )


async def run_with_requests(
    machine: Machine[C, I, O],
    get_requests: Callable[[Snapshot[C]], Sequence[RetrofitRequest]],
    *,
    input: I | None = None,
    snapshot: Saved[C] | None = None,
    event: GivenEvent | None = None,
    **options: Unpack[RunOptions[C]],
) -> Done[O, C] | Idle[C] | Failed[C]:
    """Run a machine without work of its own, asking what ``get_requests`` wants to know wherever it comes to rest.

    Arguments:
        machine: the machine.
        get_requests: a pure function of the snapshot. Its texts are written all at once, then their events are sent in
            the order of the requests, a decision being made where the machine stands by then. An empty list ends the
            run: it is :class:`Idle`.
        input: as for ``run_agent``; so is ``snapshot``.
        snapshot: where to go on instead.
        event: delivered before anything is asked.
        options: ``max_model_calls`` counts the calls of the requests, retries included.

    Returns what ``run_agent`` returns. A call that fails, an event that the machine does not accept where it stands
    (``event-not-accepted``), a decision with nothing to pick, and whatever ``get_requests`` raises settle as
    :class:`Failed`, with the snapshot before it.
    """
    function: object = get_requests
    if not callable(function) or is_deferred(function):
        raise BindError(
            f"get_requests={short(get_requests)}: give a plain function of the snapshot, one that is not async",
            code="invalid-argument",
        )
    run: Run[C, I, O] = open_run(machine, input=input, snapshot=snapshot, event=event, **options)
    await run.begin()
    async with beside(partial(run.go, stay=True), wait=False):
        result = await _asked(_Asking(machine, run, options), run, get_requests)
    return replace(result, usage=run.usage)


async def _asked(
    asking: _Asking, run: Run[C, Any, O], get_requests: Callable[[Snapshot[C]], Sequence[RetrofitRequest]]
) -> Done[O, C] | Idle[C] | Failed[C]:
    while isinstance(result := await _settled(run), Idle):
        try:
            requests = _checked(get_requests(result.snapshot))
            if not requests:
                break
            texts = await asking.texts(requests)
            for number, request in enumerate(requests):
                here = cast("Snapshot[C]", run.snapshot)
                run.send_nowait(await asking.event(here, request, number, texts[number]))
                if not isinstance(await _settled(run), Idle):
                    break
        except HOST_MISTAKES:
            raise
        except Exception as error:  # noqa: BLE001  # whatever the outside has raised, the snapshot is not lost
            run.budget.book(cost_of(error))
            info, last = error_info(error), await _settled(run)
            result = Failed(
                cause=cause_of(info),
                error=info,
                exception=error,
                snapshot=run.snapshot,
                entries=last.entries,
                ignored=last.ignored,
                duplicate=last.duplicate,
                late=last.late,
            )
            break
    return result


async def _settled(run: Run[C, Any, O]) -> Done[O, C] | Idle[C] | Failed[C]:
    await run.settled()
    return run.result()


def _checked(given: object) -> tuple[RetrofitRequest, ...]:
    """Return what a mapping has returned, having seen that it is made of requests."""
    requests = tuple(cast("Sequence[object]", given)) if isinstance(given, list | tuple) else (given,)
    for request in requests:
        if not isinstance(request, RetrofitRequest):
            raise InputError(
                f"get_requests returned {short(request)}; let it return RetrofitRequests in a list, or an empty list",
                code="invalid-input",
            )
    return cast("tuple[RetrofitRequest, ...]", requests)


class _Asking:
    """Asks models, and keeps count."""

    def __init__(self, machine: AnyMachine, run: Run[Any, Any, Any], options: RunOptions[Any]) -> None:
        self.budget = run.budget
        self._threads = run.threads
        self._machine = machine
        self._executors: Executors = checked_executors(options.get("executors"))
        self._run = options.get("execution_id") or uuid.uuid4().hex
        self._passes = 0

    async def texts(self, requests: Sequence[RetrofitRequest]) -> list[str]:
        """Return the texts that are asked for, at the places of their requests; the first failure ends the others."""
        found = [""] * len(requests)
        failures: list[Exception] = []
        self._passes += 1

        async def write(number: int) -> None:
            try:
                if requests[number].kind == "text":
                    found[number] = await self._text(requests[number], self._id(number))
            except Exception as error:  # noqa: BLE001  # raised below, as itself and not in a group
                failures.append(error)
                scope.cancel()

        with anyio.CancelScope() as scope:
            await together(len(requests), write)
        if failures:
            raise failures[0]
        return found

    async def event(self, snapshot: Snapshot[Any], request: RetrofitRequest, number: int, text: str) -> GivenEvent:
        """Return the event that a request leads to where the machine stands now, and that it accepts."""
        then, answer = request.on_done, cast("object", text)
        if request.kind == "decision" or then is None:
            answer = await self._decision(snapshot, request, self._id(number), text)
        event: Event = read_event(self._machine, then(answer) if callable(then) else answer if then is None else then)
        wrong = forbidden(snapshot, event)  # also what only a person may send: it is a model that has led here
        if wrong is not None:
            raise InputError(
                f"machine {self._machine.id!r}, {', '.join(snapshot.states)}: {request.name!r} leads to the event "
                f"{short(event)}, which is not accepted here ({wrong}); accepted: "
                f"{', '.join(snapshot.accepted_events()) or '-'}",
                code="event-not-accepted",
            )
        return event

    async def _text(self, request: RetrofitRequest, identity: str) -> str:
        definition = text_request(request.name, model=request.model, prompt=request.prompt, system=request.system or "")
        asked = replace(definition.request(id=identity), call_key=f"{identity}.0", steps_remaining=1)
        self.budget.admit(identity)
        result = cast("TextResult", await execute_agent_request(asked, self._executors, verbose=True))
        self.budget.book(result.usage)
        outcome = turn_outcome(TextTask(definition=definition, request=asked, tools={}, ledger=Ledger()), result)
        if outcome.error is not None:
            raise outcome.error
        return str(outcome.shown)

    async def _decision(self, snapshot: Snapshot[Any], request: RetrofitRequest, identity: str, text: str) -> Event:
        if self._executors.decide is None:
            raise BindError(f"{request.name!r} has to be decided: give Executors(decide=...)", code="missing-executor")
        spec = DecideSpec(name=request.name, allowed_events=request.allowed_events, wording={})
        events = offer(self._machine, snapshot, spec).events
        if not events:
            reason, accepted = f"{request.name!r} has no event to pick from", snapshot.accepted_events()
            raise NoLegalEventsError(reason, machine=self._machine.id, state=snapshot.states[-1], accepted=accepted)
        said = (user_message(request.prompt), assistant_message(text)) if request.kind == "text" else ()
        offered, prompt = describe(events, among=classes_of(self._machine).values()), None if said else request.prompt
        asked = DecisionRequest(id=identity, name=request.name, events=offered, prompt=prompt, messages=said)
        asked = replace(asked, model=request.model, system=request.system)
        return await resolve_decision(
            asked, self._counted, can_take=lambda event: refusal(snapshot, event) is None, run_id=self._run
        )

    async def _counted(self, request: DecisionRequest, info: ExecutorInfo) -> Choice:
        self.budget.admit(request.id)
        bound = partial(cast("Callable[..., object]", self._executors.decide), request, info)
        answer = cast("Choice", await call(bound, threads=self._threads))
        self.budget.book(answer.usage if isinstance(cast("object", answer), Choice) else None)
        return answer

    def _id(self, number: int) -> str:
        return f"{self._run}:request:{self._passes}.{number}"
