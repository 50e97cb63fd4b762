"""Messages of every kind, for the laws about them."""

from collections.abc import Callable
from typing import TypeVar

from hypothesis import strategies as st

from interlock.agent import (
    AgentMessage,
    AssistantMessage,
    ContentOutput,
    ErrorJsonOutput,
    ErrorTextOutput,
    FilePart,
    ImagePart,
    JsonOutput,
    SystemMessage,
    TextOutput,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)

T = TypeVar("T")


def made(kind: Callable[..., T], **fields: st.SearchStrategy[object]) -> st.SearchStrategy[T]:
    """Instances of a model; ``st.builds`` would look at its annotations, and warn of those that it does not know."""
    return st.fixed_dictionaries(fields).map(lambda given: kind(**given))


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
options = st.none() | st.dictionaries(words, st.dictionaries(words, json, max_size=2), max_size=2)
data = st.binary(max_size=8) | st.sampled_from(["https://a.example/b.png", "data:image/png;base64,AA=="])
maybe = st.none() | words
ids = st.sampled_from(["a", "b", "c", ""])

text_parts = made(TextPart, text=words, provider_options=options)
image_parts = made(ImagePart, image=data, media_type=maybe, provider_options=options)
file_parts = made(FilePart, data=data, media_type=words, filename=maybe, provider_options=options)
call_parts = made(ToolCallPart, tool_call_id=ids, tool_name=words, input=json, provider_options=options)
outputs = st.one_of(
    made(TextOutput, value=words),
    made(JsonOutput, value=json),
    made(ErrorTextOutput, value=words),
    made(ErrorJsonOutput, value=json),
    made(ContentOutput, value=st.lists(text_parts | image_parts, max_size=2).map(tuple)),
)
result_parts = made(ToolResultPart, tool_call_id=ids, tool_name=words, output=outputs, provider_options=options)


def parts(*kinds: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return words | st.lists(st.one_of(*kinds), max_size=3).map(tuple)


messages: st.SearchStrategy[AgentMessage] = st.one_of(
    made(SystemMessage, content=words, provider_options=options),
    made(UserMessage, content=parts(text_parts, image_parts, file_parts), provider_options=options),
    made(AssistantMessage, content=parts(text_parts, file_parts, call_parts, result_parts), provider_options=options),
    made(ToolMessage, content=st.lists(result_parts, max_size=3).map(tuple), provider_options=options),
)
transcripts = st.lists(messages, max_size=5).map(tuple)
