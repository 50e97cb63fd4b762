"""Validators, serializers and mappings are other people's code: whatever they raise, what comes of it is typed."""

import copy
import warnings
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, field_serializer, field_validator, model_validator

import interlock.agent as il
import interlock.statechart as sc
from interlock.agent.events import was_made
from interlock.agent.reading import Unreadable, read_event
from interlock.errors import CallResultError, DefinitionError, InputError


class Picky(il.Event):
    """Its validator raises what no schema raises."""

    s: str

    @field_validator("s")
    @classmethod
    def look_up(cls, value: str) -> str:
        return {"a": "1"}[value]


class Number(il.Event):
    n: int = 0


class Loud(il.Event):
    s: str

    @field_validator("s")
    @classmethod
    def shout(cls, value: str) -> str:
        return value + "!"


class Once(il.Event):
    s: str

    @field_validator("s")
    @classmethod
    def lower_only(cls, value: str) -> str:
        if value != value.lower():
            raise RuntimeError("already loud")
        return value.upper()


class Mute(il.Event):
    s: str = ""

    def model_dump(self, **_: Any) -> Any:
        raise RuntimeError("no words")


class Moody(il.Event):
    @model_validator(mode="after")
    def refuse(self) -> "Moody":
        raise RuntimeError("not today")


class Free(il.Event):
    x: Any = None


class Real(il.Event):
    f: float


class Thorny(Mapping[str, object]):
    def __getitem__(self, key: str) -> object:
        raise RuntimeError("thorns")

    def __iter__(self) -> Iterator[str]:
        return iter(["type"])

    def __len__(self) -> int:
        return 1


CLASSES = {event.type: event for event in (Picky, Number, Loud, Once, Mute, Free, Real)}
agent = il.setup_agent(events=list(CLASSES.values()))
machine = agent.machine("m", initial="a", states={"a": agent.state(on=[agent.on(event, "a") for event in CLASSES])})


@pytest.mark.parametrize(
    ("given", "known", "reason"),
    [
        ({"type": "Picky", "s": "zz"}, True, "KeyError: 'zz'"),
        (Number.model_construct(n=object()), True, "PydanticSerializationError"),
        (Number.model_construct(n="evil"), True, "n: Input should be a valid integer"),
        (Mute(), True, "RuntimeError: no words"),
        (Thorny(), False, "RuntimeError: thorns"),
        ({"type": "Free", "x": Thorny()}, True, "Thorny"),
        (Number, False, r"Number is the class; send an event of it: Number\(...\)"),
    ],
)
def test_whatever_is_raised_the_event_is_refused(given: Any, known: bool, reason: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = read_event(CLASSES, given)
    assert isinstance(read, Unreadable)
    assert read.known_type is known
    with pytest.raises(InputError, match=reason) as caught:
        il.parse_event(machine, given)
    assert caught.value.code == "invalid-event"


@pytest.mark.parametrize(
    "choice",
    [
        il.Choice({"type": "Picky", "s": "zz"}),
        il.Choice(Number.model_construct(n=object())),
        il.Choice(Mute()),
        il.Choice({"type": "Number"}, problem="none was made \ud800"),
        il.Choice({"type": "Number"}, problem="several were made", reason=5),
    ],
)
def test_a_models_choice_is_a_refused_attempt(choice: il.Choice):
    deciding = agent.machine(
        "m",
        initial="a",
        states={"a": agent.state(invoke=agent.decide(), on=[agent.on(event, "a") for event in CLASSES])},
    )
    snapshot, _ = sc.initial_transition(deciding)
    (owed,) = sc.owed(snapshot).invocations
    attempt = il.judge(deciding, snapshot, il.decision_request(deciding, owed), choice)
    assert isinstance(attempt, il.DecisionAttempt)
    assert attempt.failure == "invalid-payload"
    sc.transition(deciding, snapshot, sc.Input(invocation=owed.key, record=attempt.to_json()))[0].to_json()


def test_an_event_that_its_own_class_has_made_is_not_validated_again():
    for event in (Loud(s="a"), Once(s="a"), Loud.model_validate({"s": "a"})):
        assert il.parse_event(machine, event) == event
    assert il.parse_event(machine, {"type": "Loud", "s": "a"}) == Loud(s="a")
    # What stands in it is still what JSON would carry.
    given: list[Any] = [Decimal(1)]
    read = il.parse_event(machine, Free(x=given))
    assert read == Free(x=["1"])
    with pytest.raises(InputError, match="nan"):
        il.parse_event(machine, Real(f=float("nan")))


def test_copies_and_constructed_events_are_validated():
    made = Number(n=1)
    assert was_made(made)
    for other in (
        Number.model_construct(n=1),
        made.model_copy(update={"n": "x"}),
        copy.copy(made),
        copy.deepcopy(made),
    ):
        assert not was_made(other)
    with pytest.raises(InputError, match="valid integer"):
        il.parse_event(machine, made.model_copy(update={"n": "x"}))
    assert made == Number.model_construct(n=1)
    assert hash(made) == hash(copy.copy(made))
    assert made.model_dump() == {"n": 1}


def test_an_event_that_cannot_be_made_is_not_offered():
    moody = il.setup_agent(events=[Moody, Number])
    deciding = moody.machine(
        "m",
        initial="a",
        states={"a": moody.state(invoke=moody.decide(), on=[moody.on(Moody, "a"), moody.on(Number, "a")])},
    )
    snapshot, _ = sc.initial_transition(deciding)
    (owed,) = sc.owed(snapshot).invocations
    request = il.decision_request(deciding, owed)
    assert [event.type for event in request.events] == ["Number"]
    assert request.withheld == ("Moody",)


class Bad(BaseModel, frozen=True):
    s: str = "x"

    @field_validator("s")
    @classmethod
    def look_up(cls, value: str) -> str:
        return {"a": "1"}[value]


class Unwritable(BaseModel, frozen=True):
    s: str = "x"

    @field_serializer("s")
    def write(self, value: str) -> str:
        raise RuntimeError("no words")


class NoSchema:
    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
        raise RuntimeError("no schema")


def test_answers_of_functions_and_texts():
    def bad() -> Bad:
        raise NotImplementedError

    def unwritable() -> Unwritable:
        raise NotImplementedError

    with pytest.raises(CallResultError, match="KeyError: 'zz'"):
        il_call(bad).encode({"s": "zz"})
    with pytest.raises(CallResultError, match="no words"):
        il_call(unwritable).encode(Unwritable())
    with pytest.raises(InputError, match="KeyError: 'zz'"):
        il.text_request("t", model="m", prompt="p", input=Bad).read_input({"s": "zz"})
    with pytest.raises(ValueError, match="KeyError: 'zz'"):
        il.text_request("t", model="m", prompt="p", output=Bad).write_output({"s": "zz"})


def test_arguments_of_tools():
    def use(bad: Bad) -> str:
        """Use it."""
        raise NotImplementedError

    answer = il.tool(use).bind({"bad": {"s": "zz"}})
    assert not callable(answer)
    assert "use was not called: KeyError: 'zz'" in str(answer.value)


@pytest.mark.parametrize(
    "build",
    [
        lambda: il.setup_agent(events=[], output=NoSchema),
        lambda: il.text_request("t", model="m", prompt="p", output=NoSchema),
        lambda: agent.call(returns_no_schema),
        lambda: agent.done(NoSchema, "a"),
        lambda: il.tool(takes_no_schema),
        lambda: agent.call(len, input=Unwritable()),
    ],
    ids=["setup", "text", "call", "done", "tool", "argument"],
)
def test_types_that_cannot_be_used_are_refused_when_they_are_declared(build: Any):
    with pytest.raises(DefinitionError, match=r"no schema|no words"):
        build()


def returns_no_schema() -> NoSchema:
    raise NotImplementedError


def takes_no_schema(given: NoSchema) -> None:
    """Take it."""


def il_call(function: Any) -> Any:
    return agent.call(function).logic
