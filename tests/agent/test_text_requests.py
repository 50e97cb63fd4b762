"""Text requests: as they are written, as they are asked, and what is made of an answer."""

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, TypeAdapter

import interlock.agent as il
import interlock.statechart as sc
from interlock.errors import (
    DefinitionError,
    ErrorInfo,
    ExecutorError,
    HandlerError,
    InputError,
    InvalidMessagesError,
    InvalidMoveError,
    InvalidOutputError,
    RefusedError,
    TruncatedError,
)


class Letter(BaseModel, frozen=True):
    text: str
    urgent: bool = False


class Reply(BaseModel, frozen=True):
    subject: str
    lines: tuple[str, ...] = ()


class Case(BaseModel, frozen=True):
    letter: str = "Where is my parcel?"
    reply: str = ""
    lines: tuple[str, ...] = ()
    history: tuple[il.AgentMessage, ...] = ()
    problem: str = ""


ORDINARY = Case()


def search(query: str) -> str:
    """Look something up."""
    return query


def fetch(url: str) -> str:
    """Read a page."""
    return url


agent = il.setup_agent(context=Case, events=[], tools={"search": search, "fetch": fetch})

draft = il.text_request(
    "draft",
    input=Letter,
    model="quick",
    system=lambda letter: "Hurry." if letter.urgent else None,
    prompt=lambda letter: f"Answer: {letter.text}",
)

sort = il.text_request("sort", input=Letter, output=Reply, model="quick", prompt=lambda letter: letter.text)


def machine(invoke: sc.Invoke, context: Case = ORDINARY) -> sc.Machine[Case, None, object]:
    return agent.machine(
        "mail",
        context=context,
        initial="writing",
        states={"writing": agent.state(invoke=invoke), "done": agent.final(), "failed": agent.final()},
    )


def owed(made: sc.Machine[Case, None, object]) -> sc.OwedInvocation:
    (found,) = sc.owed(sc.initial_transition(made)[0]).invocations
    return found


def task(invoke: sc.Invoke, context: Case = ORDINARY) -> il.TextTask:
    return il.text_task(owed(machine(invoke, context)))


LETTER = {"text": "Where is my parcel?", "urgent": False}


def ask_draft(**fields: Any) -> sc.Invoke:
    return agent.ask(draft, input=lambda case: Letter(text=case.letter), **fields)


# -- as they are written -----------------------------------------------------------------------------------------------


def test_every_field_may_be_a_function_of_the_input():
    made = il.text_request(
        "all",
        input=Letter,
        output=Reply,
        model=lambda letter: f"m{len(letter.text)}",
        system=lambda letter: letter.text,
        messages=lambda letter: [il.user_message(letter.text), {"role": "assistant", "content": "b"}],
        tools=lambda letter: [search] if letter.urgent else [],
        tool_choice=lambda letter: "search",
        max_steps=lambda letter: 3,
        include_reasoning=lambda letter: True,
        temperature=lambda letter: 0.5,
        max_output_tokens=lambda letter: 10,
        top_p=lambda letter: 0.5,
        top_k=lambda letter: 3,
        seed=lambda letter: 4,
        stop_sequences=lambda letter: ["END"],
        metadata=lambda letter: {"urgent": letter.urgent},
        mode="stream",
    )
    request = made.request(Letter(text="abc", urgent=True))
    assert (request.id, request.name, request.src, request.mode) == ("all", "all", "agent.stream_text", "stream")
    assert (request.model, request.system, request.prompt) == ("m3", "abc", None)
    assert request.messages == (il.user_message("abc"), il.assistant_message("b"))
    assert [tool.name for tool in request.tools] == ["search"]
    assert (request.tool_choice, request.max_steps, request.steps_remaining) == ("search", 3, 3)
    assert request.include_reasoning
    assert (request.temperature, request.max_output_tokens, request.top_p) == (0.5, 10, 0.5)
    assert (request.top_k, request.seed, request.stop_sequences) == (3, 4, ("END",))
    assert request.metadata == {"urgent": True}
    assert request.output_schema is not None
    assert set(request.output_schema["properties"]) == {"subject", "lines"}


def test_a_request_is_plain_data():
    request = task(ask_draft()).request.with_turns(
        (il.assistant_message([il.FilePart(data=b"\xff", media_type="a/b")]),), steps_remaining=7
    )
    written = json.loads(json.dumps(request.to_json()))
    assert il.TextRequest.from_json(written) == request
    assert written["turns"][0]["content"][0]["mediaType"] == "a/b"
    whole = il.text_request("x", output=Reply, model="m", prompt="p", tools=[search], metadata={"a": [1]}).request()
    again = il.TextRequest.from_json(json.loads(json.dumps(whole.to_json())))
    assert again.to_json() == whole.to_json()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"id": 3}, InputError, "id: "),
        ({"mode": "sing"}, InputError, "mode: "),
        ({"tools": [{"name": "x"}]}, InputError, "tools.0.description"),
        ({"messages": [{"role": "x"}]}, InvalidMessagesError, "role 'x'"),
        ({"turns": 3}, InvalidMessagesError, "needs a list"),
    ],
)
def test_other_data_is_no_request(change: dict[str, object], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        il.TextRequest.from_json({**draft.request(Letter(text="x")).to_json(), **change})


def test_what_is_sent_is_the_words_and_then_the_turns():
    request = draft.request(Letter(text="x", urgent=True)).with_turns((il.assistant_message("y"),), steps_remaining=7)
    assert il.request_messages(request) == (
        il.system_message("Hurry."),
        il.user_message("Answer: x"),
        il.assistant_message("y"),
    )
    told = il.text_request("t", model="m", messages=[il.user_message("a")]).request()
    assert il.request_messages(told) == (il.user_message("a"),)


def test_reasoning_is_for_structured_answers():
    assert not il.text_request("t", model="m", prompt="p", include_reasoning=True).request().include_reasoning


def test_text_may_be_asked_for_by_its_type():
    assert il.text_request("t", output=str, model="m", prompt="p").request().output_schema is None


WRONG: list[tuple[str, Any, str, str]] = [
    ("no question", lambda: il.text_request("t", model="m"), "invalid-request", "text request 't': neither prompt"),
    ("an empty prompt", lambda: il.text_request("t", model="m", prompt=""), "invalid-request", "neither prompt"),
    ("no messages", lambda: il.text_request("t", model="m", messages=[]), "invalid-request", "neither prompt"),
    (
        "two questions",
        lambda: il.text_request("t", model="m", prompt="x", messages=lambda _: []),
        "invalid-request",
        "text request 't': prompt and messages say the same",
    ),
    ("no name", lambda: il.text_request("", model="m", prompt="x"), "invalid-request", "give it a name"),
    ("no model", lambda: il.text_request("t", model=3, prompt="x"), "invalid-request", "model: .*given: 3"),
    ("a mode", lambda: il.text_request("t", model="m", prompt="x", mode="sing"), "invalid-request", "mode='sing'"),
    ("no steps", lambda: il.text_request("t", model="m", prompt="x", max_steps=0), "invalid-request", "max_steps: "),
    ("a slip", lambda: il.text_request("t", model="m", promt="x", prompt="x"), "unknown-keyword", "promt"),
    (
        "no messages at all",
        lambda: il.text_request("t", model="m", messages=[{"role": "usr", "content": "x"}]),
        "invalid-request",
        r"\[0\]: there is no role 'usr'",
    ),
    ("no type", lambda: il.text_request("t", output=3, model="m", prompt="x"), "invalid-type", "output=3 is no type"),
    (
        "a tool nobody has",
        lambda: agent.ask(il.text_request("t", model="m", prompt="x", tools=["serch"])),
        "unknown-tool",
        "the request 't': setup_agent.* no tool 'serch'. Did you mean 'search'",
    ),
    (
        "a choice of no tool",
        lambda: agent.ask(il.text_request("t", model="m", prompt="x", tools=["search"], tool_choice="fetch")),
        "unknown-tool",
        "tool_choice 'fetch', but no tool",
    ),
    (
        "a required tool of none",
        lambda: agent.generate_text(model="m", prompt="x", tool_choice="required"),
        "unknown-tool",
        "has no tools",
    ),
    ("no request", lambda: agent.ask("draft"), "invalid-request", "give what text_request"),
    (
        "an input too many",
        lambda: agent.ask(il.text_request("t", model="m", prompt="x"), input="y"),
        "invalid-request",
        "'t' takes no input",
    ),
    ("no input", lambda: agent.ask(draft), "invalid-request", "'draft': it needs an input, and none"),
    ("another input", lambda: agent.ask(draft, input={"txt": "x"}), "invalid-request", "text: Field required"),
    ("an inline slip", lambda: agent.generate_text(promt="x"), "unknown-keyword", "Did you mean 'prompt'"),
    ("nothing inline", lambda: agent.generate_text(model="m"), "invalid-request", "'agent.generate_text': neither"),
    (
        "a handler of too little",
        lambda: agent.ask(il.text_request("t", model="m", prompt="x"), on_done=lambda case: None),
        "invalid-handler",
        "ask.*'t'.*on_done",
    ),
]


@pytest.mark.parametrize(("build", "code", "message"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_mistake_is_said_when_it_is_written(build: Any, code: str, message: str):
    with pytest.raises(DefinitionError, match=message) as caught:
        build()
    assert caught.value.code == code


# -- as they are asked -------------------------------------------------------------------------------------------------


def test_a_request_is_asked_from_the_state_that_makes_it():
    found = task(ask_draft())
    assert (found.request.id, found.request.name) == ("0.mail.writing#1", "draft")
    assert found.request.prompt == "Answer: Where is my parcel?"
    assert (found.tools, found.ledger.turns, found.definition) == ({}, (), draft)


@pytest.mark.parametrize(
    ("word", "src"), [("generate_text", "agent.generate_text"), ("stream_text", "agent.stream_text")]
)
def test_inline_words_are_functions_of_the_context(word: str, src: str):
    invoke = getattr(agent, word)(
        model="m",
        prompt=lambda case: case.letter,
        tools=lambda case: ["search", fetch],
        id="write",
        metadata={"a": 1},
    )
    found = task(invoke, Case(letter="Hello"))
    assert (found.request.src, found.request.name, found.request.prompt) == (src, "write", "Hello")
    assert list(found.tools) == ["search", "fetch"]
    assert found.tools["search"].function is search


def test_a_transcript_in_the_context_can_be_gone_on_with():
    history = (il.user_message([il.ImagePart(image=b"\xff")]), il.assistant_message("A cat."))
    found = task(agent.generate_text(model="m", messages=lambda case: case.history), Case(history=history))
    assert found.request.messages == history


@pytest.mark.parametrize(
    ("invoke", "error", "message"),
    [
        (
            agent.generate_text(model="m", prompt=lambda case: str(1 // 0), name="sum"),
            HandlerError,
            r"machine 'mail', state 'mail.writing': prompt= of the request 'sum', .*lambda.* raised ZeroDivision",
        ),
        (
            agent.generate_text(model="m", prompt=lambda case: 3, name="sum"),
            InvalidMoveError,
            "prompt= of the request 'sum', .*returned prompt: .*given: 3",
        ),
        (
            agent.generate_text(model="m", prompt=lambda case: "", name="sum"),
            InvalidMoveError,
            "prompt= of the request 'sum', .*returned nothing",
        ),
        (
            agent.generate_text(model="m", prompt="x", tools=lambda case: ["serch"]),
            InvalidMoveError,
            "tools= of .* no tool 'serch'. Did you mean",
        ),
        (
            agent.generate_text(model="m", prompt="x", tool_choice=lambda case: "fetch", tools=["search"]),
            InvalidMoveError,
            "tool_choice= of .* tool_choice 'fetch'",
        ),
        (
            agent.ask(draft, input=lambda case: {"txt": case.letter}),
            InputError,
            "request 'draft': the input .* does not fit: text: Field required",
        ),
    ],
)
def test_what_fails_when_it_is_asked_is_named(invoke: sc.Invoke, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        task(invoke)


def test_outside_a_machine_what_a_function_raises_is_passed_on():
    with pytest.raises(ZeroDivisionError):
        il.text_request("t", input=int, model="m", prompt=lambda n: str(1 // n)).request(0)
    with pytest.raises(InputError, match="needs an input"):
        draft.request()


def test_an_executor_may_be_bound_to_a_request():
    def write(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        return il.TextResult("x")

    assert draft.with_executor(write).executor is write
    assert draft.executor is None


# -- what is made of an answer -----------------------------------------------------------------------------------------

REQUEST = draft.request(Letter(text="x"))
STRUCTURED = sort.request(Letter(text="x"))


def test_a_text_reaches_the_handler_as_it_is():
    made = machine(ask_draft(on_done=lambda case, text: agent.goto("done", reply=text)))
    snapshot = sc.initial_transition(made)[0]
    (work,) = sc.owed(snapshot).invocations
    output = il.final_output(draft, REQUEST, il.TextResult("Soon."))
    after = sc.transition(made, snapshot, sc.Input.done(work.key, output))[0]
    assert (after.value, after.context.reply) == ("done", "Soon.")


def test_a_structured_answer_reaches_the_handler_as_its_type():
    made = machine(
        agent.ask(
            sort,
            input=lambda case: Letter(text=case.letter),
            on_done=lambda case, reply: agent.goto("done", reply=reply.subject, lines=reply.lines),
        )
    )
    snapshot = sc.initial_transition(made)[0]
    (work,) = sc.owed(snapshot).invocations
    output = il.final_output(sort, STRUCTURED, il.TextResult({"subject": "s", "lines": ["a"]}))
    assert output == {"subject": "s", "lines": ("a",)}
    after = sc.transition(made, snapshot, sc.Input.done(work.key, output))[0]
    assert (after.context.reply, after.context.lines) == ("s", ("a",))


def test_a_failure_goes_to_on_error():
    made = machine(ask_draft(on_error=lambda case, error: agent.goto("failed", problem=error.code)))
    snapshot = sc.initial_transition(made)[0]
    (work,) = sc.owed(snapshot).invocations
    error = TruncatedError("cut off", request="draft", request_id=work.identity)
    after = sc.transition(made, snapshot, sc.Input.failed(work.key, ErrorInfo.of(error)))[0]
    assert (after.value, after.context.problem) == ("failed", "truncated")


@pytest.mark.parametrize(
    ("kind", "output", "written"),
    [
        (Reply, {"subject": "s"}, {"subject": "s", "lines": ()}),
        (Reply, Reply(subject="s"), {"subject": "s", "lines": ()}),
        (int, 3, 3),
        (TypeAdapter(Literal["a", "b"]), "a", "a"),
        (TypeAdapter(list[Reply]), [{"subject": "s"}], ({"subject": "s", "lines": ()},)),
        (TypeAdapter(int | None), None, None),
        (str, "", ""),
        (str, "half \ud800", "half ?"),
    ],
)
def test_an_answer_is_checked_and_written_as_json(kind: Any, output: object, written: object):
    made = il.text_request("t", output=kind, model="m", prompt="x")
    assert il.final_output(made, made.request(), il.TextResult(output)) == written


@pytest.mark.parametrize(
    ("made", "result", "error", "message"),
    [
        (
            sort,
            il.TextResult({"lines": []}),
            InvalidOutputError,
            "text request 'sort' .sort.: .*subject: Field required",
        ),
        (sort, il.TextResult('{"subject": "s"}'), InvalidOutputError, "does not fit"),
        (sort, il.TextResult(None), InvalidOutputError, "does not fit"),
        (sort, il.TextResult({"subject": float("nan")}), InvalidOutputError, "does not fit"),
        (sort, il.TextResult({"subject": "s"}, finish_reason="length"), TruncatedError, "cut off at the token limit"),
        (draft, il.TextResult("", finish_reason="length"), TruncatedError, "cut off"),
        (draft, il.TextResult(None), ExecutorError, "neither output nor tool_calls"),
        (draft, il.TextResult(3), ExecutorError, "the output 3; give the text"),
    ],
)
def test_what_is_no_answer_is_a_failure_of_its_own(made: Any, result: il.TextResult, error: Any, message: str):
    with pytest.raises(error, match=message):
        il.final_output(made, made.request(Letter(text="x")), result)


def test_a_text_that_was_cut_off_is_still_a_text():
    assert il.final_output(draft, REQUEST, il.TextResult("Once upon", finish_reason="length")) == "Once upon"


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (il.TextResult("I can", finish_reason="content-filter"), RefusedError),
        (il.TextResult(tool_calls=(il.ToolCall("1", "search", {}),), finish_reason="length"), TruncatedError),
    ],
)
def test_a_turn_that_was_held_back_or_cut_off_is_not_kept(result: il.TextResult, error: Any):
    with pytest.raises(error) as caught:
        il.turn_record(REQUEST, result)
    assert (caught.value.request, caught.value.request_id) == ("draft", "draft")
    assert caught.value.partial_output == result.output


@pytest.mark.parametrize("answer", ["text", None, {"output": "x"}, 3, il.Choice({"type": "x"})])
@pytest.mark.parametrize("mode", ["generate", "stream"])
def test_a_bare_value_is_refused_with_what_to_do(answer: object, mode: Any):
    request = il.text_request("t", model="m", prompt="x", mode=mode).request()
    with pytest.raises(ExecutorError, match=rf"request 't': the {mode}_text executor returned .*TextResult\(output="):
        il.checked_result(request, answer)
    assert il.checked_result(request, il.TextResult("x")) == il.TextResult("x")


# -- turns -------------------------------------------------------------------------------------------------------------

CALL = il.ToolCall("1", "search", {"query": "x"})


def test_a_task_goes_on_where_its_records_end():
    first = task(agent.generate_text(model="m", prompt="x", tools=["search"], max_steps=3))
    turn = il.turn_record(first.request, il.TextResult("Let me see.", (CALL,), usage=il.Usage(input_tokens=3)))
    later = first.after([turn.to_json()])
    assert later.ledger.pending == (CALL,)
    assert later.ledger.turns[0].usage == il.Usage(input_tokens=3)
    answered = first.after([turn.to_json(), il.answer_record(CALL, il.TextOutput(value="found")).to_json()])
    assert answered.ledger.pending == ()
    assert (answered.request.steps_remaining, answered.request.max_steps) == (2, 3)
    assert answered.request.turns == (
        il.assistant_message(
            [
                il.TextPart(text="Let me see."),
                il.ToolCallPart(tool_call_id="1", tool_name="search", input={"query": "x"}),
            ]
        ),
        il.tool_message([il.ToolResultPart(tool_call_id="1", tool_name="search", output=il.TextOutput(value="found"))]),
    )


def test_records_on_the_invocation_are_read():
    made = machine(agent.generate_text(model="m", prompt="x", tools=["search"]))
    snapshot = sc.initial_transition(made)[0]
    (work,) = sc.owed(snapshot).invocations
    record = il.turn_record(il.text_task(work).request, il.TextResult(tool_calls=(CALL,))).to_json()
    kept = sc.transition(made, snapshot, sc.Input(invocation=work.key, record=record))[0]
    (again,) = sc.owed(made.load(kept.to_json())).invocations
    assert il.text_task(again).ledger.pending == (CALL,)


@pytest.mark.parametrize("record", [3, None, {}, {"kind": "attempt"}, {"kind": "turn"}, {"kind": "answer", "call": 3}])
def test_other_records_are_refused(record: object):
    with pytest.raises(InputError, match="record 0"):
        il.read_ledger([record])


def test_the_last_turn_answers_or_fails():
    error = il.step_limit(REQUEST, [CALL, CALL])
    assert error.code == "max-steps"
    assert "after 8 turns the model still calls tools (search)" in str(error)


def test_an_executor_with_a_loop_of_its_own_gives_its_messages():
    messages = (
        il.assistant_message([il.ToolCallPart(tool_call_id="1", tool_name="search", input={})]),
        il.tool_message([il.ToolResultPart(tool_call_id="1", tool_name="search", output=il.TextOutput(value="x"))]),
        il.assistant_message("Done."),
    )
    record = il.turn_record(REQUEST, il.TextResult("Done.", messages=messages))
    assert record.messages == messages
    assert il.read_ledger([record.to_json()]).messages() == messages


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (il.TextResult("x", messages=(il.user_message("x"),)), "role 'user'"),
        (
            il.TextResult(
                "x", messages=(il.assistant_message([il.ToolCallPart(tool_call_id="1", tool_name="t", input=0)]),)
            ),
            r"open calls \['1'\], but tool_calls has \[\]",
        ),
        (
            il.TextResult("x", (CALL,), messages=(il.assistant_message("x"),)),
            r"open calls \[\], but tool_calls has \['1'\]",
        ),
        (
            il.TextResult(
                "x",
                messages=(
                    il.tool_message(
                        [il.ToolResultPart(tool_call_id="9", tool_name="t", output=il.TextOutput(value=""))]
                    ),
                ),
            ),
            "result-without-call",
        ),
        (il.TextResult("x", messages=("x",)), "needs an object"),
        (il.TextResult("x", ({"id": "1"},)), "tool_calls holds"),
    ],
)
def test_messages_that_do_not_say_what_the_result_says_are_refused(result: il.TextResult, message: str):
    with pytest.raises(ExecutorError, match=message):
        il.turn_record(REQUEST, result)


def test_ids_that_were_used_before_are_replaced_in_an_executors_own_messages_too():
    request = REQUEST.with_turns(
        il.read_ledger([il.turn_record(REQUEST, il.TextResult(tool_calls=(CALL,))).to_json()]).messages(),
        steps_remaining=7,
    )
    messages = (il.assistant_message([il.ToolCallPart(tool_call_id="1", tool_name="search", input={})]),)
    record = il.turn_record(request, il.TextResult(tool_calls=(CALL,), messages=messages))
    assert [call.id for call in record.calls] == ["1~2"]
    assert record.messages[0].content[0].tool_call_id == "1~2"


def test_what_is_no_json_reaches_no_tool():
    record = il.turn_record(REQUEST, il.TextResult(tool_calls=(il.ToolCall("1", "search", {"query": {1}}),)))
    bound = il.bound_call(record.calls[0], {"search": il.tool(search)})
    assert isinstance(bound, il.ErrorTextOutput)
    assert "search needs an object of arguments" in bound.value
