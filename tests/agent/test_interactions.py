"""What a user interface shows while a machine waits, and what an answer comes to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date
from enum import Enum
from typing import Any, TypedDict

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, Field, field_validator

import interlock.agent as il
import interlock.statechart as sc
from interlock.errors import DefinitionError, HandlerError, InputError, InterlockError, InvalidMoveError, SnapshotError


class Approve(il.Event, actor="human"):
    """Send it."""


class Revise(il.Event, actor="human"):
    text: str
    tone: str = "plain"


class Refund(il.Event):
    amount: int
    note: str | None = Field(default=None, alias="why")


class Pick(il.Event, type="pick.one"):
    number: int

    @field_validator("number")
    @classmethod
    def below_ten(cls, number: int) -> int:
        if number >= 10:
            raise ValueError("at most 9")
        return number


class Level(Enum):
    HIGH = "high"


class Customer(BaseModel, frozen=True):
    name: str = "Ada"
    age: int | None = None


class Desk(BaseModel, frozen=True):
    customer: Customer | None = Customer()
    limit: int = 100
    names: frozenset[str] = frozenset({"b", "a", "c"})
    notes: tuple[str, ...] = ("first", "second")
    level: Level = Level.HIGH
    day: date = date(2026, 1, 2)
    urgent: bool = True
    empty: str | None = None


class Known(Desk, frozen=True):
    customer: Customer


agent = il.setup_agent(context=Desk, events=[Approve, Revise, Refund, Pick])

ON = [
    agent.on(Approve, "over"),
    agent.on(Revise, lambda _, e: agent.stay(notes=(e.text,))),
    agent.on(Refund, lambda desk, refund: agent.goto("over") if refund.amount <= desk.limit else None),
    agent.on(Pick, "over"),
]


def desk(interaction: Any, *, on: Any = ON, context: Desk | None = None, **fields: Any) -> sc.Machine[Desk, None, Any]:
    return agent.machine(
        "desk",
        context=Desk() if context is None else context,
        initial="open",
        states={"open": agent.state(meta={"interaction": interaction}, on=on, **fields), "over": agent.final()},
    )


def started(machine: sc.Machine[Any, Any, Any]) -> sc.Snapshot[Any]:
    return sc.initial_transition(machine, at=0.0)[0]


def shown(machine: sc.Machine[Any, Any, Any], **how: Any) -> il.Interaction:
    found = il.get_interaction(machine, started(machine), **how)
    assert found is not None
    return found


def answered(machine: sc.Machine[Any, Any, Any], reply: Any) -> il.Event:
    return il.event_from_interaction(machine, started(machine), reply)


WHOLE = desk(
    {
        "label": "Send this to {customer.name}?",
        "events": {
            Approve: "Send it",
            "Revise": {"label": "Shorter", "style": "secondary", "event": {"text": "shorter"}},
            Refund: {"style": "danger"},
        },
        "text_event": Revise,
    }
)


# -- what is shown ---------------------------------------------------------------------------------------------------


def test_a_state_says_what_is_shown():
    found = shown(WHOLE)
    assert found == il.Interaction(
        label="Send this to Ada?",
        events=(
            il.InteractionChoice(type="Approve", label="Send it"),
            il.InteractionChoice(type="Revise", label="Shorter", style="secondary", event={"text": "shorter"}),
            il.InteractionChoice(type="Refund", label="Refund", style="danger"),
        ),
        text_event="Revise",
    )
    assert json.loads(json.dumps(found.to_json())) == {
        "label": "Send this to Ada?",
        "events": [
            {"type": "Approve", "label": "Send it", "style": None, "event": {}},
            {"type": "Revise", "label": "Shorter", "style": "secondary", "event": {"text": "shorter"}},
            {"type": "Refund", "label": "Refund", "style": "danger", "event": {}},
        ],
        "text_event": "Revise",
    }


def test_nothing_is_shown_where_nothing_is_declared_or_all_is_over():
    machine = agent.machine("m", initial="a", states={"a": agent.state(meta={"other": 1}), "z": agent.state()})
    assert il.get_interaction(machine, started(machine)) is None
    over, _ = sc.transition(WHOLE, started(WHOLE), Approve())
    assert over.status == "done"
    assert il.get_interaction(WHOLE, over) is None
    ends = agent.machine(
        "e", initial="z", states={"z": agent.final(meta={"interaction": {"label": "Bye"}})}, meta={"interaction": {}}
    )
    assert il.get_interaction(ends, started(ends)) is None


def test_an_empty_declaration_shows_nothing_to_press():
    assert shown(desk({})) == il.Interaction(label="")


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("{limit} and {customer.name}{customer.name}", "100 and AdaAda"),
        ("[{customer.age}] [{empty}] [{customer.none.of.this}] [{notes.7}] [{limit.x}]", "[] [] [] [] []"),
        ("{names}; {notes}; {notes.1}", "a, b, c; first, second; second"),
        ("{level} {day} {urgent}", "high 2026-01-02 true"),
        ("{customer}", '{"age": null, "name": "Ada"}'),
        ("{{limit}} {{customer.name}} {} { limit } {0} {limit", "{limit} {customer.name} {} { limit } {0} {limit"),
        ("  a\n\t b   {limit}  ", "a b 100"),
        (lambda desk: f" {desk.limit}  {{limit}} ", "100 {limit}"),
    ],
)
def test_labels_speak_of_the_context(label: Any, expected: str):
    found = shown(desk({"label": label, "events": {Approve: label if isinstance(label, str) else "x"}}))
    assert found.label == expected
    if isinstance(label, str):
        assert found.events[0].label == expected


def test_a_value_of_the_context_is_not_read_as_a_label():
    machine = desk({"label": "{empty}"}, context=Desk(empty="{limit} {{limit}}"))
    assert shown(machine).label == "{limit} {{limit}}"


def test_white_space_is_kept_where_it_matters():
    machine = desk({"label": " a\n  {empty} b ", "events": {Approve: "x  y"}}, context=Desk(empty="\n"))
    assert (shown(machine).label, shown(machine).events[0].label) == ("a b", "x y")
    kept = shown(machine, preserve_whitespace=True)
    assert (kept.label, kept.events[0].label) == (" a\n  \n b ", "x  y")


class Form(TypedDict, total=False):
    name: str
    sizes: tuple[int, ...]


def test_contexts_of_any_kind_can_be_spoken_of():
    label = {"interaction": {"label": "{name}: {sizes} {sizes.0}"}}
    typed = il.setup_agent(context=il.mapping(Form), events=[Approve])
    plain = il.setup_agent(events=[Approve])
    for words, context in ((typed, {"name": "x", "sizes": (1, 2)}), (plain, {"name": "x", "sizes": [1, 2]})):
        machine = words.machine("m", context=context, initial="a", states={"a": words.state(meta=label)})
        assert shown(machine).label == "x: 1, 2 1"
    missing = plain.machine("m", context={}, initial="a", states={"a": plain.state(meta=label)})
    assert shown(missing).label == ":"


def test_the_function_of_a_narrower_state_sees_the_narrower_context():
    seen: list[Any] = []
    narrow = agent.narrow(Known)

    def label(known: Known) -> str:
        seen.append(known)
        return known.customer.name

    machine = agent.machine(
        "m", initial="a", states={"a": narrow.state(meta={"interaction": {"label": label}, "own": 1})}
    )
    assert shown(machine).label == "Ada"
    assert isinstance(seen[0], Known)
    assert started(machine).meta["m.a"]["own"] == 1


@pytest.mark.parametrize(
    ("label", "error", "message"),
    [
        (
            lambda desk: desk.nothing,
            HandlerError,
            r"machine 'desk', state 'open': label= of the interaction, .* raised",
        ),
        (lambda desk: desk.limit, InvalidMoveError, "returned 100; a label is a text"),
    ],
)
def test_a_function_that_words_nothing_is_named(label: Any, error: type[InterlockError], message: str):
    with pytest.raises(error, match=message):
        shown(desk({"label": label}))


# -- who speaks ------------------------------------------------------------------------------------------------------


def say(label: str, **fields: Any) -> dict[str, Any]:
    return {"meta": {"interaction": {"label": label}}, **fields}


def test_the_innermost_state_speaks_and_of_equals_the_first():
    machine = agent.machine(
        "m",
        kind="parallel",
        states={
            "left": agent.state(
                initial="a",
                states={"a": agent.state(**say("left a")), "b": agent.state()},
                on=[agent.on(Approve, ".b")],
            ),
            "right": agent.state(initial="a", states={"a": agent.state(**say("right a"))}, **say("right")),
        },
        **say("root"),
    )
    first = started(machine)
    assert [state for state in first.meta if first.meta[state]] == ["m", "m.left.a", "m.right", "m.right.a"]
    assert shown(machine).label == "left a"
    moved, _ = sc.transition(machine, first, Approve())
    found = il.get_interaction(machine, moved)
    assert found is not None
    assert found.label == "right a"


def test_what_is_offered_is_the_speakers_and_who_handles_it_is_anybody():
    machine = agent.machine(
        "m",
        initial="a",
        on=[agent.on(Approve, agent.stay(limit=1))],
        states={"a": agent.state(meta={"interaction": {"label": "x", "events": {Approve: "Yes", Refund: "Back"}}})},
        meta={"interaction": {"events": {Refund: "Never shown"}}},
    )
    assert [choice.label for choice in shown(machine).events] == ["Yes"]


def test_a_child_machine_speaks_for_itself():
    inner = desk({"label": "Inner", "events": {Approve: "Yes"}, "text_event": Revise})
    outer = agent.machine("outer", initial="a", states={"a": agent.state(invoke=agent.child(inner), **say("Outer"))})
    snapshot = started(outer)
    ((_, child),) = snapshot.children.items()
    assert child.snapshot is not None
    found = il.get_interaction(inner, child.snapshot)
    assert found is not None
    assert (shown(outer).label, found.label) == ("Outer", "Inner")
    event = il.event_from_interaction(inner, child.snapshot, {"type": "Approve"})
    after, _ = sc.transition(outer, snapshot, sc.Input(address=(child.key,), event=event))
    assert after.children == {}
    with pytest.raises(SnapshotError, match="one of machine 'desk', not of 'outer'") as caught:
        il.get_interaction(outer, child.snapshot)
    assert caught.value.code == "machine-mismatch"


def test_other_sources_change_nothing():
    def fetch() -> int:
        return 1

    machine = desk({"label": "x", "events": {Approve: "Yes"}}, invoke=agent.call(fetch))
    provided = machine.provide({"fetch": desk({"label": "other"})})  # a machine: another version, another table
    snapshot = started(provided)
    assert snapshot.table is not machine.table
    assert il.get_interaction(machine, snapshot) == il.get_interaction(provided, snapshot) == shown(machine)


# -- what is offered -------------------------------------------------------------------------------------------------


def offered(machine: sc.Machine[Any, Any, Any]) -> list[str]:
    return [choice.type for choice in shown(machine).events]


ALL = {"events": {Approve: "a", Revise: "r", Refund: "b", Pick: "p"}, "text_event": Revise}


def test_only_what_is_accepted_is_offered():
    found = shown(desk(ALL, on=[agent.on(Pick, "over")]))
    assert [choice.type for choice in found.events] == ["pick.one"]
    assert found.text_event is None
    assert offered(desk(ALL)) == ["Approve", "Revise", "Refund", "pick.one"]


def test_handlers_of_patterns_accept_what_the_author_names():
    assert offered(desk(ALL, on=[agent.on("pick.*", "over")])) == ["pick.one"]
    assert offered(desk(ALL, on=[agent.on("*", "over")])) == ["Approve", "Revise", "Refund", "pick.one"]


@pytest.mark.parametrize(
    ("fixed", "limit", "expected"),
    [
        ({"amount": 10}, 100, True),
        ({"amount": 10}, 5, False),  # refused as it is
        ({"amount": 10, "why": "late"}, 5, False),
        ({"amount": 10, "note": "late"}, 5, False),
        ({}, 5, True),  # the amount is not said yet
        ({"note": "late"}, 5, True),
    ],
)
def test_a_choice_that_would_be_refused_is_not_offered(fixed: dict[str, Any], limit: int, expected: bool):
    machine = desk({"events": {Refund: {"event": fixed}}}, context=Desk(limit=limit))
    assert offered(machine) == (["Refund"] if expected else [])


def nothing(**fields: Any) -> Any:
    return agent.on(Approve, agent.stay(), **fields)


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ([nothing()], []),  # it would do nothing
        ([agent.on(Approve, lambda *_: None)], []),
        ([agent.on(Approve, "over", guard=lambda desk, _: desk.limit > 100)], []),
        ([agent.on(Approve, "over", guard=lambda desk, _: desk.limit > 1)], ["Approve"]),
        ([agent.on(Approve, "over", guard=lambda desk, _: desk.nonsense)], ["Approve"]),  # raises: judged when it comes
        ([agent.on(Approve, lambda desk, _: agent.goto("over", limit="x"))], ["Approve"]),
        ([agent.on(Approve, "over", meta={"actor": "human"})], ["Approve"]),
    ],
)
def test_the_guard_is_asked(on: Any, expected: list[str]):
    assert offered(desk({"events": {Approve: "a"}}, on=on)) == expected


# -- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "event"),
    [
        ({"type": "Approve"}, Approve()),
        ({"type": "Revise"}, Revise(text="shorter")),
        ({"type": "Revise", "tone": "warm"}, Revise(text="shorter", tone="warm")),
        ({"type": "Revise", "text": "longer"}, Revise(text="shorter")),  # what is fixed is fixed
        ({"type": "Refund", "amount": 3}, Refund(amount=3)),
        ({"text": "friendlier"}, Revise(text="friendlier")),
        ({"text": ""}, Revise(text="")),
    ],
)
def test_an_answer_is_an_event(reply: Mapping[str, object], event: il.Event):
    assert answered(WHOLE, reply) == event


class Deep(il.Event):
    n: int = Field(default=0, validation_alias=AliasPath("ns", 0))
    tags: tuple[str, ...] = ()
    word: str = Field(default="", validation_alias=AliasChoices("first", "second"))


def test_fields_may_have_any_kind_of_name():
    words = il.setup_agent(events=[Deep])
    fixed = {"ns": [4], "tags": ["x"], "second": "w"}
    machine = words.machine(
        "m",
        initial="a",
        context={},
        states={
            "a": words.state(
                meta={"interaction": {"events": {Deep: {"event": fixed}}}},
                on=[words.on(Deep, lambda _, deep: words.stay(n=deep.n))],
            )
        },
    )
    assert shown(machine).to_json()["events"] == [{"type": "Deep", "label": "Deep", "style": None, "event": fixed}]
    reply = {"type": "Deep", "n": 3, "ns": [9], "word": "no", "first": "no", "tags": []}
    assert answered(machine, reply) == Deep(ns=[4], tags=("x",), second="w")


@pytest.mark.parametrize("fixed", [{"why": "late"}, {"note": "late"}])
@pytest.mark.parametrize("given", [{"why": "other"}, {"note": "other"}, {"why": "other", "note": "other"}])
def test_what_is_fixed_cannot_be_changed_by_another_name(fixed: dict[str, Any], given: dict[str, Any]):
    machine = desk({"events": {Refund: {"event": fixed}}})
    event = answered(machine, {"type": "Refund", "amount": 3, **given})
    assert isinstance(event, Refund)
    assert event.note == "late"


@pytest.mark.parametrize(
    ("reply", "code", "message"),
    [
        ({"type": "Pick"}, "choice-not-offered", "machine 'desk': 'Pick' is not offered now. Offered: 'Approve', "),
        ({"type": "pick.one", "number": 1}, "choice-not-offered", "'Revise', 'Refund'; a free text becomes 'Revise'"),
        ({"type": 3}, "choice-not-offered", "3 is not offered"),
        ({"type": None, "text": "x"}, "choice-not-offered", "None is not offered"),
        ({"type": "Approve", "why": 1}, "invalid-event", "'Approve': why: Extra inputs are not permitted"),
        ({"type": "Refund"}, "invalid-event", "'Refund': amount: Field required"),
        ({"type": "Refund", "amount": "many"}, "invalid-event", "amount"),
        ({"text": 3}, "invalid-reply", "is no reply; give {'type': <a choice>, ...}"),
        ({"text": "x", "tone": "warm"}, "invalid-reply", "{'text': '...'} alone"),
        ({}, "invalid-reply", "{} is no reply"),
        ("Approve", "invalid-reply", "'Approve' is no reply"),
        (None, "invalid-reply", "None is no reply"),
        ({"type": "Approve", "x": object()}, "invalid-reply", "cannot be written as JSON"),
        ({1: 2}, "invalid-reply", "the reply cannot be written as JSON"),
    ],
)
def test_an_answer_that_is_none_says_why(reply: Any, code: str, message: str):
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        answered(WHOLE, reply)
    assert caught.value.code == code


def test_a_choice_that_is_hidden_is_not_taken():
    machine = desk({"events": {Refund: {"event": {"amount": 10}}}}, context=Desk(limit=5))
    with pytest.raises(InputError, match=r"'Refund' is not offered now\. Offered: no choice$") as caught:
        answered(machine, {"type": "Refund"})
    assert caught.value.code == "choice-not-offered"


def test_a_text_that_nobody_asked_for():
    for machine in (desk({"events": {Approve: "Yes"}}), desk(ALL, on=[agent.on(Approve, "over")])):
        with pytest.raises(InputError, match=r"no free text is asked for now\. Offered: 'Approve'$") as caught:
            answered(machine, {"text": "x"})
        assert caught.value.code == "no-free-text"


def test_an_answer_to_nothing():
    over, _ = sc.transition(WHOLE, started(WHOLE), Approve())
    with pytest.raises(InputError, match=r"machine 'desk': nothing is shown in .* \(done\), so this answers") as caught:
        il.event_from_interaction(WHOLE, over, {"type": "Approve"})
    assert caught.value.code == "no-interaction"


def test_a_type_among_the_fixed_fields_leads_nowhere_else():
    same = desk({"events": {Approve: {"event": {"type": "Approve"}}}})
    assert shown(same).events[0].event == {}
    assert answered(same, {"type": "Approve"}) == Approve()
    with pytest.raises(DefinitionError, match=r"\['event'\]\['type'\]: the choice sends 'Approve', and cannot send"):
        desk({"events": {Approve: {"event": {"type": "Revise", "text": "x"}}}})


def test_asking_changes_nothing():
    snapshot = started(WHOLE)
    before, reply = snapshot.to_json(), {"type": "Revise", "tone": "warm"}
    first = il.get_interaction(WHOLE, snapshot)
    event = il.event_from_interaction(WHOLE, snapshot, reply)
    assert (il.get_interaction(WHOLE, snapshot), snapshot.to_json()) == (first, before)
    assert reply == {"type": "Revise", "tone": "warm"}
    loaded = WHOLE.load(before)
    assert il.get_interaction(WHOLE, loaded) == first
    assert il.event_from_interaction(WHOLE, loaded, reply) == event
    assert snapshot.can(event)


# -- when the machine is built ---------------------------------------------------------------------------------------


class Bare(il.Event):
    text: str
    other: int


class Toggle(il.Event):
    txt: str


WRONG: list[tuple[Any, str]] = [
    ("x", r"meta\['interaction'\]: 'x'; give a mapping with 'label', 'events', 'text_event'"),
    (None, r"\['interaction'\]: None; give a mapping"),
    ({"lable": "x"}, r"\['interaction'\]\['lable'\]: there is no such key\. Did you mean 'label'"),
    ({"label": 3}, r"\['label'\]: 3 is no label; give a text, or a function"),
    ({"label": Desk}, r"\['label'\]: .* is no label"),
    ({"label": "{limmit}"}, r"\['label'\]: the context has no field 'limmit'\. Did you mean 'limit'.*'\{\{limmit\}\}'"),
    ({"events": [Approve]}, r"\['events'\]: .* give labels by event"),
    ({"events": {"Aprove": "x"}}, r"\['events'\]\['Aprove'\]: setup_agent\(.*\) declares no such event.*'Approve'"),
    ({"events": {Bare: "x"}}, r"\['events'\]\['Bare'\]: setup_agent"),
    ({"events": {"Pick": "x"}}, r"\['Pick'\]: the class of this name has the type 'pick\.one'"),
    ({"events": {"pick.*": "x"}}, r"\['events'\]\['pick\.\*'\]: 'pick\.\*' is a pattern; name one event"),
    ({"events": {3: "x"}}, r"\['events'\]\['3'\]: 3 names no event"),
    ({"events": {Desk: "x"}}, r"\['events'\]\['Desk'\]: .* names no event"),
    ({"events": {Approve: "x", "Approve": "y"}}, r"'Approve' is given twice"),
    ({"events": {Approve: None}}, r"\['events'\]\['Approve'\]: None; give a mapping with 'label', 'style', 'event'"),
    ({"events": {Approve: {"label": None}}}, r"\['Approve'\]\['label'\]: None is no text"),
    ({"events": {Approve: {"style": 3}}}, r"\['Approve'\]\['style'\]: 3 is no text"),
    ({"events": {Approve: {"sytle": "x"}}}, r"\['Approve'\]\['sytle'\]: there is no such key\. Did you mean 'style'"),
    ({"events": {Approve: "{limmit}"}}, r"\['Approve'\]: the context has no field"),
    ({"events": {Approve: {"label": "{limmit}"}}}, r"\['Approve'\]\['label'\]: the context has no field"),
    ({"events": {Refund: {"event": 3}}}, r"\['Refund'\]\['event'\]: 3 is no mapping of fields"),
    (
        {"events": {Refund: {"event": Refund(amount=1)}}},
        r"\['event'\]: .* is no mapping of fields; an event as a whole",
    ),
    ({"events": {Refund: {"event": {"amout": 1}}}}, r"\['event'\]\['amout'\]: Refund has no such field.*'amount'"),
    ({"events": {Refund: {"event": {"amount": "x"}}}}, r"\['event'\]\['amount'\]: Refund refuses it: amount: "),
    ({"events": {Revise: {"event": {"tone": 3}}}}, r"\['event'\]\['tone'\]: Revise refuses it: .*tone: "),
    ({"events": {Pick: {"event": {"number": 10}}}}, r"\['event'\]\['number'\]: Pick refuses it: number: at most 9"),
    ({"events": {Refund: {"event": {"amount": object()}}}}, r"\['event'\]: cannot be written as JSON"),
    ({"text_event": "Revize"}, r"\['text_event'\]: setup_agent\(.*\) declares no such event.*'Revise'"),
    ({"text_event": Pick}, r"\['text_event'\]: Pick has no field 'text'"),
    ({"text_event": 3}, r"\['text_event'\]: 3 names no event"),
]


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_a_wrong_declaration_is_said_when_the_machine_is_built(given: Any, message: str):
    with pytest.raises(DefinitionError, match=message) as caught:
        desk(given)
    assert caught.value.code == "invalid-interaction"
    assert str(caught.value).startswith("machine 'desk': state 'open': meta['interaction']")


def test_a_text_fills_one_field():
    words = il.setup_agent(events=[Bare, Toggle])
    for event, message in ((Bare, "'other' is required as well"), (Toggle, r"no field 'text'.* 'txt'")):
        with pytest.raises(DefinitionError, match=message):
            words.machine("m", initial="a", states={"a": words.state(meta={"interaction": {"text_event": event}})})


def test_every_state_is_looked_at():
    wrong = {"interaction": 3}
    places: list[Any] = [
        agent.state(initial="x", states={"x": agent.state(meta=wrong)}),
        agent.parallel(states={"x": agent.state(meta=wrong)}),
        agent.state(initial="x", states={"x": agent.end(meta=wrong)}),
    ]
    for state in places:
        with pytest.raises(DefinitionError, match=r"state 'a\.x': meta\['interaction'\]"):
            agent.machine("m", initial="a", states={"a": state})
    with pytest.raises(DefinitionError, match=r"state '\(root\)': meta\['interaction'\]"):
        agent.machine("m", initial="a", states={"a": agent.state()}, meta=wrong)


def test_a_function_that_cannot_take_the_context_is_refused():
    with pytest.raises(DefinitionError, match=r"state\(meta=\): the label of 'interaction'.* takes \(\)"):
        desk({"label": lambda: "x"})


def test_a_machine_without_an_agent_is_looked_at_when_it_is_asked():
    machine = sc.machine("m", initial="a", states={"a": sc.state(meta={"interaction": {"label": "x {y}"}})})
    assert shown(machine).label == "x"
    wrong = sc.machine("m", initial="a", states={"a": sc.state(meta={"interaction": {"events": {"GO": "x"}}})})
    with pytest.raises(DefinitionError, match=r"state 'a': meta\['interaction'\]\['events'\]\['GO'\]"):
        shown(wrong)
