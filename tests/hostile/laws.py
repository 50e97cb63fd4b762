"""What holds for every run, whatever a model has answered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import interlock as il
from interlock.agent.legality import refusal
from interlock.agent.reading import classes_of
from interlock.errors import CATALOGUE
from interlock.journal import LogEntry, replay
from interlock.journal.replaying import continued
from interlock.statechart import selected
from interlock.statechart.events import event_to_json

BY_MODELS = ("decision", "plan", "act")


def check_error(info: il.ErrorInfo | None, raised: set[str]) -> None:
    """An error has a code of the catalogue; one that was only raised was raised by the executor, and not by us."""
    while info is not None:
        if info.type not in raised:
            assert info.code in CATALOGUE, info
            assert info.code != "raised", f"{info.type}: {info.message[:300]}"
        info = info.cause


def check_log(
    machine: il.Machine[Any, Any, Any], entries: Sequence[LogEntry], end: il.Snapshot[Any] | None, raised: set[str]
) -> None:
    """The log of a run: through JSON, entry by entry, and as a whole."""
    log = [LogEntry.from_json(entry.to_text()) for entry in entries]
    assert log == list(entries)
    head = replay(machine, log[:1], verify="strict").head
    _check_snapshot(machine, head.snapshot)
    for number, entry in enumerate(log[1:], 1):
        if entry.error not in (None, ...) and isinstance(entry.error, dict) and "info" in entry.error:
            check_error(il.ErrorInfo.from_json(entry.error["info"]), raised)
        if entry.event is not None and not entry.is_resume:
            _check_event(head, entry)
        if entry.state_hash is None:
            assert number == len(log) - 1, "a step that could not be taken ends the log"
            return
        head = continued(head, [entry], verify="strict")
        _check_snapshot(machine, head.snapshot)
    whole = replay(machine, log, verify="strict")
    assert end is None or whole.snapshot == end


def _check_event(head: Any, entry: LogEntry) -> None:
    machine = head.machine_at(entry.to)
    assert machine is not None
    snapshot = head.snapshot
    for key in entry.to:
        snapshot = snapshot.children[key.rpartition("#")[0]].snapshot
    if entry.by not in BY_MODELS:
        return
    assert entry.event is not None
    kind = entry.event["type"]
    event_class = classes_of(machine).get(kind)
    assert event_class is not None, f"{kind!r} is not declared"
    assert event_class.actor is None, f"{kind!r} is for people only"
    payload = {name: value for name, value in entry.event.items() if name != "type"}
    made = event_class.model_validate_json(json.dumps(payload))
    assert json.loads(json.dumps(event_to_json(made))) == json.loads(json.dumps(entry.event))
    assert snapshot.can(made), f"{made!r} cannot be sent in {snapshot.value!r}"
    assert refusal(snapshot, made) is None
    taken = [item for item in selected(snapshot, made) if not item.bare]
    assert taken
    assert not any(item.definition.meta.get("actor") == "human" for item in taken)
    assert all(item.definition.event == kind or item.definition.event.endswith("*") for item in taken)


def _check_snapshot(machine: il.Machine[Any, Any, Any], snapshot: il.Snapshot[Any]) -> None:
    assert machine.load(snapshot.dump()) == snapshot
    assert machine.load(snapshot.to_json()) == snapshot


def check_result(machine: il.Machine[Any, Any, Any], result: Any, raised: set[str]) -> None:
    """A run has come to one of the three ends."""
    assert isinstance(result, il.Done | il.Idle | il.Failed)
    if isinstance(result, il.Failed):
        check_error(result.error, raised)
        assert result.snapshot is not None
    else:
        assert result.snapshot.status in ("active", "done")
    json.dumps([result.usage.model_calls, result.usage.input_tokens, result.usage.output_tokens])
    check_log(machine, result.entries, result.snapshot, raised)


def check_request(request: Any) -> None:
    """A request is plain data, and what it says is what a provider takes."""
    kind = type(request)
    again = kind.from_json(json.loads(json.dumps(request.to_json())))
    assert json.dumps(again.to_json()) == json.dumps(request.to_json())
    text = request.text if isinstance(request, il.ToolRequest) else request
    if isinstance(text, il.TextRequest) and not isinstance(request, il.ToolRequest):
        assert il.check_transcript(il.request_messages(text)) == ()
    if isinstance(text, il.TextRequest):
        assert text.steps_remaining >= (0 if isinstance(request, il.ToolRequest) else 1)
        assert len(text.tools) == len({tool.name for tool in text.tools})
    else:
        assert sum(attempt.counts for attempt in text.attempts) <= text.max_retries
        assert not isinstance(text, il.PlanRequest) or text.steps_remaining >= 1
        assert len(text.events) == len({event.type for event in text.events})
        assert not {event.type for event in text.events} & {"Approve", "Close"}


def names_of(error: BaseException) -> Iterable[str]:
    """The class names of an exception, and of all that it carries."""
    seen: list[BaseException] = []
    stack: list[BaseException | None] = [error]
    while stack:
        item = stack.pop()
        if item is None or any(item is other for other in seen):
            continue
        seen.append(item)
        yield type(item).__name__
        stack += [item.__cause__, item.__context__, *getattr(item, "exceptions", ())]
