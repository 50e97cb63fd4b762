"""The step path: a host that owns the loop, the clock and the log moves a machine on, one pure step at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc
from interlock.journal import replay
from interlock.statechart import Input
from tests.durable.desk import Accept, Again, Approve, Refuse, desk
from tests.guessing import Ask, Guess, Reply, game
from tests.run.machines import Left, deciding_pair
from tests.run.writing import Letter, add, calls, look_up, writer

Step = il.AgentStep[Any]


def started(machine: il.Machine[Any, Any, Any], **options: Any) -> Step:
    return il.initial_agent_step(machine, at=0.0, execution_id="x", **options)


def saved(machine: il.Machine[Any, Any, Any], step: Step) -> Step:
    return il.AgentStep.from_json(machine, json.dumps(step.to_json()))


def asked(step: Step) -> list[tuple[str, str | None]]:
    return [(request.kind, request.name) for request in step.requests]


def values(step: Step) -> dict[str, Any]:
    return dict(step.snapshot.context.model_dump())


# -- the first step --------------------------------------------------------------------------------------------------


def test_a_machine_starts_with_its_first_entry_and_requests():
    step = started(game())
    assert step.snapshot.value == "deciding"
    assert asked(step) == [("decision", "0.twenty-questions.deciding")]
    assert [entry.type for entry in step.entries] == ["@agent.init"]
    assert step.entries[0].metadata == {"execution_id": "x"}
    assert not step.done
    assert step.head.length == 1
    assert [item.id for item in step.owed.invocations] == ["0.twenty-questions.deciding"]
    (request,) = step.requests
    assert request.call_key == f"x:{request.id}.0"
    assert [type(effect).__name__ for effect in step.effects] == ["Spawn", "Start"]


def test_it_starts_from_an_input():
    class Given(BaseModel, frozen=True):
        n: int = 3

    agent = il.setup_agent(context=Given, input=Given, events=[Left])
    machine = agent.machine(
        "m", context=lambda given: given, initial="a", states={"a": agent.state(on=[agent.on(Left, "a")])}
    )
    step = il.initial_agent_step(machine, {"n": 4}, at=0.0)
    assert step.snapshot.context == Given(n=4)
    assert step.entries[0].event == {"type": "@agent.init", "input": {"n": 4}}
    assert il.initial_agent_step(machine, Given(n=4), at=0.0) == step
    with pytest.raises(il.InputError):
        il.initial_agent_step(machine, {"n": "x"})


def test_who_takes_no_input_is_given_none():
    with pytest.raises(il.InputError, match="takes no input"):
        il.initial_agent_step(game(), {"secret": "a cat"})


def test_the_name_of_an_execution_is_made_of_the_arguments():
    machine = game()
    one, two, other = (il.initial_agent_step(machine, at=at) for at in (1.0, 1.0, 2.0))
    assert one == two
    assert one.head.execution_id != other.head.execution_id
    assert il.initial_agent_step(game(), execution_id="mine").head.execution_id == "mine"


def test_it_stands_where_a_snapshot_stands():
    machine = game()
    step = il.resolve_agent_step(machine, started(machine), "0.twenty-questions.deciding", Ask(question="Is it?"))
    for stand in (step.snapshot, step.snapshot.dump(), step.snapshot.to_json(), step.snapshot.to_json().encode()):
        again = il.initial_agent_step(machine, snapshot=stand, execution_id="y")
        assert again.snapshot == step.snapshot
        assert [entry.type for entry in again.entries] == ["@agent.init"]
        assert replay(machine, again.entries, verify="strict").snapshot == step.snapshot
    with pytest.raises(il.SnapshotError):
        il.initial_agent_step(machine, snapshot="{")
    with pytest.raises(il.SnapshotError):
        il.initial_agent_step(machine, snapshot={})


def test_a_snapshot_of_another_machine_goes_through_its_saved_form():
    step = started(game())
    twin = game()
    assert il.initial_agent_step(twin, snapshot=step.snapshot).head.snapshot.table is twin.table
    assert il.get_agent_requests(twin, step.snapshot)
    with pytest.raises(il.SnapshotError):
        il.initial_agent_step(desk(), snapshot=step.snapshot)
    with pytest.raises(il.SnapshotError):
        il.get_agent_requests(desk(), step.snapshot)


def test_it_goes_on_from_a_log():
    machine = game()
    first = started(machine)
    second = il.resolve_agent_step(machine, first, first.requests[0], Ask(question="Is it?"), at=1.0)
    third = il.transition_agent_step(machine, second, Reply(answer="yes"), at=2.0)
    log = [*first.entries, *second.entries, *third.entries]
    step = il.initial_agent_step(machine, entries=log)
    assert (step.snapshot, step.requests, step.entries, step.effects) == (third.snapshot, third.requests, (), ())
    assert step.head == third.head
    with pytest.raises(il.InvalidLogError):
        il.initial_agent_step(machine, entries=[])
    with pytest.raises(il.InvalidLogError):
        il.initial_agent_step(machine, entries=log[1:])
    with pytest.raises(il.LogVersionError):
        il.initial_agent_step(desk(), entries=log)


@pytest.mark.parametrize(
    "names", [("input", "snapshot"), ("snapshot", "entries"), ("input", "entries"), ("input", "snapshot", "entries")]
)
def test_it_starts_from_exactly_one(names: tuple[str, ...]):
    step = started(game())
    given = {"input": 1, "snapshot": step.snapshot, "entries": step.entries}
    with pytest.raises(il.BindError, match=" and ".join(names)):
        il.initial_agent_step(game(), **{name: given[name] for name in names})  # type: ignore[arg-type]


# -- events, timers, inputs ------------------------------------------------------------------------------------------


def answering() -> tuple[il.Machine[Any, Any, Any], Step]:
    machine = game()
    step = started(machine)
    return machine, il.resolve_agent_step(machine, step, step.requests[0], Ask(question="Is it?"), at=1.0)


@pytest.mark.parametrize(
    "event", [Reply(answer="yes"), {"type": "Reply", "answer": "yes"}, Input(event=Reply(answer="yes"), by="host")]
)
def test_an_event_moves_it_on(event: Any):
    machine, step = answering()
    moved = il.transition_agent_step(machine, step, event, at=2.0, event_id="reply-1")
    assert moved.snapshot.context.transcript[-1] == "A: yes"
    (entry,) = moved.entries
    assert (entry.id, entry.type, entry.by, entry.recorded_at) == ("reply-1", "Reply", "host", 2.0)
    assert entry.event == {"type": "Reply", "answer": "yes"}


def test_a_bare_snapshot_begins_a_new_log():
    machine, step = answering()
    moved = il.transition_agent_step(machine, step.snapshot, Reply(answer="no"), at=2.0)
    begun = il.initial_agent_step(machine, snapshot=step.snapshot, at=2.0)
    assert moved == il.transition_agent_step(machine, begun, Reply(answer="no"), at=2.0)
    assert [entry.index for entry in (*begun.entries, *moved.entries)] == [0, 1]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "Reply", "answer": "perhaps"},
        "Fly",
        "@agent.init",
        None,
        5,
        Reply,
        {"answer": "yes"},
        Accept(topic="x"),
        Input(event={"type": "Reply", "answer": "perhaps"}),
        Input(event={"type": "Fly"}),
    ],
)
def test_what_is_no_event_of_the_machine_is_an_error(event: Any):
    machine, step = answering()
    before = json.dumps(step.to_json())
    with pytest.raises(il.InputError):
        il.transition_agent_step(machine, step, event)
    assert json.dumps(step.to_json()) == before


def test_an_event_that_nothing_waits_for_is_in_the_log_all_the_same():
    machine, step = answering()
    still = il.transition_agent_step(machine, step, Ask(question="me"), at=3.0)
    assert still.snapshot == step.snapshot
    assert still.entries[0].state_hash == step.entries[-1].state_hash
    assert [entry.type for entry in still.entries] == ["Ask"]


@pytest.mark.parametrize("event_id", ["", "evt_00000002", "evt_99999999", "evt_123456789"])
def test_an_event_is_given_no_id_that_a_later_entry_must_have(event_id: str):
    machine, step = answering()
    with pytest.raises(il.InputError, match="event_id"):
        il.transition_agent_step(machine, step, Reply(answer="yes"), event_id=event_id)


def cooling() -> tuple[il.Machine[Any, Any, Any], Step]:
    """The desk, where its timer runs."""
    machine = desk(delay=5.0)
    step = started(machine)
    step = il.resolve_agent_step(machine, step, step.requests[0], Accept(topic="rain"), at=1.0)
    for text in ("letter", "summary", "looked"):
        step = il.resolve_agent_step(machine, step, step.requests[0], text, at=1.0)
    step = il.resolve_agent_step(machine, step, step.requests[0], "Fine", at=1.0)
    return machine, il.resolve_agent_step(machine, step, step.owed.invocations[0], 4, at=2.0)


def test_a_timer_fires():
    machine, step = cooling()
    (timer,) = step.owed.timers
    assert (timer.due, step.requests) == (7.0, ())
    fired = il.transition_agent_step(machine, step, timer, at=7.0)
    assert fired.snapshot.value == "approving"
    assert fired.entries[0].type == f"@timer.{timer.id}"
    assert fired.entries[0].causation_id == step.entries[-1].id
    again = il.transition_agent_step(machine, fired, timer, at=8.0)  # it is spent
    assert again.snapshot == fired.snapshot
    assert il.transition_agent_step(machine, step, Input.fired(timer.id), at=7.0).snapshot == fired.snapshot


def test_a_timer_needs_a_time():
    machine, step = cooling()
    back = saved(machine, step)
    assert back.owed.timers == step.owed.timers
    with pytest.raises(il.InterlockError, match="at") as caught:
        il.initial_agent_step(sc.machine("t", initial="a", states={"a": sc.state(after={5: "b"}), "b": sc.state()}))
    assert caught.value.code == "missing-time"


def sourced(function: Any = lambda: 1, **more: Any) -> il.Machine[Any, Any, Any]:
    return sc.machine(
        "m",
        context={"got": None},
        sources={"f": function},
        initial="a",
        states={
            "a": sc.state(
                invoke=sc.invoke(
                    "f",
                    id="f",
                    on_done=lambda c, out: sc.goto("b", got=out),
                    on_error=lambda c, error: sc.goto("b", got=getattr(error, "code", error)),
                )
            ),
            "b": sc.state(on={"AGAIN": "a"}),
        },
        **more,
    )


class Made(BaseModel, frozen=True):
    n: int = 1


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (Input.done("f", Made()), {"n": 1}),
        (Input.done("f", [1, (2,)]), (1, (2,))),
        (Input.failed("f", ValueError("x")), "raised"),
        (Input.failed("f", {"a": [1]}), {"a": (1,)}),
        (Input(invocation="f", record=Made(), output=None), None),
    ],
)
def test_what_is_reported_is_seen_as_the_log_holds_it(given: Input, got: object):
    machine = sourced()
    first = started(machine)
    step = il.transition_agent_step(machine, first, given)
    assert step.snapshot.context["got"] == got
    assert type(step.snapshot.context["got"]) is not Made
    assert replay(machine, [*first.entries, *step.entries], verify="strict").snapshot == step.snapshot
    assert step.entries[0].type.endswith(".invoke.f")
    assert step.entries[0].causation_id == first.entries[0].id


@pytest.mark.parametrize("output", [float("nan"), {1, 2}, object(), {1: 2}])
def test_what_cannot_be_kept_is_refused(output: Any):
    machine = sourced()
    step = started(machine)
    with pytest.raises(il.NotJsonError, match=r"entry\.output"):
        il.transition_agent_step(machine, step, Input.done("f", output))


def test_an_event_for_a_child_machine_is_read_by_that_one():
    machine = desk()
    step = started(machine)
    step = il.resolve_agent_step(machine, step, step.requests[0], Accept(topic="rain"))
    step = il.resolve_agent_step(machine, step, step.requests[2], "looked")
    address = step.requests[2].id.split("/")[0]
    fine = il.transition_agent_step(machine, step, Input(address=(address,), event={"type": "Fine"}, by="host"))
    assert fine.snapshot.context.verdict == "fine: looked"
    with pytest.raises(il.InputError, match="Accept"):
        il.transition_agent_step(machine, step, Input(address=(address,), event={"type": "Accept", "topic": "x"}))
    gone = il.transition_agent_step(machine, step, Input(address=("nobody#1",), event={"type": "Fine"}))
    assert gone.snapshot == step.snapshot


# -- results ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "choice",
    [
        il.Choice(Ask(question="Is it?"), reason="why not", usage=il.Usage(input_tokens=3)),
        il.Choice({"type": "Ask", "question": "Is it?"}),
        Ask(question="Is it?"),
        {"type": "Ask", "question": "Is it?"},
    ],
)
def test_a_decision_is_resolved_with_a_choice_or_the_event(choice: Any):
    machine = game()
    step = started(machine)
    moved = il.resolve_agent_step(machine, step, step.requests[0], choice)
    assert moved.snapshot.value == "answering"
    (entry,) = moved.entries
    assert (entry.type, entry.by, entry.causation_id) == ("Ask", "decision", "evt_00000000")
    assert entry.usage is not None
    assert entry.usage["model_calls"] == 1
    assert entry.usage.get("input_tokens") == (3 if isinstance(choice, il.Choice) and choice.usage else None)
    assert ("reason" in entry.metadata) is (isinstance(choice, il.Choice) and choice.reason is not None)


def test_a_decision_is_resolved_with_the_name_of_an_event_without_fields():
    machine = deciding_pair()
    step = started(machine)
    moved = il.resolve_agent_step(machine, step, step.requests[0], "Left")
    assert moved.snapshot.value == {"left": "done", "right": "ask"}


@pytest.mark.parametrize("result", [None, 5, [], il.TextResult("x"), Ask])
def test_a_decision_is_resolved_with_nothing_else(result: Any):
    machine = game()
    step = started(machine)
    with pytest.raises(il.InputError, match="is a decision"):
        il.resolve_agent_step(machine, step, step.requests[0], result)


@pytest.mark.parametrize("usage", [5, {"input_tokens": 3}])
def test_what_a_host_hands_in_for_usage_is_looked_at(usage: Any):
    machine, other = game(), writer("generate")
    step = started(machine)
    with pytest.raises(il.InputError, match="usage"):
        il.resolve_agent_step(machine, step, step.requests[0], il.Choice(Ask(question="?"), usage=usage))
    step = started(other)
    with pytest.raises(il.ExecutorError, match="usage"):
        il.resolve_agent_step(other, step, step.requests[0], il.TextResult("x", usage=usage))


def test_refused_choices_are_kept_and_the_request_comes_again_until_its_retries_are_used_up():
    machine = game()
    step = started(machine)
    wrong: list[Any] = ["Fly", {"type": "Ask"}, {"type": "Reply", "answer": "yes"}]
    keys: list[Any] = []
    for number, choice in enumerate(wrong[:2], 1):
        keys.append(step.requests[0].call_key)
        step = il.resolve_agent_step(machine, step, step.requests[0], choice)
        (request,) = step.requests
        assert isinstance(request, il.DecisionRequest)
        assert len(request.attempts) == number
        assert step.entries[0].record["failure"] == request.attempts[-1].failure
        assert step.snapshot.value == "deciding"
        step = saved(machine, step)
    assert len({*keys, step.requests[0].call_key}) == 3
    step = il.resolve_agent_step(machine, step, step.requests[0], wrong[2])
    assert step.snapshot.value == "stumped"
    assert step.done
    assert step.snapshot.status == "done", step.snapshot.error
    assert step.entries[0].error["info"]["code"] == "decision-exhausted"
    assert len(step.entries[0].error["info"]["data"]) == 3
    assert step.entries[0].record is not None


def test_a_guard_refuses():
    machine = game(1)  # the last question may only be a guess
    step = started(machine)
    (request,) = step.requests
    assert isinstance(request, il.DecisionRequest)
    refused = il.resolve_agent_step(machine, step, request, Ask(question="One more?"))
    assert refused.entries[0].record["failure"] == "rejected-by-guard"
    assert il.resolve_agent_step(machine, refused, refused.requests[0], Guess(guess="a cat")).done


def test_a_machine_without_on_error_fails_and_says_so():
    machine = game(on_error=None)
    step = started(machine)
    failed = il.reject_agent_step(machine, step, step.requests[0], OSError("no line"))
    assert failed.done
    assert failed.snapshot.status == failed.entries[-1].status == "error"
    assert failed.requests == ()
    assert isinstance(failed.snapshot.error, il.ErrorInfo)
    assert "no line" in failed.snapshot.error.message


def nothing_legal(on_error: Any) -> il.Machine[Any, Any, Any]:
    agent = il.setup_agent(context=None, events=[Left])
    return agent.machine(
        "m",
        initial="a",
        states={
            "a": agent.state(
                invoke=agent.decide(model="m", prompt="?", on_error=on_error),
                on=[agent.on(Left, "b", guard=lambda c, e: False)],
            ),
            "b": agent.final(),
            "c": agent.state(
                invoke=agent.decide(model="m", prompt="?", on_error="a"),
                on=[agent.on(Left, "b", guard=lambda c, e: False)],
            ),
        },
    )


def test_a_decision_with_nothing_to_pick_fails_without_anybody_being_asked():
    step = started(nothing_legal("b"))
    assert step.done
    assert [entry.type for entry in step.entries] == ["@agent.init", "@error.invoke.0.m.a"]
    assert step.entries[1].error["info"]["code"] == "no-legal-events"
    # A log that was cut off in between is gone on with in the same way.
    machine = nothing_legal("b")
    again = il.initial_agent_step(machine, entries=step.entries[:1], at=0.0)
    assert again.entries == step.entries[1:]
    assert again.snapshot == il.initial_agent_step(machine, entries=step.entries).snapshot


def test_a_machine_that_fails_for_ever_without_asking_is_named():
    with pytest.raises(il.EndlessLoopError, match=r"goes round in m\.a, m\.c") as caught:
        started(nothing_legal("c"))
    assert caught.value.cycle == ("m.a", "m.c")


def test_a_text_is_resolved_with_its_output_or_its_turn():
    machine = writer("generate")
    step = started(machine)
    (request,) = step.requests
    assert isinstance(request, il.TextRequest)
    assert (request.prompt, request.name) == ("On rain", "draft")
    plain = il.resolve_agent_step(machine, step, request, "It rains.")
    assert plain.snapshot.output == "It rains."
    whole = il.resolve_agent_step(
        machine, step, request, il.TextResult("It rains.", usage=il.Usage(output_tokens=3), finish_reason="stop")
    )
    assert whole.snapshot.output == plain.snapshot.output
    assert whole.entries[0].metadata == {"finish_reason": "stop"}
    assert whole.entries[0].usage is not None
    assert whole.entries[0].usage.items() >= {"model_calls": 1, "output_tokens": 3}.items()


def test_a_letter_is_checked():
    machine = writer("generate", output=Letter)
    step = started(machine)
    good = il.resolve_agent_step(machine, step, step.requests[0], Letter(subject="rain"))
    assert good.snapshot.output == {"subject": "rain", "lines": ()}
    assert il.resolve_agent_step(machine, step, step.requests[0], {"subject": "rain"}).snapshot == good.snapshot
    bad = il.resolve_agent_step(machine, step, step.requests[0], {"object": "rain"})
    assert bad.snapshot.output["failed"] == "invalid-output"


@pytest.mark.parametrize(
    ("turn", "code"),
    [
        (il.TextResult("I wi", finish_reason="content-filter"), "refused"),
        (il.TextResult("", finish_reason="length"), "truncated"),
        (il.TextResult(tool_calls=calls("add").tool_calls, finish_reason="length"), "truncated"),
        (il.TextResult(), "invalid-executor-result"),
        (5, "invalid-executor-result"),
    ],
)
def test_a_turn_that_is_none_goes_to_on_error(turn: Any, code: str):
    machine = writer("generate", tools=[add])
    step = started(machine)
    assert il.resolve_agent_step(machine, step, step.requests[0], turn).snapshot.output["failed"] == code


def test_a_text_with_tools_turn_by_turn():
    machine = writer("generate", tools=[look_up, add])
    step = started(machine)
    first = step.requests[0]
    two = (il.ToolCall("1", "add", {"a": 1}), il.ToolCall("2", "look_up", {"word": "rain"}))
    step = il.resolve_agent_step(machine, step, first, il.TextResult(tool_calls=two))
    seen: list[Any] = [first.call_key]
    assert asked(step) == [("tool", "add")]
    while isinstance(request := step.requests[0], il.ToolRequest):
        seen.append(request.call_key)
        back = saved(machine, step)
        assert back.requests == step.requests
        step = il.resolve_agent_step(machine, back, request, f"{request.name} says so")
    seen.append(request.call_key)
    assert len(set(seen)) == len(seen) == 4
    assert isinstance(request, il.TextRequest)
    assert request.steps_remaining == 7
    assert [message.role for message in request.turns] == ["assistant", "tool"]
    assert il.resolve_agent_step(machine, step, request, "done").snapshot.output == "done"


def test_unknown_tools_and_arguments_that_do_not_fit_are_answered_without_the_host():
    machine = writer("generate", tools=[add])
    step = started(machine)
    turn = il.TextResult(
        tool_calls=(il.ToolCall("1", "ad", {}), il.ToolCall("2", "add", {"a": "x"}), il.ToolCall("3", "add", {"a": 2}))
    )
    step = il.resolve_agent_step(machine, step, step.requests[0], turn)
    assert [entry.record["kind"] for entry in step.entries] == ["turn", "answer", "answer"]
    assert "no tool 'ad'" in step.entries[1].record["output"]["value"]
    assert "was not called" in step.entries[2].record["output"]["value"]
    (request,) = step.requests
    assert isinstance(request, il.ToolRequest)
    assert (request.name, request.call.input) == ("add", {"a": 2})
    step = il.reject_agent_step(machine, step, request, ValueError("no"))
    assert step.entries[0].record["output"] == {"type": "error-text", "value": "ValueError: no"}
    only_wrong = il.resolve_agent_step(machine, step, step.requests[0], calls("ad", "du"))
    assert asked(only_wrong) == [("text", "draft")]
    assert len(only_wrong.entries) == 3


def test_turns_are_used_up():
    machine = writer("generate", tools=[add], max_steps=2)
    step = started(machine)
    step = il.resolve_agent_step(machine, step, step.requests[0], calls("add", a=1))
    step = il.resolve_agent_step(machine, step, step.requests[0], 2)
    request = step.requests[0]
    assert isinstance(request, il.TextRequest)
    assert request.steps_remaining == 1
    step = il.resolve_agent_step(machine, step, request, calls("add", a=2))
    assert step.snapshot.output["failed"] == "max-steps"


def test_a_tools_answer_is_no_turn_and_a_turn_is_no_answer():
    machine = writer("generate", tools=[add])
    step = started(machine)
    step = il.resolve_agent_step(machine, step, step.requests[0], calls("add", a=1))
    with pytest.raises(il.InputError, match="waits for what its tool 'add' answers"):
        il.resolve_agent_step(machine, step, step.requests[0].id, il.TextResult("x"))


def test_what_a_function_returned_is_judged_by_its_annotation():
    machine = desk()
    step = started(machine)
    step = il.resolve_agent_step(machine, step, step.requests[0], Accept(topic="rain"))
    for text in ("letter", "summary", "looked"):
        step = il.resolve_agent_step(machine, step, step.requests[0], text)
    step = il.resolve_agent_step(machine, step, step.requests[0], "Fine")
    (item,) = step.owed.invocations
    assert (item.src, item.input, step.requests) == ("stamp", "rain", ())
    good = il.resolve_agent_step(machine, step, item, 4, at=0.0)
    assert good.snapshot.context.number == 4
    bad = il.resolve_agent_step(machine, step, item.id, "four", at=0.0)
    assert bad.snapshot.status == "error"
    assert bad.entries[0].error["info"]["code"] == "invalid-call-result"


@pytest.mark.parametrize("error", [ValueError("x"), il.ErrorInfo.of(ValueError("x")), KeyboardInterrupt("x")])
def test_a_function_fails(error: Any):
    machine = sourced()
    step = started(machine)
    failed = il.reject_agent_step(machine, step, "f", error)
    assert failed.snapshot.context["got"] == "raised"
    assert failed.entries[0].error["info"]["message"].endswith("x")


# -- naming a request ------------------------------------------------------------------------------------------------


def names(step: Step) -> Iterator[Any]:
    """All ways to name the first request of a step."""
    request = step.requests[0]
    yield request
    yield request.id
    yield request.id.rpartition("#")[0]
    yield step.owed.invocations[0]
    yield type(request).from_json(json.loads(json.dumps(request.to_json())))


def test_a_request_is_named_by_itself_its_id_or_what_is_owed():
    machine = game()
    step = started(machine)
    outcomes = [il.resolve_agent_step(machine, step, name, Ask(question="?"), at=1.0) for name in names(step)]
    assert len(outcomes) == 5
    assert all(outcome == outcomes[0] for outcome in outcomes)


def test_what_is_owed_no_more_changes_nothing():
    machine = game()
    step = started(machine)
    request = step.requests[0]
    moved = il.resolve_agent_step(machine, step, request, Ask(question="?"))
    for name in (request, request.id, step.owed.invocations[0]):
        for still in (
            il.resolve_agent_step(machine, moved, name, Guess(guess="a cat")),
            il.reject_agent_step(machine, moved, name, ValueError("late")),
        ):
            assert (still.snapshot, still.requests, still.entries, still.effects) == (moved.snapshot, (), (), ())
            assert still.head == moved.head
    again = il.transition_agent_step(machine, moved, Reply(answer="yes"))
    assert again.requests[0].id != request.id
    assert il.resolve_agent_step(machine, again, request, Guess(guess="a cat")).entries == ()


def test_a_call_that_is_answered_twice_counts_once():
    """Whoever works elsewhere delivers at least once: the second time is no answer to what is asked next."""
    machine = writer("generate", tools=[look_up, add])
    step = started(machine)
    text = step.requests[0]
    turn = il.TextResult(tool_calls=(il.ToolCall("1", "add", {"a": 1}), il.ToolCall("2", "look_up", {"word": "rain"})))
    step = il.resolve_agent_step(machine, step, text, turn)
    assert il.resolve_agent_step(machine, step, text, turn).entries == ()
    tool = step.requests[0]
    step = il.resolve_agent_step(machine, step, tool, 2)
    assert il.resolve_agent_step(machine, step, tool, 2).entries == ()
    assert il.reject_agent_step(machine, step, tool, ValueError("late")).entries == ()
    step = il.resolve_agent_step(machine, step, step.requests[0], "a thing")
    assert il.resolve_agent_step(machine, step, text, turn).entries == ()
    assert il.resolve_agent_step(machine, step, tool, 2).entries == ()
    assert il.resolve_agent_step(machine, step, step.requests[0], "over").done

    machine = game()
    step = started(machine)
    decision = step.requests[0]
    step = il.resolve_agent_step(machine, step, decision, "Fly")
    assert il.resolve_agent_step(machine, step, decision, "Fly").entries == ()


def test_a_name_that_there_never_was_is_an_error_with_near_misses():
    machine = game()
    step = started(machine)
    for change in (il.resolve_agent_step, il.reject_agent_step):
        with pytest.raises(il.InputError, match=r"owes no '0.twenty-question.decidin'.*0\.twenty-questions\.deciding"):
            change(machine, step, "0.twenty-question.decidin", ValueError("x"))
        for nothing in (None, 5, {"id": "x"}):
            with pytest.raises(il.InputError, match="is no request"):
                change(machine, step, nothing, ValueError("x"))  # type: ignore[arg-type]


def test_a_bare_id_that_several_have_is_ambiguous():
    leaf = sourced()
    machine = sc.machine(
        "twins",
        kind="parallel",
        sources={"leaf": leaf},
        states={name: sc.state(invoke=sc.invoke("leaf", id=name)) for name in ("one", "two")},
    )
    step = started(machine)
    one, two = step.owed.invocations
    with pytest.raises(il.InputError, match="several") as caught:
        il.resolve_agent_step(machine, step, "f", 1)
    assert repr(one.identity) in str(caught.value)
    assert repr(two.identity) in str(caught.value)
    moved = il.resolve_agent_step(machine, step, two.identity, 1)
    assert [item.identity for item in moved.owed.invocations] == [one.identity]
    assert moved.entries[0].to == two.address


def test_requests_of_child_machines_come_with_their_address():
    machine = desk()
    step = started(machine)
    step = il.resolve_agent_step(machine, step, step.requests[0], Accept(topic="rain"))
    assert asked(step) == [("text", "letter"), ("text", "summary"), ("text", "look")]
    look = step.requests[2]
    assert "/" in look.id
    step = il.resolve_agent_step(machine, step, look.id, "looked")
    assert step.entries[0].to == (look.id.split("/")[0],)
    judge = step.requests[2]
    assert isinstance(judge, il.DecisionRequest)
    assert [event.type for event in judge.events] == ["Fine", "Wrong"]
    refused = il.resolve_agent_step(machine, step, judge, {"type": "Accept", "topic": "rain"})
    assert refused.entries[0].record["failure"] == "unknown-event"
    fine = il.resolve_agent_step(machine, step, judge, "Fine")
    assert fine.snapshot.context.verdict == "fine: looked"


# -- words, and what a step is ---------------------------------------------------------------------------------------


class Tick(il.Event, actor="human"):
    """Count."""


class Count(BaseModel, frozen=True):
    n: int | None = 0


def counting(**fields: Any) -> il.Machine[Any, Any, Any]:
    """A text and a decision beside a counter that they speak of; once it has counted, they have no words any more."""
    agent = il.setup_agent(context=Count, events=[Tick, Left])

    def word(c: Count) -> str:
        assert c.n is not None, "no words"
        return f"n is {c.n}"

    return agent.machine(
        "counting",
        context=Count(),
        kind="parallel",
        states={
            "text": agent.state(invoke=agent.generate_text(name="text", model="m", prompt=word, tools=[add], **fields)),
            "decision": agent.state(
                initial="open",
                states={
                    "open": agent.state(
                        invoke=agent.decide(name="decision", model="m", prompt=word, allowed_events=[Left]),
                        on=[agent.on(Left, "taken")],
                    ),
                    "taken": agent.state(),
                },
            ),
            "count": agent.state(on=[agent.on(Tick, lambda c, e: agent.stay(n=None))]),
        },
    )


@pytest.mark.parametrize("restarted", [False, True])
def test_the_words_of_a_request_stay_what_they_were(restarted: bool):
    machine = counting()
    first = started(machine)
    step = il.transition_agent_step(machine, first, Tick())
    assert step.requests == first.requests
    step = saved(machine, step) if restarted else step
    step = il.resolve_agent_step(machine, step, step.requests[0], calls("add", "ad", a=1))
    step = saved(machine, step) if restarted else step
    step = il.resolve_agent_step(machine, step, step.requests[0], 2)
    step = il.resolve_agent_step(machine, step, step.requests[1], "Fly")
    text, decision = step.requests
    assert isinstance(text, il.TextRequest)
    assert isinstance(decision, il.DecisionRequest)
    assert (text.prompt, decision.prompt) == ("n is 0", "n is 0")
    assert (len(text.turns), len(decision.attempts)) == (2, 1)
    assert il.get_agent_requests(machine, step.snapshot, before=step.requests, execution_id="x") == step.requests
    # Who has only the snapshot puts them in the words of now, of which there are none here.
    with pytest.raises(il.StepError, match="no words"):
        il.get_agent_requests(machine, step.snapshot)


def test_get_agent_requests_asks_what_the_step_asks():
    machine = desk()
    step = started(machine)
    assert il.get_agent_requests(machine, step.snapshot, execution_id="x") == step.requests
    step = il.resolve_agent_step(machine, step, step.requests[0], Accept(topic="rain"))
    assert il.get_agent_requests(machine, step.snapshot, execution_id="x") == step.requests
    step = il.resolve_agent_step(machine, step, step.requests[0], calls("weigh", grams=3))
    assert il.get_agent_requests(machine, step.snapshot, execution_id="x") == step.requests
    assert asked(step)[0] == ("tool", "weigh")
    # Who has only the snapshot does not know the execution; what is asked is the same.
    (first, *_) = il.get_agent_requests(machine, step.snapshot)
    assert il.resolve_agent_step(machine, step, first, 3).entries
    step = started(machine)
    (first,) = il.get_agent_requests(machine, step.snapshot)
    assert il.resolve_agent_step(machine, step, first, Accept(topic="rain")).entries
    assert il.get_agent_requests(nothing_legal("b"), started(nothing_legal("b")).snapshot) == ()


def raising(where: str) -> il.Machine[Any, Any, Any]:
    def boom(*_: Any) -> Any:
        raise ValueError("boom")

    agent = il.setup_agent(context=None, events=[Left])
    return agent.machine(
        "m",
        initial="a",
        states={
            "a": agent.state(
                invoke=agent.generate_text(
                    name="text", model="m", prompt="?", on_done=boom if where == "result" else "b"
                ),
                on=[agent.on(Left, boom if where == "event" else "b")],
            ),
            "b": agent.state(
                invoke=agent.generate_text(name="late", model="m", prompt=boom if where == "words" else "?")
            ),
        },
    )


@pytest.mark.parametrize("where", ["result", "event", "words"])
def test_a_function_that_raises_leaves_the_step_as_it_was(where: str):
    machine = raising(where)
    step = started(machine)
    before = json.dumps(step.to_json())
    change = (
        partial(il.resolve_agent_step, machine, step, step.requests[0], "x")
        if where == "result"
        else partial(il.transition_agent_step, machine, step, Left())
    )
    with pytest.raises(il.HandlerError, match="boom"):
        change()
    assert json.dumps(step.to_json()) == before
    il.reject_agent_step(machine, step, step.requests[0], ValueError("x"))  # and it can be gone on from


def test_a_step_of_another_machine_is_refused():
    step, machine = started(game()), desk()
    other = started(machine)
    for change in (
        lambda: il.transition_agent_step(machine, step, Again()),
        lambda: il.resolve_agent_step(machine, step, step.requests[0], Refuse()),
        lambda: il.resolve_agent_step(machine, step, "never", Refuse()),
        lambda: il.reject_agent_step(machine, step, step.requests[0], ValueError("x")),
        lambda: il.AgentStep.from_json(machine, step.to_json()),
    ):
        with pytest.raises(il.SnapshotError):
            change()
    assert saved(desk(), other).snapshot.value == "taking"  # a twin, in another process


def damaged() -> Iterator[Any]:
    good: dict[str, Any] = json.loads(json.dumps(started(game()).to_json()))
    for name, value in [
        ("snapshot", None),
        ("snapshot", {}),
        ("index", "x"),
        ("index", -1),
        ("index", True),
        ("index", 1e400),
        ("execution_id", 5),
        ("causes", {"a": 1}),
        ("causes", 5),
        ("began", 5),
        ("began", {good["requests"][0]["id"]: 5}),
        ("began", {good["requests"][0]["id"]: {}}),
        ("requests", 5),
        ("requests", ["x"]),
        ("requests", [{}]),
        ("requests", [{"kind": "tool"}]),
        ("requests", [{"kind": "decision", "messages": 5}]),
        ("requests", {"a": 1}),
    ]:
        yield {**good, name: value}
    for name in good:
        yield {key: value for key, value in good.items() if key != name}
    yield from ("", "x", "[]", "5", "null", b"\xff", "[" * 100_000, None, 5, [], json.dumps(good)[:-1])


@pytest.mark.parametrize("number", range(len([*damaged()])))
def test_what_no_step_has_written_is_no_step(number: int):
    data = [*damaged()][number]
    with pytest.raises(il.SnapshotError):
        il.AgentStep.from_json(game(), data)


# -- without any executor --------------------------------------------------------------------------------------------


def test_a_whole_case_without_executors():
    """The floor: everything is answered by the host's own code."""
    machine = desk(delay=5.0)
    step, log, now = started(machine), list[il.LogEntry](), 0.0
    log += step.entries
    while not step.done:
        if step.requests:
            request = step.requests[0]
            if isinstance(request, il.DecisionRequest):
                result: object = {"type": "Accept", "topic": "rain"} if request.name == "take" else "Fine"
            elif isinstance(request, il.ToolRequest):
                result = "3 g"
            elif request.tools and not request.turns:
                result = calls("weigh", grams=3)
            else:
                result = f"a {request.name}"
            step = il.resolve_agent_step(machine, step, request, result, at=now)
        elif step.owed.invocations:
            step = il.resolve_agent_step(machine, step, step.owed.invocations[0], 4, at=now)
        elif step.owed.timers:
            now = step.owed.timers[0].due
            step = il.transition_agent_step(machine, step, step.owed.timers[0], at=now)
        else:
            step = il.transition_agent_step(machine, step, Approve(by="Ada"), at=now)
        log += step.entries
        step = saved(machine, step)
    assert step.snapshot.output["by"] == "a farewell"
    assert replay(machine, log, verify="strict").snapshot == step.snapshot
    assert [entry.index for entry in log] == list(range(len(log)))


# -- purity ----------------------------------------------------------------------------------------------------------

ACTIONS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=14)


def act(machine: il.Machine[Any, Any, Any], step: Step, what: int, which: int, at: float) -> Step:
    """Do something, sensible or not, that depends on the arguments alone."""
    if step.requests and what < 7:
        request = step.requests[which % len(step.requests)]
        if what == 0:
            return il.reject_agent_step(machine, step, request, OSError("no line"), at=at)
        if isinstance(request, il.DecisionRequest):
            good: Any = {"type": "Accept", "topic": "rain"} if request.name == "take" else "Fine"
            return il.resolve_agent_step(machine, step, request, "Fly" if what == 1 else good, at=at)
        if isinstance(request, il.ToolRequest):
            return il.resolve_agent_step(machine, step, request, what, at=at)
        turn = calls("weigh", "way", grams=which) if what < 4 else f"text {what}"
        return il.resolve_agent_step(machine, step, request, turn, at=at)
    if step.owed.invocations and what == 7:
        return il.resolve_agent_step(machine, step, step.owed.invocations[0], which, at=at)
    if step.owed.timers:
        return il.transition_agent_step(machine, step, step.owed.timers[0], at=at)
    events = [Approve(by="Ada"), Again(), Refuse(), Accept(topic="wind")]
    return il.transition_agent_step(machine, step, events[which], at=at)


DESK = desk(delay=5.0)


@given(ACTIONS)
def test_the_same_arguments_give_the_same_step(actions: list[tuple[int, int]]):
    step = started(DESK)
    log = list(step.entries)
    for number, (what, which) in enumerate(actions):
        before = json.dumps(step.to_json())
        try:
            one = act(DESK, step, what, which, float(number))
        except il.InterlockError as error:
            with pytest.raises(type(error)):
                act(DESK, step, what, which, float(number))
            assert json.dumps(step.to_json()) == before
            continue
        two = act(DESK, step, what, which, float(number))
        elsewhere = act(DESK, saved(DESK, step), what, which, float(number))
        assert one == two == elsewhere
        assert json.dumps(step.to_json()) == before
        assert saved(DESK, one).requests == one.requests
        step = one
        log += step.entries
    assert replay(DESK, log, verify="strict").snapshot == step.snapshot
    assert json.dumps(replay(DESK, log).snapshot.dump()) == json.dumps(step.snapshot.dump())


def played(machine: il.Machine[Any, Any, Any]) -> tuple[list[il.LogEntry], list[Any]]:
    """A refused choice, a good one, a turn with tools, an answer, texts, a choice, a function, a timer, an event."""
    step = started(machine)
    log = list(step.entries)
    for number, what in enumerate([1, 5, 2, 6, 6, 6, 6, 6, 7, 8, 8, 6]):
        step = act(machine, step, what, 0, float(number))
        log += step.entries
        step = saved(machine, step)
    again = il.initial_agent_step(machine, entries=log)
    same = again.snapshot == step.snapshot
    return log, [same, step.snapshot.status, step.snapshot.error, il.get_agent_requests(machine, step.snapshot)]


def test_the_pure_helpers_touch_nothing_outside(monkeypatch: pytest.MonkeyPatch):
    expected, end = played(DESK)  # the first schema that pydantic builds has it look for its plugins

    class Untouchable(dict[Any, Any]):
        def __getitem__(self, key: Any) -> Any:
            raise AssertionError(f"looked at {key}")

        get = __contains__ = __iter__ = __getitem__  # type: ignore[assignment]

    def forbidden(*given: Any, **_: Any) -> Any:
        if given == ("PYDANTIC_DISABLE_PLUGINS",):
            return None  # pydantic itself, with each schema
        raise AssertionError("touched the outside")

    with monkeypatch.context() as patch:
        patch.setattr("os.environ", Untouchable())
        patch.setattr("builtins.open", forbidden)
        for name in (
            *("os.getenv", "os.urandom", "os.open", "os.getpid", "os.listdir"),
            *("time.time", "time.time_ns", "time.monotonic", "time.perf_counter", "time.sleep", "time.localtime"),
            *("random.random", "random.randint", "random.choice", "random.Random", "random.getrandbits"),
            *("uuid.uuid1", "uuid.uuid4", "secrets.token_hex", "threading.Thread", "threading.Lock"),
            *("threading.get_ident", "socket.socket", "socket.getaddrinfo", "subprocess.Popen", "asyncio.run"),
        ):
            patch.setattr(name, forbidden)
        again = played(DESK)
    assert again == (expected, end)
    assert end == [True, "done", None, ()]
    assert {entry.type for entry in expected} > {"Approve", "Accept", "@done.invoke.0.desk.numbering"}


@pytest.mark.parametrize("at", ["3", True, float("nan"), float("inf"), b"1"], ids=repr)
def test_a_time_that_no_entry_could_hold_is_refused(at: Any):
    with pytest.raises(il.InputError, match="give the time in Unix seconds"):
        il.initial_agent_step(game(), at=at)
    step = il.initial_agent_step(game(), at=1.0)
    with pytest.raises(il.InputError, match="give the time in Unix seconds"):
        il.resolve_agent_step(step.head.machine, step, step.requests[0], {"type": "Guess", "guess": "x"}, at=at)


@pytest.mark.parametrize("execution_id", [5, "\ud800", ["a"]], ids=repr)
def test_a_name_of_an_execution_that_no_entry_could_hold_is_refused(execution_id: Any):
    with pytest.raises(il.InputError, match="execution_id"):
        il.initial_agent_step(game(), execution_id=execution_id)
