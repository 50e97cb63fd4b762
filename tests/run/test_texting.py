"""Text requests: one table of cases, run whole and in pieces, with equal results."""

import json
from typing import Any

import pytest

import interlock as il
from tests.run.writing import Letter, add, calls, executors, look_up, scripted, writer

TOOLS = {"tools": [look_up, add]}
USAGE = il.Usage(input_tokens=10, output_tokens=2, reasoning_tokens=1, cached_input_tokens=4)


def done(output: Any, **more: Any) -> il.TextResult:
    return il.TextResult(output=output, finish_reason="stop", usage=USAGE, **more)


def answers(request: il.TextRequest) -> list[Any]:
    """What the tools have answered so far, as the model is told it."""
    return [
        (part.tool_name, part.output.value)
        for message in request.turns
        if message.role == "tool"
        for part in message.content
    ]


def failed(code: str, *words: str) -> Any:
    return ("failed", code, words)


CASES: dict[str, tuple[dict[str, Any], list[Any], Any]] = {
    "text": ({}, [done("It rains.")], "It rains."),
    "empty text": ({}, [done("")], ""),
    "text cut off": ({}, [il.TextResult(output="It ra", finish_reason="length")], "It ra"),
    "nothing": ({}, [il.TextResult()], failed("invalid-executor-result", "neither output nor tool_calls")),
    "a number for a text": ({}, [done(7)], failed("invalid-executor-result", "output 7")),
    "structured": (
        {"output": Letter},
        [done({"subject": "x", "lines": ["a"]})],
        {"subject": "x", "lines": ("a",)},
    ),
    "structured, defaults filled in": ({"output": Letter}, [done({"subject": "x"})], {"subject": "x", "lines": ()}),
    "structured, a model instance": ({"output": Letter}, [done(Letter(subject="x"))], {"subject": "x", "lines": ()}),
    "structured, does not fit": (
        {"output": Letter},
        [done({"lines": []})],
        failed("invalid-output", "draft", "subject"),
    ),
    "structured, cut off": (
        {"output": Letter},
        [il.TextResult(output={"subject": "x"}, finish_reason="length")],
        failed("truncated", "draft", "token limit"),
    ),
    "refused": ({}, [il.TextResult(finish_reason="content-filter")], failed("refused", "draft")),
    "the executor raises": ({}, [TimeoutError("slow")], failed("raised", "slow")),
    "a bare value": ({}, ["It rains."], failed("invalid-executor-result", "TextResult(output=")),
    "a mapping": ({}, [{"output": "x"}], failed("invalid-executor-result", "TextResult(output=")),
    "a tool": (
        TOOLS,
        [calls("look_up", word="rain"), lambda r: done(f"{answers(r)}")],
        "[('look_up', 'rain: a thing')]",
    ),
    "two tools in one turn, in call order": (
        TOOLS,
        [calls("add", "look_up", "add", word="w", a=1), lambda r: done(json.dumps([name for name, _ in answers(r)]))],
        '["add", "look_up", "add"]',
    ),
    "tools, structured": (
        {**TOOLS, "output": Letter},
        [calls("add", a=1), calls("add", a=2), lambda r: done({"subject": str(answers(r))})],
        {"subject": "[('add', 2), ('add', 3)]", "lines": ()},
    ),
    "an unknown tool": (
        TOOLS,
        [calls("look_upp"), lambda r: done(answers(r)[0][1])],
        "there is no tool 'look_upp'. Did you mean 'look_up'?",
    ),
    "arguments that do not fit": (
        TOOLS,
        [calls("add", a="many"), lambda r: done(answers(r)[0][1][:20])],
        "add was not called: ",
    ),
    "a tool that raises": (
        TOOLS,
        [calls("look_up", word="missing"), lambda r: done(answers(r)[0][1])],
        "KeyError: 'missing'",
    ),
    "text beside tool calls": (
        TOOLS,
        [
            il.TextResult(output="Let me see.", tool_calls=(il.ToolCall("c", "add", {"a": 1}),)),
            lambda r: done(r.turns[0].content[0].text),
        ],
        "Let me see.",
    ),
    "the last step calls tools": (
        {**TOOLS, "max_steps": 2},
        [calls("add", a=1), calls("add", a=1)],
        failed("max-steps", "draft", "2 turns", "(add)"),
    ),
    "one step only": ({**TOOLS, "max_steps": 1}, [calls("add", a=1)], failed("max-steps", "1 turn ")),
    "cut off in a tool call": (
        TOOLS,
        [il.TextResult(tool_calls=(il.ToolCall("c", "add", {}),), finish_reason="length")],
        failed("truncated", "tool call"),
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_whole_and_in_pieces(name: str):
    fields, turns, expected = CASES[name]
    results: list[Any] = []
    for mode in ("generate", "stream"):
        requests: list[il.TextRequest] = []
        play = scripted(*turns, seen=requests)
        records: list[Any] = []
        result = await il.run_agent(
            writer(mode, **fields),
            executors=executors(mode, play),
            execution_id="x",
            on_event=lambda entry, records=records: records.append(entry.input and entry.input.record),
        )
        assert isinstance(result, il.Done), result
        results.append((result.output, result.usage, [request.turns for request in requests], records))
        assert all(il.TextRequest.from_json(request.to_json()) == request for request in requests)
        assert result.usage.model_calls == len(turns)
    output = results[0][0]
    assert [result[1:] for result in results] == [results[0][1:]] * 2
    if isinstance(expected, tuple) and expected and expected[0] == "failed":
        for result in results:
            assert result[0]["failed"] == expected[1], result[0]
            said = result[0]["said"].replace("stream_text", "generate_text").replace("yield as the last item", "return")
            assert all(word in said for word in expected[2]), said
    else:
        assert output == expected
        assert results[1][0] == expected


@pytest.mark.parametrize("mode", ["generate", "stream"])
async def test_usage_is_added_up_over_turns(mode: str):
    play = scripted(il.TextResult(tool_calls=(il.ToolCall("c", "add", {"a": 1}),), usage=USAGE), done("x"))
    result = await il.run_agent(writer(mode, **TOOLS), executors=executors(mode, play))
    assert result.usage == il.RunUsage(
        model_calls=2, input_tokens=20, output_tokens=4, reasoning_tokens=2, cached_input_tokens=8
    )


@pytest.mark.parametrize("mode", ["generate", "stream"])
async def test_each_turn_has_a_key_of_its_own(mode: str):
    infos: list[il.ExecutorInfo] = []
    play = scripted(calls("add", "add", a=1), calls("add", a=2), done("x"))

    async def asked(request: il.TextRequest, info: il.ExecutorInfo) -> Any:
        infos.append(info)
        return await play(request, info)

    await il.run_agent(writer(mode, **TOOLS), executors=executors(mode, asked), execution_id="run")
    identity = infos[0].request_id
    # A turn and its answers are a record each.
    assert [info.call_key for info in infos] == [f"run:{identity}.{n}" for n in (0, 3, 5)]
    assert [info.attempt for info in infos] == [1, 2, 3]


@pytest.mark.parametrize("mode", ["generate", "stream"])
async def test_the_turn_is_kept_before_its_tools_run(mode: str):
    seen: list[Any] = []
    states: list[il.Snapshot[Any]] = []

    def note(a: int) -> int:
        """Note how far the records are."""
        seen.append([record["kind"] for record in next(iter(states[-1].children.values())).records])
        return a

    play = scripted(calls("note", "note", a=1), done("x"))
    await il.run_agent(
        writer(mode, tools=[note]), executors=executors(mode, play), on_transition=lambda s, _: states.append(s)
    )
    assert seen == [["turn"], ["turn", "answer"]]


@pytest.mark.parametrize("mode", ["generate", "stream"])
async def test_taken_up_at_any_record_it_goes_on_from_there(mode: str):
    """Whatever was answered is asked no more: neither the model nor a tool."""

    def world() -> tuple[il.Machine[Any, Any, Any], il.Executors, list[str], list[str]]:
        asked: list[str] = []
        ran: list[str] = []

        def note(a: int) -> int:
            """Note it."""
            ran.append(f"note {a}")
            return a * 10

        async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
            turn = info.attempt
            asked.append(info.call_key)
            if turn < 3:
                two = [il.ToolCall(f"{turn}-{n}", "note", {"a": turn * 2 + n}) for n in range(2)]
                return il.TextResult(tool_calls=tuple(two))
            return il.TextResult(output=str(answers(request)))

        return writer(mode, tools=[note]), executors(mode, play), asked, ran

    saves: list[str] = []
    machine, execute, asked, ran = world()
    whole = await il.run_agent(
        machine, executors=execute, execution_id="e", on_transition=lambda s, _: saves.append(s.to_json())
    )
    assert isinstance(whole, il.Done)
    assert len(saves) == 8  # the start, two turns of two answers each, the end
    for number, saved in enumerate(saves[:-1]):
        machine, execute, asked_again, ran_again = world()
        result = await il.run_agent(machine, executors=execute, execution_id="e", snapshot=saved)
        assert isinstance(result, il.Done)
        assert result.output == whole.output
        turns, tools = {0: (0, 0), 1: (1, 0), 2: (1, 1), 3: (1, 2), 4: (2, 2), 5: (2, 3), 6: (2, 4)}[number]
        assert asked_again == asked[turns:]
        assert ran_again == ran[tools:]


async def test_the_budget_counts_turns():
    machine = writer("generate", **TOOLS)
    play = scripted(*[calls("add", a=1)] * 9)
    result = await il.run_agent(machine, executors=executors("generate", play), max_model_calls=2)
    assert isinstance(result, il.Done)
    assert result.output["failed"] == "max-model-calls"
    assert result.usage.model_calls == 2
    machine = writer("generate", on_error=False, **TOOLS)
    result = await il.run_agent(machine, executors=executors("generate", play), max_model_calls=2)
    assert isinstance(result, il.Failed)
    assert result.cause == "max-model-calls"


async def test_a_request_may_have_an_executor_of_its_own():
    agent = il.setup_agent(events=[])
    asked: list[str] = []

    def own(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        asked.append(request.name or "")
        return il.TextResult(output="mine")

    request = il.text_request("own", model="quick", prompt="?").with_executor(own)
    machine = agent.machine(
        "m",
        initial="a",
        states={"a": agent.state(invoke=agent.ask(request, on_done="b")), "b": agent.final()},
    )
    assert isinstance(await il.run_agent(machine), il.Done)
    assert asked == ["own"]


async def test_a_failure_says_where():
    play = scripted(calls("add", a=1), TimeoutError("slow"))
    result = await il.run_agent(writer("generate", on_error=False, **TOOLS), executors=executors("generate", play))
    assert isinstance(result, il.Failed)
    assert isinstance(result.exception, TimeoutError)
    origin = result.origin
    assert origin is not None
    assert (origin.machine, origin.state, origin.name, origin.attempt) == ("writer", "writer.writing", "draft", 2)
    assert result.exception.__notes__ == [f"in {origin}"]
    assert "machine 'writer', state 'writer.writing', request '0.writer.writing#" in str(origin)


@pytest.mark.parametrize("mode", ["generate", "stream"])
async def test_what_the_model_did_say_is_there_for_the_log(mode: str):
    play = scripted(il.TextResult(output="So I think", finish_reason="content-filter"))
    result = await il.run_agent(writer(mode, on_error=False), executors=executors(mode, play))
    assert isinstance(result, il.Failed)
    assert result.error.data == {"request": "draft", "partial_output": "So I think"}


async def test_texts_of_several_regions_are_asked_for_together():
    agent = il.setup_agent(events=[])
    waiting: list[str] = []
    import anyio

    both = anyio.Event()

    async def play(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        waiting.append(request.name or "")
        if len(waiting) == 2:
            both.set()
        await both.wait()
        return il.TextResult(output=request.name)

    def region(name: str) -> Any:
        return agent.state(
            initial="write",
            states={
                "write": agent.state(invoke=agent.generate_text(name=name, model="m", prompt="?", on_done="over")),
                "over": agent.end(),
            },
        )

    machine = agent.machine("pair", kind="parallel", states={"a": region("a"), "b": region("b")})
    assert isinstance(await il.run_agent(machine, executors=il.Executors(generate_text=play)), il.Done)
    assert waiting == ["a", "b"]


async def test_a_failure_in_a_child_machine_says_where():
    agent = il.setup_agent(events=[])
    outer = agent.machine(
        "outer",
        initial="x",
        states={
            "x": agent.state(invoke=agent.child(writer("generate", on_error=False), on_done="y")),
            "y": agent.final(),
        },
    )
    result = await il.run_agent(outer, executors=il.ScriptedExecutors(text=[TimeoutError("slow")]))
    assert isinstance(result, il.Failed)
    assert isinstance(result.exception, TimeoutError)
    assert result.origin is not None
    assert result.origin.machine == "writer"
    assert result.origin.request_id.startswith("0.outer.x#")
