"""How a machine holds its context: one strategy per kind of immutable data, chosen when the machine is built.

A strategy checks the initial value, applies a patch field by field with the declared validators, and carries the
value over the JSON border. Nothing else in the engine knows what a context is made of.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, is_typeddict

from pydantic import BaseModel

from interlock.statechart.context_kind import ContextType, FieldError, TypeRefusedError
from interlock.statechart.mapping_context import MappingContext, TypedMappingContext
from interlock.statechart.typed_context import DataclassContext, ModelContext

__all__ = ["ContextType", "FieldError", "TypeRefusedError", "context_type_of"]


def context_type_of(declared: Any, sample: object) -> ContextType:
    """Return the strategy for a declared type (or, where none is declared, for the type of ``sample``)."""
    kind: Any = declared if declared is not None else type(sample)
    if sample is None and declared is None:
        return MappingContext()
    found: type[object] | None = kind if isinstance(kind, type) else None
    if found is not None and issubclass(found, BaseModel):
        return ModelContext(found)
    if found is not None and dataclasses.is_dataclass(found):
        return DataclassContext(found)
    if is_typeddict(kind):
        return TypedMappingContext(kind)
    if found is not None and issubclass(found, Mapping):
        return MappingContext()
    raise TypeRefusedError(
        "invalid-context",
        f"a context of type {getattr(kind, '__name__', kind)!s} is not supported; use a frozen pydantic model, a "
        "frozen dataclass, a TypedDict or a mapping of JSON values",
    )
