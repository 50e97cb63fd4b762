"""The page that explains the library: ``transition(machine, snapshot, input) -> (snapshot, effects)``.

A step is pure. It takes one input, lets the machine that it is addressed to come to rest, delivers all mail within
the tree of machines, and returns a new snapshot with what shall happen outside as data. Nothing is called but the
author's own pure functions; the same arguments give the same result, and the snapshot passed in never changes.

    input -> macrostep of the addressed machine -> started child machines initialise -> mail goes out -> completions
    reach parents -> ... until the whole tree is at rest

A macrostep is: the transitions that the event selects, then eventless transitions until there are none, then the
next raised event, and so on until both are exhausted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from interlock.errors import InputError, SnapshotError
from interlock.statechart.chart import Candidate, Configuration, Plan
from interlock.statechart.effects import Effect, Start
from interlock.statechart.events import Event, Input, InternalEvent, as_event
from interlock.statechart.microstep import enter_root, fail, microstep, terminated
from interlock.statechart.moves import UNSET, Move
from interlock.statechart.routing import plan_for
from interlock.statechart.selection import candidates_on_path, select, select_eventless
from interlock.statechart.snapshot import FRESH, Draft, Snapshot
from interlock.statechart.working import Budget, Working

if TYPE_CHECKING:
    from interlock.statechart.machine import Machine

__all__ = ["initial_transition", "microsteps", "transition"]

C = TypeVar("C")
I = TypeVar("I")  # noqa: E741  # input
O = TypeVar("O")  # noqa: E741  # output

Trace = list[tuple[Snapshot[Any], tuple[Effect, ...]]]


def initial_transition(
    machine: Machine[C, I, O],
    input: Any = None,  # noqa: A002
    *,
    at: float | None = None,
) -> tuple[Snapshot[C], tuple[Effect, ...]]:
    """Start a machine.

    Arguments:
        machine: the machine.
        input: what its context is made from, where the context is a function of the input.
        at: the time, in Unix seconds; needed only if a timer is scheduled.

    Returns the first snapshot at rest and the effects, in order.
    """
    ready = machine.started
    if ready is not None and input is None:
        return ready
    return start(machine, input, at, None)


def transition(
    machine: Machine[C, I, O],
    snapshot: Snapshot[C],
    input: Any,  # noqa: A002
    *,
    at: float | None = None,
) -> tuple[Snapshot[C], tuple[Effect, ...]]:
    """Take one step.

    Arguments:
        machine: the machine that made the snapshot.
        snapshot: where the system stands; it is not changed.
        input: an event (an object with ``.type``, a mapping with ``"type"``, or a type) for the root, or an
            :class:`Input` for any machine of the tree.
        at: the time at which the input was accepted, in Unix seconds; needed only if a timer is scheduled.

    Returns the new snapshot and the effects, in order. Where nothing happens the very same snapshot is returned.
    Raises :class:`StepError` (an author's function raised, or asked for something impossible, or the machine never
    comes to rest) and :class:`InputError`.
    """
    configuration = snapshot.configuration
    if configuration.table is not machine.table:
        raise _foreign(machine, snapshot)
    try:
        known = configuration.moves.get(input.type)
    except (AttributeError, TypeError):
        known = None
    if known is None:
        return _step(machine, snapshot, input, at)
    if known.__class__ is Configuration:
        # Static transitions between silent states: where this leads was worked out the first time.
        made: Any = Draft(known, snapshot.context, snapshot.rest)
        made.__class__ = Snapshot
        return made, ()
    return known(machine, snapshot, input, at)  # type: ignore[no-any-return]


def microsteps(
    machine: Machine[C, I, O],
    snapshot: Snapshot[C] | None,
    input: Any = None,  # noqa: A002
    *,
    at: float | None = None,
) -> list[tuple[Snapshot[C], tuple[Effect, ...]]]:
    """Return what a step (or, without a snapshot, the start) goes through: snapshot and effects after each microstep."""
    trace: Trace = []
    if snapshot is None:
        last = start(machine, input, at, trace)
    else:
        last = _step(machine, snapshot, input, at, trace)
    done: list[tuple[Snapshot[Any], tuple[Effect, ...]]] = []
    before = 0
    for number, (state, effects) in enumerate(trace):
        # The last one gets what belongs to the end of the step: starts, mail, the end itself.
        final = number == len(trace) - 1
        done.append((last[0] if final else state, (last[1] if final else effects)[before:]))
        before = len(effects)
    return done


# -- the first time an event type is met in a configuration ------------------------------------------------------------


def _remember(configuration: Configuration, event_type: str) -> None:
    """Work out what steps from here on this event type look at, so that the next one is short."""
    if configuration.eventless or configuration.inert or event_type[0] == "@":
        return
    if configuration.single is not None:
        candidates = candidates_on_path(configuration, event_type)
        if not candidates:
            configuration.remember(event_type, _ignore)
        elif candidates[0].plain and (target := _silent(candidates[0], configuration)) is not None:
            configuration.remember(event_type, target)
        elif all(not c.handler_wide and not c.guard_wide for c in candidates):
            configuration.remember(event_type, _by_handlers(candidates, configuration))
        else:
            configuration.remember(event_type, _settle)
        return
    configuration.remember(event_type, _by_regions if configuration.table.parallels == 1 else _settle)


def _by_regions(machine: Any, snapshot: Any, event: Any, at: float | None) -> Any:
    """Take the step for the regions of the chart's one parallel state: each leaf moves within its own region.

    Only the leaves that move cost anything. What is not quiet, or leaves a region, goes to the general step.
    """
    configuration = snapshot.configuration
    event_type = event.type
    context = snapshot.context
    chosen: list[Any] = []
    leaves: list[Any] | None = None
    patches: dict[str, Any] | None = None
    constant = quiet = True
    number = -1
    for leaf in configuration.leaves:
        number += 1
        candidates = leaf.asks.get(event_type)
        if candidates is None:
            candidates = leaf.region_candidates(event_type)
        for candidate in candidates:
            move = None
            if not candidate.plain:
                constant = False
                if candidate.guard_wide or candidate.handler_wide:
                    return _settle(machine, snapshot, event, at)
                try:
                    if candidate.guard is not None and not candidate.guard(context, event):
                        continue
                    if candidate.handler is not None:
                        move = candidate.handler(context, event)
                        if move is None:
                            continue
                except Exception:  # noqa: BLE001  # the general step calls it again and names the place
                    return _settle(machine, snapshot, event, at)
            chosen.append((candidate, move))
            if move is None:
                route = candidate.route
                if candidate.patch or candidate.operations or candidate.input is not UNSET:
                    quiet = False
            elif move.__class__ is not Move:
                return _settle(machine, snapshot, event, at)
            else:
                if move.operations or move.reentering or candidate.reenter or move.input is not UNSET:
                    quiet = False
                if move.patch:
                    if patches is None:
                        patches = dict(move.patch)
                    else:
                        patches.update(move.patch)
                if move.target is None:
                    break
                route = candidate.routes.get((move.target, False))
            if route is None or not route.local:
                quiet = quiet and route is None and move is None
                quiet = False if move is not None else quiet
                break
            plan = route.plans.get(leaf)
            if plan is None or not plan.simple:
                quiet = False
            elif quiet:
                if leaves is None:
                    leaves = list(configuration.leaves)
                leaves[number] = plan.leaves[0]
            break
    if not chosen:
        # No region answered: the states above may.
        return _settle(machine, snapshot, event, at)
    if not quiet:
        return _settle(machine, snapshot, event, at, chosen)
    after = configuration if leaves is None else configuration.table.configuration(tuple(leaves))
    if after.eventless:
        return _settle(machine, snapshot, event, at, chosen)
    if patches:
        try:
            context = configuration.table.context.patch(context, patches)
        except Exception:  # noqa: BLE001  # the general step names the field
            return _settle(machine, snapshot, event, at, chosen)
    elif constant:
        configuration.remember(event_type, after)
    made: Any = Draft(after, context, snapshot.rest)
    made.__class__ = Snapshot
    return made, ()


def _silent(candidate: Candidate, configuration: Configuration) -> Configuration | None:
    """Return where a static transition leads, if nothing else happens on the way."""
    route = candidate.route
    if route is None or route.history:
        return None
    plan = plan_for(route, configuration)
    if not plan.simple:
        return None
    target = candidate.node.table.configuration(plan.leaves)
    return None if target.eventless else target


def _ignore(machine: Any, snapshot: Any, event: Any, at: float | None) -> Any:
    del machine, event, at
    return snapshot, ()


Short = Callable[[Any, Any, Any, "float | None"], Any]


def _by_handlers(candidates: tuple[Candidate, ...], configuration: Configuration) -> Short:
    """Return the step for one active leaf: ask the candidates in order and make the first move, if it is a quiet one.

    Anything but a quiet move (no effects, no entry or exit functions, timers, invocations) goes to the general step,
    with the move that was already asked for.
    """
    table = configuration.table
    patch = table.context.patch
    leaf = configuration.leaves[0]

    def step(machine: Any, snapshot: Any, event: Any, at: float | None) -> Any:
        context = snapshot.context
        for candidate in candidates:
            move = None
            try:
                if candidate.guard is not None and not candidate.guard(context, event):
                    continue
                if candidate.handler is not None:
                    move = candidate.handler(context, event)
                    if move is None:
                        continue
            except Exception:  # noqa: BLE001  # the general step calls it again and names the place
                return _settle(machine, snapshot, event, at)
            if move.__class__ is not Move or move.operations or move.reentering or move.input is not UNSET or candidate.reenter:
                return _general(machine, snapshot, event, at, [(candidate, move)] if move is None or move.__class__ is Move else None)
            target = move.target
            if target is None:
                after = configuration
            else:
                route = candidate.routes.get(target)
                if route is None:
                    return _general(machine, snapshot, event, at, [(candidate, move)], target)
                plan = route.plans.get(leaf)
                if plan is None or plan.conf is None:
                    return _general(machine, snapshot, event, at, [(candidate, move)])
                after = plan.conf
            if move.patch:
                try:
                    context = patch(context, move.patch)
                except Exception:  # noqa: BLE001  # the general step names the field
                    return _general(machine, snapshot, event, at, [(candidate, move)])
            made: Any = Draft(after, context, snapshot.rest)
            made.__class__ = Snapshot
            return made, ()
        return snapshot, ()

    return step


def _general(machine: Any, snapshot: Any, event: Any, at: float | None, chosen: Any, target: Any = None) -> Any:
    result = _settle(machine, snapshot, event, at, chosen)
    if chosen:
        candidate, move = chosen[0]
        if move is not None and move.target is not None:
            route = candidate.routes.get((move.target, False))
            if route is not None and not route.history:
                if target is not None:
                    candidate.routes[target] = route
                leaf = snapshot.configuration.leaves[0]
                plan: Plan | None = route.plans.get(leaf)
                if plan is not None and plan.simple and plan.conf is None and len(snapshot.configuration.leaves) == 1:
                    after = candidate.node.table.configuration(plan.leaves)
                    if not after.eventless:
                        plan.conf = after
    return result


# -- the general step --------------------------------------------------------------------------------------------------


def _step(machine: Any, snapshot: Any, input: Any, at: float | None, trace: Trace | None = None) -> Any:  # noqa: A002
    if input.__class__ is Input:
        if input.address == () and input.event is not None and input.invocation is None:
            return _settle(machine, snapshot, input.event, at, None, trace)
        return _deliver(machine, snapshot, input, at, trace)
    event = input if input.__class__ is Event and input["type"][0] != "@" else as_event(input)
    if isinstance(event, InternalEvent):
        raise InputError(f"event type {event.type!r} is the engine's own; report results with Input", code="reserved-event")
    if trace is None:
        configuration = snapshot.configuration
        known = configuration.moves.get(event.type)
        if known is None:
            _remember(configuration, event.type)
            known = configuration.moves.get(event.type)
        if known is not None:
            if known.__class__ is not Configuration:
                return known(machine, snapshot, event, at)
            made: Any = Draft(known, snapshot.context, snapshot.rest)
            made.__class__ = Snapshot
            return made, ()
    return _settle(machine, snapshot, event, at, None, trace)


def _settle(
    machine: Any, snapshot: Any, event: Any, at: float | None, chosen: Any = None, trace: Trace | None = None
) -> Any:
    """Give the root an event and let the tree come to rest."""
    configuration = snapshot.configuration
    if configuration.inert:
        return snapshot, ()
    effects: list[Effect] = []
    root = Working(
        machine, configuration, snapshot.context, snapshot.rest, at=at, effects=effects, budget=Budget(), trace=trace
    )
    if chosen is None:
        chosen = select(root, event)
        if not chosen and not configuration.eventless:
            return snapshot, ()
    tree = Tree(root, at, effects)
    _macrostep(root, event, chosen)
    tree.after(root)
    tree.deliver()
    return _result(root, snapshot)


def _result(root: Working, snapshot: Any) -> Any:
    effects = tuple(root.effects)
    if not effects and root.configuration is snapshot.configuration and root.context is snapshot.context and not root.kids:
        rest = snapshot.rest
        if (
            root.children is rest.children
            and root.timers is rest.timers
            and root.history is rest.history
            and root.inputs is rest.inputs
            and root.status == rest.status
        ):
            return snapshot, effects
    return root.freeze(), effects


def start(machine: Any, input: Any, at: float | None, trace: Trace | None) -> Any:  # noqa: A002
    """Compute the start of a machine, without the shortcut for starts that are always the same."""
    effects: list[Effect] = []
    root = _begin(machine, input, at, effects, Budget(), (), trace)
    tree = Tree(root, at, effects)
    tree.after(root)
    tree.deliver()
    return root.freeze(), tuple(effects)


def _begin(
    machine: Any,
    input: Any,  # noqa: A002
    at: float | None,
    effects: list[Effect],
    budget: Budget,
    address: tuple[str, ...],
    trace: Trace | None = None,
) -> Working:
    context, event = machine.first_context(input)
    working = Working(
        machine,
        cast("Any", machine.table.blank),
        context,
        FRESH,
        at=at,
        effects=effects,
        budget=budget,
        address=address,
        trace=trace,
    )
    enter_root(working, event)
    _run(working, event)
    return working


def _macrostep(working: Working, event: Any, chosen: Any) -> None:
    if chosen:
        microstep(working, chosen, event)
    _run(working, event)


def _run(working: Working, event: Any) -> None:
    """Take eventless transitions and raised events until there are none left."""
    eventless = True
    while working.status == "active":
        if eventless and working.configuration.eventless:
            chosen = select_eventless(working, event)
            if chosen:
                before = (working.configuration, working.context, working.children, working.timers)
                working.timers_owned = False
                microstep(working, chosen, event)
                after = (working.configuration, working.context, working.children, working.timers)
                # Nothing but effects: asking again would give the same answer for ever.
                eventless = any(now is not then for now, then in zip(after, before, strict=True))
                continue
        if not working.queue:
            return
        event = working.queue.popleft()
        eventless = True
        chosen = select(working, event)
        if chosen:
            microstep(working, chosen, event)
        else:
            working.budget.spend(working, event)


# -- the tree ----------------------------------------------------------------------------------------------------------


class Tree:
    """The machines of one step, and the mail between them: one first-in-first-out queue for all."""

    def __init__(self, root: Working, at: float | None, effects: list[Effect]) -> None:
        self.root = root
        self.at = at
        self.effects = effects
        self.budget = root.budget
        self.mail: deque[tuple[Working, str, Any]] = deque()

    def after(self, working: Working) -> None:
        """Do what follows a macrostep: start children, initialise child machines, hand over mail, report the end."""
        # An explicit stack: machines that invoke machines must not become our own recursion.
        stack: list[tuple[Working, deque[Any]]] = [(working, self.starts(working))]
        while stack:
            current, waiting = stack[-1]
            if waiting:
                child = waiting.popleft()
                if current.children.get(child.id) is not child:
                    continue
                kid = self.begin(current, child)
                stack.append((kid, self.starts(kid)))
                continue
            stack.pop()
            for to, event in current.mail:
                self.mail.append((current, to, event))
            current.mail.clear()
            if current.status != "active":
                self.ended(current)

    def starts(self, working: Working) -> deque[Any]:
        """Say which functions begin to work, and return the child machines that are to be initialised."""
        machines: deque[Any] = deque()
        for child in working.started:
            if working.children.get(child.id) is not child:
                continue  # stopped within the step in which it was started
            if working.machine.is_machine(child.src):
                machines.append(child)
            else:
                self.effects.append(Start(child.id, child.seq, working.address))
        working.started.clear()
        return machines

    def begin(self, parent: Working, child: Any) -> Working:
        """Initialise a child machine."""
        machine = parent.machine.sources[child.src]
        address = (*parent.address, child.key)
        kid = _begin(machine, child.input, self.at, self.effects, self.budget, address)
        kid.parent_key = child.key
        parent.kids[child.id] = kid
        return kid

    def ended(self, working: Working) -> None:
        """Say that a machine has ended, and report to its parent."""
        self.effects.append(terminated(working))
        if working.address:
            output = ("done", working.output) if working.status == "done" else ("error", working.error)
            self.mail.append((working, "@completion", output))

    def kid(self, parent: Working, child: Any) -> Working | None:
        """Return a child machine as it is being worked on."""
        kid = parent.kids.get(child.id)
        if kid is not None and kid.parent_key == child.key:
            return kid
        if child.snapshot is None:
            return None
        snapshot = child.snapshot
        kid = Working(
            parent.machine.sources[child.src],
            snapshot.configuration,
            snapshot.context,
            snapshot.rest,
            at=self.at,
            effects=self.effects,
            budget=self.budget,
            address=(*parent.address, child.key),
        )
        kid.parent_key = child.key
        parent.kids[child.id] = kid
        return kid

    def find(self, address: tuple[str, ...]) -> Working | None:
        """Return the machine at an address; None where it is there no longer."""
        working = self.root
        for key in address:
            child = _current(working, key)
            if child is None:
                return None
            kid = self.kid(working, child)
            if kid is None:
                return None
            working = kid
        return working

    def deliver(self) -> None:
        """Hand out mail until there is none."""
        while self.mail:
            sender, to, payload = self.mail.popleft()
            if to == "@parent":
                parent = self.find(sender.address[:-1]) if self.find(sender.address) is sender else None
                if parent is not None:
                    self.give(parent, payload)
            elif to == "@completion":
                parent = self.find(sender.address[:-1]) if self.find(sender.address) is sender else None
                if parent is not None:
                    kind, value = payload
                    self.report(parent, sender.address[-1], kind, value)
            else:
                child = _current(sender, to) if sender.status == "active" else None
                kid = self.kid(sender, child) if child is not None else None
                if kid is not None:
                    self.give(kid, payload)

    def give(self, working: Working, event: Any) -> None:
        """Give a machine an event and let it come to rest."""
        if working.status != "active":
            return
        chosen = select(working, event)
        if chosen or working.configuration.eventless:
            _macrostep(working, event, chosen)
            self.after(working)

    def report(self, working: Working, key: str, kind: str, value: Any) -> None:
        """Tell a machine that one of its children has ended."""
        if working.status != "active":
            return
        child = _current(working, key)
        child_id = key.partition("#")[0]
        event = InternalEvent(
            f"@{kind}.invoke.{child_id}",
            child_id,
            output=value if kind == "done" else None,
            error=value if kind == "error" else None,
        )
        chosen = select(working, event)
        if chosen:
            microstep(working, chosen, event)
        # The child is gone once its completion has been handled, unless its id is already another's.
        if child is not None and working.children.get(child.id) is child:
            del working.fresh_children()[child.id]
            working.kids.pop(child.id, None)
            timer = child.invocation.timer if child.invocation is not None else None
            if timer is not None and timer in working.timers:
                working.cancel(timer)
        if not chosen and kind == "error":
            fail(working, value)
        else:
            _run(working, event)
        self.after(working)

    def fire(self, working: Working, key: str) -> None:
        """A timer has elapsed: it is taken off, and what it stands for is raised or sent."""
        timer = working.timers.get(key) if "#" not in key else working.timers.get(key.rpartition("#")[0])
        if timer is None or ("#" in key and timer.key != key) or working.status != "active":
            return
        del working.own_timers()[timer.id]
        if timer.to is not None:
            if timer.to == "@parent" or timer.to in working.children:
                working.deliver(timer.to, timer.event, working.children)
            else:
                working.queue.append(
                    InternalEvent("@error.communication", timer.to, error={"to": timer.to, "event": timer.event.type})
                )
        else:
            working.queue.append(InternalEvent(f"@{timer.id}", timer.id) if timer.event is None else timer.event)
        _run(working, InternalEvent("@timer", timer.id))
        self.after(working)


def _current(working: Working, key: str) -> Any:
    """Return the child with this id, or with this id and number; None where there is none or it is another by now."""
    child_id, _, seq = key.partition("#")
    child = working.children.get(child_id)
    if child is None or (seq and str(child.seq) != seq):
        return None
    return child


def _deliver(machine: Any, snapshot: Any, given: Input, at: float | None, trace: Trace | None) -> Any:
    """Take a step with an input that is more than an event for the root."""
    if snapshot.configuration.inert:
        return snapshot, ()
    effects: list[Effect] = []
    root = Working(
        machine, snapshot.configuration, snapshot.context, snapshot.rest, at=at, effects=effects, budget=Budget(), trace=trace
    )
    tree = Tree(root, at, effects)
    target = tree.find(given.address)
    if target is None:
        return snapshot, ()
    if given.timer is not None:
        tree.fire(target, given.timer)
        tree.deliver()
        return _result(root, snapshot)
    key = given.invocation
    if key is not None:
        child = _current(target, key)
        if child is not None:
            key = child.key
        elif "#" in key or given.event is not None or given.record is not UNSET:
            # It is not running any more and has nothing to say: its event and record are void with it.
            return snapshot, ()
    if given.event is not None:
        tree.give(target, given.event)
        tree.deliver()
    if key is None or tree.find(given.address) is not target or target.status != "active":
        return _result(root, snapshot)
    child = _current(target, key)
    if child is None and "#" in key:
        return _result(root, snapshot)
    if given.record is not UNSET and child is not None:
        record = target.json(given.record, "record", target.table.root, given.event)
        target.fresh_children()[child.id] = child.with_(records=child.records.append(record))
    if given.output is not UNSET:
        tree.report(target, key, "done", given.output)
    elif given.error is not UNSET:
        tree.report(target, key, "error", target.failure(given.error))
    tree.deliver()
    return _result(root, snapshot)


def _foreign(machine: Any, snapshot: Any) -> SnapshotError:
    return SnapshotError(
        f"the snapshot belongs to machine {snapshot.machine_id!r} (version {snapshot.machine_version}), not to this "
        f"{machine.id!r} (version {machine.version}); bring it over with machine.load(snapshot.dump())",
        code="machine-mismatch",
    )
