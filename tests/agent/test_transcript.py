"""What a provider would refuse in a transcript, and that what is written here is never refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlock.agent as il
from interlock.errors import InvalidMessagesError
from tests.agent.strategies import json, outputs, transcripts, words


def call(*ids: str) -> il.AgentMessage:
    return il.assistant_message([il.ToolCallPart(tool_call_id=name, tool_name="t", input={}) for name in ids])


def result(*ids: str) -> il.AgentMessage:
    return il.tool_message(
        [il.ToolResultPart(tool_call_id=name, tool_name="t", output=il.TextOutput(value="x")) for name in ids]
    )


BOTH = il.assistant_message(
    [
        il.ToolCallPart(tool_call_id="a", tool_name="t", input={}),
        il.ToolResultPart(tool_call_id="a", tool_name="t", output=il.TextOutput(value="x")),
    ]
)


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (il.user_message("x"), il.assistant_message("y")),
        (call("a"), result("a")),
        (call("a", "b"), result("b", "a")),
        (call("a", "b"), result("a"), result("b")),
        (call("a"), result("a"), call("b"), result("b"), il.user_message("x")),
        (BOTH,),
        (BOTH, il.user_message("x"), call("b"), result("b")),
    ],
)
def test_a_whole_transcript_has_no_problems(messages: tuple[il.AgentMessage, ...]):
    assert il.check_transcript(messages) == ()


@pytest.mark.parametrize(
    ("messages", "problems"),
    [
        ((call("a"),), [("call-without-result", "[0].content[0]", "a")]),
        ((call("a", "b"), result("a")), [("call-without-result", "[0].content[1]", "b")]),
        ((result("a"),), [("result-without-call", "[0].content[0]", "a")]),
        ((call("a"), result("a", "b")), [("result-without-call", "[1].content[1]", "b")]),
        ((result("a"), call("a")), [("result-before-call", "[0].content[0]", "a")]),
        ((call("a"), il.user_message("x"), result("a")), [("result-too-late", "[2].content[0]", "a")]),
        ((call("a"), call("b"), result("a", "b")), [("result-too-late", "[2].content[0]", "a")]),
        (
            (call("a"), result("a"), call("a"), result("a")),
            [("duplicate-id", "[2].content[0]", "a"), ("duplicate-id", "[3].content[0]", "a")],
        ),
        ((call("a", "a"), result("a")), [("duplicate-id", "[0].content[1]", "a")]),
        ((call("a"), result("a"), result("a")), [("duplicate-id", "[2].content[0]", "a")]),
        ((call(""), result("")), [("empty-id", "[0].content[0]", ""), ("empty-id", "[1].content[0]", "")]),
    ],
)
def test_each_fault_is_found_where_it_is(messages: tuple[il.AgentMessage, ...], problems: list[tuple[str, str, str]]):
    found = il.check_transcript(messages)
    assert [(problem.fault, problem.path, problem.tool_call_id) for problem in found] == problems
    assert all(problem.reason for problem in found)


def test_a_result_is_of_the_tool_that_was_called():
    output = il.TextOutput(value="x")
    other = il.tool_message([il.ToolResultPart(tool_call_id="a", tool_name="other", output=output)])
    (problem,) = il.check_transcript((call("a"), other))
    assert (problem.fault, problem.path) == ("other-tool", "[1].content[0]")
    assert "'t'" in problem.reason
    assert "'other'" in problem.reason


def test_json_is_judged_as_what_it_stands_for():
    messages = [message.model_dump(mode="json") for message in (call("a", "b"), result("a"))]
    assert il.check_transcript(messages) == il.check_transcript((call("a", "b"), result("a")))


@pytest.mark.parametrize("given", [None, 5, "x", ({"role": "user"},), [5]])
def test_what_is_no_transcript_is_not_judged(given: Any):
    with pytest.raises(InvalidMessagesError):
        il.check_transcript(given)


@given(transcripts)
def test_a_transcript_is_judged_whatever_it_holds(messages: tuple[il.AgentMessage, ...]):
    found = il.check_transcript(messages)
    calls = [p for m in messages if not isinstance(m.content, str) for p in m.content if isinstance(p, il.ToolCallPart)]
    assert found or len({part.tool_call_id for part in calls}) == len(calls)


REQUEST = il.TextRequest(id="run#1", max_steps=4, steps_remaining=4, messages=(call("c"), result("c")), name="draft")

ids = st.sampled_from(["a", "b", "c", "", "a~2", "call-1-1", "\ud800"])
calls = st.builds(il.ToolCall, ids, words.map(lambda name: name + "t"), json)
turns = st.builds(il.TextResult, st.none() | words, st.lists(calls, min_size=1, max_size=4).map(tuple))


@given(st.data(), st.lists(turns, min_size=1, max_size=3))
def test_what_is_written_here_no_provider_refuses(data: st.DataObject, given: list[il.TextResult]):
    """After each turn, each answer, and an end at any moment; and from its JSON it is the same again."""
    request = REQUEST
    records: list[dict[str, object]] = []
    for turn in given:
        record = il.turn_record(request, turn)
        records.append(record.to_json())
        assert len({call.id for call in record.calls}) == len(turn.tool_calls)
        assert il.read_ledger(records).pending == record.calls
        for call in record.calls if data.draw(st.booleans()) else record.calls[:1]:
            records.append(il.answer_record(call, data.draw(outputs)).to_json())
            ledger = il.read_ledger(records)
            assert call not in ledger.pending
            assert il.check_transcript((*REQUEST.messages, *ledger.messages())) == ()
        request = request.with_turns(il.read_ledger(records).messages(), steps_remaining=request.steps_remaining - 1)
        assert il.check_transcript(il.request_messages(request)) == ()
