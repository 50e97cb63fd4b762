"""Messages, models and settings by the real SDK against a strict server, in calls of both kinds."""

from dataclasses import replace

import pytest

from interlock.adapters.openai import openai_executors
from interlock.agent.message_helpers import assistant_message, system_message, user_message
from interlock.agent.messages import ImagePart, TextPart, ToolCallPart
from interlock.agent.text_requests import TextRequest
from interlock.errors import DefinitionError, ProviderError, UnsupportedRequestError

from .openai_calls import ask, watch
from .openai_server import Answer

JPEG = b"\xff\xd8\xff0000"


@pytest.fixture(params=["generate", "stream"])
def mode(request):
    return request.param


def asked(prompt: str | None = "Write a line.", **more) -> TextRequest:
    return TextRequest(id="draft", name="draft", model="gpt-test", prompt=prompt, **more)


# -- messages ------------------------------------------------------------------------------------------------------


async def test_blank_messages_are_left_out(server, mode):
    server.answers(Answer(text="ok"))
    history = (
        system_message(" "),
        user_message("Hello."),
        assistant_message(""),
        assistant_message([]),
        assistant_message([TextPart(text="\n")]),
        user_message(" "),
        user_message([TextPart(text=""), TextPart(text="Still there?")]),
    )
    await ask(server, asked(None, messages=history), mode)
    assert server.last["messages"] == [
        {"role": "user", "content": "Hello."},
        {"role": "user", "content": "Still there?"},
    ]


async def test_nothing_to_say_is_refused_before_the_call(server, mode):
    with pytest.raises(UnsupportedRequestError, match="nothing to send"):
        await ask(server, asked(" "), mode)
    assert server.requests == []


async def test_images_go_by_url_or_as_what_their_bytes_are(server, mode):
    server.answers(Answer(text="A cat."))
    parts = [
        TextPart(text="What is it?"),
        ImagePart(image="https://example.org/cat.png", provider_options={"openai": {"detail": "low"}}),
        ImagePart(image=JPEG, media_type="image/png"),
    ]
    await ask(server, asked(None, messages=(user_message(parts),)), mode)
    _, by_url, by_bytes = server.last["messages"][0]["content"]
    assert by_url["image_url"] == {"url": "https://example.org/cat.png", "detail": "low"}
    assert by_bytes["image_url"]["url"].startswith("data:image/jpeg;base64,")


async def test_a_torn_transcript_is_refused_before_the_call(server, mode):
    torn = (user_message("Hi."), assistant_message([ToolCallPart(tool_call_id="a", tool_name="clock", input={})]))
    with pytest.raises(UnsupportedRequestError, match="call-without-result") as caught:
        await ask(server, asked(None, messages=(*torn, user_message("And?"))), mode)
    assert caught.value.code == "invalid-transcript"
    assert server.requests == []


# -- models and settings -------------------------------------------------------------------------------------------


async def test_aliases_are_resolved_and_other_names_are_sent_as_they_are(server, mode):
    server.answers(Answer(text="ok"), Answer(text="ok"))
    await ask(server, replace(asked(), model="quick"), mode, models={"quick": "gpt-test-mini"})
    assert server.last["model"] == "gpt-test-mini"
    await ask(server, replace(asked(), model="openai/gpt-test"), mode, models={"quick": "gpt-test-mini"})
    assert server.last["model"] == "openai/gpt-test", "a router takes its refs whole"


def test_an_alias_stands_for_something():
    with pytest.raises(DefinitionError, match="quick"):
        openai_executors(base_url="http://127.0.0.1/v1", models={"quick": ""})


async def test_a_request_without_a_model_is_refused_before_the_call(server, mode):
    with pytest.raises(UnsupportedRequestError) as caught:
        await ask(server, replace(asked(), model=None), mode)
    assert caught.value.code == "no-model"


async def test_settings_add_what_no_request_has_and_never_win(server, mode):
    server.answers(Answer(text="ok"), Answer(text="ok"))
    await ask(server, asked(temperature=0.1), mode, settings={"temperature": 1.0, "reasoning_effort": "low"})
    assert server.last["temperature"] == 0.1
    assert server.last["reasoning_effort"] == "low"
    await ask(server, asked(), mode, settings=lambda request: {"user": request.name})
    assert server.last["user"] == "draft"


async def test_settings_cannot_replace_the_request(server, mode):
    with pytest.raises(UnsupportedRequestError, match="messages, n"):
        openai_executors(base_url=server.url, settings={"n": 2, "messages": []})
    with pytest.raises(UnsupportedRequestError, match="not a str"):
        await ask(server, asked(), mode, settings=lambda request: "low")


async def test_older_endpoints_are_told_the_limit_in_their_words(server, mode):
    server.answers(Answer(text="ok"))
    await ask(server, asked(max_output_tokens=5), mode, limit_field="max_tokens")
    assert server.last["max_tokens"] == 5
    assert "max_completion_tokens" not in server.last


async def test_what_the_server_refuses_is_passed_on(server, mode):
    with pytest.raises(ProviderError, match=r"400 .*temperature") as caught:
        await watch(server, asked(temperature=3.0), mode)
    assert caught.value.status == 400
    assert not caught.value.retryable
