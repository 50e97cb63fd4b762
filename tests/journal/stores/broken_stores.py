"""Stores that break one promise each, and what their trial must say of it."""

import dataclasses
import json

import anyio.lowlevel

from interlock.errors import LogConflictError, StoreError
from interlock.journal.entries import LogEntry
from interlock.journal.stores import MemoryStore
from interlock.journal.stores.checks import check_append
from interlock.journal.stores.memory import _Thread

BROKEN: dict[type[MemoryStore], str] = {}


def says(pattern: str):
    def listed(store: type[MemoryStore]) -> type[MemoryStore]:
        BROKEN[store] = pattern
        return store

    return listed


# -- appending -----------------------------------------------------------------------------------------------------


@says("append at 0 to 3 entries: expected LogConflictError, came None")
class IgnoresExpectedIndex(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        length = await self.length(thread_id)
        moved = [dataclasses.replace(entry, index=length + n) for n, entry in enumerate(entries)]
        await super().append(thread_id, length, moved if expected_index != length else entries)


@says("append at 4 to 3 entries: expected LogConflictError")
class AllowsHoles(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        length = await self.length(thread_id)
        if expected_index > length > 0:
            moved = [dataclasses.replace(entry, index=length + n) for n, entry in enumerate(entries)]
            return await super().append(thread_id, length, moved)
        return await super().append(thread_id, expected_index, entries)


@says("6 appends of 1 entries at 0, all at once: how many were written .* expected 1, came 6")
class LastWriterWins(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        length = await self.length(thread_id)
        await anyio.lowlevel.checkpoint()
        if length == expected_index and (thread := self._threads.get(thread_id)):
            for entry in thread.entries[length:]:
                del thread.ids[entry.id]
            del thread.entries[length:]
        await super().append(thread_id, expected_index, entries)


@says("append of three, the second of which was refused: read")
class AppendsOneByOne(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        check_append(thread_id, expected_index, entries)
        for n, entry in enumerate(entries):
            await super().append(thread_id, expected_index + n, [entry])


@says("after an append of three, the second of which was refused: read")
class LeavesTheBeginning(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        try:
            await super().append(thread_id, expected_index, entries)
        except StoreError as error:
            if error.code == "duplicate-entry" and len(entries) > 1:
                await super().append(thread_id, expected_index, entries[:1])
            raise


@says("append of an id that is there: expected StoreError")
class TakesDuplicates(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        before = self._threads[thread_id].ids if thread_id in self._threads else {}
        if before and expected_index == len(self._threads[thread_id].entries):
            self._threads[thread_id].ids = {}
        try:
            await super().append(thread_id, expected_index, entries)
        finally:
            if thread_id in self._threads:
                self._threads[thread_id].ids = before | self._threads[thread_id].ids


@says("append of the same id twice: expected StoreError")
class TakesTwins(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        unlike = {entry.id: entry for entry in entries}
        given = [dataclasses.replace(entry, index=expected_index + n) for n, entry in enumerate(unlike.values())]
        await super().append(thread_id, expected_index, entries if len(given) == len(entries) else given)


@says("append with a gap: expected StoreError")
class TakesGaps(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        given = [dataclasses.replace(entry, index=expected_index + n) for n, entry in enumerate(entries)]
        await super().append(thread_id, expected_index, given)


@says("append at 0 to 3 entries: thread_id, expected_index, actual_index")
class TellsTheWrongLength(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        try:
            await super().append(thread_id, expected_index, entries)
        except LogConflictError as error:
            raise LogConflictError(
                thread_id=thread_id, expected_index=error.expected_index, actual_index=error.actual_index - 1
            ) from None


@says("expected LogConflictError, came StoreError")
class CallsConflictsFailures(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        try:
            await super().append(thread_id, expected_index, entries)
        except LogConflictError as error:
            raise StoreError(str(error)) from None


@says("append at 2 to 3 entries: thread_id, expected_index, actual_index")
class RefusesAndWrites(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        try:
            await super().append(thread_id, expected_index, entries)
        except LogConflictError as error:
            moved = [dataclasses.replace(entry, index=error.actual_index + n) for n, entry in enumerate(entries)]
            await super().append(thread_id, error.actual_index, moved)
            raise


@says("appends of nothing")
class BeginsThreadsWithNothing(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        if not entries and thread_id not in self._threads:
            entries = [LogEntry(index=expected_index, id="e", machine_id="m", machine_version="1", status="working")]
        await super().append(thread_id, expected_index, entries)


@says("an_append_of_nothing_does_nothing: the store raised LogConflictError")
class ChecksTheIndexOfNothing(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        length = await self.length(thread_id)
        if not entries and expected_index != length:
            raise LogConflictError(thread_id=thread_id, expected_index=expected_index, actual_index=length)
        await super().append(thread_id, expected_index, entries)


# -- reading -------------------------------------------------------------------------------------------------------


@says("after the list that had been appended was changed: read")
class KeepsTheCallersList(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        await super().append(thread_id, expected_index, entries)
        if not expected_index and isinstance(entries, list) and len(entries) == 3:
            self._threads[thread_id].entries = entries


@says("its type: expected 'tuple', came 'list'")
class GivesItsOwnList(MemoryStore):
    async def read(self, thread_id, *, start=0, limit=None):
        whole = thread_id in self._threads and not start and limit is None
        return self._threads[thread_id].entries if whole else await super().read(thread_id, start=start, limit=limit)


@says("expected the entries")
class ReadsBackwards(MemoryStore):
    async def read(self, thread_id, *, start=0, limit=None):
        return (await super().read(thread_id, start=start, limit=limit))[::-1]


@says("after an append of nine entries: read")
class SortsIndexesAsText(MemoryStore):
    async def read(self, thread_id, *, start=0, limit=None):
        found = await super().read(thread_id, start=start, limit=limit)
        return tuple(sorted(found, key=lambda entry: str(entry.index)))


@says(r"read\(start=5, limit=3\)")
class TakesLimitForEnd(MemoryStore):
    async def read(self, thread_id, *, start=0, limit=None):
        return await super().read(thread_id, start=start, limit=limit and max(limit - start, 0))


@says(r"read\(start=5, limit=None\)")
class IgnoresStart(MemoryStore):
    async def read(self, thread_id, *, start=0, limit=None):
        return await super().read(thread_id, limit=limit)


@says(r"read\(start=0, limit=0\)")
class TakesNoneForAll(MemoryStore):
    async def read(self, thread_id, *, start=0, limit=None):
        return await super().read(thread_id, start=start, limit=limit or None)


@says("a_thread_that_is_not_there_is_empty: the store raised KeyError")
class KnowsNoUnknownThreads(MemoryStore):
    async def read(self, thread_id, *, start=0, limit=None):
        self._threads[thread_id]
        return await super().read(thread_id, start=start, limit=limit)


@says("length")
class MiscountsAfterMany(MemoryStore):
    async def length(self, thread_id):
        return min(await super().length(thread_id), 11)


@says("index_of")
class FindsNoEntry(MemoryStore):
    async def index_of(self, thread_id, entry_id):
        await super().index_of(thread_id, entry_id)


# -- values --------------------------------------------------------------------------------------------------------


class Rewrites(MemoryStore):
    """Changes what entries say before it keeps them."""

    def rewritten(self, text: str) -> str:
        return text

    async def append(self, thread_id, expected_index, entries):
        await super().append(
            thread_id, expected_index, [LogEntry.from_json(self.rewritten(entry.to_text())) for entry in entries]
        )


@says("every field: read")
class ForgetsMetadata(Rewrites):
    def rewritten(self, text):
        return json.dumps({name: value for name, value in json.loads(text).items() if name != "metadata"})


@says("every kind of JSON value: read")
class DropsNul(Rewrites):
    def rewritten(self, text):
        return text.replace(r"a\u0000b", "ab")


@says("every kind of JSON value: read")
class LosesTheSignOfZero(Rewrites):
    def rewritten(self, text):
        return text.replace("-0.0", "0.0")


@says("every kind of JSON value: read")
class TakesWholeNumbersForFloats(Rewrites):
    def rewritten(self, text):
        return json.dumps(json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 17 else float(digits)))


@says("every kind of JSON value: read")
class TakesFloatsForWholeNumbers(Rewrites):
    def rewritten(self, text):
        return json.dumps(
            json.loads(text, parse_float=lambda digits: int(float(digits)) if digits == "1.0" else float(digits))
        )


@says("after one entry: read")
class SortsKeys(Rewrites):
    def rewritten(self, text):
        return json.dumps(json.loads(text), sort_keys=True)


@says("every kind of JSON value: read")
class EndsLinesItsOwnWay(Rewrites):
    def rewritten(self, text):
        return text.replace("\u2028", "\\n")


@says("a megabyte")
class CutsLongTexts(Rewrites):
    def rewritten(self, text):
        data = json.loads(text)
        if isinstance(data.get("event", {}).get("value", data.get("event", {}).get("text")), str) and len(text) > 65535:
            data["event"]["text"] = data["event"]["text"][:65535]
        return json.dumps(data)


# -- threads -------------------------------------------------------------------------------------------------------


class Renames(MemoryStore):
    def renamed(self, thread_id: str) -> str:
        return thread_id

    async def append(self, thread_id, expected_index, entries):
        try:
            await super().append(self.renamed(thread_id), expected_index, entries)
        except LogConflictError as error:
            error.thread_id = thread_id
            raise

    async def read(self, thread_id, *, start=0, limit=None):
        return await super().read(self.renamed(thread_id), start=start, limit=limit)

    async def length(self, thread_id):
        return await super().length(self.renamed(thread_id))

    async def index_of(self, thread_id, entry_id):
        return await super().index_of(self.renamed(thread_id), entry_id)

    async def delete(self, thread_id):
        return await super().delete(self.renamed(thread_id))


@says("ids_of_threads_are_any_text")
class KnowsNoCase(Renames):
    def renamed(self, thread_id):
        return thread_id.lower()


@says("load_snapshot.*trailing|a thread with an odd id")
class TrimsIds(Renames):
    def renamed(self, thread_id):
        return thread_id.rstrip(" ")


@says("ids_of_threads_are_any_text")
class CutsIds(Renames):
    def renamed(self, thread_id):
        return thread_id.partition("{")[0] or thread_id


@says("append with '' as thread id: expected StoreError")
class TakesAnyId(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        if thread_id:
            await super().append(thread_id, expected_index, entries)


@says("the other thread: read|a thread, after another one was written to: read")
class MixesThreads(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        await super().append(thread_id, expected_index, entries)
        if thread_id == "conformance/two" and expected_index:
            one = self._threads["conformance/one"]
            one.entries[expected_index] = entries[0]


@says("another fork, after both were written to: read")
class ForksShareTheirList(MemoryStore):
    async def fork(self, thread_id, new_thread_id, *, length=None):
        count = await super().fork(thread_id, new_thread_id, length=length)
        if length is None:
            self._threads[new_thread_id] = self._threads[thread_id]
        return count


@says(r"a fork\(length=2\): read|fork\(length=2\): its result")
class ForksAll(MemoryStore):
    async def fork(self, thread_id, new_thread_id, *, length=None):
        await super().fork(thread_id, new_thread_id)
        return length or await self.length(new_thread_id)


@says("fork to a thread that is there: expected StoreError")
class ForksOverOthers(MemoryStore):
    async def fork(self, thread_id, new_thread_id, *, length=None):
        if thread_id != new_thread_id and await self.length(thread_id):
            self._threads.pop(new_thread_id, None)
        return await super().fork(thread_id, new_thread_id, length=length)


@says(r"fork\(length=4\) of 3 entries: expected StoreError")
class ForksWhatThereIs(MemoryStore):
    async def fork(self, thread_id, new_thread_id, *, length=None):
        there = await self.length(thread_id)
        return await super().fork(thread_id, new_thread_id, length=None if length and length > there else length)


@says(r"a fork\(length=2\): index_of")
class ForgetsTheIdsOfForks(MemoryStore):
    async def fork(self, thread_id, new_thread_id, *, length=None):
        count = await super().fork(thread_id, new_thread_id, length=length)
        if count == 2:
            self._threads[new_thread_id].ids.pop("evt_00000001", None)
        return count


@says("a_fork_is_a_thread_of_its_own")
class ForksKnowAllIds(MemoryStore):
    async def fork(self, thread_id, new_thread_id, *, length=None):
        count = await super().fork(thread_id, new_thread_id, length=length)
        self._threads[new_thread_id].ids = self._threads[thread_id].ids
        return count


@says(r"threads\(\), of a fork")
class ForksStandAsTheirSource(MemoryStore):
    def __init__(self):
        super().__init__()
        self.sources = {}

    async def fork(self, thread_id, new_thread_id, *, length=None):
        count = await super().fork(thread_id, new_thread_id, length=length)
        self.sources[new_thread_id] = self._threads[thread_id].entries[-1].status
        return count

    async def threads(self, *, status=None, limit=None):
        found = await super().threads(status=status, limit=limit)
        return tuple(dataclasses.replace(i, status=self.sources.get(i.thread_id, i.status)) for i in found)


@says("load_snapshot of a fork")
class ForksCopyAnySnapshot(MemoryStore):
    async def fork(self, thread_id, new_thread_id, *, length=None):
        count = await super().fork(thread_id, new_thread_id, length=length)
        self._threads[new_thread_id].saved = self._threads[thread_id].saved
        return count


@says("3 forks and 3 appends that begin one thread")
class ForksInTwoSteps(MemoryStore):
    async def fork(self, thread_id, new_thread_id, *, length=None):
        free = new_thread_id not in self._threads
        await anyio.lowlevel.checkpoint()
        if free and await self.length(thread_id) and new_thread_id in self._threads:
            self._threads[new_thread_id] = _Thread()
            del self._threads[new_thread_id]
        return await super().fork(thread_id, new_thread_id, length=length)


@says("load_snapshot of a (deleted thread|new thread under the id)")
class DeletesNoSnapshot(MemoryStore):
    def __init__(self):
        super().__init__()
        self.saved = {}

    async def save_snapshot(self, thread_id, saved):
        await super().save_snapshot(thread_id, saved)
        if thread_id in self._threads:
            self.saved[thread_id] = saved

    async def load_snapshot(self, thread_id):
        await super().load_snapshot(thread_id)
        return self.saved.get(thread_id) if await self.length(thread_id) else None


@says("delete of an unknown thread: expected False, came True")
class DeletesWhatIsNotThere(MemoryStore):
    async def delete(self, thread_id):
        await super().delete(thread_id)
        return True


@says("index_of in a(n unknown| deleted) thread")
class RemembersDeletedIds(MemoryStore):
    def __init__(self):
        super().__init__()
        self.gone = {}

    async def delete(self, thread_id):
        if thread_id in self._threads:
            self.gone[thread_id] = self._threads[thread_id].ids
        return await super().delete(thread_id)

    async def index_of(self, thread_id, entry_id):
        found = await super().index_of(thread_id, entry_id)
        return self.gone.get(thread_id, {}).get(entry_id) if found is None else found


@says(r"threads\(\), three threads, the oldest of which was written to")
class ListsByBirth(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        places = list(self._threads)
        await super().append(thread_id, expected_index, entries)
        if thread_id in places:
            self._threads = {name: self._threads[name] for name in places}


@says(r"threads\(\), three threads")
class ListsTheOldestFirst(MemoryStore):
    async def threads(self, *, status=None, limit=None):
        return (await super().threads(status=status, limit=limit))[::-1]


@says("those that are waiting")
class ListsAnyStatus(MemoryStore):
    async def threads(self, *, status=None, limit=None):
        return await super().threads(limit=limit)


@says(r"threads\(limit=2\)")
class ListsAll(MemoryStore):
    async def threads(self, *, status=None, limit=None):
        return await super().threads(status=status)


@says(r"threads\(status=\"waiting\", limit=1\)")
class LimitsBeforeItChooses(MemoryStore):
    async def threads(self, *, status=None, limit=None):
        found = await super().threads(limit=limit)
        return tuple(info for info in found if status in {None, info.status})


@says(r"threads\(\), three threads")
class TellsTheWrongTime(MemoryStore):
    async def threads(self, *, status=None, limit=None):
        found = await super().threads(status=status, limit=limit)
        return tuple(dataclasses.replace(info, updated_at=info.updated_at or 0.0) for info in found)


@says("after another one was saved")
class KeepsTheFirstSnapshot(MemoryStore):
    async def save_snapshot(self, thread_id, saved):
        if await self.load_snapshot(thread_id) is None:
            await super().save_snapshot(thread_id, saved)


@says("of an unknown thread, after one was saved for it")
class KeepsSnapshotsOfNobody(MemoryStore):
    def __init__(self):
        super().__init__()
        self.saved = {}

    async def save_snapshot(self, thread_id, saved):
        await super().save_snapshot(thread_id, saved)
        self.saved[thread_id] = saved

    async def load_snapshot(self, thread_id):
        return await super().load_snapshot(thread_id) or self.saved.get(thread_id)

    async def delete(self, thread_id):
        self.saved.pop(thread_id, None)
        return await super().delete(thread_id)


@says("after an append")
class DropsSnapshotsWithAppends(MemoryStore):
    async def append(self, thread_id, expected_index, entries):
        await super().append(thread_id, expected_index, entries)
        if thread_id in self._threads:
            self._threads[thread_id].saved = None


# -- closing -------------------------------------------------------------------------------------------------------


@says(r"after aclose\(\): expected StoreError")
class StaysOpen(MemoryStore):
    async def aclose(self):
        pass


@says("a_closed_store_says_so: the store raised RuntimeError")
class ClosesOnce(MemoryStore):
    async def aclose(self):
        if self._closed and not getattr(self, "told", False):
            self.told = True
            raise RuntimeError("closed already")
        await super().aclose()


@says("load_snapshot after aclose")
class AnswersWhenClosed(MemoryStore):
    async def load_snapshot(self, thread_id):
        return await super().load_snapshot(thread_id) if not self._closed else None
