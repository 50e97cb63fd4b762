"""What goes wrong on the way: each as a typed error, nothing half done, no connection left, no key shown."""

import asyncio
import builtins
import gc
import logging
import socket
import subprocess
import sys
import threading
from email.utils import formatdate

import anyio
import pytest

from interlock.adapters.openai import openai_executors
from interlock.agent.text_requests import TextRequest, ToolDescriptor
from interlock.errors import BindError, ErrorInfo, MissingExtraError, ProviderError

from .openai_calls import INFO, KEY, ask, executors, watch
from .openai_server import Answer, Failure, OpenAIServer, Stall

PAY = ToolDescriptor(
    name="pay",
    description="Pay.",
    input_schema={"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]},
)


@pytest.fixture(params=["generate", "stream"])
def mode(request):
    return request.param


def asked(**more) -> TextRequest:
    return TextRequest(id="draft", name="draft", model="gpt-test", prompt="Write a line.", **more)


async def failure(server: OpenAIServer, mode: str = "generate", **options) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await watch(server, asked(tools=(PAY,)), mode, **options)
    return caught.value


# -- streams that break off ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["cut", "drop", "malformed", "error-event"])
async def test_a_stream_without_a_finish_reason_is_an_error_and_never_done(server, fault):
    server.answers(Answer(text="Half of", calls=[("pay", '{"sum": 100}')], fault=fault))
    error = await failure(server, "stream")
    assert error.code == ("provider-error" if fault == "drop" else "incomplete-answer")
    assert error.retryable
    assert str(error).startswith("text request 'draft': ")


async def test_what_came_before_the_break_has_been_shown(server):
    server.answers(Answer(text="Half of a line", fault="cut"))
    stream = executors(server).stream_text(asked(), INFO)
    assert [await anext(stream) for _ in range(3)] == ["Half ", "of a ", "line"]
    with pytest.raises(ProviderError, match="without a finish reason"):
        await anext(stream)


async def test_after_the_finish_reason_nothing_is_missing(server):
    server.answers(Answer(text="All of it.", fault="drop-after-finish"))
    result, _ = await watch(server, asked(), "stream")
    assert result.output == "All of it."
    assert result.finish_reason == "stop"
    assert result.usage is None


async def test_an_error_in_a_stream_says_what_the_provider_says(server):
    server.answers(Answer(text="Half", fault="error-event"))
    assert "The model is overloaded" in str(await failure(server, "stream"))


# -- refusals and outages ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "retryable"),
    [
        (Failure(429, "Slow down"), True),
        (Failure(429, "You exceeded your current quota", "insufficient_quota"), False),
        (Failure(500), True),
        (Failure(529, "Overloaded"), True),
        (Failure(401, "No such key"), False),
        (Failure(404, "No such model", "model_not_found"), False),
    ],
)
async def test_an_http_error_is_typed(server, mode, given, retryable):
    server.answers(given)
    error = await failure(server, mode)
    assert (error.code, error.status, error.retryable) == ("provider-error", given.status, retryable)
    assert error.provider_request_id == "req_42"
    assert error.tries == 1
    assert f"{given.status}" in str(error)
    assert given.message in str(error)
    assert ErrorInfo.of(error).code == "provider-error"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"retry-after": "20"}, 20), ({"retry-after-ms": "1500"}, 1.5), ({}, None), ({"retry-after": "soon"}, None)],
)
async def test_the_advice_to_wait_is_passed_on(server, headers, seconds):
    server.answers(Failure(429, "Slow down", headers=headers))
    assert (await failure(server)).retry_after == seconds


async def test_the_advice_to_wait_may_be_a_date(server):
    server.answers(Failure(429, "Slow down", headers={"retry-after": formatdate(usegmt=True)}))
    assert (await failure(server)).retry_after == 0


@pytest.mark.parametrize("retries", [0, 1, 2])
async def test_one_knob_says_how_often_the_sdk_repeats_a_call(server, mode, retries):
    server.answers(*[Failure(429, "Slow down", headers={"retry-after-ms": "1"})] * 5)
    error = await failure(server, mode, max_retries=retries)
    assert len(server.requests) == error.tries == retries + 1
    if retries:
        assert f"sent {retries + 1} times" in str(error)


async def test_a_call_that_is_repeated_may_succeed(server, mode):
    server.answers(Failure(500, headers={"retry-after-ms": "1"}), Answer(text="ok"))
    assert (await ask(server, asked(), mode, max_retries=1)).output == "ok"


async def test_nobody_waits_for_days(server):
    server.answers(Failure(429, "Slow down", headers={"retry-after": "1000000"}))
    error = await failure(server, max_retries=2)
    assert (error.tries, error.retry_after) == (1, 1_000_000)


async def test_nobody_is_there(mode):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        unused = OpenAIServer()
        unused.url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        error = await failure(unused, mode)
    assert (error.status, error.retryable) == (None, True)
    assert "cannot be reached" in str(error)


@pytest.mark.parametrize(
    "given",
    [
        Failure(200, raw="<html>Welcome</html>", content_type="text/html"),
        Failure(200, raw='{"hello": 1}'),
        Failure(200, raw='{"choices": []}'),
        Failure(200, raw="null"),
        Failure(200, raw="{"),
    ],
    ids=["page", "json", "no-choices", "null", "broken"],
)
async def test_an_answer_that_is_none_is_said_to_be_none(server, mode, given):
    server.answers(given)
    assert (await failure(server, mode)).code == "incomplete-answer"


async def test_silence_has_an_end(server, mode):
    server.answers(Stall())
    error = await failure(server, mode, timeout=0.05)
    assert (error.status, error.retryable) == (None, True)


# -- whoever goes away ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stall", [Stall(), Answer(text="Half of it", fault="stall")], ids=["at-once", "midway"])
async def test_a_call_that_nobody_waits_for_is_hung_up(server, mode, stall):
    server.answers(stall if mode == "stream" else Stall())

    async def call() -> None:
        await watch(server, asked(), mode)

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        assert await anyio.to_thread.run_sync(server.stalled.wait, 10)
        group.cancel_scope.cancel()
    assert await anyio.to_thread.run_sync(server.left.wait, 10)


async def test_a_stream_that_is_left_is_hung_up(server):
    server.answers(Answer(text="A long line of text.", fault="stall"))
    stream = executors(server).stream_text(asked(), INFO)
    assert await anext(stream)
    await stream.aclose()
    assert await anyio.to_thread.run_sync(server.left.wait, 10)
    gc.collect()


def test_executors_outlive_event_loops_and_serve_several(server):
    made = openai_executors(base_url=server.url, max_retries=0)
    server.answers(*[Answer(text="ok")] * 8)

    async def twice() -> None:
        assert (await made.generate_text(asked(), INFO)).output == "ok"
        assert [piece async for piece in made.stream_text(asked(), INFO)][-1].output == "ok"

    asyncio.run(twice())
    asyncio.run(twice())
    threads = [threading.Thread(target=asyncio.run, args=(twice(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.requests) == 8
    assert not server.script


# -- the key -------------------------------------------------------------------------------------------------------


async def test_the_key_is_shown_nowhere(server, mode, caplog):
    caplog.set_level(logging.DEBUG)
    made = executors(server)
    server.answers(
        Failure(401, f"Incorrect API key provided: {KEY}."), Failure(500, KEY), Answer(text="x", fault="error-event")
    )
    for _ in range(2):
        error = await failure(server, mode)
        assert "***" in str(error)
        chain, at = [], error
        while at is not None:
            chain.append(repr(at) + str(at))
            at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
        assert KEY not in "".join(chain)
        assert KEY not in str(ErrorInfo.of(error))
    assert KEY not in repr(made)
    assert KEY not in repr(vars(type(made.decide.__self__)))
    assert KEY not in caplog.text
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_a_key_in_what_is_no_answer_is_hidden(server, mode):
    server.answers(Failure(200, raw=f'{{"you sent": "{KEY}"}}'))
    error = await failure(server, mode)
    assert "***" in str(error)
    assert KEY not in str(error)


async def test_the_key_of_the_environment_goes_to_openai_alone(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.answers(Answer(text="ok"))
    await openai_executors(base_url=server.url).generate_text(asked(), INFO)
    assert KEY not in str(server.headers)


def test_no_key_for_openai_is_said_at_once(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_ADMIN_KEY", raising=False)
    with pytest.raises(BindError, match="OPENAI_API_KEY"):
        openai_executors()


# -- the package ---------------------------------------------------------------------------------------------------


async def test_a_client_of_ones_own_is_used_as_it_is(server, mode):
    from openai import AsyncOpenAI

    server.answers(Answer(text="ok"))
    async with AsyncOpenAI(base_url=server.url, api_key=KEY, default_headers={"x-team": "a"}) as client:
        made = openai_executors(client=client)
        if mode == "generate":
            result = await made.generate_text(asked(), INFO)
        else:
            result = [piece async for piece in made.stream_text(asked(), INFO)][-1]
    assert result.output == "ok"
    assert server.headers[0]["x-team"] == "a"


def test_a_client_and_its_arguments_contradict_each_other():
    from openai import AsyncOpenAI, OpenAI

    with pytest.raises(BindError, match="base_url, timeout"):
        openai_executors(client=AsyncOpenAI(api_key=KEY), base_url="http://127.0.0.1/v1", timeout=1)
    with OpenAI(api_key=KEY) as client, pytest.raises(BindError, match="not a OpenAI"):
        openai_executors(client=client)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "openai":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"interlock\[openai\]") as caught:
        openai_executors(api_key=KEY)
    assert (caught.value.package, caught.value.extra) == ("openai", "openai")


def test_importing_the_adapter_imports_no_sdk():
    program = "import interlock.adapters.openai, sys; print('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
