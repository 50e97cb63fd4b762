"""A Redis server: how it is reached, and what it promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from urllib.parse import quote, quote_plus, unquote, urlsplit

from interlock.errors import BindError, MissingExtraError, StoreError

if TYPE_CHECKING:
    from redis import Redis
    from redis.cluster import RedisCluster

Client: TypeAlias = "Redis | RedisCluster"
Durability: TypeAlias = Literal["always", "everysec", "none"]

__all__ = ["Client", "Durability", "check_durability", "checked", "connected", "decoded", "passwords"]

_ADVICE = (
    "set them (CONFIG SET appendonly yes, CONFIG SET appendfsync always, and the same in redis.conf), or say what is "
    'enough for you: RedisStore(..., durability="everysec") may lose the last second when the server crashes, '
    'durability="none" whatever the server loses'
)


def connected(url: str, timeout: float) -> Redis:
    """Return a client for a URL; it connects when it is first used."""
    redis = _redis()
    from redis.backoff import ExponentialBackoff
    from redis.retry import Retry

    try:
        return cast(
            "Redis",
            redis.Redis.from_url(
                url,
                socket_timeout=timeout,
                socket_connect_timeout=timeout,
                retry=Retry(ExponentialBackoff(cap=0.5, base=0.05), 3),  # seconds; our calls may be sent twice
            ),
        )
    except (ValueError, TypeError, AttributeError):
        pass  # the message may repeat the URL
    raise BindError(
        "the URL is none that redis-py reads (it is not shown here: it may hold a password); give "
        '"redis://host:6379/0", "rediss://..." or "unix:///path"'
    )


def checked(client: object) -> Client:
    """Return a client that was given, or raise :class:`BindError`."""
    redis = _redis()
    from redis.cluster import RedisCluster

    if not isinstance(client, (redis.Redis, RedisCluster)):
        raise BindError(
            f"server is of type {type(client).__module__}.{type(client).__qualname__}; give a URL, or a redis.Redis or "
            "redis.cluster.RedisCluster (not those for asyncio)"
        )
    return cast("Client", client)


def passwords(url: str) -> frozenset[str]:
    """Return the password of a URL in the forms in which it may come up in a message."""
    try:
        given = urlsplit(url).password
    except ValueError:
        given = None
    if not given:
        return frozenset()
    password = unquote(given)
    return frozenset({given, password, quote(password, safe=""), quote_plus(password)})


def check_durability(client: Any, wanted: Durability) -> None:  # redis-py says too little of its types
    """Raise :class:`StoreError` (``store-durability``) where the server promises less than is wanted."""
    if wanted == "none":
        return
    from redis.exceptions import ResponseError

    for node in client.get_primaries() if hasattr(client, "get_primaries") else [None]:
        chosen: dict[str, Any] = {} if node is None else {"target_nodes": node}
        try:
            found: dict[str, str] = {}
            for pattern in ("append*", "maxmemory*"):
                said: Mapping[Any, Any] = client.config_get(pattern, **chosen)
                found |= {decoded(name): decoded(value) for name, value in said.items()}
        except ResponseError as error:
            raise StoreError(
                f"Redis: durability={wanted!r} was asked for, and the server does not tell its settings: {error}. Let "
                'this user call CONFIG GET, or, if you know what the server does, pass durability="none", by which '
                "nothing is asked",
                code="store-durability",
            ) from error
        _check(found, wanted)


def _check(found: Mapping[str, str], wanted: Durability) -> None:
    appendonly, appendfsync = found.get("appendonly", "no"), found.get("appendfsync", "no")
    if appendonly != "yes" or appendfsync not in {"always", wanted}:
        raise StoreError(
            f"Redis: durability={wanted!r} was asked for, and the server has appendonly {appendonly} and appendfsync "
            f"{appendfsync}; {_ADVICE}",
            code="store-durability",
        )
    policy = found.get("maxmemory-policy", "noeviction")
    if found.get("maxmemory", "0") != "0" and policy.startswith("allkeys-"):
        raise StoreError(
            f"Redis: the server throws keys away when its memory is full (maxmemory-policy {policy}), and so whole "
            'logs; set it to noeviction or to one of volatile-*, or pass durability="none"',
            code="store-durability",
        )


def decoded(value: object) -> str:
    """Return what the server said as text; a client may have decoded it already."""
    return value.decode() if isinstance(value, bytes) else str(value)


def _redis() -> Any:
    try:
        import redis
    except ImportError as error:
        raise MissingExtraError(
            "logs in Redis need the package 'redis', which is not installed: pip install 'interlock[redis]'",
            package="redis",
            extra="redis",
        ) from error
    return redis
