"""Definitions that are right, close to those that are refused when a machine is built."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

import interlock.agent as il
import interlock.statechart as sc
from interlock.agent.text_requests import TextRequest
from interlock.errors import DefinitionError


class Ask(il.Event):
    question: str = ""


class Reply(il.Event, actor="human"):
    pass


class Game(BaseModel, frozen=True):
    left: int = 3
    guess: str | None = None


class Guessed(Game, frozen=True):
    guess: str


class Topic(BaseModel):
    question: str = "what?"


agent = il.setup_agent(context=Game, events=[Ask, Reply])
guessed = agent.narrow(Guessed)
asked = il.setup_agent(context=Game, events=[Ask], input=Topic, output=str)
child = asked.machine(
    "child", context=lambda topic: Game(guess=topic.question), initial="a", states={"a": asked.final(output="x")}
)


def fetch(url: str = "") -> int:
    return len(url)


def busy(**fields: Any) -> sc.State:
    return agent.state(invoke=agent.call(fetch, id="w"), **fields)


def built(**fields: Any) -> sc.Machine[Game, None, object]:
    states = {"a": agent.state(**fields), "b": agent.state()}
    return agent.machine("m", initial="a", sources={"child": child}, states=states)


def test_regions_may_end_a_machine_whose_output_may_be_nothing():
    for output in (None, str | None):
        loose = il.setup_agent(context=Game, events=[Ask], output=output)
        machine = loose.machine("m", kind="parallel", states={"a": loose.end(), "b": loose.end()})
        snapshot, _ = sc.initial_transition(machine)
        assert (snapshot.status, snapshot.output) == ("done", None)


def test_regions_that_never_end_need_no_output():
    endless = il.setup_agent(context=Game, events=[Ask], output=str)
    endless.machine("m", kind="parallel", states={"a": endless.end(output="x"), "b": endless.state()})


@pytest.mark.parametrize(
    "states",
    [
        {"a": busy(), "b": busy()},
        {"a": busy(initial="x", states={"x": agent.state(), "y": busy()})},
        {"a": agent.parallel(states={"left": busy(), "right": agent.state()}), "b": busy()},
    ],
    ids=["one after the other", "inside, later", "in a region and outside"],
)
def test_one_id_may_stand_in_states_that_take_turns(states: dict[str, sc.State]):
    agent.machine("m", initial="a", states=states)


def test_a_constant_spawn_is_held_against_its_machine_alone():
    machine = built(
        entry=agent.stay()
        .spawn("child", id="one", input=Topic(question="why?"))
        .spawn("child", id="two", input={"question": "why?"})
        .spawn("child")
    )
    snapshot, _ = sc.initial_transition(machine)
    assert snapshot.status == "active"


def test_a_constant_delay_may_be_written_in_any_way():
    move = agent.stay().raise_(Ask(), delay=0).raise_(Ask(), delay=1.5).raise_(Ask(), delay=timedelta(seconds=1))
    machine = agent.machine(
        "m",
        initial="a",
        delays={"soon": 3},
        states={
            "a": agent.state(entry=move.send("@parent", Ask(), delay="soon")),
        },
    )
    assert len(sc.initial_transition(machine, at=0)[0].timers) == 3  # nobody is above


def test_functions_of_a_request_may_be_of_any_kind_that_can_be_called():
    class Worder:
        def __call__(self, given: str, more: str = "!") -> str:
            return given + more

        def word(self, given: str) -> str:
            return given

    request = il.text_request("t", input=str, model=Worder().word, prompt=Worder(), system=str)
    assert isinstance(made := request.request("x"), TextRequest)
    assert (made.model, made.prompt, made.system) == ("x", "x!", "x")


def test_an_act_loop_may_have_to_call_the_tool_of_an_event():
    built(invoke=agent.act(prompt="x", tool_choice="send_event_Ask"), on=[agent.on(Ask, "b")])


def test_a_narrow_state_keeps_the_promise_for_all_that_stands_in_it():
    state = guessed.state(
        meta={"interaction": {"label": lambda game: game.guess}},
        invoke=[
            guessed.decide(prompt="x", allowed_events=lambda game: [Ask]),
            guessed.user_input(lambda game: game.guess, meta={"interaction": {"label": lambda game: game.guess}}),
            guessed.generate_text(prompt="x", tools=lambda game: []),
        ],
        on=[
            guessed.on(Ask, "b"),
            guessed.on_child_done(child, "b", guard=lambda game, done: game.guess == done.output),
        ],
    )
    agent.machine("m", initial="b", sources={"child": child}, states={"a": state, "b": agent.state()})


@pytest.mark.parametrize("legal", [True, False])
def test_a_guard_may_see_where_the_machine_stands_whatever_it_guards(legal: bool):
    seen: list[object] = []

    def guard(game: Game, given: object, at: sc.At) -> bool:
        seen.append((type(game), given, at.matches("a")))
        return legal

    wide: Any = sc.with_at(guard)
    state = agent.state(
        entry=agent.stay().spawn("child", id="one"),
        on=[agent.on_child_done(child, "b", guard=wide), agent.on(Ask, "b", guard=wide)],
    )
    machine = agent.machine("m", initial="a", sources={"child": child}, states={"a": state, "b": agent.state()})
    snapshot, _ = sc.initial_transition(machine)
    assert seen == [(Game, il.ChildDone("one", "x"), True)]
    assert snapshot.value == ("b" if legal else "a")
    if not legal:
        sc.transition(machine, snapshot, Ask())
        assert seen[1:] == [(Game, Ask(), True)]


def test_a_narrow_guard_that_sees_where_the_machine_stands_gets_the_narrow_context():
    seen: list[type] = []
    wide: Any = sc.with_at(lambda game, ask, at: seen.append(type(game)) or True)
    state = guessed.state(on=[guessed.on(Ask, "b", guard=wide)])
    machine = agent.machine("m", context=Game(guess="x"), initial="a", states={"a": state, "b": agent.state()})
    snapshot, _ = sc.initial_transition(machine)
    assert sc.transition(machine, snapshot, Ask())[0].value == "b"
    assert seen == [Guessed]


class Service:
    def __init__(self, name: str) -> None:
        self.name = name

    def fetch(self, number: int = 1) -> str:
        return self.name * number


def calling(*services: Service) -> sc.Machine[Game, None, object]:
    states = {
        f"s{place}": agent.state(invoke=agent.call(service.fetch, input={"number": 2}))
        for place, service in enumerate(services)
    }
    return agent.machine("m", initial="s0", states=states)


def test_a_method_of_one_object_is_one_function_however_often_it_is_asked_for():
    service = Service("x")
    assert calling(service, service).sources["fetch"] == service.fetch
    with pytest.raises(DefinitionError, match="another source has the name 'fetch'"):
        calling(service, Service("x"))


def test_the_arguments_of_a_method_are_checked_too():
    with pytest.raises(DefinitionError, match="Did you mean 'number'"):
        built(invoke=agent.call(Service("x").fetch, input={"numbr": 2}))


def test_what_an_author_does_with_his_lists_afterwards_changes_no_machine():
    """Everything is written as a list or a mapping, which is emptied once the machine is built."""
    events: list[Any] = [Ask, Reply]
    models = {"quick": "house/tiny"}
    known: list[Any] = [fetch]
    own = il.setup_agent(context=Game, events=events, models=models, tools=known)
    allowed: list[Any] = [Ask]
    options: list[Any] = [Ask(question="1"), Ask(question="2")]
    stops: list[Any] = [Ask]
    messages: list[Any] = [{"role": "user", "content": "x"}]
    sequences, tools, targets = ["."], [fetch], ["b"]
    metadata = {"deep": {"list": [1]}}
    label: dict[str, Any] = {"label": "x", "events": {"Ask": "y"}}
    given = {"number": [1, 2]}
    output: dict[str, Any] = {"a": [1]}
    request = il.text_request("t", model="q", messages=messages, tools=tools, stop_sequences=sequences)
    on = [own.on(Ask, lambda game, ask: own.goto("b"), to=targets)]
    invoke = [
        own.decide(messages=messages, allowed_events=allowed, metadata=metadata, stop_sequences=sequences),
        own.decide(prompt="x", options=options),
        own.plan(prompt="x", allowed_events=allowed, stop_on=stops),
        own.ask(request),
        own.user_input("x", metadata=metadata),
        own.call(lambda number: 1, name="call", input=given),
    ]
    sent = {"type": "Ask", "question": "x"}
    states = {
        "a": own.state(on=on, invoke=invoke, meta={"interaction": label}, entry=own.stay().send("@parent", sent)),
        "b": own.state(
            entry=own.stay().spawn("child", input=given),
            on=[own.on(Ask, own.goto(targets).send("@parent", sent)), own.on(Reply, "over")],
        ),
        "over": own.final(output=output),
    }
    sources: dict[str, object] = {"child": lambda number: 1}
    delays: dict[str, Any] = {"soon": 3}
    machine = own.machine("m", initial="a", states=states, sources=sources, delays=delays)

    def shown() -> list[object]:
        snapshot, effects = sc.initial_transition(machine)
        owed = {item.id: item for item in sc.owed(snapshot).invocations}
        after, more = sc.transition(machine, snapshot, Ask())
        again, last = sc.transition(machine, after, Ask())
        return [
            *(il.decision_request(machine, owed[f"{number}.m.a"]).to_json() for number in (0, 1)),
            request.request().to_json(),
            [repr(effect) for effect in (*effects, *more, *last)],
            [item.input for item in owed.values()],
            again.value,
            sc.transition(machine, again, Reply())[0].output,
            snapshot.accepted_events(),
            dict(machine.definition.states["a"].meta),
            dict(own.models),
            sorted(machine.sources),
        ]

    before = repr(shown())
    for item in (events, models, known, allowed, options, stops, messages, sequences, tools, targets, label, output):
        item.clear()
    for mapping in (sent, states, sources, delays, given):
        mapping.clear()
    metadata["deep"]["list"].clear()
    on.clear()
    invoke.clear()
    assert repr(shown()) == before


def test_types_may_be_given_as_unions_and_by_their_adapters():
    for kind in (Topic | None, TypeAdapter(Topic | None)):
        own = il.setup_agent(context=Game, events=[Ask], input=kind, output=kind)
        machine = own.machine(
            "m",
            context=lambda topic: Game(guess=None if topic is None else topic.question),
            initial="a",
            states={
                "a": own.final(output=lambda game: None if game.guess is None else Topic(question=game.guess)),
            },
        )
        for given in (None, Topic(question="why?")):
            snapshot, _ = sc.initial_transition(machine, given)
            assert snapshot.output == given
            assert machine.load(snapshot.to_json()).output == given
        with pytest.raises(DefinitionError, match="which its output type refuses"):
            own.machine("m", context=lambda topic: Game(), initial="a", states={"a": own.final(output=3)})


def test_no_input_stands_for_the_defaults_where_it_is_none_itself():
    machine = asked.machine(
        "m", context=lambda topic: Game(guess=topic.question), initial="a", states={"a": asked.state()}
    )
    assert sc.initial_transition(machine)[0].context.guess == "what?"


def test_ends_and_replies_may_be_of_a_type_given_by_its_adapter():
    either = TypeAdapter(Topic | int)
    state = agent.state(
        initial="x",
        states={"x": agent.end(output=Topic())},
        on_done=agent.done(either, lambda game, got: agent.goto("b", guess=type(got).__name__)),
    )
    machine = agent.machine("m", initial="a", states={"a": state, "b": agent.state()})
    assert sc.initial_transition(machine)[0].context.guess == "Topic"
    agent.user_input("?", either)
    assert il.text_request("t", model="q", prompt="?", output=either).output is either


@pytest.mark.parametrize("where", ["input", "output"])
def test_the_name_of_a_type_is_none(where: str):
    with pytest.raises(DefinitionError, match=f"^{where}='Topic' is no type but the name of one"):
        il.setup_agent(context=Game, events=[Ask], **{where: "Topic"})  # type: ignore[arg-type]  # wrong on purpose
