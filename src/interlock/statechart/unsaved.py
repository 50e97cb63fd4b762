"""Where in something that cannot be saved the value sits that is to blame. Asked only once saving has failed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from interlock.statechart.context_kind import ContextType
from interlock.statechart.fields import as_json

__all__ = ["unloadable", "unwritable"]


def unwritable(value: Any, write: Callable[[Any], object], name: str) -> str:
    """Return the path of the first part of a value that cannot be written, as deep as its serializers can be asked.

    Arguments:
        value: what cannot be written as a whole.
        write: writes the parts that it is given, in the form of pydantic's ``include``.
        name: what the path begins with.
    """
    path, keys = name, list[Any]()
    while not _fails(write, _only(keys, set())):  # what fails without its parts is itself to blame
        for key, part, step in _parts(value):
            if _fails(write, _only([*keys, key], True)):  # pydantic's word for "all of it"
                path, value = f"{path}{step}", part
                keys.append(key)
                break
        else:
            break
    return path


def unloadable(kind: ContextType, data: Mapping[str, Any], error: Exception) -> str:
    """Return the path of what was written and cannot be read again, as far as the error or the data tell."""
    fields = kind.fields or {}
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"]
        name = str(first[0]) if first else ""
    else:
        name = next((name for name in fields if not _is_json(data.get(name))), "")
    return f"context.{name}" if name in fields else "context"


def _fails(write: Callable[[Any], object], include: Any) -> bool:
    try:
        write(include)
    except Exception:  # noqa: BLE001  # serializers are the author's code
        return True
    return False


def _only(keys: list[Any], last: Any) -> Any:
    found = last
    for key in reversed(keys):
        found = {key: found}
    return found


def _parts(value: Any) -> Iterable[tuple[Any, Any, str]]:
    if isinstance(value, BaseModel):
        return [(name, getattr(value, name), f".{name}") for name in type(value).model_fields]
    if dataclasses.is_dataclass(value):
        return [(field.name, getattr(value, field.name), f".{field.name}") for field in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        return [(key, part, f".{key}") for key, part in cast("Mapping[object, Any]", value).items()]
    if isinstance(value, tuple):
        return [(number, part, f"[{number}]") for number, part in enumerate(cast("Iterable[object]", value))]
    return ()


def _is_json(data: Any) -> bool:
    try:
        as_json(data)
    except ValueError:
        return False
    return True
