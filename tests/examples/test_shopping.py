"""A cart that is filled by events, as a model calls them; the till is a guard."""

import interlock as il
from tests.examples.loading import load, talk

shop = load("shopping")


def call(name, **fields):
    return il.TextResult(tool_calls=(il.ToolCall(name, name, fields),))


def shopped(*turns, budget=2000):
    models = il.ScriptedExecutors(text=turns)
    trip = shop.Trip(wish="tea", budget=budget)
    return il.run_agent_sync(shop.machine, input=trip, executors=models), models


def test_events_and_tools_beside_each_other_and_checking_out_ends_it():
    done, models = shopped(
        call("price", item="tea"),
        call("send_event_Put", item="tea", count=2),
        call("send_event_CheckOut"),
    )
    assert isinstance(done, il.Done)
    assert done.output == shop.Receipt(items=("tea", "tea"), total=500)
    assert models.remaining == 0
    assert {tool.name for tool in models.text_requests[0].tools} >= {"price", "send_event_Put"}
    # An empty cart cannot be paid for, and nothing can be put back: what has no fields is not even offered.
    assert "send_event_CheckOut" not in {tool.name for tool in models.text_requests[0].tools}
    assert "send_event_CheckOut" in {tool.name for tool in models.text_requests[-1].tools}


def test_the_till_refuses_what_is_over_the_budget():
    done, models = shopped(
        call("send_event_Put", item="cake", count=2),
        call("send_event_CheckOut"),
        call("send_event_TakeOut", item="cake"),
        call("send_event_CheckOut"),
        budget=400,
    )
    assert done.output == shop.Receipt(items=("cake",), total=320)
    assert "'CheckOut' is not allowed" in str(models.text_requests[2].turns[-1].content[0].output.value)


def test_who_leaves_without_paying_has_bought_nothing():
    done, _ = shopped(call("send_event_Put", item="gold"), "There is no gold.")
    assert done.output == shop.Receipt(said="There is no gold.")
    done, _ = shopped(OSError("no connection"))
    assert done.output == shop.Receipt(said="no connection")


def test_as_a_program(tmp_path):
    lines = talk("shopping", tmp_path, "2 tea, 3 cake", "--budget", "10")
    assert lines[-1] == "Bought tea, tea, cake for 8.20."
    assert sum("'CheckOut' is not allowed in state shopping" in line for line in lines) == 2
    lines = talk("shopping", tmp_path, "1 gold bar")
    assert lines[-1] == "Bought nothing: I could not get that."
    assert sum("TakeOut" in line for line in lines) == 0
