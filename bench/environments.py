"""Measures each peer in an environment of its own, kept in a cache directory.

An environment is made once: a virtual environment with one peer in it, or a
directory with one package from npm.  A file says that it is complete; without
that file it is thrown away and made again.  To renew one, delete its directory.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import venv
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent
PYTHON_PEERS = ("automat", "hat-stc", "transitions", "sismic", "python-statemachine", "xstate-statemachine")
XSTATE = "xstate@6.0.0-alpha.52"

_INSTALL_SECONDS = 600
_MEASURE_SECONDS = 1800


class PeerError(Exception):
    """A peer could not be installed or measured."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A library to compare with.

    Args:
        name: its name in the report.
        install: fills an empty directory.
        command: the command that measures it, given that directory.
    """

    name: str
    install: Callable[[Path], None]
    command: Callable[[Path], list[str]]


def all_peers() -> list[Peer]:
    """Every peer, in the order of the report."""
    return [
        *(_python_peer(name, "peers.on_" + name.replace("-", "_"), name) for name in PYTHON_PEERS),
        Peer("xstate", _install_xstate, _run_xstate),
    ]


def durable_peers() -> list[Peer]:
    """Every peer that keeps a thread across processes, in the order of the report."""
    return [
        _python_peer("langgraph", "durable_peers.on_langgraph", "langgraph", "langgraph-checkpoint-sqlite"),
        _python_peer("apache-burr", "durable_peers.on_burr", "apache-burr"),
        # From 2.0 on it has no persistence.
        _python_peer("pydantic-graph", "durable_peers.on_pydantic_graph", "pydantic-graph~=1.107"),
    ]


def default_cache() -> Path:
    """Where the environments of this user are kept."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "interlock-bench"


def measured(peer: Peer, cache: Path, *, quick: bool) -> dict[str, object]:
    """The peer's figures, or `{"error": ...}` with the reason why there are none."""
    home = cache / peer.name
    try:
        _ensure_installed(peer, home)
        say(f"{peer.name}: measuring")
        command = peer.command(home) + (["--quick"] if quick else [])
        figures: dict[str, object] = json.loads(_run(command, limit=_MEASURE_SECONDS, cwd=BENCH))
    except (PeerError, OSError, ValueError, subprocess.SubprocessError) as error:
        say(f"{peer.name}: {error}")
        return {"error": str(error)}
    return figures


def say(line: str) -> None:
    """Progress, on stderr."""
    print(line, file=sys.stderr, flush=True)


def _ensure_installed(peer: Peer, home: Path) -> None:
    complete = home / ".complete"
    if complete.exists():
        return
    say(f"{peer.name}: installing into {home}")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    peer.install(home)
    complete.touch()


def _python_peer(name: str, module: str, *requirements: str) -> Peer:
    """A peer from PyPI, measured by that module of ours."""

    def install(home: Path) -> None:
        venv.create(home, with_pip=True)
        _run([_python(home), "-m", "pip", "install", "--quiet", *requirements], limit=_INSTALL_SECONDS)

    return Peer(name, install, lambda home: [_python(home), "-m", module])


def _python(home: Path) -> str:
    return str(home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))


def _install_xstate(home: Path) -> None:
    _program("node")
    command = [_program("npm"), "install", "--prefix", str(home), "--no-audit", "--no-fund", "--silent", XSTATE]
    _run(command, limit=_INSTALL_SECONDS)


def _run_xstate(home: Path) -> list[str]:
    # A module resolves its imports from where it lies, so it must lie beside node_modules.
    script = shutil.copy(BENCH / "xstate.mjs", home)
    return [_program("node"), "--single-threaded", "--expose-gc", str(script)]


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise PeerError(f"there is no `{name}` on this machine")
    return found


def _run(command: Sequence[str], *, limit: float, cwd: Path | None = None) -> str:
    """Runs the command, passes its stderr on, and returns its stdout."""
    environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}}
    environment["NODE_ENV"] = "production"
    last_lines: deque[str] = deque(maxlen=3)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env=environment
    ) as process:
        watchdog = threading.Timer(limit, process.kill)
        watchdog.start()
        try:
            for line in process.stderr or ():
                say(line.rstrip())
                if line.strip():
                    last_lines.append(line.strip())
            output = process.stdout.read() if process.stdout else ""
        finally:
            watchdog.cancel()
    if process.returncode != 0:
        reason = " / ".join(last_lines) or f"status {process.returncode}, perhaps after {limit:.0f} seconds"
        raise PeerError(f"`{Path(command[0]).name} {' '.join(command[1:])}` failed: {reason}")
    return output
