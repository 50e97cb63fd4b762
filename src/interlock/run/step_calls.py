"""The two functions of the step path that call outside code: a host may use them, or call models in its own way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar, cast

from interlock.agent.contract import Choice, ExecutorInfo, Executors, TextResult, runs_whole_loops
from interlock.agent.decisions import checked_choice
from interlock.agent.reasons import short
from interlock.agent.requests import DecisionRequest
from interlock.agent.text_requests import TextRequest
from interlock.agent.tool_requests import ToolRequest
from interlock.errors import BindError, InputError
from interlock.run.arguments import checked_executors
from interlock.run.bind import whole_loops
from interlock.run.clock import Clock, SystemClock
from interlock.run.exits import HOST_MISTAKES, Exits
from interlock.run.functions import Threads, call, together
from interlock.run.running import alone
from interlock.run.step_requests import tools_of
from interlock.run.steps import AgentRequest, AgentStep, checked_head, reject_agent_step, resolve_agent_step
from interlock.run.texting import executor_of, turn_of
from interlock.run.tool_scope import ToolScope
from interlock.run.toolbox import run_tool
from interlock.statechart import Machine, OwedInvocation

__all__ = ["carried_out", "execute_agent_request", "resolve_agent_requests"]

C = TypeVar("C")


async def execute_agent_request(
    request: AgentRequest,
    executors: Executors | None = None,
    *,
    verbose: bool = False,
    step: AgentStep[Any] | None = None,
    on_chunk: Callable[[str], Awaitable[None]] | None = None,
) -> object:
    """Carry out one text request, or one tool: one call of outside code, and nothing else.

    Arguments:
        request: what is asked, from this process or another.
        executors: who carries it out; only the slot that this request needs has to be filled.
        verbose: whether the whole :class:`TextResult` is returned; else only its output, if that is all there is to it.
        step: the step that the request belongs to; needed for tools, and for requests with an executor of their own.
        on_chunk: called with each piece of a text that is streamed, or that the executor shows, and waited for.

    Returns what :func:`resolve_agent_step` takes. What the executor raises is passed on, for :func:`reject_agent_step`.
    Raises :class:`InputError` for a decision: that is a question of its own, see :func:`resolve_decision`.
    """
    given = checked_executors(executors)
    if not isinstance(request, AgentRequest):  # pyright: ignore[reportUnnecessaryIsInstance]  # whatever was given
        raise InputError(f"{short(request)} is no request; read it with TextRequest.from_json", code="invalid-input")
    if isinstance(request, DecisionRequest):
        raise InputError(
            f"request {request.id!r} is a decision, which has no output; ask with resolve_decision(request, decide) or "
            "your own code, and give the choice to resolve_agent_step(machine, step, request, choice)",
            code="invalid-input",
        )
    item = None if step is None else _item(step, request.id)
    if isinstance(request, ToolRequest):
        if item is None:
            raise _needs_step(request)
        key = request.call_key or request.id
        scope = ToolScope(key=key, run_id=key.rpartition(f":{request.id}.")[0], executors=given)
        tools = tools_of(cast("AgentStep[Any]", step).head, item)
        return await run_tool(request.call, tools, scope=scope, threads=Threads())
    result = await _turn(request, item, given, on_chunk)
    plain = not result.tool_calls and not result.messages and result.finish_reason not in ("length", "content-filter")
    return result.output if plain and not verbose else result


async def resolve_agent_requests(
    machine: Machine[C, Any, Any],
    step: AgentStep[C],
    executors: Executors | None = None,
    *,
    clock: Clock | None = None,
) -> AgentStep[C]:
    """Carry out what a step asks of models, and return the step that this leads to.

    A decision is carried out alone, for it may change what comes after; texts and tools that wait together are carried
    out together, and their results applied in the order of the requests, whoever was ready first. So each call is one
    turn of a host's loop: ``entries`` of the result is what to keep before the next one.

    Arguments:
        machine: the machine.
        step: where it stands.
        executors: who carries out model calls.
        clock: what time it is (default: the computer's).

    Raises :class:`BindError`: ``missing-executor``, naming the request, and ``nothing-to-resolve`` for a step that
    waits for something else: an event, a function or a timer.
    """
    given = checked_executors(executors)
    time = SystemClock() if clock is None else clock
    checked_head(machine, step)
    if not step.requests:
        raise _nothing_to_resolve(machine, step)
    first = step.requests[0]
    batch = (
        [first]
        if isinstance(first, DecisionRequest)
        else [request for request in step.requests if not isinstance(request, DecisionRequest)]
    )
    for request in batch:
        _check_executor(request, _item(step, request.id), given)
    outcomes: list[object] = [None] * len(batch)
    exits = Exits()

    async def carry_out(number: int) -> None:
        with exits.carried():
            outcomes[number] = await carried_out(batch[number], step, given)

    async def all_of_them() -> None:
        with exits.around():
            await together(len(batch), carry_out)

    await alone(all_of_them)
    entries, effects = step.entries[:0], step.effects[:0]
    for request, outcome in zip(batch, outcomes, strict=True):
        if isinstance(outcome, Exception):
            step = reject_agent_step(machine, step, request, outcome, at=time.now())
        else:
            step = resolve_agent_step(machine, step, request, outcome, at=time.now())
        entries, effects = (*entries, *step.entries), (*effects, *step.effects)
    return AgentStep(snapshot=step.snapshot, requests=step.requests, effects=effects, entries=entries, head=step.head)


async def carried_out(request: AgentRequest, step: AgentStep[Any], executors: Executors) -> object:
    """Carry out a request of whatever kind, and return what came of it; what outside code raises is returned as well.

    Raises what is about how it was called: :class:`BindError` and :class:`ScriptExhaustedError`.
    """
    try:
        if isinstance(request, DecisionRequest):
            return await _choice(request, executors)
        return await execute_agent_request(request, executors, verbose=True, step=step)
    except HOST_MISTAKES:
        raise
    except Exception as error:  # noqa: BLE001  # whatever else it is, it goes to the invocation
        return error


async def _choice(request: DecisionRequest, executors: Executors) -> Choice:
    if executors.decide is None:
        raise _missing(request, "decide")
    info = _info(request, attempt=_number(request))
    answer = await call(partial(executors.decide, request, info), threads=Threads())
    return checked_choice(request, answer)


async def _turn(
    request: TextRequest,
    item: OwedInvocation | None,
    executors: Executors,
    on_chunk: Callable[[str], Awaitable[None]] | None,
) -> TextResult:
    execute = _check_executor(request, item, executors)
    info = _info(request, attempt=request.max_steps - request.steps_remaining + 1, on_chunk=on_chunk)
    bound = partial(cast("Callable[..., object]", execute), request, info)
    return await turn_of(request, bound, threads=Threads(), show=on_chunk or _unseen)


def _check_executor(request: AgentRequest, item: OwedInvocation | None, executors: Executors) -> object:
    """Return who carries a request out (None for a tool); raises :class:`BindError` where nobody does."""
    if isinstance(request, ToolRequest):
        return None
    if isinstance(request, DecisionRequest):
        slot, execute = "decide", cast("object", executors.decide)
    else:
        slot = "stream_text" if request.mode == "stream" else "generate_text"
        execute = getattr(executors, slot) if item is None else executor_of(item.src, item.logic, executors)
    if execute is None:
        raise _missing(request, slot)
    if request.kind == "act" and runs_whole_loops(execute):
        raise whole_loops(f"request {request.id!r} acts")
    return execute


def _info(
    request: DecisionRequest | TextRequest, *, attempt: int, on_chunk: Callable[[str], Awaitable[None]] | None = None
) -> ExecutorInfo:
    key = request.call_key or request.id
    run = key.rpartition(f":{request.id}.")[0]  # an execution's own name may hold a colon
    return ExecutorInfo(run_id=run, request_id=request.id, call_key=key, attempt=attempt, on_chunk=on_chunk)


def _number(request: DecisionRequest) -> int:
    """Return which call of its request this is, as in a run: a plan has calls for the steps before as well."""
    number = (request.call_key or "").rpartition(".")[2]
    return int(number) + 1 if number.isdecimal() else len(request.attempts) + 1


def _item(step: AgentStep[Any], identity: str) -> OwedInvocation | None:
    return next((item for item in step.owed.invocations if item.identity == identity), None)


def _missing(request: DecisionRequest | TextRequest, slot: str) -> BindError:
    named = "" if request.name is None else f" ({request.name})"
    return BindError(
        f"request {request.id!r}{named} asks for a {request.kind}, but there is no executor for it; give "
        f"Executors({slot}=...)",
        code="missing-executor",
    )


def _needs_step(request: ToolRequest) -> BindError:
    return BindError(
        f"request {request.id!r} calls the tool {request.name!r}, whose function the machine knows; give "
        "execute_agent_request(..., step=step), with the step that asks for it now",
        code="invalid-argument",
    )


def _nothing_to_resolve(machine: Machine[Any, Any, Any], step: AgentStep[Any]) -> BindError:
    waiting = [f"the function {item.src!r} ({item.identity})" for item in step.owed.invocations]
    waiting += [f"the timer {timer.identity} (due at {timer.due})" for timer in step.owed.timers]
    events = ", ".join(step.snapshot.accepted_events())
    if events:
        waiting.append(f"one of the events {events}")
    said = "has ended" if step.done else f"waits for {' or '.join(waiting) or 'nothing'}"
    return BindError(
        f"machine {machine.id!r} asks nothing of a model in {', '.join(step.snapshot.states)}: it {said}",
        code="nothing-to-resolve",
    )


async def _unseen(_: str) -> None: ...
