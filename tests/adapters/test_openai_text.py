"""Text by the real SDK against a strict server: whole and streamed calls share every test, and give equal results."""

from dataclasses import replace

import pytest

from interlock.adapters.openai import openai_executors
from interlock.agent import Usage
from interlock.agent.contract import ToolCall
from interlock.agent.message_helpers import assistant_message, tool_message
from interlock.agent.messages import JsonOutput, TextPart, ToolCallPart, ToolResultPart
from interlock.agent.text_requests import TextRequest, ToolDescriptor
from interlock.errors import InvalidOutputError, ProviderError, RefusedError, TruncatedError, UnsupportedRequestError

from .openai_calls import ask, watch
from .openai_server import Answer

PNG = b"\x89PNG\r\n\x1a\n0000"
JPEG = b"\xff\xd8\xff0000"


@pytest.fixture(params=["generate", "stream"])
def mode(request):
    return request.param


def asked(prompt: str | None = "Write a line.", **more) -> TextRequest:
    return TextRequest(id="draft", name="draft", model="gpt-test", prompt=prompt, **more)


# -- text ----------------------------------------------------------------------------------------------------------


async def test_text_comes_with_usage_and_finish_reason(server, mode):
    server.answers(Answer(text="A line of text."))
    result = await ask(server, asked(), mode)
    assert result.output == "A line of text."
    assert result.finish_reason == "stop"
    assert result.usage == Usage(
        input_tokens=11, output_tokens=7, total_tokens=18, reasoning_tokens=3, cached_input_tokens=4
    )
    assert result.tool_calls == ()
    assert result.raw["choices"][0]["finish_reason"] == "stop"


async def test_a_stream_shows_its_text_as_it_comes(server):
    server.answers(Answer(text="A line of text."))
    result, texts = await watch(server, asked(), "stream")
    assert len(texts) > 1
    assert "".join(texts) == result.output


async def test_whole_and_streamed_results_are_equal(server):
    request = asked(tools=(WEATHER,))
    answer = Answer(text="Let me see.", calls=[("weather", '{"city": "Oslo"}')], reasoning="Ask first.")
    server.answers(answer, answer)
    whole = await ask(server, request, "generate")
    streamed = await ask(server, request, "stream")
    assert replace(whole, raw=None) == replace(streamed, raw=None)


async def test_what_a_request_says_is_sent_and_nothing_else(server, mode):
    server.answers(Answer(text="ok"))
    request = asked(
        system="Be brief.",
        temperature=0.5,
        top_p=0.9,
        top_k=40,
        seed=7,
        max_output_tokens=100,
        stop_sequences=("END",),
        metadata={"team": "a"},
    )
    await ask(server, request, mode)
    sent = {name: value for name, value in server.last.items() if not name.startswith("stream")}
    assert sent == {
        "model": "gpt-test",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Write a line."}],
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "max_completion_tokens": 100,
        "stop": ["END"],
    }


async def test_a_stream_asks_for_its_usage(server):
    server.answers(Answer(text="ok"))
    await ask(server, asked(), "stream")
    assert server.last["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("every", [False, True])
async def test_usage_is_never_added_up_twice(server, every):
    server.answers(Answer(text="Several pieces of text.", usage_in_every_chunk=every))
    result = await ask(server, asked(), "stream")
    assert result.usage is not None
    assert result.usage.total_tokens == 18


async def test_unreported_usage_is_unknown_and_not_zero(server, mode):
    server.answers(Answer(text="ok", usage=None))
    assert (await ask(server, asked(), mode)).usage is None


@pytest.mark.parametrize(
    ("finish", "expected"),
    [("stop", "stop"), ("length", "length"), ("eos_token", "other"), ("function_call", "tool-calls")],
)
async def test_finish_reasons_have_one_vocabulary(server, mode, finish, expected):
    server.answers(Answer(text="Half a", finish=finish))
    result = await ask(server, asked(), mode)
    assert result.finish_reason == expected
    assert result.output == "Half a"
    assert result.raw["choices"][0]["finish_reason"] == finish


@pytest.mark.parametrize("nothing", [None, "", " \n"])
async def test_an_answer_of_nothing_is_no_answer(server, mode, nothing):
    server.answers(Answer(text=nothing))
    with pytest.raises(ProviderError, match="'draft'") as caught:
        await ask(server, asked(), mode)
    assert caught.value.code == "incomplete-answer"
    assert caught.value.retryable


@pytest.mark.parametrize("nothing", ["", " \n"])
async def test_a_text_that_was_cut_off_before_its_first_word_says_that_it_was(server, mode, nothing):
    """A model may spend all that it is allowed on thinking: to ask again would change nothing."""
    server.answers(Answer(text=nothing, finish="length"))
    with pytest.raises(TruncatedError, match="max_output_tokens=9"):
        await ask(server, asked(max_output_tokens=9), mode)


async def test_half_characters_are_replaced_at_the_border(server, mode):
    server.answers(Answer(text="a\ud83db"))
    result = await ask(server, asked(), mode)
    assert result.output == "a\ufffdb"
    assert result.raw["choices"][0]["message"]["content"] == "a\ufffdb"


async def test_lines_end_where_bytes_say_so(server, mode):
    server.answers(Answer(text="one\u2028two\x85three\nfour"))
    assert (await ask(server, asked(), mode)).output == "one\u2028two\x85three\nfour"


# -- refusals ------------------------------------------------------------------------------------------------------


async def test_a_refusal_is_an_error_of_its_own(server, mode):
    server.answers(Answer(refusal="I cannot help with that."))
    with pytest.raises(RefusedError, match="I cannot help with that") as caught:
        await ask(server, asked(), mode)
    assert caught.value.partial_output == "I cannot help with that."
    assert caught.value.request == "draft"


@pytest.mark.parametrize("text", [None, "Something"])
async def test_a_content_filter_is_no_empty_answer(server, mode, text):
    server.answers(Answer(text=text, finish="content_filter"))
    with pytest.raises(RefusedError, match="content filter"):
        await ask(server, asked(), mode)


# -- structured output ---------------------------------------------------------------------------------------------

ORDER = {
    "type": "object",
    "properties": {
        "dish": {"type": "string"},
        "guests": {"type": "integer", "default": 2},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    },
    "required": ["dish"],
}


async def test_a_structured_answer_comes_out_of_its_envelope(server, mode):
    server.answers(Answer(text='{"reasoning": "Cheap.", "result": {"dish": "soup", "guests": 3, "note": null}}'))
    result = await ask(server, asked(output_schema=ORDER, include_reasoning=True), mode)
    assert result.output == {"dish": "soup", "guests": 3, "note": None}
    assert result.reasoning == "Cheap."
    wanted = server.last["response_format"]["json_schema"]
    assert wanted["strict"] is True
    assert list(wanted["schema"]["properties"]) == ["reasoning", "result"]


async def test_null_stands_for_what_may_be_left_out(server, mode):
    server.answers(Answer(text='{"result": {"dish": "soup", "guests": null, "note": null}}'))
    result = await ask(server, asked(output_schema=ORDER), mode)
    assert result.output == {"dish": "soup", "note": None}


async def test_a_structured_answer_has_no_text_to_show(server):
    server.answers(Answer(text='{"result": {"dish": "soup", "guests": null, "note": null}}'))
    _, texts = await watch(server, asked(output_schema=ORDER), "stream")
    assert texts == []


async def test_what_the_dialect_cannot_say_is_asked_for_without_constraint(server, mode):
    server.answers(Answer(text='{"result": {"a": 1}}'))
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    result = await ask(server, asked(output_schema=schema), mode)
    assert result.output == {"a": 1}
    assert server.last["response_format"]["json_schema"]["strict"] is False


async def test_a_structured_answer_that_was_cut_off_is_no_value(server, mode):
    server.answers(Answer(text='{"result": {"dish": "so', finish="length"))
    with pytest.raises(TruncatedError, match="max_output_tokens=9") as caught:
        await ask(server, asked(output_schema=ORDER, max_output_tokens=9), mode)
    assert caught.value.partial_output == '{"result": {"dish": "so'
    assert caught.value.request_id == "draft"


async def test_an_answer_that_is_no_json_is_invalid(server, mode):
    server.answers(Answer(text="Soup, please."))
    with pytest.raises(InvalidOutputError):
        await ask(server, asked(output_schema=ORDER), mode)


# -- tools ---------------------------------------------------------------------------------------------------------

WEATHER = ToolDescriptor(
    name="weather",
    description="Look up the weather.",
    input_schema={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
CLOCK = ToolDescriptor(name="clock", description="", input_schema={"type": "object"})


async def test_tool_calls_are_handed_to_whoever_runs_them(server, mode):
    server.answers(
        Answer(text="Let me see.", calls=[("weather", '{"city": "Oslo", "days": null}', "a"), ("clock", "", "b")])
    )
    result = await ask(server, asked(tools=(WEATHER, CLOCK)), mode)
    assert result.tool_calls == (ToolCall("a", "weather", {"city": "Oslo"}), ToolCall("b", "clock", {}))
    assert result.finish_reason == "tool-calls"
    assert result.output is None
    assert result.messages == (
        assistant_message(
            [
                TextPart(text="Let me see."),
                ToolCallPart(tool_call_id="a", tool_name="weather", input={"city": "Oslo"}),
                ToolCallPart(tool_call_id="b", tool_name="clock", input={}),
            ]
        ),
    )


async def test_a_turn_goes_back_with_its_answers(server, mode):
    server.answers(Answer(text="Rain."))
    turns = (
        assistant_message([ToolCallPart(tool_call_id="x" * 80, tool_name="weather", input={"city": "Oslo"})]),
        tool_message(
            [ToolResultPart(tool_call_id="x" * 80, tool_name="weather", output=JsonOutput(value={"sky": "grey"}))]
        ),
    )
    result = await ask(server, asked(tools=(WEATHER,), turns=turns, tool_choice="required"), mode)
    assert result.output == "Rain."
    call, answer = server.last["messages"][1:]
    assert call["tool_calls"][0]["id"] == answer["tool_call_id"]
    assert len(answer["tool_call_id"]) <= 40
    assert answer["content"] == '{"sky": "grey"}'
    assert "tool_choice" not in server.last, "a forced choice holds for the first turn"


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (None, None),
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("weather", {"type": "function", "function": {"name": "weather"}}),
    ],
)
async def test_a_tool_choice_is_sent(server, mode, choice, sent):
    server.answers(Answer(text="ok"))
    await ask(server, asked(tools=(WEATHER,), tool_choice=choice), mode)
    assert server.last.get("tool_choice") == sent


async def test_the_last_turn_can_only_answer(server, mode):
    server.answers(Answer(text="ok"))
    await ask(server, asked(tools=(WEATHER,), steps_remaining=1), mode)
    assert server.last["tool_choice"] == "none"


async def test_a_tool_choice_that_is_no_tool_is_refused_before_the_call(server, mode):
    with pytest.raises(UnsupportedRequestError, match="Did you mean 'weather'"):
        await ask(server, asked(tools=(WEATHER,), tool_choice="wether"), mode)
    assert server.requests == []


async def test_more_tools_than_a_provider_takes_are_refused_before_the_call(server, mode):
    many = tuple(replace(CLOCK, name=f"clock{number}") for number in range(129))
    with pytest.raises(UnsupportedRequestError, match=r"129 tools.*at most 128") as caught:
        await ask(server, asked(tools=many), mode)
    assert caught.value.code == "too-many-tools"
    assert server.requests == []


@pytest.mark.parametrize(
    "arguments", ['{"action": list"}', '{"a":1}{"b":2}', "[1]", '"x"', '{"a": NaN}', '{"a":1,"a":2}']
)
async def test_malformed_arguments_are_passed_on_and_not_repaired(server, mode, arguments):
    server.answers(Answer(calls=[("weather", arguments)]))
    result = await ask(server, asked(tools=(WEATHER,)), mode)
    assert result.tool_calls[0].input == arguments
    turns = (
        *result.messages,
        tool_message(
            [ToolResultPart(tool_call_id="call_0", tool_name="weather", output={"type": "error-text", "value": "No."})]
        ),
    )
    server.answers(Answer(text="ok"))
    await ask(server, asked(tools=(WEATHER,), turns=turns), mode)


@pytest.mark.parametrize("arguments", ['{"city": "Os', '{"city": "Oslo"}'])
async def test_a_call_in_an_answer_that_was_cut_off_is_never_made(server, mode, arguments):
    server.answers(Answer(calls=[("weather", arguments)], finish="length"))
    with pytest.raises(TruncatedError):
        await ask(server, asked(tools=(WEATHER,)), mode)


async def test_ids_that_a_server_repeats_are_told_apart(server, mode):
    first = [ToolCallPart(tool_call_id="call_0", tool_name="clock", input={})]
    answered = [ToolResultPart(tool_call_id="call_0", tool_name="clock", output={"type": "text", "value": " "})]
    server.answers(Answer(calls=[("clock", "{}"), ("clock", "{}", "")]))
    request = asked(tools=(CLOCK,), turns=(assistant_message(first), tool_message(answered)))
    result = await ask(server, request, mode)
    assert [call.id for call in result.tool_calls] == ["call_0_2", "call"]


async def test_a_tool_that_nobody_offered_keeps_its_name(server, mode):
    server.answers(Answer(calls=[("multi_tool_use.parallel", '{"tool_uses": []}')]))
    result = await ask(server, asked(tools=(CLOCK,)), mode)
    assert result.tool_calls[0].name == "multi_tool_use.parallel"


@pytest.mark.parametrize(
    "wrong", [{"base_url": "notaurl"}, {"base_url": ""}, {"timeout": -1}, {"max_retries": -1}], ids=str
)
def test_a_connection_that_can_be_none_is_refused_at_once(wrong):
    with pytest.raises(UnsupportedRequestError) as caught:
        openai_executors(**{"base_url": "http://127.0.0.1:1/v1", "api_key": "k", **wrong})
    assert caught.value.code == "invalid-setting"
