"""Decisions by the real SDK against a strict server: how they are asked, by forced tools and by JSON schemas."""

import json

import pytest

from interlock.agent import DecisionAttempt, Event
from interlock.agent.message_helpers import user_message
from interlock.errors import UnsupportedRequestError

from .openai_calls import choose
from .openai_events import (
    LONG,
    Adopt,
    Approve,
    Cat,
    Count,
    Delete,
    Dog,
    Formats,
    Grow,
    Node,
    Pay,
    Refund,
    answering,
    judged,
    request,
)
from .openai_server import Answer


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
