"""What can be known to be wrong is said before anything runs, with the place and the remedy."""

from typing import Any

import pytest

import interlock as il
import interlock.statechart as sc
from tests.guessing import game
from tests.run.machines import work
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
    for given in (None, il.Executors(decide=print, **{"generate_text" if mode == "stream" else "stream_text": print})):
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
        {"on": 5},
        {"on": {"progress": 5}},
        {"abort": print},
        {"clock": 5},
        {"actors": 5},
        {"execution_id": 5},
        {"execution_id": ""},
        {"on_transition": 5},
        {"on_event": 5},
        {"on_chunk": 5},
        {"on_result": 5},
        {"on_trace": 5},
        {"executors": il.Executors(decide=5)},
        {"executors": il.Executors(stream_text="x")},
        {"executors": il.Executors(generate_text=lambda request: request)},
        {"executors": il.Executors(decide=lambda *, request, info: request)},
    ],
    ids=str,
)
async def test_arguments_that_mean_nothing(arguments: dict[str, Any]):
    machine = sc.machine("m", initial="a", states={"a": sc.final()})
    error = await refused(machine, **arguments)
    assert error.code == "invalid-argument"
    assert next(iter(arguments)) in str(error).lower()


@pytest.mark.parametrize("given", [5, print, "m", None], ids=str)
async def test_what_is_no_machine(given: object):
    assert str(await refused(given)).startswith(f"machine={given!r}: give a machine")


async def test_an_executor_of_a_request_that_cannot_be_called_as_one():
    request = il.text_request("draft", model="m", prompt="p").with_executor(lambda request: request)
    agent = il.setup_agent(events=[])
    machine = agent.machine("m", initial="a", states={"a": agent.state(invoke=agent.ask(request))})
    error = await refused(machine)
    assert "state 'a': the executor of the text request ('draft')" in str(error)
    assert "is called with (request, info)" in str(error)


async def test_executors_may_take_more_than_they_are_given():
    class Host:
        async def decide(self, request: il.DecisionRequest, info: il.ExecutorInfo, temperature: float = 0) -> il.Choice:
            return il.Choice({"type": "Guess", "guess": "x"})

    result = await il.run_agent(game(), executors=il.Executors(decide=Host().decide))
    assert isinstance(result, il.Done)


class Progress(il.Event):
    done: int = 0


def publishing(emits: Any) -> il.Machine[Any, Any, Any]:
    agent = il.setup_agent(events=[Progress], emits=emits)
    tell = agent.on(Progress, lambda c, e: agent.stay().emit(Progress()))
    return agent.machine("m", initial="a", states={"a": agent.state(on=[tell])})


async def test_who_listens_for_what_is_never_emitted_is_told():
    error = await refused(publishing([Progress]), on={"progres": print})
    assert "on={'progres': ...}: machine 'm' emits no such event. Did you mean 'Progress'?" in str(error)
    heard: list[Any] = []
    for on in ({"Progress": heard.append}, {Progress: heard.append}, {"*": heard.append}):
        await il.run_agent(publishing([Progress]), on=on, event=Progress())
    assert heard == [Progress()] * 3
    # Where anything may be emitted, anything may be listened for.
    assert isinstance(await il.run_agent(publishing(None), on={"progres": print}), il.Idle)


async def test_an_event_that_is_only_its_class():
    with pytest.raises(il.InputError, match=r"Progress is the class; send an event of it: Progress\(\.\.\.\)"):
        await il.run_agent(publishing(None), event=Progress)


async def test_an_input_that_nothing_takes():
    agent = il.setup_agent(events=[Progress])
    for context in (None, dict, lambda: {"n": 0}, lambda given: {"n": 0}):
        machine = agent.machine("m", initial="a", states={"a": agent.state()}, context=context)
        with pytest.raises(il.InputError, match="takes no input") as caught:
            await il.run_agent(machine, input={"n": 5})
        assert caught.value.code == "invalid-input"


async def test_an_event_whose_mapping_raises():
    class Thorny(dict[str, object]):
        def get(self, *_: object) -> Any:
            raise RuntimeError("thorns")

        keys = get

    machine = sc.machine("m", initial="a", states={"a": sc.state(on={"GO": "a"})})
    with pytest.raises(il.InputError, match="thorns"):
        await il.run_agent(machine, event=Thorny(type="GO"))


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
