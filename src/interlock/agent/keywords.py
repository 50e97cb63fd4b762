"""Keywords that a word does not have: what type checkers say, for those without one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from interlock.agent.reasons import short
from interlock.errors import DefinitionError, did_you_mean
from interlock.statechart.detached import is_whole

__all__ = ["checked_name", "known_keywords"]

_REGIONS = (
    "top states that are all active at once are written machine(..., kind='parallel'), regions inside a state "
    "agent.parallel(states=...)"
)
_KINDS = (
    "each kind of state has its own word: agent.parallel(states=...), agent.final(...) and agent.end(...), "
    "agent.choice(...), agent.history(...)"
)
_ELSEWHERE: Mapping[tuple[str, str], str] = {
    ("machine", "type"): _REGIONS,
    ("machine", "parallel"): _REGIONS,
    ("state", "type"): _KINDS,
    ("state", "kind"): _KINDS,
    ("state", "output"): "what a final state gives stands there: agent.final(output=...), or agent.end(output=...)",
    ("machine", "output"): "what a machine gives stands at its ends: agent.final(output=...)",
    ("machine", "events"): "they are declared once for all machines of an agent: setup_agent(events=[...])",
    ("machine", "id"): "a machine's name comes first, by position: agent.machine('name', ...)",
}
"""What authors who come from elsewhere look for, and where it is written here."""


def checked_name(word: str, name: object, code: str) -> None:
    """Refuse a name of work that is none: what is shown of it, and by which scripts and logs know it, is a text."""
    if name is not None and not (isinstance(name, str) and name and is_whole(name)):
        raise DefinitionError(
            f"{word}(name={short(name)}): a name is a text, not empty and without lone surrogates", code=code
        )


def known_keywords(word: str, given: Iterable[str], *known: type, also: Iterable[str] = ()) -> None:
    """Refuse a keyword that none of the typed dictionaries ``known`` declares, and that is none of ``also``.

    What is in ``also`` is the word's own: it has been taken out of ``given``, and is only named in hints.
    """
    names: set[str] = set(also)
    for kind in known:
        names |= getattr(kind, "__required_keys__", set[str]()) | getattr(kind, "__optional_keys__", set[str]())
    for name in given:
        if name not in names:
            elsewhere = _ELSEWHERE.get((word, name))
            hint = f". {did_you_mean(name, names)}" if elsewhere is None else f": {elsewhere}"
            raise DefinitionError(f"{word}() has no keyword {name!r}{hint}", code="unknown-keyword")
