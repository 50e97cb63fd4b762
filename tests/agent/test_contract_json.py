"""Answers of executors as JSON, and back: what durable engines keep of them."""

import json
import pickle
from typing import Any

import pytest

import interlock as il
from interlock import errors
from interlock.errors import InputError, NotJsonError


class Move(il.Event):
    """Move."""

    by: float = 1.0


CHOICES = [
    il.Choice({"type": "Move", "by": 2.5, "deep": {"a": [1, None, True]}}),
    il.Choice(
        {"type": "Move"}, reason="why not", usage=il.Usage(input_tokens=1, output_tokens=2), problem="two of them"
    ),
]
TURNS = [
    il.TextResult(output="said"),
    il.TextResult(output={"a": [1, {"b": None}]}, usage=il.Usage(total_tokens=7), finish_reason="stop", reasoning="so"),
    il.TextResult(
        tool_calls=(il.ToolCall("1", "weigh", {"grams": 20}), il.ToolCall("2", "weigh")), finish_reason="tool-calls"
    ),
    il.TextResult(output="x", messages=(il.assistant_message("x"),)),
]


@pytest.mark.parametrize("given", [*CHOICES, *TURNS], ids=str)
def test_an_answer_comes_back_as_it_was(given: il.Choice | il.TextResult):
    text = json.dumps(given.to_json(), allow_nan=False)
    read = type(given).from_json(json.loads(text))
    assert read.to_json() == given.to_json()
    assert json.dumps(read.to_json()) == text
    if isinstance(given, il.TextResult):
        assert (read.messages, read.usage, read.tool_calls) == (given.messages, given.usage, given.tool_calls)
    else:
        assert (json.loads(json.dumps(read.event)), read.usage) == (given.event, given.usage)


def test_an_event_is_written_with_its_type_and_what_is_the_providers_own_is_left_out():
    written = il.Choice(Move(by=2.0), raw=object()).to_json()
    assert written["event"] == {"type": "Move", "by": 2.0}
    assert "raw" not in written
    assert "raw" not in il.TextResult(output="x", raw=object()).to_json()


def test_half_of_a_surrogate_pair_is_replaced_as_it_is_in_records():
    assert il.TextResult(output="a\ud800").to_json()["output"] == "a?"


@pytest.mark.parametrize(
    "given", [il.Choice({"type": "Move", "by": float("nan")}), il.TextResult(output={1, object()})]
)
def test_what_json_cannot_carry_is_said(given: il.Choice | il.TextResult):
    with pytest.raises(NotJsonError):
        given.to_json()


@pytest.mark.parametrize("kind", [il.Choice, il.TextResult])
@pytest.mark.parametrize(
    "change", [{"more": 1}, {"usage": {"output_tokens": "2"}}, {"reason": 1, "reasoning": 1}, {"usage": None, "raw": 1}]
)
def test_what_was_written_by_nobody_is_refused(kind: type, change: dict):
    good = (CHOICES[0] if kind is il.Choice else TURNS[0]).to_json()
    for name in good:
        with pytest.raises(InputError):
            kind.from_json({key: value for key, value in good.items() if key != name})
    with pytest.raises(InputError):
        kind.from_json({**good, **change})


def test_errors_cross_processes_whatever_they_are_made_with():
    for error in (
        errors.NotJsonError("is no number", path="a.b"),
        errors.ScriptExhaustedError("dry", request_id="r"),
        errors.MachineFailedError("failed", info=errors.ErrorInfo("raised", "ValueError", "x")),
        errors.LogConflictError(thread_id="t", expected_index=1, actual_index=2),
    ):
        read = pickle.loads(pickle.dumps(error))
        assert type(read) is type(error)
        assert (str(read), vars(read)) == (str(error), vars(error))


WRITTEN = {
    il.DecisionRequest: il.DecisionRequest(id="d", events=()),
    il.TextRequest: il.TextRequest(id="t", prompt="x"),
    il.ToolRequest: il.ToolRequest(
        text=il.TextRequest(id="t", prompt="x"), call=il.ToolCall("1", "weigh", {"grams": [20, None]})
    ),
    il.UserInputRequest: il.UserInputRequest(id="u", prompt="x", input_schema={"type": "string"}),
    il.DecisionAttempt: il.DecisionAttempt(failure="unknown-event", reason="x", event={"type": "Move"}),
    il.Choice: CHOICES[0],
    il.TextResult: TURNS[2],
}


@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("given", ["{}", b"{}", None, [], 5, il.Choice, object()], ids=str)
def test_what_is_no_object_is_read_as_nothing(kind: Any, given: object):
    with pytest.raises(InputError, match=r"^this is no .*: give the object that to_json\(\) wrote, not ") as caught:
        kind.from_json(given)
    assert caught.value.code == "invalid-input"


@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.__name__)
def test_a_field_that_is_missing_or_of_another_type_is_named(kind: Any):
    written = WRITTEN[kind].to_json()
    assert json.loads(json.dumps(kind.from_json(written).to_json())) == json.loads(json.dumps(written))
    required = [name for name in ("id", "text", "call", "events", "event", "output", "failure") if name in written]
    if kind is il.ToolRequest:
        required.remove("id")  # the text's own
    for name in required:
        with pytest.raises(InputError, match=rf"^this is no .*: {name}: "):
            kind.from_json({key: value for key, value in written.items() if key != name})
    for name, value in {"id": 3, "call": {"id": 1, "name": []}, "reason": {}, "tool_calls": "x"}.items():
        if name in written and not (kind is il.ToolRequest and name == "id"):
            with pytest.raises(InputError, match=rf"^this is no .*: {name}\b"):
                kind.from_json({**written, name: value})
    with pytest.raises(InputError):
        kind.from_json({**written, "usage": object(), "metadata": object(), "event": object(), "call": object()})


def test_a_tool_request_names_what_is_wrong_with_its_text_and_its_kind():
    written = WRITTEN[il.ToolRequest].to_json()
    with pytest.raises(InputError, match="this is no text request: id: Field required"):
        il.ToolRequest.from_json({**written, "text": {"prompt": "x"}})
    with pytest.raises(InputError, match="this is no tool request: kind: "):
        il.ToolRequest.from_json({**written, "kind": "decision"})
