"""The two helpers of the step path that call outside code: one request carried out, and all that a step asks for."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import interlock as il
import interlock.statechart as sc
from tests.durable.desk import Accept, Refuse, desk
from tests.durable.desk import executors as desk_executors
from tests.guessing import Ask, Guess, game
from tests.run.machines import deciding_pair
from tests.run.writing import add, calls, executors, look_up, scripted, writer

Step = il.AgentStep[Any]


def started(machine: il.Machine[Any, Any, Any], **options: Any) -> Step:
    return il.initial_agent_step(machine, at=0.0, execution_id="an:x", **options)


def writing(desk_machine: il.Machine[Any, Any, Any]) -> Step:
    """The desk, where three texts wait: two of its own, and one of its child machine."""
    step = started(desk_machine)
    return il.resolve_agent_step(desk_machine, step, step.requests[0], Accept(topic="rain"), at=0.0)


# -- one request -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["generate", "stream"])
async def test_a_text_is_carried_out(mode: str):
    machine = writer(mode)
    step = started(machine)
    (request,) = step.requests
    infos: list[il.ExecutorInfo] = []
    result = il.TextResult("It rains.", usage=il.Usage(input_tokens=1), finish_reason="stop")

    async def play(asked: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        assert asked == request
        infos.append(info)
        return result

    shown: list[str] = []

    async def show(piece: str) -> None:
        await anyio.lowlevel.checkpoint()
        shown.append(piece)

    given = executors(mode, play)
    assert await il.execute_agent_request(request, given) == "It rains."
    assert await il.execute_agent_request(request, given, verbose=True, on_chunk=show) == result
    assert shown == (["It", "rains."] if mode == "stream" else [])
    assert {(info.run_id, info.request_id, info.call_key, info.attempt) for info in infos} == {
        ("an:x", request.id, request.call_key, 1)
    }
    assert il.resolve_agent_step(machine, step, request, result).done


async def test_pieces_that_an_executor_shows_by_itself_are_shown():
    async def play(asked: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        assert info.on_chunk is not None
        await info.on_chunk("a piece")
        return il.TextResult("x")

    shown: list[str] = []

    async def show(piece: str) -> None:
        shown.append(piece)

    (request,) = started(writer("generate")).requests
    await il.execute_agent_request(request, il.Executors(generate_text=play), on_chunk=show)
    assert shown == ["a piece"]


@pytest.mark.parametrize(
    "result",
    [
        calls("add", a=1),
        il.TextResult("cut", finish_reason="length"),
        il.TextResult("no", finish_reason="content-filter"),
        il.TextResult("x", messages=(il.assistant_message("thinking"),)),
    ],
)
async def test_what_is_more_than_its_output_comes_whole(result: il.TextResult):
    (request,) = started(writer("generate", tools=[add])).requests
    assert await il.execute_agent_request(request, executors("generate", scripted(result))) == result


async def test_plain_executors_work_in_a_thread():
    machine = writer("generate")
    (request,) = started(machine).requests
    seen: list[str] = []

    def generate(asked: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        seen.append(threading.current_thread().name)
        return il.TextResult("x")

    def stream(asked: il.TextRequest, info: il.ExecutorInfo) -> Iterator[str | il.TextResult]:
        yield "x"
        yield il.TextResult("x")

    def decide(asked: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        seen.append(threading.current_thread().name)
        return il.Choice(Guess(guess="a cat"))

    given = il.Executors(generate_text=generate, stream_text=stream, decide=decide)  # type: ignore[arg-type]
    assert await il.execute_agent_request(request, given) == "x"
    streamed = writer("stream")
    assert await il.execute_agent_request(started(streamed).requests[0], given) == "x"
    guessing = game()
    assert (await il.resolve_agent_requests(guessing, started(guessing), given)).done
    assert threading.current_thread().name not in seen
    assert len(seen) == 2


async def test_a_decision_is_refused_naming_the_right_call():
    (request,) = started(game()).requests
    with pytest.raises(il.InputError, match=r"resolve_decision\(request, decide\)"):
        await il.execute_agent_request(request, il.ScriptedExecutors(decisions=["x"]))


@pytest.mark.parametrize("request_", [None, "x", 5, {"kind": "text"}])
async def test_what_is_no_request_is_refused(request_: Any):
    with pytest.raises(il.InputError, match="is no request"):
        await il.execute_agent_request(request_, il.ScriptedExecutors(text=["x"]))


@pytest.mark.parametrize(("mode", "slot"), [("generate", "generate_text"), ("stream", "stream_text")])
async def test_a_missing_executor_names_the_request(mode: str, slot: str):
    (request,) = started(writer(mode)).requests
    for given in (None, il.Executors(), executors("stream" if mode == "generate" else "generate", scripted())):
        with pytest.raises(il.BindError, match=rf"'{request.id}' \(draft\).*{slot}") as caught:
            await il.execute_agent_request(request, given)
        assert caught.value.code == "missing-executor"
    machine = game()
    with pytest.raises(il.BindError, match="decide"):
        await il.resolve_agent_requests(machine, started(machine), il.Executors())


async def test_tools_need_the_step():
    machine = writer("generate", tools=[look_up, add])
    step = started(machine)
    step = il.resolve_agent_step(machine, step, step.requests[0], calls("look_up", "look_up", word="rain"))
    (request,) = step.requests
    with pytest.raises(il.BindError, match="step=step"):
        await il.execute_agent_request(request)
    output = await il.execute_agent_request(request, step=step)
    assert output == il.TextOutput(value="rain: a thing")
    there = type(request).from_json(request.to_json())
    assert await il.execute_agent_request(there, step=step) == output
    done = il.resolve_agent_step(machine, step, request, output)
    assert done.entries[0].record["output"] == {"type": "text", "value": "rain: a thing"}
    assert done == il.resolve_agent_step(machine, step, request, "rain: a thing")


async def test_what_a_tool_raises_is_its_answer():
    machine = writer("generate", tools=[look_up])
    step = started(machine)
    step = il.resolve_agent_step(machine, step, step.requests[0], calls("look_up", word="missing"))
    output = await il.execute_agent_request(step.requests[0], step=step)
    assert isinstance(output, il.ErrorTextOutput)
    assert "KeyError" in output.value


async def test_what_an_executor_raises_is_passed_on():
    machine = writer("generate")
    step = started(machine)
    with pytest.raises(OSError, match="no line") as caught:
        await il.execute_agent_request(step.requests[0], executors("generate", scripted(OSError("no line"))))
    failed = il.reject_agent_step(machine, step, step.requests[0], caught.value)
    assert failed.snapshot.output == {"failed": "raised", "said": "no line"}
    with pytest.raises(il.ExecutorError, match="returned 'x'"):
        await il.execute_agent_request(step.requests[0], executors("generate", scripted("x")))


async def test_a_request_with_an_executor_of_its_own():
    async def own(asked: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        return il.TextResult("my own")

    agent = il.setup_agent(context=None, events=[Ask])
    draft = il.text_request("draft", model="m", prompt="?").with_executor(own)
    machine = agent.machine(
        "m", initial="a", states={"a": agent.state(invoke=agent.ask(draft, on_done="b")), "b": agent.final()}
    )
    step = started(machine)
    assert await il.execute_agent_request(step.requests[0], step=step) == "my own"
    assert (await il.resolve_agent_requests(machine, step)).done
    with pytest.raises(il.BindError, match="generate_text"):
        await il.execute_agent_request(step.requests[0])  # elsewhere nobody knows it


# -- all that a step asks for ----------------------------------------------------------------------------------------


async def test_the_loop_of_two_lines():
    machine, clock, keys = desk(), il.FakeClock(5.0), list[str]()
    step = started(machine)
    log = list(step.entries)
    while step.requests:
        step = await il.resolve_agent_requests(machine, step, desk_executors(keys.append), clock=clock)
        log += step.entries
    assert step.snapshot.value == "numbering"
    assert il.initial_agent_step(machine, entries=log).snapshot == step.snapshot
    assert [entry.index for entry in log] == list(range(len(log)))
    assert {entry.recorded_at for entry in log[1:]} == {5.0}
    assert len(set(keys)) == len(keys)


async def test_a_decision_is_carried_out_alone():
    machine = deciding_pair()
    step = started(machine)
    script = il.ScriptedExecutors(decisions=["Left", "Right"])
    step = await il.resolve_agent_requests(machine, step, script)
    assert len(script.requests) == 1
    assert step.snapshot.value == {"left": "done", "right": "ask"}
    assert (await il.resolve_agent_requests(machine, step, script)).snapshot.value["right"] == "done"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
async def test_texts_wait_together_and_are_applied_in_order(order: tuple[int, ...]):
    machine = desk()
    step = writing(machine)
    names = [request.name for request in step.requests]
    assert names == ["letter", "summary", "look"]
    inside, ready = 0, [anyio.Event() for _ in names]

    async def generate(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        nonlocal inside
        inside += 1
        number = names.index(request.name)
        if inside == len(names):
            ready[order[0]].set()
        await ready[number].wait()  # nobody comes back before all have been called, and then in this order
        after = order.index(number) + 1
        if after < len(order):
            ready[order[after]].set()
        return il.TextResult(f"the {request.name}")

    with anyio.fail_after(5):
        step = await il.resolve_agent_requests(machine, step, il.Executors(generate_text=generate))
    assert [entry.output for entry in step.entries] == ["the letter", "the summary", "the look"]
    assert [entry.index for entry in step.entries] == [2, 3, 4]
    assert [request.kind for request in step.requests] == ["decision"]


async def test_tools_and_texts_are_carried_out_together():
    machine = desk()
    step = writing(machine)
    step = il.resolve_agent_step(machine, step, step.requests[0], calls("weigh", grams=3))
    step = await il.resolve_agent_requests(machine, step, desk_executors())
    assert [entry.type.split(".")[0] for entry in step.entries] == ["@record", "@done", "@done"]
    assert step.entries[0].record["output"] == {"type": "text", "value": "3 g"}


async def test_only_the_slots_that_are_needed_have_to_be_filled():
    machine = desk()
    step = started(machine)
    every = desk_executors()
    only_decide = il.Executors(decide=every.decide)
    refused = await il.resolve_agent_requests(machine, step, only_decide)
    assert [request.kind for request in refused.requests] == ["decision"]
    step = refused
    step = await il.resolve_agent_requests(machine, step, only_decide)
    assert [request.kind for request in step.requests] == ["text"] * 3
    with pytest.raises(il.BindError, match="letter") as caught:
        await il.resolve_agent_requests(machine, step, only_decide)
    assert caught.value.code == "missing-executor"
    step = await il.resolve_agent_requests(machine, step, il.Executors(generate_text=every.generate_text))
    assert len(step.entries) == 3


async def test_what_an_executor_raises_goes_to_on_error():
    machine = writer("generate")
    step = await il.resolve_agent_requests(
        machine, started(machine), executors("generate", scripted(OSError("no line")))
    )
    assert step.done
    assert "no line" in step.snapshot.output["said"]
    assert step.entries[0].usage is not None
    assert step.entries[0].usage["model_calls"] == 1

    async def wrong(*_: Any) -> Any:
        return "x"

    step = await il.resolve_agent_requests(machine, started(machine), il.Executors(generate_text=wrong))
    assert step.snapshot.output["failed"] == "invalid-executor-result"
    machine = game()
    step = await il.resolve_agent_requests(machine, started(machine), il.Executors(decide=wrong))
    assert step.snapshot.value == "stumped"


async def test_a_script_that_is_too_short_is_the_hosts_mistake():
    machine = writer("generate")
    step = started(machine)
    with pytest.raises(il.ScriptExhaustedError):
        await il.resolve_agent_requests(machine, step, il.ScriptedExecutors())
    assert (await il.resolve_agent_requests(machine, step, il.ScriptedExecutors(text=["x"]))).done


async def test_where_nothing_is_asked_of_a_model_that_is_an_error_saying_what_is_waited_for():
    machine = game()
    step = started(machine)
    waits = il.resolve_agent_step(machine, step, step.requests[0], Ask(question="?"))
    ended = il.resolve_agent_step(machine, step, step.requests[0], Guess(guess="a cat"))
    function = sc.machine(
        "f",
        sources={"fetch": lambda: 1},
        initial="a",
        states={"a": sc.state(invoke=sc.invoke("fetch", id="got", on_done="b")), "b": sc.state(after={5: "a"})},
    )
    called = started(function)
    timed = il.resolve_agent_step(function, called, "got", 1, at=0.0)
    for owner, here, said in (
        (machine, waits, "one of the events Reply"),
        (machine, ended, "has ended"),
        (function, called, "the function 'fetch' (got#"),
        (function, timed, "due at 5"),
    ):
        with pytest.raises(il.BindError) as caught:
            await il.resolve_agent_requests(owner, here, il.ScriptedExecutors())
        assert caught.value.code == "nothing-to-resolve"
        assert said in str(caught.value)


async def test_of_another_machine_no_model_is_asked():
    script = il.ScriptedExecutors(decisions=["Refuse"])
    with pytest.raises(il.SnapshotError):
        await il.resolve_agent_requests(game(), started(desk()), script)
    assert script.requests == []


async def test_a_result_that_ends_the_others_wins():
    """The first of two texts leads out of the state that both were asked in: the second changes nothing."""
    agent = il.setup_agent(context=None, events=[Refuse])
    machine = agent.machine(
        "m",
        initial="both",
        states={
            "both": agent.state(
                invoke=[
                    agent.generate_text(name=name, model="m", prompt="?", on_done="over") for name in ("one", "two")
                ]
            ),
            "over": agent.final(),
        },
    )
    script = il.ScriptedExecutors(text=["1", "2"])
    step = await il.resolve_agent_requests(machine, started(machine), script)
    assert (len(script.requests), len(step.entries), step.done) == (2, 1, True)


async def test_cancelled_calls_leave_the_step_as_it_was():
    machine = desk()
    step = writing(machine)
    before = step.to_json()
    over = list[str]()

    async def never(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        try:
            await anyio.Event().wait()
        finally:
            over.append(info.request_id)
        raise AssertionError

    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(il.resolve_agent_requests, machine, step, il.Executors(generate_text=never))
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
    assert sorted(over) == sorted(request.id for request in step.requests)
    assert step.to_json() == before


async def test_an_executor_that_breaks_the_contract_of_streams():
    machine = writer("stream")

    async def stream(request: il.TextRequest, info: il.ExecutorInfo) -> AsyncIterator[str | il.TextResult]:
        yield "only a piece"

    step = await il.resolve_agent_requests(machine, started(machine), il.Executors(stream_text=stream))
    assert step.snapshot.output["failed"] == "invalid-executor-result"


async def test_a_child_machines_decision_is_asked_for_with_its_events():
    machine = desk()
    step = writing(machine)
    step = await il.resolve_agent_requests(machine, step, desk_executors())
    step = await il.resolve_agent_requests(machine, step, desk_executors())
    assert step.entries[0].record["kind"] == "answer"
    while step.requests:
        step = await il.resolve_agent_requests(machine, step, desk_executors())
    assert step.snapshot.context.verdict == "fine: look: Look."


async def test_where_an_executor_is_missing_nobody_is_called():
    agent = il.setup_agent(context=None, events=[Refuse])
    machine = agent.machine(
        "m",
        kind="parallel",
        states={
            "one": agent.state(invoke=agent.generate_text(name="one", model="m", prompt="?")),
            "two": agent.state(invoke=agent.stream_text(name="two", model="m", prompt="?")),
        },
    )
    script = il.ScriptedExecutors(text=["1"])
    with pytest.raises(il.BindError, match="stream_text"):
        await il.resolve_agent_requests(machine, started(machine), il.Executors(generate_text=script.generate_text))
    assert script.requests == []


@pytest.mark.parametrize("error", [SystemExit, il.BindError])
async def test_what_ends_the_host_comes_out_as_itself(error: type[BaseException]):
    machine = desk()
    step = writing(machine)
    given = error(3) if error is SystemExit else il.BindError("mine", code="invalid-argument")

    async def leave(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        await anyio.lowlevel.checkpoint()
        raise given

    with pytest.raises(error) as caught:
        await il.resolve_agent_requests(machine, step, il.Executors(generate_text=leave))
    assert caught.value is given
