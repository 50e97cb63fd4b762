"""A trial of everything that :class:`Store` promises, for stores of anybody's make. It needs no test runner."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import cast

from interlock.journal.stores.base import Store
from interlock.journal.stores.conformance.appends import APPENDS
from interlock.journal.stores.conformance.lives import LIVES
from interlock.journal.stores.conformance.probe import Probe
from interlock.journal.stores.conformance.races import RACES
from interlock.journal.stores.conformance.values import VALUES

__all__ = ["assert_store_conformance"]


async def assert_store_conformance(open_store: Callable[[], Store | Awaitable[Store]]) -> tuple[str, ...]:
    """Try a store out, and return the names of what was checked.

    It writes threads whose ids begin with ``conformance/``, deletes those of the last time first, and leaves its own
    there. Call it in each event loop that the store is to be used in.

    Arguments:
        open_store: opens a store, or returns an awaitable that does; called for each check, which closes what it was
            given. If all of them have the same data, racing stores are tried as well.

    Raises :class:`AssertionError` for the first promise that is not kept: what was done, what should have come of it
    and what came. Where the store raised what it should not, that is the ``__cause__``.
    """

    async def opened() -> Store:
        store = open_store()
        return await store if inspect.isawaitable(store) else store

    done: list[str] = []
    for check in (*APPENDS, *VALUES, *LIVES, *RACES):
        store = await opened()
        try:
            await check(Probe(store, opened))
        except AssertionError:
            raise
        except Exception as raised:  # noqa: BLE001  # whatever a foreign store raises is a finding
            error = _first(raised)
            raise AssertionError(
                f"{check.__name__}: the store raised {type(error).__name__}, which it should not: {error}"
            ) from error
        finally:
            await store.aclose()
        done.append(check.__name__)
    return tuple(done)


def _first(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup):  # of racing tasks; one will do
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    return error
