"""The examples with ``--model openai``: an endpoint, as the environment names it."""

import json

import pytest

from tests.adapters.openai_server import Answer, OpenAIServer, openai_server
from tests.examples.loading import talk

pytestmark = pytest.mark.slow


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch):
    with openai_server() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a-key")
        monkeypatch.setenv("OPENAI_MODEL", "a-model")
        yield running


def says(name: str, **fields) -> Answer:
    return Answer(calls=[(name, json.dumps(fields))])


def test_a_decision(server: OpenAIServer, tmp_path):
    server.answers(
        says("send_event_Ask", question="Is it red?"),
        says("send_event_Ask", question="Is it big?"),
        says("send_event_Guess", guess="an ant"),
    )
    lines = talk("twenty_questions", tmp_path, "--turns", "2", "--answers", "yes", "--model", "openai")
    assert lines[0] == "Is it red?"
    assert lines[-1] == "It is an ant!"
    assert {request["model"] for request in server.requests} == {"a-model"}


def test_texts(server: OpenAIServer, tmp_path):
    label = {"result": {"subject": "Cold", "tone": "firm"}}
    server.answers(Answer(text="It is cold."), Answer(text=json.dumps(label)))
    lines = talk("email_drafter", tmp_path, "It is cold.", "--model", "openai", said="yes\n")
    assert lines == ["It is cold.", "--- Cold (firm)", "send? Sent."]


def test_a_plan(server: OpenAIServer, tmp_path):
    server.answers(says("send_event_Add", item="milk"), says("send_event_agent_plan_done"))
    assert talk("todo_nl", tmp_path, "add milk", "--model", "openai")[1] == "  sent: Add milk (done)"


def test_acting(server: OpenAIServer, tmp_path):
    server.answers(says("price", item="tea"), says("send_event_Put", item="tea", count=1), says("send_event_CheckOut"))
    assert talk("shopping", tmp_path, "tea", "--model", "openai")[-1] == "Bought tea for 2.50."


def test_without_a_key_it_says_so(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert "there is no key" in talk("todo_nl", tmp_path, "add milk", "--model", "openai", status=1)[-1]
