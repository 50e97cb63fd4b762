"""Functions that a state calls: in a thread or on the loop, with what they are given and what they give back."""

import asyncio
import functools
import threading
from contextvars import ContextVar
from typing import Any

import pytest
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc
from tests.run.machines import work

REQUEST: ContextVar[str] = ContextVar("REQUEST")


class Order(BaseModel, frozen=True):
    id: int
    paid: bool = False


def calling(function: Any, **fields: Any) -> il.Machine[Any, None, Any]:
    agent = il.setup_agent(context=None, events=[])
    return agent.machine(
        "m",
        context={"out": None, "error": None},
        initial="a",
        states={
            "a": agent.state(
                invoke=agent.call(
                    function,
                    name="function",
                    on_done=lambda c, out: agent.goto("b", out=repr(out)),
                    on_error=lambda c, error: agent.goto("b", error=error.code),
                    **fields,
                )
            ),
            "b": agent.final(output=lambda c: c["error"] or c["out"]),
        },
    )


async def out(machine: il.Machine[Any, None, Any]) -> Any:
    result = await il.run_agent(machine)
    assert isinstance(result, il.Done), result
    return result.output


async def test_plain_functions_run_in_threads_with_context_variables():
    def plain() -> tuple[bool, str]:
        return threading.current_thread() is threading.main_thread(), REQUEST.get()

    REQUEST.set("r1")
    assert await out(calling(plain)) == "(False, 'r1')"


async def test_async_functions_see_context_variables_too():
    async def load() -> str:
        return REQUEST.get()

    REQUEST.set("r2")
    assert await out(calling(load)) == "'r2'"


async def test_the_answer_is_decoded_by_its_annotation():
    async def load(number: int) -> Order:
        return Order(id=number)

    assert await out(calling(load, input=lambda c: {"number": 7})) == "Order(id=7, paid=False)"


async def test_an_answer_of_another_type_goes_to_on_error():
    async def load() -> Order:
        return "an order"

    assert await out(calling(load)) == "invalid-call-result"


async def test_what_a_function_raises_goes_to_on_error():
    async def fail() -> None:
        raise KeyError("x")

    assert await out(calling(fail)) == "raised"
    assert await out(calling(functools.partial(fail))) == "raised"


async def test_a_lambda_may_return_something_to_be_awaited():
    async def load(n: int) -> int:
        return n

    assert await out(calling(lambda: load(3))) == "3"


async def test_an_unhandled_error_ends_the_run_with_the_exception_itself():
    async def fail() -> None:
        raise KeyError("x")

    result = await il.run_agent(work({"fail": fail}))
    assert isinstance(result, il.Failed)
    assert isinstance(result.exception, KeyError)
    assert result.error.type == "KeyError"
    assert result.snapshot is not None
    assert result.snapshot.status == "error"


async def test_an_error_text_that_is_no_text_still_arrives():
    async def fail() -> None:
        raise ValueError("half a pair: \ud800")

    result = await il.run_agent(work({"fail": fail}))
    assert isinstance(result, il.Failed)
    assert result.error.message == "half a pair: \\ud800"
    assert result.snapshot is not None
    assert result.snapshot.to_json()


async def test_what_json_cannot_carry_goes_to_on_error():
    async def load() -> object:
        return float("nan")

    result = await il.run_agent(work({"load": load}))
    assert isinstance(result, il.Failed)
    assert result.error.code == "not-json"


async def test_plain_functions_start_in_order_and_run_at_the_same_time():
    order: list[str] = []
    all_in = threading.Barrier(3, timeout=10)

    def step(name: str) -> str:
        order.append(name)
        all_in.wait()
        return name

    names = ["c", "a", "b"]
    result = await il.run_agent(work({name: functools.partial(step, name) for name in names}, parallel=True))
    assert isinstance(result, il.Done)
    assert order == names


async def test_more_plain_functions_than_threads_take_turns():
    lock = threading.Lock()
    now: list[int] = [0, 0]

    def step() -> None:
        with lock:
            now[0] += 1
            now[1] = max(now)
        with lock:
            now[0] -= 1

    result = await il.run_agent(work({f"f{n}": step for n in range(60)}, parallel=True))
    assert isinstance(result, il.Done)
    assert now[1] <= 40


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # nobody can make a trio.Cancelled
async def test_a_function_that_cancels_itself_has_failed():
    async def odd() -> None:
        raise asyncio.CancelledError

    result = await il.run_agent(work({"odd": odd}))
    assert isinstance(result, il.Failed)
    assert result.error.code == "invalid-executor-result"
    assert "odd was cancelled" in result.error.message


async def test_actors_replace_what_the_machine_declares():
    machine = work({"load": None})
    with pytest.raises(il.BindError):
        await il.run_agent(machine)

    async def load() -> int:
        return 5

    result = await il.run_agent(machine, actors={"load": load})
    assert isinstance(result, il.Done)
    assert result.output == {"load": 5}


async def test_a_spawned_source_that_nothing_carries_out_fails_where_it_is_spawned():
    machine = sc.machine(
        "m",
        sources={"job": None},
        initial="a",
        states={"a": sc.state(on={"GO": lambda c, e: sc.goto("b").spawn("job", id="j")}), "b": sc.state()},
    )
    result = await il.run_agent(machine, event="GO")
    assert isinstance(result, il.Failed)
    assert result.error.code == "unregistered-source"
