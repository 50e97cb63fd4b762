"""PostgreSQL as it is: lost connections, locks, other versions, and what must not be said."""

import sys
import traceback
from urllib.parse import quote

import anyio
import anyio.to_thread
import psycopg
import pytest

from interlock.errors import BindError, MissingExtraError, StoreError
from interlock.journal.stores import PostgresStore
from interlock.journal.stores.conformance.probe import entries, snapshot
from tests.servers import PASSWORD


def kill_all(server) -> None:
    server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'interlock' "
        "AND pid <> pg_backend_pid()"
    )


async def test_an_idle_connection_that_was_ended_is_replaced_without_a_word(open_postgres, postgres_server):
    store = open_postgres()
    await store.append("t", 0, entries(0, 1))
    kill_all(postgres_server)
    await store.append("t", 1, entries(1, 1))
    assert await store.length("t") == 2
    await store.aclose()


WRITES = {
    "append": lambda store: store.append("t", 1, entries(1, 1)),
    "fork": lambda store: store.fork("t", "u"),
    "save": lambda store: store.save_snapshot("t", snapshot(0)),
    "delete": lambda store: store.delete("t"),
}


@pytest.mark.parametrize("name", WRITES)
async def test_a_connection_lost_in_the_middle_of_a_write_is_an_error_and_the_store_goes_on(
    open_postgres, postgres_server, schema, name
):
    store = open_postgres()
    await store.append("t", 0, entries(0, 1))
    with psycopg.connect(postgres_server.conninfo) as other:
        other.execute(f"SELECT * FROM {schema}.interlock_threads FOR UPDATE".encode())
        failures: list[StoreError] = []

        async def write() -> None:
            try:
                await WRITES[name](store)
            except StoreError as error:
                failures.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await anyio.to_thread.run_sync(wait_until_somebody_waits, postgres_server)
            kill_all(postgres_server)
    [failed] = failures
    assert (failed.code, failed.retryable) == ("store-failed", True)
    assert "whether this was written is not known; read the thread" in failed.message
    assert await store.length("t") == 1
    await store.append("t", 1, entries(1, 1))
    assert await store.length("t") == 2
    await store.aclose()


async def test_what_is_being_written_is_finished_before_the_store_is_closed(open_postgres, postgres_server, schema):
    store = open_postgres()
    await store.append("t", 0, entries(0, 1))
    counted: list[object] = []

    async def close() -> None:
        await store.aclose()
        with psycopg.connect(postgres_server.conninfo) as another:
            both = (f"SELECT count(*) FROM {schema}.interlock_{table}".encode() for table in ("entries", "snapshots"))
            counted.extend(another.execute(sql).fetchone() for sql in both)

    with psycopg.connect(postgres_server.conninfo) as other:
        other.execute(f"SELECT * FROM {schema}.interlock_threads FOR UPDATE".encode())
        async with anyio.create_task_group() as tasks:
            for name in ("append", "save"):
                tasks.start_soon(WRITES[name], store)
            await anyio.to_thread.run_sync(wait_until_somebody_waits, postgres_server, 2)
            tasks.start_soon(close)
            await anyio.sleep(0.1)
            assert counted == []
            other.rollback()
    assert counted == [(2,), (1,)]


def wait_until_somebody_waits(server, number=1) -> None:
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        sql = b"SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'interlock'"
        while connection.execute(sql).fetchone() < (number,):
            pass


async def test_a_row_that_others_lock_is_busy_after_a_while(open_postgres, postgres_server, schema):
    store = open_postgres(lock_timeout=0.05)
    await store.append("t", 0, entries(0, 1))
    with psycopg.connect(postgres_server.conninfo) as other:
        other.execute(f"SELECT * FROM {schema}.interlock_threads FOR UPDATE".encode())
        for doing in (lambda: store.append("t", 1, entries(1, 1)), lambda: store.delete("t")):
            with pytest.raises(StoreError) as busy:
                await doing()
            assert (busy.value.code, busy.value.retryable) == ("store-busy", True)
        assert await store.length("t") == 1, "readers wait for nobody"
    await store.append("t", 1, entries(1, 1))
    await store.aclose()


async def test_tables_of_a_newer_version_are_left_alone(open_postgres, postgres_server, schema):
    store = open_postgres()
    await store.append("t", 0, entries(0, 1))
    await store.aclose()
    postgres_server.execute(f"UPDATE {schema}.interlock_schema SET version = 2")
    store = open_postgres()
    for doing in (lambda: store.append("t", 1, entries(1, 1)), lambda: store.read("t")):
        with pytest.raises(StoreError, match="version 2") as newer:
            await doing()
        assert newer.value.code == "store-version"
    await store.aclose()


async def test_many_may_make_the_tables_at_once(open_postgres):
    stores = [open_postgres() for _ in range(8)]
    async with anyio.create_task_group() as tasks:
        for number, store in enumerate(stores):
            tasks.start_soon(store.append, f"t{number}", 0, entries(0, 1))
    assert len(await stores[0].threads()) == 8
    for store in stores:
        await store.aclose()


async def test_who_may_not_make_tables_may_still_write(open_postgres, postgres_server, schema):
    store = open_postgres()
    await store.append("t", 0, entries(0, 1))
    await store.aclose()
    role = f"writer_{schema}"
    postgres_server.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'other'")
    try:
        postgres_server.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        postgres_server.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}")
        url = f"postgresql://{role}:other@127.0.0.1:{postgres_server.port}/postgres"
        writer = PostgresStore(url, schema=schema)
        await writer.append("t", 1, entries(1, 1))
        assert await writer.length("t") == 2
        await writer.aclose()
        stranger = PostgresStore(url, schema="elsewhere")
        with pytest.raises(StoreError, match="permission denied"):
            await stranger.length("t")
        await stranger.aclose()
    finally:
        postgres_server.execute(f"DROP OWNED BY {role}")
        postgres_server.execute(f"DROP ROLE {role}")


async def test_what_the_role_has_set_weakens_no_promise(open_postgres, postgres_server):
    role = "sloppy"
    postgres_server.execute(f"CREATE ROLE {role} LOGIN SUPERUSER PASSWORD 'other'")
    try:
        for setting in ("synchronous_commit = off", "default_transaction_isolation = 'serializable'"):
            postgres_server.execute(f"ALTER ROLE {role} SET {setting}")
        url = f"postgresql://{role}:other@127.0.0.1:{postgres_server.port}/postgres"
        store = PostgresStore(url, schema="sloppy")
        with store._reading() as session:
            assert session.execute("SHOW synchronous_commit").fetchone() == ("on",)
            assert session.execute("SHOW transaction_isolation").fetchone() == ("read committed",)
        await store.aclose()
    finally:
        postgres_server.execute("DROP SCHEMA IF EXISTS sloppy CASCADE")
        postgres_server.execute(f"DROP ROLE {role}")


async def test_no_password_is_told(postgres_server):
    port = postgres_server.port
    for conninfo in (
        f"postgresql://interlock:{quote('wr@ng' + PASSWORD, safe='')}@127.0.0.1:{port}/postgres",
        f"postgresql://interlock:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/{quote(PASSWORD, safe='')}",
        f"postgresql://interlock:{quote(PASSWORD, safe='')}@127.0.0.1:1/postgres",
        f"host=127.0.0.1 port={port} dbname=nowhere user=interlock password='{PASSWORD}'",
    ):
        store = PostgresStore(conninfo, connect_timeout=2)
        with pytest.raises(StoreError) as failed:
            await store.append("t", 0, entries(0, 1))
        assert (failed.value.code, failed.value.retryable) == ("store-failed", True)
        told = "".join(traceback.format_exception(failed.value)) + repr(store) + repr(failed.value)
        assert PASSWORD not in told
        assert quote(PASSWORD, safe="") not in told
        await store.aclose()
    for conninfo in ("postgresql://u:s3cret@host:port:no/x?what=1", "host=h password=s3cret what", "s3cret"):
        with pytest.raises(BindError) as refused:
            PostgresStore(conninfo)
        assert "s3cret" not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize(
    "options",
    [
        {"schema": ""},
        {"schema": 'a"; DROP TABLE x; --'},
        {"schema": "1a"},
        {"max_connections": 0},
        {"connect_timeout": 0},
        {"lock_timeout": -1},
        {"schema": 5},
        {"conninfo": None},
    ],
)
def test_arguments_that_cannot_be_are_refused_at_once(options):
    with pytest.raises(BindError):
        PostgresStore(**{"conninfo": "host=localhost", **options})


def test_without_its_driver_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'interlock\[postgres\]'") as missing:
        PostgresStore("host=localhost")
    assert (missing.value.package, missing.value.extra) == ("psycopg", "postgres")
