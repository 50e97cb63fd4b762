"""How the tests call the adapter: by the real SDK, in both modes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from interlock.adapters.openai import openai_executors
from interlock.agent import Choice, ExecutorInfo, Executors
from interlock.agent.contract import TextResult
from interlock.agent.requests import DecisionRequest
from interlock.agent.text_requests import TextRequest

from .openai_server import OpenAIServer

KEY = "sk-CANARY-0123456789"
INFO = ExecutorInfo(run_id="run", request_id="draft", call_key="run:draft.0")

_made: dict[str, Executors] = {}


def executors(server: OpenAIServer, **options: Any) -> Executors:
    """Return executors, made once for all tests that want the same: they are meant to outlive event loops."""
    options = {"base_url": server.url, "api_key": KEY, "max_retries": 0, **options}
    if any(isinstance(option, Callable) for option in options.values()):
        return openai_executors(**options)
    name = repr(sorted(options.items()))
    if name not in _made:
        _made[name] = openai_executors(**options)
    return _made[name]


async def watch(server: OpenAIServer, request: TextRequest, mode: str, **options: Any) -> tuple[TextResult, list[str]]:
    """Return the result and the pieces of text that were shown before it."""
    made = executors(server, **options)
    if mode == "generate":
        assert made.generate_text is not None
        result = await made.generate_text(request, INFO)
        assert isinstance(result, TextResult)
        return result, []
    assert made.stream_text is not None
    *texts, last = [piece async for piece in made.stream_text(replace(request, mode="stream"), INFO)]
    assert isinstance(last, TextResult)
    assert all(isinstance(text, str) and text for text in texts)
    return last, [str(text) for text in texts]


async def ask(server: OpenAIServer, request: TextRequest, mode: str, **options: Any) -> TextResult:
    """Return the result of a call that the server must not refuse."""
    result, _ = await watch(server, request, mode, **options)
    assert not server.refusals
    return result


async def choose(server: OpenAIServer, request: DecisionRequest, **options: Any) -> Choice:
    """Return the choice of a call that the server must not refuse."""
    decide = executors(server, **options).decide
    assert decide is not None
    choice = await decide(request, INFO)
    assert isinstance(choice, Choice)
    assert not server.refusals
    return choice
