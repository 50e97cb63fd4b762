"""Replies of people: which questions are open, and what a reply comes to."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.agent.reasons import short
from interlock.agent.user_input import UserInputRequest, UserInputSpec, user_input_request
from interlock.errors import InputError, did_you_mean
from interlock.statechart import Input, OwedInvocation, Snapshot, owed

__all__ = ["answers", "pending_inputs", "reply_input"]


def pending_inputs(snapshot: Snapshot[object]) -> tuple[UserInputRequest, ...]:
    """Return the questions that a snapshot waits for people to answer, in order."""
    return tuple(user_input_request(item) for item in _open(snapshot))


def answers(snapshot: Snapshot[object] | None, replies: Mapping[str, object]) -> list[Input]:
    """Return what replies come to, each checked by the type that its question declares.

    Arguments:
        snapshot: where the machine stands.
        replies: replies by the question's id, or by the id of its invocation where only one has it.

    Raises :class:`InputError`: ``unknown-request`` for what is not asked, ``invalid-reply``.
    """
    waiting = [] if snapshot is None else _open(snapshot)
    found: dict[str, str] = {}
    given: list[Input] = []
    for name, reply in replies.items():
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # whatever a host has given
            raise InputError(f"replies has the key {short(name)}; give the id of a question", code="unknown-request")
        item = _named(waiting, name)
        if item.identity in found:
            raise InputError(
                f"{found[item.identity]!r} and {name!r} are the same question ({item.identity}); reply to it once",
                code="unknown-request",
            )
        found[item.identity] = name
        given.append(reply_input(item, reply))
    return given


def reply_input(item: OwedInvocation, reply: object) -> Input:
    """Return the input that a reply is; raises :class:`InputError` (``invalid-reply``)."""
    spec = item.logic
    assert isinstance(spec, UserInputSpec)  # noqa: S101  # whoever calls has looked
    output = spec.encode(reply, f"the question {spec.name or item.id!r} ({item.identity})")
    return Input(address=item.address, by="human", invocation=item.key, output=output)


def _open(snapshot: Snapshot[object]) -> list[OwedInvocation]:
    return [item for item in owed(snapshot).invocations if isinstance(item.logic, UserInputSpec)]


def _named(waiting: list[OwedInvocation], name: str) -> OwedInvocation:
    exact = [item for item in waiting if name == item.identity]
    alike = exact or [item for item in waiting if name in (item.id, item.logic.name)]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise InputError(
            f"several questions have the name {name!r}; reply to one exactly: "
            + ", ".join(repr(item.identity) for item in alike),
            code="unknown-request",
        )
    raise InputError(
        f"nobody is asked {name!r} now. {did_you_mean(name, [item.identity for item in waiting])}",
        code="unknown-request",
    )
