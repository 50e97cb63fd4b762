"""Questions of a machine, ``agent.user_input``: shown, asked at a terminal, and replied to with ``--reply``."""

import re
import shlex
import time

import pytest

from interlock.cli import menu
from interlock.cli.screen import Screen

MACHINES = '''
from datetime import date
from typing import Literal
from pydantic import BaseModel, Field
import interlock as il

class Begin(il.Event):
    """Begin."""

class Cancel(il.Event, actor="human"):
    """Forget it."""

class Address(BaseModel):
    street: str
    number: int = Field(gt=0)

class Order(BaseModel, frozen=True):
    said: tuple[str, ...] = ()

agent = il.setup_agent(context=Order, events=[Begin, Cancel], output=str)

def ask(prompt, *schema, name=None, to="done", **more):
    def said(order, reply):
        return agent.goto(to, said=(*order.said, f"{name}:{reply}"))
    return agent.state(invoke=agent.user_input(prompt, *schema, name=name, on_done=said, **more))

def whole(id, **states):
    """Return a machine that asks one thing after the other."""
    return agent.machine(id, context=Order(), initial=next(iter(states)), states={
        **states, "done": agent.final(output=lambda order: " ".join(order.said)),
    })

def region(*question, **more):
    return agent.state(initial="ask", states={"ask": ask(*question, **more), "done": agent.end()})

def both(id, **regions):
    return agent.machine(id, context=Order(), initial="asking", states={
        "asking": agent.parallel(states=regions, on=[agent.on(Cancel, "cancelled")], on_done="done"),
        "done": agent.final(output=lambda order: " ".join(sorted(order.said))),
        "cancelled": agent.final(output=lambda _: "cancelled"),
    })

size = whole("size",
    begin=agent.state(
        invoke=agent.decide(model="m", prompt="?", allowed_events=[Begin]), on=[agent.on(Begin, "size")]
    ),
    size=ask("How big?", int),
)
colour = whole("colour", colour=ask("Which colour?", Literal["red", "blue"], name="colour"))
home = whole("home", home=ask("Where do you live?", Address, name="home"))
words = whole("words", words=ask("What else?", name="words"))
sure = whole("sure", sure=ask("Sure?", bool, name="sure"))
day = whole("day", day=ask("When?", date, name="day"))
tags = whole("tags", tags=ask("Which tags?", list[str], name="tags"))
twice = whole("twice", a=ask("First?", int, name="n", to="b"), b=ask("Second?", int, name="n"))
order = both("order", a=region("Your name?", name="name"), b=region("How many?", int, name="copies"))
alike = both("alike", a=region("One?", int, name="n"), b=region("Two?", int, name="n"))
kid = agent.machine("parent", context=Order(), initial="a", states={
    "a": agent.state(invoke=agent.child(words, on_done=lambda _, said: agent.goto("done", said=(said,)))),
    "done": agent.final(output=lambda order: order.said[0]),
})
odd = whole("odd", a=ask("Odd?", name="a=b c"))
stuck = whole("stuck", a=agent.state())
door = whole("door", a=agent.state(on=[agent.on(Cancel, "done")]))
outer = whole("outer", a=agent.state(invoke=agent.child(door, on_done="done")))
hurry = whole("hurry", a=ask("Quick?", int, name="n", timeout=0.1, on_timeout="done"))
'''

SCRIPTED = ("--model", "scripted")


@pytest.fixture(autouse=True)
def machines(here):
    (here / "asking.py").write_text(MACHINES, "utf-8")


@pytest.fixture
def ask(run):
    return lambda machine, *options: run(f"asking:{machine}", *SCRIPTED, *options)


@pytest.fixture
def typed(ask, monkeypatch):
    """Run at what looks like a terminal, with what is typed there: each with the question that it is the answer to."""
    left = []

    def answer(_, question):
        assert left, f"asked for more: {question}"
        wanted, said = left.pop(0)
        assert wanted in question
        if said is None:
            raise EOFError
        return said

    def typed(machine, *answers):
        left.extend(answers)
        called = ask(machine)
        assert not left
        return called

    monkeypatch.setattr(Screen, "interactive", property(lambda _: True))
    monkeypatch.setattr(Screen, "ask", answer)
    return typed


def refused(called, status: int) -> str:
    assert called.status == status
    (line,) = called.err.splitlines()
    assert line.startswith("interlock: ")
    return line


def commands(shown: str) -> list[list[str]]:
    return [shlex.split(line) for line in re.findall(r"^ +interlock (run .*)$", shown, re.MULTILINE)]


def ended(called) -> str:
    assert (called.status, called.err) == (0, "")
    return called.out.rpartition("╭")[2].splitlines()[1].strip("│ ")


def test_without_a_terminal_the_question_is_shown_with_a_command_that_answers_it(ask, run, call):
    called = ask("size")
    assert (called.status, called.err) == (0, "")
    assert "0.size.size asks: How big?" in called.out
    assert 'a reply is: {"type": "integer"}' in called.out
    assert "Nothing that can be sent" not in called.out
    (command,) = commands(called.out)
    assert command[-2:] == ["--reply", "0.size.size=0"]
    done = call(*command)
    assert "a person says 0.size.size: 0" in done.out
    assert ended(done) == "None:0"


def test_the_schema_is_shown_without_what_only_repeats_names(ask):
    shown = " ".join(ask("home").out.replace("│", " ").split())
    assert '"properties": {"street": {"type": "string"}, "number": {"exclusiveMinimum": 0, "type": "integer"}}' in shown


def test_a_saved_case_goes_on_and_is_answered_once(ask, run):
    assert ask("size", "--save", "case.json").status == 0
    reply = ("--resume", "case.json", "--reply", "0.size.size=4")
    assert ended(run("asking:size", *reply)) == "None:4"
    assert "nothing is left to answer" in refused(run("asking:size", *reply), 1)


def test_replies_are_given_beforehand(ask):
    called = ask("size", "--reply", "0.size.size=7")
    assert ended(called) == "None:7"
    assert "Saved" not in called.out


@pytest.mark.parametrize(
    ("machine", "reply", "taken"),
    [
        ("words", "words=plain words, and = too", "words:plain words, and = too"),
        ("words", 'words="quoted"', "words:quoted"),
        ("words", "words=42", "words:42"),
        ("words", "words=", "words:"),
        ("words", "0.words.words=by its state", "words:by its state"),
        ("words", "0.words.words#1=by its id", "words:by its id"),
        ("colour", "colour=red", "colour:red"),
        ("colour", 'colour="blue"', "colour:blue"),
        ("sure", "sure=false", "sure:False"),
        ("sure", "sure=yes", "sure:True"),
        ("day", "day=2026-02-01", "day:2026-02-01"),
        ("tags", 'tags=["a", "b"]', "tags:['a', 'b']"),
        ("home", 'home={"street": "Elm", "number": 3}', "home:street='Elm' number=3"),
        ("odd", "a=b c=d", "a=b c:d"),
        ("kid", "words=from within", "words:from within"),
    ],
)
def test_json_or_a_text_as_it_stands_there(ask, machine, reply, taken):
    assert ended(ask(machine, "--reply", reply)) == taken


@pytest.mark.parametrize("machine", ["colour", "home", "words", "sure", "day", "tags", "odd", "kid", "order", "alike"])
def test_the_command_that_is_printed_fits(ask, call, machine):
    command = commands(ask(machine).out)[0]
    assert call(*command).status == 0
    assert "has ended" in call(*command[:4]).out


@pytest.mark.parametrize(
    ("machine", "reply", "told"),
    [
        ("size", "size=3", "--reply size: no question of the machine is called so. Known: 0.size.size."),
        ("size", "0.size.size=big", "--reply 0.size.size: the reply 'big' to the question does not fit: "),
        ("home", 'home={"street": "Elm", "number": 0}', "number: Input should be greater than 0"),
        ("home", 'home={"street": ', "the reply is no JSON"),
        ("colour", "colour=green", "Input should be 'red' or 'blue'"),
        ("colour", "red", "does not say to which question; give NAME=VALUE"),
        ("colour", "=red", "does not say to which question; give NAME=VALUE"),
    ],
)
def test_a_reply_that_is_wrong_is_refused_before_anything_runs(ask, here, machine, reply, told):
    called = ask(machine, "--reply", reply)
    assert told in refused(called, 2)
    assert called.out == ""
    assert not (here / "interlock-run.json").exists()


def test_a_machine_that_asks_nothing(run, here):
    (here / "quiet.py").write_text(
        "import interlock.statechart as sc\nm = sc.machine('quiet', initial='a', states={'a': sc.final()})\n",
        "utf-8",
    )
    assert "--reply a: no question of the machine is called so. It asks none." in refused(
        run("quiet.py", *SCRIPTED, "--reply", "a=1"), 2
    )


def test_a_reply_to_what_is_not_asked_now_leaves_the_run_saved(ask, run):
    line = refused(ask("order", "--reply", "name=Ada", "--reply", "name=Bob", "--save", "case.json"), 2)
    assert "--reply name: nobody is asked this in state 'asking.(a.done | b.ask)' now. Known: copies." in line
    assert ended(run("asking:order", "--resume", "case.json", "--reply", "copies=2")) == "copies:2 name:Ada"


def test_an_id_that_nobody_has(ask):
    assert "nobody is asked this in state 'colour'" in refused(ask("colour", "--reply", "0.colour.colour#9=red"), 2)


def test_where_nothing_can_be_said_it_is_said_why(ask):
    assert "no event is legal in this state, and nothing is asked" in ask("stuck").out
    assert "A machine within this one waits for an event" in ask("outer").out


def test_several_questions_and_an_event_are_all_offered(ask, call):
    called = ask("order")
    for line in ("name asks: Your name?", "copies asks: How many?", "Cancel: Forget it."):
        assert line in called.out
    both, cancel = commands(called.out)
    assert both[4:] == ["--reply", "name=...", "--reply", "copies=0"]
    assert cancel[4:] == ["--event", '{"type":"Cancel"}']
    assert ended(call(*cancel)) == "cancelled"


def test_replies_come_one_by_one_or_at_once_and_an_event_after_them(ask, run):
    assert ended(ask("order", "--reply", "copies=2", "--reply", "name=Ada")) == "copies:2 name:Ada"
    ask("order", "--reply", "copies=3", "--save", "case.json")
    assert ended(run("asking:order", "--resume", "case.json", "--reply", "name=Bob")) == "copies:3 name:Bob"
    called = ask("order", "--reply", "copies=2", "--event", "Cancel")
    assert "a person says copies: 2" in called.out
    assert ended(called) == "cancelled"


def test_what_was_given_and_never_waited_for_is_said(ask):
    called = ask("order", "--event", "Cancel", "--event", "Cancel")
    assert "it ended before this was waited for: --event Cancel" in called.out


def test_an_event_where_only_a_reply_is_waited_for(ask):
    line = refused(ask("colour", "--event", "Cancel"), 1)
    assert "not legal in state 'colour' now, where a reply is waited for: --reply colour" in line


def test_a_question_that_is_asked_again_takes_the_next_reply(ask):
    assert ended(ask("twice", "--reply", "n=1", "--reply", "n=2")) == "n:1 n:2"
    assert "n asks: Second?" in ask("twice", "--reply", "n=1").out


def test_questions_of_one_name_are_called_by_their_ids(ask):
    called = ask("alike")
    assert "0.alike.asking.a.ask#1 asks: One?" in called.out
    line = refused(ask("alike", "--reply", "n=1"), 2)
    assert "several questions are called so; give the id of one: 0.alike.asking.a.ask#1, 0.alike.asking.b.ask#2" in line
    ids = ("--reply", "0.alike.asking.b.ask#2=5", "--reply", "0.alike.asking.a.ask#1=4")
    assert ended(ask("alike", *ids)) == "n:4 n:5"


def test_a_reply_that_comes_when_time_is_up_is_too_late(ask, monkeypatch):
    def slow(_, wait, timer):
        assert timer is not None
        time.sleep(0.2)
        return menu.Replied({wait.questions[0].request.id: 1})

    monkeypatch.setattr(Screen, "interactive", property(lambda _: True))
    monkeypatch.setattr(menu, "ask", slow)
    called = ask("hurry")
    assert "that came too late" in called.out
    assert "a person says" not in called.out
    assert ended(called) == ""


def test_help_says_how(call):
    called = call("run", "--help")
    assert "--reply" in called.out
    assert "NAME=VALUE" in called.out


def test_replies_that_are_no_text(ask):
    assert "--reply is not UTF-8: character 8" in refused(ask("colour", "--reply", "colour=\udcff"), 2)


MENU = "[c]ancel, [n]ame, c[o]pies, or [s]ave and stop?"


def test_at_a_terminal_a_menu_has_all_that_may_be_said(typed):
    called = typed(
        "order",
        *[(MENU, "copies"), ("How many? (whole number):", "some"), ("How many?", "2")],
        *[("[c]ancel, [n]ame, or [s]ave", "n"), ("Your name? (text):", "42")],
    )
    assert "the reply 'some' to the question does not fit" in called.out
    assert ended(called) == "copies:2 name:42"
    assert ended(typed("order", (MENU, "c"))) == "cancelled"


@pytest.mark.parametrize(
    ("machine", "answers", "taken"),
    [
        ("colour", [("Which colour? (red/blue):", "green"), ("Which", ""), ("Which", "BL")], "colour:blue"),
        ("sure", [("Sure? (yes/no):", "perhaps"), ("Sure?", "n")], "sure:False"),
        ("words", [("What else? (text):", ""), ("What else?", '"as it is"')], 'words:"as it is"'),
        ("day", [("When? (date, like 2026-01-31):", "soon"), ("When?", "2026-02-01")], "day:2026-02-01"),
        ("tags", [("Which tags? (JSON list of text):", "a, b"), ("Which tags?", '["a"]')], "tags:['a']"),
        ("kid", [("What else? (text):", "x")], "words:x"),
    ],
)
def test_at_a_terminal_it_says_what_it_wants_and_asks_again(typed, machine, answers, taken):
    assert ended(typed(machine, *answers)) == taken


def test_the_end_of_what_is_typed_saves(typed, here):
    called = typed("colour", ("Which colour?", None))
    assert "Ctrl-D saves and stops." in called.out
    assert "--resume interlock-run.json --reply colour=red" in called.out
    assert (here / "interlock-run.json").exists()


def test_at_a_terminal_one_question_is_asked_until_the_reply_fits(talk):
    status, shown = talk(
        *("run", "asking:home", *SCRIPTED),
        answers=[
            ("street (text)", "Elm\n"),
            ("number (whole number)", "many\n"),
            ("number (whole number)", "0\n"),
            ("number (whole number)", "3\n"),
        ],
        NO_COLOR="1",
    )
    assert status == 0
    assert "Where do you live?" in shown
    assert "Input should be greater than 0" in shown
    assert "home:street='Elm' number=3" in shown
