"""SQLite files as they are: locked, of another version, no database at all."""

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import anyio
import pytest

from interlock.errors import BindError, StoreError
from interlock.journal.stores import SQLiteStore
from interlock.journal.stores.conformance.probe import entries


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_locked_file_is_busy_after_a_while_and_free_again_later(tmp_path: Path):
    store = SQLiteStore(tmp_path / "runs.db", busy_timeout=0.05)
    await store.append("t", 0, entries(0, 1))
    with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for doing in (lambda: store.append("t", 1, entries(1, 1)), lambda: store.delete("t")):
            with pytest.raises(StoreError) as busy:
                await doing()
            assert (busy.value.code, busy.value.retryable) == ("store-busy", True)
            assert "0.05 s" in busy.value.message
        assert await store.length("t") == 1, "readers wait for nobody"
        assert len(await store.read("t")) == len(await store.threads()) == 1
        other.execute("ROLLBACK")
    await store.append("t", 1, entries(1, 1))
    assert await store.length("t") == 2
    await store.aclose()


async def test_a_new_file_that_is_locked_is_busy_too(tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        store = SQLiteStore(tmp_path / "runs.db", busy_timeout=0.05)
        with pytest.raises(StoreError) as busy:
            await store.append("t", 0, entries(0, 1))
        assert (busy.value.code, busy.value.retryable) == ("store-busy", True)
        other.execute("ROLLBACK")
    await store.append("t", 0, entries(0, 1))
    await store.aclose()


async def test_tables_of_a_newer_version_are_left_alone(tmp_path: Path):
    store = SQLiteStore(tmp_path / "runs.db")
    await store.append("t", 0, entries(0, 1))
    await store.aclose()
    with closing(sqlite3.connect(tmp_path / "runs.db")) as other, other:
        other.execute("UPDATE interlock_schema SET version = 2")
    store = SQLiteStore(tmp_path / "runs.db")
    for doing in (lambda: store.append("t", 1, entries(1, 1)), lambda: store.read("t"), lambda: store.delete("t")):
        with pytest.raises(StoreError, match="version 2") as newer:
            await doing()
        assert (newer.value.code, newer.value.retryable) == ("store-version", False)
    await store.aclose()


async def test_a_path_that_is_no_database_is_an_error_that_says_so(tmp_path: Path):
    (tmp_path / "text").write_text("no database, and longer than the header of one would be" * 20)
    for path, word in {
        tmp_path: "unable to open",
        tmp_path / "text": "not a database",
        tmp_path / "nowhere" / "runs.db": "unable to open",
    }.items():
        store = SQLiteStore(path)
        with pytest.raises(StoreError, match=word) as failed:
            await store.append("t", 0, entries(0, 1))
        assert (failed.value.code, failed.value.retryable) == ("store-failed", False)
        assert str(path) in failed.value.message
        assert isinstance(failed.value.__cause__, sqlite3.Error)
        with pytest.raises(StoreError, match=word):
            await store.read("t")
        await store.aclose()
    assert (tmp_path / "text").read_text().startswith("no database")


@contextmanager
def as_nobody():
    """Go without root's leave to write anywhere."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def frozen_file() -> Iterator[Path]:
    """A file with a log of one entry, which may not be written to, in a folder that may not be either."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "runs.db")

        async def write() -> None:
            store = SQLiteStore(path)
            await store.append("t", 0, entries(0, 1))
            await store.aclose()

        anyio.run(write)
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        yield path
        Path(folder).chmod(0o755)


async def test_a_file_that_cannot_be_written_to_is_an_error_that_says_so(frozen_file: Path):
    with as_nobody():
        for path, advice in ((frozen_file, "give it leave"), (frozen_file.with_name("new.db"), "may this process")):
            store = SQLiteStore(path)
            with pytest.raises(StoreError, match=advice) as failed:
                await store.append("t", 1, entries(1, 1))
            assert failed.value.code == "store-failed"
            await store.aclose()
    store = SQLiteStore(frozen_file)
    assert os.geteuid() or await store.length("t") == 1
    await store.aclose()


async def test_what_is_promised_about_the_disk_is_what_sqlite_is_told(tmp_path: Path):
    for asked, level in (("full", 2), ("normal", 1)):
        store = SQLiteStore(tmp_path / f"{asked}.db", synchronous=asked)
        await store.append("t", 0, entries(0, 1))
        assert store._writer.execute("PRAGMA synchronous").fetchone() == (level,)
        assert store._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        await store.aclose()
        assert f"{asked}.db-wal" not in names(tmp_path), "the log is put away"


async def test_reading_a_part_takes_the_index(tmp_path: Path):
    store = SQLiteStore(tmp_path / "runs.db")
    await store.append("t", 0, entries(0, 1))
    for sql, parameters in ((store._sql_read, ("t", 0)), (store._sql_index, ("t", "x")), (store._sql_length, ("t",))):
        plan = [row[3] for row in store._writer.execute(f"EXPLAIN QUERY PLAN {sql}", parameters)]
        assert all(step.startswith("SEARCH") for step in plan), plan
    await store.aclose()


async def test_a_store_in_memory_ends_with_its_object():
    one, two = SQLiteStore(":memory:"), SQLiteStore(":memory:")
    await one.append("t", 0, entries(0, 1))
    assert (await one.length("t"), await two.length("t")) == (1, 0)
    await one.aclose()
    await two.aclose()


async def test_a_path_means_the_folder_in_which_the_store_was_made(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = SQLiteStore("runs.db")
    monkeypatch.chdir(tmp_path.parent)
    await store.append("t", 0, entries(0, 1))
    await store.aclose()
    assert names(tmp_path) == ["runs.db"]


async def test_others_may_keep_their_tables_in_the_same_file(tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "app.db")) as other, other:
        other.execute("CREATE TABLE threads (mine)")
        other.execute("PRAGMA user_version = 7")
    store = SQLiteStore(tmp_path / "app.db")
    await store.append("t", 0, entries(0, 1))
    await store.aclose()
    with closing(sqlite3.connect(tmp_path / "app.db")) as other:
        assert other.execute("PRAGMA user_version").fetchone() == (7,)


async def test_many_may_make_the_tables_at_once(tmp_path: Path):
    stores = [SQLiteStore(tmp_path / "runs.db") for _ in range(8)]
    async with anyio.create_task_group() as tasks:
        for number, store in enumerate(stores):
            tasks.start_soon(store.append, f"t{number}", 0, entries(0, 1))
    assert len(await stores[0].threads()) == 8
    for store in stores:
        await store.aclose()


@pytest.mark.parametrize(
    "options", [{"synchronous": "off"}, {"busy_timeout": 0}, {"busy_timeout": -1}, {"path": ""}, {"path": "a\0b"}]
)
def test_arguments_that_cannot_be_are_refused_at_once(options):
    with pytest.raises(BindError):
        SQLiteStore(**{"path": ":memory:", **options})
