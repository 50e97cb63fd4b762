"""What a model reads about an event, and under which name it calls it."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from interlock.agent import describe
from interlock.agent.descriptors import tool_names
from tests.agent.machines import Add, Approve
from tests.guessing import Ask, Guess, Reply


def test_a_descriptor_holds_name_words_and_schema():
    (ask,) = describe([Ask])
    assert ask.to_json() == {
        "type": "Ask",
        "tool_name": "send_event_Ask",
        "description": "Ask one yes/no question.",
        "input_schema": {
            "type": "object",
            "properties": {"question": {"title": "Question", "type": "string"}},
            "required": ["question"],
            "additionalProperties": False,
        },
    }
    assert ask.event_class is Ask
    assert "event_class" not in repr(ask)


def test_a_description_does_not_come_from_a_base_class():
    class Silent(Ask):
        pass

    assert describe([Silent])[0].description == ""


def test_order_stays_and_data_is_json():
    described = describe([Guess, Add, Ask, Approve])
    assert [item.type for item in described] == ["Guess", "note.add", "Ask", "Approve"]
    assert [item.tool_name for item in described] == [
        "send_event_Guess",
        "send_event_note_add",
        "send_event_Ask",
        "send_event_Approve",
    ]
    json.dumps([item.to_json() for item in described], allow_nan=False)


def test_names_that_collide_are_counted():
    assert tool_names(["foo.bar", "foo/bar", "foo bar", "foo_bar_2"]) == {
        "foo.bar": "send_event_foo_bar",
        "foo/bar": "send_event_foo_bar_2",
        "foo bar": "send_event_foo_bar_3",
        "foo_bar_2": "send_event_foo_bar_2_2",
    }


def test_a_tool_keeps_its_name_whatever_is_offered_beside_it():
    class One(Ask, type="foo.bar"):
        pass

    class Two(Ask, type="foo bar"):
        pass

    alone = describe([Two], among=[One, Two, Reply])
    assert alone[0].tool_name == "send_event_foo_bar_2"


@given(st.lists(st.text(min_size=1, max_size=90)))
def test_tool_names_are_unlike_each_other_and_accepted_everywhere(types: list[str]):
    names = tool_names(types)
    assert list(names) == list(dict.fromkeys(types))
    assert len(set(names.values())) == len(names)
    assert all(re.fullmatch(r"send_event_[A-Za-z0-9_-]+", name) and len(name) <= 64 for name in names.values())
    assert tool_names(types) == names
