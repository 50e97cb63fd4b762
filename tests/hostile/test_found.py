"""What hostile answers once got through, each as small as it is: by the names that ``thorns`` gives them."""

from __future__ import annotations

from typing import Any

import pytest

import interlock as il
from interlock.statechart.frozen import freeze

from . import playing
from .machines import made
from .outputs import Said, Spent, Thorn


def chosen(event: Any, **more: Any) -> Said:
    return Said("choice", {"event": event, **more})


def called(name: Any, arguments: Any = None, **more: Any) -> Said:
    return Said("text", {"output": None, "tool_calls": [("a", name, arguments)], **more})


def failures(result: Any) -> set[str]:
    """The codes that work has failed with."""
    return {entry.error["info"]["code"] for entry in result.entries if isinstance(entry.error, dict)}


@pytest.mark.parametrize("event", [None, Thorn("object"), Thorn("closed"), Thorn("thorny"), 5])
@pytest.mark.parametrize("name", ["decide", "plan", "atomic"])
def test_a_choice_of_nothing_is_a_refused_attempt(name: str, event: Any):
    """In a plan, whether it was the end was asked of whatever there was: an AttributeError came out of the run."""
    assert failures(playing.live(name, [chosen(event)])) == {"decision-exhausted"}
    playing.steps(name, [chosen(event)])


@pytest.mark.parametrize(
    "kind", [Thorn("impostor"), Thorn("text"), Thorn("unequal"), Thorn("mild text"), Thorn("impostor of str")]
)
def test_a_type_that_is_no_text_is_a_refused_attempt(kind: Any):
    """It was looked up among the classes, which runs its code."""
    for name in ("decide", "plan"):
        assert failures(playing.live(name, [chosen({"type": kind})])) == {"decision-exhausted"}
        playing.steps(name, [chosen({"type": kind})])


@pytest.mark.parametrize("event", [Thorn("impostor"), Thorn("impostor of Event"), Thorn("renamed")])
def test_what_only_says_that_it_is_an_event_is_none(event: Any):
    for name in ("decide", "plan"):
        playing.live(name, [chosen(event)])
        playing.steps(name, [chosen(event), Said("bare", event)])


def test_an_event_that_was_changed_behind_its_back_is_refused():
    """Its class has made it, so it was taken for good where the class refused it the second time."""
    assert failures(playing.live("decide", [chosen(Thorn("changed"))])) == {"decision-exhausted"}


@pytest.mark.parametrize("answer", [Said("bare", Thorn("bare Choice")), Said("bare", Thorn("impostor of Choice"))])
def test_a_choice_whose_fields_cannot_be_read_is_none(answer: Said):
    """It came out as an AttributeError of ours."""
    assert failures(playing.live("decide", [answer])) == {"invalid-executor-result"}
    playing.steps("decide", [answer])


@pytest.mark.parametrize(
    "usage",
    [
        5,
        {"input_tokens": 1},
        Spent({"input_tokens": float("nan")}),
        Spent({"input_tokens": "3"}),
        Spent({"output_tokens": Thorn("digits")}),
        Spent({"output_tokens": True}),
        Spent({"output_tokens": -1}),
        Spent({"total_tokens": Thorn("wordless")}),
        Thorn("bare Usage"),
    ],
)
def test_usage_that_no_log_can_hold_goes_to_on_error(usage: Any):
    """Not a number ended the whole run as NotJsonError, past any on_error; texts were added up as a TypeError."""
    assert failures(playing.live("decide", [chosen({"type": "Flee"}, usage=usage)])) == {"invalid-executor-result"}
    assert failures(playing.live("act", [called("look", usage=usage)])) == {"invalid-executor-result"}
    for name, said in (("decide", chosen({"type": "Flee"}, usage=usage)), ("act", called("look", usage=usage))):
        playing.steps(name, [said])


@pytest.mark.parametrize(
    "parts",
    [
        {"output": Thorn("impostor of str")},
        {"output": Thorn("text")},
        {"finish_reason": Thorn("text")},
        {"finish_reason": []},
        {"tool_calls": Thorn("list")},
        {"tool_calls": [Thorn("bare ToolCall")]},
        {"tool_calls": [Thorn("impostor of ToolCall")]},
        {"tool_calls": [([], "look", {})]},
        {"tool_calls": [(Thorn("falsy"), "look", {})]},
        {"tool_calls": [(Thorn("wordless"), Thorn("text"), Thorn("thorny"))]},
        {"output": "x", "messages": Thorn("falsy")},
        {"output": "x", "messages": Thorn("list")},
    ],
)
@pytest.mark.parametrize("name", ["act", "write", "stream", "form"])
def test_a_turn_whose_fields_are_other_peoples_code_is_typed(name: str, parts: Any):
    """Ids that have no hash were a TypeError of ours; ``falsy`` and ``text`` raised through our own looks at them."""
    playing.live(name, [Said("text", parts)])
    playing.steps(name, [Said("text", parts)])
    playing.live(name, [Said("bare", Thorn("bare TextResult")), Said("bare", Thorn("impostor of TextResult"))])


@pytest.mark.parametrize("how", ["speak", "mute", "half"])
@pytest.mark.parametrize("name", ["act", "write"])
def test_a_tool_may_raise_what_has_no_text(name: str, how: str):
    """Its error was put into words without care, and came out of the run."""
    playing.live(name, [called("fail", {"how": how})])
    playing.steps(name, [called("fail", {"how": how}), Said("raise", "mute")])


@pytest.mark.parametrize("name", [[], None, "a\ud800", Thorn("text")])
@pytest.mark.parametrize("arguments", [Thorn("torn"), Thorn("deep list"), {}])
def test_an_executor_calls_tools_by_names_that_are_none(name: Any, arguments: Any):
    said = Said("text", {"output": "x"}, tools=((name, arguments),))
    playing.live("act", [said])
    playing.live("write", [said])


@pytest.mark.parametrize("digits", [Thorn("digits"), Thorn("digits less"), [Thorn("digits")], {"a": Thorn("digits")}])
def test_numbers_of_thousands_of_digits_are_kept_nowhere(digits: Any):
    """Python neither writes nor reads them, so no log could be: as a tool's answer they stopped each later step."""
    playing.live("act", [called("echo", {"value": digits})])
    playing.steps("act", [called("echo", {"value": 1}), Said("bare", digits)], saved=True)
    playing.live("decide", [chosen({"type": "all.kinds", "free": digits, "who": {"name": "A", "born": "2000-01-01"}})])
    with pytest.raises(il.NotJsonError, match="digits"):
        freeze(10**4_301)
    assert freeze({"a": 10**4_299 - 1}) == {"a": 10**4_299 - 1}


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("coded", "interlock-error"),
        ("surrogate code", "\\ud800"),
        ("tried", "text-failed"),
        ("lying", "refused"),
        ("no notes", "raised"),
        ("fixed", "raised"),
        ("own text", "raised"),
        ("odd text", "raised"),
    ],
)
def test_exceptions_that_resist_being_reported_are_reported(name: str, code: str):
    """Their code went into the log as it was, their notes and fields were touched: the run ended on them."""
    assert failures(playing.live("decide", [Said("raise", name)])) == {code}
    playing.steps("decide", [Said("raise", name)])
    playing.steps("act", [called("fail"), Said("raise", name)])


@pytest.mark.parametrize("name", ["base", "keyboard"])
def test_what_ends_a_process_can_be_a_tools_failure_on_the_step_path(name: str):
    from .thorns import LEAVING

    machine = made("act")
    step: Any = il.initial_agent_step(machine, at=0.0)
    step = il.resolve_agent_step(
        machine, step, step.requests[0], il.TextResult(tool_calls=(il.ToolCall("a", "echo", {"value": 1}),)), at=0.0
    )
    assert step.requests[0].kind == "tool"
    step = il.reject_agent_step(machine, step, step.requests[0], LEAVING[name](), at=0.0)
    assert step.requests[0].kind == "act"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("plain", [False, True])
def test_a_cancellation_that_is_none_of_the_runs_is_a_failure_on_both_loops(backend: str, plain: bool):
    """On trio that of asyncio, which a plain function with a loop of its own may raise, came out of the run."""
    result = playing.live("decide", [Said("raise", "cancelled")], backend=backend, plain=plain)
    assert failures(result) == {"invalid-executor-result"}
