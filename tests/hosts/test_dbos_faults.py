"""What strangers do to a host on DBOS: exits in the middle, mail that is none, names that are none, no DBOS at all."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable

import pytest

import interlock as il
from interlock.errors import BindError, HostError, InvalidLogError, MachineFailedError, ReplayDivergedError
from interlock.hosts.dbos import DBOSHost, application_version
from interlock.hosts.dbos_steps import RecordedSteps, RecordEndsError

from .conftest import NO_SQLITE, until

pytestmark = NO_SQLITE

Launch = Callable[..., None]


class Go(il.Event):
    """Go on."""

    by: int = 1


agent = il.setup_agent(events=[Go], output=str)


def waiting(name: str = "waiting", **more: object) -> il.Machine:
    return agent.machine(
        name,
        context={},
        initial="waiting",
        states={"waiting": agent.state(on=[agent.on(Go, "over")]), "over": agent.final(output="over")},
        **more,
    )


def calling(function: Callable[[], str]) -> il.Machine:
    return agent.machine(
        "calling",
        context={},
        initial="calling",
        states={
            "calling": agent.state(
                invoke=agent.call(
                    function, name="it", on_done=lambda c, out: agent.goto("over", said=out), on_error="failed"
                )
            ),
            "over": agent.final(output=lambda c: c["said"]),
            "failed": agent.final(output="failed"),
        },
    )


def ended(host: DBOSHost, workflow_id: str) -> object:
    """Return the result, or what was raised for it; fail where neither comes."""
    ends: list[object] = []

    def ask() -> None:
        try:
            ends.append(host.result(workflow_id, poll=0.01))
        except Exception as error:
            ends.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(20)
    assert ends, "it hangs"
    return ends[0]


class OwnError(BaseException):
    pass


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), OwnError("mine")], ids=repr)
def test_what_would_end_a_process_is_a_failure_of_the_call_and_the_other_workflows_go_on(
    raised: BaseException, launch: Launch
):
    def leaves() -> str:
        raise raised

    other, host = DBOSHost(waiting()), DBOSHost(calling(leaves))
    launch(other, host)
    other.start(workflow_id="other")
    host.start(workflow_id="a")
    assert ended(host, "a") == "failed"
    other.send("other", Go())
    assert ended(other, "other") == "over"


def test_a_handler_that_leaves_fails_its_machine_alone(launch: Launch):
    leaving = agent.machine(
        "leaving",
        context={},
        initial="waiting",
        states={"waiting": agent.state(on=[agent.on(Go, lambda c, event: sys.exit(4))])},
    )
    other, host = DBOSHost(waiting()), DBOSHost(leaving)
    launch(other, host)
    other.start(workflow_id="other")
    host.start(workflow_id="a")
    host.send("a", Go())
    failed = ended(host, "a")
    assert isinstance(failed, MachineFailedError)
    assert (failed.info.type, failed.info.message) == ("SystemExit", "4")
    other.send("other", Go())
    assert ended(other, "other") == "over"


MAIL = {
    "no JSON": "junk",
    "no object": "[1]",
    "a number with no end": "9" * 5_000,
    "too deep": "[" * 5_000,
    "nothing": None,
    "NaN": '{"event": {"type": "Go", "by": NaN}}',
    "half a character": '{"event": {"type": "\\ud800"}}',
    "an id of another kind": '{"event": {"type": "Go"}, "id": [1]}',
    "an object of Python": {"event": {"type": "Go", "by": Go}},
    "a type of another kind": '{"event": {"type": ["Go"]}}',
    "a reply to nothing": '{"reply": 1, "request_id": [1]}',
}


def test_mail_that_the_host_has_not_sent_is_ignored_and_listed(launch: Launch):
    from dbos import DBOS

    host = DBOSHost(waiting())
    launch(host)
    host.start(workflow_id="a")
    for message in MAIL.values():
        DBOS.send("a", message)
    until(lambda: len(host.standing("a").ignored) == len(MAIL))
    assert json.dumps(host.standing("a").ignored)
    host.send("a", Go())
    assert ended(host, "a") == "over"


@pytest.mark.parametrize(
    "name", [None, 3, "", ["a"], b"a", "a\ud800", "a\0", "a" * 600], ids=lambda name: repr(name)[:9]
)
def test_what_cannot_name_a_workflow_is_said(name: object):
    host = DBOSHost(waiting(), name=f"unlaunched {id(name)}")
    asked = (
        lambda: host.start(workflow_id=name),
        lambda: host.send(name, Go()),
        lambda: host.reply(name, "it", 1),
        lambda: host.result(name),
        lambda: host.standing(name),
    )
    for asking in asked:
        with pytest.raises(BindError, match="workflow_id="):
            asking()


def test_arguments_that_mean_nothing_are_said():
    machine = waiting()
    for wrong in (3, "", "\ud800"):
        with pytest.raises(BindError, match="name="):
            DBOSHost(machine, name=wrong)
    host = DBOSHost(machine, name="arguments")
    for wrong in (0, -1, "1", True, float("nan"), float("inf")):
        with pytest.raises(BindError, match="poll="):
            host.result("a", poll=wrong)
    with pytest.raises(BindError, match="is no host"):
        application_version("tests", machine)
    with pytest.raises(BindError, match="app="):
        application_version(host)


def test_without_dbos_it_is_said_how_to_launch_it(launch: Launch):
    from dbos import DBOS

    host = DBOSHost(waiting())
    for _ in range(2):
        for asking in (lambda: host.start(workflow_id="a"), lambda: host.send("a", Go()), lambda: host.standing("a")):
            with pytest.raises(HostError, match=r"DBOS\.launch\(\)") as refused:
                asking()
            assert refused.value.code == "not-launched"
        launch(host)
        host.start(workflow_id="a")
        DBOS.destroy()


def test_in_an_event_loop_it_is_said_to_take_a_thread(launch: Launch):
    host = DBOSHost(waiting())
    launch(host)

    async def ask() -> None:
        for asking in (lambda: host.start(workflow_id="a"), lambda: host.send("a", Go()), lambda: host.result("a")):
            with pytest.raises(BindError, match=r"to_thread\.run_sync"):
                asking()
        await asyncio.to_thread(host.start, workflow_id="a")
        await asyncio.to_thread(host.send, "a", Go())

    asyncio.run(ask())
    assert ended(host, "a") == "over"


def test_two_machines_of_one_name_are_said(launch: Launch):
    one, two = DBOSHost(waiting()), DBOSHost(waiting(version="2"))
    with pytest.raises(BindError, match=r"'interlock\.waiting'.*name="):
        application_version("tests", one, two)
    DBOSHost(waiting(version="2"), name="second")
    assert application_version("tests", one)


def test_a_function_may_start_another_machine_and_wait_for_it(launch: Launch):
    other = DBOSHost(waiting())

    def starts() -> str:
        other.start(workflow_id="other")
        other.send("other", Go(), event_id="once")
        return f"{other.standing('other').entries[0].type} {other.result('other', poll=0.01)}"

    host = DBOSHost(calling(starts))
    launch(other, host)
    host.start(workflow_id="a")
    assert ended(host, "a") == "@agent.init over"


def test_another_machine_in_the_same_version_is_said_by_all_who_ask(launch: Launch):
    from dbos import DBOS

    def machine(name: str) -> il.Machine:
        return agent.machine(
            "changed",
            version="1",
            context={},
            initial="calling",
            states={
                "calling": agent.state(invoke=agent.call(lambda: 1, name="one", id=name, on_done="waiting")),
                "waiting": agent.state(on=[agent.on(Go, "over")]),
                "over": agent.final(output="over"),
            },
        )

    old = DBOSHost(machine("old"))
    launch(old, version="pinned")
    old.start(workflow_id="a")
    until(lambda: old.standing("a").snapshot.value == "waiting")
    DBOS.destroy(destroy_registry=True)
    new = DBOSHost(machine("new"))
    launch(new, version="pinned")
    with pytest.raises(ReplayDivergedError, match=r"'call old#1' was recorded"):
        new.standing("a")
    diverged = ended(new, "a")
    assert isinstance(diverged, ReplayDivergedError)
    assert "another version=" in diverged.message


@pytest.mark.parametrize(
    "junk", ["", "nonsense", "[1]", "{}", '{"at": "now"}', '{"at": 1, "key": 3}', '{"at": NaN, "result": 1}']
)
def test_a_record_that_no_host_has_written_is_said_with_its_name(junk: str):
    steps = RecordedSteps("a", [("begin", '{"at": 1}'), ("wait 1", junk)])
    looking = steps.wait({}, until=None, messages=True)
    with pytest.raises(InvalidLogError, match=r"workflow 'a': the step 'wait 1'"):
        looking.send(None)


def test_what_was_recorded_and_is_not_asked_for_is_known():
    steps = RecordedSteps("a", [("begin", '{"at": 1}'), ("call b", '{"at": 2}'), ("DBOS.sleep", "3"), ("call c", None)])
    assert steps.unasked == ("begin", "call b")
    with pytest.raises(StopIteration):
        steps.now().send(None)
    with pytest.raises(RecordEndsError):
        steps.wait({"call b": None, "call c": None}, until=None, messages=False).send(None)
    assert steps.unasked == ()
