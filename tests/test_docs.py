"""What the pages say is true: each Python block runs, each command that they show exists.

The Python blocks of one page run in order and share one name space, as a reader would type them; a block may
``await``. No block is left out: a fence of another kind than those in `KINDS` is a mistake here.
"""

import ast
import doctest
import importlib
import inspect
import re
import shlex
import subprocess
import sys
import types
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
SHELL = {"bash", "console", "sh", "shell"}
KINDS = {"python", "json", "mermaid", "text", "toml", "yaml", *SHELL}
COMMAND_WAITS_AT_MOST = 60  # seconds; a help page that takes longer hangs


class Block(NamedTuple):
    """A fenced block: its kind, its text, and the line of the page on which the text begins."""

    kind: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    kind: str | None = None
    begins, text = 0, list[str]()
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        fence = re.match(r"```(.*)$", line)
        if not fence:
            text.append(line)
        elif kind is None:
            kind, begins, text = fence[1], number + 1, []
        else:
            yield Block(kind, "\n".join(text) + "\n", begins)
            kind = None
    assert kind is None, f"{page.name}: the fence before line {begins} is never closed"


def shown(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def run_python(block: Block, page: Path, namespace: dict[str, Any]) -> None:
    """Run one block; a block that awaits gets an event loop of its own, so that another may start one itself."""
    # The empty lines put the block where it stands on the page, so that a traceback shows the page's own lines.
    source = "\n" * (block.line - 1) + block.text
    code = compile(source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    run = partial(eval, code, namespace)
    if code.co_flags & inspect.CO_COROUTINE:
        anyio.run(run)
    else:
        run()


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words after ``interlock`` for each call of the command line that a page shows."""
    for block in blocks(page):
        if block.kind not in SHELL:
            continue
        text = block.text.replace("\\\n", " ")
        for line in text.splitlines():
            lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            words: list[str] = []
            for word in [*lexer, ";"]:
                if re.fullmatch(r"[();<>|&]+", word):
                    if words and Path(words[0]).name == "interlock":
                        yield words[1:]
                    words = []
                else:
                    words.append(word)


# Keyed by what is shown, because a page may well show a command twice.
CALLS = {f"{shown(page)}: {shlex.join(words)}": words for page in PAGES for words in commands(page)}


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_every_block_is_of_a_kind_that_is_checked(page: Path):
    assert [f"line {block.line}: {block.kind!r}" for block in blocks(page) if block.kind not in KINDS] == []


def timed(page: Path) -> Any:
    """A page, marked where it starts a workflow engine."""
    return pytest.param(page, marks=pytest.mark.slow if page.name == "hosts.md" else ())


@pytest.mark.parametrize("page", [timed(page) for page in PAGES], ids=shown)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # what a block saves, it saves there
    # A module of its own, so that annotations and pickles find the names that the page defines.
    module = types.ModuleType("page_" + re.sub(r"\W", "_", shown(page)))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in blocks(page):
        if block.kind == "python":
            run_python(block, page, vars(module))


def test_a_block_may_await_and_the_next_one_sees_its_names(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nimport anyio\nawait anyio.lowlevel.checkpoint()\nx = 1\n```\n\n```python\nassert x == 2\n```\n"
    )
    namespace: dict[str, Any] = {}
    first, second = blocks(page)
    run_python(first, page, namespace)
    with pytest.raises(AssertionError) as failure:
        run_python(second, page, namespace)
    assert failure.traceback[-1].lineno + 1 == 8, "a traceback points to the line of the page"


@pytest.mark.parametrize("words", CALLS.values(), ids=CALLS)
def test_the_commands_that_a_page_shows_exist(words: list[str]):
    route: list[str] = []
    for word in words:
        if word.startswith("-") or not re.fullmatch(r"[a-z][a-z-]*", word):
            break
        route.append(word)
    done = subprocess.run(
        [str(Path(sys.executable).parent / "interlock"), *route, "--help"],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND_WAITS_AT_MOST,
        env={"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", "PATH": "", "LANG": "C.UTF-8"},
    )
    assert done.returncode == 0, done.stdout
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    assert [option for option in options if not re.search(rf"{option}\b", done.stdout)] == []


def test_the_first_two_shell_blocks_of_the_readme_are_the_two_promises():
    """A newcomer, and .ci/run, take these two and nothing else."""
    for page in ROOT.glob("README.md"):
        demo, tests = [block.text for block in blocks(page) if block.kind in SHELL][:2]
        assert ".venv/bin/interlock demo" in demo
        assert ".venv/bin/pytest" in tests


EXAMPLES = [
    path
    for path in sorted((ROOT / "src").rglob("*.py"))
    if re.search(r"^\s*>>> ", path.read_text("utf-8"), re.MULTILINE)
]


def test_the_examples_in_docstrings_are_true():
    for path in EXAMPLES:
        name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        outcome = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
        assert outcome.failed == 0, f"{name}: see the output"
