"""A local stand-in for the Chat Completions API: it refuses what the real one refuses, and answers from a script.

One script answers whole and streamed calls alike, so one test can look at both. Faults are scripted too.
"""

import json
import select
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from .openai_rules import RefusedRequestError, check

USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "total_tokens": 18,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 3},
}

Fault = Literal["cut", "drop", "malformed", "stall", "error-event", "drop-after-finish"]
"""How a stream goes wrong: ends in order but without a finish reason, loses its connection, and so on."""


@dataclass
class Answer:
    """What a model says: text, tool calls as (name, arguments) or (name, arguments, id), or a refusal."""

    text: str | None = None
    calls: Iterable[tuple] = ()
    refusal: str | None = None
    reasoning: str | None = None
    finish: str | None = None
    usage: Mapping | None = field(default_factory=lambda: dict(USAGE))
    fault: Fault | None = None
    usage_in_every_chunk: bool = False

    @property
    def reason(self) -> str:
        return self.finish or ("tool_calls" if self.calls else "stop")

    def tool_calls(self) -> list[dict]:
        return [
            {
                "id": call[2] if len(call) > 2 else f"call_{number}",
                "type": "function",
                "function": {"name": call[0], "arguments": call[1]},
            }
            for number, call in enumerate(self.calls)
        ]

    def whole(self, model: str) -> dict:
        message = {"role": "assistant", "content": self.text, "refusal": self.refusal}
        if self.calls:
            message["tool_calls"] = self.tool_calls()
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.reason}
        whole = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice]}
        return whole if self.usage is None else {**whole, "usage": self.usage}

    def chunks(self, model: str, *, usage: bool) -> Iterator[dict]:
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}

        def chunk(delta: dict, finish: str | None = None) -> dict:
            made = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            return {**made, "usage": self.usage} if self.usage_in_every_chunk else made

        yield chunk({"role": "assistant", "content": ""})
        for name, text in (("reasoning_content", self.reasoning), ("content", self.text), ("refusal", self.refusal)):
            for start in range(0, len(text or ""), 5):
                yield chunk({name: (text or "")[start : start + 5]})
        for index, call in enumerate(self.tool_calls()):
            function = call["function"]
            yield chunk({"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]})
            for start in range(0, len(function["arguments"] or ""), 6):
                piece = function["arguments"][start : start + 6]
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, self.reason)
        if usage and self.usage is not None:
            yield {**head, "choices": [], "usage": self.usage}


@dataclass
class Failure:
    """An HTTP error; or, with ``raw``, whatever else is sent."""

    status: int = 500
    message: str = "The server had an error"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str | None = None
    content_type: str = "application/json"


@dataclass
class Stall:
    """No answer at all, until the client goes away."""


class OpenAIServer:
    """The server while it runs. ``requests`` are the bodies that came, refused ones too; ``refusals`` says why."""

    def __init__(self) -> None:
        self.url = ""
        self.reset()

    def reset(self) -> None:
        self.script: deque[Answer | Failure | Stall] = deque()
        self.requests: list[dict] = []
        self.headers: list[Mapping[str, str]] = []
        self.refusals: list[str] = []
        self.stalled = threading.Event()
        self.left = threading.Event()

    def answers(self, *script: Answer | Failure | Stall) -> None:
        self.script.extend(script)

    @property
    def last(self) -> dict:
        return self.requests[-1]


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # joined when the server closes: nothing is left behind
    block_on_close = True

    def __init__(self, state: OpenAIServer) -> None:
        self.state = state
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format, *args) -> None:  # noqa: A002
        pass

    def do_POST(self) -> None:
        try:
            self.answer()
        except ConnectionError:  # the client has gone before all was written
            self.server.state.left.set()
            self.close_connection = True

    def answer(self) -> None:
        state = self.server.state
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        state.requests.append(body)
        state.headers.append(dict(self.headers))
        if not self.path.endswith("/chat/completions"):
            return self.fail(Failure(404, f"Invalid URL (POST {self.path})"))
        try:
            check(body)
        except RefusedRequestError as error:
            state.refusals.append(str(error))
            return self.fail(Failure(400, str(error), "invalid_request"))
        if not state.script:
            return self.fail(Failure(501, "the script is empty"))
        answer = state.script.popleft()
        if isinstance(answer, Failure):
            return self.fail(answer)
        if isinstance(answer, Stall):
            return self.stall()
        if body.get("stream"):
            return self.stream(answer, body)
        return self.send(200, json.dumps(answer.whole(body["model"])), {})

    def fail(self, failure: Failure) -> None:
        error = {"message": failure.message, "type": "error", "param": None, "code": failure.code}
        text = json.dumps({"error": error}) if failure.raw is None else failure.raw
        self.send(failure.status, text, failure.headers, failure.content_type)

    def send(self, status: int, text: str, headers: Mapping[str, str], kind: str = "application/json") -> None:
        data = text.encode()
        self.send_response(status)
        for name, value in {
            "content-type": kind,
            "x-request-id": "req_42",
            "content-length": str(len(data)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def stream(self, answer: Answer, body: dict) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        usage = bool(body.get("stream_options", {}).get("include_usage"))
        chunks = list(answer.chunks(body["model"], usage=usage))
        last = next(number for number, chunk in enumerate(chunks) if chunk["choices"][0]["finish_reason"])
        for number, chunk in enumerate(chunks):
            if number == last and answer.fault not in (None, "drop-after-finish"):
                return self.go_wrong(answer)
            self.event(json.dumps(chunk))
            if number == last and answer.fault == "drop-after-finish":
                return self.drop()
        return self.end()

    def go_wrong(self, answer: Answer) -> None:
        if answer.fault == "cut":
            return self.end()
        if answer.fault == "malformed":
            self.event('{"id": "chatcmpl-1", "choices": [{')
            return self.end()
        if answer.fault == "error-event":
            self.event(json.dumps({"error": {"message": "The model is overloaded", "code": "server_error"}}))
            return self.end()
        if answer.fault == "stall":
            return self.stall()
        return self.drop()

    def event(self, text: str) -> None:
        data = f"data: {text}\n\n".encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def end(self) -> None:
        self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def drop(self) -> None:
        self.close_connection = True  # in the middle of a chunked body

    def stall(self) -> None:
        state = self.server.state
        state.stalled.set()
        # Readable means: the client has closed. Nothing else comes on this connection.
        if select.select([self.connection], [], [], 10)[0]:
            state.left.set()
        self.close_connection = True


@contextmanager
def openai_server() -> Iterator[OpenAIServer]:
    """Run a server on the loopback for as long as the block lasts."""
    state = OpenAIServer()
    server = _Server(state)
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
