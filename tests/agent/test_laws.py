"""What holds whatever a model answers."""

import json

from hypothesis import given
from hypothesis import strategies as st

import interlock.agent as il
import interlock.statechart as sc
from interlock.agent import Choice, DecisionAttempt
from interlock.errors import NoLegalEventsError
from tests.agent.machines import SUPPORT_EVENTS, Case, started, support, support_machine

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["\ud800", "a" * 10_000])
)
anything = st.recursive(
    scalars | st.binary() | st.builds(object),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.sets(st.integers()),
    max_leaves=8,
)
names = st.sampled_from([*(event.type for event in SUPPORT_EVENTS), "*", "note.*", "@done.state.x", "agent.plan.done"])
payloads = st.dictionaries(st.sampled_from(["amount", "text", "type", "also"]) | st.text(), anything, max_size=3)
mappings = st.builds(lambda name, payload: {**payload, "type": name}, names | st.text() | anything, payloads)
near = st.one_of(
    st.builds(lambda amount: {"type": "Partial", "amount": amount}, st.integers(-5, 150) | anything),
    st.builds(lambda text: {"type": "note.add", "text": text}, st.text() | anything),
    st.builds(lambda name: {"type": name}, names),
)
cases = st.builds(Case, amount=st.integers(0, 200), notes=st.lists(st.text(max_size=3), max_size=2).map(tuple))
allowed = st.none() | st.lists(st.sampled_from(["*", "note.*", "Refuse", "Partial", "Approve"]), min_size=1)


@given(cases, allowed, st.one_of(anything, mappings, near), scalars)
def test_only_what_the_machine_takes_comes_out_as_an_event(
    case: Case, allowed: list[str] | None, answer: object, said: object
):
    decide = support.decide() if allowed is None else support.decide(allowed_events=allowed)
    machine = support_machine(decide, case)
    snapshot = started(machine)
    (owed,) = sc.owed(snapshot).invocations
    try:
        request = il.decision_request(machine, owed)
    except NoLegalEventsError:
        return
    before = snapshot.to_json()
    judged = il.judge(machine, snapshot, request, Choice(answer, reason=said))
    assert snapshot.to_json() == before
    if isinstance(judged, DecisionAttempt):
        written = json.loads(json.dumps(judged.to_json(), allow_nan=False))
        assert DecisionAttempt.from_json(written).to_json() == written
        kept, _ = sc.transition(machine, snapshot, sc.Input(invocation=owed.key, record=judged.to_json()))
        assert machine.load(kept.to_json()) == kept
        return
    assert snapshot.can(judged)
    assert judged.actor is None
    assert judged.type in {event.type for event in request.events}
    stepped, _ = sc.transition(machine, snapshot, il.delivery(owed, judged))
    assert machine.load(stepped.to_json()) == stepped
    # What goes over the border comes back as it was.
    assert il.parse_event(machine, machine.event_from_json(json.loads(judged_json(judged)))) == judged


def judged_json(event: il.Event) -> str:
    return json.dumps({"type": event.type, **event.model_dump(mode="json")}, allow_nan=False)


@given(cases, allowed)
def test_what_is_offered_without_fields_can_be_taken_and_what_is_withheld_cannot(case: Case, allowed: list[str] | None):
    decide = support.decide() if allowed is None else support.decide(allowed_events=allowed)
    machine = support_machine(decide, case)
    snapshot = started(machine)
    (owed,) = sc.owed(snapshot).invocations
    offered = il.candidates(machine, snapshot, owed.logic)
    assert len(set(offered)) == len(offered)
    for event in offered:
        assert event.actor is None
        assert event.type in snapshot.accepted_events()
        assert event.model_fields or snapshot.can(event())
    assert offered == il.candidates(machine, machine.load(snapshot.to_json()), owed.logic)
