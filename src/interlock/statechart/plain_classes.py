"""Classes of events that nobody's code looks into: what stands in one is what its annotations say."""

from __future__ import annotations

from functools import lru_cache
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

__all__ = ["is_plain"]

_SCALARS = {str, int, float, bool, NoneType}


@lru_cache(maxsize=1024)
def is_plain(kind: type[Any]) -> bool:
    """Whether the fields of a class are texts, numbers and constants that nobody's code looks at."""
    if not issubclass(kind, BaseModel):
        return False
    decorators = kind.__pydantic_decorators__
    looked_at = (
        decorators.field_validators,
        decorators.model_validators,
        decorators.field_serializers,
        decorators.model_serializers,
        decorators.validators,
        decorators.root_validators,
    )
    return not any(looked_at) and all(
        not field.metadata and _is_scalar(field.annotation) for field in kind.model_fields.values()
    )


def _is_scalar(annotation: Any) -> bool:
    if get_origin(annotation) is Literal:
        return all(type(value) in _SCALARS for value in get_args(annotation))
    return annotation in _SCALARS
