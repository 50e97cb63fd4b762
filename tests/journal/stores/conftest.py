"""Every kind of store, each test's on data of its own."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interlock.journal.stores import MemoryStore, PostgresStore, RedisStore, SQLiteStore, Store

numbers = itertools.count(1)


@pytest.fixture
def schema(request: pytest.FixtureRequest, postgres_server) -> Iterator[str]:
    """A schema of PostgreSQL that nobody else uses, and that is not there yet."""
    name = f"test_{next(numbers)}"
    yield name
    postgres_server.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.fixture
def open_postgres(postgres_server, schema) -> Callable[..., PostgresStore]:
    return lambda **options: PostgresStore(postgres_server.url, schema=schema, **options)


@pytest.fixture
def open_redis(redis_server) -> Callable[..., RedisStore]:
    prefix = f"test-{next(numbers)}"
    return lambda **options: RedisStore(redis_server.url, prefix=prefix, **options)


@pytest.fixture
def open_sqlite(tmp_path: Path) -> Callable[..., SQLiteStore]:
    return lambda **options: SQLiteStore(tmp_path / "runs.db", **options)


@pytest.fixture(params=["memory", "sqlite", "sqlite in memory", "postgres", "redis"])
def open_store(request: pytest.FixtureRequest) -> Callable[..., Store]:
    """Opens a store of each kind; all of one test but those in memory have the same data."""
    match request.param:
        case "memory":
            return MemoryStore
        case "sqlite in memory":
            return lambda **options: SQLiteStore(":memory:", **options)
        case kind:
            return request.getfixturevalue(f"open_{kind}")


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def open_durable(request: pytest.FixtureRequest) -> Callable[..., Store]:
    return request.getfixturevalue(f"open_{request.param}")
