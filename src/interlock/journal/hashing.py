"""A digest of where a system stands, that costs what has changed since the last one.

The digest depends on the state alone: a snapshot that was saved and loaded has the same. What makes it cheap is
remembered beside it, by identity: a value that is the very same object as last time costs nothing, and a tuple that has
grown costs its new items, since the digest of a tuple is a left fold. Nothing is dumped.

It detects change; it is no signature. Who can write to a log can write the hash as well.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter, is_
from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import to_json

from interlock.errors import ErrorInfo, NotJsonError
from interlock.statechart import Child, Snapshot
from interlock.statechart.events import event_to_json
from interlock.statechart.frozen import freeze
from interlock.statechart.owing import NO_RECORDS, Records
from interlock.statechart.saving import saved_context
from interlock.statechart.snapshot import Rest

__all__ = ["StateHasher", "state_hash"]

_SIZE = 16
_NOTHING: Any = object()
_NOBODY: Any = object()
_seq = attrgetter("seq")


def state_hash(snapshot: Snapshot[Any]) -> str:
    """Return the digest of a state: 32 hexadecimal digits, the same for equal states in every process.

    Raises :class:`NotJsonError` naming what in it cannot be saved.
    """
    return StateHasher().digest(snapshot)


class StateHasher:
    """Digests the states of one run, one after the other; what did not change between two of them costs nothing."""

    __slots__ = ("_children", "_context", "_outcome", "_rest", "_rest_digest")

    def __init__(self) -> None:
        self._context = _Memo()
        self._rest: Rest | None = None
        self._rest_digest = b""
        self._children: dict[str, _OfChild] = {}
        self._outcome = _Memo()

    def digest(self, snapshot: Snapshot[Any]) -> str:
        """Return the digest of a state. Raises :class:`NotJsonError` naming what in it cannot be saved."""
        return self._digest(snapshot).hex()

    def _digest(self, snapshot: Snapshot[Any]) -> bytes:
        rest = snapshot.rest
        if rest is not self._rest:
            self._rest_digest = self._of_rest(snapshot)
            self._rest = rest
        states = "\0".join([leaf.id for leaf in snapshot.configuration.leaves])
        try:
            context = self._context.digest(snapshot.context, "context")
        except NotJsonError:  # only its type knows how to save it, or that it cannot be
            context = _digest(saved_context(snapshot.table.context, snapshot.context), "context")
        return _hash(self._rest_digest + context + states.encode())

    def _of_rest(self, snapshot: Snapshot[Any]) -> bytes:
        rest = snapshot.rest
        outcome = rest.outcome
        if rest.status == "error" and isinstance(outcome, ErrorInfo):
            outcome = freeze(outcome.to_json(), "error")
        parts: list[Any] = [rest.status, rest.seq, self._outcome.digest(outcome, "outcome").hex()]
        parts.append({node.id: [item.id for item in found] for node, found in rest.history.items()})
        parts.append({node.id: _digest(value, "inputs").hex() for node, value in rest.inputs.items()})
        parts.append({node.id: _digest(value, "results").hex() for node, value in rest.results.items()})
        parts.append(self._of_children(rest.children))
        parts.append(
            [
                (timer.id, timer.seq, timer.delay, timer.due, timer.to, _event(timer.event))
                for timer in sorted(rest.timers.values(), key=lambda timer: timer.seq)
            ]
        )
        return _digest(parts, "state")

    def _of_children(self, children: Mapping[str, Child]) -> str:
        """Return one digest of all children, of which most are the very same as last time."""
        before, now, digests = self._children, dict[str, _OfChild](), list[bytes]()
        for child in sorted(children.values(), key=_seq):
            known = before.get(child.id)
            if known is None or known.child.key != child.key:
                known = _OfChild()
            now[child.id] = known
            digests.append(known.digest_ if known.child is child else known.digest(child))
        self._children = now
        return _hash(b"".join(digests)).hex() if digests else ""


class _OfChild:
    """The digest of a child, and of what it has come to, as it was last time."""

    __slots__ = ("_inside", "_known", "_records", "child", "digest_")

    def __init__(self) -> None:
        self.child: Child = _NOBODY
        self.digest_ = b""
        self._known: Records = NO_RECORDS
        self._records = b""
        self._inside: StateHasher | None = None

    def digest(self, child: Child) -> bytes:
        """Return the digest of a child that may have changed."""
        inside = None
        if child.snapshot is not None:
            self._inside = self._inside or StateHasher()
            inside = self._inside.digest(child.snapshot)
        state = None if child.state is None else child.state.id
        given, records = _digest(child.input, "input").hex(), self._of_records(child.records).hex()
        found = _digest([child.id, child.seq, child.src, given, state, records, inside], "state")
        self.child, self.digest_ = child, found
        return found

    def _of_records(self, records: Records) -> bytes:
        if records is not self._known:
            fresh = records.since(self._known)
            if fresh is None:
                self._records, fresh = b"", list(records)
            for record in fresh:
                self._records = _hash(self._records + _digest(record, "records"))
            self._known = records
        return self._records


class _Memo:
    """The digest of a value, and of its parts, as it was last time."""

    __slots__ = ("digest_", "parts", "texts", "value")

    def __init__(self) -> None:
        self.value: Any = _NOTHING
        self.texts = False
        """Whether the value is a tuple of texts only: equal ones have equal digests, which is faster to find out."""
        self.digest_ = b""
        self.parts: dict[str, _Memo] = {}

    def digest(self, value: Any, path: str) -> bytes:
        """Return the digest of a value that may have changed."""
        if value is self.value:
            return self.digest_
        if isinstance(value, tuple):
            found = self._of_tuple(cast("Sequence[Any]", value), path)
        elif (fields := _fields_of(value)) is not None:
            found = self._of_fields(fields, path)
        else:
            found = _digest(value, path)
        self.value, self.digest_ = value, found
        return found

    def _of_tuple(self, value: Sequence[Any], path: str) -> bytes:
        before, digest, start = self.value, _EMPTY_TUPLE, 0
        if before.__class__ is tuple and 0 < len(before) <= len(value):
            shared = len(before)
            # Elsewhere equal is not enough: 1 equals True, but JSON tells them apart.
            if value[:shared] == before if self.texts else all(map(is_, value, before)):
                digest, start = self.digest_, shared
        texts = start == 0 or self.texts
        for item in value[start:]:
            texts = texts and item.__class__ is str
            digest = _hash(digest + _digest(item, path))
        self.texts = texts
        return digest

    def _of_fields(self, fields: Mapping[str, Any], path: str) -> bytes:
        parts = self.parts
        if len(parts) > len(fields):
            parts = self.parts = {name: memo for name, memo in parts.items() if name in fields}
        found = [b"{"]
        for name in sorted(fields):
            memo = parts.get(name)
            if memo is None:
                memo = parts[name] = _Memo()
            found += (_name(name), memo.digest(fields[name], f"{path}.{name}"))
        return _hash(b"".join(found))


def _fields_of(value: Any) -> Mapping[str, Any] | None:
    """Return what a value holds by name; None for a value without names."""
    if isinstance(value, dict):
        return _text_keys(cast("Mapping[object, Any]", value))
    if isinstance(value, BaseModel):
        held, declared = value.__dict__, type(value).model_fields
        if len(held) != len(declared):  # it remembers a cached property there as well
            held = {name: held[name] for name in declared}
        return held if not value.__pydantic_extra__ else {**held, **value.__pydantic_extra__}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return _text_keys(cast("Mapping[object, Any]", value))
    return None


def _text_keys(value: Mapping[object, Any]) -> Mapping[str, Any]:
    if all(type(key) is str for key in value):
        return cast("Mapping[str, Any]", value)
    # Keys of declared types (numbers, enums, dates) are written as JSON writes them.
    return {key if type(key) is str else to_json(key).decode(): item for key, item in value.items()}


def _digest(value: Any, path: str) -> bytes:
    """Return the digest of a value that nothing is remembered of; always of the same length."""
    # Enums of texts and numbers are those: JSON does not tell them apart.
    if isinstance(value, str):
        try:
            return _hash(b'"' + str.encode(value))
        except UnicodeEncodeError:
            raise NotJsonError("the text holds a lone surrogate, which JSON cannot carry", path=path) from None
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    if isinstance(value, int):
        return _hash(b"#" + int.to_bytes(value, value.bit_length() // 8 + 1, "big", signed=True))
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJsonError(f"{value!r} has no form in JSON; use None or a string", path=path)
        return _hash(b"." + float.hex(value).encode())
    if isinstance(value, tuple | list):
        digest = _EMPTY_TUPLE
        for item in cast("Iterable[Any]", value):
            digest = _hash(digest + _digest(item, path))
        return digest
    fields = _fields_of(value)
    if fields is not None:
        parts = [piece for name in sorted(fields) for piece in (_name(name), _digest(fields[name], f"{path}.{name}"))]
        return _hash(b"{" + b"".join(parts))
    if isinstance(value, bytes):
        try:
            value.decode()
        except UnicodeDecodeError:
            raise NotJsonError("bytes that are no UTF-8", path=path) from None
    if isinstance(value, set | frozenset):
        return _hash(b"<" + b"".join(sorted(_digest(item, path) for item in cast("Iterable[Any]", value))))
    try:
        # Dates, decimals, other enums, bytes and the like, by the form that JSON gives them.
        return _hash(b"=" + to_json(value, inf_nan_mode="constants", bytes_mode="base64"))
    except Exception as error:
        raise NotJsonError(f"a value of type {type(value).__name__} cannot be written as JSON", path=path) from error


def _name(name: str) -> bytes:
    encoded = name.encode("utf-8", "surrogatepass")
    return b"%d:" % len(encoded) + encoded


def _event(event: Any) -> Any:
    return None if event is None else _digest(event_to_json(event), "timers").hex()


def _blake2b(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_SIZE).digest()


_hash: Callable[[bytes], bytes] = _blake2b
_EMPTY_TUPLE = _hash(b"[")
_CONSTANTS = {value: _hash(repr(value).encode()) for value in (None, True, False)}
