"""Whatever aliases a type has, a value of it that is made, paid for or typed in is kept and comes back as it was."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel

import interlock as il
import interlock.statechart as sc
from interlock.errors import DefinitionError
from interlock.statechart.json_type import JsonType


class Plain(BaseModel, frozen=True, extra="forbid"):
    foo_bar: int


class Alias(BaseModel, frozen=True, extra="forbid"):
    foo_bar: int = Field(alias="fooBar")


class Validation(BaseModel, frozen=True, extra="forbid"):
    foo_bar: int = Field(validation_alias="fooBar")


class Serialization(BaseModel, frozen=True, extra="forbid"):
    foo_bar: int = Field(serialization_alias="out")


class Both(BaseModel, frozen=True, extra="forbid"):
    foo_bar: int = Field(validation_alias="fooBar", serialization_alias="out")


class Choices(BaseModel, frozen=True, extra="forbid"):
    foo_bar: int = Field(validation_alias=AliasChoices("fooBar", "foo"), serialization_alias="out")


class Pathed(BaseModel, frozen=True):
    foo_bar: int = Field(validation_alias=AliasPath("fooBar", 0))


class Generated(BaseModel, frozen=True, extra="forbid", alias_generator=to_camel):
    foo_bar: int


class WritesAliases(BaseModel, frozen=True, extra="forbid"):
    model_config = ConfigDict(serialize_by_alias=True)
    foo_bar: int = Field(validation_alias="fooBar", serialization_alias="out")


class NamesOnly(BaseModel, frozen=True, extra="forbid"):
    model_config = ConfigDict(validate_by_alias=False, validate_by_name=True)
    foo_bar: int = Field(alias="fooBar")


class Swapped(BaseModel, frozen=True):
    foo_bar: int = Field(alias="other")
    other: int = Field(2, alias="foo_bar")


VALUES: list[Any] = [
    Plain(foo_bar=1),
    Alias(fooBar=1),
    Validation(fooBar=1),
    Serialization(foo_bar=1),
    Both(fooBar=1),
    Choices(foo=1),
    Pathed(fooBar=[1]),
    Generated(fooBar=1),
    WritesAliases(fooBar=1),
    NamesOnly(foo_bar=1),
    Swapped(other=1),
]
KINDS = [pytest.param(type(value), value, id=type(value).__name__) for value in VALUES]
KINDS += [
    pytest.param(tuple[Both, ...], (Both(fooBar=1), Both(fooBar=2)), id="a tuple of them"),
    pytest.param(dict[str, Both], {"k": Both(fooBar=1)}, id="a dict of them"),
    pytest.param(Both | None, Both(fooBar=1), id="an optional one"),
]


class Noted(BaseModel, frozen=True):
    """What the handlers of these machines have seen, as text."""

    got: str = ""


class Go(il.Event):
    pass


agent = il.setup_agent(context=Noted, events=[Go], output=str)


def note(_context: Noted, value: object) -> sc.Move:
    return agent.goto("waiting", got=repr(value))


def noting(work: sc.Invoke | None, **fields: Any) -> Any:
    """Return a machine that notes what comes of work, waits, and then ends with what it has noted."""
    first = agent.state(**fields) if work is None else agent.state(invoke=work)
    return agent.machine(
        "m",
        initial="working",
        states={
            "working": first,
            "waiting": agent.state(on=[agent.on(Go, "over")]),
            "over": agent.final(output=lambda context: context.got),
        },
    )


def called(kind: Any, value: Any) -> Any:
    def made() -> Any:
        return value

    made.__annotations__["return"] = kind
    return noting(agent.call(made, on_done=note))


def asked(kind: Any, value: Any) -> Any:
    request = il.text_request("t", input=kind, model="quick", prompt=repr)
    assert request.request(value).prompt == repr(value)
    return noting(agent.ask(request, input=lambda _: value, on_done=agent.goto("waiting", got=repr(value))))


def ended(kind: Any, value: Any) -> Any:
    return noting(
        None,
        initial="x",
        states={"x": agent.end(output=lambda _: value)},
        on_done=agent.done(kind, note),
    )


def given(kind: Any, constant: Any) -> Any:
    taking = il.setup_agent(context=Noted, events=[Go], input=kind, output=str)
    return taking.machine(
        "taking",
        context=lambda value: Noted(got=repr(value)),
        initial="a",
        states={"a": taking.final(output=lambda context: context.got)},
    )


def child_input(kind: Any, value: Any) -> Any:
    return noting(agent.child(given(kind, value), input=lambda _: value, on_done=lambda c, out: note(c, Shown(out))))


def constant_input(kind: Any, value: Any) -> Any:
    return noting(agent.child(given(kind, value), input=value, on_done=lambda c, out: note(c, Shown(out))))


class Shown:
    """A text that shows as itself."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def child_output(kind: Any, value: Any) -> Any:
    giving = il.setup_agent(context=Noted, events=[Go], output=kind)
    child = giving.machine("giving", initial="a", states={"a": giving.final(output=lambda _: value)})
    return noting(agent.child(child, on_done=note))


PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "a call": called,
    "the input of a text request": asked,
    "a state's output": ended,
    "a child's input": child_input,
    "a child's constant input": constant_input,
    "a child's output": child_output,
    "a written value": lambda kind, _: noting(
        agent.generate_text(model="quick", prompt="?", output=kind, on_done=note)
    ),
    "a reply": lambda kind, _: noting(agent.user_input("?", kind, on_done=note)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("kind", "value"), KINDS)
async def test_a_value_goes_through_a_run_its_log_and_its_snapshot(place: str, kind: Any, value: Any):
    machine = PLACES[place](kind, value)
    store = il.MemoryStore()
    script = il.ScriptedExecutors(text=["said" if place == "the input of a text request" else as_object(value)])
    result = await il.run_agent(machine, executors=script, user_input=lambda _: value, store=store, thread_id="t")
    assert isinstance(result, il.Idle), getattr(result, "error", result)
    assert result.snapshot.context == Noted(got=repr(value))
    assert il.replay(machine, await store.read("t")).head.snapshot == result.snapshot
    assert machine.load(result.snapshot.to_json()) == result.snapshot
    again = await il.run_agent(machine, event=Go(), executors=script, store=store, thread_id="t")
    assert isinstance(again, il.Done)
    assert again.output == repr(value)


def as_object(value: Any) -> Any:
    """Return a value as an executor may give it: a whole answer holds models, texts and objects."""
    return il.TextResult(output=value)


@pytest.mark.parametrize(("kind", "value"), KINDS)
async def test_a_machines_own_input_and_output(kind: Any, value: Any):
    both = il.setup_agent(context=Noted, events=[Go], input=kind, output=kind)
    machine = both.machine(
        "m",
        context=lambda found: Noted(got=repr(found)),
        initial="a",
        states={"a": both.state(on=[both.on(Go, "b")]), "b": both.final(output=lambda _: value)},
    )
    store = il.MemoryStore()
    first = await il.run_agent(machine, input=value, store=store, thread_id="t")
    assert first.snapshot.context == Noted(got=repr(value))
    done = await il.run_agent(machine, event=Go(), store=store, thread_id="t")
    assert isinstance(done, il.Done), getattr(done, "error", done)
    assert done.output == value
    head = il.replay(machine, await store.read("t")).head.snapshot
    assert head == done.snapshot
    assert head.output == value
    assert machine.load(done.snapshot.to_json()).output == value


@pytest.mark.parametrize(("kind", "value"), KINDS)
async def test_a_value_in_a_context(kind: Any, value: Any):
    holding: Any = type("Holding", (BaseModel,), {"__annotations__": {"held": kind}, "model_config": {"frozen": True}})
    if kind in (dict[str, Both], Swapped):
        return  # a context holds nothing that could be changed, and says when it is made that this one is not kept
    keeping = il.setup_agent(context=holding, events=[Go])
    machine = keeping.machine(
        "m", context=holding(held=value), initial="a", states={"a": keeping.state(on=[keeping.on(Go, "a")])}
    )
    store = il.MemoryStore()
    await il.run_agent(machine, store=store, thread_id="t")
    result = await il.run_agent(machine, event=Go(), store=store, thread_id="t")
    assert result.snapshot.context.held == value
    assert il.replay(machine, await store.read("t")).head.snapshot == result.snapshot
    assert machine.load(result.snapshot.to_json()) == result.snapshot


@pytest.mark.parametrize(
    ("kind", "answer", "value"),
    [
        (Alias, {"fooBar": 1}, Alias(fooBar=1)),
        (Both, {"fooBar": 1}, Both(fooBar=1)),
        (Both, {"foo_bar": 1}, Both(fooBar=1)),
        (Choices, {"foo": 1}, Choices(foo=1)),
        (Pathed, {"fooBar": [1]}, Pathed(fooBar=[1])),
        (NamesOnly, {"fooBar": 1}, NamesOnly(foo_bar=1)),
        (Swapped, {"other": 1, "foo_bar": 2}, Swapped(other=1)),
    ],
)
async def test_a_model_answers_by_alias_as_its_schema_says(kind: Any, answer: Any, value: Any):
    script = il.ScriptedExecutors(text=[answer])
    machine = PLACES["a written value"](kind, value)
    result = await il.run_agent(machine, executors=script)
    assert result.snapshot.context == Noted(got=repr(value))
    asked_person = await il.run_agent(PLACES["a reply"](kind, value), user_input=lambda _: answer)
    assert asked_person.snapshot.context == Noted(got=repr(value))


# -- events ------------------------------------------------------------------------------------------------------------


class EventAlias(il.Event):
    foo_bar: int = Field(alias="fooBar")


class EventBoth(il.Event):
    foo_bar: int = Field(validation_alias="fooBar", serialization_alias="out")


class EventChoices(il.Event):
    foo_bar: int = Field(validation_alias=AliasChoices("fooBar", "foo"))


class EventByAlias(il.Event, validate_by_name=False):
    foo_bar: int = Field(alias="fooBar")


class EventByName(il.Event, validate_by_alias=False):
    foo_bar: int = Field(alias="fooBar")


class EventCamel(il.Event, alias_generator=to_camel, serialize_by_alias=True):
    foo_bar: int


EVENTS: list[Any] = [
    EventAlias(fooBar=1),
    EventBoth(fooBar=1),
    EventChoices(foo=1),
    EventByAlias(fooBar=1),
    EventByName(foo_bar=1),
    EventCamel(foo_bar=1),
]


def hearing(event: Any, then: Callable[[Any], sc.Move]) -> Any:
    speaking = il.setup_agent(context=Noted, events=[type(event)])
    return speaking.machine(
        "m",
        initial="a",
        states={
            "a": speaking.state(
                invoke=speaking.decide(model="quick", prompt="?", options=lambda _: [event]),
                on=[speaking.on(type(event), lambda _, found: then(found), to="b")],
            ),
            "b": speaking.state(),
        },
    )


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
async def test_an_event_is_sent_and_comes_back(event: Any):
    machine = hearing(event, lambda found: agent.goto("b", got=repr(found)))
    store = il.MemoryStore()
    script = il.ScriptedExecutors(decisions=[event])
    result = await il.run_agent(machine, event=event, executors=script, store=store, thread_id="sent")
    assert result.snapshot.context == Noted(got=repr(event))
    assert il.replay(machine, await store.read("sent")).head.snapshot == result.snapshot
    picked = await il.run_agent(machine, executors=script)
    assert picked.snapshot.context == Noted(got=repr(event))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_an_event_that_waits_is_saved_and_comes_back(event: Any):
    machine = hearing(event, lambda found: agent.goto("b").raise_(found, delay=60))
    snapshot, _ = sc.transition(machine, sc.initial_transition(machine, at=0)[0], event, at=0)
    again = machine.load(snapshot.to_json())
    assert again == snapshot
    assert [timer.event for timer in again.timers.values()] == [event]


def test_an_event_that_is_written_under_a_name_under_which_it_is_not_read_is_refused():
    with pytest.raises(DefinitionError, match=r"'foo_bar' would be written as 'out'.*serialize_by_alias") as caught:

        class Wrong(il.Event, serialize_by_alias=True):  # pyright: ignore[reportUnusedClass]  # making it is the test
            foo_bar: int = Field(validation_alias="fooBar", serialization_alias="out")

    assert caught.value.code == "invalid-event-class"


def test_an_event_whose_field_has_the_name_of_another_for_an_alias_is_refused():
    with pytest.raises(DefinitionError, match="'foo_bar' is 'other' in JSON, where the field of that name stands"):

        class Wrong(il.Event):  # pyright: ignore[reportUnusedClass]  # making it is the test
            foo_bar: int = Field(alias="other")
            other: int = 2


# -- the rule ----------------------------------------------------------------------------------------------------------


def test_what_is_written_does_not_depend_on_aliases():
    for value in VALUES:
        kind: JsonType[Any] = JsonType(TypeAdapter(type(value)))
        written = kind.write(value)
        assert written["foo_bar"] == 1
        assert kind.read(json.loads(json.dumps(written))) == value
        assert kind.keep(value) == written
