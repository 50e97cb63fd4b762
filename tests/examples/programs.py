"""How the examples are called: as programs, by their paths."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def program(name: str) -> Callable[..., str]:
    """Return a function that runs an example in a folder and returns what it says; ``calls`` gets the model calls."""

    def run(folder: Path, *arguments: str, status: int = 0, calls: list[str] | None = None, **env: str) -> str:
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / name), *arguments],
            cwd=folder,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        if calls is not None:
            calls += [line.removeprefix("call ") for line in done.stderr.splitlines() if line.startswith("call ")]
        return (done.stderr if status == 1 else done.stdout).strip()

    return run
