"""What a model answers to a decision, good and bad, by the real SDK against a strict server."""

import pytest

from interlock.agent import DecisionAttempt
from interlock.errors import DecisionExhaustedError, ProviderError, RefusedError, TruncatedError
from interlock.run.resolve import resolve_decision

from .openai_calls import choose, executors
from .openai_events import Approve, Refund, answering, judged, request
from .openai_server import Answer, Failure


@pytest.fixture(params=["tools", "json"])
def by(request):
    return request.param


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


async def test_a_refusal_ends_a_decision(server, by):
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
