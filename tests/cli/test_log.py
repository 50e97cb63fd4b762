"""``interlock log``: what is kept of runs, listed, shown, compared, and held against today's machine."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from functools import partial

import anyio
import pytest

import interlock as il
from interlock.journal.stores import RedisStore, SQLiteStore, open_store

MACHINES = '''
import signal
import interlock as il

class Go(il.Event):
    """Go on."""
    by: str = ""

def door(version="1", *, goes="open", migrate=None):
    def went(context, go):
        if goes == "stop":
            signal.raise_signal(signal.SIGINT)
        if goes == "raise":
            raise ValueError("the hinge\\nis stuck")
        return agent.goto(goes, by=go.by + ("?" if goes == "shut" else ""))
    states = {"shut": agent.state(on=[agent.on(Go, went)]),
              "open": agent.state(on=[agent.on(Go, "gone")]), "gone": agent.final()}
    return agent.machine("door", version=version, context={"by": ""}, initial="shut", states=states, migrate=migrate)

agent = il.setup_agent(events=[Go])
now = door()
changed = door(goes="shut")
raising = door(goes="raise")
newer = door("2")
migrating = door("2", migrate=lambda dump, version: dump)
refusing = door("2", migrate=lambda dump, version: 1 / 0)
stopped = door(goes="stop")
window = agent.machine("window", version="1", context={}, initial="a", states={"a": agent.state(on=[agent.on(Go, "a")])}
)
'''

URL = "sqlite:runs.db"


@pytest.fixture
def log(call):
    return partial(call, "log")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Three threads, kept by a process of its own: one waits, one has ended, one is another machine's."""
    place = tmp_path_factory.mktemp("kept")
    (place / "machines.py").write_text(MACHINES, "utf-8")
    program = """
import anyio, sys
sys.path.insert(0, ".")
import interlock as il, machines
from interlock.journal.stores import open_store

async def main():
    store = open_store("sqlite:runs.db")
    for machine, thread, events in ((machines.window, "w", 0), (machines.now, "waits", 1), (machines.now, "ended", 2)):
        await il.run_agent(machine, store=store, thread_id=thread, clock=il.FakeClock(1767225600.0))
        for number in range(events):
            event = machines.Go(by=f"person {number}")
            await il.run_agent(machine, store=store, thread_id=thread, event=event, clock=il.FakeClock(1767225601.5))
    await store.aclose()

anyio.run(main)
"""
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=place)
    return place


@pytest.fixture(autouse=True)
def runs(here, kept):
    """Those threads, for each test anew."""
    shutil.copytree(kept, here, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


def refused(called, status: int = 2) -> str:
    assert called.status == status, called
    (line,) = called.err.splitlines()
    assert line.startswith("interlock: ")
    assert "Traceback" not in called.out
    return line


def test_the_logs_of_a_store_in_a_process_of_its_own(process):
    called = process("log", "list", URL)
    assert (called.status, called.err) == (0, "")
    assert [line.split()[:4] for line in called.out.splitlines()] == [
        ["THREAD", "STATUS", "ENTRIES", "MACHINE"],
        ["ended", "done", "3", "door"],
        ["waits", "waiting", "2", "door"],
        ["w", "waiting", "1", "window"],
    ]
    assert "2026-01-01 00:00:01.500Z" in called.out
    assert "\x1b" not in called.out


def test_only_those_that_stand_like_this(log):
    found = json.loads(log("list", URL, "--status", "done", "--json").out)
    assert [(one["thread_id"], one["status"], one["entries"]) for one in found] == [("ended", "done", 3)]
    assert log("list", URL, "--status", "error").out == "no logs that are error\n"
    assert log("list", URL, "--status", "well").status == 2


def test_the_entries_of_a_log(log):
    called = log("show", URL, "ended")
    assert called.out.splitlines() == [
        "ended: door 1, 3 entries, done",
        "    0  2026-01-01 00:00:00.000Z  @agent.init  -> waiting",
        "    1  2026-01-01 00:00:01.500Z  Go  by=person 0",
        "    2  2026-01-01 00:00:01.500Z  Go  by=person 1  -> done",
    ]


def test_an_exported_log_is_read_again(log, here):
    called = log("show", URL, "ended", "--json")
    (here / "ended.jsonl").write_text(called.out, "utf-8")
    assert log("show", "ended.jsonl", "ended", "--json").out == called.out
    assert log("check", "machines:now", "ended.jsonl").status == 0
    (here / "waits.jsonl").write_text(log("show", URL, "waits", "--json").out, "utf-8")
    assert "2 of 2 logs" in log("check", "machines:now", ".").out
    assert "1 entries in common" not in log("diff", "machines:now", ".", "waits", "ended").out


def test_a_file_may_be_a_part_of_a_log(log, here):
    lines = log("show", URL, "ended", "--json").out.splitlines(keepends=True)
    (here / "tail.jsonl").write_text("".join(lines[1:]), "utf-8")
    assert log("show", "tail.jsonl", "tail").out.splitlines() == [
        "tail: door 1, 2 entries, done",
        "    1  2026-01-01 00:00:01.500Z  Go  by=person 0  -> waiting",
        "    2  2026-01-01 00:00:01.500Z  Go  by=person 1  -> done",
    ]
    assert log("list", "tail.jsonl").out.splitlines()[1].split()[:4] == ["tail", "done", "2", "door"]
    assert "entry 0: has index 1" in log("check", "machines:now", "tail.jsonl").out


def test_what_only_some_terminals_show_is_exported_whole(process, here):
    async def write() -> None:
        store = SQLiteStore(here / "runs.db")
        log = await store.read("waits")
        said = il.LogEntry.from_json(
            {**log[1].to_json(), "index": 2, "id": "x", "event": {"type": "Go", "by": "Ä\x1b[1m"}}
        )
        await store.append("waits", 2, [said])
        await store.aclose()

    anyio.run(write)
    for encoding in ("ascii", "utf-8"):
        called = process("log", "show", URL, "waits", "--json", env={"PYTHONIOENCODING": encoding})
        assert json.loads(called.out.splitlines()[2])["event"]["by"] == "Ä\x1b[1m"
    assert "\x1b" not in process("log", "show", URL, "waits").out


@pytest.mark.parametrize(
    ("machine", "status", "verdicts"),
    [
        ("now", 0, {"ok"}),
        ("changed", 1, {"diverged"}),
        ("raising", 1, {"fails"}),
        ("newer", 1, {"other-version"}),
        ("migrating", 0, {"migrates"}),
        ("refusing", 1, {"other-version"}),
    ],
)
def test_logs_are_held_against_the_machine_of_today(log, here, machine, status, verdicts):
    before = (here / "runs.db").read_bytes()
    called = log("check", f"machines.py:{machine}", URL)
    assert (called.status, called.err) == (status, "")
    lines = called.out.splitlines()
    assert {re.match(r"\w+ +([\w-]+) \(", line)[1] for line in lines[:-1]} == verdicts
    assert lines[-1].startswith(f"{2 if status == 0 else 0} of 2 logs can be gone on with by door ")
    assert lines[-1].endswith("; 1 of other machines left out")
    if machine in {"changed", "raising"}:
        assert "entry 1 (evt_00000001): " in called.out
        assert ("the hinge is stuck" in called.out) == (machine == "raising")
    found = json.loads(log("check", f"machines.py:{machine}", URL, "--json").out)
    assert (found["ok"], found["of_other_machines"]) == (status == 0, 1)
    assert {one["verdict"] for one in found["logs"]} == verdicts
    assert (here / "runs.db").read_bytes() == before


def test_the_name_of_a_thread_stays_on_its_line_and_moves_no_cursor(process, here):
    program = """
import anyio, sys
sys.path.insert(0, ".")
import interlock as il, machines

async def main():
    store = il.SQLiteStore("runs.db")
    await il.run_agent(machines.now, store=store, thread_id="two\\nlines \\x1b[31mred")
    await store.aclose()

anyio.run(main)
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=here)
    listed, checked = process("log", "list", URL), process("log", "check", "machines:now", URL)
    missing = process("log", "show", URL, "nobody")
    for called in (listed, checked, missing):
        assert "\x1b" not in called.out + called.err
        assert re.search(r"two lines +\[31mred", called.out + called.err)
    assert len(listed.out.splitlines()) == 5
    assert len(checked.out.splitlines()) == 4
    assert len(missing.err.splitlines()) == 1


def test_only_some_threads(log):
    assert "1 of 1 logs" in log("check", "machines:now", URL, "waits").out
    assert "1 of 1 logs" in log("check", "machines:now", URL, "--status", "waiting").out
    called = log("check", "machines:now", URL, "w")
    assert (called.status, "was written by machine 'window'" in called.out) == (1, True)
    assert "there is no thread 'wait'. Did you mean 'waits'?" in refused(log("check", "machines:now", URL, "wait"))


def test_a_file_keeps_no_snapshot_to_migrate(log, here):
    (here / "a.jsonl").write_text(log("show", URL, "waits", "--json").out, "utf-8")
    called = log("check", "machines:migrating", "a.jsonl")
    assert (called.status, "this is a file" in called.out) == (1, True)


def test_a_log_that_was_cut_off_is_not_migrated(log, here):
    with sqlite3.connect(here / "runs.db") as database:
        database.execute("DELETE FROM interlock_snapshots")
    called = log("check", "machines:migrating", URL, "waits")
    assert (called.status, "no snapshot of its end is kept" in called.out) == (1, True)


def test_two_logs_beside_each_other(log):
    called = log("diff", "machines:now", URL, "waits", "ended")
    assert (called.status, called.err) == (0, "")
    lines = called.out.splitlines()
    assert lines[:3] == ["2 entries in common", "waits: 0 more", "ended: 1 more"]
    assert '  states[0]: "door.open" | "door.gone"' in lines
    assert log("diff", "machines:now", URL, "waits", "waits").out.endswith("the states are the same\n")
    found = json.loads(log("diff", "machines:now", URL, "waits", "ended", "--json").out)
    assert (found["common"], len(found["right"])) == (2, 1)
    assert {"path": "states[0]", "sides": "both", "left": "door.open", "right": "door.gone"} in found["changes"]
    assert "written by version '1'" in refused(log("diff", "machines:newer", URL, "waits", "ended"), 1)


def test_a_damaged_file_is_a_log_that_cannot_be_gone_on_with(log, here):
    good = log("show", URL, "waits", "--json").out
    (here / "logs").mkdir()
    (here / "logs" / "good.jsonl").write_text(good, "utf-8")
    (here / "logs" / "half.jsonl").write_text(good[:-20], "utf-8")
    (here / "logs" / "bytes.jsonl").write_bytes(b"\xff\n")
    (here / "logs" / "empty.jsonl").write_bytes(b"")
    called = log("check", "machines:now", "logs")
    assert called.status == 1
    assert re.search(r"^good +ok", called.out, re.MULTILINE)
    assert re.search(r"^half +invalid: line 2: is no JSON", called.out, re.MULTILINE)
    assert re.search(r"^bytes +invalid: line 1: is not UTF-8", called.out, re.MULTILINE)
    assert re.search(r"^empty +invalid: the file is empty", called.out, re.MULTILINE)
    assert "invalid" in log("list", "logs").out
    assert "line 2: is no JSON" in refused(log("show", "logs", "half"), 1)


@pytest.mark.parametrize(
    ("place", "status", "told"),
    [
        ("nowhere.db", 2, "a store's URL begins with its kind"),
        ("ftp://user:s3cret@host/x", 2, "'ftp:' is none that there is"),
        ("sqlite:nowhere.db", 1, "there is no file nowhere.db"),
        ("sqlite:///nowhere.db", 1, "there is no file nowhere.db"),
        ("sqlite:.", 1, ". is not a file"),
        ("sqlite:machines.py", 1, "machines.py cannot be read: file is not a database"),
        ("sqlite:other.db", 1, "it holds none of the tables of a store"),
        ("sqlite::memory:", 2, "that of another process"),
        ("memory:", 2, "another process"),
        ("runs.db", 2, "give sqlite:runs.db"),
        ("nowhere.jsonl", 1, "there is no file nowhere.jsonl"),
        ("empty", 1, "no file in it ends with .jsonl"),
        ("postgresql://user:s3cret@127.0.0.1:9/x", 1, "Connection refused"),
        ("redis://:s3cret@127.0.0.1:9/0", 1, "Redis: "),
        ("a\udcff", 2, "STORE is not UTF-8"),
    ],
)
def test_places_without_logs(log, here, place, status, told):
    (here / "empty").mkdir()
    sqlite3.connect(here / "other.db").execute("CREATE TABLE t (x)").connection.close()
    before = sorted(path.name for path in here.iterdir())
    line = refused(log("list", place), status)
    assert told in line
    assert "s3cret" not in line
    assert sorted(path.name for path in here.iterdir() if path.name != "__pycache__") == before


def test_a_thread_that_is_not_there(log):
    assert "there is no thread 'end'" in refused(log("show", URL, "end"))
    assert "there is no thread 'x'" in refused(log("diff", "machines:now", URL, "x", "ended"))
    assert "THREAD is not UTF-8" in refused(log("show", URL, "a\udcff"))
    assert "1 to 512 characters" in refused(log("show", URL, "x" * 600))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="whoever is root may read everything")
def test_a_file_that_may_not_be_read(log, here):
    (here / "a.jsonl").write_text("", "utf-8")
    (here / "a.jsonl").chmod(0)
    assert "a.jsonl cannot be read: permission denied" in refused(log("show", "a.jsonl", "a"), 1)


@pytest.mark.parametrize(("package", "url"), [("psycopg", "postgresql://host/x"), ("redis", "redis://host")])
def test_a_database_whose_extra_is_not_installed(process, package, url):
    called = process("log", "list", url, before=f"import sys\nsys.modules[{package!r}] = None")
    line = refused(called)
    assert f"needs the package '{package}'" in line.replace("need the", "needs the")
    assert "pip install 'interlock[" in line


def test_ctrl_c_in_the_middle_of_a_replay(process):
    before = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)"
    called = process("log", "check", "machines:stopped", URL, before=before)
    assert (called.status, called.out) == (130, "")
    assert called.err == "interlock: stopped; nothing was changed\n"


def test_what_is_done_is_said_at_a_terminal_only(talk):
    status, shown = talk("log", "check", "machines:now", URL, answers=[])
    assert status == 0
    assert "checking 1 of 2: ended" in shown
    assert "2 of 2 logs" in shown


@pytest.mark.parametrize("command", [[], ["check"], ["list"], ["show"], ["diff"]])
def test_every_command_has_help(log, command):
    called = log(*command, "--help")
    assert called.status == 0
    assert "STORE" in called.out or not command


def kept_elsewhere(log, url: str, store: il.Store, here) -> None:
    """An empty database stays empty; then it holds a log, which is checked."""
    assert "there are no logs in this" in refused(log("list", url), 1)

    async def copied() -> None:
        source = SQLiteStore(here / "runs.db")
        await store.append("waits", 0, await source.read("waits"))
        await source.aclose()
        await store.aclose()

    assert "there are no logs in this" in refused(log("show", url, "waits"), 1)
    anyio.run(copied)
    assert "1 of 1 logs" in log("check", "machines:now", url).out


def test_logs_in_postgres(log, postgres_server, here, monkeypatch):
    monkeypatch.setenv("PGOPTIONS", "-c search_path=cli_log")
    postgres_server.execute("DROP SCHEMA IF EXISTS cli_log CASCADE; CREATE SCHEMA cli_log")
    kept_elsewhere(log, postgres_server.url, open_store(postgres_server.url + "?options=-csearch_path%3Dcli_log"), here)


def test_logs_in_redis(log, redis_server, here):
    import redis

    url = f"{redis_server.url}"
    redis.Redis.from_url(url).flushall()
    kept_elsewhere(log, url, RedisStore(url, durability="none"), here)


def test_logs_in_another_database_of_redis(log, redis_server, here):
    import redis

    place = redis_server.url.removesuffix("/0")
    redis.Redis.from_url(place).flushall()
    url = f"{place}?db=3"
    kept_elsewhere(log, f"{url}&durability=everysec", RedisStore(url, durability="none"), here)
    assert "1 of 1 logs" in log("check", "machines:now", url).out
    assert "there are no logs in this" in refused(log("list", f"{place}?db=4"), 1)
