"""Something else where a machine, a step, a snapshot or an error belongs: said plainly, and nothing has happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import interlock as il

pytestmark = pytest.mark.anyio


class Go(il.Event):
    """Go on."""


agent = il.setup_agent(events=[Go])
door = agent.machine(
    "door",
    version="1",
    context={},
    initial="shut",
    states={"shut": agent.state(invoke=agent.decide(prompt="?"), on=[agent.on(Go, "open")]), "open": agent.final()},
)
window = agent.machine("window", context={}, initial="shut", states={"shut": agent.state(on=[agent.on(Go, "shut")])})
step = il.initial_agent_step(door)
(request,) = step.requests

NO_MACHINES: dict[str, Any] = {"an id": "door", "its agent": agent, "its class": il.Machine, "nothing": None}
WITH_A_MACHINE: dict[str, Callable[[Any], Any]] = {
    "initial_agent_step": il.initial_agent_step,
    "from a snapshot": lambda machine: il.initial_agent_step(machine, snapshot=step.snapshot.to_json()),
    "from a log": lambda machine: il.initial_agent_step(machine, entries=step.entries),
    "transition_agent_step": lambda machine: il.transition_agent_step(machine, step, Go()),
    "resolve_agent_step": lambda machine: il.resolve_agent_step(machine, step, request, il.Choice(Go())),
    "reject_agent_step": lambda machine: il.reject_agent_step(machine, step, request, ValueError()),
    "get_agent_requests": lambda machine: il.get_agent_requests(machine, step.snapshot),
    "AgentStep.from_json": lambda machine: il.AgentStep.from_json(machine, step.to_json()),
    "get_interaction": lambda machine: il.get_interaction(machine, step.snapshot),
    "event_from_interaction": lambda machine: il.event_from_interaction(machine, step.snapshot, {"type": "Go"}),
    "parse_event": lambda machine: il.parse_event(machine, {"type": "Go"}),
}


@pytest.mark.parametrize("what", NO_MACHINES)
@pytest.mark.parametrize("where", WITH_A_MACHINE)
def test_where_a_machine_belongs(where: str, what: str):
    with pytest.raises(il.BindError, match=r"^machine=.*: give a machine, as agent\.machine\(\.\.\.\) returns it$"):
        WITH_A_MACHINE[where](NO_MACHINES[what])


@pytest.mark.parametrize("what", NO_MACHINES)
async def test_where_the_machine_of_steps_to_be_carried_out_belongs(what: str):
    with pytest.raises(il.BindError, match=r"give a machine, as agent\.machine\(\.\.\.\) returns it"):
        await il.resolve_agent_requests(NO_MACHINES[what], step, il.Executors(decide=lambda _request, _info: "Go"))


@pytest.mark.parametrize(
    "given", [step.to_json(), "a step", None, 5, il.AgentStep], ids=lambda given: type(given).__name__
)
@pytest.mark.parametrize(
    "take",
    [
        lambda given: il.transition_agent_step(door, given, Go()),
        lambda given: il.resolve_agent_step(door, given, request, il.Choice(Go())),
        lambda given: il.reject_agent_step(door, given, request, ValueError()),
    ],
    ids=["transition", "resolve", "reject"],
)
def test_where_a_step_belongs(take: Callable[[Any], Any], given: Any):
    with pytest.raises(il.InputError, match=r"machine 'door': .* is no step; give what initial_agent_step"):
        take(given)


@pytest.mark.parametrize("given", [step.snapshot.to_json(), step.snapshot.dump(), None, 5, step])
def test_where_a_snapshot_that_is_shown_belongs(given: Any):
    with pytest.raises(il.InputError, match=r"machine 'door': .* is no snapshot; read a saved one with machine\.load"):
        il.get_interaction(door, given)


@pytest.mark.parametrize("given", ["it broke", {"message": "it broke"}, ValueError, None, 5])
@pytest.mark.parametrize("named", [request, request.id])
def test_where_an_error_belongs(named: Any, given: Any):
    with pytest.raises(il.InputError, match=r"machine 'door': .* is no error; give an exception, or ErrorInfo"):
        il.reject_agent_step(door, step, named, given)


def test_the_step_of_another_machine():
    with pytest.raises(il.SnapshotError) as refused:
        il.resolve_agent_step(window, step, request, il.Choice(Go()))
    assert refused.value.code == "machine-mismatch"
