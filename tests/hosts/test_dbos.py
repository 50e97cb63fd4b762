"""A machine on DBOS in this process: events, failures, versions, what is kept and what comes out."""

import json
import sys
import threading
from collections.abc import Callable

import anyio
import pytest
from pydantic import BaseModel

import interlock as il
from interlock.errors import (
    BindError,
    HostError,
    InputError,
    LogVersionError,
    MachineFailedError,
    MissingExtraError,
    ReplayDivergedError,
)
from interlock.hosts.dbos import DBOSHost, application_version
from interlock.hosts.dbos_steps import LiveSteps
from interlock.journal import replay
from tests.durable import desk

from .conftest import NO_SQLITE, until

pytestmark = NO_SQLITE

Launch = Callable[..., None]


class Go(il.Event):
    """Go on."""

    by: int = 1


class Stop(il.Event):
    """No further."""


class Count(BaseModel, frozen=True):
    n: int = 0


agent = il.setup_agent(context=Count, events=[Go, Stop], input=int, output=int)


def counter(*, version: str | None = None, most: int = 3) -> il.Machine:
    return agent.machine(
        "counter",
        context=lambda given: Count(n=given),
        version=version,
        initial="counting",
        states={
            "counting": agent.state(
                always=[agent.always("over", guard=lambda c: c.n >= most)],
                on=[agent.on(Go, lambda c, event: agent.stay(n=c.n + event.by))],
            ),
            "over": agent.final(output=lambda c: c.n),
        },
    )


def failing() -> il.Machine:
    def breaks() -> int:
        raise ValueError("the drawer is stuck")

    plain = il.setup_agent(events=[Go], output=int)
    return plain.machine(
        "failing",
        context={},
        initial="calling",
        states={
            "calling": plain.state(invoke=plain.call(breaks, name="open", on_done=lambda c, out: plain.goto("over"))),
            "over": plain.final(output=1),
        },
    )


def test_a_machine_without_a_model_counts_to_its_end(launch: Launch):
    host = DBOSHost(counter())
    launch(host)
    assert host.start(0, workflow_id="a") == host.start(0, workflow_id="a") == "a"
    for _ in range(3):
        host.send("a", Go())
    assert host.result("a", poll=0.01) == 3
    assert [entry.type for entry in host.standing("a").entries] == ["@agent.init", "Go", "Go", "Go"]


def test_an_event_that_is_sent_twice_counts_once(launch: Launch):
    host = DBOSHost(counter())
    launch(host)
    host.start(0, workflow_id="a")
    for _ in range(3):
        host.send("a", Go(), event_id="first")
    host.send("a", Go(by=2), event_id="second")
    assert host.result("a", poll=0.01) == 3
    assert [entry.id for entry in host.standing("a").entries] == ["evt_00000000", "first", "second"]
    host.send("a", Go(), event_id="second")  # a sender that has not heard may always send again
    assert len(host.standing("a").entries) == 3


def test_an_event_that_nothing_waits_for_changes_nothing_and_is_listed(launch: Launch):
    host = DBOSHost(counter())
    launch(host)
    host.start(0, workflow_id="a")
    host.send("a", Stop())
    host.send("a", Go(by=3))
    assert host.result("a", poll=0.01) == 3
    standing = host.standing("a")
    assert standing.ignored == ({"type": "Stop"},)
    assert replay(host.machine, standing.entries, verify="strict").snapshot.output == 3


def test_what_is_no_event_or_no_workflow_is_said_before_it_is_sent(launch: Launch):
    host = DBOSHost(counter())
    other = DBOSHost(failing())
    launch(host, other)
    host.start(0, workflow_id="a")
    with pytest.raises(InputError, match="Gone"):
        host.send("a", {"type": "Gone"})
    with pytest.raises(HostError, match="no workflow 'b'"):
        host.send("b", Go())
    with pytest.raises(HostError, match=r"interlock\.counter"):
        other.result("a")
    with pytest.raises(HostError) as refused:
        host.start(1, workflow_id="a")
    assert refused.value.code == "workflow-exists"
    with pytest.raises(InputError):
        host.start("many", workflow_id="c")
    with pytest.raises(BindError):
        host.send("a", Go(), event_id="evt_00000001")


def test_a_failed_machine_raises_where_its_result_is_asked_for(launch: Launch):
    host = DBOSHost(failing())
    launch(host)
    host.start(workflow_id="a")
    with pytest.raises(MachineFailedError, match="the drawer is stuck") as failed:
        host.result("a", poll=0.01)
    assert (failed.value.code, failed.value.info.type) == ("machine-failed", "ValueError")
    assert host.standing("a").entries[-1].status == "error"


def test_a_workflow_of_another_version_is_never_gone_on_with(launch: Launch):
    from dbos import DBOS

    old = DBOSHost(counter(version="1"))
    launch(old)
    old.start(0, workflow_id="a")
    old.send("a", Go())
    DBOS.destroy(destroy_registry=True)
    new = DBOSHost(counter(version="2"))
    launch(new)
    for asked in (new.result, new.standing, lambda id: new.send(id, Go()), lambda id: new.start(0, workflow_id=id)):
        with pytest.raises(LogVersionError, match=r"version '1'.*version '2'") as refused:
            asked("a")
        assert (refused.value.expected, refused.value.actual) == ("2", "1")
    DBOS.destroy(destroy_registry=True)
    again = DBOSHost(counter(version="1"))
    launch(again)
    again.send("a", Go(by=2))
    assert again.result("a", poll=0.01) == 3


def test_nor_where_the_application_version_was_pinned(launch: Launch):
    from dbos import DBOS

    launch_old = DBOSHost(counter(version="1"))
    launch(launch_old, version="pinned")
    launch_old.start(0, workflow_id="a")
    DBOS.destroy(destroy_registry=True)
    new = DBOSHost(counter(version="2"))
    launch(new, version="pinned")
    with pytest.raises(LogVersionError, match=r"version '1'.*version '2'"):
        new.result("a", poll=0.01)


def test_the_version_of_an_application_is_that_of_its_machines(launch: Launch):
    one, two = DBOSHost(counter(version="1")), DBOSHost(desk.desk(version="1"), desk.executors())
    assert application_version("app", one, two) == application_version("app", two, one)
    assert len({application_version(app, *hosts) for app in ("app", "b") for hosts in ([one], [two], [one, two])}) == 6


def test_a_process_that_ends_in_order_cuts_off_a_call_and_does_not_take_that_for_a_failure(launch: Launch):
    from dbos import DBOS

    begun, asks = threading.Event(), threading.Event()
    made: list[str] = []

    async def slow(request: il.DecisionRequest, info: il.ExecutorInfo) -> il.Choice:
        made.append(info.call_key)
        if len(made) == 1:
            begun.set()
            await anyio.sleep(3600)
        return await desk.executors().decide(request, info)

    def stamp(topic: str) -> int:
        asks.set()  # from here on it is a timer of no length, and then the person
        return len(topic)

    def host_of() -> DBOSHost:
        executors = il.Executors(decide=slow, generate_text=desk.executors().generate_text)
        return DBOSHost(desk.desk(stamp, delay=0), executors)

    first = host_of()
    launch(first)
    first.start(workflow_id="a")
    assert begun.wait(60)
    DBOS.destroy(destroy_registry=True)
    second = host_of()
    launch(second)
    assert asks.wait(8)
    second.send("a", desk.Approve(by="Ann"))
    assert second.result("a", poll=0.01)["by"] == "farewell: Ann"
    assert made[0] == made[1]
    assert "@error" not in json.dumps([entry.type for entry in second.standing("a").entries])


def test_a_call_that_a_timer_overtakes_is_cancelled_and_recorded_as_given_up(launch: Launch):
    from dbos import DBOS

    begun, cancelled = threading.Event(), threading.Event()

    async def endless(request: il.TextRequest, info: il.ExecutorInfo) -> il.TextResult:
        begun.set()
        try:
            await anyio.sleep(3600)
        finally:
            cancelled.set()
        raise AssertionError

    machine = agent.machine(
        "slow",
        context=lambda given: Count(),
        initial="writing",
        states={
            "writing": agent.state(
                invoke=agent.generate_text(model="m", prompt="Write.", on_done="over"),
                after=[agent.after(0.1, "late")],
            ),
            "over": agent.final(output=1),
            "late": agent.final(output=2),
        },
    )
    host = DBOSHost(machine, il.Executors(generate_text=endless))
    launch(host)
    host.start(0, workflow_id="a")
    assert host.result("a", poll=0.01) == 2
    assert cancelled.wait(60) if begun.is_set() else True  # on a busy computer it may not even have begun
    outputs = {step["function_name"]: step["output"] for step in DBOS.list_workflow_steps("a")}
    assert json.loads(outputs["text 0.slow.writing#1.0"])["result"] is None


def test_a_workflow_that_was_cancelled_is_said_to_be_lost(launch: Launch):
    from dbos import DBOS

    host = DBOSHost(counter())
    launch(host)
    host.start(0, workflow_id="a")
    DBOS.cancel_workflow("a")
    with pytest.raises(HostError, match="was cancelled") as lost:
        host.result("a", poll=0.01)
    assert lost.value.code == "workflow-lost"


def test_a_limit_that_is_no_number_of_calls_is_said():
    with pytest.raises(BindError, match="0 or more"):
        DBOSHost(counter(), max_model_calls=-1)


def test_two_threads_that_start_the_same_one_wait_for_the_same(launch: Launch, monkeypatch: pytest.MonkeyPatch):
    from dbos import DBOS

    host = DBOSHost(counter())
    launch(host)
    monkeypatch.setattr("interlock.hosts.dbos._BEGINS_WITHIN", 60.0)
    both = threading.Barrier(2, timeout=10)
    asked = DBOS.get_workflow_status
    looks = iter(range(2))

    def look(workflow_id: str):
        found = asked(workflow_id)
        if next(looks, None) is not None:
            both.wait()  # neither has started it when the other one looks
        return found

    monkeypatch.setattr(DBOS, "get_workflow_status", look)
    threads = [threading.Thread(target=host.start, args=(0,), kwargs={"workflow_id": "a"}, daemon=True) for _ in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    assert host._starting == {}


def test_a_start_that_fails_leaves_nothing_behind(launch: Launch, monkeypatch: pytest.MonkeyPatch):
    from dbos import DBOS

    def breaks(*given: object):
        raise ConnectionError("the database is gone")

    host = DBOSHost(counter())
    launch(host)
    with monkeypatch.context() as patched:
        patched.setattr(DBOS, "start_workflow", breaks)
        with pytest.raises(ConnectionError):
            host.start(0, workflow_id="a")
    assert host._starting == {}
    host.start(3, workflow_id="a")
    assert host.result("a", poll=0.01) == 3


def test_how_it_stands_may_be_asked_right_after_the_start(launch: Launch, monkeypatch: pytest.MonkeyPatch):
    now = LiveSteps.now

    async def slowly(steps: LiveSteps) -> float:
        await anyio.sleep(0.2)
        return await now(steps)

    monkeypatch.setattr(LiveSteps, "now", slowly)
    host = DBOSHost(counter())
    launch(host)
    host.start(0, workflow_id="a")
    assert host.standing("a").snapshot.states[-1] == "counter.counting"


def test_a_machine_that_has_changed_in_the_same_version_is_said_by_all_who_ask(launch: Launch):
    from dbos import DBOS

    def machine(first: int) -> il.Machine:
        plain = il.setup_agent(context=Count, events=[Go], output=int)
        return plain.machine(
            "changed",
            version="1",
            context=Count(n=first),
            initial="calling",
            states={
                "calling": plain.state(
                    invoke=plain.call(lambda: 1, name="one", on_done=lambda c, out: plain.goto("waiting", n=out))
                ),
                "waiting": plain.state(on=[plain.on(Go, "over")]),
                "over": plain.final(output=lambda c: c.n),
            },
        )

    old = DBOSHost(machine(0))
    launch(old)
    old.start(workflow_id="a")
    until(lambda: old.standing("a").snapshot.states[-1] == "changed.waiting")
    DBOS.destroy(destroy_registry=True)
    new = DBOSHost(machine(5))
    launch(new)
    for asked in (new.standing, lambda id: new.result(id, poll=0.01)):
        with pytest.raises(ReplayDivergedError, match="another version="):
            asked("a")


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "dbos", None)  # what an import of a package that is not there comes to
    with pytest.raises(MissingExtraError, match=r"interlock\[dbos\]") as missing:
        DBOSHost(counter())
    assert (missing.value.package, missing.value.extra) == ("dbos", "dbos")
