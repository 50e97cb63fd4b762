"""What hostile models answer, as plain data that hypothesis can draw, show and shrink; ``grown`` makes it real."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

import interlock as il
from tests.agent.strategies import transcripts

from .machines import FITTING, TOOL_INPUTS
from .thorns import EVENTS, EXCEPTIONS, THORNS


@dataclass(frozen=True)
class Thorn:
    """Stands for one of ``THORNS``."""

    name: str


@dataclass(frozen=True)
class Offered:
    """Stands for a type, or with ``fields`` for a fitting event, that is offered: the n-th of them."""

    n: int
    fields: bool = False


@dataclass(frozen=True)
class Named:
    """Stands for the name of the n-th tool that is offered, or with ``fields`` for arguments that fit it."""

    n: int
    fields: bool = False


@dataclass(frozen=True)
class Spent:
    """Stands for a ``Usage`` with these fields."""

    fields: Any


@dataclass(frozen=True)
class Said:
    """One answer of a model. ``good``: nothing is wrong with it, it is there to move the machine on."""

    what: str
    parts: Any = None
    good: bool = False
    meddles: Any = None
    """An event that is sent meanwhile by somebody else."""
    tools: tuple[Any, ...] = ()
    """Names and arguments that the executor calls itself before it answers."""


def grown(value: Any, request: Any) -> Any:
    """Return a value with all that stands for something replaced by it."""
    match value:
        case Thorn(name):
            return THORNS[name]()
        case Offered(n, fields):
            kinds = [event.type for event in getattr(request, "events", ())] or list(FITTING)
            kind = kinds[n % len(kinds)]
            return {"type": kind, **_fitting(kind, n)} if fields else kind
        case Named(n, fields):
            names = [tool.name for tool in getattr(request, "tools", ())] or ["look"]
            name = names[n % len(names)]
            return _arguments(name, n) if fields else name
        case Spent(fields):
            return il.Usage(**grown(fields, request))
        case dict():
            return {key: grown(item, request) for key, item in value.items()}
        case list():
            return [grown(item, request) for item in value]
        case tuple():
            return tuple(grown(item, request) for item in value)
        case _:
            return value


def _fitting(kind: str, n: int) -> dict[str, Any]:
    some = FITTING.get(kind, [{}])
    return dict(some[n % len(some)])


def _arguments(name: str, n: int) -> dict[str, Any]:
    if name in TOOL_INPUTS:
        return dict(TOOL_INPUTS[name])
    kinds = {f"send_event_{kind.replace('.', '_')}": kind for kind in FITTING}
    return _fitting(kinds.get(name, ""), n)


def answer(said: Said, request: Any) -> Any:
    """Return what an executor returns, or raise what it raises."""
    parts = grown(said.parts, request)
    match said.what:
        case "raise":
            error = EXCEPTIONS[parts]()
            raise error
        case "choice":
            return il.Choice(**parts)
        case "text":
            calls = parts.get("tool_calls")
            if isinstance(calls, list):
                parts["tool_calls"] = tuple(
                    il.ToolCall(*call) if isinstance(call, tuple) and len(call) == 3 else call for call in calls
                )
            return il.TextResult(**parts)
        case "bare":
            return parts
    raise AssertionError(said.what)


# -- what is drawn ---------------------------------------------------------------------------------------------------

numbers = st.integers(0, 12)
thorns = st.sampled_from(sorted(THORNS)).map(Thorn)
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=6),  # lone surrogates are left to the thorns
    st.sampled_from(["", "NaN", "Infinity", "true", "null", "1e999", "2026-02-30", "-", "0x10", "[]", "{}", "1_000"]),
)
made = st.sampled_from(EVENTS).map(Thorn)
junk = st.one_of(
    thorns,
    st.recursive(
        leaves | thorns,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=4,
    ),
)

TYPES = [
    "",
    "*",
    "Attack.*",
    "@done.state.choosing",
    "@done.invoke.x",
    "@error.invoke.x",
    "@agent.usage",
    "@agent.init",
    "@agent.resume",
    "@after:1",
    "@init",
    "agent.plan.done",
    "agent.plan.done ",
    "agent.act",
    "Approve",
    "Close",
    "attack",
    "Аttack",  # noqa: RUF001  # its first letter is Cyrillic
    "Flee\u200b",
    "Ｆlee",  # noqa: RUF001  # a wide letter
    "Fle\u0301e",
    " Flee",
    "Flee\n",
    "send_event_Flee",
    "__class__",
    "type",
    "None",
    "Unknown",
    "x" * 3_000,
]
FIELDS = ["type", "weapon", "amount", "steps", "by", "who", "either", "ratio", "free", "Name-d", "named", "actor", ""]

types = st.one_of(st.sampled_from(TYPES), numbers.map(Offered), st.sampled_from(sorted(FITTING)), junk)


@st.composite
def payloads(draw: Any) -> dict[str, Any]:
    """Fields that fit some event, with something wrong about them."""
    kind = draw(st.sampled_from(sorted(FITTING)))
    fields: dict[str, Any] = dict(draw(st.sampled_from(FITTING[kind])))
    for _ in range(draw(st.integers(0, 2))):
        name = draw(st.sampled_from([*fields, *FIELDS]))
        how = draw(st.sampled_from(["drop", "junk", "wrap", "nest"]))
        if how == "drop":
            fields.pop(name, None)
        elif how == "junk":
            fields[name] = draw(junk)
        elif how == "wrap":
            fields[name] = [fields.get(name)]
        else:
            fields[name] = {"type": draw(types), "value": fields.get(name)}
    if draw(st.integers(0, 3)):
        return {**fields, "type": kind} if draw(st.booleans()) else {"type": kind, **fields}
    return {**fields, "type": draw(types)}


usages = st.one_of(
    st.none(),
    st.none(),
    st.just(Spent({"input_tokens": 3})),
    st.dictionaries(st.sampled_from(["input_tokens", "output_tokens", "total_tokens"]), junk, max_size=2).map(Spent),
    junk,
)
maybe = st.one_of(st.none(), st.none(), st.text(max_size=4), junk)

tempting = st.sampled_from([{"type": kind, **fields} for kind, some in FITTING.items() for fields in some])
"""Fitting events of every kind, whether they are legal, offered, for people only, or none of that."""

events = st.one_of(
    made,
    tempting,
    tempting,
    tempting,
    tempting,
    payloads(),
    payloads(),
    payloads(),
    numbers.map(lambda n: Offered(n, fields=True)),
    st.fixed_dictionaries({"type": types}),
    st.fixed_dictionaries({"type": types, "payload": junk}),
    thorns,
    junk,
)


@st.composite
def choices(draw: Any) -> Said:
    parts: dict[str, Any] = {"event": draw(events)}
    for name, strategy in (("reason", maybe), ("usage", usages), ("raw", maybe), ("problem", maybe)):
        if draw(st.integers(0, 7)) == 7:
            parts[name] = draw(strategy)
    return Said("choice", parts)


raised = st.sampled_from(sorted(EXCEPTIONS)).map(lambda name: Said("raise", name))
bare = st.one_of(made, payloads(), junk, st.just("Just attack them!"), transcripts).map(
    lambda value: Said("bare", value)
)
good_choices = numbers.map(lambda n: Said("choice", {"event": Offered(n, fields=True)}, good=True))
done = st.just(Said("choice", {"event": {"type": "agent.plan.done"}}))

guarded = st.sampled_from([{"type": "money.pay", "amount": 11}, {"type": "Walk", "steps": 9}])
tempted = st.one_of(tempting, tempting, guarded).map(lambda event: Said("choice", {"event": event}))
decisions = st.one_of(
    choices(), choices(), choices(), choices(), tempted, tempted, bare, raised, good_choices, good_choices, done
)

TOOL_NAMES = [
    "",
    "look",
    "echo",
    "fail",
    "nothing",
    "auto",
    "send_event_Flee",
    "send_event_Approve",
    "send_event_Close",
    "send_event_money_pay",
    "send_event_all_kinds",
    "send_event_agent_plan_done",
    "__class__",
    "look\0",
    "x" * 2_000,
]
ids = st.one_of(st.sampled_from(["", "a", "a", "b", "call-1-1", "a~2", "call_tool:1:1"]), junk)
names = st.one_of(numbers.map(Named), numbers.map(Named), st.sampled_from(TOOL_NAMES), junk)
arguments = st.one_of(
    numbers.map(lambda n: Named(n, fields=True)),
    payloads(),
    st.just('{"word": "rain"}'),
    st.just('{"word": "ra'),
    st.dictionaries(st.sampled_from(["word", "value", "how", "at", "type", "weapon", "amount"]), junk, max_size=2),
    junk,
)


@st.composite
def fitting_calls(draw: Any) -> Any:
    n = draw(numbers)
    return (draw(st.sampled_from(["", "a", "b"])), Named(n), Named(n, fields=True))


tempting_calls = st.tuples(
    st.sampled_from(["", "a", "b"]),
    tempting.map(lambda event: "send_event_" + event["type"].replace(".", "_")),
    tempting.map(lambda event: {name: value for name, value in event.items() if name != "type"}),
)
like_calls = st.tuples(st.sampled_from(["", "a", "b"]), names, arguments)
some_calls = st.one_of(fitting_calls(), tempting_calls, tempting_calls, like_calls)
tool_calls = st.one_of(
    st.lists(some_calls, min_size=1, max_size=4),
    st.lists(some_calls, min_size=1, max_size=4),
    st.lists(some_calls | st.tuples(ids, names, arguments), min_size=1, max_size=4),
    st.lists(st.tuples(ids, names, arguments) | junk, max_size=3),
)
own_messages = st.one_of(
    transcripts,
    transcripts.map(list),
    st.lists(
        st.fixed_dictionaries(
            {
                "role": st.sampled_from(["assistant", "tool", "system", "user", "x"]),
                "content": st.one_of(
                    st.text(max_size=3),
                    st.lists(
                        st.one_of(
                            st.fixed_dictionaries(
                                {
                                    "type": st.just("tool-call"),
                                    "tool_call_id": ids,
                                    "tool_name": names,
                                    "input": arguments,
                                }
                            ),
                            junk,
                        ),
                        max_size=2,
                    ),
                    junk,
                ),
            }
        ),
        max_size=2,
    ),
    junk,
)
finish = st.one_of(
    st.none(), st.sampled_from(["stop", "length", "tool-calls", "content-filter", "other", "STOP", ""]), junk
)
outputs = st.one_of(
    st.none(),
    st.none(),
    st.text(max_size=5),
    st.text(max_size=5),
    st.just({"name": "Ada", "born": "1815-12-10"}),
    payloads(),
    junk,
)


@st.composite
def texts(draw: Any) -> Said:
    parts: dict[str, Any] = {"output": draw(outputs)}
    if draw(st.integers(0, 2)):
        parts["tool_calls"] = draw(st.one_of(tool_calls, tool_calls, tool_calls, tool_calls, junk))
    for name, strategy, odds in (
        ("usage", usages, 9),
        ("finish_reason", finish, 9),
        ("reasoning", maybe, 9),
        ("messages", own_messages, 9),
        ("raw", maybe, 9),
    ):
        if draw(st.integers(0, odds)) == odds:
            parts[name] = draw(strategy)
    own: tuple[Any, ...] = ()
    if draw(st.integers(0, 7)) == 7:
        own = tuple(draw(st.lists(st.tuples(names, arguments), min_size=1, max_size=2)))
    return Said("text", parts, tools=own)


good_texts = st.one_of(
    st.lists(fitting_calls(), min_size=1, max_size=3).map(
        lambda calls: Said("text", {"output": None, "tool_calls": calls}, good=True)
    ),
    st.just(Said("text", {"output": "It rains."}, good=True)),
)
writings = st.one_of(texts(), texts(), texts(), texts(), good_texts, bare, raised)

meddling = st.one_of(
    st.none(), st.none(), st.none(), st.sampled_from(["Flee", "wait.here", {"type": "money.pay", "amount": 5}])
)


def scripts(strategy: Any) -> Any:
    return st.lists(strategy, min_size=4, max_size=8)
