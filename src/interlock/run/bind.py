"""What can be known to be missing before anything runs: executors, and functions behind sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from interlock.agent.act import ActSpec
from interlock.agent.contract import Executors, runs_whole_loops
from interlock.agent.decide import DECIDE, DecideSpec
from interlock.agent.emitting import declared_emits
from interlock.agent.events import EventClass
from interlock.agent.text import TextSpec
from interlock.agent.tools import Tool
from interlock.agent.user_input import UserInputSpec
from interlock.errors import BindError, did_you_mean
from interlock.run.arguments import check_executor
from interlock.run.border import AnyMachine
from interlock.run.perform import function_of
from interlock.run.texting import executor_of, is_text, mode_of
from interlock.statechart import Invoke

__all__ = ["check", "check_heard", "whole_loops"]


def check(machine: AnyMachine, executors: Executors, *, of: str = "") -> None:
    """Raise :class:`BindError` if some state of the machine, or of a machine below it, asks for what nobody can do.

    ``of`` says whose tool the machine is, if it is one.
    """
    for where, owner, invoke in _invocations(machine, of):
        if isinstance(invoke.logic, DecideSpec) or invoke.src == DECIDE:
            if executors.decide is None:
                raise BindError(
                    f"{where} asks a model to decide, but there is no executor for it; call "
                    f"run_agent(..., executors=Executors(decide=...))",
                    code="missing-executor",
                )
        elif isinstance(invoke.logic, UserInputSpec):
            continue  # without a function to ask with, it is a wait
        elif is_text(invoke.src, invoke.logic):
            for tool in _tools(invoke.logic):
                tool.check(executors, where)
            executor = executor_of(invoke.src, invoke.logic, executors)
            if executor is not None:
                check_executor(executor, f"{where}: the executor of the text request{_named(invoke.logic)}")
                if isinstance(invoke.logic, ActSpec) and runs_whole_loops(executor):
                    raise whole_loops(f"{where} acts")
            else:
                slot = "stream_text" if mode_of(invoke.src, invoke.logic) == "stream" else "generate_text"
                raise BindError(
                    f"{where} asks a model to write{_named(invoke.logic)}, but there is no executor for it; call "
                    f"run_agent(..., executors=Executors({slot}=...))",
                    code="missing-executor",
                )
        elif function_of(owner.sources.get(invoke.src)) is None:
            raise BindError(
                f"{where} invokes the source {invoke.src!r}, which is {_shown(owner.sources.get(invoke.src))}; give "
                f"run_agent(..., actors={{{invoke.src!r}: function or machine}}), or machine.provide(...) for a child",
                code="unregistered-source",
            )


def whole_loops(what: str) -> BindError:
    """Return the error for an act loop whose executor would never send its events."""
    return BindError(
        f"{what}, but its executor runs whole loops (whole_loops = True) and would call none of the machine's events; "
        "give one that takes single turns, or that calls tools by info.call_tool",
        code="whole-loop-executor",
    )


def check_heard(machine: AnyMachine, types: Iterable[str]) -> None:
    """Raise :class:`BindError` for an event that is listened for, but that no machine of the tree can ever emit."""
    emitted: dict[str, EventClass] = {}
    for _, current in _tree(machine):
        declared = declared_emits(current)
        if declared is None:
            return  # it may emit anything
        emitted.update(declared)
    for kind in types:
        if kind != "*" and kind not in emitted:
            raise BindError(
                f"on={{{kind!r}: ...}}: machine {machine.id!r} emits no such event. {did_you_mean(kind, emitted)}",
                code="invalid-argument",
            )


def _invocations(machine: AnyMachine, of: str) -> Iterator[tuple[str, AnyMachine, Invoke]]:
    """Yield each invocation of a function or model in a tree of machines, with its place and the machine it is in."""
    for chain, current in _tree(machine):
        children = _machines(current)
        for place, invoke in _places(chain, current):
            if invoke.src not in children:
                yield f"{of}{place}", current, invoke


def _tree(machine: AnyMachine) -> Iterator[tuple[str, AnyMachine]]:
    """Yield each machine of a tree of machines, with the chain of states that it is invoked by."""
    waiting: list[tuple[str, AnyMachine]] = [(f"machine {machine.id!r}", machine)]
    seen = {id(machine)}
    while waiting:
        chain, current = waiting.pop(0)
        yield chain, current
        invoked: dict[str, str] = {}
        for place, invoke in _places(chain, current):
            invoked.setdefault(invoke.src, place)
        for name, child in _machines(current).items():
            if id(child) not in seen:
                seen.add(id(child))
                waiting.append((f"{invoked.get(name, chain)} > child machine {child.id!r}", child))


def _places(chain: str, machine: AnyMachine) -> Iterator[tuple[str, Invoke]]:
    for node in machine.nodes:
        for invoke in node.definition.invoke:
            yield f"{chain}, state {node.path or '(root)'!r}", invoke


def _machines(machine: AnyMachine) -> dict[str, AnyMachine]:
    return {name: cast("AnyMachine", source) for name, source in machine.sources.items() if machine.is_machine(name)}


def _tools(logic: object) -> Iterable[Tool]:
    """Return the tools of a text request that are known before it is worded."""
    if not isinstance(logic, TextSpec) or callable(logic.definition.tools):
        return ()
    return logic.definition.all_tools(logic.known, None, logic.definition.place()).values()


def _named(logic: object) -> str:
    return f" ({logic.definition.name!r})" if isinstance(logic, TextSpec) else ""


def _shown(source: object) -> str:
    return "a name without a function" if source is None else f"a {type(source).__name__}, not a function"
