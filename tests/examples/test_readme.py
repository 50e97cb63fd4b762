"""The page that lists the examples lists all of them, and each says how it is called."""

import re

import pytest

from tests.examples.programs import EXAMPLES

PROGRAMS = sorted(EXAMPLES.glob("*.py"))


def test_the_page_lists_every_program_with_its_command():
    page = (EXAMPLES / "README.md").read_text("utf-8")
    listed = re.findall(r"^\| \[(\w+\.py)\]\((\w+\.py)\) \| .+ \| `python examples/(\w+\.py)", page, re.MULTILINE)
    assert sorted(listed) == [(path.name,) * 3 for path in PROGRAMS]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_says_at_its_top_how_it_is_called_with_options_that_it_has(path):
    text = path.read_text("utf-8")
    top = text.split('"""')[1]
    assert f"    python examples/{path.name}" in top
    options = re.findall(r"(?<= )--[a-z-]+", "\n".join(line for line in top.splitlines() if line.startswith("    ")))
    assert set(options) <= set(re.findall(r'"(--[a-z-]+)"', text))
