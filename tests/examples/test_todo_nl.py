"""One command, several events, each legal when it is sent; and why a plan ended."""

from functools import partial

import anyio
import pytest

import interlock as il
from tests.examples.loading import load, talk

todo = load("todo_nl")
DONE = {"type": "agent.plan.done"}


def carried_out(decisions, max_steps=8):
    models = il.ScriptedExecutors(decisions=decisions)
    anyio.run(partial(todo.talk, ["whatever"], models, max_steps=max_steps))
    return models


def test_a_refused_step_is_told_and_the_plan_goes_on(capsys):
    models = carried_out([todo.Add(item="milk"), todo.Tick(item="cheese"), todo.Tick(item="bread"), DONE])
    out = capsys.readouterr().out
    assert "refused: {'type': 'Tick', 'item': 'cheese'}" in out
    assert "sent: Add milk, Tick bread (done)\n[x] bread, [ ] milk" in out
    last = models.decision_requests[-1]
    assert [step["type"] for step in last.applied] == ["Add", "Tick"]
    assert models.decision_requests[2].attempts[0].failure == "rejected-by-guard"


@pytest.mark.parametrize(
    ("decisions", "told"),
    [
        ([DONE], "sent: nothing (done)\n[ ] bread"),
        ([todo.Clear()], "sent: Clear (stop-event)\n(nothing on the list)"),
        ([todo.Add(item="a"), todo.Add(item="b")], "sent: Add a, Add b (max-steps)"),
        (
            [todo.Add(item="a"), *[todo.Add(item="bread")] * 3],
            "given up (decision-exhausted)\n[ ] bread, [ ] a",
        ),
        ([OSError("no connection")], "given up (raised)\n[ ] bread"),
    ],
)
def test_why_a_plan_ended(capsys, decisions, told):
    carried_out(decisions, max_steps=2)
    assert told in capsys.readouterr().out


def test_what_the_rules_take_a_command_for():
    assert todo.meant("add milk and eggs, and tick bread off, clear") == [
        {"type": "Add", "item": "milk"},
        {"type": "Add", "item": "eggs"},
        {"type": "Tick", "item": "bread"},
        {"type": "Clear"},
    ]


def test_as_a_program(tmp_path):
    assert talk("todo_nl", tmp_path, "add milk and eggs, and tick bread off", "tick tea, add tea") == [
        "> add milk and eggs, and tick bread off",
        "  sent: Add milk, Add eggs, Tick bread (done)",
        "[x] bread, [ ] milk, [ ] eggs",
        "> tick tea, add tea",
        "  refused: {'type': 'Tick', 'item': 'tea'}",
        "  sent: Add tea (done)",
        "[x] bread, [ ] milk, [ ] eggs, [ ] tea",
    ]
    assert talk("todo_nl", tmp_path, "--max-steps", "1", said="add a, b\nclear\n")[1::3] == [
        "  sent: Add a (max-steps)",
        "  sent: Clear (stop-event)",
    ]
