"""An entry of a log: one thing that happened to a running system, as strict JSON.

In JSON an entry looks like this, and what is not there is left out::

    {"schema_version": 1, "id": "evt_00000003", "index": 3, "recorded_at": 1767225600.25,
     "machine_id": "twenty-questions", "machine_version": "…", "status": "working",
     "event": {"type": "Ask", "question": "…"}, "by": "decision",         # an event that was delivered
     "to": ["worker#2"],                                                  # to which child machine; left out: root
     "invocation": "agent.decide:deciding#1",                             # a piece of work that reports
     "usage": {"model_calls": 1, "total_tokens": 200, …},                 # what the call behind it has consumed
     "record": {…}, "output": … | "error": {"info": {…}} | {"value": …},   # what it reports
     "timer": "@after:0#4",                                               # a timer that has fired
     "causation_id": "evt_00000000", "metadata": {…}, "verification": {"state_hash": "…"}}

The first entry's event is ``@agent.init`` with the ``input`` that the machine was started with, or the ``snapshot``
that it went on from; its metadata hold the ``execution_id``. An ``@agent.resume`` says that a worker has taken the run
up: nothing happens by it, but who wanted to take it up as well finds his index taken.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast, get_args

from interlock.errors import ErrorInfo, InputError, InvalidLogError, NotJsonError
from interlock.statechart import UNSET, FrozenDict, Input, InternalEvent
from interlock.statechart.events import event_to_json
from interlock.statechart.frozen import EMPTY, freeze

__all__ = [
    "INIT",
    "LONGEST_ID",
    "RESUME",
    "SCHEMA_VERSION",
    "EntryStatus",
    "JsonObject",
    "LogEntry",
    "as_kept",
    "entries_of",
    "entry_id",
    "input_fields",
    "is_entry_id",
    "is_iterable",
    "is_name",
    "is_time",
    "wrong_id",
]

SCHEMA_VERSION = 1
INIT = "@agent.init"
RESUME = "@agent.resume"

LONGEST_ID = 512
"""How many characters an id may have: what every database can have an index of."""

JsonObject: TypeAlias = FrozenDict[str, Any]

EntryStatus: TypeAlias = Literal["working", "waiting", "done", "error"]
"""How a thread stands: calls are owed; only somebody else (or time) can move it; it has ended; it has failed."""


def entry_id(index: int) -> str:
    """Return the id of an entry that nobody has given one."""
    return f"evt_{index:08d}"


def is_iterable(given: object) -> bool:
    """Whether this can be a list of entries, or anything like one."""
    return isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)


def entries_of(given: Iterable[LogEntry]) -> Iterator[LogEntry]:
    """Return entries one by one; raises :class:`InvalidLogError` for whatever is none."""
    if not is_iterable(given):
        raise InvalidLogError(
            f"{type(given).__name__} is no list of entries; give result.entries, or what a store reads for a thread"
        )
    for number, entry in enumerate(given):
        if not isinstance(entry, LogEntry):  # pyright: ignore[reportUnnecessaryIsInstance]  # whatever was given
            raise InvalidLogError(
                f"is {type(entry).__name__}, no LogEntry; read it with LogEntry.from_json", index=number
            )
        yield entry


def is_name(given: object) -> bool:
    """Whether this is a text that is not empty and that JSON can carry."""
    if not isinstance(given, str) or not given:
        return False
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_entry_id(given: object) -> bool:
    """Whether this can be the id of an entry, or of a thread, in every store."""
    return isinstance(given, str) and len(given) <= LONGEST_ID and "\0" not in given and is_name(given)


def wrong_id(given: object) -> str | None:
    """Return why this cannot be the id that somebody gives an event; None where it can."""
    if not is_entry_id(given):
        return f"give a text of 1 to {LONGEST_ID} characters, without NUL and lone surrogates"
    if re.fullmatch(r"evt_\d{8,}", str(given)):
        return "ids such as evt_00000000 are the log's own, and a later entry would have to have this one"
    return None


def is_time(given: object) -> bool:
    """Whether this can be the time of an entry, in Unix seconds: a number that a database has room for, or None."""
    return given is None or (type(given) in (int, float) and abs(cast("float", given)) <= sys.float_info.max)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One input to a running system, and how it stood afterwards. All of it is frozen JSON.

    ``recorded_at`` is the time of the step in Unix seconds (None where its host gave none). ``causation_id`` names the
    entry by which the reporting work or timer was started. ``state_hash`` is a digest of the state after the step; None
    where the step could not be computed, because one of the machine's functions raised.
    """

    index: int
    id: str
    machine_id: str
    machine_version: str
    status: EntryStatus
    recorded_at: float | None = None
    event: JsonObject | None = None
    by: str | None = None
    to: tuple[str, ...] = ()
    invocation: str | None = None
    record: Any = UNSET
    output: Any = UNSET
    error: Any = UNSET
    timer: str | None = None
    usage: JsonObject | None = None
    causation_id: str | None = None
    metadata: JsonObject = field(default_factory=lambda: EMPTY)
    state_hash: str | None = None
    schema_version: int = SCHEMA_VERSION

    @property
    def type(self) -> str:
        """What happened, in one word: an event's type, ``@done.invoke.<id>``, ``@record.<id>``, ``@timer.<id>`` ..."""
        if self.event is not None:
            return cast("str", self.event["type"])
        key = self.timer or self.invocation or ""
        name = key.rpartition("#")[0] or key
        if self.timer is not None:
            return f"@timer.{name}"
        if self.error is not UNSET:
            return f"@error.invoke.{name}"
        return f"@done.invoke.{name}" if self.output is not UNSET else f"@record.{name}"

    @property
    def is_init(self) -> bool:
        """Whether a log, or a new part of one after a migration, begins here."""
        return self.event is not None and self.event["type"] == INIT

    @property
    def is_resume(self) -> bool:
        """Whether this only says that a worker has taken the run up."""
        return self.event is not None and self.event["type"] == RESUME

    def happened(self) -> tuple[object, ...]:
        """Return what was told to whom: equal for entries that say the same, whenever and in whatever log."""
        said = (self.event, self.record, self.output, self.error)
        return (self.to, self.by, self.invocation, self.timer, *map(_text, said))

    def input(self, event: object = None) -> Input:
        """Return this as the input of a step; ``event`` is its event, read by the machine that it is addressed to."""
        error = self.error
        if error is not UNSET:
            error = ErrorInfo.from_json(error["info"]) if "info" in error else error["value"]
        return Input(
            address=self.to,
            event=event,
            by=self.by,
            invocation=self.invocation,
            record=self.record,
            output=self.output,
            error=error,
            timer=self.timer,
            usage=self.usage,
        )

    def to_json(self) -> dict[str, Any]:
        """Return this as JSON data."""
        found: dict[str, Any] = {
            "schema_version": self.schema_version,
            "id": self.id,
            "index": self.index,
            "recorded_at": self.recorded_at,
            "machine_id": self.machine_id,
            "machine_version": self.machine_version,
            "status": self.status,
        }
        for name in ("event", "by", "invocation", "usage", "timer", "causation_id"):
            if (value := getattr(self, name)) is not None:
                found[name] = value
        if self.to:
            found["to"] = list(self.to)
        for name in ("record", "output", "error"):
            if (value := getattr(self, name)) is not UNSET:
                found[name] = value
        if self.metadata:
            found["metadata"] = self.metadata
        if self.state_hash is not None:
            found["verification"] = {"state_hash": self.state_hash}
        return found

    def to_text(self) -> str:
        """Return this as a line of JSON. Raises :class:`NotJsonError` for a number that no parser would read."""
        try:
            return json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except ValueError as error:  # a whole number of thousands of digits
            raise NotJsonError(str(error), path=f"entry {self.index}") from error

    @classmethod
    def from_json(cls, data: object) -> LogEntry:
        """Return what :meth:`to_json` or :meth:`to_text` wrote. Raises :class:`InvalidLogError` naming the field."""
        if isinstance(data, (str, bytes, bytearray)):
            try:
                data = json.loads(data, parse_constant=_no_constant)
            except (ValueError, RecursionError) as error:
                raise InvalidLogError(f"is no JSON: {error}") from error
        if not isinstance(data, Mapping):
            raise InvalidLogError(f"an entry is an object, not {type(data).__name__}")
        given = dict(cast("Mapping[str, Any]", data))
        index = given.get("index")
        where = index if _is_count(index) else None
        if given.get("schema_version") != SCHEMA_VERSION or isinstance(given["schema_version"], bool):
            raise InvalidLogError(
                f"schema_version is {given.get('schema_version')!r}; this library reads {SCHEMA_VERSION}",
                index=where,
            )
        for name, value in given.items():
            check = _CHECKS.get(name)
            if check is None:
                raise InvalidLogError(f"has a field {name!r} that no entry has", index=where)
            if not check[0](value):
                raise InvalidLogError(f"{name} is {_short(value)}, expected {check[1]}", index=where)
        missing = [name for name in _REQUIRED if name not in given]
        if missing:
            raise InvalidLogError(f"{missing[0]} is missing", index=where)
        given["to"] = tuple(given.get("to", ()))
        given["state_hash"] = given.pop("verification", {}).get("state_hash")
        try:
            for name in ("event", "record", "output", "error", "usage", "metadata"):
                if name in given:
                    given[name] = freeze(given[name], name)
            entry = cls(**given)
            if not (entry.is_init or entry.is_resume):
                entry.input(entry.event)  # what says nothing, or two things at once, is no input
        except NotJsonError as error:
            raise InvalidLogError(error.message, index=where) from None
        except Exception as error:
            raise InvalidLogError(f"says what nothing can have said: {error}", index=where) from error
        return entry


def input_fields(given: Input) -> dict[str, Any]:
    """Return what an input says, as fields of an entry.

    Raises :class:`NotJsonError` with the path of what is none, :class:`InputError` for an input that names nothing,
    and for an event that only the engine makes.
    """
    if "" in (given.by, given.invocation, given.timer, *given.address):
        raise InputError(f"{given!r} has an empty name in it", code="invalid-input")
    found: dict[str, Any] = {"to": given.address, "by": given.by, "invocation": given.invocation, "timer": given.timer}
    if given.event is not None:
        if isinstance(given.event, InternalEvent):
            raise InputError(f"event type {given.event.type!r} is the engine's own", code="reserved-event")
        found["event"] = freeze(dict(event_to_json(given.event)), "event")
    for name in ("record", "output"):
        if (value := getattr(given, name)) is not UNSET:
            found[name] = freeze(value, name, models=True)
    if given.usage is not None:
        found["usage"] = freeze(given.usage, "usage", models=True)
    if given.error is not UNSET:
        found["error"] = freeze(error_json(given.error), "error")
    return found


def as_kept(given: Input, fields: Mapping[str, Any]) -> Input:
    """Return an input that holds what its entry will say, so that a step sees live what it sees when it is replayed."""
    record, output, error = given.record, given.output, given.error
    if error is not UNSET:
        written = fields["error"]
        error = ErrorInfo.from_json(written["info"]) if "info" in written else written["value"]
    elif fields.get("record", UNSET) is record and fields.get("output", UNSET) is output:
        return given
    return Input(
        address=given.address,
        event=given.event,
        by=given.by,
        invocation=given.invocation,
        record=fields.get("record", UNSET),
        output=fields.get("output", UNSET),
        error=error,
        usage=fields.get("usage"),
    )


def error_json(error: object) -> dict[str, Any]:
    """Return what an invocation failed with: an error as data, or a plain value."""
    if isinstance(error, BaseException):
        error = ErrorInfo.of(error)
    return {"info": error.to_json()} if isinstance(error, ErrorInfo) else {"value": error}


# -- reading ---------------------------------------------------------------------------------------------------------


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63  # as wide as a column


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_event(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    event = cast("Mapping[str, Any]", value)
    kind = event.get("type")
    if not isinstance(kind, str) or not kind:
        return False
    return kind[0] != "@" or kind == RESUME or (kind == INIT and not {"input", "snapshot"} <= event.keys())


def _is_path(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_text, cast("Iterable[object]", value)))


def _is_failure(value: object) -> bool:
    return isinstance(value, Mapping) and len(cast("Any", value)) == 1 and bool({"info", "value"} & value.keys())


def _is_usage(value: object) -> bool:
    # The machine is told of it: what it counts must be numbers.
    return isinstance(value, Mapping) and all(
        _is_count(number) or number is None
        for name, number in cast("Mapping[str, object]", value).items()
        if name == "model_calls" or name.endswith("_tokens")
    )


def _is_verification(value: object) -> bool:
    return isinstance(value, Mapping) and _is_text(cast("Any", value).get("state_hash"))


def _anything(_: object) -> bool:
    return True


_Check: TypeAlias = tuple[Callable[[Any], bool], str]

_CHECKS: dict[str, _Check] = {
    "schema_version": (_is_count, "a whole number"),
    "id": (_is_text, "a text"),
    "index": (_is_count, "a whole number of 0 or more"),
    "recorded_at": (is_time, "a time in Unix seconds"),
    "machine_id": (_is_text, "a text"),
    "machine_version": (_is_text, "a text"),
    "status": (lambda value: value in get_args(EntryStatus), "one of " + ", ".join(get_args(EntryStatus))),
    "event": (_is_event, "an object with a type that is not reserved, or @agent.init (input or snapshot, not both)"),
    "by": (_is_text, "a text"),
    "to": (_is_path, "a list of id#seq keys"),
    "invocation": (_is_text, "a text"),
    "record": (_anything, ""),
    "output": (_anything, ""),
    "error": (_is_failure, "an object with info or value"),
    "timer": (_is_text, "a text"),
    "usage": (_is_usage, "an object whose numbers are whole and not negative"),
    "causation_id": (_is_text, "a text"),
    "metadata": (_is_object, "an object"),
    "verification": (_is_verification, "an object with a state_hash"),
}

_REQUIRED = ("id", "index", "recorded_at", "machine_id", "machine_version", "status")


def _text(value: object) -> object:
    # 1, 1.0 and True are equal, and JSON tells them apart.
    return value if value is UNSET else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _short(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # thousands of digits are more than Python writes
        return f"{type(value).__name__} of thousands of digits"
    return text if len(text) <= 80 else text[:77] + "..."


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
