"""How every test runs: on both event loops, with examples that are the same each time."""

import os

import pytest
from hypothesis import HealthCheck, settings

from .servers import postgres_server, redis_server  # noqa: F401  # fixtures for all, started when first asked for

# No deadline anywhere: how long an example takes says something about the machine, nothing about the law.
settings.register_profile("quick", max_examples=50, derandomize=True, deadline=None)
settings.register_profile(
    "ci",
    max_examples=200,
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],  # a busy runner is no finding
)
# New examples each time, many of them; found ones are kept in .hypothesis and tried first.
settings.register_profile("explore", max_examples=5_000, deadline=None, print_blob=True)
settings.load_profile("ci" if "CI" in os.environ else "quick")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param
