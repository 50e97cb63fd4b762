"""Contexts whose fields a class declares: frozen pydantic models and frozen dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from pydantic import BaseModel, TypeAdapter
from pydantic_core import SchemaValidator

from interlock.statechart.context_kind import FieldError, TypeRefusedError
from interlock.statechart.fields import (
    Growing,
    as_json,
    exact_types,
    finite,
    growing,
    grown,
    is_any,
    plain_value,
    refuse_mutable,
    validated,
)
from interlock.statechart.frozen import EMPTY
from interlock.statechart.reasons import reason_of

__all__ = ["DataclassContext", "ModelContext"]


class ModelContext:
    """A frozen pydantic model. Patches run the model's own field validators, one field at a time."""

    def __init__(self, kind: type[BaseModel]) -> None:
        self.name = kind.__name__
        self._kind = kind
        if not kind.model_config.get("frozen"):
            raise TypeRefusedError(
                "mutable-context",
                f"context model {kind.__name__} can be changed in place; declare it as "
                f"`class {kind.__name__}(BaseModel, frozen=True)`",
            )
        refuse_mutable(kind)
        _refuse_unsaved(kind)
        self.fields: Mapping[str, Any] = {name: field.annotation for name, field in kind.model_fields.items()}
        schema, whole = _fields_schema(kind)
        self._whole = whole
        self._assign: Callable[..., Any] | None = (
            SchemaValidator(schema).validate_assignment if schema is not None else None
        )
        self._exact = _model_exact_types(schema) if schema is not None else {}
        # Fields that say nothing of their type hold plain JSON, frozen as in a mapping.
        self._any = () if schema is None else tuple(n for n, f in _schema_fields(schema).items() if is_any(f["schema"]))
        self._growing: dict[str, Growing] = (
            {} if schema is None else {n: growing(f["schema"]) for n, f in _schema_fields(schema).items()}
        )
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def check(self, value: Any) -> Any:
        """Return ``value`` as this kind of context."""
        # An instance is validated again (from its fields): model_construct and defaults may hide bad values.
        if isinstance(value, self._kind):
            value = {
                name: getattr(value, name) for name in self._kind.model_fields if name in value.__pydantic_fields_set__
            }
            made = self._kind.model_validate(value, by_name=True)
        else:
            made = self._kind.model_validate(value)
        return self._frozen(made)

    def _frozen(self, made: Any) -> Any:
        loose = {name: getattr(made, name) for name in self._any}
        return self.patch(made, loose) if loose else made

    def patch(self, context: Any, fields: Mapping[str, Any]) -> Any:
        """Return a new context with ``fields`` changed."""
        exact = self._exact
        values: dict[str, Any] = context.__dict__
        values = values.copy()
        if len(values) != len(self.fields):  # a cached property lives beside the fields: it must not survive
            values = {name: values[name] for name in self.fields if name in values}
        for name, value in fields.items():
            allowed = exact.get(name)
            if allowed is not None and value.__class__ in allowed:
                if value.__class__ is str and not value.isascii():
                    plain_value(value, name)
                values[name] = value
                continue
            if name not in self.fields:
                raise FieldError("unknown-field", name, f"{self.name} has no field {name!r}")
            if self._whole or self._assign is None:
                values[name] = value
                continue
            assign, known = self._assign, values
            longer = grown(known.get(name), value, self._growing[name], lambda new: assign(known, name, new)[0][name])  # noqa: B023  # called at once
            if longer is not None:
                values[name] = longer
                continue
            try:
                values = assign(values, name, value)[0]
            except Exception as error:  # a validator is the author's code; whatever it raises refuses the value
                raise FieldError("invalid-field", name, reason_of(error)) from error
            values[name] = plain_value(values[name], name) if name in self._any else finite(values[name], name)
        if self._whole:
            try:
                return self._kind.model_validate(values, by_name=True)
            except Exception as error:  # the same
                raise FieldError("invalid-field", ", ".join(fields), reason_of(error)) from error
        new: Any = self._kind.__new__(self._kind)
        known = context.__pydantic_fields_set__
        if not (fields.keys() <= known):
            known = known | fields.keys()
        _set(new, "__dict__", values)
        _set(new, "__pydantic_fields_set__", known)
        _set(new, "__pydantic_extra__", context.__pydantic_extra__)
        _set(new, "__pydantic_private__", context.__pydantic_private__)
        return new

    def dump(self, context: Any, include: Any = None) -> Any:
        """Return strict JSON data."""
        return self._adapter.dump_python(
            context, mode="json", include=include, by_alias=False, round_trip=True, warnings="error"
        )

    def load(self, data: Any) -> Any:
        """Return the context that :meth:`dump` wrote."""
        return self._frozen(self._kind.model_validate_json(as_json(data), by_name=True))


class DataclassContext:
    """A frozen dataclass; each field is checked against its annotation."""

    def __init__(self, kind: type[Any]) -> None:
        self.name = kind.__name__
        self._kind: Any = kind
        params = getattr(kind, "__dataclass_params__", None)
        if params is None or not params.frozen:
            raise TypeRefusedError(
                "mutable-context",
                f"context dataclass {kind.__name__} can be changed in place; declare it with @dataclass(frozen=True)",
            )
        refuse_mutable(kind)
        hints = get_type_hints(kind, include_extras=True)
        self.fields: Mapping[str, Any] = {field.name: hints[field.name] for field in dataclasses.fields(kind)}
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
        self._validators: dict[str, TypeAdapter[Any]] = {name: TypeAdapter(hint) for name, hint in self.fields.items()}
        self._exact = {name: exact_types(adapter.core_schema) for name, adapter in self._validators.items()}
        # Fields that say nothing of their type hold plain JSON, frozen as in a mapping.
        self._any = [name for name, adapter in self._validators.items() if is_any(adapter.core_schema)]
        self._plain = (
            not hasattr(kind, "__post_init__")
            and not hasattr(kind, "__slots__")
            and not hasattr(kind, "__pydantic_validator__")
        )
        self._init_fields = [field.name for field in dataclasses.fields(kind) if field.init]

    def check(self, value: Any) -> Any:
        """Return ``value`` as this kind of context."""
        if isinstance(value, self._kind):
            value = {name: getattr(value, name) for name in self._init_fields}
        return self._frozen(self._adapter.validate_python(value))

    def _frozen(self, made: Any) -> Any:
        loose = {name: getattr(made, name) for name in self._any}
        return self.patch(made, loose) if loose else made

    def patch(self, context: Any, fields: Mapping[str, Any]) -> Any:
        """Return a new context with ``fields`` changed."""
        before = context.__dict__ if self._plain else EMPTY
        changed = validated(fields, self._validators, self._exact, self.name, before)
        if self._plain:
            new = self._kind.__new__(self._kind)
            new.__dict__.update(context.__dict__)
            new.__dict__.update(changed)
            return new
        try:
            return dataclasses.replace(context, **changed)
        except Exception as error:  # __post_init__ is the author's code; whatever it raises refuses the patch
            raise FieldError("invalid-field", ", ".join(fields), f"{type(error).__name__}: {error}") from error

    def dump(self, context: Any, include: Any = None) -> Any:
        """Return strict JSON data."""
        return self._adapter.dump_python(context, mode="json", include=include, round_trip=True, warnings="error")

    def load(self, data: Any) -> Any:
        """Return the context that :meth:`dump` wrote."""
        return self._frozen(self._adapter.validate_json(as_json(data)))


_set: Callable[[Any, str, Any], None] = object.__setattr__


def _refuse_unsaved(kind: type[BaseModel]) -> None:
    """Raise :class:`TypeRefusedError` for what a model holds and does not save."""
    left_out = [name for name, field in kind.model_fields.items() if field.exclude]
    if left_out:
        raise TypeRefusedError(
            "invalid-context",
            f"field {kind.__name__}.{left_out[0]} is left out when the context is saved (exclude=True), so a resumed "
            "run would be another one; keep it elsewhere, or save it",
        )
    if kind.__private_attributes__:
        name = next(iter(kind.__private_attributes__))
        raise TypeRefusedError(
            "invalid-context",
            f"{kind.__name__} has the private attribute {name!r}, which is not saved with the context; declare a "
            "field, or keep it elsewhere",
        )


def _fields_schema(kind: type[BaseModel]) -> tuple[Any | None, bool]:
    """Return the schema of the model's fields, and whether only the whole model can be validated."""
    schema: Any = kind.__pydantic_core_schema__
    definitions: Any = None
    if schema["type"] == "definitions":
        definitions, schema = schema["definitions"], schema["schema"]
    decorators = kind.__pydantic_decorators__
    if schema["type"] != "model" or decorators.model_validators or decorators.root_validators:
        return None, True
    inner: Any = schema["schema"]
    if inner["type"] != "model-fields" or schema.get("post_init"):
        return None, True
    if definitions is not None:
        inner = {"type": "definitions", "definitions": definitions, "schema": inner}
    return inner, False


def _schema_fields(schema: Any) -> dict[str, Any]:
    fields: dict[str, Any] = schema["schema"]["fields"] if schema["type"] == "definitions" else schema["fields"]
    return fields


def _model_exact_types(schema: Any) -> dict[str, tuple[type[Any], ...]]:
    return {
        name: exact_types(field["schema"]) if not field.get("frozen") else ()
        for name, field in _schema_fields(schema).items()
    }
