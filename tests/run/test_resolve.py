"""A decision outside any run: ask, judge, ask again."""

import pytest

import interlock.agent as il
import interlock.statechart as sc
from interlock.agent import Choice, DecisionRequest, ExecutorInfo
from interlock.errors import DecisionExhaustedError, ExecutorError, InputError
from interlock.run import resolve_decision
from tests.agent.machines import Case, Partial, Refuse, started, support_machine

pytestmark = pytest.mark.anyio

machine = support_machine()
snapshot = started(machine)
request = il.decision_request(machine, sc.owed(snapshot).invocations[0])


class Script:
    """Answers in turn, and remembers what it was asked."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[DecisionRequest, ExecutorInfo]] = []

    def __call__(self, request: DecisionRequest, info: ExecutorInfo) -> Choice:
        self.asked.append((request, info))
        return self.answers.pop(0)


async def test_the_first_legal_choice_is_the_answer():
    async def decide(request: DecisionRequest, info: ExecutorInfo) -> Choice:
        return Choice(Refuse())

    assert await resolve_decision(request, decide) == Refuse()


async def test_refused_choices_are_told_to_the_next_try():
    script = Script(
        Choice({"type": "Nope"}), Choice({"type": "Partial", "amount": 60}), Choice({"type": "Partial", "amount": 40})
    )
    chosen = await resolve_decision(request, script, can_take=snapshot.can)
    assert chosen == Partial(amount=40)
    assert [[item.failure for item in asked.attempts] for asked, _ in script.asked] == [
        [],
        ["unknown-event"],
        ["unknown-event", "rejected-by-guard"],
    ]
    assert [(info.attempt, info.call_key) for _, info in script.asked] == [
        (1, f"{request.id}.0"),
        (2, f"{request.id}.1"),
        (3, f"{request.id}.2"),
    ]
    assert request.attempts == ()


@pytest.mark.parametrize(("retries", "calls"), [(None, 3), (0, 1), (4, 5)])
async def test_tries_are_bounded(retries: int | None, calls: int):
    script = Script(*[Choice({"type": "Nope"})] * 9)
    with pytest.raises(DecisionExhaustedError) as caught:
        await resolve_decision(request, script, max_retries=retries)
    assert len(script.asked) == len(caught.value.attempts) == calls


async def test_what_an_executor_raises_is_no_attempt():
    def decide(request: DecisionRequest, info: ExecutorInfo) -> Choice:
        raise ConnectionError("down")

    with pytest.raises(ConnectionError):
        await resolve_decision(request, decide)
    with pytest.raises(ExecutorError, match="wrap it"):
        await resolve_decision(request, Script(Refuse()))


async def test_without_can_take_anything_offered_goes():
    chosen = await resolve_decision(request, Script(Choice({"type": "Partial", "amount": 10_000})))
    assert chosen == Partial(amount=10_000)


async def test_a_request_that_came_as_data_needs_the_classes():
    plain = DecisionRequest(
        id="d",
        events=tuple(
            il.EventDescriptor(type=e.type, tool_name=e.tool_name, description="", input_schema={})
            for e in request.events[:2]
        ),
    )
    with pytest.raises(InputError, match=r"the classes of Approve, Refuse are not known; give events=\[...\]"):
        await resolve_decision(plain, Script())
    assert await resolve_decision(plain, Script(Choice(Refuse())), events=machine.event_types.values()) == Refuse()
    assert Case().amount == 50
