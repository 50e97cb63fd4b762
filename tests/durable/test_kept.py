"""What a store cannot tell, or cannot keep, for a moment: nothing is lost by it, and it is tried again."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

import interlock as il
from interlock.errors import StoreError
from interlock.journal.stores import SavedSnapshot
from tests import guessing

pytestmark = pytest.mark.anyio

YES = guessing.Reply(answer="yes")


class Away(il.MemoryStore):
    """A store whose server does not answer for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.slow = False
        self.saves = 0

    async def index_of(self, thread_id: str, entry_id: str) -> int | None:
        if self.slow:
            await anyio.sleep_forever()
        if self.away:
            raise StoreError("the server is away", retryable=True)
        return await super().index_of(thread_id, entry_id)

    async def save_snapshot(self, thread_id: str, saved: SavedSnapshot) -> None:
        self.saves += 1
        if self.away:
            raise StoreError("the server is away", retryable=True)
        await super().save_snapshot(thread_id, saved)


def session(store: Away) -> il.AgentSession[Any, Any, Any]:
    script = il.ScriptedExecutors(decisions=[guessing.Ask(question="Is it alive?"), guessing.Guess(guess="a cat")])
    return il.AgentSession(guessing.game(), store=store, thread_id="t", executors=script)


@pytest.mark.parametrize("how", ["refused", "cancelled"])
async def test_an_event_whose_id_could_not_be_looked_up_is_sent_again_and_counts_once(how: str):
    store = Away()
    async with session(store) as open_:
        await open_.settled()
        if how == "refused":
            store.away = True
            with pytest.raises(StoreError):
                await open_.send(YES, event_id="click")
            store.away = False
        else:
            store.slow = True
            with anyio.move_on_after(0.01):
                await open_.send(YES, event_id="click")
            store.slow = False
        await open_.send(YES, event_id="click")
        result = await open_.settled()
        assert not result.duplicate
        await open_.send(YES, event_id="click")
        assert (await open_.settled()).duplicate
    assert [entry.id for entry in await store.read("t")].count("click") == 1


async def test_a_snapshot_that_could_not_be_kept_is_kept_later():
    store = Away()
    async with session(store) as open_:
        store.away = True
        await open_.settled()
        store.away = False
    kept = await store.load_snapshot("t")
    assert kept is not None
    assert kept.index == await store.length("t") - 1
