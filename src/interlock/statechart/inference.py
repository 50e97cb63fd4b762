"""Reads the targets that a handler can return from its code, so that charts are known before anything runs."""

from __future__ import annotations

import dis
from collections.abc import Callable
from types import CodeType
from typing import Any

__all__ = ["infer_targets"]

_LOADS = frozenset({"LOAD_METHOD", "LOAD_ATTR", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_FAST"})
_LEAVES_NOTHING = ("POP_", "STORE_", "JUMP_IF_")
_SILENT = frozenset({"PUSH_NULL", "CACHE", "EXTENDED_ARG", "COPY_FREE_VARS", "RESUME", "KW_NAMES", "NOP"})


def infer_targets(function: Callable[..., Any]) -> tuple[str, ...] | None:
    """Return the constant first arguments of the calls of ``goto`` in ``function``, in order of their appearance.

    None if there is none, or if one of them is computed: then the targets are not known (declare them with
    ``to=[...]``) and each returned target is only checked for existence.
    """
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if not isinstance(code, CodeType) or "goto" not in (*code.co_names, *code.co_freevars, *code.co_varnames):
        return None
    found: dict[str, None] = {}
    instructions = [item for item in dis.get_instructions(code) if item.opname not in _SILENT]
    for number, instruction in enumerate(instructions[:-1]):
        if instruction.argval != "goto" or instruction.opname not in _LOADS:
            continue
        following = instructions[number + 1]
        target: object = following.argval
        if following.opname != "LOAD_CONST" or not _is_argument(instructions, number + 1):
            return None
        if isinstance(target, str):
            found[target] = None
        else:
            return None
    return tuple(found) or None


def _is_argument(instructions: list[dis.Instruction], number: int) -> bool:
    """Whether the constant loaded by this instruction is handed to a call as it is, rather than computed with.

    Follows the depth of the stack above the constant until something takes the constant off.
    """
    depth = 1
    place = number + 1
    while place < len(instructions):
        instruction = instructions[place]
        name = instruction.opname
        if name.startswith("JUMP_FORWARD"):
            # The other branch of a condition: it leaves one value as well.
            place = next(
                (p for p, item in enumerate(instructions) if item.offset >= instruction.argval), len(instructions)
            )
            continue
        effect = dis.stack_effect(
            instruction.opcode, instruction.arg if instruction.opcode >= dis.HAVE_ARGUMENT else None, jump=False
        )
        if name.startswith(_LEAVES_NOTHING):
            taken = -effect
        elif name in {"LOAD_METHOD", "LOAD_ATTR"}:
            taken = 1
        else:
            taken = 1 - effect if effect <= 0 else 0  # it leaves one value
        if depth - taken < 1:
            return name.startswith(("PRECALL", "CALL"))
        depth += effect
        place += 1
    return False
