"""A process that writes to a store: it races for indexes, or writes until somebody kills it.

Called as ``python -m tests.journal.stores.writer race|write URL NAME COUNT``. It says "ready", waits for a line, and
then says what it has written: one line "INDEX" for each entry that was acknowledged.
"""

import sys

import anyio

from interlock.errors import LogConflictError
from interlock.journal.stores import PostgresStore, Store, open_store
from interlock.journal.stores.conformance.probe import entry

THREAD = "contested"


def opened(url: str) -> Store:
    address, _, schema = url.partition("#")  # for tests only: a schema of PostgreSQL
    return PostgresStore(address, schema=schema) if schema else open_store(address)


async def race(store: Store, name: str, count: int) -> None:
    index = 0
    while index < count:
        try:
            await store.append(THREAD, index, [entry(index, name)])
        except LogConflictError as error:
            index = error.actual_index
        else:
            print(index, flush=True)
            index += 1


async def write(store: Store, name: str, count: int) -> None:
    for index in range(0, count, 2):
        await store.append(THREAD, index, [entry(index, name), entry(index + 1, name)])
        print(index + 1, flush=True)


async def main(work: str, url: str, name: str, count: int) -> None:
    store = opened(url)
    print("ready", flush=True)
    sys.stdin.readline()
    await {"race": race, "write": write}[work](store, name, count)
    await store.aclose()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
