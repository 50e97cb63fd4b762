"""The loop, on an engine that is a mapping: whatever dies where, the end is the same, and nothing is done twice."""

import json
from collections import Counter

import pytest

import interlock as il
from interlock.errors import BindError, InputError, MachineFailedError, ReplayDivergedError
from interlock.hosts import run_durably
from interlock.hosts.loop import message_of
from interlock.run.settle import machine_error
from interlock.statechart import Input
from tests.durable import desk

from .pocket import DiedError, Pocket


class Go(il.Event):
    """Go on."""


class Halt(il.Event, actor="human"):
    """Leave it."""


agent = il.setup_agent(events=[Go, Halt], output=dict[str, object])


def approved(at: float = 1_500.0) -> list:
    return [(at, message_of(desk.Approve(by="Ann"), "mail-1")), (at, message_of(desk.Approve(by="Eve"), "mail-1"))]


async def ended(machine: il.Machine, engine: Pocket, executors: il.Executors | None = None, **more: object):
    entries: list = []
    ignored: list = []

    def told(step: object, event: object) -> None:
        entries.extend(step.entries)
        ignored.extend([] if event is None else [event])

    snapshot = await run_durably(machine, None, executors or il.Executors(), engine, told=told, **more)
    return snapshot, entries, ignored


async def test_a_machine_comes_to_the_end_that_a_run_comes_to():
    snapshot, entries, ignored = await ended(desk.desk(), Pocket(mail=approved()), desk.executors())
    idle = await il.run_agent(desk.desk(delay=0), executors=desk.executors())
    done = await il.run_agent(
        desk.desk(delay=0), snapshot=idle.snapshot, event=desk.Approve(by="Ann"), executors=desk.executors()
    )
    assert snapshot.output == done.output
    assert [entry.id for entry in entries].count("mail-1") == 1
    assert ignored == []


async def test_whatever_record_it_dies_at_the_end_is_the_same_and_no_recorded_call_is_made_again():
    whole = Pocket(mail=approved())
    expected, log, _ = await ended(desk.desk(), whole, desk.executors())
    for most in range(len(whole.records)):
        first = Pocket(mail=approved(), most=most)
        with pytest.raises(DiedError):
            await ended(desk.desk(), first, desk.executors())
        second = first.again()
        snapshot, entries, _ = await ended(desk.desk(), second, desk.executors())
        assert snapshot.dump() == expected.dump()
        assert [entry.happened() for entry in entries] == [entry.happened() for entry in log]
        counted = Counter(first.made + second.made)
        assert max(counted.values()) <= 2
        assert sum(counted.values()) <= len(counted) + 1, "only the call that was under way is made again"


async def test_what_is_recorded_is_json():
    whole = Pocket(mail=approved())
    await ended(desk.desk(), whole, desk.executors())
    assert json.loads(json.dumps(whole.records))


def slow(*, on_error: str | None = None) -> il.Machine:
    """A text that a timer, or a person, may cut short."""
    return agent.machine(
        "slow",
        context={},
        initial="writing",
        states={
            "writing": agent.state(
                invoke=agent.generate_text(
                    name="letter",
                    model="m",
                    prompt="Write.",
                    on_done="written",
                    **({"on_error": on_error} if on_error else {}),
                ),
                after=[agent.after(60, "late")],
                on=[agent.on(Halt, "left")],
            ),
            **{
                name: agent.final(output=lambda c, name=name: {"end": name})
                for name in ("written", "late", "left", "failed")
            },
        },
    )


def writes(text: str = "A letter.") -> il.Executors:
    return il.Executors(generate_text=lambda request, info: il.TextResult(output=text))


@pytest.mark.parametrize(
    ("lasts", "mail", "end"),
    [
        (1.0, [], "written"),
        (61.0, [], "late"),
        (61.0, [(1_005.0, message_of(Halt(), None))], "left"),
        (61.0, [(1_005.0, message_of(Go(), None))], "late"),
        (1.0, [(1_005.0, message_of(Halt(), None))], "written"),
    ],
)
async def test_the_first_of_a_call_a_timer_and_a_message_counts(lasts: float, mail: list, end: str):
    key = "text 0.slow.writing#1.0"
    engine = Pocket(mail=mail, lasts={key: lasts})
    snapshot, _, ignored = await ended(slow(), engine, writes())
    assert snapshot.output == {"end": end}
    assert engine.made == ([key] if end == "written" else [])
    assert ignored == ([{"type": "Go"}] if mail and mail[0][1]["event"] == {"type": "Go"} else [])


async def test_what_outside_code_raises_is_a_result():
    def breaks(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        raise ConnectionError("gone")

    engine = Pocket()
    snapshot, _, _ = await ended(slow(on_error="failed"), engine, il.Executors(generate_text=breaks))
    assert snapshot.output == {"end": "failed"}
    assert engine.records["text 0.slow.writing#1.0"]["error"]["type"] == "ConnectionError"
    with pytest.raises(MachineFailedError, match="gone"):
        await ended(slow(), Pocket(), il.Executors(generate_text=breaks))


async def test_a_mistake_of_the_host_comes_out():
    with pytest.raises(BindError, match="generate_text"):
        await ended(slow(on_error="failed"), Pocket())


async def test_an_answer_that_json_cannot_carry_is_a_failure_of_who_gave_it():
    engine = Pocket()
    executors = il.Executors(generate_text=lambda request, info: il.TextResult(output={1, object()}))
    snapshot, _, _ = await ended(slow(on_error="failed"), engine, executors)
    assert snapshot.output == {"end": "failed"}


async def test_a_choice_that_json_cannot_carry_is_refused_and_the_model_is_asked_again():
    chooser = agent.machine(
        "chooser",
        context={},
        initial="choosing",
        states={
            "choosing": agent.state(
                invoke=agent.decide(name="choose", model="m", prompt="?"), on=[agent.on(Go, "over")]
            ),
            "over": agent.final(output={"end": "over"}),
        },
    )
    given = iter([{"type": "Go", "at": float("nan")}, {"type": "Go"}])
    executors = il.Executors(decide=lambda request, info: il.Choice(next(given)))
    engine = Pocket()
    snapshot, entries, _ = await ended(chooser, engine, executors)
    assert snapshot.output == {"end": "over"}
    assert engine.made == ["decision 0.chooser.choosing#1.0", "decision 0.chooser.choosing#1.1"]
    assert "JSON" in entries[1].record["reason"]


async def test_a_model_call_too_many_is_not_made():
    engine = Pocket()
    with pytest.raises(MachineFailedError) as failed:
        await ended(slow(), engine, writes(), max_model_calls=0)
    assert failed.value.info.code == "max-model-calls"
    assert engine.made == []


async def test_a_record_that_another_machine_has_made_is_never_gone_on_with():
    first = Pocket(mail=approved(), most=3)
    with pytest.raises(DiedError):
        await ended(desk.desk(version="1"), first, desk.executors())
    changed = first.again()
    name = next(key for key in changed.records if key.startswith("decision"))
    changed.records[name] = {**changed.records[name], "state": "another"}
    with pytest.raises(ReplayDivergedError, match="another version="):
        await ended(desk.desk(version="1"), changed, desk.executors())


async def test_a_message_that_is_no_event_is_ignored():
    engine = Pocket(mail=[(1_001.0, {"event": {"type": "Nonsense"}, "id": None})], lasts={"text 0.slow.writing#1.0": 9})
    snapshot, entries, ignored = await ended(slow(), engine, writes())
    assert (snapshot.output, ignored) == ({"end": "written"}, [{"type": "Nonsense"}])
    assert [entry.index for entry in entries] == list(range(len(entries)))


@pytest.mark.parametrize("junk", [[1], {"a": 1}, 7, "evt_00000001"], ids=repr)
async def test_an_event_with_an_id_that_is_none_is_ignored(junk: object):
    engine = Pocket(mail=[(1_001.0, {**message_of(Halt(), None), "id": junk})], lasts={"text 0.slow.writing#1.0": 9})
    snapshot, _, ignored = await ended(slow(), engine, writes())
    assert (snapshot.output, ignored) == ({"end": "written"}, [{"type": "Halt"}])


@pytest.mark.parametrize("most", [-1, True, 1.0, "3"], ids=repr)
async def test_a_limit_that_is_no_number_of_calls_is_said(most: object):
    engine = Pocket()
    with pytest.raises(BindError, match="0 or more"):
        await ended(slow(), engine, writes(), max_model_calls=most)
    assert engine.records == {}


async def test_a_machine_that_failed_with_no_exception_fails_as_in_a_run(monkeypatch: pytest.MonkeyPatch):
    step = il.initial_agent_step(slow(), at=0.0)
    given = Input(invocation=step.owed.invocations[0].key, error="fatal")
    over = il.transition_agent_step(step.head.machine, step, given, at=1.0)
    monkeypatch.setattr("interlock.hosts.loop.initial_agent_step", lambda *given, **more: over)
    with pytest.raises(MachineFailedError) as failed:
        await ended(step.head.machine, Pocket())
    assert failed.value.info == machine_error("slow", "fatal")
    assert failed.value.info.message == "machine 'slow' has failed with 'fatal'"


async def test_an_input_that_is_refused_is_said():
    with pytest.raises(InputError):
        await run_durably(desk.desk(), {"some": "input"}, desk.executors(), Pocket())
