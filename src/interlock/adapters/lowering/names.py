"""Names of tools as they go over the wire: providers take 1 to 64 ASCII letters, digits, ``_`` and ``-``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

__all__ = ["wire_call_id", "wire_name", "wire_names"]

_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LEGAL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_LONGEST = 64


def wire_name(name: str) -> str:
    """Return the wire name of a tool: its own where that is legal, else one made of it and of nothing else.

    So a tool keeps its name in every request, process and transcript, whatever else stands beside it.
    """
    if _LEGAL.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', name)[: _LONGEST - 9]}_{digest}"


def wire_names(names: Iterable[str]) -> dict[str, str]:
    """Return what each wire name stands for: the way back from an answer to the tools of its request."""
    return {wire_name(name): name for name in names}


def wire_call_id(call_id: str) -> str:
    """Return the id of a tool call as every provider takes it; calls and answers keep belonging together."""
    if _LEGAL_ID.fullmatch(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'replace')).hexdigest()[:24]}"
