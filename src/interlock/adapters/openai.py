"""Models behind OpenAI's Chat Completions, at OpenAI itself or at any endpoint that speaks the same.

It stands on the official SDK (extra ``openai``). One executor call is one model turn and one call of the endpoint;
what is asked and what the answer means is worked out in ``interlock.adapters.lowering``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, final

import anyio

from interlock.adapters.lowering.arguments import cleaned
from interlock.adapters.lowering.chat import chat_messages
from interlock.adapters.lowering.completions import Assembly, Completion, read_completion
from interlock.adapters.lowering.decision_form import DecideBy, DecisionForm, decision_form
from interlock.adapters.lowering.events import EventLines, parsed_event
from interlock.adapters.lowering.failures import broken_off, no_answer, provider_error, reported
from interlock.adapters.lowering.text_form import TextForm, text_form
from interlock.agent.contract import Choice, ExecutorInfo, Executors, TextResult
from interlock.agent.model_refs import checked_models
from interlock.agent.rendering import render_decision_attempts, render_plan_trail
from interlock.agent.requests import DecisionRequest
from interlock.agent.text_requests import TextRequest, request_messages
from interlock.errors import BindError, MissingExtraError, ProviderError, UnsupportedRequestError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["ModelSettings", "openai_executors"]

ModelSettings: TypeAlias = "Mapping[str, object] | Callable[[TextRequest | DecisionRequest], Mapping[str, object]]"
"""Fields of the call's body that no request has, as ``{"reasoning_effort": "low"}``, or a function of the request."""

_NO_KEY = "unused"

_OURS = frozenset({"messages", "model", "stream", "n", "tools", "functions", "function_call", "response_format"})


def openai_executors(
    *,
    client: AsyncOpenAI | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    models: Mapping[str, str] | None = None,
    decide: DecideBy = "tools",
    strict: bool = True,
    settings: ModelSettings | None = None,
    limit_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens",
    timeout: float | None = None,
    max_retries: int | None = None,
) -> Executors:
    """Return executors for text, streams and decisions that ask an OpenAI-compatible endpoint.

    A request's ``model`` is looked up in ``models`` and is otherwise the id that is sent; at OpenAI's own endpoint a
    leading ``openai/`` is taken off. What the endpoint does not know is not sent (``top_k``, ``metadata``).

    A decision is a forced call of one of the offered events' tools, or an answer held to a JSON schema. Whatever
    comes back is judged by the machine all the same; several choices, or none, are an attempt, a refusal and an answer
    that was cut off are errors. A stream that ends before the provider has said why it stopped is an error as well.

    The executors keep no connection between calls, so they may be used from several event loops, one after the
    other or at once, and there is nothing to close. A ``client`` of your own is used as it is: it keeps connections,
    and belongs to one event loop and to you. The key stands in no message, log or repr of this library.

    Arguments:
        client: an ``openai.AsyncOpenAI``, instead of ``base_url``, ``api_key``, ``timeout`` and ``max_retries``.
        base_url: the endpoint, up to and with its ``/v1``; if not given, ``OPENAI_BASE_URL``, or OpenAI's own.
        api_key: the key. OpenAI's own endpoint falls back on ``OPENAI_API_KEY``; no other endpoint is sent that one.
        models: what the names in requests stand for, by name.
        decide: ``"tools"``, or ``"json"`` for endpoints that ignore a forced tool choice.
        strict: whether decoding is constrained (``strict`` schemas) as far as schemas can be said so. False for
            endpoints that do not know the word.
        settings: further fields of the body. What a request says itself wins. A field that is None is left out, which
            takes away what this adapter would send: ``{"parallel_tool_calls": None}`` for models that refuse it,
            ``{"tool_choice": "auto"}`` for those that refuse to be forced.
        limit_field: how the endpoint calls the limit of the answer; older ones know ``max_tokens`` only.
        timeout: seconds to wait for the connection, and for each next piece of the answer; if not given, 5 and 600.
        max_retries: how often the SDK itself repeats a call after 408, 409, 429, 5xx or a lost connection, if not
            given 2. It waits as ``Retry-After`` says up to a minute, and gives up at once beyond that. This is the
            only layer that repeats calls: the machine's retries are about choices, and a run counts one call for all.

    Raises:
        MissingExtraError: the SDK is not installed.
        BindError: arguments that contradict each other, or no key for OpenAI.
        DefinitionError: an alias in ``models`` that stands for nothing.
        UnsupportedRequestError: settings that hold what a request says, or are out of their range.
    """
    given = {"base_url": base_url, "api_key": api_key, "timeout": timeout, "max_retries": max_retries}
    _check_connection(base_url, timeout, max_retries)
    endpoint = _Endpoint(
        client=_client(client, {name: value for name, value in given.items() if value is not None}),
        models=checked_models(models),
        by=decide,
        strict=strict,
        settings=_checked_settings(settings),
        limit_field=limit_field,
    )
    return Executors(generate_text=endpoint.generate_text, stream_text=endpoint.stream_text, decide=endpoint.decide)


@final
class _Endpoint:
    """An endpoint and how it is spoken to. No dataclass: its repr would show what is inside."""

    __slots__ = ("_by", "_client", "_limit_field", "_models", "_settings", "_strict")

    def __init__(
        self,
        *,
        client: AsyncOpenAI,
        models: Mapping[str, str],
        by: DecideBy,
        strict: bool,
        settings: ModelSettings,
        limit_field: str,
    ) -> None:
        self._client = client
        self._models = models
        self._by: DecideBy = by
        self._strict = strict
        self._settings = settings
        self._limit_field = limit_field

    async def generate_text(self, request: TextRequest, _info: ExecutorInfo) -> TextResult:
        """Ask for one turn, and wait until it is whole."""
        form = text_form(request, strict=self._strict)
        return form.read(await self._ask(request, self._text_body(form)))

    async def stream_text(self, request: TextRequest, _info: ExecutorInfo) -> AsyncIterator[str | TextResult]:
        """Ask for one turn, and show its text as it comes; a structured answer has no text to show."""
        form = text_form(request, strict=self._strict)
        body = _without_none({"stream_options": {"include_usage": True}, **self._text_body(form)})
        assembly, events = Assembly(), EventLines()
        async with self._opened(request, body) as pieces:
            while not events.ended:
                try:
                    piece = await anext(pieces, None)
                except Exception as error:  # noqa: BLE001  # whatever the SDK and its transport raise
                    if assembly.finished:
                        break  # all that is missing is the end of the line
                    raise self._failure(request, error) from self._cause(error)
                for said in events.finish() if piece is None else events.feed(piece):
                    text = self._take(request, assembly, said)
                    if text and not form.structured:
                        yield text
                if piece is None:
                    break
        if not assembly.finished:
            raise broken_off(_place(request), events.stray or assembly.whole(), key=self._key)
        yield form.read(self._read(request, assembly.whole()))

    async def decide(self, request: DecisionRequest, _info: ExecutorInfo) -> Choice:
        """Ask for one choice among the offered events."""
        form = decision_form(request, by=self._by, strict=self._strict)
        return form.read(await self._ask(request, self._decision_body(form)))

    # -- what is sent --------------------------------------------------------------------------------------------------

    def _text_body(self, form: TextForm) -> dict[str, object]:
        request = form.request
        messages = chat_messages(request_messages(request), place=_place(request))
        return {"messages": messages, **self._host_settings(request), **form.fields, **self._own(request)}

    def _decision_body(self, form: DecisionForm) -> dict[str, object]:
        request = form.request
        said = (*request_messages(request), *render_plan_trail(request), *render_decision_attempts(request))
        messages = chat_messages(said, place=_place(request))
        # Here the host has the last word on how a model is forced: some refuse to be.
        return {"messages": messages, **form.fields, **self._host_settings(request), **self._own(request)}

    def _host_settings(self, request: TextRequest | DecisionRequest) -> Mapping[str, object]:
        settings = self._settings
        return _checked(settings(request), _place(request)) if callable(settings) else settings

    def _own(self, request: TextRequest | DecisionRequest) -> dict[str, object]:
        said = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": request.seed,
            "stop": list(request.stop_sequences) or None,
            self._limit_field: request.max_output_tokens,
        }
        return {"model": self._model(request), **_without_none(said)}

    def _model(self, request: TextRequest | DecisionRequest) -> str:
        if not request.model:
            raise UnsupportedRequestError(
                f"{_place(request)}: no model is named; give it a model=, as in model='gpt-5-mini'", code="no-model"
            )
        name = self._models.get(request.model, request.model)
        return name.removeprefix("openai/") if self._client.base_url.host == "api.openai.com" else name

    # -- how it is sent ------------------------------------------------------------------------------------------------

    async def _ask(self, request: TextRequest | DecisionRequest, body: Mapping[str, object]) -> Completion:
        create = cast("Callable[..., Awaitable[object]]", self._client.chat.completions.create)
        try:
            answer = await create(**_arguments(_without_none(body)))
        except Exception as error:  # noqa: BLE001  # whatever the SDK and its transport raise
            raise self._failure(request, error) from self._cause(error)
        return self._read(request, _plain(answer))

    @asynccontextmanager
    async def _opened(
        self, request: TextRequest | DecisionRequest, body: Mapping[str, object]
    ) -> AsyncGenerator[AsyncIterator[bytes], None]:
        # The bytes, not the SDK's own iterator: that leaves generators unfinished, which trio complains about.
        create: Any = self._client.chat.completions.with_streaming_response.create
        async with AsyncExitStack() as stack:
            try:
                response = await stack.enter_async_context(create(**_arguments(body), stream=True))
            except Exception as error:  # noqa: BLE001  # whatever the SDK and its transport raise
                raise self._failure(request, error) from self._cause(error)
            pieces: AsyncIterator[bytes] = response.iter_bytes()
            try:
                yield pieces
                await _finish(pieces, within=0.1)  # what comes after the end comes at once
            finally:
                await _finish(pieces, within=0)

    def _take(self, request: TextRequest, assembly: Assembly, said: str) -> str:
        """Add one event to the answer; return the text in it."""
        try:
            event = parsed_event(said)
        except ValueError as error:
            if assembly.finished:
                return ""
            raise self._failure(request, error) from self._cause(error)
        if event.get("error"):
            raise reported(_place(request), event["error"], key=self._key)
        return assembly.add(event)

    def _read(self, request: TextRequest | DecisionRequest, raw: Mapping[str, object]) -> Completion:
        completion = read_completion(raw)
        if completion is None:
            raise no_answer(_place(request), raw, key=self._key)
        return completion

    @property
    def _key(self) -> str:
        # What is too short to be one is no secret, and hiding it would tear words apart.
        key = str(self._client.api_key or "")
        return key if len(key) > len(_NO_KEY) else ""

    def _failure(self, request: TextRequest | DecisionRequest, error: Exception) -> ProviderError:
        return provider_error(_place(request), error, key=self._key)

    def _cause(self, error: Exception) -> Exception | None:
        # An endpoint may repeat the key in what it answers, and the SDK repeats what it answers.
        return None if self._key and self._key in str(error) else error


def _client(client: AsyncOpenAI | None, given: Mapping[str, object]) -> AsyncOpenAI:
    try:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient, OpenAIError
    except ImportError as error:
        raise MissingExtraError(
            "models behind OpenAI's interface need the package 'openai', which is not installed: "
            "pip install 'interlock[openai]'",
            package="openai",
            extra="openai",
        ) from error
    if client is not None:
        if given:
            raise BindError(f"openai_executors: client= brings its own {', '.join(given)}; give one or the other")
        if not isinstance(cast("object", client), AsyncOpenAI):
            raise BindError(f"openai_executors: client= is an openai.AsyncOpenAI, not a {type(client).__name__}")
        return client
    options: dict[str, Any] = {"max_retries": 2, **given}
    if "base_url" in given and "api_key" not in given:
        options["api_key"] = _NO_KEY  # local servers ask for none, and the environment's key is not for others
    try:
        return AsyncOpenAI(
            **options,
            # No connection outlives its call: it would belong to the event loop that it was opened on.
            default_headers={"Connection": "close"},
            http_client=DefaultAsyncHttpxClient(),  # the SDK's other one closes itself on whatever loop there is
        )
    except OpenAIError as error:
        raise BindError(
            "openai_executors: there is no key; give api_key= or set OPENAI_API_KEY. For an endpoint without keys give "
            "its base_url="
        ) from error


def _checked_settings(settings: ModelSettings | None) -> ModelSettings:
    if settings is None:
        return {}
    return settings if callable(settings) else _checked(settings, "openai_executors")


def _check_connection(base_url: str | None, timeout: float | None, max_retries: int | None) -> None:
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise UnsupportedRequestError(
            f"base_url={base_url!r} is no address; write http://... or https://..., up to and with /v1",
            code="invalid-setting",
        )
    if timeout is not None and not timeout > 0:
        raise UnsupportedRequestError(f"timeout={timeout!r}; give seconds, more than 0", code="invalid-setting")
    if max_retries is not None and (isinstance(max_retries, bool) or max_retries < 0):
        raise UnsupportedRequestError(
            f"max_retries={max_retries!r}; give a whole number of 0 or more", code="invalid-setting"
        )


def _checked(settings: object, place: str) -> Mapping[str, object]:
    if not isinstance(settings, Mapping):
        raise UnsupportedRequestError(
            f"{place}: settings are a mapping from fields to values, not a {type(settings).__name__}",
            code="invalid-setting",
        )
    fields = cast("Mapping[str, object]", settings)
    if wrong := sorted(_OURS & fields.keys()):
        raise UnsupportedRequestError(
            f"{place}: settings cannot hold {', '.join(wrong)}: that is what a request says", code="invalid-setting"
        )
    return fields


def _without_none(fields: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def _arguments(body: Mapping[str, object]) -> dict[str, Any]:
    # All but the two that the SDK insists on as the body's own fields: an endpoint may know more than this SDK does.
    rest = {name: value for name, value in body.items() if name not in ("model", "messages")}
    return {"model": body["model"], "messages": body["messages"], "extra_body": rest}


async def _finish(pieces: AsyncIterator[bytes], *, within: float) -> None:
    """Run to the end of what is left, for some seconds; then what runs inside ends too, and nothing stays half done."""
    with anyio.move_on_after(within):
        while await anext(pieces, None) is not None:
            pass


def _plain(answer: Any) -> Mapping[str, object]:  # noqa: ANN401  # the SDK's models, or text where an endpoint sent no JSON
    if hasattr(answer, "model_dump"):
        # Whatever the endpoint sent: the SDK does not insist on its own types, and so its models warn.
        answer = answer.model_dump(exclude_unset=True, warnings=False)
    plain = cleaned(answer)
    return cast("Mapping[str, object]", plain) if isinstance(plain, Mapping) else {"answer": str(plain)[:2_000]}


def _place(request: TextRequest | DecisionRequest) -> str:
    kind = "decision" if isinstance(request, DecisionRequest) else "text request"
    return f"{kind} {request.name or request.id!r}"
