"""Redis as it is: what it promises, clusters, lost connections, and what must not be said."""

import signal
import sys
import traceback
from collections.abc import Iterator
from urllib.parse import quote

import pytest
import redis
from redis.cluster import RedisCluster

from interlock.errors import BindError, LogConflictError, MissingExtraError, StoreError
from interlock.journal.stores import RedisStore, assert_store_conformance
from interlock.journal.stores.conformance.probe import entries, snapshot
from tests.servers import PASSWORD, Redis, running_redis

ONE_LOOP = pytest.mark.parametrize("anyio_backend", ["trio"])  # what is tried has nothing to do with event loops


@pytest.fixture(scope="module")
def sloppy_server() -> Iterator[Redis]:
    """One that keeps nothing."""
    with running_redis("--appendonly", "no") as running:
        yield running


async def test_a_server_that_promises_less_is_refused_until_that_is_enough(sloppy_server: Redis):
    with redis.Redis(port=sloppy_server.port) as admin:
        admin.flushall()
        for appendonly, appendfsync, accepted in (
            ("no", "always", {"none"}),
            ("yes", "no", {"none"}),
            ("yes", "everysec", {"none", "everysec"}),
            ("yes", "always", {"none", "everysec", "always"}),
        ):
            admin.config_set("appendfsync", appendfsync)
            admin.config_set("appendonly", appendonly)
            for durability in ("always", "everysec", "none"):
                store = RedisStore(sloppy_server.url, durability=durability)
                if durability in accepted:
                    assert await store.length("t") == 0
                else:
                    with pytest.raises(StoreError) as refused:
                        await store.append("t", 0, entries(0, 1))
                    assert refused.value.code == "store-durability"
                    said = refused.value.message
                    assert f"appendonly {appendonly}" in said
                    assert f"appendfsync {appendfsync}" in said
                    assert "CONFIG SET appendonly yes" in said
                    assert 'durability="none"' in said
                await store.aclose()


async def test_a_server_that_throws_keys_away_is_refused(sloppy_server: Redis):
    with redis.Redis(port=sloppy_server.port) as admin:
        admin.config_set("appendonly", "yes")
        admin.config_set("appendfsync", "always")
        for memory, policy, good in (
            ("100mb", "allkeys-lru", False),
            ("100mb", "volatile-lru", True),
            ("0", "allkeys-lru", True),
        ):
            admin.config_set("maxmemory", memory)
            admin.config_set("maxmemory-policy", policy)
            store = RedisStore(sloppy_server.url)
            if good:
                assert await store.length("t") == 0
            else:
                with pytest.raises(StoreError, match="allkeys-lru") as refused:
                    await store.length("t")
                assert refused.value.code == "store-durability"
            await store.aclose()


async def test_where_the_settings_are_secret_it_says_what_can_be_passed(redis_server: Redis, anyio_backend: str):
    with redis.Redis(port=redis_server.port) as admin:
        admin.acl_setuser("app", enabled=True, passwords=["+app"], keys=["*"], commands=["+@all", "-config"])
    url = f"redis://app:app@127.0.0.1:{redis_server.port}"
    store = RedisStore(url, prefix=anyio_backend)
    with pytest.raises(StoreError, match='durability="none"') as refused:
        await store.length("t")
    assert refused.value.code == "store-durability"
    await store.aclose()
    store = RedisStore(url, prefix=anyio_backend, durability="none")
    await store.append("t", 0, entries(0, 1))
    assert await store.length("t") == 1
    await store.aclose()


@pytest.mark.slow
@ONE_LOOP
async def test_a_cluster_finds_all_keys_of_a_thread_in_one_place():
    with running_redis("--appendonly", "yes", "--appendfsync", "always", "--cluster-enabled", "yes") as server:
        with redis.Redis(port=server.port) as admin:
            admin.execute_command("CLUSTER ADDSLOTS", *range(16384))
            while admin.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
                pass
        client = RedisCluster("127.0.0.1", server.port)
        try:
            await assert_store_conformance(lambda: RedisStore(client))
            client.config_set("appendfsync", "no", target_nodes=RedisCluster.PRIMARIES)
            store = RedisStore(client)
            with pytest.raises(StoreError, match="appendfsync no"):
                await store.length("t")
        finally:
            client.close()


@ONE_LOOP
@pytest.mark.parametrize("options", [{"decode_responses": True}, {"protocol": 3}, {"protocol": 2}])
async def test_a_client_of_your_own_may_be_set_as_you_like_and_stays_open(redis_server: Redis, options):
    with redis.Redis(port=redis_server.port, **options) as client:
        await assert_store_conformance(lambda: RedisStore(client, prefix="own"))
        assert client.ping()


async def test_an_append_that_is_sent_twice_is_written_once(open_redis, monkeypatch):
    """Clients send again what they got no answer to."""
    store = open_redis()
    await store.append("t", 0, entries(0, 1))
    script = store._script
    said = []

    def twice(*arguments):
        said.append(script(*arguments))
        return script(*arguments)

    monkeypatch.setattr(store, "_script", twice)
    await store.append("t", 1, entries(1, 2))
    with pytest.raises(LogConflictError):
        await store.append("t", 1, entries(1, 2))
    assert said == [[b"ok"], [b"conflict", b"3"]]
    assert await store.read("t") == tuple(entries(0, 3))
    await store.aclose()


async def test_lost_connections_are_made_anew(open_redis, redis_server: Redis):
    store = open_redis()
    await store.append("t", 0, entries(0, 1))
    with redis.Redis(port=redis_server.port) as admin:
        admin.client_kill_filter(_type="normal", skipme=True)
        admin.script_flush()
    await store.append("t", 1, entries(1, 1))
    assert await store.length("t") == 2
    await store.aclose()


@ONE_LOOP
async def test_a_server_that_is_gone_is_an_error_and_found_again_later():
    settings = ("--appendonly", "yes", "--appendfsync", "always")
    with running_redis(*settings) as server:
        store = RedisStore(server.url, timeout=2)
        await store.append("t", 0, entries(0, 1))
        server.process.kill()
        server.process.wait()
        with pytest.raises(StoreError) as failed:
            await store.append("t", 1, entries(1, 1))
        assert (failed.value.code, failed.value.retryable) == ("store-failed", True)
        assert "whether this was written is not known; read the thread" in failed.value.message
        with server.again():
            assert await store.read("t") == tuple(entries(0, 1)), "what was acknowledged is there"
            await store.append("t", 1, entries(1, 1))
            await store.aclose()


@pytest.mark.slow
@ONE_LOOP
async def test_a_write_that_no_answer_came_to_may_have_been_done_and_says_so():
    with running_redis("--appendonly", "yes", "--appendfsync", "always") as server:
        store = RedisStore(server.url, timeout=0.2)
        await store.append("t", 0, entries(0, 1))
        writes = {
            "append": lambda: store.append("t", 1, entries(1, 1)),
            "fork": lambda: store.fork("t", "u"),
            "save": lambda: store.save_snapshot("t", snapshot(0)),
            "delete": lambda: store.delete("t"),
        }
        for name, write in writes.items():
            server.process.send_signal(signal.SIGSTOP)
            with pytest.raises(StoreError) as failed:
                await write()
            with pytest.raises(StoreError) as unread:
                await store.read("t")
            server.process.send_signal(signal.SIGCONT)
            assert (failed.value.code, failed.value.retryable) == ("store-failed", True)
            assert "whether this was written is not known; read the thread" in failed.value.message, name
            assert "read the thread" not in unread.value.message, "nobody wanted to write"
            if name == "append":
                assert await store.length("t") == 2, "it was written, once"
        await store.aclose()


async def test_a_write_that_was_never_begun_is_not_unknown():
    store = RedisStore("redis://127.0.0.1:1/0", timeout=1)
    with pytest.raises(StoreError) as failed:
        await store.append("t", 0, entries(0, 1))
    assert failed.value.retryable
    assert "read the thread" not in failed.value.message
    await store.aclose()


async def test_keys_of_a_newer_version_are_left_alone(open_redis, redis_server: Redis):
    store = open_redis()
    await store.append("t", 0, entries(0, 1))
    await store.aclose()
    with redis.Redis(port=redis_server.port) as admin:
        admin.set(f"{store._prefix}:version", 2)
    store = open_redis()
    with pytest.raises(StoreError, match="version 2") as newer:
        await store.append("t", 1, entries(1, 1))
    assert newer.value.code == "store-version"
    await store.aclose()


async def test_no_password_is_told(redis_server: Redis):
    secret = quote(PASSWORD, safe="")
    for url in (f"redis://who:{secret}@127.0.0.1:{redis_server.port}", f"redis://user:{secret}@127.0.0.1:1/0"):
        store = RedisStore(url, timeout=1)
        with pytest.raises(StoreError) as failed:
            await store.append("t", 0, entries(0, 1))
        told = "".join(traceback.format_exception(failed.value)) + repr(store) + repr(failed.value)
        assert PASSWORD not in told
        assert secret not in told
        await store.aclose()
    for url in ("redis://:s3cret@host:port/0", "s3cret", "redis://:s3cret@host/0?socket_timeout=x"):
        with pytest.raises(BindError) as refused:
            RedisStore(url)
        assert "s3cret" not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize(
    "options", [{"durability": "maybe"}, {"prefix": ""}, {"prefix": "{a}"}, {"timeout": 0}, {"max_connections": 0}]
)
def test_arguments_that_cannot_be_are_refused_at_once(options):
    with pytest.raises(BindError):
        RedisStore("redis://localhost", **options)


def test_a_client_for_asyncio_is_refused():
    import redis.asyncio

    with pytest.raises(BindError, match="not those for asyncio"):
        RedisStore(redis.asyncio.Redis())


def test_without_its_driver_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'interlock\[redis\]'") as missing:
        RedisStore("redis://localhost")
    assert (missing.value.package, missing.value.extra) == ("redis", "redis")
