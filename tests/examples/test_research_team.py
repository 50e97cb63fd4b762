"""As many researchers as topics, joined; and a run that dies between any two answers goes on."""

import anyio
import pytest

import interlock as il
from tests.examples.loading import load, talk
from tests.examples.programs import program

team = load("research_team")
TOPICS = ("tea", "coffee", "cocoa")
REPORT = ["- tea: Tea is a thing.", "- coffee: Coffee is a thing.", "- cocoa: Cocoa is a thing.", "There are 3 things."]


def test_all_are_asked_at_once_and_reported_in_order():
    started: list[str] = []

    async def write(request, info):
        if request.name == "note":
            started.append(str(request.prompt))
            while len(started) < len(TOPICS):  # each waits for all
                await anyio.lowlevel.checkpoint()
            for _ in range(3 - started.index(request.prompt)):
                await anyio.lowlevel.checkpoint()
        return team.scripted(request, info)

    said = anyio.run(team.research, TOPICS, il.Executors(generate_text=write), il.MemoryStore(), "t")
    assert said.splitlines() == REPORT


def test_a_topic_that_fails_is_done_without():
    def write(request, info):
        if "coffee" in request.prompt:
            raise OSError("no beans")
        return team.scripted(request, info)

    said = anyio.run(team.research, TOPICS, il.Executors(generate_text=write), il.MemoryStore(), "t")
    assert said.splitlines()[-2:] == ["- nothing on coffee: no beans", "There are 2 things."]
    said = anyio.run(team.research, ("coffee",), il.Executors(generate_text=write), il.MemoryStore(), "t")
    assert said.splitlines() == ["- nothing on coffee: no beans"]


def test_a_topic_may_be_any_text():
    said = anyio.run(team.research, ("a/b#1", "@x"), team.executors("scripted"), il.MemoryStore(), "t")
    assert said.splitlines()[:2] == ["- a/b#1: A/b#1 is a thing.", "- @x: @x is a thing."]


@pytest.mark.slow
def test_as_a_program_that_is_killed_in_each_call(tmp_path):
    """Whichever call a process dies in, the next process makes only those that were not answered."""
    researched = program("research_team.py")
    for dies, most in ((2, 4), (4, 1)):  # in a researcher's call, and in the lead's own
        dying = (
            "import os\n"
            "import interlock as il\n"
            "made, before = [], il.TextResult\n"
            "def result(**given):\n"
            "    made.append(given)\n"
            f"    if len(made) == {dies}:\n"
            "        os._exit(9)\n"
            "    return before(**given)\n"
            "il.TextResult = result\n"
        )
        thread = ("--thread", f"t{dies}")
        talk("research_team", tmp_path, *TOPICS, *thread, status=9, before=dying)
        calls: list[str] = []
        assert researched(tmp_path, *TOPICS, *thread, calls=calls).splitlines() == REPORT
        assert len(calls) == len(set(calls)) <= most
    calls = []
    assert researched(tmp_path, *TOPICS, *thread, calls=calls).splitlines() == REPORT
    assert calls == []
    assert "was started with another input" in talk("research_team", tmp_path, "tea", *thread, status=1)[-1]


@pytest.mark.slow
def test_with_the_small_model(tmp_path):
    lines = talk("research_team", tmp_path, "tea", "coffee", "--model", "local")
    assert lines[0].startswith("- tea: ")
    assert any(line.startswith("- coffee: ") for line in lines)
