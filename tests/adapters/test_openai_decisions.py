"""Decisions by the real SDK against a strict server: forced tools and JSON schemas, and answers that are no choice."""

import json
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

import interlock as il
from interlock.agent import DecisionAttempt, DecisionRequest, Event
from interlock.agent.decisions import judge_choice
from interlock.agent.descriptors import describe
from interlock.agent.messages import user_message
from interlock.errors import (
    DecisionExhaustedError,
    ProviderError,
    RefusedError,
    TruncatedError,
    UnsupportedRequestError,
)
from interlock.run.resolve import resolve_decision

from .openai_calls import choose, executors
from .openai_server import Answer, Failure, OpenAIServer


class Approve(Event):
    """Approve the order."""


class Refund(Event):
    """Pay back."""

    amount: int
    note: str | None = None
    days: int = 14


class Cat(BaseModel, frozen=True):
    """A cat."""

    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel, frozen=True):
    kind: Literal["dog"]
    name: str = Field(min_length=1, description="What it answers to")


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Node(BaseModel, frozen=True):
    label: str
    below: tuple["Node", ...] = ()


class Adopt(Event, type="adopt.pets"):
    """Take pets in."""

    pets: tuple[Pet, ...]
    favourite: Cat | None = None
    main: Dog = Field(description="The one to call")


class Grow(Event):
    """A tree of nodes."""

    root: Node


class Count(Event):
    """Free keys."""

    counts: il.FrozenDict[str, int]


class Formats(Event):
    """All that a schema may say of texts and numbers."""

    at: datetime
    key: UUID
    code: str = Field(pattern=r"^[A-Z]{3}$", max_length=3)
    odd: str = Field(default="x", pattern=r"^x(y|z)*$")
    share: float = Field(ge=0, le=1, multiple_of=0.25)
    level: Literal["low", "high"] | None = None
    pair: tuple[int, ...] = Field(default=(1, 2), min_length=1, max_length=3)


class Pay(Event, type="pay now"):
    """Pay."""


class Delete(Event, type="löschen"):
    """Remove."""


LONG = tuple(type("Long", (Event,), {"__module__": __name__}, type="x" * 74 + end) for end in ("abcdef", "bbcdef"))


def request(*events: type[Event], **more) -> DecisionRequest:
    more = {"prompt": "The customer wants 20 back.", **more}
    return DecisionRequest(id="triage", name="triage", model="gpt-test", events=describe(events), **more)


def judged(asked: DecisionRequest, choice) -> Event | DecisionAttempt:
    return judge_choice(asked, choice, asked.event_classes(), lambda event: None)


def answering(asked: DecisionRequest, by: str, kind: str, fields: dict) -> Answer:
    """Return an answer that chooses an event, in either form."""
    if by == "json":
        return Answer(text=json.dumps({"event": {"type": kind, **fields}}))
    name = next(event.tool_name for event in asked.events if event.type == kind)
    return Answer(calls=[(name, json.dumps(fields))])


@pytest.fixture(params=["tools", "json"])
def by(request):
    return request.param


# -- what is sent --------------------------------------------------------------------------------------------------


async def test_one_tool_for_each_event_and_one_call_of_them(server):
    server.answers(Answer(calls=[("send_event_Approve", "")], text="It is fine."))
    asked = request(Approve, Refund, system="You decide.")
    choice = await choose(server, asked)
    assert judged(asked, choice) == Approve()
    assert choice.reason == "It is fine."
    assert choice.usage.total_tokens == 18
    sent = server.last
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["send_event_Approve", "send_event_Refund"]
    assert sent["tools"][0]["function"]["description"] == "Approve the order."
    assert sent["tool_choice"] == "required"
    assert sent["parallel_tool_calls"] is False
    assert sent["messages"] == [
        {"role": "system", "content": "You decide."},
        {"role": "user", "content": "The customer wants 20 back."},
    ]


async def test_by_json_the_schema_holds_what_is_offered(server):
    server.answers(Answer(text='{"event": {"type": "Refund", "amount": 20, "note": null, "days": null}}'))
    asked = request(Approve, Refund)
    assert judged(asked, await choose(server, asked, decide="json")) == Refund(amount=20)
    wanted = server.last["response_format"]["json_schema"]
    assert wanted["strict"] is True
    offered = wanted["schema"]["properties"]["event"]["anyOf"]
    assert [member["properties"]["type"]["enum"] for member in offered] == [["Approve"], ["Refund"]]
    assert "tools" not in server.last


async def test_by_json_events_without_fields_are_an_enum(server):
    server.answers(Answer(text='{"event": {"type": "Approve"}}'))
    asked = request(Approve, Pay)
    assert judged(asked, await choose(server, asked, decide="json")) == Approve()
    kinds = server.last["response_format"]["json_schema"]["schema"]["properties"]["event"]["properties"]["type"]
    assert kinds["enum"] == ["Approve", "pay now"]
    assert "Approve: Approve the order." in kinds["description"]


@pytest.mark.parametrize(
    ("event", "fields", "expected"),
    [
        (Refund, {"amount": 20, "note": None, "days": None}, Refund(amount=20)),
        (Refund, {"amount": 20, "note": "late", "days": 3}, Refund(amount=20, note="late", days=3)),
        (
            Adopt,
            {
                "pets": [{"kind": "cat", "lives": None}, {"kind": "dog", "name": "Rex"}],
                "favourite": None,
                "main": {"kind": "dog", "name": "Bo"},
            },
            Adopt(pets=(Cat(kind="cat"), Dog(kind="dog", name="Rex")), main=Dog(kind="dog", name="Bo")),
        ),
        (
            Grow,
            {"root": {"label": "a", "below": [{"label": "b", "below": None}]}},
            Grow(root=Node(label="a", below=(Node(label="b"),))),
        ),
        (Count, {"counts": {"a": 1}}, Count(counts={"a": 1})),
        (Pay, {}, Pay()),
        (Delete, {}, Delete()),
        (LONG[0], {}, LONG[0]()),
        (
            Formats,
            {
                "at": "2026-01-02T03:04:05Z",
                "key": "12345678-1234-5678-1234-567812345678",
                "code": "ABC",
                "odd": None,
                "share": 0.5,
                "level": None,
                "pair": None,
            },
            Formats(at="2026-01-02T03:04:05Z", key="12345678-1234-5678-1234-567812345678", code="ABC", share=0.5),
        ),
    ],
    ids=["defaults", "values", "unions", "recursive", "free-keys", "space", "letters", "long", "formats"],
)
async def test_any_event_can_be_offered_and_chosen(server, by, event, fields, expected):
    asked = request(event, Approve, *([LONG[1]] if event is LONG[0] else []))
    before = [descriptor.to_json() for descriptor in asked.events]
    server.answers(answering(asked, by, event.type, fields))
    assert judged(asked, await choose(server, asked, decide=by)) == expected
    assert [descriptor.to_json() for descriptor in asked.events] == before


async def test_free_keys_cannot_be_strict_and_the_rest_stays_so(server):
    server.answers(Answer(calls=[("send_event_Approve", "{}")]))
    await choose(server, request(Count, Approve))
    assert [tool["function"].get("strict", False) for tool in server.last["tools"]] == [False, True]


async def test_an_endpoint_may_not_know_strictness(server, by):
    asked = request(Refund, Approve)
    server.answers(answering(asked, by, "Refund", {"amount": 20}))
    assert judged(asked, await choose(server, asked, decide=by, strict=False)) == Refund(amount=20)
    assert '"strict": true' not in json.dumps(server.last)


async def test_settings_say_how_a_model_may_be_forced(server):
    server.answers(Answer(calls=[("send_event_Approve", "{}")]))
    await choose(server, request(Approve), settings={"tool_choice": "auto", "parallel_tool_calls": None})
    assert server.last["tool_choice"] == "auto"
    assert "parallel_tool_calls" not in server.last


async def test_equal_requests_are_equal_on_the_wire(server, by):
    asked = request(Refund, Approve, Adopt)
    server.answers(*[answering(asked, by, "Approve", {})] * 2)
    await choose(server, asked, decide=by)
    await choose(server, request(Refund, Approve, Adopt), decide=by)
    assert json.dumps(server.requests[0]) == json.dumps(server.requests[1])


async def test_three_hundred_events_are_too_many_tools_and_a_schema_takes_them(server):
    many = tuple(type(f"E{n}", (Event,), {"__module__": __name__}) for n in range(300))
    with pytest.raises(UnsupportedRequestError, match=r"300 tools.*at most 128.*allowed_events") as caught:
        await choose(server, request(*many))
    assert caught.value.code == "too-many-tools"
    assert server.requests == []
    server.answers(Answer(text='{"event": {"type": "E299"}}'))
    asked = request(*many)
    assert judged(asked, await choose(server, asked, decide="json")) == many[299]()


async def test_messages_go_before_what_was_refused(server):
    attempt = DecisionAttempt(failure="rejected-by-guard", reason="'Refund' is too much", event={"type": "Refund"})
    server.answers(Answer(calls=[("send_event_Approve", "{}")]))
    await choose(server, request(Refund, Approve, prompt=None, messages=(user_message("Hi."),), attempts=(attempt,)))
    first, second = server.last["messages"]
    assert first == {"role": "user", "content": "Hi."}
    assert second["content"] == (
        'Your choice {"type": "Refund"} was not taken (rejected-by-guard): \'Refund\' is too much. '
        "Choose exactly one of: Refund, Approve."
    )


# -- answers that are no choice ------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", ["", " ", "null", None, "{}"])
async def test_no_arguments_are_an_empty_payload(server, arguments):
    server.answers(
        *[Answer(calls=[("send_event_Approve", arguments)]), Answer(calls=[("send_event_Refund", arguments)])]
    )
    asked = request(Approve, Refund)
    assert judged(asked, await choose(server, asked)) == Approve()
    attempt = judged(asked, await choose(server, asked))
    assert isinstance(attempt, DecisionAttempt)
    assert attempt.failure == "invalid-payload"
    assert "amount: Field required" in attempt.reason


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"action": list"}', "malformed JSON: Expecting value (line 1, column 12)"),
        ("{'a':1}", "malformed JSON"),
        ('{"a":1}{"b":2}', "malformed JSON: Extra data (line 1, column 8)"),
        ("[1]", "no object"),
        ('"x"', "no object"),
        ('{"amount": NaN}', "NaN is no JSON"),
        ('{"amount": 1,}', "malformed JSON"),
        ('{"amount": 1, "amount": 2}', "'amount' stands twice"),
        ("[" * 5000, "nested deeper than 64 levels"),
    ],
)
async def test_malformed_arguments_are_an_invalid_payload_that_is_kept(server, arguments, reason):
    server.answers(Answer(calls=[("send_event_Refund", arguments)]))
    asked = request(Approve, Refund)
    attempt = judged(asked, await choose(server, asked))
    assert isinstance(attempt, DecisionAttempt)
    assert attempt.failure == "invalid-payload"
    assert reason in attempt.reason
    assert attempt.event == {"type": "Refund", "arguments": arguments[:2000]}


async def test_a_type_among_the_arguments_changes_nothing(server):
    server.answers(Answer(calls=[("send_event_Refund", '{"type": "Approve", "amount": 1}')]))
    asked = request(Approve, Refund)
    assert judged(asked, await choose(server, asked)) == Refund(amount=1)


@pytest.mark.parametrize(
    "calls",
    [
        [("send_event_Approve", "{}"), ("send_event_Refund", '{"amount": 1}')],
        [("send_event_Approve", "{}"), ("send_event_Approve", "{}")],
    ],
)
async def test_several_choices_are_none(server, calls):
    server.answers(Answer(calls=calls, text="Both."))
    asked = request(Approve, Refund)
    attempt = judged(asked, await choose(server, asked))
    assert isinstance(attempt, DecisionAttempt)
    assert attempt.failure == "unknown-event"
    assert "2 choices were made at once" in attempt.reason
    assert attempt.event["choices"][0] == {"type": "Approve", "arguments": "{}"}


async def test_text_is_no_choice_and_every_attempt_keeps_it(server, by):
    server.answers(*[Answer(text="I would approve")] * 3)
    decide = executors(server, decide=by).decide
    with pytest.raises(DecisionExhaustedError, match="no choice was made") as caught:
        await resolve_decision(request(Approve, Refund), decide)
    assert [attempt.event for attempt in caught.value.attempts] == [{"text": "I would approve"}] * 3
    assert len(server.requests) == 3
    assert len(server.last["messages"]) == 3


@pytest.mark.parametrize("text", ['{"result": 1}', '{"event": "Approve"}', "[]"])
async def test_json_of_another_shape_is_no_choice(server, text):
    server.answers(Answer(text=text))
    asked = request(Approve)
    attempt = judged(asked, await choose(server, asked, decide="json"))
    assert isinstance(attempt, DecisionAttempt)
    assert "no choice was made" in attempt.reason


async def test_a_tool_that_was_not_offered_is_an_unknown_event(server):
    server.answers(Answer(calls=[("multi_tool_use.parallel", '{"tool_uses": []}')]))
    asked = request(Approve, Refund)
    attempt = judged(asked, await choose(server, asked))
    assert isinstance(attempt, DecisionAttempt)
    assert attempt.failure == "unknown-event"
    assert attempt.event == {"type": "multi_tool_use.parallel", "tool_uses": ()}


async def test_half_characters_in_a_payload_are_replaced(server):
    server.answers(Answer(calls=[("send_event_Refund", r'{"amount": 1, "note": "\ud83d \ud83c\udf78"}')]))
    asked = request(Refund)
    assert judged(asked, await choose(server, asked)) == Refund(amount=1, note="\ufffd \U0001f378")


# -- answers that end it -------------------------------------------------------------------------------------------


async def test_a_refusal_ends_a_decision(server: OpenAIServer, by):
    server.answers(Answer(refusal="I will not choose."))
    with pytest.raises(RefusedError, match=r"decision 'triage'.*I will not choose"):
        await choose(server, request(Approve), decide=by)


async def test_a_choice_that_was_cut_off_is_never_made(server, by):
    asked = request(Refund, Approve, max_output_tokens=5)
    answer = answering(asked, by, "Refund", {"amount": 1, "note": None, "days": None})
    answer.finish = "length"
    server.answers(answer)
    with pytest.raises(TruncatedError, match="max_output_tokens=5"):
        await choose(server, asked, decide=by)


async def test_a_provider_that_fails_is_no_attempt(server):
    server.answers(Failure(429, "Slow down", headers={"retry-after": "2"}))
    with pytest.raises(ProviderError) as caught:
        await resolve_decision(request(Approve), executors(server).decide)
    assert caught.value.retry_after == 2
    assert len(server.requests) == 1


async def test_a_run_decides_by_it(server):
    class Ask(Event):
        """Look closer."""

        question: str

    class Close(Event):
        """Close the case."""

    agent = il.setup_agent(context=Notes, events=[Ask, Close])
    machine = agent.machine(
        "case",
        context=Notes(),
        initial="open",
        states={
            "open": agent.state(
                invoke=agent.decide(model="gpt-test", prompt="Go on."),
                on=[
                    agent.on(Ask, lambda context, event: agent.goto("open", asked=event.question).reenter()),
                    agent.on(Close, "closed"),
                ],
            ),
            "closed": agent.final(),
        },
    )
    server.answers(
        Answer(text="Let me think."),
        Answer(calls=[("send_event_Ask", '{"question": "When?"}')]),
        Answer(calls=[("send_event_Close", "{}")]),
    )
    result = await il.run_agent(machine, executors=executors(server))
    assert isinstance(result, il.Done), result
    assert result.snapshot.context.asked == "When?"
    assert result.usage.model_calls == 3
    assert result.usage.total_tokens == 54


class Notes(BaseModel, frozen=True):
    asked: str = ""
