"""Whole runs on the real SDK and a strict server: decisions, tools, structured answers, streams, failures."""

import pytest
from pydantic import BaseModel

import interlock as il
from interlock.agent import Event

from .openai_calls import executors
from .openai_server import Answer


class Report(BaseModel, frozen=True):
    city: str
    sky: str
    wind: int = 3


class Notes(BaseModel, frozen=True):
    asked: str = ""
    text: str = ""
    report: Report | None = None
    problem: str = ""


class Go(Event):
    """Begin."""


def weather(city: str, days: int = 1) -> str:
    """Look up the weather of a city."""
    return f"{city}: rain for {days} day(s)"


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


def writing(mode: str, **fields):
    agent = il.setup_agent(context=Notes, events=[Go], tools={"weather": weather})
    write = agent.generate_text if mode == "generate" else agent.stream_text

    def written(context, output):
        return agent.goto("done", **({"text": output} if isinstance(output, str) else {"report": output}))

    return agent.machine(
        "writer",
        context=Notes(),
        initial="writing",
        states={
            "writing": agent.state(
                invoke=write(
                    model="gpt-test",
                    prompt="How is the weather?",
                    on_done=written,
                    on_error=lambda context, error: agent.goto("done", problem=error.code),
                    **fields,
                )
            ),
            "done": agent.final(),
        },
    )


@pytest.fixture(params=["generate", "stream"])
def mode(request):
    return request.param


async def run(server, machine, **options) -> il.Done:
    result = await il.run_agent(machine, executors=executors(server), **options)
    assert isinstance(result, il.Done), result
    assert not server.refusals
    return result


async def test_a_run_calls_tools_until_it_has_its_structured_answer(server, mode):
    server.answers(
        Answer(text="Let me see.", calls=[("weather", '{"city": "Oslo", "days": null}')]),
        Answer(calls=[("weather", '{"city": 5}'), ("clock", "{}")]),
        Answer(text='{"result": {"city": "Oslo", "sky": "rain", "wind": null}}'),
    )
    result = await run(server, writing(mode, output=Report, tools=["weather"]))
    assert result.snapshot.context.report == Report(city="Oslo", sky="rain")
    assert result.usage.model_calls == 3
    assert result.usage.total_tokens == 54
    said = server.last["messages"]
    assert [message["role"] for message in said] == ["user", "assistant", "tool", "assistant", "tool", "tool"]
    assert said[2]["content"] == "Oslo: rain for 1 day(s)"
    assert "weather was not called" in said[4]["content"]


async def test_the_text_of_a_run_is_the_same_whole_and_streamed(server, mode):
    server.answers(Answer(text="It rains in Oslo."))
    shown = []
    result = await run(server, writing(mode), on_chunk=lambda chunk, request: shown.append(chunk))
    assert result.snapshot.context.text == "It rains in Oslo."
    assert "".join(shown) == ("It rains in Oslo." if mode == "stream" else "")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(refusal="No."), "refused"),
        (Answer(text=None, finish="content_filter"), "refused"),
        (Answer(calls=[("weather", '{"city": "Oslo"}')], finish="length"), "truncated"),
    ],
)
async def test_what_cannot_be_used_goes_to_on_error(server, mode, answer, code):
    server.answers(answer)
    result = await run(server, writing(mode, tools=["weather"]))
    assert result.snapshot.context.problem == code


async def test_a_stream_that_breaks_off_goes_to_on_error_and_no_tool_runs(server):
    server.answers(Answer(text="Let", calls=[("weather", '{"city": "Oslo"}')], fault="cut"))
    result = await run(server, writing("stream", tools=["weather"]))
    assert result.snapshot.context.problem == "incomplete-answer"
    assert len(server.requests) == 1


PAID = {
    "refused": (Answer(refusal="I will not."), "refused"),
    "filtered": (Answer(text="", finish="content_filter"), "refused"),
    "cut off": (Answer(text="", finish="length"), "truncated"),
}


@pytest.mark.parametrize("kind", ["decide", "generate_text", "stream_text"])
@pytest.mark.parametrize("why", list(PAID))
async def test_an_answer_that_is_of_no_use_is_paid_for_and_everybody_is_told(server, kind, why):
    answer, code = PAID[why]
    server.answers(answer)
    heard = []
    agent = il.setup_agent(context=Notes, events=[Go])
    invoke = {
        "decide": agent.decide,
        "generate_text": agent.generate_text,
        "stream_text": agent.stream_text,
    }[kind](model="gpt-test", prompt="?", on_error=lambda c, e: agent.goto("over", problem=e.code))
    machine = agent.machine(
        "paying",
        context=Notes(),
        initial="asking",
        on=[agent.on_usage(lambda c, usage: (heard.append(usage.tokens), agent.stay())[1])],
        states={"asking": agent.state(invoke=invoke, on=[agent.on(Go, "over")]), "over": agent.final()},
    )
    result = await il.run_agent(machine, executors=executors(server))
    assert isinstance(result, il.Done), result
    assert result.snapshot.context.problem == code
    usage = result.usage
    assert usage.model_calls == 1
    assert usage.input_tokens is not None
    assert heard[-1] == (usage.input_tokens or 0) + (usage.output_tokens or 0) > 0
    assert il.get_usage(result.entries) == usage

    server.answers(answer)
    step = il.initial_agent_step(machine, at=0.0)
    log = [*step.entries]
    step = await il.resolve_agent_requests(machine, step, executors(server))
    assert il.get_usage([*log, *step.entries]) == usage
