"""The functions with which an author writes a statechart; each checks the shape of what it is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, cast

from interlock.errors import DefinitionError
from interlock.statechart.definition import (
    After,
    Candidate,
    Candidates,
    Function,
    Invoke,
    Kind,
    State,
    Targets,
    Transition,
    WithAt,
)
from interlock.statechart.detached import detached, detached_move, detached_operations
from interlock.statechart.inference import infer_targets
from interlock.statechart.moves import UNSET, Delay, Move, Operation

__all__ = ["after", "always", "candidates", "choice", "final", "history", "invoke", "on", "parallel", "state", "to"]


def on(
    event: str,
    then: str | Sequence[str] | Function | None = None,
    /,
    *,
    to: Targets = None,
    guard: Function | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002  # a keyword that authors write; the built-in set is not used here
    do: Sequence[Operation] = (),
    reenter: bool = False,
    input: Any = UNSET,
    meta: Mapping[str, Any] | None = None,
    description: str | None = None,
) -> Transition:
    """Return the transition for an event type or pattern (``"todo.*"``, ``"*"``).

    ``then`` is a handler or a target. Beside a handler, ``to`` declares the targets that it may return; they are
    read from its code where they are not declared.
    """
    handler: Function | None = None
    targets = to
    if callable(then) or isinstance(then, WithAt):
        handler = then
    elif then is not None:
        if to is not None:
            raise DefinitionError(
                f"transition on {event!r} names its target twice: {then!r} and to={to!r}", code="invalid-transition"
            )
        targets = then
    names = _names(targets)
    if handler is not None and names is None:
        names = infer_targets(handler.function if isinstance(handler, WithAt) else handler)
    return Transition(
        event=event,
        handler=handler,
        guard=guard,
        targets=names,
        patch=detached(dict(set)) if set else None,
        operations=detached_operations(tuple(do)) if do else (),
        reenter=reenter,
        input=input if input is UNSET else detached(input),
        meta=detached(dict(meta)) if meta else {},
        description=description,
    )


def to(
    target: Targets = None,
    *,
    guard: Function | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002  # the same
    do: Sequence[Operation] = (),
    reenter: bool = False,
    input: Any = UNSET,
    meta: Mapping[str, Any] | None = None,
    description: str | None = None,
) -> Transition:
    """Return a static transition: where to, under which guard, with which fields set and which effects."""
    return on(
        "", to=target, guard=guard, set=set, do=do, reenter=reenter, input=input, meta=meta, description=description
    )


def always(then: str | Sequence[str] | Function | None = None, /, **keywords: Any) -> Transition:
    """Return an eventless transition: taken as soon as its handler or guard allows it. Keywords as :func:`on`."""
    return on("", then, **keywords)


def after(delay: Delay, then: Candidates, /) -> After:
    """Return the transitions taken once the state has been active for ``delay`` (seconds, timedelta or a name)."""
    return After(_delay(delay), candidates(then))


def invoke(
    src: str,
    /,
    *,
    id: str | None = None,
    input: Any = None,
    on_done: Candidates = (),
    on_error: Candidates = (),
    timeout: Delay | None = None,
    on_timeout: Candidates = (),
    logic: Any = None,
    meta: Mapping[str, Any] | None = None,
) -> Invoke:
    """Return work that runs while a state is active; ``input`` is a value or a function of the context."""
    if not isinstance(cast("object", src), str):
        raise DefinitionError(
            f"invoke({src!r}) names no source; name one: invoke('name', ...), with sources={{'name': ...}} on the "
            "machine",
            code="unknown-source",
        )
    return Invoke(
        src=src,
        id=id,
        input=detached(input),
        on_done=candidates(on_done),
        on_error=candidates(on_error),
        timeout=None if timeout is None else _delay(timeout),
        on_timeout=candidates(on_timeout),
        logic=logic,
        meta=detached(dict(meta)) if meta else {},
    )


def state(
    *,
    kind: Kind | None = None,
    initial: str | tuple[str, Any] | None = None,
    states: Mapping[str, State] | None = None,
    on: Mapping[str, Candidates] | Sequence[Transition] = (),
    always: Candidates = (),
    after: Mapping[Any, Candidates] | Sequence[After] = (),
    timeout: Delay | None = None,
    on_timeout: Candidates = (),
    on_done: Candidates = (),
    on_error: Candidates = (),
    invoke: Invoke | Sequence[Invoke] = (),
    entry: Function | Move | None = None,
    exit: Function | Move | None = None,  # noqa: A002  # the same
    output: Any = UNSET,
    context: type[Any] | None = None,
    tags: str | Iterable[str] = (),
    meta: Mapping[str, Any] | None = None,
    id: str | None = None,
    description: str | None = None,
) -> State:
    """Return a state. It is compound if it has ``states``, atomic otherwise; ``initial`` may be ``(key, input)``.

    ``context`` is a type narrower than the machine's: a step that would have the state active with any other context
    is refused (``InvalidMoveError``, code ``invalid-context``).
    """
    children = dict(states) if states else {}
    if isinstance(initial, tuple) and len(cast("tuple[object, ...]", initial)) != 2:
        raise DefinitionError(f"initial={initial!r}: give a key, or (key, input)", code="invalid-state")
    initial_key, initial_input = initial if isinstance(initial, tuple) else (initial, UNSET)
    return State(
        kind=kind or ("compound" if children else "atomic"),
        id=id,
        initial=initial_key,
        initial_input=detached(initial_input),
        states=children,
        on=_handlers(on),
        always=candidates(always),
        after=_delayed(after),
        timeout=None if timeout is None else _delay(timeout),
        on_timeout=candidates(on_timeout),
        on_done=candidates(on_done),
        on_error=candidates(on_error),
        invoke=_invocations(invoke),
        entry=detached_move(entry) if isinstance(entry, Move) else entry,
        exit=detached_move(exit) if isinstance(exit, Move) else exit,
        output=detached(output),
        context=context,
        tags=(tags,) if isinstance(tags, str) else tuple(tags),
        meta=detached(dict(meta)) if meta else {},
        description=description,
    )


def parallel(*, states: Mapping[str, State], **keywords: Any) -> State:
    """Return a state whose children are all active at once. Keywords as :func:`state`."""
    return state(kind="parallel", states=states, **keywords)


def final(*, output: Any = UNSET, **keywords: Any) -> State:
    """Return a final state; ``output`` is a value or a function of the context, computed once when it is entered."""
    return state(kind="final", output=output, **keywords)


def history(*, deep: bool = False, target: Targets = None, id: str | None = None) -> State:
    """Return a history state: it stands for what was last active in its parent, or for ``target`` the first time.

    Without ``target`` the first visit enters the parent as if it had been the target itself.
    """
    return State(kind="history", deep=deep, targets=_names(target), id=id)


def choice(
    choose: Function, /, *, to: Targets = None, id: str | None = None, meta: Mapping[str, Any] | None = None
) -> State:
    """Return a state that is left at once: ``choose(context)`` returns the move. ``to`` declares its targets."""
    names = _names(to)
    if names is None:
        names = infer_targets(choose.function if isinstance(choose, WithAt) else choose)
    return State(kind="choice", choose=choose, targets=names, id=id, meta=detached(dict(meta)) if meta else {})


def _invocations(given: object) -> tuple[Invoke, ...]:
    if isinstance(given, Invoke):
        return (given,)
    items = tuple(cast("Sequence[object]", given)) if isinstance(given, (list, tuple)) else (given,)
    for item in items:
        if not isinstance(item, Invoke):
            raise DefinitionError(
                f"invoke={item!r} is no invocation; name a source: invoke('name', ...), with sources={{'name': ...}} "
                "on the machine",
                code="invalid-state",
            )
    return cast("tuple[Invoke, ...]", items)


def candidates(given: Candidates) -> tuple[Transition, ...]:
    """Return what the author gave for one slot as a tuple of transitions."""
    if given == ():
        return ()
    if isinstance(given, (str, Transition, WithAt)) or callable(given):
        return (_candidate(given),)
    if not isinstance(cast("Any", given), Sequence):
        raise DefinitionError(
            f"{given!r} is no transition; give a target name, a handler, or on(...)/to(...)", code="invalid-transition"
        )
    return tuple([_candidate(item) for item in given])


def _candidate(given: Candidate) -> Transition:
    if isinstance(given, Transition):
        return given
    if isinstance(given, str):
        return Transition(targets=(given,))
    if isinstance(given, WithAt) or callable(given):
        return on("", given)
    raise DefinitionError(
        f"{given!r} is no transition; give a target name, a handler, or on(...)/to(...)", code="invalid-transition"
    )


def _handlers(given: Mapping[str, Candidates] | Sequence[Transition]) -> tuple[Transition, ...]:
    if not given:
        return ()
    if isinstance(given, Mapping):
        found: list[Transition] = []
        for event, items in given.items():
            if isinstance(items, str):
                found.append(Transition(event=event, targets=(items,)))
                continue
            found.extend([_on_event(item, event) for item in candidates(items)])
        return tuple(found)
    for item in given:
        if not isinstance(cast("Any", item), Transition):
            raise DefinitionError(
                f"{item!r} in on=[...] is no transition; write on(event, ...)", code="invalid-transition"
            )
    return tuple(given)


def _on_event(item: Transition, event: str) -> Transition:
    if item.targets is not None and item.handler is None and item.guard is None and not item.meta and not item.patch:
        # By far the most common shape, without the cost of dataclasses.replace.
        return Transition(
            event=event,
            targets=item.targets,
            operations=item.operations,
            reenter=item.reenter,
            input=item.input,
            description=item.description,
        )
    return Transition(
        event=event,
        handler=item.handler,
        guard=item.guard,
        targets=item.targets,
        patch=item.patch,
        operations=item.operations,
        reenter=item.reenter,
        input=item.input,
        meta=item.meta,
        description=item.description,
        event_class=item.event_class,
    )


def _delayed(given: Mapping[Any, Candidates] | Sequence[After]) -> tuple[After, ...]:
    if not given:
        return ()
    items = [after(delay, then) for delay, then in given.items()] if isinstance(given, Mapping) else list(given)
    merged: dict[Delay, After] = {}
    for item in items:
        # Equal delays of one state are one timer, their transitions candidates in order.
        earlier = merged.get(item.delay)
        merged[item.delay] = item if earlier is None else After(item.delay, earlier.transitions + item.transitions)
    return tuple(merged.values())


def _names(targets: Targets) -> tuple[str, ...] | None:
    if targets is None:
        return None
    if isinstance(targets, str):
        return (targets,)
    if not isinstance(cast("object", targets), Iterable):
        raise DefinitionError(
            f"{targets!r} is no target; give a state's key, '.child' or '#id', or several in a list",
            code="invalid-target",
        )
    return tuple(targets)


def _delay(delay: Any) -> Delay:
    if isinstance(delay, timedelta):
        delay = delay.total_seconds()
    if isinstance(delay, str) and delay:
        return delay
    if isinstance(delay, (int, float)) and not isinstance(delay, bool) and 0 <= delay < float("inf"):
        return int(delay) if delay == int(delay) else delay
    raise DefinitionError(
        f"{delay!r} is no delay; give seconds (0 or more), a timedelta, or the name of one of the machine's delays",
        code="invalid-delay",
    )
