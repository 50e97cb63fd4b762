"""What a model is offered: what the decision allows, the machine accepts, and a model may send."""

import pytest

import interlock.agent as il
import interlock.statechart as sc
from interlock.agent.legality import offer
from interlock.errors import HandlerError, InvalidMoveError
from tests.agent.machines import (
    ORDINARY,
    SUPPORT_EVENTS,
    Add,
    Approve,
    Case,
    Clear,
    Escalate,
    Partial,
    Refuse,
    started,
    support,
    support_machine,
    twenty_questions,
    types,
)
from tests.guessing import Ask
from tests.guessing import agent as game


def offered(*, context: Case = ORDINARY, **fields: object) -> list[str]:
    machine = support_machine(support.decide(**fields), context)
    snapshot = started(machine)
    spec = sc.owed(snapshot).invocations[0].logic
    return types(il.candidates(machine, snapshot, spec))


def test_without_a_list_all_that_a_model_may_send_is_offered():
    assert offered() == ["Approve", "Refuse", "Partial", "note.add"]


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        ("*", ["Approve", "Refuse", "Partial", "note.add"]),
        ("note.*", ["note.add"]),
        ("Refuse", ["Refuse"]),
        (Refuse, ["Refuse"]),
        ([Partial, "Refuse"], ["Partial", "Refuse"]),
        (["note.*", Refuse, "*"], ["note.add", "Refuse", "Approve", "Partial"]),
        (lambda case: [Refuse] if case.amount > 10 else "*", ["Refuse"]),
        (lambda case: None, ["Approve", "Refuse", "Partial", "note.add"]),
        (lambda case: Partial, ["Partial"]),
        (lambda case: [], []),
    ],
)
def test_a_list_narrows_and_gives_the_order(allowed: object, expected: list[str]):
    assert offered(allowed_events=allowed) == expected


def test_an_event_without_fields_is_offered_only_while_it_is_legal():
    assert offered(context=Case(amount=500)) == ["Refuse", "Partial", "note.add"]
    assert "note.clear" in offered(context=Case(notes=("x",)))


def test_an_event_with_fields_is_offered_whatever_its_guard_will_say():
    assert "Partial" in offered(context=Case(amount=0))


def test_what_is_not_legal_now_is_known_to_the_request():
    machine = support_machine(context=Case(amount=500))
    found = offer(machine, started(machine), sc.owed(started(machine)).invocations[0].logic)
    assert types(found.withheld) == ["Approve", "note.clear"]


def test_an_event_for_people_is_never_offered():
    assert "Escalate" not in offered(allowed_events="*")
    assert offered(allowed_events=lambda _: [Escalate]) == []


def rooms(*transitions: sc.Transition, root: tuple[sc.Transition, ...] = ()) -> tuple[sc.Machine, sc.Snapshot]:
    machine = support.machine(
        "rooms",
        initial="a",
        on=root,
        states={"a": support.state(on=transitions), "b": support.state()},
    )
    return machine, sc.initial_transition(machine)[0]


ANYTHING = support.decide().logic
HUMAN = {"actor": "human"}


@pytest.mark.parametrize(
    ("own", "root", "expected"),
    [
        ([support.on(Refuse, "b", meta=HUMAN)], [], []),
        ([support.on(Partial, "b", meta=HUMAN)], [], []),
        ([support.on(Partial, "b", meta=HUMAN)], [support.on(Partial, ".b")], []),
        ([support.on(Refuse, "b", meta=HUMAN)], [support.on(Refuse, ".b")], []),
        ([support.on(Partial, "b")], [support.on(Partial, ".b", meta=HUMAN)], ["Partial"]),
        (
            [support.on(Refuse, "b", meta=HUMAN, guard=lambda case, _: case.amount > 100), support.on(Refuse, "b")],
            [],
            ["Refuse"],
        ),
        (
            [support.on(Partial, "b", meta=HUMAN, guard=lambda _, e: e.amount > 100), support.on(Partial, "b")],
            [],
            ["Partial"],
        ),
        (
            [support.on(Partial, "b", meta=HUMAN, guard=lambda _, e: e.amount > 100)],
            [support.on(Partial, ".b", meta=HUMAN)],
            [],
        ),
    ],
)
def test_a_transition_may_be_for_people_only(own: list[sc.Transition], root: list[sc.Transition], expected: list[str]):
    machine, snapshot = rooms(*own, root=tuple(root))
    assert types(il.candidates(machine, snapshot, ANYTHING)) == expected


def test_handlers_of_patterns_invite_nothing():
    machine, snapshot = rooms(support.on("*", "b"), support.on("note.*", "b"), support.on(Refuse, "b"))
    assert types(il.candidates(machine, snapshot, ANYTHING)) == ["Refuse"]
    assert snapshot.can(Add())


def test_a_handler_that_says_no_leaves_the_event_to_the_patterns_as_in_a_step():
    machine, snapshot = rooms(support.on(Refuse, lambda _, __: None), support.on("*", "b"))
    assert types(il.candidates(machine, snapshot, ANYTHING)) == []  # its author says that it is not legal now
    assert snapshot.can(Refuse())
    assert sc.transition(machine, snapshot, Refuse())[0].value == "b"


def test_a_transition_that_does_nothing_is_no_way_to_answer():
    machine, snapshot = rooms(support.on(Refuse, agent_nothing()), support.on(Approve, "b"))
    assert types(il.candidates(machine, snapshot, ANYTHING)) == ["Approve"]


def agent_nothing() -> sc.Move:
    return support.stay()


def test_a_guard_that_raises_is_named():
    machine, snapshot = rooms(support.on(Refuse, lambda case, _: {}["missing"]), support.on(Approve, "b"))
    with pytest.raises(HandlerError, match=r"state 'a', event 'Refuse': .*lambda.* raised KeyError: 'missing'"):
        il.candidates(machine, snapshot, ANYTHING)


def test_a_function_of_the_context_that_raises_or_names_nothing_is_named():
    with pytest.raises(HandlerError, match=r"allowed_events= of the decision, .* raised ZeroDivisionError"):
        offered(allowed_events=lambda case: 1 // 0)
    with pytest.raises(InvalidMoveError, match=r"returned 'Refus', which is no event .* Did you mean 'Refuse'\?"):
        offered(allowed_events=lambda case: "Refus")
    with pytest.raises(InvalidMoveError, match=r"returned 3: allowed_events holds 3"):
        offered(allowed_events=lambda case: 3)


def test_events_of_all_regions_and_ancestors_are_candidates():
    machine = support.machine(
        "regions",
        kind="parallel",
        on=[support.on(Approve, support.stay(amount=1))],
        states={
            "left": support.state(on=[support.on(Refuse, support.stay(amount=1))]),
            "right": support.state(on=[support.on(Clear, support.stay(notes=())), support.on(Refuse, "#regions")]),
        },
    )
    snapshot = sc.initial_transition(machine)[0]
    assert types(il.candidates(machine, snapshot, ANYTHING)) == ["Refuse", "Approve", "note.clear"]


def test_a_done_machine_offers_nothing():
    machine = support_machine()
    done = sc.transition(machine, started(machine), Refuse())[0]
    assert done.status == "done"
    assert il.candidates(machine, done, ANYTHING) == ()


def test_the_game_offers_what_it_allows():
    snapshot = sc.initial_transition(twenty_questions)[0]
    assert types(il.candidates(twenty_questions, snapshot, game.decide().logic)) == ["Ask", "Guess"]
    assert Ask in il.candidates(twenty_questions, snapshot, game.decide(allowed_events="*").logic)
    assert len(SUPPORT_EVENTS) == 6
