"""Questions to people on durable hosts: nobody's call, open until a reply fits, whoever dies meanwhile."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import interlock as il
from interlock.errors import BindError, HostError, InputError
from interlock.hosts.dbos import DBOSHost
from interlock.hosts.loop import message_of, reply_of
from interlock.journal import replay

from .clerk import WORKFLOW, Order, clerk
from .conftest import NO_SQLITE, until
from .pocket import DiedError, Pocket
from .test_loop import ended

Launch = Callable[..., None]
ROOT = Path(__file__).parents[2]
NAME, ADDRESS = (item.id for item in il.initial_agent_step(clerk(), at=0.0).pending_inputs)
HOME = {"street": "Elm", "number": 3}
WHOLE = Order(name="Ada", address="Elm 3")


def replies(*more: tuple[float, dict]) -> list:
    return [*more, (1_010.0, reply_of(NAME, "Ada", "mail-1")), (1_020.0, reply_of(ADDRESS, HOME, None))]


async def test_a_question_is_open_until_its_reply_comes():
    engine = Pocket(mail=replies())
    snapshot, entries, ignored = await ended(clerk(), engine)
    assert (snapshot.output, engine.made, ignored) == (WHOLE, [], [])
    assert [(entry.id, entry.by, entry.recorded_at) for entry in entries[1:]] == [
        ("mail-1", "human", 1_010.0),
        ("evt_00000002", "human", 1_020.0),
    ]


async def test_it_comes_to_the_log_that_the_steps_write():
    mail = [(1_010.0, reply_of(NAME, "Ada", None)), (1_020.0, reply_of(ADDRESS, HOME, None))]
    _, entries, _ = await ended(clerk(), Pocket(mail=mail))
    step = il.initial_agent_step(clerk(), at=1_000.0, execution_id="pocket")
    log = [*step.entries]
    for request, reply, at in ((NAME, "Ada", 1_010.0), (ADDRESS, HOME, 1_020.0)):
        step = il.resolve_agent_step(step.head.machine, step, request, reply, at=at)
        log += step.entries
    assert [entry.to_json() for entry in entries] == [entry.to_json() for entry in log]


async def test_whatever_record_it_dies_at_the_reply_counts_once():
    whole = Pocket(mail=replies())
    expected, log, _ = await ended(clerk(), whole)
    for most in range(len(whole.records)):
        first = Pocket(mail=replies(), most=most)
        with pytest.raises(DiedError):
            await ended(clerk(), first)
        snapshot, entries, _ = await ended(clerk(), first.again())
        assert snapshot.dump() == expected.dump()
        assert [entry.happened() for entry in entries] == [entry.happened() for entry in log]


JUNK = {
    "of no question": reply_of("nobody#9", "Eve", None),
    "of a question with no text for its id": {"reply": "Eve", "request_id": [NAME]},
    "of nothing": {"reply": "Eve"},
    "that does not fit": reply_of(ADDRESS, {"street": "Elm", "number": 0}, None),
    "with an id that is none": {"reply": "Eve", "request_id": NAME, "id": [1]},
    "with an id of the log's own": {"reply": "Eve", "request_id": NAME, "id": "evt_00000007"},
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
async def test_a_reply_that_is_none_is_ignored_and_told(junk: dict):
    snapshot, entries, ignored = await ended(clerk(), Pocket(mail=replies((1_005.0, junk))))
    assert (snapshot.output, ignored) == (WHOLE, [junk])
    assert [entry.index for entry in entries] == [0, 1, 2]


async def test_the_first_reply_counts_and_time_may_be_up():
    late = [(1_011.0, reply_of(NAME, "Eve", None)), (1_012.0, reply_of(NAME, "Bob", "mail-1"))]
    mail = [*replies()[:1], *late, (1_100.0, reply_of(ADDRESS, HOME, None))]
    snapshot, _, ignored = await ended(clerk(patience=60), Pocket(mail=mail))
    assert snapshot.output == Order(name="Ada")
    assert ignored == [late[0][1]]  # the other one has an id that was seen: it has counted


async def test_a_question_beside_an_event_takes_either():
    class Cancel(il.Event, actor="human"):
        """Forget it."""

    agent = il.setup_agent(events=[Cancel], output=str)
    machine = agent.machine(
        "either",
        context={},
        initial="asking",
        states={
            "asking": agent.state(
                invoke=agent.user_input("Why?", on_done=lambda c, out: agent.goto("told")),
                on=[agent.on(Cancel, "cancelled")],
            ),
            "told": agent.final(output="told"),
            "cancelled": agent.final(output="cancelled"),
        },
    )
    asked = il.initial_agent_step(machine).pending_inputs[0].id
    for message, output in ((reply_of(asked, "So.", None), "told"), (message_of(Cancel(), None), "cancelled")):
        snapshot, _, _ = await ended(machine, Pocket(mail=[(1_001.0, message)]))
        assert snapshot.output == output


# -- on DBOS ---------------------------------------------------------------------------------------------------------


@NO_SQLITE
def test_on_dbos_questions_are_listed_and_replies_are_checked_before_they_are_sent(launch: Launch):
    host = DBOSHost(clerk())
    launch(host)
    host.start(workflow_id=WORKFLOW)
    name, address = host.standing(WORKFLOW).pending_inputs
    assert (name.id, name.prompt, address.id) == (NAME, "Your name?", ADDRESS)
    refused = {
        "unknown-request": lambda: host.reply(WORKFLOW, "nam", "Ada"),
        "invalid-reply": lambda: host.reply(WORKFLOW, ADDRESS, {"street": "Elm", "number": 0}),
    }
    for code, replying in refused.items():
        with pytest.raises(InputError) as error:
            replying()
        assert error.value.code == code
    for wrong in (lambda: host.reply(WORKFLOW, [NAME], "Ada"), lambda: host.reply(WORKFLOW, NAME, "Ada", event_id="")):
        with pytest.raises(BindError):
            wrong()
    with pytest.raises(HostError, match="no workflow 'b'"):
        host.reply("b", NAME, "Ada")
    for _ in range(2):
        host.reply(WORKFLOW, NAME, "Ada", event_id="mail-1")
    until(lambda: len(host.standing(WORKFLOW).pending_inputs) == 1)
    assert [item.prompt for item in host.standing(WORKFLOW).pending_inputs] == ["Where do you live, Ada?"]
    host.reply(WORKFLOW, "address", HOME)
    assert host.result(WORKFLOW, poll=0.01) == WHOLE
    standing = host.standing(WORKFLOW)
    assert (standing.pending_inputs, standing.ignored) == ((), ())
    assert replay(host.machine, standing.entries, verify="strict").snapshot.output == WHOLE
    host.reply(WORKFLOW, NAME, "Ada", event_id="mail-1")  # who has not heard may always send again
    with pytest.raises(InputError, match="nobody is asked"):
        host.reply(WORKFLOW, NAME, "Eve")


@NO_SQLITE
def test_on_dbos_nobody_is_asked_by_a_workflow_that_was_given_up(launch: Launch):
    from dbos import DBOS

    host = DBOSHost(clerk())
    launch(host)
    host.start(workflow_id=WORKFLOW)
    DBOS.cancel_workflow(WORKFLOW)
    with pytest.raises(InputError) as error:
        host.reply(WORKFLOW, NAME, "Ada")
    assert error.value.code == "unknown-request"


@NO_SQLITE
@pytest.mark.slow
def test_on_dbos_a_process_dies_between_two_replies_and_another_takes_the_second(launch: Launch, tmp_path: Path):
    url = f"sqlite:///{tmp_path}/runs.db"
    died = subprocess.run(
        [sys.executable, "-m", "tests.hosts.clerk", url], cwd=ROOT, check=False, timeout=60, capture_output=True
    )
    assert died.returncode == 9, died.stderr.decode()
    host = DBOSHost(clerk())
    launch(host, version="tests-1")
    (address,) = host.standing(WORKFLOW).pending_inputs
    assert (address.id, address.prompt) == (ADDRESS, "Where do you live, Ada?")
    host.reply(WORKFLOW, address.id, HOME)
    ends: list = []
    waiting = threading.Thread(target=lambda: ends.append(host.result(WORKFLOW, poll=0.01)), daemon=True)
    waiting.start()
    waiting.join(60)
    assert ends == [WHOLE]
    assert [entry.id for entry in host.standing(WORKFLOW).entries] == ["evt_00000000", "mail-1", "evt_00000002"]
