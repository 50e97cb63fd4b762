"""A URL names a store."""

from pathlib import Path

import pytest

from interlock.errors import BindError
from interlock.journal.stores import MemoryStore, PostgresStore, RedisStore, SQLiteStore, open_store
from interlock.journal.stores.conformance.probe import entries


@pytest.mark.parametrize("url", ["memory:", "memory://", "MEMORY:"])
def test_memory(url: str):
    assert isinstance(open_store(url), MemoryStore)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///runs.db", "{here}/runs.db"),
        ("sqlite:///sub/runs.db", "{here}/sub/runs.db"),
        ("sqlite:////var/runs.db", "/var/runs.db"),
        ("sqlite:runs.db", "{here}/runs.db"),
        ("sqlite:/var/runs.db", "/var/runs.db"),
        ("sqlite:///with%20space.db", "{here}/with space.db"),
        ("sqlite::memory:", ":memory:"),
        ("sqlite:///:memory:", ":memory:"),
    ],
)
def test_sqlite(url: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    store = open_store(url)
    assert isinstance(store, SQLiteStore)
    assert store._path == path.format(here=tmp_path)


async def test_options_go_to_the_store(tmp_path: Path):
    assert open_store("sqlite:x.db?synchronous=normal")._synchronous == "normal"
    store = open_store("redis://localhost:1/3?durability=everysec&socket_timeout=7", max_entry_bytes=7)
    assert isinstance(store, RedisStore)
    assert (store._durability, store._max_entry_bytes) == ("everysec", 7)
    assert store._client.connection_pool.connection_kwargs["db"] == 3
    assert isinstance(open_store("postgresql://u@h/d"), PostgresStore)
    assert isinstance(open_store("postgres://u@h/d"), PostgresStore)
    store = open_store(f"sqlite:///{tmp_path}/runs.db", max_entry_bytes=10_000)
    await store.append("t", 0, entries(0, 1))
    await store.aclose()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlight:///x", "'sqlite:'"),
        ("runs.db", "memory:"),
        ("", "memory:"),
        ("mysql://root:s3cret@host/db", "'mysql:'"),
        ("user:s3cret@host", "'user:'"),
        ("memory:what", "what"),
        ("sqlite://host/path", "three slashes"),
        ("sqlite:", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:x.db?sync=full", "synchronous"),
        ("sqlite:x.db?synchronous=off", "full"),
        ("redis://h?durability=maybe", "everysec"),
        ("postgresql://u:s3cret@h:x:y/d?what", "conninfo"),
    ],
)
def test_a_url_that_names_no_store_is_refused_and_told_without_passwords(url: str, says: str):
    with pytest.raises(BindError) as refused:
        open_store(url)
    assert says in refused.value.message
    assert "s3cret" not in refused.value.message
