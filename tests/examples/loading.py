"""The examples as a test takes them: as modules, and as programs that somebody talks to."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from tests.examples.programs import EXAMPLES


def load(name: str) -> ModuleType:
    """Return an example as a module."""
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # types that are named in its annotations are looked up there
    spec.loader.exec_module(module)
    return module


def talk(name: str, folder: Path, *arguments: str, said: str = "", status: int = 0, before: str = "") -> list[str]:
    """Run an example, say something to it, and return its lines; ``before`` is a program that runs first in it."""
    program = [str(EXAMPLES / f"{name}.py")]
    if before:
        start = (
            f"import runpy, sys\nsys.argv = sys.argv[1:]\n{before}\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"
        )
        program = ["-c", start, *program]
    done = subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        input=said,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return (done.stdout + (done.stderr if status == 1 else "")).splitlines()


@contextmanager
def typing(name: str, folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run an example at a terminal of its own, and give the process and where to type."""
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        cwd=folder,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        yield process, ours
    finally:
        process.kill()
        process.communicate()
        os.close(ours)
        os.close(theirs)
