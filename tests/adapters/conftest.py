"""What the tests of adapters share."""

from collections.abc import Iterator

import pytest

from .openai_server import OpenAIServer, openai_server


@pytest.fixture(scope="session")
def running_server() -> Iterator[OpenAIServer]:
    with openai_server() as running:
        yield running


@pytest.fixture
def server(running_server: OpenAIServer) -> OpenAIServer:
    """The one server, as if nobody had ever called it."""
    running_server.reset()
    return running_server
