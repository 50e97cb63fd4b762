"""A host that may die at any point: the game goes on from its file, and no answer is asked for twice that was kept."""

import anyio
import pytest

import interlock as il
from tests.examples.loading import load, talk

nim = load("game_host")
MOVES = ["3", "3", "3", "3", "3", "1"]


class Killed(BaseException):
    """The host is gone."""


def play(log, calls, moves):
    """Play as far as the host lives; ``calls`` counts what the model is asked."""

    def decide(request, info):
        calls.append(info.call_key)
        return nim.scripted(request, info)

    return anyio.run(nim.host, log, il.Executors(decide=decide), lambda game: moves[_turn(game)])


def _turn(game):
    return sum(move.startswith("you") for move in game.moves)


class Dies(nim.Log):
    """A log whose host dies at one append: before anything is written, after, or in the middle of a line."""

    def __init__(self, file, at, how):
        super().__init__(file)
        self.at, self.how = at, how

    def append(self, entries):
        self.at -= 1
        if self.at == 0 and self.how == "before":
            raise Killed
        super().append(entries)
        if self.at == 0:
            if self.how == "cut":
                text = self._file.read_bytes()
                self._file.write_bytes(text[: -len(text.splitlines()[-1]) // 2])
            raise Killed


@pytest.mark.parametrize("how", ["before", "after", "cut"])
def test_it_goes_on_wherever_it_was_killed(tmp_path, how):
    whole = nim.Log(tmp_path / "whole.jsonl")
    assert play(whole, [], MOVES) == "The model wins."
    expected = [(entry.index, entry.event) for entry in whole.read()]
    for at in range(1, len(expected) + 1):
        file = tmp_path / f"{how}-{at}.jsonl"
        calls: list[str] = []
        with pytest.raises(Killed):
            play(Dies(file, at, how), calls, MOVES)
        assert play(nim.Log(file), calls, MOVES) == "The model wins."
        assert [(entry.index, entry.event) for entry in nim.Log(file).read()] == expected
        again = len(calls) - len(set(calls))
        assert again == 0 if how == "after" else again <= 1


def test_what_is_not_legal_is_said_and_not_logged(tmp_path, capsys):
    answers = iter(["4", "no", "3", "3", "3", "3", "3", "3", "1"])
    log = nim.Log(tmp_path / "nim.jsonl")
    models = il.Executors(decide=nim.scripted)
    assert anyio.run(nim.host, log, models, lambda game: next(answers)) == "The model wins."
    out = capsys.readouterr().out
    assert out.count("machine 'nim': event 'Take': matches:") == 2
    assert out.count("There are not so many.") == 1
    assert len(log.read()) == 12


def test_a_model_that_picks_nothing_legal_gives_up(tmp_path):
    models = il.ScriptedExecutors(decisions=[nim.Take(matches=3)] * 9)
    # 21, less 3 and 3 three times, less 1: two are left, and the model wants three.
    answers = iter(["3", "3", "3", "1"])
    log = nim.Log(tmp_path / "nim.jsonl")
    assert anyio.run(nim.host, log, models, lambda game: next(answers)) == "The model gives up."
    assert models.remaining == 3


@pytest.mark.slow
def test_as_a_program_that_is_killed_again_and_again(tmp_path):
    """Each process dies when it has made three entries durable; it is started again until the game is over."""
    dying = (
        "import os\n"
        "sync, left = os.fsync, [3]\n"
        "def fsync(file):\n"
        "    sync(file)\n"
        "    left[0] -= 1\n"
        "    if not left[0]:\n"
        "        os._exit(9)\n"
        "os.fsync = fsync\n"
    )
    for _ in range(4):  # the first of the three is where it stands, then a move of each
        talk("game_host", tmp_path, said="3\n3\n", status=9, before=dying)
    assert "the game goes on from nim.jsonl" in talk("game_host", tmp_path, status=1)[-1]
    lines = talk("game_host", tmp_path, "--log", "nim.jsonl", said="3\n1\n")
    assert lines[-2:] == ["you take 1", "The model wins."]
    assert talk("game_host", tmp_path)[-1] == "The model wins."


@pytest.mark.slow
def test_with_the_small_model(tmp_path):
    lines = talk("game_host", tmp_path, "--model", "local", said="3\n" * 7 + "2\n1\n1\n")
    assert lines[-1].split()[-1] in ("win.", "wins.", "up.")
