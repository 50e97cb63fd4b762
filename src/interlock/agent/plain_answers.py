"""Answers of executors, read once: their fields are whatever their class makes of them, and what is judged is plain.

For what is none, all of these raise ValueError saying why, and never what a field of somebody else's class raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar, cast, get_args

from interlock.agent.contract import Choice, FinishReason, TextResult, ToolCall, Usage
from interlock.agent.plain import plain
from interlock.agent.reasons import is_a, reason_of, short

__all__ = ["plain_arguments", "plain_choice", "plain_text", "plain_turn", "plain_usage"]

T = TypeVar("T")

_MOST_TOKENS = 2**63
_REASONS: tuple[str, ...] = get_args(FinishReason)


def plain_text(text: str) -> str:
    """Return a text exactly as one, without halves of surrogate pairs: records are strict JSON, which carries none."""
    if type(text) is str and text.isascii():
        return text
    return str.encode(text, errors="replace").decode()


def plain_arguments(given: object) -> object:
    """Return the arguments of a tool call as JSON; what is none as a text, which no tool takes: the model is told."""
    try:
        return plain(given)
    except ValueError:
        return plain_text(short(given, 200))


def plain_usage(given: object) -> Usage | None:
    """Return what an executor says that a call has consumed."""
    if given is None:
        return None
    if is_a(given, Usage):
        found = _fields(given, Usage)
        if all(count is None or (type(count) is int and 0 <= count < _MOST_TOKENS) for count in found.values()):
            return given if type(given) is Usage else Usage(**cast("Any", found))
    raise ValueError(f"usage={short(given)}; give a Usage(input_tokens=, output_tokens=) of whole numbers")


def plain_choice(given: Choice) -> Choice:
    """Return a choice with plain fields. What it picks is not looked at: that is judged."""
    found = _fields(given, Choice)
    read = {**found, "usage": plain_usage(found["usage"])}
    for name in ("reason", "problem"):
        text = found[name]
        if text is not None:
            read[name] = plain_text(cast("str", text) if is_a(text, str) else short(text, 2000))
    same = type(given) is Choice and all(read[name] is found[name] for name in found)
    return given if same else Choice(**cast("Any", read))


def plain_turn(given: TextResult) -> TextResult:
    """Return a turn with plain fields. Output, messages and the arguments of calls are not looked at."""
    found = _fields(given, TextResult)
    reason = found["finish_reason"]
    if reason is not None:
        found["finish_reason"] = plain_text(cast("str", reason)) if is_a(reason, str) else ""
        if found["finish_reason"] not in _REASONS:
            raise ValueError(f"finish_reason={short(reason)}; give one of {', '.join(_REASONS)}")
    calls, messages = found["tool_calls"], found["messages"]
    if not (is_a(calls, tuple) or is_a(calls, list)):
        raise ValueError(f"tool_calls={short(calls)}; give a tuple of ToolCall")
    found["tool_calls"] = tuple(map(_call, _read(lambda: tuple(cast("list[object]", calls)), "tool_calls")))
    found["messages"] = _read(lambda: messages or (), "messages")
    found["usage"] = plain_usage(found["usage"])
    return TextResult(**cast("Any", found))


def _call(given: object) -> ToolCall:
    found = _fields(given, ToolCall) if is_a(given, ToolCall) else {"name": None}
    if not is_a(found["name"], str):
        raise ValueError(f"{short(given)} among its tool_calls; each is a ToolCall(id=, name=, input=)")
    identity = found["id"]
    if not is_a(identity, str):
        identity = _read(lambda: str(identity or ""), "the id of a tool call")
    return ToolCall(plain_text(cast("str", identity)), plain_text(cast("str", found["name"])), found["input"])


def _fields(given: object, kind: type[Choice | TextResult | ToolCall | Usage]) -> dict[str, object]:
    names = [item.name for item in fields(kind)]
    return _read(lambda: {name: getattr(given, name) for name in names}, f"fields of a {kind.__name__}")


def _read(read: Callable[[], T], what: str) -> T:
    try:
        return read()
    except Exception as error:  # noqa: BLE001  # attributes are other people's code
        raise ValueError(f"{what} that cannot be read: {reason_of(error)}") from None
