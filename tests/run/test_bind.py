"""What can be known to be wrong is said before anything runs, with the place and the remedy."""

from typing import Any

import pytest

import interlock as il
import interlock.statechart as sc
from tests.run.machines import game, work
from tests.run.writing import writer


async def refused(machine: Any, **arguments: Any) -> il.BindError:
    with pytest.raises(il.BindError) as caught:
        await il.run_agent(machine, **arguments)
    return caught.value


async def test_a_decision_without_an_executor():
    error = await refused(game())
    assert error.code == "missing-executor"
    assert "machine 'twenty-questions', state 'deciding'" in str(error)
    assert "Executors(decide=" in str(error)


async def test_a_decision_in_a_child_of_a_child_names_the_chain():
    inner = sc.machine("inner", sources={"game": game()}, initial="a", states={"a": sc.state(invoke=sc.invoke("game"))})
    outer = sc.machine(
        "outer", sources={"inner": inner}, initial="x", states={"x": sc.state(invoke=sc.invoke("inner"))}
    )
    error = await refused(outer)
    assert "machine 'outer', state 'x' > child machine 'inner', state 'a' > child machine 'twenty-questions'" in str(
        error
    )


@pytest.mark.parametrize(("mode", "slot"), [("generate", "generate_text"), ("stream", "stream_text")])
async def test_a_text_without_an_executor(mode: str, slot: str):
    for given in (None, il.Executors(decide=print, **{"generate_text" if mode == "stream" else "stream_text": print})):  # type: ignore[arg-type]
        error = await refused(writer(mode), executors=given)
        assert error.code == "missing-executor"
        assert "machine 'writer', state 'writing' asks a model to write ('draft')" in str(error)
        assert f"Executors({slot}=" in str(error)


async def test_a_text_in_a_child_names_the_chain():
    agent = il.setup_agent(events=[])
    outer = agent.machine(
        "outer",
        initial="x",
        states={"x": agent.state(invoke=agent.child(writer("stream"), on_done="y")), "y": agent.final()},
    )
    error = await refused(outer)
    assert "machine 'outer', state 'x' > child machine 'writer', state 'writing' asks a model to write" in str(error)
    result = await il.run_agent(outer, executors=il.ScriptedExecutors(text=["x"]))
    assert isinstance(result, il.Done)


async def test_a_source_that_nobody_can_carry_out():
    error = await refused(work({"load": None}))
    assert error.code == "unregistered-source"
    assert "state 'load' invokes the source 'load'" in str(error)
    assert (await refused(work({"load": 7}))).code == "unregistered-source"


async def test_an_unknown_actor_is_named():
    with pytest.raises(il.DefinitionError, match="Did you mean 'load'"):
        await il.run_agent(work({"load": None}), actors={"laod": print})


async def test_a_machine_without_models_needs_no_executors():
    result = await il.run_agent(sc.machine("m", initial="a", states={"a": sc.final()}))
    assert isinstance(result, il.Done)


@pytest.mark.parametrize(
    "arguments",
    [
        {"executors": print},
        {"max_model_calls": -1},
        {"max_model_calls": True},
        {"timers": "sometimes"},
        {"input": {}, "snapshot": {}},
        {"on": {7: print}},
        {"abort": print},
    ],
)
async def test_arguments_that_mean_nothing(arguments: dict[str, Any]):
    machine = sc.machine("m", initial="a", states={"a": sc.final()})
    assert (await refused(machine, **arguments)).code == "invalid-argument"


async def test_a_refused_input():
    class Order(il.Event):
        number: int

    machine = sc.machine(
        "m", input_type=Order, context=lambda order: {"n": order.number}, initial="a", states={"a": sc.state()}
    )
    with pytest.raises(il.InputError, match="number"):
        await il.run_agent(machine, input={"number": "many"})
    result = await il.run_agent(machine, input={"number": 7})
    assert isinstance(result, il.Idle)
    assert result.snapshot.context == {"n": 7}


async def test_a_machine_that_cannot_start_has_failed():
    def broken(c: Any) -> Any:
        raise ValueError("x")

    machine = sc.machine("m", initial="a", states={"a": sc.state(entry=broken)})
    result = await il.run_agent(machine)
    assert isinstance(result, il.Failed)
    assert result.cause == "machine"
    assert result.snapshot is None
    assert isinstance(result.exception, il.HandlerError)
