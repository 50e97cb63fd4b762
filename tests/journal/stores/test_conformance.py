"""Every store keeps what `Store` promises, and a store that breaks one promise is found out."""

from collections.abc import Callable

import pytest

from interlock.journal.stores import MemoryStore, Store, assert_store_conformance

from .broken_stores import BROKEN


async def test_a_store_keeps_its_promises(open_store: Callable[[], Store], anyio_backend: str):
    assert isinstance(open_store(), Store)
    done = await assert_store_conformance(open_store)
    assert len(done) == len(set(done)) > 20
    if anyio_backend == "asyncio":
        assert await assert_store_conformance(open_store) == done, "on the data of the last time as well"


async def test_a_store_may_be_opened_by_an_async_function():
    async def opened() -> Store:
        return MemoryStore()

    assert "what_is_appended_is_read" in await assert_store_conformance(opened)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # whose order of tasks is the same each time
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
async def test_a_broken_store_is_found_out(broken: type[Store]):
    with pytest.raises(AssertionError, match=BROKEN[broken]):
        await assert_store_conformance(broken)


def test_the_sound_store_from_which_the_broken_ones_are_made_is_the_only_difference():
    assert all(issubclass(broken, MemoryStore) for broken in BROKEN)
