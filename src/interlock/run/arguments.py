"""What a run was called with: looked at before anything runs, so that a slip is not taken for a failure of the run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import cast

from interlock.agent.contract import Executors
from interlock.agent.reasons import short
from interlock.errors import BindError
from interlock.journal import Store
from interlock.journal.entries import is_name, wrong_id
from interlock.run.abort import Abort

__all__ = [
    "check_actors",
    "check_arguments",
    "check_event_id",
    "check_executor",
    "check_max_model_calls",
    "checked_executors",
    "checked_on",
]

_SLOTS = ("decide", "generate_text", "stream_text")


def check_actors(actors: object) -> None:
    """Refuse actors that are no mapping."""
    if actors is not None and not isinstance(actors, Mapping):
        raise _wrong(f"actors={short(actors)}: give functions or machines by source: {{'name': function}}")


def checked_executors(executors: object) -> Executors:
    """Return the executors of a run, each a function that can be called as one."""
    if executors is None:
        return Executors()
    if not isinstance(executors, Executors):
        raise _wrong(
            f"executors={short(executors)} is {type(executors).__name__}; wrap the functions: Executors(decide=...)"
        )
    for slot in _SLOTS:
        given = getattr(executors, slot)
        if given is not None:
            check_executor(given, f"Executors({slot}=...)")
    return executors


def check_executor(given: object, place: str) -> None:
    """Refuse an executor that cannot be called with a request and an info, naming its ``place``."""
    if not callable(given):
        raise _wrong(f"{place}: {short(given)} is no function; give one that takes (request, info)")
    try:
        signature = inspect.signature(given)
    except (TypeError, ValueError):
        return  # a builtin that does not say
    try:
        signature.bind("request", "info")
    except TypeError as error:
        name = getattr(given, "__qualname__", type(given).__name__)
        raise _wrong(
            f"{place}: {name}{short(str(signature), 200)[1:-1]} is called with (request, info), by position ({error})"
        ) from None


def check_arguments(
    *,
    decisions: object,
    max_model_calls: object,
    budget: object,
    timers: object,
    abort: object,
    clock: object,
    execution_id: object,
    store: object,
    thread_id: object,
    event: object,
    event_id: object,
    replies: object,
    observers: Mapping[str, object],
) -> None:
    """Refuse options that mean nothing; ``observers`` are those that are single functions, by keyword."""
    if decisions not in ("concurrent", "one-at-a-time"):
        raise _wrong(f"decisions={decisions!r}; give 'concurrent' or 'one-at-a-time'")
    _check_limits(max_model_calls=max_model_calls, timers=timers)
    if abort is not None and not isinstance(abort, Abort):
        raise _wrong(f"abort={short(abort)}; give an Abort()")
    if clock is not None and not all(callable(getattr(clock, name, None)) for name in ("now", "sleep_until")):
        raise _wrong(f"clock={short(clock)}; give an object with now() and async sleep_until(due), as SystemClock()")
    _check_thread(execution_id=execution_id, store=store, thread_id=thread_id, budget=budget)
    if event_id is not None:
        check_event_id(event_id)
        if event is None:
            raise _wrong(f"event_id={short(event_id)} names an event; give event= with it")
    if replies is not None and not isinstance(replies, Mapping):
        raise _wrong(f"replies={short(replies)}; give replies by the id of their question")
    _check_functions(observers)


def check_run(*, store: object, max_model_calls: object, timers: object, **functions: object) -> None:
    """Refuse options of a run inside another one that mean nothing."""
    _check_limits(max_model_calls=max_model_calls, timers=timers)
    if store is not None:
        _check_store(store)
    _check_functions(functions)


def _check_limits(*, max_model_calls: object, timers: object) -> None:
    check_max_model_calls(max_model_calls)
    if timers not in ("wait", "return"):
        raise _wrong(f"timers={timers!r}; give 'wait' or 'return'")


def _check_functions(functions: Mapping[str, object]) -> None:
    for name, given in functions.items():
        if given is not None and not callable(given):
            raise _wrong(f"{name}={short(given)} is no function; give one that takes {_TAKEN[name]}")


def _check_store(store: object) -> None:
    if isinstance(store, type) or not isinstance(store, Store):
        raise _wrong(f"store={short(store)}; give a store, such as SQLiteStore('runs.db')")


def _check_thread(*, execution_id: object, store: object, thread_id: object, budget: object) -> None:
    for name, given in (("execution_id", execution_id), ("thread_id", thread_id)):
        if given is not None and not is_name(given):
            raise _wrong(f"{name}={short(given)}; give a text that is not empty, and without lone surrogates")
    if (store is None) != (thread_id is None):
        raise _wrong("store= and thread_id= belong together: where the log is kept, and under which name")
    if store is not None:
        _check_store(store)
    if budget not in ("run", "thread"):
        raise _wrong(f"budget={short(budget)}; give 'run' or 'thread'")
    if budget == "thread" and store is None:
        raise _wrong("budget='thread' counts the calls of a thread; give store= and thread_id=")


def check_max_model_calls(most: object) -> None:
    """Refuse what is no number of calls."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 0:
        raise _wrong(f"max_model_calls={most!r}; give a whole number of 0 or more")


def check_event_id(event_id: object) -> None:
    """Refuse what cannot name an event."""
    wrong = wrong_id(event_id)
    if wrong is not None:
        raise _wrong(f"event_id={short(event_id)}: {wrong}")


def checked_on(on: object) -> Mapping[object, Callable[..., object]]:
    """Return the functions that hear what is emitted."""
    if on is None:
        return {}
    if not isinstance(on, Mapping):
        raise _wrong(f"on={short(on)}; give functions by event: {{EventClass: function}}")
    found = cast("Mapping[object, object]", on)
    for key, given in found.items():
        if not callable(given):
            raise _wrong(f"on={{{short(key)}: {short(given)}}}: this is no function; give one that takes the event")
    return cast("Mapping[object, Callable[..., object]]", found)


_TAKEN = {
    "on_transition": "(snapshot, input)",
    "on_event": "what was committed",
    "on_chunk": "(text, request)",
    "on_result": "(request, output, raw)",
    "on_trace": "the trace event",
    "user_input": "the request",
}


def _wrong(reason: str) -> BindError:
    return BindError(reason, code="invalid-argument")
