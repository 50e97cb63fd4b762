"""How the commands are called: in this process, in another one, and at a terminal."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from interlock.cli.app import app


@dataclass(frozen=True)
class Called:
    status: int
    out: str
    err: str


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def demo(here: Path):
    """Call the demo in this process, without a terminal."""

    def call(*arguments: str) -> Called:
        done = CliRunner().invoke(app, ["demo", "support", *arguments], catch_exceptions=False)
        return Called(done.exit_code, done.stdout, done.stderr)

    return call


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
            env={**os.environ, "PYTHONIOENCODING": "utf-8", **(env or {})},
            check=False,
        )
        return Called(done.returncode, done.stdout, done.stderr)

    return call
