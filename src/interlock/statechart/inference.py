"""Reads the targets that a handler can return from its code, so that charts are known before anything runs."""

from __future__ import annotations

import dis
from collections.abc import Callable
from types import CodeType
from typing import Any

__all__ = ["infer_targets"]

_METHODS = frozenset({"LOAD_METHOD", "LOAD_ATTR", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_FAST"})
_SKIP = frozenset({"PRECALL", "PUSH_NULL", "CACHE", "EXTENDED_ARG", "COPY_FREE_VARS", "RESUME"})


def infer_targets(function: Callable[..., Any]) -> tuple[str, ...] | None:
    """Return the constant first arguments of the calls of ``goto`` in ``function``, in order of their appearance.

    None if there is none, or if one of them is computed: then the targets are not known (declare them with
    ``to=[...]``) and each returned target is only checked for existence.
    """
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if not isinstance(code, CodeType) or "goto" not in _all_names(code):
        return None
    found: dict[str, None] = {}
    instructions = [item for item in dis.get_instructions(code) if item.opname not in _SKIP]
    for here, following in zip(instructions, instructions[1:], strict=False):
        if here.argval != "goto" or here.opname not in _METHODS:
            continue
        if following.opname != "LOAD_CONST":
            return None
        if isinstance(following.argval, str):
            found[following.argval] = None
        elif isinstance(following.argval, tuple) and all(isinstance(item, str) for item in following.argval):
            found.update(dict.fromkeys(following.argval))
        else:
            return None
    return tuple(found) or None


def _all_names(code: CodeType) -> tuple[str, ...]:
    return (*code.co_names, *code.co_freevars, *code.co_varnames)
