"""A run that waits is a text that any process can go on from."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import interlock as il
import interlock.statechart as sc
from tests.guessing import Guess, Reply, Verdict, game

ROOT = Path(__file__).parents[2]

ELSEWHERE = """
import json, sys
import interlock as il
from tests.guessing import game

saved, event = json.load(sys.stdin)
scripted = il.ScriptedExecutors(decisions=[{"type": "Guess", "guess": "a cat"}])
result = il.run_agent_sync(game(), executors=scripted, snapshot=saved, event=event)
print(json.dumps([type(result).__name__, result.output.guess, scripted.requests[0].prompt, scripted.infos[0].call_key]))
"""


def waiting() -> il.Idle[Any]:
    asked = il.ScriptedExecutors(decisions=[{"type": "Ask", "question": "Is it alive?"}])
    result = il.run_agent_sync(game(), executors=asked)
    assert isinstance(result, il.Idle)
    return result


def test_another_process_goes_on_from_the_saved_text():
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        input=json.dumps([waiting().snapshot.to_json(), {"type": "Reply", "answer": "yes"}]),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}"},
    )
    kind, guess, prompt, _ = json.loads(done.stdout)
    assert (kind, guess, prompt) == ("Done", "a cat", "Q: Is it alive?\nA: yes")


@pytest.mark.parametrize("form", ["snapshot", "dict", "text", "bytes", "another machine object"])
async def test_every_form_of_a_snapshot_will_do(form: str):
    snapshot = waiting_in_loop(
        await il.run_agent(game(), executors=il.ScriptedExecutors(decisions=[{"type": "Ask", "question": "q"}]))
    )
    machine = game()
    given: Any = {
        "snapshot": machine.load(snapshot.dump()),
        "dict": snapshot.dump(),
        "text": snapshot.to_json(),
        "bytes": snapshot.to_json().encode(),
        "another machine object": snapshot,
    }[form]
    scripted = il.ScriptedExecutors(decisions=[Guess(guess="x")])
    result = await il.run_agent(machine, executors=scripted, snapshot=given, event=Reply(answer="no"))
    assert isinstance(result, il.Done)
    assert result.output == Verdict(guess="x")


def waiting_in_loop(result: Any) -> il.Snapshot[Any]:
    assert isinstance(result, il.Idle)
    return result.snapshot


async def test_an_event_that_nothing_waits_for_is_reported_and_changes_nothing():
    idle = await il.run_agent(game(), executors=il.ScriptedExecutors(decisions=[{"type": "Ask", "question": "q"}]))
    event = Guess(guess="x")
    again = await il.run_agent(game(), executors=il.ScriptedExecutors(), snapshot=waiting_in_loop(idle), event=event)
    assert again.ignored == event
    assert waiting_in_loop(again).dump() == waiting_in_loop(idle).dump()


@pytest.mark.parametrize(
    ("event", "named"),
    [
        ("Rply", "Did you mean 'Reply'?"),
        ({"type": "Reply", "answer": "perhaps"}, "answer"),
        ({"answer": "yes"}, "type"),
        ("@done.state.x", "@done"),
    ],
)
async def test_an_event_that_the_machine_does_not_declare_is_refused_before_anything_runs(event: Any, named: str):
    scripted = il.ScriptedExecutors()
    with pytest.raises(il.InputError, match=named):
        await il.run_agent(game(), executors=scripted, event=event)
    assert scripted.requests == []


async def test_a_done_snapshot_stays_done_and_reports_the_event():
    done = await il.run_agent(game(), executors=il.ScriptedExecutors(decisions=[Guess(guess="x")]))
    assert isinstance(done, il.Done)
    again = await il.run_agent(
        game(), executors=il.ScriptedExecutors(), snapshot=done.snapshot.dump(), event=Reply(answer="yes")
    )
    assert isinstance(again, il.Done)
    assert again.output == Verdict(guess="x")
    assert again.ignored == Reply(answer="yes")


async def test_a_snapshot_of_another_machine_is_refused_before_anything_runs():
    other = sc.initial_transition(sc.machine("other", initial="a", states={"a": sc.state()}))[0]
    for given in (other, other.dump(), "{", {"format": 1}):
        with pytest.raises(il.SnapshotError):
            await il.run_agent(game(), executors=il.ScriptedExecutors(), snapshot=given)


async def test_attempts_survive_a_resume():
    """The retries that are left are a matter of the snapshot, not of the process."""
    cut: list[Any] = []
    scripted = il.ScriptedExecutors(decisions=["Fly", "Fly", "Fly"])
    await il.run_agent(game(), executors=scripted, on_transition=lambda s, i: cut.append(s.to_json()))
    one_left = il.ScriptedExecutors(decisions=["Fly"])
    result = await il.run_agent(game(), executors=one_left, snapshot=cut[2])
    assert isinstance(result, il.Done)
    assert result.output == Verdict(guess=None)
    assert len(one_left.requests[0].attempts) == 2


async def test_call_keys_are_the_same_on_resume():
    first = il.ScriptedExecutors(decisions=[RuntimeError("cut off")])
    started: list[Any] = []
    await il.run_agent(game(), executors=first, execution_id="e1", on_transition=lambda s, i: started.append(s))
    second = il.ScriptedExecutors(decisions=[Guess(guess="x")])
    await il.run_agent(game(), executors=second, execution_id="e1", snapshot=started[0].dump())
    assert first.infos[0].call_key == second.infos[0].call_key
    assert first.infos[0].call_key.startswith("e1:")


async def test_a_step_that_fails_keeps_the_last_good_snapshot_and_repaired_code_goes_on():
    def machine(handler: Any) -> il.Machine[Any, Any, Any]:
        return sc.machine(
            "m",
            version="1",
            initial="a",
            states={"a": sc.state(on={"GO": sc.on("GO", handler, to="b")}), "b": sc.state()},
        )

    def broken(c: Any, e: Any) -> Any:
        raise ValueError("x")

    failed = await il.run_agent(machine(broken), event="GO")
    assert isinstance(failed, il.Failed)
    assert failed.cause == "machine"
    assert failed.snapshot is not None
    mended = await il.run_agent(machine(lambda c, e: sc.goto("b")), snapshot=failed.snapshot, event="GO")
    assert waiting_in_loop(mended).value == "b"
