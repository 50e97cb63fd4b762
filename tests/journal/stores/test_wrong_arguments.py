"""What a store is called with by mistake is said by the store, before any database is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import interlock as il
from interlock.journal.stores import Store
from interlock.journal.stores.conformance.probe import entries, entry

pytestmark = pytest.mark.anyio

NAMES: list[Any] = [None, 5, "", "\ud800", b"x", object(), ["t"], "x" * 513]
NUMBERS: list[Any] = [None, "1", b"1", 1.5, True, object(), []]
ENTRIES: list[Any] = [None, 5, "x", b"x", object(), [None], ["x"], [{}], {"a": 1}, [entry(0), 5]]


async def refused(call: Callable[[], Any], *codes: str) -> None:
    with pytest.raises(il.StoreError) as caught:
        await call()
    assert caught.value.code in codes, caught.value


@pytest.mark.parametrize("name", NAMES, ids=repr)
async def test_names_that_are_none(open_store: Callable[[], Store], name: Any):
    store = open_store()
    await store.append("t", 0, entries(0, 3))
    for call in (
        lambda: store.read(name),
        lambda: store.length(name),
        lambda: store.append(name, 0, entries(0, 1)),
        lambda: store.index_of(name, "a"),
        lambda: store.fork(name, "u"),
        lambda: store.fork("t", name),
        lambda: store.delete(name),
        lambda: store.load_snapshot(name),
    ):
        await refused(call, "invalid-append")
    assert await store.index_of("t", name) is None
    assert await store.length("t") == 3
    await store.aclose()


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
async def test_numbers_that_are_none(open_store: Callable[[], Store], number: Any):
    store = open_store()
    await store.append("t", 0, entries(0, 3))
    await refused(lambda: store.append("t", number, entries(3, 1)), "invalid-argument")
    await refused(lambda: store.read("t", start=number), "invalid-argument")
    if number is not None:
        await refused(lambda: store.read("t", limit=number), "invalid-argument")
        await refused(lambda: store.threads(limit=number), "invalid-argument")
        await refused(lambda: store.fork("t", "u", length=number), "invalid-argument")
    assert await store.length("t") == 3
    assert await store.length("u") == 0
    await store.aclose()


@pytest.mark.parametrize("given", ENTRIES, ids=lambda given: repr(given)[:30])
async def test_entries_that_are_none(open_store: Callable[[], Store], given: Any):
    store = open_store()
    await refused(lambda: store.append("t", 0, given), "invalid-append")
    assert await store.length("t") == 0
    await store.aclose()


async def test_entries_may_be_anything_that_gives_entries(open_store: Callable[[], Store]):
    store = open_store()
    await store.append("t", 0, iter(entries(0, 2)))  # type: ignore[arg-type]  # wrong on purpose
    await store.append("t", 2, ())
    assert await store.length("t") == 2
    await store.aclose()
