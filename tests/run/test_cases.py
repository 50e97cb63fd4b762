"""Faults that people met in other systems, each held here by one short test."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

import interlock as il
import interlock.statechart as sc
from tests.guessing import game
from tests.run.machines import Left, Right, deciding_pair, pair_agent, work

ROOT = Path(__file__).parents[2]

HEAD = """
import json, sys
import interlock as il
from tests.run import test_cases as here
given = json.load(sys.stdin)
"""


def failed(result: Any) -> il.Failed[Any]:
    assert isinstance(result, il.Failed), result
    return result


def idle(result: Any) -> il.Snapshot[Any]:
    assert isinstance(result, il.Idle), result
    return result.snapshot


def elsewhere(program: str, given: Any) -> Any:
    """Run a program in another process; it reads ``given`` and prints its answer, both JSON."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + program],
        input=json.dumps(given),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}"},
    )
    return json.loads(done.stdout)


# -- loops, errors, observers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("initial", ["a", "b"])
async def test_an_endless_loop_is_named(initial: str):
    machine = sc.machine(
        "M",
        initial=initial,
        states={"a": sc.state(on={"GO": "b"}), "b": sc.state(always="c"), "c": sc.state(always="b")},
    )
    result = failed(await il.run_agent(machine, event="GO"))
    assert result.cause == "machine"
    assert isinstance(result.exception, il.EndlessLoopError)
    assert set(result.exception.cycle) == {"b", "c"}
    assert "'M'" in result.error.message
    if initial == "a":
        assert result.snapshot is not None
        assert result.snapshot.value == "a"


async def test_a_result_goes_to_the_state_that_asked():
    first, second = anyio.Event(), anyio.Event()

    async def slow1() -> str:
        await first.wait()
        return "one"

    async def slow2() -> str:
        await second.wait()
        return "two"

    async def skip() -> None: ...

    machine = sc.machine(
        "M",
        context={"got": None},
        sources={"slow1": slow1, "slow2": slow2, "skip": skip},
        initial="one",
        states={
            "one": sc.state(invoke=[sc.invoke("slow1", on_done="wrong"), sc.invoke("skip", on_done="two")]),
            "two": sc.state(invoke=sc.invoke("slow2", on_done=lambda c, out: sc.goto("end", got=out))),
            "wrong": sc.final(),
            "end": sc.final(output=lambda c: c["got"]),
        },
    )

    def look(snapshot: Any, _: Any) -> None:
        if snapshot.value == "two":
            first.set()
            second.set()

    result = await il.run_agent(machine, on_transition=look)
    assert isinstance(result, il.Done)
    assert result.output == "two"


def booming() -> il.Machine[Any, Any, Any]:
    def boom(c: Any, e: Any) -> Any:
        raise ValueError("x")

    return sc.machine("M", initial="a", states={"a": sc.state(on={"GO": sc.on("GO", boom, to="b")}), "b": sc.state()})


async def test_a_handler_that_raises_is_not_swallowed():
    machine = booming()
    result = failed(await il.run_agent(machine, event="GO"))
    assert isinstance(result.exception, il.HandlerError)
    assert isinstance(result.exception.__cause__, ValueError)
    assert all(part in result.error.message for part in ("'M'", "'a'", "'GO'", "boom", "x"))
    snapshot, _ = sc.initial_transition(machine)
    with pytest.raises(il.HandlerError):
        sc.transition(machine, snapshot, "GO")
    assert result.snapshot == snapshot


async def test_observers_do_not_change_how_it_fails():
    seen: list[Any] = []
    alone = failed(await il.run_agent(booming(), event="GO"))
    watched = failed(await il.run_agent(booming(), event="GO", on_transition=lambda *_: None, on_event=seen.append))
    assert (alone.cause, alone.error) == (watched.cause, watched.error)
    assert len(seen) == 1


async def test_an_observer_that_raises_does_not_end_the_run(caplog: pytest.LogCaptureFixture):
    async def later(*_: Any) -> None:
        raise RuntimeError("later")

    result = await il.run_agent(work({"f": lambda: 1, "g": lambda: 2}), on_event=lambda e: 1 / 0, on_transition=later)
    assert isinstance(result, il.Done)
    assert [record.name for record in caplog.records] == ["interlock.run"] * 2


async def test_a_root_invocation_starts_once():
    started: list[int] = []

    async def tick() -> None:
        started.append(1)

    machine = sc.machine(
        "M",
        context={"n": 0},
        sources={"tick": tick},
        invoke=sc.invoke("tick", on_done=lambda c, _: sc.stay(n=c["n"] + 1).raise_("SET")),
        on={"SET": lambda c, e: sc.stay(n=c["n"] + 1)},
        initial="a",
        states={"a": sc.state()},
    )
    snapshot = idle(await il.run_agent(machine))
    assert (snapshot.context["n"], started) == (2, [1])
    idle(await il.run_agent(machine, snapshot=snapshot.dump(), event="SET"))
    assert started == [1]


async def test_a_guard_that_raises_while_events_are_offered_is_named():
    def broken(c: Any, e: Any) -> Any:
        raise KeyError("missing")

    a = pair_agent
    machine = a.machine(
        "M",
        initial="s",
        states={
            "s": a.state(invoke=a.decide(prompt="?"), on=[a.on(Left, broken, to="t"), a.on(Right, "t")]),
            "t": a.final(),
        },
    )
    scripted = il.ScriptedExecutors()
    result = failed(await il.run_agent(machine, executors=scripted))
    assert isinstance(result.exception, il.HandlerError)
    assert all(part in result.error.message for part in ("'M'", "'s'", "'Left'", "broken"))
    assert scripted.requests == []


async def test_an_event_that_cannot_be_shown_is_refused_not_printed():
    machine = sc.machine("M", initial="a", states={"a": sc.final()})
    done = await il.run_agent(machine)
    assert isinstance(done, il.Done)
    loop: dict[str, Any] = {"type": "GO"}
    loop["self"] = loop
    for refused in (loop, {"type": "GO", "lock": threading.Lock()}):
        with pytest.raises(il.InputError) as caught:
            await il.run_agent(machine, snapshot=done.snapshot, event=refused)
        assert len(str(caught.value)) < 1000
    long = {"type": "GO", "text": "x" * 10_000_000}
    assert (await il.run_agent(machine, snapshot=done.snapshot, event=long)).ignored == long


# -- saving and going on ---------------------------------------------------------------------------------------------


def waiting() -> il.Machine[Any, Any, Any]:
    return sc.machine(
        "M",
        initial="wait",
        states={"wait": sc.state(after={60: "late"}, on={"OK": "fine"}), "late": sc.final(), "fine": sc.final()},
    )


RESUME_WAITING = """
result = il.run_agent_sync(here.waiting(), snapshot=given["saved"], clock=il.FakeClock(given["now"]), timers="return")
print(json.dumps([result.snapshot.value, [timer.due for timer in getattr(result, "timers", ())]]))
"""


@pytest.mark.parametrize(("passed", "value", "due"), [(61, "late", []), (30, "wait", [1060])])
async def test_a_pending_timer_is_saved_and_fires_in_another_process(passed: float, value: str, due: list[float]):
    result = await il.run_agent(waiting(), clock=il.FakeClock(1000), timers="return")
    assert isinstance(result, il.Idle)
    assert [timer.due for timer in result.timers] == [1060]
    assert elsewhere(RESUME_WAITING, {"saved": result.snapshot.dump(), "now": 1000 + passed}) == [value, due]


async def test_a_delayed_event_survives_any_number_of_hops():
    machine = sc.machine(
        "M",
        initial="a",
        states={"a": sc.state(entry=lambda c: sc.stay().raise_("LATER", delay=5), on={"LATER": "b"}), "b": sc.final()},
    )
    saved = idle(await il.run_agent(machine, clock=il.FakeClock(100), timers="return")).to_json()
    for _ in range(3):
        saved = idle(await il.run_agent(machine, clock=il.FakeClock(102), timers="return", snapshot=saved)).to_json()
    fired: list[Any] = []
    result = await il.run_agent(machine, clock=il.FakeClock(105), snapshot=saved, on_event=fired.append)
    assert isinstance(result, il.Done)
    assert len(fired) == 1


async def test_an_interrupted_request_is_asked_again_with_the_same_key():
    machine = game()
    keys: list[str] = []
    saved: list[str] = []

    async def killed(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        keys.append(info.call_key)
        scope.cancel()
        await anyio.sleep_forever()
        raise AssertionError

    with anyio.CancelScope() as scope:
        await il.run_agent(
            machine,
            executors=il.Executors(decide=killed),
            execution_id="e",
            on_transition=lambda s, _: saved.append(s.to_json()),
        )
    scripted = il.ScriptedExecutors(decisions=[{"type": "Guess", "guess": "x"}])
    result = await il.run_agent(machine, executors=scripted, execution_id="e", snapshot=saved[-1])
    assert isinstance(result, il.Done)
    assert keys == [scripted.infos[0].call_key]


async def test_what_has_finished_is_not_started_again():
    calls: list[str] = []
    stop = anyio.CancelScope()

    async def first() -> None:
        calls.append("first")

    async def second() -> None:
        calls.append("second")
        if calls.count("second") == 1:
            await anyio.sleep_forever()

    machine = work({"first": first, "second": second}, parallel=True)
    saved: list[str] = []

    def look(snapshot: Any, given: Any) -> None:
        saved.append(snapshot.to_json())
        if given is not None:
            stop.cancel()

    with stop:
        await il.run_agent(machine, on_transition=look)
    assert isinstance(await il.run_agent(machine, snapshot=saved[-1]), il.Done)
    assert sorted(calls) == ["first", "second", "second"]


async def test_an_ended_snapshot_says_that_it_has_ended():
    machine = work({"f": lambda: 1})
    done = await il.run_agent(machine)
    assert isinstance(done, il.Done)
    again = await il.run_agent(machine, snapshot=done.snapshot.to_json(), event="GO")
    assert isinstance(again, il.Done)
    assert again.ignored == {"type": "GO"}

    def boom() -> None:
        raise ValueError("x")

    broken = failed(await il.run_agent(work({"f": boom})))
    assert broken.snapshot is not None
    again_failed = failed(await il.run_agent(work({"f": boom}), snapshot=broken.snapshot.to_json(), event="GO"))
    assert (again_failed.error.message, again_failed.ignored) == ("x", {"type": "GO"})


async def test_a_state_that_is_gone_is_named():
    def machine(name: str) -> il.Machine[Any, Any, Any]:
        return sc.machine("M", version="1", initial=name, states={name: sc.state(on={"GO": "end"}), "end": sc.final()})

    saved = idle(await il.run_agent(machine("reviewing"))).dump()
    with pytest.raises(il.SnapshotError, match=r"M\.reviewing"):
        await il.run_agent(machine("review"), snapshot=saved, event="GO")


async def test_a_snapshot_of_another_machine_is_refused():
    def machine(name: str) -> il.Machine[Any, Any, Any]:
        return sc.machine(name, initial="open", states={"open": sc.state(on={"X": "closed"}), "closed": sc.final()})

    saved = idle(await il.run_agent(machine("order"))).dump()
    with pytest.raises(il.SnapshotError) as caught:
        await il.run_agent(machine("ticket"), snapshot=saved, event="X")
    assert caught.value.code == "machine-mismatch"
    with pytest.raises(il.SnapshotError) as caught:
        await il.run_agent(machine("order"), snapshot={**saved, "format": 99})
    assert caught.value.code == "unsupported-format"


async def test_to_restore_is_no_transition():
    a = sc.state(
        entry=lambda c: sc.stay(entered=c["entered"] + 1),
        always=lambda c: sc.goto("b") if c["ready"] else None,
        on={"POKE": lambda c, e: sc.stay()},
    )
    machine = sc.machine(
        "M",
        context={"ready": False, "entered": 0},
        initial="a",
        states={"a": a, "b": sc.final(output=lambda c: c["entered"])},
    )
    saved = idle(await il.run_agent(machine)).dump()
    saved["context"]["ready"] = True
    assert idle(await il.run_agent(machine, snapshot=saved)).value == "a"
    done = await il.run_agent(machine, snapshot=saved, event="POKE")
    assert isinstance(done, il.Done)
    assert done.output == 1


async def test_an_event_that_cannot_be_taken_is_never_dropped_without_a_word():
    idle_at = idle(
        await il.run_agent(game(), executors=il.ScriptedExecutors(decisions=[{"type": "Ask", "question": "q"}]))
    )
    with pytest.raises(il.InputError, match="Did you mean 'Reply'"):
        await il.run_agent(game(), executors=il.ScriptedExecutors(), snapshot=idle_at, event="Replay")
    other: il.Event = Left()
    with pytest.raises(il.InputError):
        await il.run_agent(game(), executors=il.ScriptedExecutors(), snapshot=idle_at, event=other)
    for_another_state = {"type": "Guess", "guess": "x"}
    result = await il.run_agent(game(), executors=il.ScriptedExecutors(), snapshot=idle_at, event=for_another_state)
    assert idle(result).value == "answering"
    assert result.ignored is not None


async def test_a_child_at_rest_does_not_keep_the_run():
    chat = sc.machine(
        "chat", context={"n": 0}, initial="on", states={"on": sc.state(on={"MSG": lambda c, e: sc.stay(n=c["n"] + 1)})}
    )
    machine = sc.machine(
        "M",
        sources={"chat": chat},
        initial="a",
        states={
            "a": sc.state(
                invoke=sc.invoke("chat", id="chat"),
                on={"SAY": lambda c, e: sc.stay().send("chat", "MSG"), "SUBMIT": "b"},
            ),
            "b": sc.final(),
        },
    )
    snapshot = idle(await il.run_agent(machine, event="SAY"))
    again = idle(await il.run_agent(machine, snapshot=snapshot.to_json(), event="SAY"))
    child = again.children["chat"].snapshot
    assert child is not None
    assert child.context == {"n": 2}


# -- decisions and causes --------------------------------------------------------------------------------------------


async def test_a_decision_is_cancelled_at_once():
    ended: list[str] = []
    entered = anyio.Event()

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        entered.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")
        raise AssertionError

    async with anyio.create_task_group() as group:

        async def run() -> None:
            await il.run_agent(game(), executors=il.Executors(decide=decide))

        group.start_soon(run)
        await entered.wait()
        group.cancel_scope.cancel()
    assert ended == ["cancelled"]

    a = pair_agent
    machine = a.machine(
        "M",
        initial="s",
        states={
            "s": a.state(invoke=a.decide(prompt="?"), on=[a.on(Left, "t")], timeout=60, on_timeout="t"),
            "t": a.final(),
        },
    )
    result = await il.run_agent(machine, executors=il.Executors(decide=decide), clock=il.FakeClock(autojump=True))
    assert isinstance(result, il.Done)
    assert ended == ["cancelled", "cancelled"]


async def test_causes_are_told_apart_also_out_of_a_child():
    exhausted = failed(
        await il.run_agent(game(on_error=None), executors=il.ScriptedExecutors(decisions=["x", "x", "x"]))
    )
    assert exhausted.cause == "decision-exhausted"
    assert failed(await il.run_agent(booming(), event="GO")).cause == "machine"
    parent = sc.machine(
        "P", sources={"g": game(on_error=None)}, initial="a", states={"a": sc.state(invoke=sc.invoke("g"))}
    )
    below = failed(await il.run_agent(parent, executors=il.ScriptedExecutors(decisions=["x", "x", "x"])))
    assert below.cause == "decision-exhausted"
    assert (
        failed(await il.run_agent(parent, executors=il.ScriptedExecutors(), max_model_calls=0)).cause
        == "max-model-calls"
    )


# -- people ----------------------------------------------------------------------------------------------------------


def two_waits() -> il.Machine[Any, Any, Any]:
    def region(event: str) -> sc.State:
        return sc.state(
            initial="ask",
            states={
                "ask": sc.state(entry=lambda c: sc.stay(entered=c["entered"] + 1), on={event: "over"}),
                "over": sc.final(),
            },
        )

    return sc.machine(
        "M",
        context={"entered": 0},
        kind="parallel",
        states={"A": region("OKA"), "B": region("OKB")},
        output=lambda c: c["entered"],
    )


RESUME_TWO = """
result = il.run_agent_sync(here.two_waits(), snapshot=given["saved"], event=given["event"])
print(json.dumps([type(result).__name__, list(result.snapshot.accepted_events()), result.snapshot.dump()]))
"""


@pytest.mark.parametrize("order", [("OKA", "OKB"), ("OKB", "OKA")])
async def test_one_answer_leaves_the_other_wait_alone(order: tuple[str, str]):
    saved = idle(await il.run_agent(two_waits())).dump()
    first, second = order
    kind, left, saved = elsewhere(RESUME_TWO, {"saved": saved, "event": first})
    assert (kind, left) == ("Idle", [second])
    kind, left, saved = elsewhere(RESUME_TWO, {"saved": saved, "event": second})
    assert (kind, saved["output"]) == ("Done", 2)


@pytest.mark.parametrize("first", ["Left", "Right"])
async def test_the_same_source_twice_has_two_identities(first: str):
    chosen: list[Any] = []
    entered: list[str] = []
    one_is_there = anyio.Event()

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        entered.append(request.id)
        if request.name != first:
            await one_is_there.wait()
        return il.Choice({"type": request.name or ""})

    def look(entry: Any) -> None:
        if entry.input is not None:
            chosen.append(entry.input.event.type)
            one_is_there.set()

    result = await il.run_agent(deciding_pair(), executors=il.Executors(decide=decide), on_event=look)
    assert isinstance(result, il.Done)
    assert len(set(entered)) == 2
    assert chosen == [first, "Right" if first == "Left" else "Left"]


async def test_what_came_before_the_wait_is_not_done_again():
    sent: list[str] = []

    async def send_mail() -> None:
        sent.append("mail")

    machine = sc.machine(
        "M",
        sources={"mail": send_mail},
        initial="send",
        states={
            "send": sc.state(invoke=sc.invoke("mail", on_done="wait")),
            "wait": sc.state(on={"OK": "end"}),
            "end": sc.final(),
        },
    )
    saved = idle(await il.run_agent(machine)).to_json()
    assert isinstance(await il.run_agent(machine, snapshot=saved, event="OK"), il.Done)
    assert sent == ["mail"]


async def test_one_saved_point_can_be_gone_on_from_twice():
    machine = sc.machine(
        "M", initial="a", states={"a": sc.state(on={"YES": "yes", "NO": "no"}), "yes": sc.final(), "no": sc.final()}
    )
    saved = idle(await il.run_agent(machine)).dump()
    before = json.dumps(saved)
    values = [(await il.run_agent(machine, snapshot=saved, event=event)).snapshot for event in ("YES", "NO")]
    assert [snapshot.value for snapshot in values if snapshot] == ["yes", "no"]
    assert json.dumps(saved) == before


async def test_when_one_region_fails_the_others_are_cancelled_and_waited_for():
    ended: list[str] = []

    async def fails() -> None:
        raise ValueError("x")

    async def pays() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("pays")

    result = failed(await il.run_agent(work({"pays": pays, "fails": fails}, parallel=True)))
    assert (result.cause, ended) == ("machine", ["pays"])


# -- the same rule on all paths ----------------------------------------------------------------------------------------


async def test_an_event_that_nobody_handles_changes_nothing_on_every_path():
    machine = sc.machine("M", initial="a", states={"a": sc.state(on={"GO": "b"}), "b": sc.state()})
    start, _ = sc.initial_transition(machine)
    stepped, effects = sc.transition(machine, start, "NOPE")
    assert stepped is start
    assert effects == ()
    live = await il.run_agent(machine, event="NOPE")
    resumed = await il.run_agent(machine, snapshot=start.dump(), event="NOPE")
    assert idle(live) == idle(resumed) == start
    assert live.ignored == resumed.ignored == {"type": "NOPE"}


async def test_an_output_is_computed_once():
    counted: list[int] = []

    def output(c: Any) -> int:
        counted.append(1)
        return len(counted)

    machine = sc.machine("M", initial="a", states={"a": sc.state(on={"DONE": "b"}), "b": sc.final(output=output)})
    done = await il.run_agent(machine, event="DONE")
    assert isinstance(done, il.Done)
    again = await il.run_agent(machine, snapshot=done.snapshot.to_json())
    assert isinstance(again, il.Done)
    assert (done.output, again.output, len(counted)) == (1, 1, 1)


# -- tasks and threads -------------------------------------------------------------------------------------------------


async def test_cancelled_before_its_first_turn():
    with anyio.CancelScope() as scope:
        scope.cancel()
        await il.run_agent(work({"f": lambda: 1}))
    assert scope.cancelled_caught


async def test_a_run_inside_an_executor_never_hangs():
    machine = game()
    saved: list[Any] = []

    def look(snapshot: Any, _: Any) -> None:
        saved.append(snapshot)

    async def decide(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        # Goes on from its own snapshot: a run of its own, which cannot touch the one that it is in.
        inner = il.ScriptedExecutors(decisions=[{"type": "Guess", "guess": "inner"}])
        result = await il.run_agent(machine, executors=inner, snapshot=saved[-1])
        assert isinstance(result, il.Done)
        return il.Choice({"type": "Guess", "guess": f"outer of {result.output.guess}"})

    result = await il.run_agent(machine, executors=il.Executors(decide=decide), on_transition=look)
    assert isinstance(result, il.Done)
    assert result.output.guess == "outer of inner"

    def waits(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        il.run_agent_sync(machine, executors=il.ScriptedExecutors())
        raise AssertionError

    with pytest.raises(il.BindError) as refused:
        await il.run_agent(game(), executors=il.Executors(decide=waits))
    assert refused.value.code == "run-inside-executor"


async def test_a_blocking_function_does_not_stop_the_loop():
    release = threading.Event()
    beats: list[int] = []

    def blocks() -> None:
        assert release.wait(30)

    async def heartbeat() -> None:
        while len(beats) < 20:
            beats.append(1)
            await anyio.lowlevel.checkpoint()
        release.set()

    async with anyio.create_task_group() as group:
        group.start_soon(heartbeat)
        result = await il.run_agent(work({"f": blocks, "g": blocks}, parallel=True))
    assert isinstance(result, il.Done)
    assert len(beats) == 20


async def test_runs_of_one_machine_at_the_same_time_do_not_mix():
    async def double(n: int) -> int:
        await anyio.lowlevel.checkpoint()
        return 2 * n

    machine = sc.machine(
        "M",
        context=lambda given: {"n": given["n"]},
        sources={"double": double},
        initial="a",
        states={
            "a": sc.state(
                invoke=sc.invoke("double", input=lambda c: {"n": c["n"]}, on_done=lambda c, out: sc.goto("b", n=out))
            ),
            "b": sc.final(output=lambda c: c["n"]),
        },
    )
    outputs: dict[int, Any] = {}

    async def run(n: int) -> None:
        result = await il.run_agent(machine, input={"n": n})
        assert isinstance(result, il.Done)
        outputs[n] = result.output

    async with anyio.create_task_group() as group:
        for n in range(50):
            group.start_soon(run, n)
    assert outputs == {n: 2 * n for n in range(50)}


async def test_a_thread_that_works_on_does_not_hold_up_the_run():
    release, over = threading.Event(), threading.Event()

    def blocks() -> str:
        release.wait(30)
        over.set()
        return "too late"

    async def quick() -> None: ...

    machine = sc.machine(
        "M",
        sources={"blocks": blocks, "quick": quick},
        initial="a",
        states={
            "a": sc.state(invoke=[sc.invoke("blocks", on_done="late"), sc.invoke("quick", on_done="b")]),
            "b": sc.final(),
            "late": sc.final(),
        },
    )
    result = await il.run_agent(machine)
    assert result.snapshot is not None
    assert result.snapshot.value == "b"
    assert not over.is_set()
    release.set()


# -- values ------------------------------------------------------------------------------------------------------------


async def test_runs_do_not_share_a_context():
    machine = sc.machine(
        "M",
        context={"items": []},
        initial="a",
        states={"a": sc.state(on={"ADD": lambda c, e: sc.stay(items=[*c["items"], 1])})},
    )
    first = idle(await il.run_agent(machine, event="ADD"))
    second = idle(await il.run_agent(machine, event="ADD"))
    assert first.context["items"] == second.context["items"] == (1,)
    with pytest.raises((AttributeError, TypeError)):
        first.context["items"].append(2)


async def test_what_cannot_be_saved_is_refused_with_its_path():
    with pytest.raises(il.DefinitionError, match="lock"):
        sc.machine("M", context={"lock": threading.Lock()}, initial="a", states={"a": sc.state()})
    with pytest.raises(il.InputError, match="lock"):
        await il.run_agent(
            sc.machine("M", initial="a", states={"a": sc.state()}), event={"type": "GO", "lock": threading.Lock()}
        )


async def test_an_output_that_does_not_fit_is_never_done():
    class Item(BaseModel, frozen=True):
        kind: Literal["a", "b"]

    agent = il.setup_agent(context=None, events=[], output=Item)
    for wrong in ({"kind": "c"}, None):
        machine = agent.machine(
            "M",
            initial="x",
            states={"x": agent.final(output=lambda c, wrong=wrong: wrong)},
        )
        result = failed(await il.run_agent(machine))
        assert (result.cause, result.error.code) == ("machine", "invalid-output")
