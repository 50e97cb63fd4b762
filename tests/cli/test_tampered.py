"""Saved cases that somebody has written in: the rules hold all the same, and what cannot be is refused."""

import json

import pytest


@pytest.fixture
def change(demo, game, here):
    """Save a case or a game, and write in it."""

    def change(alter, *arguments: str, questions: bool = False) -> None:
        if questions:
            assert game("--model", "scripted", "--save", "case.json").status == 0
        else:
            assert demo("charged twice", "--model", "scripted", "--save", "case.json", *arguments).status == 0
        file = here / "case.json"
        data = json.loads(file.read_text("utf-8"))
        alter(data["snapshot"])
        file.write_text(json.dumps(data), "utf-8")

    return change


def refused(called) -> str:
    assert called.status == 1
    (line,) = called.err.splitlines()
    assert line.startswith("interlock: ")
    assert "errors.pydantic.dev" not in line
    assert called.out == ""
    return line


def test_the_guard_is_asked_again_when_a_person_approves(demo, change):
    def shipped(snapshot):
        snapshot["context"].update(proposal="CancelOrder")
        snapshot["context"]["order"].update(shipped=True)

    change(shipped)
    shown = demo("--resume", "case.json")
    assert "It cannot be approved any more: the order has already shipped." in shown.out
    assert "--answer approve" not in shown.out
    called = demo("--resume", "case.json", "--answer", "approve")
    assert called.status == 2
    assert "is no answer to what 'review' waits for: change, reject" in called.err
    assert "cancelled" not in called.out


@pytest.mark.parametrize("order", [{"amount": -5}, {"charges": -1}])
def test_an_order_that_cannot_be(demo, change, order):
    change(lambda snapshot: snapshot["context"]["order"].update(order))
    line = refused(demo("--resume", "case.json", "--answer", "approve"))
    assert f"order.{min(order)}" in line
    assert "greater than or equal to 0" in line


@pytest.mark.parametrize(
    ("state", "context", "told"),
    [
        ("review", {"proposal": None}, "it stands in 'review', and nothing is proposed"),
        ("triage", {}, "nobody is waited for in 'triage'"),
        ("acting", {}, "nobody is waited for in 'acting'"),
        ("replying", {"reply": "x"}, "nothing was done"),
        ("replying", {"receipt": "x"}, "there is no reply"),
    ],
)
def test_a_case_that_the_machine_would_not_have_left_so(demo, change, state, context, told):
    def alter(snapshot):
        snapshot["states"] = [f"support-desk.{state}"]
        snapshot["context"].update(context)

    change(alter)
    assert told in refused(demo("--resume", "case.json", "--answer", "approve"))


@pytest.mark.parametrize(
    ("alter", "told"),
    [
        (lambda snapshot: snapshot["context"].update(asked=[]), "nothing is asked"),
        (lambda snapshot: snapshot["context"]["asked"][-1].update(answer="yes"), "nothing is asked"),
        (lambda snapshot: snapshot["context"].update(turns_left=-1), "turns_left"),
        (lambda snapshot: snapshot.update(states=["twenty-questions.deciding"]), "nobody is waited for"),
    ],
    ids=["empty", "answered", "turns", "deciding"],
)
def test_a_game_that_cannot_be(game, change, alter, told):
    change(alter, questions=True)
    assert told in refused(game("--resume", "case.json", "--answer", "yes"))
