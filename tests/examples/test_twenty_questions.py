"""The model asks or guesses; on the last turn asking is refused, whoever plays."""

import pytest

import interlock as il
from tests.examples.loading import load, talk

game = load("twenty_questions")


def test_on_the_last_turn_asking_is_refused_and_the_model_guesses(capsys):
    models = il.ScriptedExecutors(
        decisions=[
            game.Ask(question="Is it alive?"),
            game.Ask(question="Is it red?"),
            game.Guess(guess="an ant"),
        ]
    )
    assert game.play(models, lambda question: "yes", turns=2) == "It is an ant!"
    assert [attempt.failure for attempt in models.decision_requests[-1].attempts] == ["rejected-by-guard"]
    assert "Turns left: 1. Guess now." in models.decision_requests[-1].prompt
    assert "was refused: rejected-by-guard" in capsys.readouterr().out


def test_asking_twice_is_refused_and_who_picks_nothing_legal_has_no_guess():
    models = il.ScriptedExecutors(decisions=[game.Ask(question="Is it alive?")] * 6)
    assert game.play(models, lambda question: "no", turns=3) == "No guess: you win."
    assert models.remaining == 0


def test_no_model_can_answer_for_the_person():
    models = il.ScriptedExecutors(decisions=[{"type": "Reply", "answer": "yes"}, game.Guess(guess="a cat")])
    assert game.play(models, lambda question: "yes", turns=1) == "It is a cat!"
    assert [event.type for event in models.decision_requests[0].events] == ["Ask", "Guess"]


def test_as_a_program_with_a_script_or_a_person_who_answers(tmp_path):
    asked = ["Is it alive?", "Is it bigger than you?", "Can you eat it?"]
    assert talk("twenty_questions", tmp_path, "--answers", "yes,no,yes") == [*asked, "It is a carrot!"]
    answered = talk("twenty_questions", tmp_path, "--turns", "2", said="maybe\nno\n")
    assert "answer: Input should be 'yes', 'no' or 'unsure' (given: 'maybe')" in answered[1]
    assert answered[-1] == "It is a cat!"
    talk("twenty_questions", tmp_path, status=1)


@pytest.mark.slow
def test_with_the_small_models(tmp_path):
    said = talk("twenty_questions", tmp_path, "--model", "local", "--turns", "3", "--answers", "yes,no")
    assert said[-1].startswith("It is ")
