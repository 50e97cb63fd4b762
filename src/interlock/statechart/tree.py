"""The machines of one step and the mail between them.

Mail is one first-in-first-out queue for the whole tree. Each machine finishes its macrostep; then the child machines
that it has started initialise; then its mail goes out; then, if it has ended, its parent hears of it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from interlock.errors import EndlessLoopError, InputError
from interlock.statechart.completion import fail
from interlock.statechart.effects import Send, Start, Terminate
from interlock.statechart.events import InternalEvent
from interlock.statechart.macrostep import begin, macrostep, run
from interlock.statechart.microstep import microstep
from interlock.statechart.operations import deliver_to
from interlock.statechart.selection import select
from interlock.statechart.working import Working

if TYPE_CHECKING:
    from interlock.statechart.effects import Effect
    from interlock.statechart.owing import Child

__all__ = ["MAX_NESTING", "Tree", "current_child"]

MAX_NESTING = 64
"""How deep machines may be nested in machines, in a step and in a saved snapshot."""


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
        stack: list[tuple[Working, deque[Child]]] = [(working, self.starts(working))]
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
            current.mail = []
            if current.status != "active":
                self.ended(current)

    def starts(self, working: Working) -> deque[Child]:
        """Say which functions begin to work, and return the child machines that are to be initialised."""
        machines: deque[Child] = deque()
        for child in working.started:
            if working.children.get(child.id) is not child:
                continue  # stopped within the step in which it was started
            if working.machine.is_machine(child.src):
                machines.append(child)
            else:
                self.effects.append(Start(child.id, child.seq, working.address))
        working.started = []
        return machines

    def begin(self, parent: Working, child: Child) -> Working:
        """Initialise a child machine."""
        machine = parent.machine.sources[child.src]
        address = (*parent.address, child.key)
        if len(address) > MAX_NESTING:
            names = [key.partition("#")[0] for key in address[-3:]]
            raise EndlessLoopError(
                f"machines start machines more than {MAX_NESTING} deep (... {' -> '.join(names)}); a machine that "
                "invokes itself as soon as it starts never comes to rest",
                machine=machine.id,
                event=None,
                cycle=names,
            )
        try:
            kid = begin(machine, child.input, self.at, self.effects, self.budget, address)
        except InputError as error:
            node = child.state or parent.configuration.leaves[0]
            raise parent.refuse("invalid-input", f"input of {child.id}: {error.message}", node, None) from error
        parent.adopt(child, kid)
        return kid

    def ended(self, working: Working) -> None:
        """Say that a machine has ended, and report to its parent."""
        self.effects.append(Terminate(working.status, working.address))
        if working.address:
            output = ("done", working.output) if working.status == "done" else ("error", working.error)
            self.mail.append((working, "@completion", output))

    def kid(self, parent: Working, child: Child) -> Working | None:
        """Return a child machine as it is being worked on."""
        kid = parent.kids.get(child.id)
        if kid is not None and kid.parent_key == child.key:
            return kid
        if child.snapshot is None:
            return None
        address = (*parent.address, child.key)
        kid = Working(parent.machine.sources[child.src], child.snapshot, self.at, self.effects, self.budget, address)
        parent.adopt(child, kid)
        return kid

    def find(self, address: tuple[str, ...]) -> Working | None:
        """Return the machine at an address; None where it is there no longer."""
        working = self.root
        for key in address:
            child = current_child(working, key)
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
                child = current_child(sender, to) if sender.status == "active" else None
                kid = self.kid(sender, child) if child is not None else None
                if kid is not None:
                    self.give(kid, payload)

    def give(self, working: Working, event: Any) -> None:
        """Give a machine an event and let it come to rest."""
        if working.status != "active":
            return
        chosen = select(working, event)
        if chosen or working.configuration.eventless:
            macrostep(working, event, chosen)
            self.after(working)

    def report(self, working: Working, key: str, kind: str, value: Any) -> None:
        """Tell a machine that one of its children has ended."""
        if working.status != "active":
            return
        child = current_child(working, key)
        child_id = key.partition("#")[0]
        event = InternalEvent(
            f"@{kind}.invoke.{child_id}",
            child_id,
            output=value if kind == "done" else None,
            error=value if kind == "error" else None,
            src=None if child is None else child.src,
        )
        chosen = select(working, event)
        if chosen:
            microstep(working, chosen, event)
        # The child is gone once its completion has been handled, unless its id is already another's.
        if child is not None and working.children.get(child.id) is child:
            del working.fresh_children()[child.id]
            working.disown(child.id)
        if not chosen and kind == "error":
            if child is None:
                return  # nobody runs under this bare id, and nobody waits for it to fail
            fail(working, value)
        else:
            run(working, event)
        self.after(working)

    def fire(self, working: Working, key: str) -> None:
        """A timer has elapsed: it is taken off, and what it stands for is raised or sent."""
        timer = working.timers.get(key) if "#" not in key else working.timers.get(key.rpartition("#")[0])
        if timer is None or ("#" in key and timer.key != key) or working.status != "active":
            return
        del working.own_timers()[timer.id]
        if timer.to is not None:
            if timer.to == "@parent" or timer.to in working.children:
                deliver_to(working, timer.to, timer.event, working.children)
            else:
                # It was accepted when it was sent. That nobody is there now is for the host to see, as a dead letter.
                self.effects.append(Send(timer.to, timer.event, address=working.address))
        else:
            working.queue.append(InternalEvent(f"@{timer.id}", timer.id) if timer.event is None else timer.event)
        run(working, InternalEvent("@timer", timer.id))
        self.after(working)


def current_child(working: Working, key: str) -> Child | None:
    """Return the child with this id, or with this id and number; None where there is none or it is another by now."""
    child_id, _, seq = key.partition("#")
    child = working.children.get(child_id)
    if child is None or (seq and str(child.seq) != seq):
        return None
    return child
