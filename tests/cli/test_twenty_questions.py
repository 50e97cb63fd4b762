"""``interlock demo twenty-questions``: a model asks or guesses, a person answers, and the last turn is a guess."""

import json
import re

import pytest

from interlock.cli import knowledge
from interlock.cli.demos.twenty_questions import Answered, Ask, Guess, Reply, Start, machine
from interlock.cli.questions import DEFAULT_FILE
from interlock.statechart import initial_transition, transition


def test_on_the_last_turn_asking_is_refused_and_the_model_guesses(game):
    called = game("--questions", "3", "--model", "scripted", "--answer", "yes", "--answer", "no")
    assert (called.status, called.err) == (0, "")
    assert "2. Can you hold it in one hand?" in called.out
    assert "deciding: 1 of 2 moves are legal" in called.out
    told = " ".join(called.out.split())
    assert "✗ Ask was picked and refused (rejected-by-guard): on the last turn only a guess is legal" in told
    assert "After 2 questions, the model says it is: a dog" in called.out


def test_a_game_goes_on_in_another_process(process, here):
    first = process("demo", "twenty-questions", "--model", "scripted", "--questions", "5", "--save", "game.json")
    assert (first.status, first.err) == (0, "")
    commands = re.findall(r"^ +interlock (.*)$", first.out, re.MULTILINE)
    assert commands == [
        f"demo twenty-questions --resume game.json --answer {answer}" for answer in ("yes", "no", "unsure")
    ]
    second = process(*commands[1].split())
    assert (second.status, second.err) == (0, "")
    assert 'a person says Reply: "no"' in second.out
    assert "(3 turns left)" in second.out
    saved = json.loads((here / "game.json").read_text("utf-8"))
    assert saved["interlock"] == "demo twenty-questions"
    assert [said["answer"] for said in saved["snapshot"]["context"]["asked"]] == ["no", None]


def test_at_a_terminal(talk):
    status, shown = talk(
        *("demo", "twenty-questions", "--questions", "2", "--model", "human"),
        answers=[
            ("Which move?", "ask\n"),
            ("question (text)", "Is it alive?\n"),
            ("[y]es, [n]o, [u]nsure, or [s]ave and stop?", "u\n"),
            ("Which move?", "1\n"),
            ("question (text)", "Is it big?\n"),
            ("Which move?", "2\n"),
            ("guess (text)", "a cat\n"),
        ],
        NO_COLOR="1",
    )
    assert status == 0
    assert "on the last turn only a guess is legal" in shown
    assert "the model says it is: a cat" in shown


def test_what_cannot_work(game):
    game("--model", "scripted")
    for arguments, told in [
        (["--resume", str(DEFAULT_FILE), "--questions", "3"], "the turns left stand in the saved game"),
        (["--answer", "maybe"], "none of the answers"),
        (["--model", "human"], "needs a terminal"),
    ]:
        called = game(*arguments)
        assert called.status == 2
        assert told in called.err
    assert game("--questions", "0").status == 2


def test_the_machine_refuses_what_was_asked_before():
    snapshot, _ = initial_transition(machine, Start(turns=3))
    snapshot, _ = transition(machine, snapshot, Ask(question="Is it alive?"))
    snapshot, _ = transition(machine, snapshot, Reply(answer="no"))
    assert not snapshot.can(Ask(question=" is it ALIVE? "))
    assert snapshot.can(Ask(question="Is it big?"))
    assert snapshot.can(Guess(guess="a stone"))


@pytest.mark.parametrize("thing", knowledge._THINGS)
def test_the_script_finds_everything_that_it_knows(thing):
    asked: tuple[Answered, ...] = ()
    while questions := knowledge.telling(asked):
        known = knowledge._QUESTIONS[questions[0]] in knowledge._THINGS[thing].split()
        asked += (Answered(question=questions[0], answer="yes" if known else "no"),)
    assert len(asked) <= 8
    assert thing in knowledge.fitting(asked)
    assert len({knowledge._THINGS[other] for other in knowledge.fitting(asked)}) == 1


def test_answers_that_contradict_each_other_still_lead_to_a_guess():
    asked = tuple(Answered(question=question, answer="yes") for question in knowledge._QUESTIONS)
    assert knowledge.fitting(asked)
    assert knowledge.telling(asked) == []


def test_without_weights_and_network_a_script_plays_and_says_so(game, no_weights):
    called = game("--questions", "2", "--answer", "no")
    assert called.status == 0
    assert called.out.count("So there is no model, and a script plays.") == 1
    assert "the model says it is:" in called.out
    assert "by SmolLM2" not in called.out


@pytest.mark.slow
def test_the_small_model_asks_and_guesses_what_makes_sense(game):
    called = game("--questions", "3", "--answer", "yes", "--answer", "yes")
    assert called.status == 0
    assert "by SmolLM2-135M-Instruct, on this computer" in called.out
    asked = re.findall(r"^│ \d\. (.*?\?) +│$", called.out, re.MULTILINE)
    assert len(asked) == 2
    assert set(asked) <= knowledge._QUESTIONS.keys()
    (guess,) = re.findall(r"the model says it is: (.*?) +│", called.out)
    assert guess in knowledge._THINGS
