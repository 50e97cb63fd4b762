"""What an engine may hand to the loop that is none of its records, and calls that would end a process."""

import asyncio
import threading

import pytest

import interlock as il
from interlock.errors import InvalidLogError, ReplayDivergedError
from interlock.hosts import Woken

from .pocket import DiedError, Pocket
from .test_loop import ended, slow, writes

KEY = "text 0.slow.writing#1.0"


@pytest.mark.parametrize("junk", [[1], "Halt", 7, {}, {"event": "Halt"}], ids=repr)
async def test_a_message_that_is_none_is_ignored_and_told(junk: object):
    snapshot, _, ignored = await ended(slow(), Pocket(mail=[(1_001.0, junk)], lasts={KEY: 9}), writes())
    assert (snapshot.output, ignored) == ({"end": "written"}, [junk])


DAMAGED = {
    "nothing": lambda state: None,
    "a text": lambda state: "written",
    "without its state": lambda state: {"turn": {}},
    "a state of another kind": lambda state: {"state": [1], "turn": {}},
    "without a result": lambda state: {"state": state},
    "an error that is none": lambda state: {"state": state, "error": 3},
    "a turn that is none": lambda state: {"state": state, "turn": [1]},
    "a choice that is none": lambda state: {"state": state, "choice": {"event": 3, "reason": [1]}},
    "an answer that is none": lambda state: {"state": state, "answer": {"type": "?"}},
}


@pytest.mark.parametrize("record", DAMAGED.values(), ids=DAMAGED)
async def test_a_record_that_is_damaged_is_said_with_its_name(record):
    first = Pocket(most=2)
    with pytest.raises(DiedError):
        await ended(slow(), first, writes())
    damaged = first.again()
    damaged.records[KEY] = record(damaged.records[KEY]["state"])
    with pytest.raises(InvalidLogError, match=r"'slow'.*writing#1\.0") as error:
        await ended(slow(), damaged, writes())
    assert error.value.index == 1


async def test_a_call_that_nobody_waits_for_is_said():
    class Astray(Pocket):
        async def wait(self, calls, *, until, messages):
            return Woken(at=1_001.0, key="text nobody's", result={})

    with pytest.raises(ReplayDivergedError, match="text nobody's"):
        await ended(slow(), Astray(), writes())


class OwnError(BaseException):
    pass


def raises(error: BaseException) -> il.Executors:
    def leaves(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        raise error

    return il.Executors(generate_text=leaves)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), OwnError("mine")], ids=repr)
def test_who_leaves_from_another_thread_than_the_first_has_failed(error: BaseException):
    ends: list = []

    def run() -> None:
        ends.append(asyncio.run(ended(slow(on_error="failed"), Pocket(), raises(error))))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(20)
    ((snapshot, entries, _),) = ends
    assert snapshot.output == {"end": "failed"}
    assert type(error).__name__ in str(entries[-1].error)


def test_and_in_the_first_thread_it_ends_the_process():
    engine = Pocket()
    with pytest.raises(SystemExit):
        asyncio.run(ended(slow(on_error="failed"), engine, raises(SystemExit(3))))
    assert list(engine.records) == ["begin"]


async def test_arguments_that_json_cannot_carry_are_told_to_the_model_as_in_a_run():
    def add(a: float) -> float:
        """Add to it."""
        return a

    agent = il.setup_agent(events=[], output=str)
    machine = agent.machine(
        "adding",
        context={},
        initial="writing",
        states={
            "writing": agent.state(invoke=agent.generate_text(model="m", prompt="?", tools=[add], on_done="over")),
            "over": agent.final(output="over"),
        },
    )

    def executors() -> il.ScriptedExecutors:
        return il.ScriptedExecutors(
            text=[il.TextResult(tool_calls=(il.ToolCall("c", "add", {"a": float("nan")}),)), "done"]
        )

    _, entries, _ = await ended(machine, Pocket(), executors())
    result = await il.run_agent(machine, executors=executors())
    assert [entry.record for entry in entries] == [entry.record for entry in result.entries]
    assert "needs an object of arguments" in str(entries[2].record)


async def test_a_choice_that_json_cannot_carry_is_an_attempt_with_its_event_as_in_a_run():
    class Pick(il.Event):
        """Pick one."""

        which: str

    agent = il.setup_agent(events=[Pick], output=str)
    machine = agent.machine(
        "picking",
        context={},
        initial="picking",
        states={
            "picking": agent.state(invoke=agent.decide(model="m", prompt="?"), on=[agent.on(Pick, "over")]),
            "over": agent.final(output="over"),
        },
    )

    def executors() -> il.ScriptedExecutors:
        return il.ScriptedExecutors(decisions=[{"type": "Pick", "which": "\ud800"}, Pick(which="a")])

    _, entries, _ = await ended(machine, Pocket(), executors())
    result = await il.run_agent(machine, executors=executors())
    assert [entry.record["failure"] for entry in (entries[1], result.entries[1])] == ["invalid-payload"] * 2
